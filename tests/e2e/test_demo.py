"""`haleway demo`: what the README's first command shows."""

import json
import re
import signal

from gateway import HALEWAY
from process import Server, free_port, http, until

KEY = {"Authorization": "Bearer sk-demo"}


def test_the_demo_serves_tells_what_happens_and_ends_cleanly(tmp_path):
    port = free_port()
    with Server([HALEWAY, "demo", "--port", str(port)], port, tmp_path / "demo.log") as demo:
        until(lambda: demo.answers("/health/liveliness"), 10, "the demo serving")

        def states() -> dict[str, str]:
            listing = json.loads(http("GET", f"{demo.url}/haleway/deployments", headers=KEY).body)
            return {row["id"]: row["state"] for row in listing["deployments"]}

        assert len(states()) >= 6
        dead = until(lambda: [name for name, state in states().items() if state == "CONFIG_FAULT"], 20, "a dead key")
        until(lambda: all(name in demo.text().split("What happens:")[-1] for name in dead), 5, "the story telling it")
        shown = set(re.findall(rf"{demo.url}(/[^'\s]*)", demo.text())) - {"/v1/chat/completions"}
        assert len(shown) >= 3
        for path in shown:
            assert http("GET", demo.url + path, headers=KEY).status == 200, path
        body = json.dumps({"model": "chat", "messages": [{"role": "user", "content": "hi"}]}).encode()
        for _ in range(10):
            answer = http("POST", f"{demo.url}/v1/chat/completions", body, KEY)
            assert answer.status == 200, answer.text
        demo.signal(signal.SIGINT)
        assert demo.wait(10) == 0
        assert "panicked" not in demo.text()
