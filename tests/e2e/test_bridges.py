"""Any model through any API: the official Anthropic SDK and OpenAI's responses against providers of other wires."""

import json
from pathlib import Path

import anthropic
import openai
import pytest
from pydantic import BaseModel

from gateway import HELLO, MASTER_KEY, Gateway
from mock import cut_after, error_event, events, reply, status, words

WEATHER = {
    "name": "weather",
    "description": "Tells the weather of a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
FUNCTION = {"type": "function", "name": "weather", "parameters": WEATHER["input_schema"], "strict": True}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
CHAT_USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}


@pytest.fixture(scope="module")
def bridged(mock, tmp_path_factory):
    config = Path(__file__).with_name("bridges.yaml").read_text()
    mock.deployments(config)
    with Gateway(config, tmp_path_factory.mktemp("bridges"), mock.env()) as server:
        yield server


@pytest.fixture
def client(bridged):
    return anthropic.Anthropic(base_url=bridged.url, api_key=MASTER_KEY, max_retries=0, timeout=15)


def said(model: str) -> dict:
    """The provider's way of saying "Hello there"."""
    return {
        "chat": reply({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "usage": CHAT_USAGE,
                       "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello there"}}]}),
        "claude": words("Hello there", 0),
        "gemini": reply({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello there"}]}, "finishReason": "STOP"}],
                         "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 16}}),
        "bedrock": reply({"output": {"message": {"role": "assistant", "content": [{"text": "Hello there"}]}}, "stopReason": "end_turn",
                          "usage": {"inputTokens": 11, "outputTokens": 5, "totalTokens": 16}, "metrics": {"latencyMs": 1}}),
        "only": words("Hello there", 0),
        "native": words("Hello there", 0),
    }[model]


def calls_weather(model: str) -> dict:
    """The provider's way of calling the tool."""
    return {
        "chat": reply({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "usage": CHAT_USAGE, "choices": [
            {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Bern"}'}}]}}]}),
        "claude": reply({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": None,
                         "content": [{"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Bern"}}],
                         "usage": {"input_tokens": 11, "output_tokens": 5}}),
        "gemini": reply({"candidates": [{"content": {"role": "model", "parts": [
            {"functionCall": {"id": "call_1", "name": "weather", "args": {"city": "Bern"}}}]}, "finishReason": "STOP"}]}),
        "bedrock": reply({"output": {"message": {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "call_1", "name": "weather", "input": {"city": "Bern"}}}]}}, "stopReason": "tool_use",
            "usage": {"inputTokens": 11, "outputTokens": 5, "totalTokens": 16}}),
    }[model]


@pytest.mark.parametrize("model", ["chat", "claude", "gemini", "bedrock", "only"])
def test_a_message_is_answered_by_every_wire(client, mock, model):
    mock.script(f"sk-b-{model}", said(model))
    answer = client.messages.create(model=model, max_tokens=100, system="Be brief.", messages=HELLO)
    assert (answer.type, answer.role, answer.stop_reason) == ("message", "assistant", "end_turn")
    assert [block.text for block in answer.content] == ["Hello there"]
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0
    [call] = mock.calls(f"sk-b-{model}")
    assert "Be brief." in json.dumps(call.body)


@pytest.mark.parametrize("model", ["chat", "claude", "gemini", "only"])
def test_a_message_streams_from_every_wire(client, mock, model):
    streams = {"gemini": {"do": "status", "status": 200, "headers": {"content-type": "text/event-stream"}, "body": "".join(
        f"data: {json.dumps({'candidates': [{'content': {'role': 'model', 'parts': [{'text': text}]}, **end}]})}\n\n"
        for text, end in [("Hello ", {}), ("there", {"finishReason": "STOP"})])}}
    mock.script(f"sk-b-{model}", streams.get(model, words("Hello there", 0)))
    with client.messages.stream(model=model, max_tokens=100, messages=HELLO) as stream:
        assert "".join(stream.text_stream) == "Hello there"
        final = stream.get_final_message()
    assert (final.stop_reason, final.content[0].text) == ("end_turn", "Hello there")
    assert model == "gemini" or final.usage.output_tokens > 0


@pytest.mark.parametrize("model", ["chat", "claude", "gemini", "bedrock"])
def test_a_tool_is_called_and_answered_on_every_wire(client, mock, model):
    mock.script(f"sk-b-{model}", calls_weather(model))
    asked = [{"role": "user", "content": "The weather in Bern?"}]
    first = client.messages.create(model=model, max_tokens=100, messages=asked, tools=[WEATHER], tool_choice={"type": "any"})
    assert first.stop_reason == "tool_use"
    [call] = [block for block in first.content if block.type == "tool_use"]
    assert (call.name, call.input) == ("weather", {"city": "Bern"})

    mock.script(f"sk-b-{model}", said(model))
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "sunny in Bern"}]}
    turns = [*asked, {"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    second = client.messages.create(model=model, max_tokens=100, messages=turns, tools=[WEATHER])
    assert second.content[0].text == "Hello there"
    sent = json.dumps(mock.calls(f"sk-b-{model}")[-1].body)
    assert "sunny in Bern" in sent and "weather" in sent


def test_a_tool_call_streams_in_pieces(client, mock):
    def chunk(delta, finish=None):
        return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    pieces = [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}},
              {"index": 0, "function": {"arguments": '{"city":'}}, {"index": 0, "function": {"arguments": '"Bern"}'}}]
    mock.script("sk-b-chat", events([chunk({"role": "assistant", "content": "I look."}),
                                     *[chunk({"tool_calls": [piece]}) for piece in pieces], chunk({}, "tool_calls")]))
    with client.messages.stream(model="chat", max_tokens=100, messages=HELLO, tools=[WEATHER]) as stream:
        final = stream.get_final_message()
    text, call = final.content
    assert (text.text, call.input, final.stop_reason) == ("I look.", {"city": "Bern"}, "tool_use")
    mock.script("sk-b-chat", events([chunk({"tool_calls": [piece]}) for piece in pieces] + [chunk({}, "tool_calls")]))


@pytest.mark.parametrize("model", ["chat", "gemini", "bedrock"])
def test_a_picture_reaches_every_wire(client, mock, model):
    mock.script(f"sk-b-{model}", said(model))
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    turns = [{"role": "user", "content": [picture, {"type": "text", "text": "What is this?"}]}]
    assert client.messages.create(model=model, max_tokens=100, messages=turns).content
    [call] = mock.calls(f"sk-b-{model}")
    assert PIXEL in json.dumps(call.body)


def test_errors_are_the_sdks_own(client, bridged, mock):
    limited = {"error": {"message": "slow down", "type": "rate_limit_error", "code": "rate_limit_exceeded"}}
    mock.script("sk-b-chat", status(429, limited))
    with pytest.raises(anthropic.RateLimitError):
        client.messages.create(model="chat", max_tokens=5, messages=HELLO)
    with pytest.raises(anthropic.BadRequestError) as caught:
        client.messages.create(model="gemini", max_tokens=5, messages=HELLO,
                               tools=[{"type": "web_search_20250305", "name": "web_search"}])
    assert "web_search" in str(caught.value)
    stranger = anthropic.Anthropic(base_url=bridged.url, api_key="sk-wrong", max_retries=0)
    with pytest.raises(anthropic.AuthenticationError):
        stranger.messages.create(model="chat", max_tokens=5, messages=HELLO)


@pytest.mark.parametrize("failure", [error_event(3), cut_after(3)], ids=["error", "cut"])
def test_a_broken_stream_raises_in_both_sdks(client, bridged, mock, failure):
    mock.script("sk-b-chat", {**failure, "text": "one two three four five"})
    with pytest.raises(anthropic.APIStatusError):
        with client.messages.stream(model="chat", max_tokens=100, messages=HELLO) as stream:
            stream.get_final_message()
    with pytest.raises(openai.APIError):
        for _ in bridged.client().responses.create(model="chat", input="hello", stream=True):
            pass


def test_tokens_are_counted_where_the_messages_are(client):
    assert client.messages.count_tokens(model="claude", messages=HELLO).input_tokens > 0
    with pytest.raises(anthropic.BadRequestError):
        client.messages.count_tokens(model="chat", messages=HELLO)


@pytest.mark.parametrize("model", ["chat", "claude", "gemini", "bedrock", "native", "only"])
def test_a_response_is_given_by_every_wire(bridged, mock, model):
    mock.script(f"sk-b-{model}", said(model))
    answer = bridged.client().responses.create(model=model, instructions="Be brief.", input="hello")
    assert (answer.object, answer.status, answer.output_text) == ("response", "completed", "Hello there")
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0
    [call] = mock.calls(f"sk-b-{model}")
    assert ("input" in call.body) == (model in ("native", "only"))


@pytest.mark.parametrize("model", ["chat", "claude", "native"])
def test_a_response_streams(bridged, mock, model):
    mock.script(f"sk-b-{model}", words("Hello there", 0))
    with bridged.client().responses.stream(model=model, input="hello") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text == "Hello there"
    assert final.usage.output_tokens > 0


@pytest.mark.parametrize("model", ["chat", "claude", "gemini", "bedrock"])
def test_a_response_calls_a_tool_and_takes_its_output(bridged, mock, model):
    mock.script(f"sk-b-{model}", calls_weather(model))
    client = bridged.client()
    first = client.responses.create(model=model, input="The weather in Bern?", tools=[FUNCTION])
    [call] = [item for item in first.output if item.type == "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("weather", {"city": "Bern"})
    mock.script(f"sk-b-{model}", said(model))
    items = [{"role": "user", "content": "The weather in Bern?"}, *first.output,
             {"type": "function_call_output", "call_id": call.call_id, "output": "sunny in Bern"}]
    second = client.responses.create(model=model, input=items, tools=[FUNCTION])
    assert second.output_text == "Hello there"
    assert "sunny in Bern" in json.dumps(mock.calls(f"sk-b-{model}")[-1].body)


def test_a_response_follows_a_schema(bridged, mock):
    class City(BaseModel):
        name: str

    body = said("chat")
    body["body"] = body["body"].replace("Hello there", '{\\"name\\": \\"Bern\\"}')
    mock.script("sk-b-chat", body)
    parsed = bridged.client().responses.parse(model="chat", input="a city", text_format=City)
    assert parsed.output_parsed == City(name="Bern")
    [call] = mock.calls("sk-b-chat")
    assert call.body["response_format"]["json_schema"]["schema"]["properties"]["name"]


def test_what_needs_a_memory_is_refused_by_chat_and_passes_to_responses(bridged, mock):
    with pytest.raises(openai.BadRequestError) as caught:
        bridged.client().responses.create(model="chat", input="hello", previous_response_id="resp_1")
    assert caught.value.body["haleway"]["param"] == "previous_response_id"
    assert bridged.client().responses.create(model="native", input="hello", previous_response_id="resp_1").output_text
    [call] = mock.calls("sk-b-native")
    assert call.body["previous_response_id"] == "resp_1"


def test_a_chat_is_served_over_responses_whole_and_streamed(bridged, mock):
    mock.script("sk-b-only", words("Hello there", 0))
    answer = bridged.chat("only", max_tokens=100)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("Hello there", "stop")
    chunks = list(bridged.chat("only", stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "Hello there"
    assert chunks[-1].usage.completion_tokens > 0
    first, _ = mock.calls("sk-b-only")
    assert (first.path, first.body["max_output_tokens"]) == ("/v1/responses", 100)
