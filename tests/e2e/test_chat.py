"""Chat completions as the official SDK sees them."""

import json

import openai
import pytest

from gateway import HELLO, MASTER_KEY
from mock import reply


# Larger than any machine number: it survives only where nobody parses it.
BIG = 12345678901234567890123


def test_a_chat_is_answered(gateway):
    answer = gateway.chat("chat")
    assert answer.object == "chat.completion"
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


def test_the_provider_gets_its_own_model_name_and_key(gateway, mock):
    gateway.chat("chat")
    [call] = mock.calls("sk-chat")
    assert call.path == "/v1/chat/completions"
    assert call.body["model"] == "gpt-4o-mini"
    assert call.headers["authorization"] == "Bearer sk-chat"
    assert MASTER_KEY not in json.dumps(call.headers)


def test_fields_that_nobody_knows_reach_the_provider(gateway, mock):
    strange = {"x_vendor": {"deep": [1, 2**63 + 1, 1.50, None]}, "reasoning_effort": "low"}
    gateway.chat("chat", extra_body=strange, temperature=0.25)
    [call] = mock.calls("sk-chat")
    assert call.body["x_vendor"] == strange["x_vendor"]
    assert call.body["reasoning_effort"] == "low"
    assert call.body["temperature"] == 0.25


def test_fields_that_nobody_knows_reach_the_caller(gateway, mock):
    body = chat_body(message={"role": "assistant", "content": "hi", "x_thoughts": ["a"]})
    body["x_vendor"] = {"big": BIG, "small": 1e-7}
    mock.script("sk-scripted", reply(body))
    answer = gateway.request("POST", "/v1/chat/completions", {"model": "scripted", "messages": HELLO})
    seen = json.loads(answer.body)
    assert seen["x_vendor"] == body["x_vendor"]
    assert seen["choices"][0]["message"]["x_thoughts"] == ["a"]


def test_tool_calls_pass_through_both_ways(gateway, mock):
    tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
    made = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Bern"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [made]}
    mock.script("sk-scripted", reply(chat_body(message=message, finish="tool_calls")))
    answer = gateway.chat("scripted", tools=tools, tool_choice="auto")
    [call] = answer.choices[0].message.tool_calls
    assert (call.id, call.function.name, call.function.arguments) == ("call_1", "weather", '{"city":"Bern"}')
    assert answer.choices[0].finish_reason == "tool_calls"
    [seen] = mock.calls("sk-scripted")
    assert seen.body["tools"] == tools and seen.body["tool_choice"] == "auto"


def test_headers_say_who_served(gateway):
    raw = gateway.client().chat.completions.with_raw_response.create(model="chat", messages=HELLO)
    headers = raw.headers
    assert headers["x-litellm-model-id"] == "dep-chat"
    assert headers["x-litellm-model-group"] == "chat"
    assert headers["x-litellm-attempted-retries"] == "0"
    assert headers["x-litellm-attempted-fallbacks"] == "0"
    assert headers["x-haleway-attempts"] == "1"
    assert headers["x-litellm-call-id"]
    assert raw.parse().choices[0].message.content


def test_a_call_id_of_the_caller_is_echoed(gateway):
    answer = gateway.request(
        "POST", "/v1/chat/completions", {"model": "chat", "messages": HELLO}, x_litellm_call_id="trace-me"
    )
    assert answer.headers["x-litellm-call-id"] == "trace-me"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions", "/openai/deployments/chat/chat/completions"])
def test_every_spelling_of_the_path_serves(gateway, path):
    answer = gateway.request("POST", path, {"model": "chat", "messages": HELLO})
    assert answer.status == 200, answer.text
    assert json.loads(answer.body)["choices"]


def test_the_azure_sdk_can_call_the_gateway(gateway):
    client = openai.AzureOpenAI(
        azure_endpoint=gateway.url, api_key=MASTER_KEY, api_version="2024-10-21", max_retries=0
    )
    assert client.chat.completions.create(model="chat", messages=HELLO).choices


def test_an_azure_deployment_is_called_in_azures_form(gateway, mock):
    assert gateway.chat("azure").choices
    [call] = mock.calls("sk-azure")
    assert call.path == "/openai/deployments/my-deployment/chat/completions"
    assert call.query == "api-version=2024-10-21"
    assert call.headers["api-key"] == "sk-azure"


def test_aliases_serve_their_group(gateway, mock):
    for alias in ("visible-alias", "hidden-alias"):
        assert gateway.chat(alias).choices
    assert mock.count("sk-chat") == 2


def test_large_prompts_pass(gateway, mock):
    text = "palindrome " * 60_000
    gateway.client().chat.completions.create(model="chat", messages=[{"role": "user", "content": text}])
    [call] = mock.calls("sk-chat")
    assert int(call.headers["content-length"]) > len(text)


def chat_body(message: dict, finish: str = "stop") -> dict:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
    }
