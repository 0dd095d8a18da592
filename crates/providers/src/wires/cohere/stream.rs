//! A v2 chat stream as chat chunks, event by event.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Reader, counts, finish_reason};
use crate::Step;
use crate::wires::chat::{Chunks, call};

/// What is known of a stream so far.
#[derive(Debug, Default)]
pub(super) struct State {
    chunks: Chunks,
    /// Tool calls begun.
    calls: usize,
    /// The last tool call's arguments have begun.
    arguments: bool,
    over: bool,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    delta: Value,
    /// What an error says; it has no type.
    #[serde(default)]
    message: Option<Value>,
}

impl Reader {
    /// One event's chunks.
    pub(super) fn streamed(&mut self, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        // Comments say nothing, and neither does what follows the end.
        if self.state.over || data.is_empty() {
            return Step::More;
        }
        let event: Event = match serde_json::from_slice(data) {
            Ok(event) => event,
            Err(error) => return Step::Malformed(error.to_string()),
        };
        if event.kind.is_empty() && event.message.is_some() {
            return Step::Failed(Bytes::copy_from_slice(data));
        }
        if !self.state.chunks.begun() {
            let id = event.id.as_deref().unwrap_or("");
            self.state.chunks.begin(id, self.created, &self.model);
            chunks.push(self.state.chunks.role(0));
        }
        let text = |pointer: &str| event.delta.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        match event.kind.as_str() {
            // A part may begin with text in it.
            "content-start" | "content-delta" => {
                self.push("content", text("/message/content/text"), chunks);
                self.push("reasoning_content", text("/message/content/thinking"), chunks);
            }
            "tool-plan-delta" => self.push("reasoning_content", text("/message/tool_plan"), chunks),
            "tool-call-start" => {
                let index = self.state.calls;
                self.state.calls += 1;
                let arguments = text("/message/tool_calls/function/arguments");
                self.state.arguments = !arguments.is_empty();
                let (id, name) = (text("/message/tool_calls/id"), text("/message/tool_calls/function/name"));
                let call = call(Some(index), id, name, arguments);
                chunks.push(self.state.chunks.delta(0, &json!({ "tool_calls": [call] }), None));
            }
            "tool-call-delta" => self.arguments(text("/message/tool_calls/function/arguments"), chunks),
            // A tool call without arguments has the empty object.
            "tool-call-end" if !self.state.arguments => self.arguments("{}", chunks),
            "message-end" => return self.end(&event.delta, chunks),
            // Citations, debugging, and events that are yet to come.
            _ => {}
        }
        Step::More
    }

    fn push(&self, member: &str, text: &str, chunks: &mut Vec<Bytes>) {
        if !text.is_empty() {
            chunks.push(self.state.chunks.delta(0, &json!({ member: text }), None));
        }
    }

    fn arguments(&mut self, text: &str, chunks: &mut Vec<Bytes>) {
        if let Some(index) = self.state.calls.checked_sub(1).filter(|_| !text.is_empty()) {
            self.state.arguments = true;
            let call = json!({ "index": index, "function": { "arguments": text } });
            chunks.push(self.state.chunks.delta(0, &json!({ "tool_calls": [call] }), None));
        }
    }

    fn end(&mut self, delta: &Value, chunks: &mut Vec<Bytes>) -> Step {
        if let Some(error) = delta.get("error").and_then(Value::as_str).filter(|error| !error.is_empty()) {
            return Step::Failed(json!({ "error": { "message": error } }).to_string().into());
        }
        self.state.over = true;
        let reason = delta.get("finish_reason").and_then(Value::as_str).unwrap_or("");
        chunks.push(self.state.chunks.delta(0, &json!({}), Some(finish_reason(reason))));
        chunks.push(self.state.chunks.usage(&counts(delta.get("usage"))));
        Step::Done
    }
}
