//! Anthropic's Messages wire format: whole answers and streams.

use serde_json::{Value, json};

use crate::answer::{Event, Reply, Told};
use crate::request::{Call, Operation};

/// Known fields of a messages request.
pub(crate) const FIELDS: &[&str] = &[
    "container",
    "context_management",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "output_format",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// The answer to a messages or count call.
pub(crate) fn answer(operation: Operation, call: &Call, told: &Told) -> Reply {
    if operation == Operation::CountTokens {
        return Reply::Json(json!({"input_tokens": told.prompt_tokens}));
    }
    if call.streams() { Reply::Events(stream(told)) } else { Reply::Json(message(told)) }
}

fn stop_reason(told: &Told) -> &str {
    match told.finish.as_str() {
        "stop" => "end_turn",
        "length" => "max_tokens",
        other => other,
    }
}

fn usage(told: &Told, output: u64) -> Value {
    json!({
        "input_tokens": told.prompt_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": output,
        "service_tier": "standard",
    })
}

fn message(told: &Told) -> Value {
    let content =
        if told.pieces.is_empty() { json!([]) } else { json!([{"type": "text", "text": told.text()}]) };
    json!({
        "id": format!("msg_{}", told.id),
        "type": "message",
        "role": "assistant",
        "model": told.model,
        "content": content,
        "stop_reason": stop_reason(told),
        "stop_sequence": null,
        "usage": usage(told, told.completion_tokens),
    })
}

fn stream(told: &Told) -> Vec<Event> {
    let mut start = message(told);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"] = usage(told, 1);
    let mut events = vec![
        Event::named("message_start", &json!({"type": "message_start", "message": start})),
        Event::named(
            "content_block_start",
            &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        Event::named("ping", &json!({"type": "ping"})),
    ];
    events.extend(told.pieces.iter().map(|piece| {
        let delta = json!({"type": "text_delta", "text": piece});
        let body = json!({"type": "content_block_delta", "index": 0, "delta": delta});
        Event::named("content_block_delta", &body).output()
    }));
    events.push(Event::named("content_block_stop", &json!({"type": "content_block_stop", "index": 0})));
    let delta = json!({"stop_reason": stop_reason(told), "stop_sequence": null});
    let usage = json!({"output_tokens": told.completion_tokens});
    events.push(Event::named(
        "message_delta",
        &json!({"type": "message_delta", "delta": delta, "usage": usage}),
    ));
    events.push(Event::named("message_stop", &json!({"type": "message_stop"})));
    events
}
