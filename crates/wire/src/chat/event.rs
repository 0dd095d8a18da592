//! Stream events of the other wires a client may speak: Responses, Anthropic Messages, and sound and pictures as they
//! are made.
//!
//! Their events carry a `type`; the end of the stream is a type too. Most events are small, and the type decides
//! without a look inside.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ChunkFacts, Finish, Usage, has_content, inspect_chunk};

/// The wire of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// OpenAI chat completions and completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// OpenAI's transcriptions, speech and pictures.
    Media,
}

#[derive(Deserialize)]
struct Typed<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    audio: Option<&'a RawValue>,
}

/// Looks at the data of one event of a stream of this kind.
pub fn inspect_event(kind: StreamKind, data: &[u8]) -> ChunkFacts {
    match kind {
        StreamKind::Chat => inspect_chunk(data),
        StreamKind::Responses => typed(data, responses),
        StreamKind::Messages => typed(data, messages),
        StreamKind::Media => typed(data, media),
    }
}

fn typed(data: &[u8], read: fn(&Typed<'_>, &[u8]) -> ChunkFacts) -> ChunkFacts {
    if data.trim_ascii() == b"[DONE]" {
        return ChunkFacts { is_done: true, ..ChunkFacts::default() };
    }
    match serde_json::from_slice::<Typed<'_>>(data) {
        // An error object of the OpenAI shape, without a type, may come first on any wire.
        Ok(event) if event.kind.is_empty() => {
            let error = inspect_chunk(data).error;
            ChunkFacts { error, malformed: !error, ..ChunkFacts::default() }
        }
        Ok(event) => read(&event, data),
        Err(_) => ChunkFacts { malformed: true, ..ChunkFacts::default() },
    }
}

fn responses(event: &Typed<'_>, data: &[u8]) -> ChunkFacts {
    let mut facts = ChunkFacts::default();
    match &*event.kind {
        "error" => facts.error = true,
        "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
            facts.is_done = true;
            let value: Value = serde_json::from_slice(data).unwrap_or_default();
            let response = value.get("response").unwrap_or(&Value::Null);
            facts.usage = Usage::of(response.get("usage"));
            facts.error = event.kind == "response.failed";
            let reason = response.get("incomplete_details").and_then(|details| details.get("reason"));
            facts.finish =
                Some(reason.and_then(Value::as_str).map_or_else(
                    || if facts.error { Finish::Error } else { Finish::Stop },
                    Finish::from_word,
                ));
        }
        kind => {
            facts.has_output = kind.ends_with(".delta") && event.delta.is_some_and(has_content);
        }
    }
    facts
}

fn messages(event: &Typed<'_>, data: &[u8]) -> ChunkFacts {
    let mut facts = ChunkFacts::default();
    match &*event.kind {
        "error" => facts.error = true,
        "message_stop" => facts.is_done = true,
        "content_block_delta" => facts.has_output = event.delta.is_some_and(said_something),
        "message_delta" | "message_start" => {
            let value: Value = serde_json::from_slice(data).unwrap_or_default();
            let holder = value.get("message").unwrap_or(&value);
            facts.usage = Usage::of(holder.get("usage"));
            let reason =
                value.get("delta").and_then(|delta| delta.get("stop_reason")).and_then(Value::as_str);
            facts.finish = reason.map(Finish::from_word);
        }
        "content_block_start" => {
            let value: Value = serde_json::from_slice(data).unwrap_or_default();
            let block =
                value.get("content_block").and_then(|block| block.get("type")).and_then(Value::as_str);
            facts.has_output = block.is_some_and(|kind| kind != "text" && kind != "thinking");
        }
        _ => {}
    }
    facts
}

/// Whether a delta of a content block holds more than its type.
fn said_something(delta: &RawValue) -> bool {
    let value: Value = serde_json::from_str(delta.get()).unwrap_or_default();
    value
        .as_object()
        .is_some_and(|members| members.iter().any(|(name, value)| name != "type" && super::is_filled(value)))
}

/// `transcript.text.delta`, `speech.audio.delta`, `image_edit.partial_image`, … and the event that ends each kind.
fn media(event: &Typed<'_>, data: &[u8]) -> ChunkFacts {
    let mut facts = ChunkFacts::default();
    let kind = &*event.kind;
    if kind == "error" {
        facts.error = true;
    } else if kind.ends_with(".done") || kind.ends_with(".completed") {
        #[derive(Deserialize)]
        struct Last<'a> {
            #[serde(borrow, default)]
            usage: Option<&'a RawValue>,
            #[serde(borrow, default)]
            text: Option<&'a RawValue>,
            #[serde(borrow, default)]
            b64_json: Option<&'a RawValue>,
        }
        facts.is_done = true;
        facts.finish = Some(Finish::Stop);
        if let Ok(last) = serde_json::from_slice::<Last<'_>>(data) {
            facts.has_output = [last.text, last.b64_json].into_iter().flatten().any(has_content);
            let usage = last.usage.and_then(|usage| serde_json::from_str::<Value>(usage.get()).ok());
            facts.usage = Usage::of(usage.as_ref());
        }
    } else if kind.ends_with(".delta") {
        facts.has_output = event.delta.or(event.audio).is_some_and(has_content);
    } else {
        facts.has_output = kind.ends_with(".partial_image") || kind.ends_with(".segment");
    }
    facts
}
