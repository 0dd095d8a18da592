"""Two of our processes beside one that writes LiteLLM's keys as LiteLLM does."""

import json
import time

from fleet import Fleet, config
from process import until


def test_no_probe_is_doubled_beside_litellm(tmp_path, mock, redis, keep):
    store = f"{{host: 127.0.0.1, port: {redis.port}}}"
    fleet = keep(Fleet(tmp_path, mock, config(store, count=4, extra=", litellm_keys: join")))
    pods = fleet.start(2)
    fleet.warm(4)
    theirs = json.dumps("pod_1712345678901")
    # A pod of LiteLLM leads: it holds the lock while it probes, then writes what it found.
    until(lambda: redis.call("SET", "health_check_lock", theirs, "NX", "EX", "60") == b"OK", 20, "its turn")
    time.sleep(2.5)
    fleet.clear()
    time.sleep(8)
    assert all(mock.count(f"sk-d{n}") == 0 for n in range(4)), "it probes, so we do not"
    rows = [{"model_id": f"d{n}", "model": "openai/gpt-x"} for n in range(4)]
    results = {
        "healthy_endpoints": rows,
        "unhealthy_endpoints": [],
        "healthy_count": 4,
        "unhealthy_count": 0,
        "timestamp": time.time(),
        "checked_by": "pod_1712345678901",
    }
    written = time.monotonic()
    assert redis.call("SET", "health_check_results", json.dumps(json.dumps(results)), "EX", "5") == b"OK"
    assert redis.call("DEL", "health_check_lock") == b"1"
    until(lambda: any(mock.count(f"sk-d{n}") for n in range(4)), 30, "our turn")
    assert time.monotonic() - written >= 4.5, "its results count as a probe of their age"
    assert all(pod.mode() == "shared" for pod in pods)
