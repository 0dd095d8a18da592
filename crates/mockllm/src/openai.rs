//! OpenAI's wire format (and the rerank format its neighbours share): whole answers and streams.

use serde_json::{Value, json};

use crate::answer::{Event, Reply, Told};
use crate::request::{Call, Operation};

/// Known fields of a chat request.
pub(crate) const CHAT_FIELDS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];

/// Known fields of a completion request.
pub(crate) const COMPLETION_FIELDS: &[&str] = &[
    "best_of",
    "echo",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_tokens",
    "model",
    "n",
    "presence_penalty",
    "prompt",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "suffix",
    "temperature",
    "top_p",
    "user",
];

/// Known fields of a responses request.
pub(crate) const RESPONSES_FIELDS: &[&str] = &[
    "background",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];

/// The answer to a call of this operation.
pub(crate) fn answer(operation: Operation, call: &Call, told: &Told) -> Reply {
    match operation {
        Operation::Chat if call.streams() => Reply::Events(chat_stream(call, told)),
        Operation::Chat => Reply::Json(chat(told)),
        Operation::Completions if call.streams() => Reply::Events(completion_stream(told)),
        Operation::Completions => Reply::Json(completion(told)),
        Operation::Responses if call.streams() => Reply::Events(response_stream(told)),
        Operation::Responses => Reply::Json(response(told, "completed")),
        Operation::Embeddings => Reply::Json(embeddings(call, told)),
        Operation::Rerank => Reply::Json(rerank(call, told)),
        Operation::Moderations => Reply::Json(moderation(told)),
        Operation::Models => Reply::Json(models(told)),
        Operation::Model => Reply::Json(model(&told.model)),
        Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Ocr
        | Operation::Predictions => crate::objects::answer(operation, call, told),
        // Answered by the neighbouring modules before this one is asked.
        Operation::Messages
        | Operation::CountTokens
        | Operation::Speech
        | Operation::Transcription
        | Operation::Translation
        | Operation::Images
        | Operation::DeepgramListen
        | Operation::DeepgramSpeak
        | Operation::ElevenLabsSpeech
        | Operation::ElevenLabsText => Reply::Json(Value::Null),
    }
}

fn usage(told: &Told) -> Value {
    json!({
        "prompt_tokens": told.prompt_tokens,
        "completion_tokens": told.completion_tokens,
        "total_tokens": told.prompt_tokens + told.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": told.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    })
}

fn chat(told: &Told) -> Value {
    json!({
        "id": format!("chatcmpl-{}", told.id),
        "object": "chat.completion",
        "created": told.created,
        "model": told.model,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": told.text(), "refusal": null, "annotations": []},
            "logprobs": null,
            "finish_reason": told.finish,
        }],
        "usage": usage(told),
        "service_tier": "default",
        "system_fingerprint": "fp_mock",
    })
}

fn chat_stream(call: &Call, told: &Told) -> Vec<Event> {
    let include_usage =
        call.body.pointer("/stream_options/include_usage").and_then(Value::as_bool).unwrap_or(false);
    let id = format!("chatcmpl-{}", told.id);
    let chunk = |choices: Value, usage: Option<Value>| {
        let mut chunk = json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": told.created,
            "model": told.model,
            "service_tier": "default",
            "system_fingerprint": "fp_mock",
            "choices": choices,
        });
        if let (true, Some(fields)) = (include_usage, chunk.as_object_mut()) {
            fields.insert("usage".to_owned(), usage.unwrap_or(Value::Null));
        }
        chunk
    };
    let delta = |delta: Value, finish: Option<&str>| {
        chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]), None)
    };
    let mut events =
        vec![Event::data(&delta(json!({"role": "assistant", "content": "", "refusal": null}), None))];
    events.extend(
        told.pieces.iter().map(|piece| Event::data(&delta(json!({"content": piece}), None)).output()),
    );
    events.push(Event::data(&delta(json!({}), Some(&told.finish))));
    if include_usage {
        events.push(Event::data(&chunk(json!([]), Some(usage(told)))));
    }
    events.push(Event::done());
    events
}

fn completion(told: &Told) -> Value {
    json!({
        "id": format!("cmpl-{}", told.id),
        "object": "text_completion",
        "created": told.created,
        "model": told.model,
        "choices": [{"text": told.text(), "index": 0, "logprobs": null, "finish_reason": told.finish}],
        "usage": usage(told),
    })
}

fn completion_stream(told: &Told) -> Vec<Event> {
    let chunk = |text: &str, finish: Option<&str>| {
        json!({
            "id": format!("cmpl-{}", told.id),
            "object": "text_completion",
            "created": told.created,
            "model": told.model,
            "choices": [{"text": text, "index": 0, "logprobs": null, "finish_reason": finish}],
        })
    };
    let mut events: Vec<Event> =
        told.pieces.iter().map(|piece| Event::data(&chunk(piece, None)).output()).collect();
    events.push(Event::data(&chunk("", Some(&told.finish))));
    events.push(Event::done());
    events
}

fn embeddings(call: &Call, told: &Told) -> Value {
    let inputs = match call.body.get("input") {
        // An array of numbers is one text given as tokens.
        Some(Value::Array(items)) if items.iter().any(|item| !item.is_number()) => items.len(),
        _ => 1,
    };
    let size = call.body.get("dimensions").and_then(Value::as_u64).unwrap_or(8);
    let base64 = call.body.get("encoding_format").and_then(Value::as_str) == Some("base64");
    let embedding: Value = if base64 {
        json!(ones_in_base64(usize::try_from(size).unwrap_or(8)))
    } else {
        (0..size).map(|at| if at % 2 == 0 { 0.25 } else { -0.25 }).collect()
    };
    let data: Vec<Value> = (0..inputs)
        .map(|index| json!({"object": "embedding", "index": index, "embedding": embedding}))
        .collect();
    json!({
        "object": "list",
        "data": data,
        "model": told.model,
        "usage": {"prompt_tokens": told.prompt_tokens, "total_tokens": told.prompt_tokens},
    })
}

/// This many little-endian floats of value 1: three of them are twelve bytes, so they repeat every 16 letters.
fn ones_in_base64(floats: usize) -> String {
    let rest = match floats % 3 {
        0 => "",
        1 => "AACAPw==",
        _ => "AACAPwAAgD8=",
    };
    "AACAPwAAgD8AAIA/".repeat(floats / 3) + rest
}

fn rerank(call: &Call, told: &Told) -> Value {
    let documents = call.body.get("documents").and_then(Value::as_array).map_or(0, Vec::len);
    let wanted = call.body.get("top_n").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let results: Vec<Value> = (0..documents.min(wanted.unwrap_or(documents)))
        .map(|index| json!({"index": index, "relevance_score": 1.0 / (index + 1) as f64}))
        .collect();
    json!({
        "id": told.id,
        "results": results,
        "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
    })
}

fn moderation(told: &Told) -> Value {
    json!({
        "id": format!("modr-{}", told.id),
        "model": told.model,
        "results": [{
            "flagged": false,
            "categories": {"hate": false, "violence": false, "sexual": false, "self-harm": false},
            "category_scores": {"hate": 0.0001, "violence": 0.0002, "sexual": 0.0001, "self-harm": 0.0001},
        }],
    })
}

fn model(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "mock"})
}

fn models(told: &Told) -> Value {
    json!({"object": "list", "data": told.models.iter().map(|id| model(id)).collect::<Vec<_>>()})
}

fn response(told: &Told, status: &str) -> Value {
    let incomplete = told.finish == "length";
    let status = if incomplete && status == "completed" { "incomplete" } else { status };
    let mut output = Vec::new();
    if told.reasoning_tokens > 0 {
        output.push(json!({"id": format!("rs_{}", told.id), "type": "reasoning", "summary": []}));
    }
    if status != "in_progress" && !told.pieces.is_empty() {
        output.push(message_item(told, "completed", &told.text()));
    }
    json!({
        "id": format!("resp_{}", told.id),
        "object": "response",
        "created_at": told.created,
        "status": status,
        "error": null,
        "incomplete_details": incomplete.then(|| json!({"reason": "max_output_tokens"})),
        "model": told.model,
        "output": output,
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": told.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": told.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": told.reasoning_tokens},
            "total_tokens": told.prompt_tokens + told.completion_tokens,
        },
    })
}

fn message_item(told: &Told, status: &str, text: &str) -> Value {
    json!({
        "id": format!("msg_{}", told.id),
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    })
}

fn response_stream(told: &Told) -> Vec<Event> {
    let item = format!("msg_{}", told.id);
    let place = |kind: &str| json!({"type": kind, "item_id": item, "output_index": 0, "content_index": 0});
    let mut bodies = vec![
        (json!({"type": "response.created", "response": response(told, "in_progress")}), false),
        (json!({"type": "response.in_progress", "response": response(told, "in_progress")}), false),
    ];
    let mut started = message_item(told, "in_progress", "");
    started["content"] = json!([]);
    bodies.push((json!({"type": "response.output_item.added", "output_index": 0, "item": started}), false));
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let mut opened = place("response.content_part.added");
    opened["part"] = part("");
    bodies.push((opened, false));
    for piece in &told.pieces {
        let mut delta = place("response.output_text.delta");
        delta["delta"] = json!(piece);
        bodies.push((delta, true));
    }
    let mut done = place("response.output_text.done");
    done["text"] = json!(told.text());
    bodies.push((done, false));
    let mut closed = place("response.content_part.done");
    closed["part"] = part(&told.text());
    bodies.push((closed, false));
    let item = message_item(told, "completed", &told.text());
    bodies.push((json!({"type": "response.output_item.done", "output_index": 0, "item": item}), false));
    let last = response(told, "completed");
    let kind = format!("response.{}", last["status"].as_str().unwrap_or("completed"));
    bodies.push((json!({"type": kind, "response": last}), false));
    bodies
        .into_iter()
        .enumerate()
        .map(|(number, (mut body, is_output))| {
            body["sequence_number"] = json!(number);
            let event = Event::named(body["type"].as_str().unwrap_or_default(), &body);
            if is_output { event.output() } else { event }
        })
        .collect()
}
