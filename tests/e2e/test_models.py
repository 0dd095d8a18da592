"""Models that are added while the gateway runs: over a restart, over processes, and when the database goes away."""

import json

import openai
import pytest

from gateway import error_of
from mock import ok
from postgres import Postgres
from process import until

CONFIG = """
model_list:
  - model_name: m
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-one}
    model_info: {id: one}
general_settings: {master_key: os.environ/GATEWAY_KEY, store_model_in_db: true}
"""
ADDED = {
    "model_name": "added",
    "litellm_params": {"model": "openai/gpt-4o-mini", "api_base": "os.environ/MOCK_BASE", "api_key": "sk-added"},
    "model_info": {"id": "added-1"},
}


@pytest.fixture(scope="module")
def postgres(tmp_path_factory):
    server = Postgres(tmp_path_factory.mktemp("models"))
    yield server
    server.stop()


def models(gateway) -> set[str]:
    return {model.id for model in gateway.client().models.list()}


def database(gateway) -> str:
    answer = gateway.request("GET", "/health/readiness", key=None)
    assert answer.status == 200, answer.text
    return json.loads(answer.body)["db"]


def stored(gateway) -> dict[str, bool]:
    rows = json.loads(gateway.request("GET", "/v1/model/info").body)["data"]
    return {row["model_info"]["id"]: row["model_info"]["db_model"] for row in rows}


def test_a_model_is_added_called_kept_over_a_restart_and_deleted(start, mock, tmp_path):
    config = CONFIG + f"haleway: {{store: {{url: 'sqlite:{tmp_path}/models.db'}}}}\n"
    gateway = start(config)
    mock.script("sk-added", ok())
    answer = gateway.request("POST", "/model/new", ADDED)
    assert answer.status == 200 and json.loads(answer.body)["model_id"] == "added-1", answer.text
    assert gateway.chat("added").choices
    assert mock.count("sk-added") == 1
    gateway.stop()
    assert b"sk-added" not in b"".join(file.read_bytes() for file in tmp_path.glob("models.db*"))

    gateway = start(config)
    assert stored(gateway) == {"one": False, "added-1": True}
    assert gateway.chat("added").choices
    assert gateway.request("POST", "/model/delete", {"id": "added-1"}).status == 200
    with pytest.raises(openai.OpenAIError):
        gateway.chat("added")
    assert models(gateway) == {"m"}
    assert "sk-added" not in gateway.text()


def test_two_processes_on_one_postgres_follow_each_other(start, postgres):
    here, there = (start(CONFIG, DATABASE_URL=postgres.url) for _ in range(2))
    assert here.request("POST", "/model/new", ADDED).status == 200
    until(lambda: "added" in models(there), 30, "the model in the other process")
    assert there.chat("added").choices
    bad = {**ADDED, "model_info": {"id": "bad"}, "litellm_params": {"model": "nonsense/x"}}
    error = error_of(there.request("POST", "/model/new", bad))
    assert error["class"] == "bad_model", error
    assert there.request("PATCH", "/model/added-1/update", {"model_name": "renamed"}).status == 200
    until(lambda: "renamed" in models(here) and "added" not in models(here), 30, "the new name")
    assert here.request("POST", "/model/delete", {"id": "added-1"}).status == 200
    until(lambda: stored(there) == {"one": False}, 30, "the end of the model in the other process")


def test_g02_g03_a_lost_database_is_shown_and_found_again_and_stops_nothing(start, postgres):
    gateway = start(CONFIG, DATABASE_URL=postgres.url)
    gateway.request("POST", "/model/new", ADDED)
    assert database(gateway) == "connected"
    postgres.kill()
    until(lambda: database(gateway) == "disconnected", 30, "the loss being seen")
    assert gateway.chat("m").choices and gateway.chat("added").choices
    refused = gateway.request("POST", "/model/delete", {"id": "added-1"})
    assert refused.status == 503 and error_of(refused)["class"] == "store_unavailable"
    # One that starts meanwhile serves what the file has.
    other = start(CONFIG, DATABASE_URL=postgres.url)
    assert database(other) == "disconnected" and other.chat("m").choices
    postgres.run()
    for process in (gateway, other):
        until(lambda process=process: database(process) == "connected", 30, "the database being back")
    until(lambda: "added" in models(other), 30, "the stored model")
    assert gateway.request("POST", "/model/delete", {"id": "added-1"}).status == 200
