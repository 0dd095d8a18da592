//! A response as a chat completion.

use bytes::Bytes;
use haleway_wire::chat::Usage;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::Untranslatable;

/// A response, as far as it is read.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Response {
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) model: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    incomplete_details: Option<Value>,
    #[serde(default)]
    output: Option<Vec<Value>>,
    #[serde(default)]
    usage: Option<Value>,
}

/// The completion that a response amounts to.
pub(super) fn completion(body: &[u8], created: u64) -> Result<Bytes, Untranslatable> {
    let response: Response =
        serde_json::from_slice(body).map_err(|error| Untranslatable(error.to_string()))?;
    if response.error.as_ref().is_some_and(|error| !error.is_null()) || response.failed() {
        return Err(Untranslatable("the response says that it failed".to_owned()));
    }
    let output = response.output.as_deref();
    let output = output.ok_or_else(|| Untranslatable("the response has no output".to_owned()))?;
    let mut said = Said::default();
    for item in output {
        said.add(item);
    }
    let finish = response.finish(!said.calls.is_empty());
    let whole = json!({
        "id": response.id,
        "object": "chat.completion",
        "created": created,
        "model": response.model,
        "choices": [{"index": 0, "message": said.message(), "finish_reason": finish}],
        "usage": response.usage(),
    });
    Ok(whole.to_string().into())
}

impl Response {
    /// Nobody will finish it.
    pub(super) fn failed(&self) -> bool {
        matches!(self.status.as_deref(), Some("failed" | "cancelled"))
    }

    /// Chat's word for how it ended.
    pub(super) fn finish(&self, calls: bool) -> &'static str {
        let reason = self.incomplete_details.as_ref().and_then(|details| details.get("reason")?.as_str());
        match (self.status.as_deref(), reason) {
            (_, Some("content_filter")) => "content_filter",
            (Some("incomplete"), _) => "length",
            _ if calls => "tool_calls",
            _ => "stop",
        }
    }

    /// Token counts under chat's names.
    pub(super) fn usage(&self) -> Value {
        let usage = Usage::of(self.usage.as_ref()).unwrap_or_default();
        json!({
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens,
            "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        })
    }
}

/// What the items say together.
#[derive(Debug, Default)]
struct Said {
    text: String,
    refusal: String,
    thought: String,
    calls: Vec<Value>,
}

impl Said {
    fn add(&mut self, item: &Value) {
        let word = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let parts = |name: &str| item.get(name).and_then(Value::as_array).into_iter().flatten();
        match item.get("type").and_then(Value::as_str) {
            Some("message") => {
                for part in parts("content") {
                    self.text.push_str(&word(part, "text").unwrap_or_default());
                    self.refusal.push_str(&word(part, "refusal").unwrap_or_default());
                }
            }
            Some("reasoning") => {
                for part in parts("summary").chain(parts("content")) {
                    if !self.thought.is_empty() {
                        self.thought.push('\n');
                    }
                    self.thought.push_str(&word(part, "text").unwrap_or_default());
                }
            }
            Some("function_call") => {
                let function = json!({
                    "name": word(item, "name").unwrap_or_default(),
                    "arguments": word(item, "arguments").unwrap_or_default(),
                });
                let id = word(item, "call_id").unwrap_or_default();
                self.calls.push(json!({"id": id, "type": "function", "function": function}));
            }
            // Calls of the provider's own tools: the text around them tells what they found.
            Some(_) | None => {}
        }
    }

    fn message(self) -> Map<String, Value> {
        let mut message = Map::new();
        message.insert("role".to_owned(), "assistant".into());
        let silent = self.text.is_empty() && !(self.calls.is_empty() && self.refusal.is_empty());
        let content = if silent { Value::Null } else { self.text.into() };
        message.insert("content".to_owned(), content);
        let refusal = if self.refusal.is_empty() { Value::Null } else { self.refusal.into() };
        message.insert("refusal".to_owned(), refusal);
        if !self.thought.is_empty() {
            message.insert("reasoning_content".to_owned(), self.thought.into());
        }
        if !self.calls.is_empty() {
            message.insert("tool_calls".to_owned(), self.calls.into());
        }
        message
    }
}
