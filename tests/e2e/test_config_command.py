"""`haleway config check` and `haleway config explain`."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from gateway import run

GOOD = """
model_list:
  - model_name: m
    litellm_params: {model: openai/gpt-4o-mini, api_key: sk-hidden}
general_settings: {master_key: sk-master-hidden, background_health_checks: true, health_check_interval: 30}
"""


def check(tmp_path, text, *options, env=None):
    (tmp_path / "config.yaml").write_text(text)
    return run("config", "check", "config.yaml", *options, cwd=tmp_path, env=env)


def test_a_good_file_passes(tmp_path):
    ended = check(tmp_path, GOOD, "--strict")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_misspelt_key_is_shown_with_its_line_and_cure(tmp_path):
    text = GOOD.replace("health_check_interval", "health_check_intervel")
    ended = check(tmp_path, text)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, "a warning alone does not fail"
    assert "config.yaml:5:" in said
    assert "health_check_intervel" in said and "`health_check_interval`" in said
    assert check(tmp_path, text, "--strict").returncode == 2


@pytest.mark.parametrize("written", ['"30"', "30.0"])
def test_an_interval_that_litellm_would_switch_off_is_told(tmp_path, written):
    ended = check(tmp_path, GOOD.replace("interval: 30", f"interval: {written}"))
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0
    assert "health_check_interval" in said and "LiteLLM" in said


def test_all_findings_come_at_once(tmp_path):
    text = """
model_list:
  - model_name: a
    litellm_params: {model: nosuchprovider/x, api_key: k}
  - litellm_params: {model: openai/gpt-4o-mini, api_key: k}
router_settings: {routing_strategy: round-robin, cooldown_time: abc}
general_settings: {master_kee: x}
"""
    ended = check(tmp_path, text)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1
    for named in ("nosuchprovider", "model_name", "round-robin", "cooldown_time", "master_kee"):
        assert named in said, named


def test_findings_come_as_json_too(tmp_path):
    ended = check(tmp_path, GOOD.replace("health_check_interval", "health_check_intervel"), "--json")
    findings = json.loads(ended.stdout)
    findings = findings["diagnostics"] if isinstance(findings, dict) else findings
    [finding] = [f for f in findings if "health_check_intervel" in f["message"]]
    assert {"code", "severity", "file", "line", "column", "message", "hint"} <= set(finding)
    assert (finding["severity"].lower(), finding["line"]) == ("warning", 5)


def test_every_value_is_explained_with_its_origin_and_no_secret(tmp_path):
    (tmp_path / "config.yaml").write_text(GOOD)
    ended = run("config", "explain", "config.yaml", cwd=tmp_path, env={"HEALTH_CHECK_TIMEOUT_SECONDS": "7"})
    assert ended.returncode == 0, ended.stderr
    assert "config.yaml:5" in ended.stdout
    assert "HEALTH_CHECK_TIMEOUT_SECONDS" in ended.stdout
    assert "default" in ended.stdout.lower()
    assert "hidden" not in ended.stdout


def test_an_environment_variable_of_litellm_acts(tmp_path):
    text = GOOD.replace(", health_check_interval: 30", "")
    (tmp_path / "config.yaml").write_text(text)
    ended = run("config", "explain", "config.yaml", cwd=tmp_path, env={"DEFAULT_HEALTH_CHECK_INTERVAL": "77"})
    assert any("77" in line and "DEFAULT_HEALTH_CHECK_INTERVAL" in line for line in ended.stdout.splitlines())


FIXTURES = Path(__file__).parents[2] / "crates/config/tests/fixtures/litellm"


def test_the_schema_takes_what_is_served_and_not_what_is_misspelt():
    ended = run("config", "schema")
    assert ended.returncode == 0, ended.stderr
    schema = json.loads(ended.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    files = sorted(FIXTURES.glob("*.yaml"))
    assert len(files) > 5
    for file in files:
        faults = [fault.message for fault in validator.iter_errors(yaml.safe_load(file.read_text()))]
        assert not faults, f"{file.name}: {faults}"
    own = {"health": {"interval": "15s", "panic": {"mode": False}, "statuses": {"upstream": [418]}}, "profile": "resilient"}
    entry = {"model_name": "m", "litellm_params": {"model": "openai/x"}, "model_info": {"haleway": {"fall": 2}}}
    assert validator.is_valid({"model_list": [entry], "haleway": own})
    for wrong in [
        {"general_settings": {"health_check_intervel": 3}},
        {"haleway": {"health": {"fall": "three"}}},
        {"haleway": {"health": {"statuses": {"upstream": [200]}}}},
        {"model_list": [{**entry, "model_info": {"haleway": {"panik": {}}}}]},
    ]:
        assert not validator.is_valid(wrong), wrong
