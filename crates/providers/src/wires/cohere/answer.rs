//! A v2 chat answer as a chat completion.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::stream::State;
use crate::wires::chat::{Counts, call, completion, count, message, wrong};
use crate::{Step, Translator, Untranslatable};

/// Reads one answer, whole or streamed.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) created: u64,
    /// The model, which Cohere's answers do not name.
    pub(super) model: String,
    pub(super) state: State,
}

impl Reader {
    pub(super) fn new(created: u64, model: &str) -> Self {
        Self { created, model: model.to_owned(), state: State::default() }
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
        let mut text = String::new();
        let mut thought = answer.message.tool_plan.unwrap_or_default();
        for part in answer.message.content.into_iter().flatten() {
            match part.kind.as_str() {
                "text" => text.push_str(part.text.as_deref().unwrap_or("")),
                "thinking" => thought.push_str(part.thinking.as_deref().unwrap_or("")),
                _ => {}
            }
        }
        let calls: Vec<Value> = answer
            .message
            .tool_calls
            .into_iter()
            .flatten()
            .map(|made| {
                let arguments = made.function.arguments.filter(|text| !text.is_empty());
                call(None, &made.id, &made.function.name, arguments.as_deref().unwrap_or("{}"))
            })
            .collect();
        let mut said = message(text, thought, calls);
        if let Some(citations) = answer.message.citations.filter(|citations| !citations.is_null()) {
            said.insert("citations".to_owned(), citations);
        }
        let choice = json!({
            "index": 0,
            "message": said,
            "finish_reason": finish_reason(&answer.finish_reason),
        });
        let counts = counts(answer.usage.as_ref());
        Ok(completion(&answer.id, self.created, &self.model, vec![choice], &counts))
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.streamed(data, chunks)
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    id: String,
    message: Message,
    #[serde(default)]
    finish_reason: String,
    #[serde(default)]
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<Vec<Part>>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCall>>,
    #[serde(default)]
    tool_plan: Option<String>,
    #[serde(default)]
    citations: Option<Value>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Option<String>,
}

/// What was read and written. `billed_units` is smaller: it leaves out what the template adds.
pub(super) fn counts(usage: Option<&Value>) -> Counts {
    let of = |name: &str| {
        let usage = usage?;
        count(usage, &format!("/tokens/{name}")).or_else(|| count(usage, &format!("/billed_units/{name}")))
    };
    Counts {
        prompt: of("input_tokens").unwrap_or(0),
        completion: of("output_tokens").unwrap_or(0),
        cached: usage.and_then(|usage| count(usage, "/cached_tokens")),
        reasoning: None,
    }
}

/// OpenAI's word for a finish reason. New reasons may appear at any time: they are a stop.
pub(super) fn finish_reason(reason: &str) -> &'static str {
    match reason {
        "MAX_TOKENS" | "ERROR_LIMIT" => "length",
        "TOOL_CALL" => "tool_calls",
        "ERROR_TOXIC" => "content_filter",
        // No word of OpenAI's: the classifier knows it as the provider's failure.
        "ERROR" | "TIMEOUT" => "error",
        _ => "stop",
    }
}
