"""What a caller sees when deployments fail: retries, fallbacks, and health that acts before the caller meets it."""

import json

from gateway import HELLO
from mock import ok, status
from process import until

BROKEN = status(500, {"error": {"message": "boom", "type": "server_error", "param": None, "code": None}})


def test_a_failing_sibling_is_not_seen_by_callers(gateway, mock):
    mock.script("sk-pair-bad", BROKEN)

    def served_while_the_bad_one_was_asked():
        assert gateway.chat("pair").choices
        return mock.count("sk-pair-bad") > 0

    until(served_while_the_bad_one_was_asked, 30, "the failing sibling being asked")
    for _ in range(5):
        assert gateway.chat("pair").choices


def test_a_fallback_serves_and_says_so(gateway, mock):
    mock.script("sk-first", BROKEN)
    raw = gateway.client().chat.completions.with_raw_response.create(model="first", messages=HELLO)
    assert raw.parse().choices
    assert raw.headers["x-litellm-model-id"] == "dep-chat"
    assert raw.headers["x-litellm-attempted-fallbacks"] == "1"


WATCHED = """
model_list:
  - model_name: group
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-steady}
    model_info: {id: dep-steady}
  - model_name: group
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-ailing}
    model_info: {id: dep-ailing}
router_settings: {num_retries: 0}
general_settings:
  master_key: os.environ/GATEWAY_KEY
  background_health_checks: true
  health_check_interval: 1
  enable_health_check_routing: true
"""


def unhealthy_ids(gateway) -> set[str]:
    report = json.loads(gateway.request("GET", "/health").body)
    return {entry["model_id"] for entry in report["unhealthy_endpoints"]}


def test_a_probe_takes_a_deployment_out_before_a_caller_meets_it_and_back_in(start, mock):
    mock.script("sk-ailing", BROKEN)
    gateway = start(WATCHED)
    until(lambda: unhealthy_ids(gateway) == {"dep-ailing"}, 15, "the probe's verdict")
    served = set()
    for _ in range(20):
        raw = gateway.client().chat.completions.with_raw_response.create(model="group", messages=HELLO)
        served.add(raw.headers["x-litellm-model-id"])
    assert served == {"dep-steady"}
    mock.script("sk-ailing", ok())
    until(lambda: unhealthy_ids(gateway) == set(), 15, "the recovery")

    def serves_again():
        raw = gateway.client().chat.completions.with_raw_response.create(model="group", messages=HELLO)
        return raw.headers["x-litellm-model-id"] == "dep-ailing"

    until(serves_again, 15, "traffic coming back")


def test_when_all_are_out_traffic_still_flows(start, mock):
    mock.script("sk-ailing", BROKEN)
    mock.script("sk-steady", BROKEN)
    gateway = start(WATCHED)
    until(lambda: unhealthy_ids(gateway) == {"dep-ailing", "dep-steady"}, 15, "both verdicts")
    mock.reset()
    assert gateway.chat("group").choices
