"""What callers' requests met in all processes together."""

import time

from fleet import Fleet
from process import until


def config(store: str) -> str:
    """Two deployments in one group that nobody probes, judged by the requests of callers alone."""
    models = "".join(
        f"- model_name: m\n"
        f"  litellm_params: {{model: openai/gpt-x, api_base: os.environ/MOCK_BASE, api_key: sk-d{n}}}\n"
        f"  model_info: {{id: d{n}, mode: chat, haleway: {{probe: {{policy: never}}}}}}\n"
        for n in range(2)
    )
    return (
        f"model_list:\n{models}"
        "general_settings:\n"
        "  master_key: os.environ/GATEWAY_KEY\n"
        f"  coordination_redis: {store}\n"
        "router_settings: {num_retries: 0}\n"
        "haleway:\n"
        "  profile: resilient\n"
        "  health:\n"
        "    consecutive_failures: 100\n"
        "    window: {length: 60s, buckets: 20, min_requests: 30, failure_ratio: 0.5}\n"
        "    isolation: {base: 120s}\n"
        "  fleet: {namespace: test}\n"
    )


def test_failures_that_no_process_alone_would_act_on_isolate_for_all(tmp_path, mock, redis, keep):
    fleet = keep(Fleet(tmp_path, mock, config(f"{{host: 127.0.0.1, port: {redis.port}}}")))
    pods = fleet.start(3)
    until(lambda: all(pod.mode() == "shared" for pod in pods), 15, "sharing")
    silent = pods[0].fleet()["traffic"]["deployments"]
    assert silent == 0, "nothing was asked, so nothing is told"
    for n in range(2):
        mock.script(f"sk-d{n}", {"do": "status", "status": 500, "body": "{}"})
    for pod in pods:
        for _ in range(25):
            pod.chat("m")
    counted = [mock.count(f"sk-d{n}") for n in range(2)]
    assert sum(counted) == 75
    out = [f"d{n}" for n in range(2) if counted[n] > 33]
    assert out, counted
    for pod in pods:
        until(lambda: all(pod.states()[name] == "ISOLATED" for name in out), 5, f"{out} out everywhere")
        rows = [pod.detail(name) for name in out]
        assert not any(row["evidence"]["local_only"] for row in rows), "it is the fleet's verdict"


def test_one_process_that_fails_does_not_take_it_from_the_others(tmp_path, mock, redis, keep):
    fleet = keep(Fleet(tmp_path, mock, config(f"{{host: 127.0.0.1, port: {redis.port}}}")))
    pods = fleet.start(3)
    until(lambda: all(pod.mode() == "shared" for pod in pods), 15, "sharing")
    for pod in pods[1:]:
        for _ in range(40):
            assert pod.chat("m").status == 200
    until(lambda: pods[0].fleet()["traffic"]["deployments"] == 2, 5, "the others' requests are known here")
    for n in range(2):
        mock.script(f"sk-d{n}", {"do": "status", "status": 500, "body": "{}"})
    for _ in range(25):
        pods[0].chat("m")
    time.sleep(2)
    for pod in pods:
        assert "ISOLATED" not in set(pod.states().values()), "25 failures of 105 requests are few"
