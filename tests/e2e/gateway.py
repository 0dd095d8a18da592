"""The real binary under test."""

import json
import os
import subprocess
from pathlib import Path

import openai

from process import Answer, Server, free_port, http, until

HALEWAY = os.path.abspath(os.environ.get("HALEWAY_BIN", "target/debug/haleway"))
MASTER_KEY = "sk-gateway-master"


def run(*arguments: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """A command that ends by itself."""
    return subprocess.run(
        [HALEWAY, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        env={"PATH": os.environ["PATH"], **(env or {})},
        cwd=cwd,
    )


class Gateway(Server):
    """`haleway serve` on a free port, ready to answer."""

    def __init__(self, config: str, folder: Path, env: dict[str, str]):
        port = free_port()
        path = folder / f"config-{port}.yaml"
        path.write_text(config)
        command = [HALEWAY, "serve", "--config", str(path), "--host", "127.0.0.1", "--port", str(port)]
        super().__init__(command, port, folder / f"gateway-{port}.log", {"GATEWAY_KEY": MASTER_KEY, **env})
        self.config = path
        until(lambda: self.answers("/health/liveliness"), 15, "the gateway serving")

    def client(self, **options) -> openai.OpenAI:
        """The official SDK, without its own retries unless asked for."""
        options = {"api_key": MASTER_KEY, "max_retries": 0, "timeout": 15, **options}
        return openai.OpenAI(base_url=f"{self.url}/v1", **options)

    def request(self, method: str, path: str, body: object = None, key: str | None = MASTER_KEY, **headers) -> Answer:
        """A plain request; `body` is bytes as they are, or anything that becomes JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json"} if data is not None else {}
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        return http(method, self.url + path, data, sent)

    def chat(self, model: str, **options):
        return self.client().chat.completions.create(model=model, messages=HELLO, **options)


HELLO = [{"role": "user", "content": "hello"}]


def error_of(answer: Answer) -> dict:
    """The error object of an answer in LiteLLM's shape."""
    body = json.loads(answer.body)
    assert set(body) == {"error"}, body
    assert {"message", "type", "param", "code"} <= set(body["error"]), body
    assert isinstance(body["error"]["code"], str), body
    return body["error"]
