"""A fleet of real gateways in front of one mock provider whose meter is the judge."""

import json
import os
import signal
import time
from pathlib import Path

from mock import Mock
from process import Server, free_port, http, until

HALEWAY = os.path.abspath(os.environ.get("HALEWAY_BIN", "target/debug/haleway"))
KEY = "sk-fleet-master"
INTERVAL = 5.0
# Between a grant and the arrival of its probe lies the way of both, on a machine that is busy.
SLACK = 1.0
COUNT = 28


def config(store: str, count: int = COUNT, extra: str = "", general: str = "") -> str:
    """`count` deployments, probed every five seconds, over the Redis that `store` names."""
    models = "".join(
        f"- model_name: m{n % 7}\n"
        f"  litellm_params: {{model: openai/gpt-x, api_base: os.environ/MOCK_BASE, api_key: sk-d{n}}}\n"
        f"  model_info: {{id: d{n}, mode: chat}}\n"
        for n in range(count)
    )
    return (
        f"model_list:\n{models}"
        "general_settings:\n"
        "  master_key: os.environ/GATEWAY_KEY\n"
        "  background_health_checks: true\n"
        "  health_check_interval: 5\n"
        "  use_shared_health_check: true\n"
        f"  coordination_redis: {store}\n{general}"
        "router_settings: {num_retries: 0}\n"
        "haleway:\n"
        "  profile: resilient\n"
        "  health: {interval: 5s, idle_interval: 5s, suspect_interval: 5s, timeout: 4s}\n"
        f"  fleet: {{namespace: test{extra}}}\n"
    )


class Pod(Server):
    """One `haleway serve`."""

    def __init__(self, folder: Path, text: str, env: dict[str, str], *options: str):
        port = free_port()
        path = folder / f"config-{port}.yaml"
        path.write_text(text)
        command = [HALEWAY, "serve", "--config", str(path), "--host", "127.0.0.1", "--port", str(port), *options]
        env = {"GATEWAY_KEY": KEY, "DEFAULT_SHARED_HEALTH_CHECK_TTL": "5", "HOSTNAME": f"pod-{port}", **env}
        super().__init__(command, port, folder / f"pod-{port}.log", env)

    def ready(self) -> "Pod":
        until(lambda: self.answers("/health/liveliness"), 30, "the gateway serving")
        return self

    def get(self, path: str, timeout: float = 10) -> dict:
        answer = http("GET", self.url + path, None, {"Authorization": f"Bearer {KEY}"}, timeout)
        assert answer.status == 200, f"{path}: {answer.status} {answer.text}"
        return json.loads(answer.body)

    def post(self, path: str, body: object = None, timeout: float = 10):
        data = json.dumps(body or {}).encode()
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        return http("POST", self.url + path, data, headers, timeout)

    def chat(self, model: str, timeout: float = 10):
        body = {"model": model, "messages": [{"role": "user", "content": "hello"}]}
        return self.post("/v1/chat/completions", body, timeout)

    def fleet(self) -> dict:
        return self.get("/haleway/fleet")

    def mode(self) -> str:
        return self.fleet()["mode"]

    def states(self) -> dict[str, str]:
        return {row["id"]: row["state"] for row in self.get("/haleway/deployments")["deployments"]}

    def detail(self, deployment: str) -> dict:
        rows = self.get("/haleway/deployments")["deployments"]
        return next(row for row in rows if row["id"] == deployment)

    def die(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        super().stop()


class Fleet:
    """Pods that share a store. Ends all it started."""

    def __init__(self, folder: Path, mock: Mock, text: str, env: dict[str, str] | None = None):
        self.folder, self.mock, self.text = folder, mock, text
        self.env = {**mock.env(), **(env or {})}
        self.pods: list[Pod] = []
        mock.deployments(text)

    def start(self, count: int = 1, *options: str) -> list[Pod]:
        pods = [Pod(self.folder, self.text, self.env, *options) for _ in range(count)]
        self.pods += pods
        return [pod.ready() for pod in pods]

    def stop(self) -> None:
        for pod in self.pods:
            pod.stop()

    def probes(self, deployment: str) -> list[int]:
        """When requests for a deployment arrived at the provider, in milliseconds of its clock."""
        answer = http("GET", f"{self.mock.url}/__kept/sk-{deployment}")
        return [kept["at_ms"] for kept in json.loads(answer.body)]

    def warm(self, count: int = COUNT, bound: float = 40) -> None:
        """Waits until every deployment was probed."""
        until(lambda: all(self.mock.count(f"sk-d{n}") > 0 for n in range(count)), bound, "a first round of probes")

    def watch(self, seconds: float, count: int = COUNT, least: float = 0.6) -> None:
        """Lets the fleet run, and judges by the provider's count: never more than one probe per deployment and
        interval, and not much less than that."""
        time.sleep(seconds)
        self.judge(count)
        if least:
            paid = sum(len([at for at in self.probes(f"d{n}")]) for n in range(count))
            assert paid >= least * count * seconds / INTERVAL, f"only {paid} probes in {seconds} s"

    def judge(self, count: int = COUNT) -> None:
        """Every probe so far kept its distance from the one before."""
        for n in range(count):
            arrived = self.probes(f"d{n}")
            gaps = [(after - before) / 1000 for before, after in zip(arrived, arrived[1:])]
            assert all(gap >= INTERVAL - SLACK for gap in gaps), f"d{n}: probes {gaps} s apart"
            if len(arrived) > 1:
                span = (arrived[-1] - arrived[0]) / 1000
                assert len(arrived) <= 1 + (span + SLACK) / INTERVAL, f"d{n}: {len(arrived)} probes in {span} s"

    def clear(self) -> None:
        """Forgets what the provider counted; what comes is judged by itself."""
        self.mock._tell("DELETE", "/__meter")
