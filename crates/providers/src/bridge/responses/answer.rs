//! A chat completion as a response.

use bytes::Bytes;
use haleway_wire::chat::Finish;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::chat::{Completion, Message, Usage, string};
use super::echo::Echo;
use crate::Untranslatable;

/// The response that a completion amounts to.
pub(super) fn response(body: &[u8], created: u64, echo: &Echo) -> Result<Bytes, Untranslatable> {
    let mut completion = Completion::parse(body)?;
    let said = completion.said()?;
    let output = output(&completion.id, &said.message)?;
    let head = Head { id: &completion.id, created, model: &completion.model };
    let whole = head.response(ending(said.finish), output, Some(&said.usage), echo);
    Ok(whole.to_string().into())
}

fn output(id: &str, message: &Message<'_>) -> Result<Vec<Value>, Untranslatable> {
    let mut output = Vec::new();
    if let Some(thought) = message.thought() {
        output.push(reasoning_item(&item_id("rs", id), Some(&thought)));
    }
    let mut parts = Vec::new();
    parts.extend(message.text().map(|text| text_part(&text)));
    parts.extend(message.refusal().map(|text| refusal_part(&text)));
    if !parts.is_empty() {
        output.push(message_item(&item_id("msg", id), "completed", parts));
    }
    for call in message.calls() {
        let function = call.function.as_ref();
        let text = |raw: Option<&RawValue>| raw.and_then(string).unwrap_or_default().into_owned();
        let name = text(function.and_then(|function| function.name));
        if name.is_empty() {
            return Err(Untranslatable("a tool call has no name".to_owned()));
        }
        let arguments = text(function.and_then(|function| function.arguments));
        let arguments = if arguments.is_empty() { "{}" } else { &arguments };
        let id = text(call.id);
        let item = CallItem { id: &item_id("fc", &id), call_id: &id, name: &name };
        output.push(item.with(arguments, "completed"));
    }
    Ok(output)
}

/// Where a response came from.
#[derive(Debug)]
pub(super) struct Head<'a> {
    pub(super) id: &'a str,
    pub(super) created: u64,
    pub(super) model: &'a str,
}

/// How a response stands: its status and, when it is cut short, why.
pub(super) fn ending(finish: Finish) -> (&'static str, Option<&'static str>) {
    match finish {
        Finish::Length => ("incomplete", Some("max_output_tokens")),
        Finish::ContentFilter => ("incomplete", Some("content_filter")),
        Finish::Stop
        | Finish::ToolCalls
        | Finish::Other
        | Finish::Error
        | Finish::NoCapacity
        | Finish::Malformed => ("completed", None),
    }
}

impl Head<'_> {
    /// The whole object.
    pub(super) fn response(
        &self,
        (status, reason): (&str, Option<&str>),
        output: Vec<Value>,
        usage: Option<&Usage>,
        echo: &Echo,
    ) -> Value {
        let mut response = Map::new();
        response.insert("id".to_owned(), self.response_id().into());
        response.insert("object".to_owned(), "response".into());
        response.insert("created_at".to_owned(), self.created.into());
        response.insert("status".to_owned(), status.into());
        response.insert("error".to_owned(), Value::Null);
        let details = reason.map_or(Value::Null, |reason| json!({ "reason": reason }));
        response.insert("incomplete_details".to_owned(), details);
        response.insert("model".to_owned(), self.model.into());
        response.insert("output".to_owned(), output.into());
        echo.add_to(&mut response);
        response.insert("usage".to_owned(), usage.map_or(Value::Null, counts));
        Value::Object(response)
    }

    fn response_id(&self) -> String {
        if self.id.starts_with("resp_") { self.id.to_owned() } else { format!("resp_{}", self.id) }
    }
}

fn counts(usage: &Usage) -> Value {
    let tokens = usage.tokens;
    json!({
        "input_tokens": tokens.prompt_tokens,
        "input_tokens_details": {"cached_tokens": tokens.cached_tokens},
        "output_tokens": tokens.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning_tokens},
        "total_tokens": tokens.total_tokens,
    })
}

/// A message.
pub(super) fn message_item(id: &str, status: &str, content: Vec<Value>) -> Value {
    json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
}

pub(super) fn text_part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

pub(super) fn refusal_part(text: &str) -> Value {
    json!({"type": "refusal", "refusal": text})
}

/// A thought; `None` while it is still to come.
pub(super) fn reasoning_item(id: &str, thought: Option<&str>) -> Value {
    let summary: Vec<Value> = thought.map(summary_part).into_iter().collect();
    json!({"id": id, "type": "reasoning", "summary": summary})
}

pub(super) fn summary_part(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}

/// A tool call. Its item has an id of its own kind beside the call's.
#[derive(Debug)]
pub(super) struct CallItem<'a> {
    pub(super) id: &'a str,
    pub(super) call_id: &'a str,
    pub(super) name: &'a str,
}

impl CallItem<'_> {
    pub(super) fn with(&self, arguments: &str, status: &str) -> Value {
        json!({
            "id": self.id,
            "type": "function_call",
            "status": status,
            "call_id": self.call_id,
            "name": self.name,
            "arguments": arguments,
        })
    }
}

/// The id of an item of this kind.
pub(super) fn item_id(kind: &str, id: &str) -> String {
    format!("{kind}_{id}")
}
