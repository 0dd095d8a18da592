"""A process that is asked to end leaves nobody hanging: neither callers nor the fleet."""

import json
import threading
import time

from fleet import KEY, Fleet, config
from mock import words
from process import http, until

STREAMS = 20


def stream(pod, outcome: list) -> None:
    body = {"model": "m0", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    answer = http("POST", f"{pod.url}/v1/chat/completions", json.dumps(body).encode(), headers, 30)
    outcome.append(answer.text.rstrip().endswith("data: [DONE]"))


def test_g07_streams_end_well_readiness_says_so_and_another_process_probes(tmp_path, mock, redis, keep):
    fleet = keep(Fleet(tmp_path, mock, config(f"{{host: 127.0.0.1, port: {redis.port}}}", count=1)))
    leaving, staying = fleet.start(2)
    fleet.warm(1)
    until(lambda: all(sum(pod["there"] for pod in one.fleet()["pods"]) == 2 for one in (leaving, staying)), 10, "two pods")
    until(lambda: leaving.states()["d0"] == "HEALTHY", 10, "d0 healthy")
    mock.script("sk-d0", words("a b c d e f g h", gap_ms=1000))
    ended: list[bool] = []
    threads = [threading.Thread(target=stream, args=(leaving, ended)) for _ in range(STREAMS)]
    for thread in threads:
        thread.start()
    until(lambda: mock.in_flight("sk-d0") >= STREAMS, 10, "all streams running")
    asked = time.monotonic()
    leaving.signal()
    until(lambda: http("GET", f"{leaving.url}/health/readiness").status == 503, 1, "not ready any more")
    until(lambda: leaving.chat("m0").status == 503, 1, "no new work")
    refusal = json.loads(leaving.chat("m0").body)["error"]
    assert refusal["class"] == "gateway_limit", refusal
    until(lambda: sum(pod["there"] for pod in staying.fleet()["pods"]) == 1, 1, "its place in the fleet is given up")
    while leaving.process.poll() is None and time.monotonic() - asked < 5:
        assert http("GET", f"{leaving.url}/health/liveliness").status == 200, "it lives as long as it works"
        time.sleep(0.5)
    for thread in threads:
        thread.join(30)
    took = time.monotonic() - asked
    assert ended == [True] * STREAMS
    assert leaving.wait(5) == 0 and took < 12, took
    before = len(fleet.probes("d0"))
    until(lambda: len(fleet.probes("d0")) > before, 7, "the other process goes on probing")
