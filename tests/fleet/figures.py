"""What a fleet costs: Redis commands of an idle pod, latency of requests while Redis is frozen, and the processor time of
one pod that probes ten thousand deployments.

    cargo build --release -p haleway -p haleway-mockllm
    python3 tests/fleet/figures.py [commands] [frozen] [prober]

Needs redis-server, and wrk for `frozen` (Debian's packages). Everything listens on loopback and ends with the script. The
figures are printed with what they are to be held against; none is a test, because a busy machine changes them.
"""

import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
os.environ.setdefault("HALEWAY_BIN", str(TARGET / "haleway"))
os.environ.setdefault("MOCKLLM_BIN", str(TARGET / "mockllm"))
sys.path.append(str(ROOT / "tests" / "e2e"))

from fleet import KEY, Fleet  # noqa: E402
from mock import Mock  # noqa: E402
from process import until  # noqa: E402
from store import Redis  # noqa: E402

INTERVAL = 60
TICKS = os.sysconf("SC_CLK_TCK")


def config(port: int, count: int) -> str:
    """`count` deployments that are probed every minute."""
    models = "".join(
        f"- model_name: m{n}\n"
        f"  litellm_params: {{model: openai/gpt-x, api_base: os.environ/MOCK_BASE, api_key: sk-d{n}}}\n"
        f"  model_info: {{id: d{n}, mode: chat}}\n"
        for n in range(count)
    )
    return (
        f"model_list:\n{models}"
        "general_settings:\n"
        "  master_key: os.environ/GATEWAY_KEY\n"
        "  background_health_checks: true\n"
        f"  health_check_interval: {INTERVAL}\n"
        "  use_shared_health_check: true\n"
        f"  coordination_redis: {{host: 127.0.0.1, port: {port}}}\n"
        "haleway:\n"
        "  profile: resilient\n"
        f"  health: {{interval: {INTERVAL}s, idle_interval: {INTERVAL}s}}\n"
        "  fleet: {namespace: figures}\n"
    )


class Bed:
    """A mock provider, a Redis and a fleet."""

    def __init__(self, stack: ExitStack, deployments: int):
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.mock = stack.enter_context(Mock(folder))
        self.redis = stack.enter_context(Redis(folder))
        env = {"DEFAULT_SHARED_HEALTH_CHECK_TTL": str(INTERVAL)}
        self.fleet = Fleet(folder, self.mock, config(self.redis.port, deployments), env)
        stack.callback(self.fleet.stop)


def sent(redis: Redis, seconds: float) -> int:
    """How many commands came over the network; those inside of scripts do not count."""
    with socket.create_connection(("127.0.0.1", redis.port)) as link:
        link.sendall(b"MONITOR\r\n")
        link.settimeout(1)
        text, end = b"", time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                text += link.recv(1 << 16)
            except TimeoutError:
                continue
    lines = text.split(b"\r\n")[1:-1]
    return sum(b" lua]" not in line for line in lines)


def commands(stack: ExitStack) -> None:
    pods, seconds = 3, 120
    bed = Bed(stack, 28)
    running = bed.fleet.start(pods)
    bed.fleet.warm(28, INTERVAL + 30)
    until(lambda: all(pod.mode() == "shared" for pod in running), 20, "all sharing")
    rate = sent(bed.redis, seconds) / seconds / pods
    print(f"commands  {rate:.2f} Redis commands per pod and second, idle, 28 deployments, {pods} pods, {seconds} s (at most 5)")


SCRIPT = """
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer %s"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{"model":"m0","messages":[{"role":"user","content":"hello"}]}'
"""


def p99(url: str, script: Path, seconds: int) -> tuple[float, int]:
    """Milliseconds, and how many requests."""
    command = ["wrk", "-t1", "-c8", f"-d{seconds}s", "--latency", "-s", str(script), f"{url}/v1/chat/completions"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 30).stdout
    assert "Non-2xx" not in text, text
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit], int(re.search(r"(\d+) requests in", text)[1])


def frozen(stack: ExitStack) -> None:
    rounds, seconds = 8, 5
    bed = Bed(stack, 28)
    pod = bed.fleet.start(1)[0]
    bed.fleet.warm(28, INTERVAL + 30)
    script = bed.fleet.folder / "post.lua"
    script.write_text(SCRIPT % KEY)
    p99(pod.url, script, 3)
    found: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(rounds):
        for freeze in (turn % 2 == 0, turn % 2 == 1):
            bed.redis.freeze() if freeze else bed.redis.thaw()
            time.sleep(2)
            found[freeze].append(p99(pod.url, script, seconds)[0])
    bed.redis.thaw()
    well, stopped = (statistics.median(found[key]) for key in (False, True))
    print(f"frozen    p99 {stopped:.2f} ms with Redis frozen, {well:.2f} ms with Redis well: ratio {stopped / well:.3f} (at most 1.05)")
    print(f"          median of {rounds} turns of {seconds} s each, in alternating order, 8 connections")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mib(pid: int) -> float:
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def prober(stack: ExitStack) -> None:
    count = 10_000
    bed = Bed(stack, count)
    pod = bed.fleet.start(1, "--role", "prober")[0]
    pid = pod.process.pid
    until(lambda: pod.fleet()["mode"] == "shared", 60, "sharing")
    time.sleep(INTERVAL + 15)
    before, paid = cpu_seconds(pid), probes(pod)
    began = time.monotonic()
    time.sleep(2 * INTERVAL)
    took = time.monotonic() - began
    used, sent = cpu_seconds(pid) - before, probes(pod) - paid
    print(f"prober    {used / took:.2f} of a core for {count} deployments every {INTERVAL} s by one pod (below 0.5)")
    print(f"          {sent / took * INTERVAL:.0f} probes per interval, {resident_mib(pid):.0f} MiB resident, {took:.0f} s measured")


def probes(pod) -> int:
    return pod.fleet()["probes"]["paid"]


def main() -> None:
    parts = {"commands": commands, "frozen": frozen, "prober": prober}
    wanted = sys.argv[1:] or list(parts)
    unknown = [name for name in wanted if name not in parts]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(parts)}")
    for name in wanted:
        with ExitStack() as stack:
            parts[name](stack)


if __name__ == "__main__":
    main()
