//! What an error body says, whatever its shape: codes, words, endings.
//!
//! Forty providers have some thirty shapes, and proxies between them add their own, so members are recognised by
//! name wherever they stand rather than by path. Only so much of a body is looked at, and everything taken from
//! it is bounded.

use http::HeaderMap;
use serde_json::Value;

/// Bytes of a body that are looked at.
pub(super) const READ: usize = 64 * 1024;
/// How deep and how wide a body is searched.
const MAX_DEPTH: usize = 8;
const MAX_MEMBERS: usize = 64;
/// Bounds of what is taken.
const MAX_CODES: usize = 32;
const MAX_CODE: usize = 128;
const MAX_TEXT: usize = 8 * 1024;

/// The parts of an answer that rules look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Extract {
    /// Code-like members, in order of appearance, lower case.
    pub(super) codes: Vec<String>,
    /// The first code-like member as the provider wrote it, for the client.
    pub(super) first_code: Option<String>,
    /// Message-like members joined by line ends, lower case.
    pub(super) text: String,
    /// The first message-like member as the provider wrote it.
    pub(super) message: Option<String>,
    /// Reasons why an answer ended, lower case.
    pub(super) finishes: Vec<String>,
    /// Keys of `error.metadata`.
    pub(super) metadata: Vec<String>,
    /// The status behind Bedrock's 424.
    pub(super) original_status: Option<u16>,
    /// A quota that lasts until the end of a day is used up, as its identifier says.
    pub(super) per_day: bool,
}

impl Extract {
    /// Everything an error's JSON and headers say.
    pub(super) fn of_error(value: &Value, headers: &HeaderMap) -> Self {
        let mut extract = Self::default();
        extract.add_headers(headers);
        extract.walk(value, MAX_DEPTH);
        extract.add_finishes(value);
        extract
    }

    /// What prose or broken JSON says.
    pub(super) fn of_text(text: &str, headers: &HeaderMap) -> Self {
        let mut extract = Self::default();
        extract.add_headers(headers);
        if text.trim_start().starts_with(['{', '[']) {
            for key in ["code", "type", "status", "error_code", "reason"] {
                for found in scan(text, key) {
                    extract.add_code(found);
                }
            }
            for key in ["message", "msg", "detail", "error"] {
                for found in scan(text, key) {
                    extract.add_message(found);
                }
            }
        }
        extract.add_message(text.trim());
        extract
    }

    fn add_headers(&mut self, headers: &HeaderMap) {
        for name in ["x-amzn-errortype", "x-ms-error-code", "x-error-code", "grpc-status-name"] {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            if let Some(code) = value.and_then(|value| value.split(':').next()) {
                self.add_code(code);
            }
        }
    }

    fn walk(&mut self, value: &Value, depth: usize) {
        if depth == 0 {
            return;
        }
        match value {
            Value::Object(members) => {
                for (key, value) in members.iter().take(MAX_MEMBERS) {
                    self.member(key, value, depth);
                }
            }
            Value::Array(items) => items.iter().take(MAX_MEMBERS).for_each(|item| self.walk(item, depth - 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn member(&mut self, key: &str, value: &Value, depth: usize) {
        // `@type` names the schema of a detail, not what happened.
        if key.starts_with('@') {
            return;
        }
        let folded: String = key
            .bytes()
            .filter(|b| b.is_ascii_alphanumeric())
            .map(|b| b.to_ascii_lowercase() as char)
            .collect();
        match folded.as_str() {
            "code" | "type" | "status" | "errorcode" | "errortype" | "errcode" | "reason" | "statuscode"
            | "rawstatuscode" => self.scalar_code(value),
            "originalstatuscode" => self.original_status = value.as_u64().and_then(|n| u16::try_from(n).ok()),
            "quotaid" => {
                self.per_day |= value.as_str().is_some_and(|id| id.to_ascii_lowercase().contains("perday"))
            }
            "metadata" => {
                let keys = value.as_object().into_iter().flat_map(|members| members.keys());
                self.metadata.extend(keys.take(MAX_MEMBERS).cloned());
            }
            _ => {}
        }
        match (folded.as_str(), value) {
            (
                "message" | "msg" | "detail" | "details" | "title" | "error" | "errors" | "errmsg"
                | "errormessage" | "description" | "errordescription" | "statusmsg" | "raw" | "cause"
                | "fault",
                Value::String(text),
            ) => {
                self.message(text, depth);
            }
            ("errors" | "error" | "details" | "detail", Value::Array(items)) => {
                for text in items.iter().take(MAX_MEMBERS).filter_map(Value::as_str) {
                    self.message(text, depth);
                }
            }
            // DynamoDB-style type of AWS services: the name is what follows the namespace.
            ("type", Value::String(text)) if text.contains(['#', '/']) => {
                if let Some(name) = text.rsplit(['#', '/']).next() {
                    self.add_code(name);
                }
            }
            _ => {}
        }
        self.walk(value, depth - 1);
    }

    /// A message; one that is JSON itself, as gateways wrap it, is read as such too.
    fn message(&mut self, text: &str, depth: usize) {
        let trimmed = text.trim();
        let inner = trimmed.find('{').and_then(|at| trimmed.get(at..)).filter(|inner| inner.ends_with('}'));
        if let Some(value) = inner.and_then(|inner| serde_json::from_str::<Value>(inner).ok()) {
            self.walk(&value, depth - 1);
        }
        self.add_message(text);
    }

    fn scalar_code(&mut self, value: &Value) {
        match value {
            Value::String(code) => self.add_code(code),
            // Zero is what services with a status in every body call success.
            Value::Number(number) if number.as_f64() != Some(0.0) => self.add_code(&number.to_string()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
        }
    }

    fn add_code(&mut self, code: &str) {
        let code = code.trim();
        if code.is_empty() || code.len() > MAX_CODE || self.codes.len() >= MAX_CODES {
            return;
        }
        if self.first_code.is_none() {
            self.first_code = Some(code.to_owned());
        }
        let lower = code.to_lowercase();
        // `RateLimitExceeded.EndpointRPMExceeded`: the family says as much as the member.
        if let Some((family, _)) = lower.split_once('.').filter(|(family, _)| !family.is_empty()) {
            let family = family.to_owned();
            self.push_code(lower);
            self.push_code(family);
        } else {
            self.push_code(lower);
        }
    }

    fn push_code(&mut self, code: String) {
        if !self.codes.contains(&code) {
            self.codes.push(code);
        }
    }

    fn add_message(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if self.message.is_none() {
            self.message = Some(head(text, MAX_TEXT).to_owned());
        }
        let room = MAX_TEXT.saturating_sub(self.text.len());
        if room > 1 {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(&head(text, room - 1).to_lowercase());
        }
    }

    /// The endings that an answer of any wire states.
    pub(super) fn add_finishes(&mut self, value: &Value) {
        const NAMES: [&str; 6] = [
            "finish_reason",
            "stop_reason",
            "stopReason",
            "finishReason",
            "done_reason",
            "native_finish_reason",
        ];
        let parts =
            |name: &str| value.get(name).and_then(Value::as_array).into_iter().flatten().take(MAX_MEMBERS);
        let holders = std::iter::once(value)
            .chain(value.get("delta"))
            .chain(parts("choices"))
            .chain(parts("candidates"));
        for holder in holders {
            let words = NAMES.iter().filter_map(|name| holder.get(name)?.as_str());
            self.finishes.extend(words.filter(|word| word.len() <= MAX_CODE).map(str::to_lowercase));
        }
        if value.get("status").and_then(Value::as_str) == Some("failed") {
            self.finishes.push("failed".to_owned());
        }
        if value.pointer("/promptFeedback/blockReason").is_some_and(Value::is_string) {
            self.finishes.push("blocked".to_owned());
        }
    }
}

/// At most `limit` bytes of `text`, cut at a character.
pub(super) fn head(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The string values of a key in text that is not quite JSON, such as a body cut off in the middle.
fn scan<'t>(text: &'t str, key: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(key)
        .filter_map(move |(at, _)| {
            let before = text.get(..at)?;
            let after = text.get(at + key.len()..)?.strip_prefix('"')?;
            let value = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
            before.ends_with('"').then(|| value.split('"').next())?
        })
        .take(4)
}
