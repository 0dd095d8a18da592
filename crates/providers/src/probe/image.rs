//! Image generation: the smallest picture, and an answer that holds one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::body::object;
use super::verdict::Verdict;

/// The body: one picture, as small and cheap as the model's family allows.
pub(super) fn body(model: &str, prompt: &str) -> Map<String, Value> {
    let name = model.rsplit('/').next().unwrap_or(model);
    if name.starts_with("gpt-image") || name.starts_with("chatgpt-image") {
        object(json!({ "prompt": prompt, "n": 1, "size": "1024x1024", "quality": "low" }))
    } else if name.starts_with("dall-e-2") {
        object(json!({ "prompt": prompt, "n": 1, "size": "256x256" }))
    } else {
        object(json!({ "prompt": prompt, "n": 1 }))
    }
}

/// The first picture is one by its bytes, or by its address.
pub(super) fn judge(value: &Value) -> Verdict {
    let Some(list) = value.get("data").and_then(Value::as_array) else {
        return in_message(value);
    };
    let Some(first) = list.first() else {
        return if reason(value, "filter") {
            Verdict::Filtered
        } else if reason(value, "no_image") {
            Verdict::Blank
        } else {
            Verdict::Malformed("no images".to_owned())
        };
    };
    if let Some(text) = first.get("b64_json").and_then(Value::as_str) {
        // Only the start is decoded: a picture has megabytes.
        let start = text.get(..text.len().min(64) / 4 * 4).unwrap_or("");
        return match STANDARD.decode(start) {
            Ok(bytes) if is_picture(&bytes) => Verdict::Usable,
            Ok(_) | Err(_) => Verdict::Malformed("b64_json is no image".to_owned()),
        };
    }
    match first.get("url").and_then(Value::as_str) {
        Some(url) if url.starts_with("http") || url.starts_with("data:image/") => Verdict::Usable,
        Some(_) | None => Verdict::Malformed("the first image has neither b64_json nor url".to_owned()),
    }
}

/// Whether a reason beside an empty list holds this word.
fn reason(value: &Value, word: &str) -> bool {
    let reasons = value.get("finish_reasons").and_then(Value::as_array);
    let mut reasons = reasons.into_iter().flatten().filter_map(Value::as_str);
    reasons.any(|reason| reason.to_ascii_lowercase().contains(word))
}

/// Models that paint in a chat answer.
fn in_message(value: &Value) -> Verdict {
    let images = value.pointer("/choices/0/message/images").and_then(Value::as_array);
    match images {
        Some(images) if !images.is_empty() => Verdict::Usable,
        Some(_) | None => Verdict::Malformed("no data list".to_owned()),
    }
}

fn is_picture(bytes: &[u8]) -> bool {
    const MARKS: [&[u8]; 6] = [b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"<svg", b"<?xml"];
    MARKS.iter().any(|mark| bytes.starts_with(mark))
}
