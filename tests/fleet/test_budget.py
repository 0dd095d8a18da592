"""A day's budget for probes holds over all processes and over their restarts."""

import json
import time

from fleet import Fleet, config
from process import http, until


def test_the_budget_is_the_fleets_and_survives_restarts(tmp_path, mock, redis, keep):
    cap, count = 6, 4
    text = config(f"{{host: 127.0.0.1, port: {redis.port}}}", count).replace(
        "timeout: 4s}", f"timeout: 4s, budget: {{total_probes_per_day: {cap}}}}}"
    )
    began = time.time() // 86_400
    fleet = keep(Fleet(tmp_path, mock, text))
    pods = fleet.start(3)

    def probes() -> int:
        # Once the budget is used up, calls that cost nothing go on.
        kept = [json.loads(http("GET", f"{mock.url}/__kept/sk-d{n}").body) for n in range(count)]
        return sum("chat/completions" in call["path"] for calls in kept for call in calls)

    def judge() -> None:
        # A test that runs over midnight has two days' budgets.
        days = 1 + time.time() // 86_400 - began
        assert probes() <= cap * days, f"{probes()} probes"

    until(lambda: probes() >= cap, 60, "the budget used up")
    until(lambda: any(pod.fleet()["budget"]["used_up"] == "total_probes_per_day" for pod in pods), 20, "told")
    judge()
    # A process that starts has a ledger of its own, and the fleet's book.
    for pod in pods:
        pod.stop()
    fresh = fleet.start(3)
    until(lambda: any(pod.fleet()["budget"]["probes"] >= cap for pod in fresh), 40, "the day's book is read")
    time.sleep(6)
    judge()
    rows = [row for pod in fresh for row in pod.get("/haleway/deployments")["deployments"]]
    assert any(row.get("fleet_cost", {}).get("used_up") == "total_probes_per_day" for row in rows)
    assert any("the day's budget for all probes is used up" in pod.text() for pod in fleet.pods)
    # A book that the store lost is taken over from those who know it.
    redis.call("FLUSHALL")
    time.sleep(12)
    judge()
