//! Speech to text: the clip holds speech, so a usable answer holds text.

use http::{HeaderMap, header};
use serde_json::Value;

use super::verdict::{self, Verdict};
use crate::Reply;

/// The transcription, as JSON or, where the deployment asks for that, as plain text or a stream.
pub(super) fn judge(reply: Reply, headers: &HeaderMap, body: &[u8]) -> Verdict {
    if verdict::is_stream(headers, body) {
        return streamed(body);
    }
    let value = match verdict::parse(body) {
        Ok(value) if !value.is_string() => value,
        Ok(_) | Err(_) if is_plain(headers, body) => return text(&String::from_utf8_lossy(body)),
        Ok(_) => return Verdict::Malformed("a bare string".to_owned()),
        Err(what) => return Verdict::Malformed(what),
    };
    if verdict::is_error(&value) {
        return Verdict::Error;
    }
    let value = match reply {
        Reply::Passthrough => value,
        Reply::Translated(mut translator) => match translator.answer(body) {
            Ok(bytes) => match verdict::parse(&bytes) {
                Ok(value) => value,
                Err(what) => return Verdict::Malformed(what),
            },
            Err(error) => return Verdict::Malformed(error.0),
        },
    };
    match value.get("text").and_then(Value::as_str) {
        Some(said) => text(said),
        None => Verdict::Malformed("no text".to_owned()),
    }
}

fn text(said: &str) -> Verdict {
    if said.trim().is_empty() { Verdict::Blank } else { Verdict::Usable }
}

fn is_plain(headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let plain = ["text/plain", "text/vtt", "text/srt", "application/x-subrip"];
    plain.iter().any(|known| kind.to_ascii_lowercase().starts_with(known))
        && !body.trim_ascii_start().starts_with(b"<")
}

/// Events of a transcription that is told as it goes.
fn streamed(body: &[u8]) -> Verdict {
    let mut decoder = crate::EventReader::new(crate::Framing::Sse);
    decoder.push(body);
    let mut said = false;
    loop {
        let event = match decoder.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => match decoder.finish() {
                Some(event) => event,
                None => return if said { Verdict::Usable } else { Verdict::Blank },
            },
            Err(error) => return Verdict::Malformed(error.to_string()),
        };
        if event.is_blank() || event.is_done() {
            continue;
        }
        match serde_json::from_slice::<Value>(&event.data) {
            Ok(value) if verdict::is_error(&value) => return Verdict::Error,
            Ok(value) => {
                let said_here = ["delta", "text"].iter().filter_map(|name| value.get(name)?.as_str());
                said |= said_here.into_iter().any(|text| !text.trim().is_empty());
            }
            Err(error) => return Verdict::Malformed(format!("an event is no JSON ({error})")),
        }
    }
}
