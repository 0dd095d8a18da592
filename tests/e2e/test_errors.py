"""Failures, as the exceptions that the official SDK raises."""

import json

import openai
import pytest

from gateway import HELLO, error_of
from mock import hang, malformed, reset, status


def provider_error(message: str, code: str | None = None, kind: str = "invalid_request_error") -> dict:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


FAULTS = {
    400: (openai.BadRequestError, provider_error("messages[0] is odd")),
    403: (openai.PermissionDeniedError, provider_error("region not allowed")),
    404: (openai.NotFoundError, provider_error("The model does not exist", "model_not_found")),
    422: (openai.UnprocessableEntityError, provider_error("cannot process")),
    429: (openai.RateLimitError, provider_error("Rate limit reached", "rate_limit_exceeded", "requests")),
    500: (openai.InternalServerError, provider_error("server had an error", kind="server_error")),
    503: (openai.InternalServerError, provider_error("overloaded", kind="server_error")),
}

# As long as a real one, since that is what providers repeat in their errors.
KEY = "sk-fault-0123456789abcdefghij"

FAULT_CONFIG = """
model_list:
  - model_name: fault
    litellm_params: {model: openai/gpt-4o-mini, api_base: os.environ/MOCK_BASE, api_key: sk-fault-0123456789abcdefghij}
    model_info: {id: dep-fault}
router_settings: {num_retries: 0}
general_settings: {master_key: os.environ/GATEWAY_KEY}
"""


@pytest.mark.parametrize("code", FAULTS)
def test_the_providers_error_is_raised_as_its_class(start, mock, code):
    expected, body = FAULTS[code]
    gateway = start(FAULT_CONFIG)
    mock.script(KEY, status(code, body))
    with pytest.raises(expected) as caught:
        gateway.chat("fault")
    assert caught.value.status_code == code
    assert caught.value.code == str(code)
    assert body["error"]["message"] in caught.value.message
    assert caught.value.response.headers["x-litellm-model-id"] == "dep-fault"
    assert mock.count(KEY) == 1


def test_the_gateways_own_bad_key_is_not_the_callers(start, mock):
    gateway = start(FAULT_CONFIG)
    mock.script(KEY, status(401, provider_error(f"Incorrect API key provided: {KEY}", "invalid_api_key")))
    with pytest.raises(openai.AuthenticationError) as caught:
        gateway.chat("fault")
    assert caught.value.type == "authentication_error"
    assert KEY not in caught.value.response.text


@pytest.mark.parametrize("fault", [reset(), malformed()], ids=["reset", "malformed"])
def test_a_broken_provider_is_a_server_error(start, mock, fault):
    gateway = start(FAULT_CONFIG)
    mock.script(KEY, fault)
    with pytest.raises(openai.InternalServerError) as caught:
        gateway.chat("fault")
    assert caught.value.type == "internal_server_error"


def test_the_deployments_timeout_is_a_408(gateway, mock):
    mock.script("sk-slow", hang())
    with pytest.raises(openai.APIStatusError) as caught:
        gateway.chat("slow")
    assert caught.value.status_code == 408
    assert caught.value.code == "408"


def test_the_callers_own_timeout_is_the_sdks(gateway, mock):
    mock.script("sk-scripted", hang())
    with pytest.raises(openai.APITimeoutError):
        gateway.client(timeout=0.5).chat.completions.create(model="scripted", messages=HELLO)


def test_an_unknown_model_is_a_bad_request_that_names_it(gateway):
    with pytest.raises(openai.BadRequestError) as caught:
        gateway.chat("no-such-model")
    assert "no-such-model" in caught.value.message
    assert caught.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    "body",
    [b"{not json", b"[1]", b'"text"', b"", b'{"messages":[]}', b'{"model":5,"messages":[]}', b"\xff\xfe"],
    ids=["syntax", "array", "string", "empty", "no model", "model of a wrong type", "not text"],
)
def test_a_malformed_request_is_a_400_in_litellms_shape(gateway, body):
    answer = gateway.request("POST", "/v1/chat/completions", body)
    assert answer.status == 400, answer.text
    error = error_of(answer)
    assert error["type"] == "invalid_request_error"
    assert error["code"] == "400"


def test_an_oversized_body_is_refused(start):
    gateway = start(FAULT_CONFIG.replace("{master_key:", "{max_request_size_mb: 1, master_key:"))
    body = json.dumps({"model": "fault", "messages": [{"role": "user", "content": "x" * 1_200_000}]}).encode()
    answer = gateway.request("POST", "/v1/chat/completions", body)
    assert answer.status == 413
    assert error_of(answer)["code"] == "413"


def test_no_error_tells_a_key_or_another_group(gateway, mock):
    mock.script("sk-scripted", status(500, provider_error("boom")))
    answer = gateway.request("POST", "/v1/chat/completions", {"model": "scripted", "messages": HELLO})
    assert answer.status == 500
    for secret in ("sk-", "pair", "embed", mock.url):
        assert secret not in answer.text, secret
