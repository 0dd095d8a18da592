"""Realtime sessions with the official SDK: what is said, who serves, and the deployment that takes over."""

import json

import openai
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from gateway import MASTER_KEY
from mock import cut_after, error_event, status

CONFIG = """
model_list:
  - model_name: talk
    litellm_params: {model: openai/gpt-realtime, api_base: os.environ/MOCK_BASE, api_key: sk-talk}
    model_info: {id: dep-talk, mode: realtime}
  - model_name: spare
    litellm_params: {model: openai/gpt-realtime, api_base: os.environ/MOCK_BASE, api_key: sk-spare}
    model_info: {id: dep-spare, mode: realtime}
  - model_name: azure
    litellm_params: {model: azure/my-realtime, api_base: os.environ/MOCK_HOST, api_key: sk-azure-talk}
    model_info: {id: dep-azure-talk, mode: realtime}
router_settings:
  num_retries: 0
  fallbacks: [{talk: [spare]}]
general_settings:
  master_key: os.environ/GATEWAY_KEY
"""

SAID = "Hello! How can I help you today?"


@pytest.fixture
def talks(start):
    return start(CONFIG)


def converse(gateway, model: str) -> str:
    """One turn of a conversation, as text."""
    said = ""
    with gateway.client().realtime.connect(model=model) as session:
        session.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        session.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
        )
        session.response.create()
        for event in session:
            if event.type == "response.output_text.delta":
                said += event.delta
            if event.type == "response.done":
                return said
    raise AssertionError("the session ended early")


@pytest.mark.parametrize("model", ["talk", "azure"])
def test_a_conversation(talks, model):
    assert converse(talks, model) == SAID


@pytest.mark.parametrize("fault", [status(500, {}), error_event(0)], ids=["refused", "error first"])
def test_another_deployment_takes_over_before_the_first_event(talks, mock, fault):
    mock.script("sk-talk", fault)
    assert converse(talks, "talk") == SAID
    assert (mock.count("sk-talk"), mock.count("sk-spare")) == (1, 1)


def test_a_session_that_breaks_off_says_so(talks, mock):
    mock.script("sk-talk", cut_after(1))
    url = talks.url.replace("http://", "ws://") + "/v1/realtime?model=talk"
    with connect(url, additional_headers={"authorization": f"Bearer {MASTER_KEY}"}) as session:
        assert json.loads(session.recv())["type"] == "session.created"
        session.send(json.dumps({"type": "response.create"}))
        last = json.loads(session.recv())
        assert (last["type"], last["error"]["code"]) == ("error", "session_cut")
        with pytest.raises(ConnectionClosedError) as closed:
            session.recv()
    assert closed.value.rcvd.code == 1011


def test_a_plain_request_is_told_what_is_missing(talks):
    answer = talks.request("GET", "/v1/realtime?model=talk")
    assert answer.status == 426 and answer.headers["upgrade"] == "websocket"


def test_health_comes_from_the_first_event(talks, mock):
    mock.script("sk-spare", error_event(0))
    answer = json.loads(talks.request("GET", "/health").body)
    assert {entry["model_id"] for entry in answer["healthy_endpoints"]} == {"dep-talk", "dep-azure-talk"}
    assert {entry["model_id"] for entry in answer["unhealthy_endpoints"]} == {"dep-spare"}
