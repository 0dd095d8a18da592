"""A database in trouble: no verdict depends on it, it is told of once, and what happened meanwhile is written later."""

import json
import re
import sqlite3

import openai
import pytest

from mock import status
from postgres import Postgres
from process import until

CONFIG = """
model_list:
  - model_name: m
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-one}
    model_info: {id: one}
  - model_name: n
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-two}
    model_info: {id: two}
general_settings: {master_key: os.environ/GATEWAY_KEY}
router_settings: {num_retries: 0}
haleway:
  profile: resilient
  store: {url: os.environ/STORE}
"""


def get(gateway, path: str) -> dict:
    answer = gateway.request("GET", path)
    assert answer.status == 200, f"{path}: {answer.status} {answer.text}"
    return json.loads(answer.body)


def states(gateway) -> dict[str, str]:
    return {row["id"]: row["state"] for row in get(gateway, "/haleway/deployments")["deployments"]}


def metric(gateway, name: str) -> float:
    text = gateway.request("GET", "/metrics").text
    return float(re.search(rf"^{re.escape(name)} ([\d.]+)$", text, re.MULTILINE)[1])


def refuse(gateway, mock, model: str, key: str) -> None:
    """A caller's request finds out that the provider no longer takes this key."""
    mock.script(key, status(401, '{"error": {"message": "Incorrect API key provided"}}'))
    with pytest.raises(openai.AuthenticationError):
        gateway.chat(model)


def rows(gateway) -> list[tuple[str, str]]:
    checks = get(gateway, "/health/history?status_filter=unhealthy")["health_checks"]
    return [(row["model_id"], row["status"]) for row in checks]


def is_lost(gateway) -> bool:
    return not get(gateway, "/health/readiness/details")["store"]["answers"]


def told(gateway) -> tuple[int, int]:
    return gateway.text().count("the store is lost"), gateway.text().count("the store answers again")


def served_without(gateway, mock) -> None:
    """While the store is lost: `two` is refused, and that is known and shown, and nothing else suffers."""
    until(lambda: is_lost(gateway), 20, "the loss noticed")
    assert states(gateway)["two"] == "CONFIG_FAULT"
    ready = get(gateway, "/health/readiness")
    assert (ready["status"], ready["db"]) == ("healthy", "disconnected")
    assert get(gateway, "/health/readiness/details")["store"]["waiting"] > 0
    assert metric(gateway, "haleway_store_up") == 0 and metric(gateway, "haleway_store_waiting") > 0
    mock.script("sk-one", {"do": "ok"})
    assert gateway.request("POST", "/haleway/deployments/one/reset").status == 200
    assert gateway.chat("m").choices
    assert told(gateway) == (1, 0), gateway.text()


def caught_up(gateway) -> None:
    until(lambda: not is_lost(gateway), 30, "the store back")
    until(lambda: {("two", "unhealthy"), ("one", "unhealthy")} <= set(rows(gateway)), 10, "what was missed")
    assert told(gateway) == (1, 1), gateway.text()
    assert get(gateway, "/health/readiness")["db"] == "connected"
    assert metric(gateway, "haleway_store_up") == 1 and metric(gateway, "haleway_store_waiting") == 0
    open_ones = get(gateway, "/haleway/incidents?open=true")["incidents"]
    assert [incident["deployment"] for incident in open_ones] == ["two"]
    assert [line["action"] for line in get(gateway, "/haleway/audit")["audit"]] == ["reset"]


def test_postgresql_is_killed_and_comes_back(start, mock, tmp_path):
    database = Postgres(tmp_path)
    try:
        gateway = start(CONFIG, STORE=database.url)
        refuse(gateway, mock, "m", "sk-one")
        until(lambda: ("one", "unhealthy") in rows(gateway), 10, "the first row")
        database.kill()
        refuse(gateway, mock, "n", "sk-two")
        served_without(gateway, mock)
        assert gateway.request("GET", "/health/history").status == 503
        database.run()
        caught_up(gateway)
    finally:
        database.stop()


def test_a_file_that_takes_nothing_is_read_meanwhile_and_outlives_kill_9(start, mock, tmp_path):
    file = tmp_path / "haleway.db"
    gateway = start(CONFIG, STORE=f"sqlite:{file}")
    refuse(gateway, mock, "m", "sk-one")
    until(lambda: ("one", "unhealthy") in rows(gateway), 10, "the first row")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    refuse(gateway, mock, "n", "sk-two")
    served_without(gateway, mock)
    assert rows(gateway) == [("one", "unhealthy")]
    other.execute("ROLLBACK")
    other.close()
    caught_up(gateway)
    gateway.process.kill()
    gateway.process.wait()
    after = start(CONFIG, STORE=f"sqlite:{file}")
    assert ("two", "unhealthy") in rows(after)
    assert get(after, "/health/latest")["latest_health_checks"]["one"]["status"] == "healthy"
