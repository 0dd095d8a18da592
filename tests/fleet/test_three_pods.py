"""Three processes and one Redis: what every fleet does."""

import json
import signal
import time

from fleet import Fleet, config
from process import until
from store import Redis


def test_c01_c03_one_probe_per_interval_and_one_verdict_everywhere(fleet):
    pods = fleet.start(3)
    fleet.warm()
    fleet.clear()
    fleet.watch(16)
    until(lambda: all(set(pod.states().values()) == {"HEALTHY"} for pod in pods), 10, "all healthy everywhere")
    pages = [pod.fleet() for pod in pods]
    assert {page["mode"] for page in pages} == {"shared"}
    for page in pages:
        assert sum(pod["there"] for pod in page["pods"]) == 3 and not page["probes"]["alarm"], page["probes"]
        assert 0 < page["probes"]["ratio"] <= 1.0
        assert {row["probed_by"] for row in page["deployments"]} <= {pod["pod"] for pod in page["pods"]}
    probers = {row["probed_by"] for row in pages[0]["deployments"]}
    assert len(probers) > 1, "probing is spread over pods"
    health = [pod.get("/health") for pod in pods]
    for page in health:
        assert page["healthy_count"] == 28
        assert all(row["age_seconds"] < 12 for row in page["healthy_endpoints"])


def test_c05_c06_a_stated_wait_is_everybodys_and_outlives_a_restart(fleet):
    first, second = fleet.start(2)
    fleet.warm()
    until(lambda: second.states()["d0"] == "HEALTHY" and first.states()["d0"] == "HEALTHY", 20, "d0 healthy")
    status = {"do": "status", "status": 429, "headers": {"retry-after": "30"}, "body": "{}"}
    for n in (0, 7, 14, 21):
        fleet.mock.script(f"sk-d{n}", status)
    assert first.chat("m0").status == 429
    tried = [n for n in (0, 7, 14, 21) if first.detail(f"d{n}")["evidence"]["held_until"]]
    assert tried, "the wait is noted where it was met"
    began = time.monotonic()
    until(lambda: all(second.detail(f"d{n}")["evidence"]["held_until"] for n in tried), 2, "held on the other pod")
    assert time.monotonic() - began < 1.5
    ends = [pod.detail(f"d{tried[0]}")["evidence"]["held_until"] for pod in (first, second)]
    third = fleet.start(1)[0]
    until(lambda: third.detail(f"d{tried[0]}")["evidence"]["held_until"], 10, "held in a fresh process")
    ends.append(third.detail(f"d{tried[0]}")["evidence"]["held_until"])
    seconds = [float(end[17:].rstrip("Z")) for end in ends]
    assert max(seconds) - min(seconds) < 0.5, ends


def test_an_operators_command_is_everybodys_within_a_second(fleet):
    first, second = fleet.start(2)
    until(lambda: second.mode() == "shared" and first.mode() == "shared", 15, "both sharing")
    assert first.post("/haleway/deployments/d3/disable", {"reason": "night work"}).status == 200
    until(lambda: second.states()["d3"] == "ADMIN_DOWN", 1.5, "down on the other pod")
    assert second.post("/haleway/deployments/d3/enable").status == 200
    until(lambda: first.states()["d3"] != "ADMIN_DOWN", 1.5, "up on the first pod")


def test_c08_redis_that_comes_later_is_joined_without_a_restart(tmp_path, mock, keep):
    gone = keep(Redis(tmp_path))
    port = gone.port
    gone.die()
    fleet = keep(Fleet(tmp_path, mock, config(f"{{host: 127.0.0.1, port: {port}}}", count=4)))
    pod = fleet.start(1)[0]
    assert pod.chat("m0").status == 200, "it serves at once"
    served = mock.count("sk-d0")
    assert pod.mode() == "local"
    time.sleep(4)
    assert sum(mock.count(f"sk-d{n}") for n in range(4)) == served, "no probe without a permit"
    keep(Redis(tmp_path, port=port))
    until(lambda: pod.mode() == "shared", 10, "sharing")
    fleet.warm(4)
    assert pod.text().count("shared state lost") == 1
    assert pod.text().count("shared state restored") == 1


def test_roles(tmp_path, mock, redis, keep):
    store = f"{{host: 127.0.0.1, port: {redis.port}}}"
    fleet = keep(Fleet(tmp_path, mock, config(store, count=4)))
    gateway = fleet.start(1, "--role", "gateway")[0]
    until(lambda: gateway.mode() == "shared", 15, "sharing")
    time.sleep(7)
    assert all(mock.count(f"sk-d{n}") == 0 for n in range(4)), "a gateway never probes"
    prober = fleet.start(1, "--role", "prober")[0]
    fleet.warm(4)
    assert prober.chat("m0").status == 404, "a prober serves no model calls"
    until(lambda: set(gateway.states().values()) == {"HEALTHY"}, 10, "the prober's verdicts at the gateway")
    roles = sorted(pod["role"] for pod in gateway.fleet()["pods"] if pod["there"])
    assert roles == ["gateway", "prober"]
    prober.die()
    time.sleep(3)
    assert set(gateway.states().values()) == {"HEALTHY"}, "the last snapshot serves on"
    until(lambda: "no probe was completed" in gateway.text(), 30, "an event that nobody probes")


def test_the_keys_that_operators_of_litellm_know(tmp_path, mock, redis, keep):
    store = f"{{host: 127.0.0.1, port: {redis.port}}}"
    fleet = keep(Fleet(tmp_path, mock, config(store, count=4)))
    for n in range(4):
        mock.script(f"sk-d{n}", {"do": "ok", "latency_ms": 1500})
    pod = fleet.start(1)[0]
    assert "Initialized shared health check manager" in pod.text()
    lock = until(lambda: redis.call("GET", "health_check_lock"), 20, "the lock while a probe is in flight")
    assert json.loads(lock) == pod.fleet()["pod"]
    until(lambda: redis.call("GET", "health_check_results"), 20, "results")
    fleet.warm(4)
    pod.signal(signal.SIGSTOP)
    ttl = int(redis.call("PTTL", "health_check_results"))
    assert 0 < ttl <= 5000
    pod.signal(signal.SIGCONT)
    results = json.loads(json.loads(redis.call("GET", "health_check_results") or b'"{}"') or "{}")
    if results:
        assert {"healthy_endpoints", "unhealthy_endpoints", "healthy_count", "timestamp", "checked_by"} <= set(results)
    status = pod.get("/health/shared-status")
    assert status["shared_health_check_enabled"] is True
    assert status["status"]["redis_available"] is True and status["status"]["cache_ttl"] == 5
    until(lambda: redis.call("EXISTS", "health_check_lock") == b"0", 20, "no lock without a probe")
