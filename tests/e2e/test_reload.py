"""A new configuration in a running process: by a changed file, by SIGHUP, by a call."""

import json
import os
import signal

from gateway import run
from process import free_port, until

ONE = """
model_list:
  - model_name: m
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-one}
    model_info: {id: one}
general_settings: {master_key: os.environ/GATEWAY_KEY}
"""
TWO = ONE.replace(
    "general_settings",
    """  - model_name: n
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-two}
    model_info: {id: two}
general_settings""",
)


def models(gateway) -> set[str]:
    return {model.id for model in gateway.client().models.list()}


def test_a_file_that_is_swapped_as_kubernetes_does_is_followed(start):
    gateway = start(ONE)
    assert models(gateway) == {"m"}
    swapped = gateway.config.with_suffix(".new")
    swapped.write_text(TWO)
    link = gateway.config.with_suffix(".link")
    link.symlink_to(swapped)
    os.replace(link, gateway.config)
    until(lambda: models(gateway) == {"m", "n"}, 15, "the new model")
    assert gateway.chat("n").choices


def test_sighup_and_a_call_reload_and_faults_are_told(start):
    gateway = start(ONE)
    gateway.config.write_text(TWO)
    gateway.signal(signal.SIGHUP)
    until(lambda: models(gateway) == {"m", "n"}, 15, "the new model")
    gateway.config.write_text(TWO.replace("openai/gpt-4o-mini", "nonsense/x"))
    answer = gateway.request("POST", "/haleway/reload")
    findings = json.loads(answer.body)["diagnostics"]
    assert answer.status == 422 and {finding["code"] for finding in findings} == {"unknown-provider"}, findings
    assert all(finding["line"] > 0 for finding in findings)
    assert gateway.chat("n").choices, "the configuration before stays in force"
    gateway.config.write_text(ONE)
    answer = gateway.request("POST", "/haleway/reload")
    assert json.loads(answer.body) == {
        "changed": [{"kind": "deployment_removed", "id": "two", "model_group": "n"}],
        "diagnostics": [],
    }
    assert gateway.request("POST", "/haleway/reload", key="sk-wrong").status == 401


def test_strict_mode_refuses_a_warning_at_start_and_at_a_reload(start, tmp_path):
    strict = ONE + "haleway: {strict: true}\n"
    warned = strict + "litellm_settings: {drop_parms: true}\n"
    (tmp_path / "warned.yaml").write_text(warned)
    env = {"GATEWAY_KEY": "sk-x", "MOCK_BASE": "http://127.0.0.1:1"}
    ended = run("serve", "--config", "warned.yaml", "--port", str(free_port()), cwd=tmp_path, env=env)
    assert ended.returncode == 1 and "drop_params" in ended.stdout + ended.stderr
    gateway = start(strict)
    gateway.config.write_text(warned)
    answer = gateway.request("POST", "/haleway/reload")
    assert (answer.status, [found["code"] for found in json.loads(answer.body)["diagnostics"]]) == (422, ["unknown-key"])
    assert gateway.chat("m").choices, "the configuration before stays in force"
