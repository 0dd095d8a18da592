"""Health endpoints in LiteLLM's shapes."""

import json

import pytest

from mock import status
from process import free_port, http, until

PROBED = """
model_list:
  - model_name: good
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-good}
    model_info: {id: dep-good, mode: chat}
  - model_name: vectors
    litellm_params: {model: openai/text-embedding-3-small, api_base: os.environ/MOCK_BASE, api_key: sk-vectors}
    model_info: {id: dep-vectors, mode: embedding}
  - model_name: bad
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-bad}
    model_info: {id: dep-bad, mode: chat}
general_settings:
  master_key: os.environ/GATEWAY_KEY
  background_health_checks: true
  health_check_interval: 2
"""


@pytest.mark.parametrize("path", ["/health/liveliness", "/health/liveness"])
def test_liveness_needs_no_key(gateway, path):
    answer = gateway.request("GET", path, key=None)
    assert (answer.status, json.loads(answer.body)) == (200, "I'm alive!")


def test_readiness_needs_no_key(gateway):
    answer = gateway.request("GET", "/health/readiness", key=None)
    assert answer.status == 200
    assert json.loads(answer.body)["status"] == "healthy"


def test_health_needs_a_key(gateway):
    assert gateway.request("GET", "/health", key=None).status == 401


def test_the_report_has_litellms_shape_with_age_and_origin(start, mock):
    mock.script("sk-bad", status(503, {"error": {"message": "overloaded", "type": "server_error"}}))
    gateway = start(PROBED)

    def report():
        body = json.loads(gateway.request("GET", "/health").body)
        return body if (body["healthy_count"], body["unhealthy_count"]) == (2, 1) else None

    body = until(report, 15, "a verdict on every deployment")
    assert {entry["model_id"] for entry in body["healthy_endpoints"]} == {"dep-good", "dep-vectors"}
    [bad] = body["unhealthy_endpoints"]
    assert bad["model_id"] == "dep-bad"
    assert bad["exception_status"] == 503
    assert bad["error"]
    for entry in body["healthy_endpoints"] + body["unhealthy_endpoints"]:
        assert entry["model"]
        assert entry["age_seconds"] >= 0
        assert entry["checked_by"] == "background_health_check"
        assert entry["checked_at"].endswith("Z")
    assert "sk-" not in json.dumps(body).replace("sk-****", "")


def test_the_report_can_be_narrowed(start, mock):
    mock.script("sk-bad", status(500, {"error": {"message": "boom"}}))
    gateway = start(PROBED)
    until(lambda: gateway.request("GET", "/health?model=bad").status == 503, 15, "the verdict")
    until(lambda: gateway.request("GET", "/health?model=good").status == 200, 15, "the verdict")
    assert gateway.request("GET", "/health?model_id=dep-good").status == 200
    assert gateway.request("GET", "/health?model=unknown").status == 503


def test_a_probe_is_one_small_request_of_the_right_kind(start, mock):
    start(PROBED)
    until(lambda: mock.count("sk-good") and mock.count("sk-vectors"), 15, "the first probes")
    chat, vectors = mock.calls("sk-good")[0], mock.calls("sk-vectors")[0]
    assert chat.path == "/v1/chat/completions"
    assert chat.body["max_tokens"] <= 16
    assert vectors.path == "/v1/embeddings"


def test_liveness_does_not_depend_on_providers(start, mock):
    mock.script("sk-good", status(500, {}))
    gateway = start(PROBED)
    until(lambda: gateway.request("GET", "/health?model=good").status == 503, 15, "the verdict")
    assert gateway.request("GET", "/health/readiness", key=None).status == 200
    assert gateway.request("GET", "/health/liveliness", key=None).status == 200


def test_an_admin_listener_answers_beside_traffic(start, mock):
    port = free_port()
    config = f"{PROBED}haleway: {{admin_listen: '127.0.0.1:{port}'}}\n"
    gateway = start(config)
    admin = f"http://127.0.0.1:{port}"
    for path in ("/health/liveliness", "/health/readiness"):
        assert http("GET", admin + path).status == 200
        assert gateway.request("GET", path, key=None).status == 200
    assert http("GET", f"{admin}/haleway/deployments").status == 401
    gateway.signal()
    assert gateway.wait() == 0
