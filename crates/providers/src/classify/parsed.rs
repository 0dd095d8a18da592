//! What kind of bytes a body is, decided by looking rather than by its content type, which is often wrong.

use haleway_wire::sse;
use serde_json::Value;

use super::extract::head;

/// Events of a stream that are read at most.
const MAX_EVENTS: usize = 256;
/// Longest title taken from a page, in bytes.
const MAX_TITLE: usize = 200;

/// A body, read.
#[derive(Debug)]
pub(super) enum Parsed {
    /// Nothing, or white space.
    Empty,
    /// One JSON value, or the values of JSON lines as an array.
    Json(Value),
    /// The JSON data of server-sent events; `[DONE]` and other data left out.
    Events(Vec<Value>),
    /// A page of HTML or XML: its title, else nothing.
    Html(String),
    /// Anything else, also JSON that is cut off or broken.
    Text(String),
}

impl Parsed {
    /// Reads a body. Bytes that are no UTF-8 become the replacement character.
    pub(super) fn of(body: &[u8]) -> Self {
        let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii();
        if body.is_empty() {
            return Self::Empty;
        }
        let text = String::from_utf8_lossy(body);
        if text.starts_with('<') {
            return Self::Html(title(&text));
        }
        if let Ok(value) = serde_json::from_str(&text) {
            return Self::Json(value);
        }
        if ["data:", "event:", "id:", "retry:", ":"].iter().any(|start| text.starts_with(start)) {
            return Self::Events(events(text.as_bytes()));
        }
        let lines: Result<Vec<Value>, _> =
            text.lines().filter(|line| !line.is_empty()).map(serde_json::from_str).collect();
        match lines {
            Ok(lines) => Self::Json(Value::Array(lines)),
            Err(_) => Self::Text(text.into_owned()),
        }
    }
}

fn events(text: &[u8]) -> Vec<Value> {
    let mut decoder = sse::Decoder::default();
    decoder.push(text);
    let mut values = Vec::new();
    while values.len() < MAX_EVENTS {
        let Some(event) = decoder.next_event().ok().flatten().or_else(|| decoder.finish()) else { break };
        let Ok(value) = serde_json::from_slice::<Value>(&event.data) else { continue };
        // The name of the event says what its data may not: `event: error`.
        let is_error = event.name() == Some("error") && value.get("error").is_none();
        values.push(if is_error { serde_json::json!({ "error": value }) } else { value });
    }
    values
}

/// The text of the title or of the first heading of a page.
fn title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    for (open, close) in [("<title>", "</title>"), ("<h1>", "</h1>"), ("<message>", "</message>")] {
        let Some(start) = lower.find(open).map(|at| at + open.len()) else { continue };
        let Some(length) = lower.get(start..).and_then(|rest| rest.find(close)) else { continue };
        let text = page.get(start..start + length).unwrap_or_default();
        return head(text.trim(), MAX_TITLE).to_owned();
    }
    String::new()
}
