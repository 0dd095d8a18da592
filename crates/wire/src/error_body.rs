//! The error a client sees, in the shape its SDK knows.
//!
//! OpenAI clients get LiteLLM's envelope, whose `code` is a string even when it is a status; clients of the
//! Anthropic route get Anthropic's. Text that comes from elsewhere is cut to a bound, and serde escapes every
//! control character, so a hostile message cannot break out of the JSON or of an SSE line.

use bytes::Bytes;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;

#[cfg(test)]
mod tests;

/// Longest message handed to a client, in bytes of UTF-8.
pub const MAX_MESSAGE: usize = 4096;

/// An error for a client.
#[derive(Clone, Debug, Default)]
pub struct ErrorBody<'a> {
    /// What happened, for a person. Cut to [`MAX_MESSAGE`].
    pub message: &'a str,
    /// The kind of error, such as `invalid_request_error`; written as `type`.
    pub kind: &'a str,
    /// The request member at fault; `null` when there is none.
    pub param: Option<&'a str>,
    /// The stable code: a word, or the status in digits. Always written as a string.
    pub code: &'a str,
    /// Further members of the error object, such as the class of the cause.
    pub extra: &'a [(&'a str, Value)],
}

impl ErrorBody<'_> {
    /// `{"error":{"message":…,"type":…,"param":…,"code":…}}`.
    pub fn to_bytes(&self) -> Bytes {
        write(&OpenAi { error: OpenAiError(self) })
    }

    /// `{"type":"error","error":{"type":…,"message":…}}`, with the nearest of Anthropic's own types.
    pub fn to_anthropic_bytes(&self) -> Bytes {
        write(&Anthropic { kind: "error", error: AnthropicError(self) })
    }
}

/// `text` cut to at most `limit` bytes at a character boundary, with an ellipsis where something is missing.
pub fn bounded(text: &str, limit: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= limit {
        return text.into();
    }
    let mut end = limit.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text.get(..end).unwrap_or_default();
    format!("{head}…").into()
}

/// The type that Anthropic's SDK knows for one of our types.
fn anthropic_type(kind: &str) -> &str {
    match kind {
        "auth_error" => "authentication_error",
        "insufficient_quota" => "billing_error",
        "throttling_error" | "all_deployments_in_cooldown" => "rate_limit_error",
        "server_error" | "connection_error" | "internal_server_error" => "api_error",
        "upstream_overloaded" | "service_unavailable_error" | "all_deployments_out" => "overloaded_error",
        other => other,
    }
}

/// Serialising strings and JSON values into memory cannot fail; an empty object stands for the impossible.
fn write(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body).map_or_else(|_| Bytes::from_static(b"{}"), Bytes::from)
}

#[derive(Serialize)]
struct OpenAi<'a> {
    error: OpenAiError<'a>,
}

struct OpenAiError<'a>(&'a ErrorBody<'a>);

impl Serialize for OpenAiError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("message", &bounded(self.0.message, MAX_MESSAGE))?;
        map.serialize_entry("type", self.0.kind)?;
        map.serialize_entry("param", &self.0.param)?;
        map.serialize_entry("code", self.0.code)?;
        for (key, value) in self.0.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct Anthropic<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    error: AnthropicError<'a>,
}

struct AnthropicError<'a>(&'a ErrorBody<'a>);

impl Serialize for AnthropicError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", anthropic_type(self.0.kind))?;
        map.serialize_entry("message", &bounded(self.0.message, MAX_MESSAGE))?;
        for (key, value) in self.0.extra {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
