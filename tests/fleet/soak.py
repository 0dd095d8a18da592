"""Many streams for a long time while providers fail at random: memory, connections and the fate of every stream.

    cargo build --release -p haleway -p haleway-mockllm
    python3 tests/fleet/soak.py [--seconds 600] [--streams 500] [--seed 1]

Everything listens on loopback and ends with the script. It ends with 1 when memory grew by more than a twentieth, when a
connection or a stream in flight was left behind, or when a stream ended without saying how.
"""

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
os.environ.setdefault("HALEWAY_BIN", str(TARGET / "haleway"))
os.environ.setdefault("MOCKLLM_BIN", str(TARGET / "mockllm"))
sys.path.append(str(ROOT / "tests" / "e2e"))

from fleet import KEY, Pod  # noqa: E402
from mock import Mock, cut_after, error_event, hang, malformed, reset, status, words  # noqa: E402
from process import http, until  # noqa: E402

DEPLOYMENTS = 6
FAULT_EVERY = 2.0
SAMPLE_EVERY = 2.0
# At most this share of the streams is left by its caller before the end.
LEAVERS = 0.1
GROWTH = 0.05

TEXT = "one two three four five six seven eight nine ten"
BODY = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "count " * 50}]}).encode()
REQUEST = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
    b"Content-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
) % (KEY.encode(), len(BODY), BODY)


def config() -> str:
    models = "".join(
        f"- model_name: {'m' if n < DEPLOYMENTS - 2 else 'spare'}\n"
        f"  litellm_params: {{model: openai/gpt-x, api_base: os.environ/MOCK_BASE, api_key: sk-s{n}, timeout: 20}}\n"
        f"  model_info: {{id: s{n}}}\n"
        for n in range(DEPLOYMENTS)
    )
    return (
        f"model_list:\n{models}"
        "router_settings: {num_retries: 2, fallbacks: [{m: [spare]}]}\n"
        "general_settings: {master_key: os.environ/GATEWAY_KEY}\n"
        "haleway:\n"
        "  profile: resilient\n"
        "  health:\n"
        "    interval: 5s\n"
        "    stream: {first_token: 3s, gap: 3s, hang_after: 2s}\n"
        "    isolation: {base: 2s, max: 5s}\n"
    )


def fault(chance: random.Random) -> dict:
    """Mostly a proper answer, else one of the ways in which providers fail."""
    well = words(TEXT, chance.choice([20, 80, 200]))
    busy = {"error": {"message": "Rate limit reached", "type": "rate_limit_error"}}
    broken = {"error": {"message": "The server had an error", "type": "server_error"}}
    faults = [
        status(500, broken),
        status(503, broken),
        status(429, busy),
        cut_after(chance.randrange(1, 8)),
        error_event(chance.randrange(0, 8)),
        hang(),
        reset(),
        malformed(),
    ]
    return chance.choice(faults) if chance.random() < 0.4 else well


async def stream(port: int, chance: random.Random, counts: Counter) -> None:
    """One stream, and how it ended."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    leaves = chance.random() < LEAVERS
    patience = chance.uniform(0.05, 2.0) if leaves else 60.0
    text = b""
    try:
        writer.write(REQUEST)
        async with asyncio.timeout(patience):
            while piece := await reader.read(1 << 16):
                text += piece
    except TimeoutError:
        counts["left by the caller" if leaves else "NEVER ENDED"] += 1
        return
    except OSError:
        counts["CONNECTION BROKEN"] += 1
        return
    finally:
        writer.close()
    head, _, body = text.partition(b"\r\n\r\n")
    code = int(head.split(b" ", 2)[1]) if head else 0
    if code == 200 and b"data: [DONE]" in body:
        counts["completed"] += 1
    elif code == 200 and b'"error"' in body:
        counts["ended with an error event"] += 1
    elif code >= 400 and b'"error"' in body:
        counts[f"refused with {code}"] += 1
    else:
        counts["ENDED WITHOUT A WORD"] += 1


async def load(port: int, seconds: float, streams: int, seed: int) -> Counter:
    counts: Counter = Counter()
    end = time.monotonic() + seconds

    async def caller(number: int) -> None:
        chance = random.Random(seed * 1_000_003 + number)
        while time.monotonic() < end:
            await stream(port, chance, counts)

    await asyncio.gather(*(caller(number) for number in range(streams)))
    return counts


async def disturb(mock: Mock, seconds: float, seed: int) -> None:
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        name = f"sk-s{chance.randrange(DEPLOYMENTS)}"
        await asyncio.to_thread(mock.script, name, fault(chance))
        await asyncio.sleep(FAULT_EVERY / DEPLOYMENTS)


def resident_kib(pid: int) -> int:
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])


def sockets(pid: int) -> int:
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += os.readlink(link).startswith("socket:")
        except OSError:
            continue
    return found


async def watch(pid: int, seconds: float, samples: list[tuple[float, int]]) -> None:
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        samples.append((passed, resident_kib(pid)))
        await asyncio.sleep(SAMPLE_EVERY)


async def soak(pod: Pod, mock: Mock, options: argparse.Namespace) -> tuple[Counter, list[tuple[float, int]]]:
    samples: list[tuple[float, int]] = []
    counts, *_ = await asyncio.gather(
        load(pod.port, options.seconds, options.streams, options.seed),
        disturb(mock, options.seconds, options.seed),
        watch(pod.process.pid, options.seconds, samples),
    )
    return counts, samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mock = stack.enter_context(Mock(folder))
        text = config()
        mock.deployments(text)
        pod = stack.enter_context(Pod(folder, text, mock.env())).ready()
        idle = sockets(pod.process.pid)
        counts, samples = asyncio.run(soak(pod, mock, options))
        for n in range(DEPLOYMENTS):
            mock.script(f"sk-s{n}", words("done", 0))
        in_flight = lambda: sum(row["evidence"]["in_flight"] for row in pod.get("/haleway/deployments")["deployments"])
        until(lambda: in_flight() == 0, 30, "nothing in flight")
        # Idle connections to providers are kept for fifty seconds; probes keep one of each deployment in use.
        kept = idle + DEPLOYMENTS + 2
        until(lambda: sockets(pod.process.pid) <= kept, 75, f"no more than {kept} sockets open, {idle} of them at start,")
        assert "panicked" not in pod.text(), pod.text()
        sys.exit(report(counts, samples))


def report(counts: Counter, samples: list[tuple[float, int]]) -> int:
    for name, count in counts.most_common():
        print(f"{count:8}  {name}")
    bad = sum(count for name, count in counts.items() if name.isupper())
    length = samples[-1][0]
    part = lambda low, high: [kib for at, kib in samples if low * length <= at <= high * length]
    early, late = (statistics.median(part(*span)) for span in ((0.25, 0.5), (0.75, 1.0)))
    growth = late / early - 1
    print(f"{sum(counts.values()):8}  streams in {length:.0f} s, {bad} unaccounted for; no connection left behind")
    print(f"resident {early / 1024:.1f} MiB in the second quarter, {late / 1024:.1f} MiB in the last: {growth:+.1%}")
    return int(bad > 0 or growth > GROWTH)


if __name__ == "__main__":
    main()
