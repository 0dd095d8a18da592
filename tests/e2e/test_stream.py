"""Streamed chat completions as the official SDK sees them."""

import json

import openai
import pytest

from gateway import HELLO
from mock import cut_after, error_event, events, hang, status, words
from process import until


BIG = 12345678901234567890123


def chunks(gateway, model, **options):
    return list(gateway.chat(model, stream=True, **options))


def test_a_stream_is_relayed_in_pieces(gateway):
    pieces = chunks(gateway, "chat")
    texts = [piece.choices[0].delta.content for piece in pieces if piece.choices and piece.choices[0].delta.content]
    assert len(texts) > 1
    assert [p.choices[0].finish_reason for p in pieces if p.choices and p.choices[0].finish_reason] == ["stop"]


def test_usage_comes_only_when_asked_for(gateway):
    assert all(piece.usage is None for piece in chunks(gateway, "chat"))
    asked = chunks(gateway, "chat", stream_options={"include_usage": True})
    assert [piece.usage.total_tokens > 0 for piece in asked if piece.usage] == [True]
    assert asked[-1].choices == []


def test_the_bytes_are_server_sent_events_that_end_with_done(gateway):
    answer = gateway.request("POST", "/v1/chat/completions", {"model": "chat", "messages": HELLO, "stream": True})
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["x-litellm-model-id"] == "dep-chat"
    assert answer.text.endswith("data: [DONE]\n\n")
    events = answer.text.removesuffix("data: [DONE]\n\n").strip().split("\n\n")
    assert all(json.loads(event.removeprefix("data: "))["object"] == "chat.completion.chunk" for event in events)


def test_events_arrive_while_the_provider_still_writes(gateway, mock):
    mock.script("sk-scripted", words("one two", gap_ms=1500))
    for piece in gateway.chat("scripted", stream=True):
        if "one" in (piece.choices[0].delta.content or ""):
            assert mock.in_flight("sk-scripted") == 1
            return
    raise AssertionError("the first word never came")


def test_unknown_fields_of_events_survive(gateway, mock):
    mock.script("sk-scripted", events([chunk({"content": "hi"}, x_vendor={"big": BIG}), chunk({}, "stop")]))
    answer = gateway.request("POST", "/v1/chat/completions", {"model": "scripted", "messages": HELLO, "stream": True})
    assert f'"x_vendor": {{"big": {BIG}}}' in answer.text


def test_a_streamed_tool_call_arrives_whole(gateway, mock):
    start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
    parts = [{"index": 0, "function": {"arguments": text}} for text in ('{"city":', '"Bern"}')]
    mock.script(
        "sk-scripted",
        events([*(chunk({"tool_calls": [part]}) for part in [start, *parts]), chunk({}, "tool_calls")]),
    )
    calls = [piece.choices[0].delta.tool_calls for piece in chunks(gateway, "scripted")]
    made = [call[0].function for call in calls if call]
    assert made[0].name == "weather"
    assert "".join(function.arguments for function in made) == '{"city":"Bern"}'


def test_a_refusal_before_the_first_event_is_an_http_error(gateway, mock):
    mock.script("sk-scripted", status(400, {"error": {"message": "no", "type": "invalid_request_error"}}))
    with pytest.raises(openai.BadRequestError):
        chunks(gateway, "scripted")


def test_a_stream_cut_midway_ends_in_an_error_and_not_in_silence(gateway, mock):
    mock.script("sk-scripted", cut_after(2))
    with pytest.raises(openai.APIError):
        chunks(gateway, "scripted")


def test_an_error_event_midway_reaches_the_caller_as_an_error(gateway, mock):
    mock.script("sk-scripted", error_event(after=2))
    with pytest.raises(openai.APIError):
        chunks(gateway, "scripted")


def test_a_caller_who_leaves_ends_the_call_upstream(gateway, mock):
    mock.script("sk-scripted", words("word " * 200, gap_ms=100))
    answer = gateway.chat("scripted", stream=True)
    next(iter(answer))
    until(lambda: mock.in_flight("sk-scripted") == 1, what="the call being in flight")
    answer.close()
    until(lambda: mock.in_flight("sk-scripted") == 0, bound=5, what="the upstream call ending")


def test_a_caller_who_leaves_before_the_first_byte_ends_the_call_upstream(gateway, mock):
    mock.script("sk-scripted", hang())
    with pytest.raises(openai.APITimeoutError):
        gateway.client(timeout=0.5).chat.completions.create(model="scripted", messages=HELLO, stream=True)
    until(lambda: mock.in_flight("sk-scripted") == 0, bound=5, what="the upstream call ending")


def chunk(delta: dict, finish: str | None = None, **extra) -> dict:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1760000000,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **extra,
    }


def test_the_haleway_object_is_a_chunk_that_sdks_take(gateway):
    asked = {"x-haleway-trace": "true"}
    pieces = chunks(gateway, "chat", extra_headers=asked)
    assert pieces[-1].choices == []
    assert pieces[-1].id == pieces[0].id
    assert pieces[-1].model_extra["haleway"]["deployment"] == "dep-chat"
    whole = gateway.chat("chat", extra_headers=asked)
    assert whole.model_extra["haleway"]["attempts"] == 1
