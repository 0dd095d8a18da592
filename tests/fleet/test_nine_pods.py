"""Nine processes, twenty-eight deployments, one Redis: the provider's meter never counts more than one probe per
deployment and interval, whatever happens to whom."""

import signal
import threading
import time

import pytest

from fleet import COUNT, INTERVAL, Fleet, config
from process import until
from store import Redis, Sentinel


@pytest.fixture
def nine(fleet):
    fleet.start(9)
    fleet.warm()
    fleet.clear()
    return fleet


def holders(fleet: Fleet) -> list:
    """The pods that probed something last, the busiest first."""
    page = next(pod for pod in fleet.pods if pod.process.poll() is None).fleet()
    probed = [row["probed_by"] for row in page["deployments"]]
    names = {pod.fleet()["pod"]: pod for pod in fleet.pods if pod.process.poll() is None}
    return [names[name] for name in sorted(set(probed) & set(names), key=probed.count, reverse=True)]


def test_calm_then_pods_that_die_pause_leave_and_join(nine):
    nine.watch(12)

    # Two of those that hold permits die, one is paused for longer than any hold.
    first, second, third, *_ = holders(nine)
    first.die()
    second.die()
    third.signal(signal.SIGSTOP)
    nine.watch(12, least=0.3)
    third.signal(signal.SIGCONT)
    nine.watch(6, least=0.3)

    # A rolling restart, one after another, while new ones join.
    for pod in [pod for pod in nine.pods if pod.process.poll() is None][:4]:
        pod.stop()
        nine.start(1)
    nine.start(2)
    nine.watch(8, least=0.3)
    page = nine.pods[-1].fleet()
    assert not page["probes"]["alarm"], page["probes"]
    assert until(lambda: sum(pod["there"] for pod in nine.pods[-1].fleet()["pods"]) == 9, 15, "nine pods are there")


def test_c02_answers_that_are_slower_than_any_old_lock(nine):
    for n in range(COUNT):
        nine.mock.script(f"sk-d{n}", {"do": "ok", "latency_ms": 3000})
    nine.watch(16, least=0.4)
    assert all(max(nine.mock.in_flight(f"sk-d{n}") for _ in range(2)) <= 1 for n in range(COUNT))


def test_c13_redis_frozen_killed_and_restarted_empty(nine, redis, tmp_path, keep):
    # Frozen: it accepts and never answers. Callers do not notice.
    pod = nine.pods[0]
    slowest, failed, over = 0.0, 0, threading.Event()

    def call() -> None:
        nonlocal slowest, failed
        while not over.is_set():
            began = time.monotonic()
            failed += pod.chat("m6").status != 200
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.05)

    caller = threading.Thread(target=call)
    caller.start()
    redis.freeze()
    until(lambda: pod.mode() == "local", 15, "the loss noticed")
    time.sleep(1)
    counted = sum(nine.mock.count(f"sk-d{n}") for n in range(COUNT) if n % 7 != 6)
    time.sleep(7)
    assert sum(nine.mock.count(f"sk-d{n}") for n in range(COUNT) if n % 7 != 6) == counted, "no probe without a permit"
    over.set()
    caller.join()
    assert failed == 0 and slowest < 2, (failed, slowest)
    assert set(pod.states().values()) <= {"HEALTHY", "UNKNOWN"}
    redis.thaw()
    until(lambda: all(each.mode() == "shared" for each in nine.pods), 20, "sharing again")
    for each in nine.pods:
        assert each.text().count("shared state lost") == 1, each.text()
        assert each.text().count("shared state restored") == 1, each.text()
    others = [n for n in range(COUNT) if n % 7 != 6]
    judge(nine, others)

    # Killed, and back without anything it knew. What is known is written again, and no probe is doubled.
    redis.die()
    time.sleep(2)
    keep(Redis(tmp_path, port=redis.port))
    until(lambda: all(each.mode() == "shared" for each in nine.pods), 20, "sharing again")
    time.sleep(14)
    judge(nine, others)
    late = nine.start(1)[0]
    until(lambda: late.states()["d0"] == "HEALTHY", 15, "what was lost was written again")


def judge(fleet: Fleet, numbers: list[int]) -> None:
    for n in numbers:
        arrived = fleet.probes(f"d{n}")
        gaps = [(after - before) / 1000 for before, after in zip(arrived, arrived[1:])]
        assert all(gap >= INTERVAL - 1 for gap in gaps), f"d{n}: probes {gaps} s apart"


def test_a_replica_is_promoted(tmp_path, mock, keep):
    primary = keep(Redis(tmp_path))
    replica = keep(Redis(tmp_path, "--replicaof", "127.0.0.1", str(primary.port)))
    until(lambda: b"master_link_status:up" in (replica.call("INFO", "replication") or b""), 20, "the replica in step")
    sentinel = keep(Sentinel(tmp_path, primary))
    nodes = f"[[127.0.0.1, {sentinel.port}]]"
    fleet = keep(Fleet(tmp_path, mock, config(f"{{sentinel_nodes: {nodes}, service_name: mymaster}}")))
    pods = fleet.start(9)
    fleet.warm()
    fleet.clear()
    fleet.watch(6, least=0)
    primary.die()
    until(lambda: b"role:master" in (replica.call("INFO", "replication") or b""), 30, "the replica promoted")
    until(lambda: all(pod.mode() == "shared" for pod in pods), 30, "sharing over the new primary")
    known = sum(mock.count(f"sk-d{n}") for n in range(COUNT))
    until(lambda: sum(mock.count(f"sk-d{n}") for n in range(COUNT)) >= known + COUNT, 30, "probing goes on")
    fleet.judge()
    assert any(pod.fleet()["permits"]["quarantines"] > 0 for pod in pods), "the failover was noticed"
