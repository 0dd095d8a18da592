"""`haleway probe`: one probe per deployment with its verdict and price, and what would be sent."""

import json

import pytest

from gateway import run
from mock import status

CONFIG = """
model_list:
  - model_name: chat
    litellm_params: {model: openai/stub, api_base: os.environ/MOCK_BASE, api_key: sk-probe-fine-1a2b3c4d}
    model_info: {id: fine, input_cost_per_token: 0.001, output_cost_per_token: 0.002}
  - model_name: other
    litellm_params: {model: openai/stub, api_base: os.environ/MOCK_BASE, api_key: sk-probe-dead-5e6f7a8b}
    model_info: {id: dead}
  - model_name: pictures
    litellm_params: {model: openai/stub, api_base: os.environ/MOCK_BASE, api_key: sk-probe-picture-9c0d1e2f}
    model_info: {id: picture, mode: image_generation, output_cost_per_image: 0.04}
general_settings: {master_key: sk-master-hidden, background_health_checks: true, health_check_interval: 300}
"""
KEYS = ("sk-probe-fine-1a2b3c4d", "sk-probe-dead-5e6f7a8b", "sk-probe-picture-9c0d1e2f")


@pytest.fixture
def probe(mock, tmp_path):
    """Runs the command on the config above."""
    mock.deployments(CONFIG)
    (tmp_path / "config.yaml").write_text(CONFIG)
    return lambda *options: run("probe", "config.yaml", *options, cwd=tmp_path, env=mock.env())


def test_every_deployment_is_probed_once_and_all_healthy_is_success(probe, mock):
    ended = probe()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [mock.count(key) for key in KEYS] == [1, 1, 1]
    assert "3 healthy, 0 unhealthy" in ended.stdout
    assert mock.calls("sk-probe-picture-9c0d1e2f")[0].path == "/v1/models", "a picture is not bought unasked"


def test_one_that_is_not_healthy_fails_and_names_its_cause(probe, mock):
    mock.script("sk-probe-dead-5e6f7a8b", status(401, {"error": {"message": "Incorrect API key provided: sk-probe-dead-5e6f7a8b."}}))
    ended = probe("--format", "json")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    found = json.loads(ended.stdout)
    rows = {row["id"]: row for row in found["probes"]}
    assert rows["dead"]["verdict"] == "unhealthy" and rows["dead"]["cause"].startswith("auth")
    assert rows["fine"]["verdict"] == "healthy" and rows["fine"]["price_usd"] > 0
    assert rows["dead"]["price_usd"] == 0
    assert found["total_usd"] == pytest.approx(rows["fine"]["price_usd"])
    assert not any(key in ended.stdout + ended.stderr for key in KEYS)


def test_a_group_or_an_id_is_selected_and_named_pictures_are_bought(probe, mock):
    assert probe("--group", "other").returncode == 0
    assert [mock.count(key) for key in KEYS] == [0, 1, 0]
    ended = probe("--id", "picture", "--format", "json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads(ended.stdout)["total_usd"] == pytest.approx(0.04)
    assert mock.calls("sk-probe-picture-9c0d1e2f")[0].path == "/v1/images/generations"


def test_a_dry_run_sends_nothing_and_says_what_would_be_sent(probe, mock):
    ended = probe("--dry-run", "--format", "json", "--pods", "3")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [mock.count(key) for key in KEYS] == [0, 0, 0]
    plan = json.loads(ended.stdout)
    rows = {row["id"]: row for row in plan["deployments"]}
    fine = rows["fine"]
    assert fine["probe"]["method"] == "POST" and fine["probe"]["url"].endswith("/v1/chat/completions")
    assert fine["probe"]["auth"] == "authorization: Bearer"
    assert fine["probe"]["body"]["model"] == "stub" and fine["probe"]["body"]["max_tokens"] == 16
    assert (fine["mode"], fine["policy"], fine["rung"]) == ("chat", "always", "generation")
    assert (fine["interval_seconds"], fine["probes_per_day"]) == (300, 288)
    assert fine["price_per_day_usd"] == pytest.approx(288 * fine["price_per_probe_usd"])
    picture = rows["picture"]
    assert (picture["policy"], picture["rung"], picture["probes_per_day"]) == ("only_when_out", "none", 0)
    assert picture["price_per_probe_usd"] == pytest.approx(0.04)
    assert plan["price_per_day_usd"] == pytest.approx(fine["price_per_day_usd"])
    assert plan["litellm"]["probes_per_day"] == 3 * 3 * 288
    assert not any(key in ended.stdout + ended.stderr for key in KEYS)


def test_a_dry_run_for_people_names_url_pace_and_price(probe):
    ended = probe("--dry-run")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for named in ("/v1/chat/completions", "authorization: Bearer", "every 300 s", "nothing was sent", "LiteLLM on one pod"):
        assert named in ended.stdout, named
    assert not any(key in ended.stdout + ended.stderr for key in KEYS)


def test_a_config_that_cannot_be_served_is_a_different_failure(tmp_path):
    (tmp_path / "config.yaml").write_text(CONFIG.replace("openai/stub", "nosuchprovider/stub", 1))
    ended = run("probe", "config.yaml", cwd=tmp_path, env={"MOCK_BASE": "http://127.0.0.1:1/v1"})
    assert ended.returncode == 2
    assert "nosuchprovider" in ended.stderr


def test_nothing_selected_is_told(probe):
    ended = probe("--id", "nobody")
    assert ended.returncode == 2
    assert "nobody" in ended.stderr
