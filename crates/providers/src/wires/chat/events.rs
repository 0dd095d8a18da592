//! A whole chat completion as the events of a stream, for clients that want one from a provider that has none.

use bytes::{Bytes, BytesMut};
use haleway_wire::sse;
use serde_json::{Value, json};

/// The events of `completion`, the end mark included; `None` when it is none. The usage is said only when it was
/// asked for.
pub fn events_of(completion: &[u8], wants_usage: bool) -> Option<Bytes> {
    let whole: Value = serde_json::from_slice(completion).ok()?;
    let is_chat = match whole.get("object").and_then(Value::as_str)? {
        "chat.completion" => true,
        "text_completion" => false,
        _ => return None,
    };
    let object = if is_chat { "chat.completion.chunk" } else { "text_completion" };
    let chunk = |choices: Value| {
        json!({
            "id": whole.get("id"),
            "object": object,
            "created": whole.get("created"),
            "model": whole.get("model"),
            "choices": choices,
        })
    };
    let mut out = BytesMut::with_capacity(completion.len() * 2 + 256);
    let mut write = |value: &Value| sse::write_event(&mut out, None, value.to_string().as_bytes());
    for choice in whole.get("choices")?.as_array()? {
        let (index, finish) = (choice.get("index"), choice.get("finish_reason"));
        if is_chat {
            let said = choice.get("message")?;
            write(&chunk(json!([{ "index": index, "delta": said, "finish_reason": null }])));
            write(&chunk(json!([{ "index": index, "delta": {}, "finish_reason": finish }])));
        } else {
            write(&chunk(json!([{ "index": index, "text": choice.get("text"), "finish_reason": finish }])));
        }
    }
    if wants_usage {
        let mut last = chunk(json!([]));
        if let Some(last) = last.as_object_mut() {
            last.insert("usage".to_owned(), whole.get("usage").cloned().unwrap_or(Value::Null));
        }
        write(&last);
    }
    out.extend_from_slice(sse::DONE);
    Some(out.freeze())
}
