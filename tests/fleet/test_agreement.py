"""What all processes say of a deployment."""

import time

from fleet import Fleet, config
from process import until


def test_c03_every_process_tells_the_same_within_a_second_and_whose_verdict_it_is(tmp_path, mock, redis, keep):
    fleet = keep(Fleet(tmp_path, mock, config(f"{{host: 127.0.0.1, port: {redis.port}}}", count=4)))
    pods = fleet.start(4)
    fleet.warm(4)
    until(lambda: all(set(pod.states().values()) == {"HEALTHY"} for pod in pods), 20, "all healthy everywhere")
    unpaid = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    mock.script("sk-d0", {"do": "status", "status": 402, "body": unpaid})
    out = lambda pod: pod.states()["d0"] == "BUDGET"
    until(lambda: any(out(pod) for pod in pods), 20, "somebody's probe meets it")
    first = time.monotonic()
    until(lambda: all(out(pod) for pod in pods), 1.5, "the same everywhere")
    assert time.monotonic() - first < 1.5
    names = {pod.fleet()["pod"] for pod in pods}
    for pod in pods:
        page = pod.get("/health")
        assert (page["healthy_count"], page["unhealthy_count"]) == (3, 1)
        for row in page["healthy_endpoints"] + page["unhealthy_endpoints"]:
            assert row["checked_at"] and row["age_seconds"] < 15, row
            # A process names its own probes in LiteLLM's word.
            assert row["checked_by"] in names | {"background_health_check"}, row



def test_a_refused_key_is_a_fault_although_the_processes_probe_in_turn(tmp_path, mock, redis, keep):
    fleet = keep(Fleet(tmp_path, mock, config(f"{{host: 127.0.0.1, port: {redis.port}}}", count=2)))
    pods = fleet.start(6)
    fleet.warm(2)
    until(lambda: all(set(pod.states().values()) == {"HEALTHY"} for pod in pods), 20, "all healthy everywhere")
    refused = {"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}}
    mock.script("sk-d0", {"do": "status", "status": 401, "body": refused})
    until(lambda: all(pod.states()["d0"] == "CONFIG_FAULT" for pod in pods), 20, "out everywhere, with its cause")
    assert all(pod.states()["d1"] == "HEALTHY" for pod in pods)
