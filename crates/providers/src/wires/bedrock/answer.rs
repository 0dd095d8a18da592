//! A Converse answer as a chat completion.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::stream::State;
use super::tools::JSON_TOOL;
use crate::events::Framing;
use crate::wires::chat::{self, Counts};
use crate::{Step, Translator, Untranslatable};

/// Reads one answer, whole or streamed.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
    /// The tool [`JSON_TOOL`] stands for the answer.
    pub(super) json_tool: bool,
    pub(super) state: State,
}

impl Reader {
    pub(super) fn new(id: String, created: u64, model: &str, json_tool: bool) -> Self {
        Self { id, created, model: model.to_owned(), json_tool, state: State::default() }
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        self.completion(answer)
    }

    fn event(&mut self, event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.streamed(event.unwrap_or_default(), data, chunks)
    }

    fn framing(&self) -> Framing {
        Framing::AwsEventStream
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    output: Output,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
struct Output {
    message: Message,
}

#[derive(Deserialize)]
struct Message {
    content: Vec<Content>,
}

/// A block has one member, named after its kind.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Content {
    text: Option<String>,
    tool_use: Option<ToolUse>,
    reasoning_content: Option<Reasoning>,
    citations_content: Option<Cited>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse {
    tool_use_id: String,
    name: String,
    #[serde(default)]
    input: Option<Box<RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reasoning {
    reasoning_text: Option<ReasoningText>,
    redacted_content: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReasoningText {
    text: String,
    signature: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cited {
    content: Vec<Content>,
}

/// Token counts as Bedrock gives them. Cached tokens are not part of `inputTokens`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Usage {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_write_input_tokens: u64,
}

impl Usage {
    pub(super) fn counts(self) -> Counts {
        let cache = self.cache_read_input_tokens.saturating_add(self.cache_write_input_tokens);
        Counts {
            prompt: self.input_tokens.saturating_add(cache),
            completion: self.output_tokens,
            cached: Some(self.cache_read_input_tokens),
            ..Counts::default()
        }
    }
}

/// OpenAI's word for a stop reason; an error when the model spoiled its answer. New reasons may appear at any
/// time: they are a stop.
pub(super) fn finish_reason(stop: &str) -> Result<&'static str, String> {
    match stop {
        "max_tokens" | "model_context_window_exceeded" => Ok("length"),
        "tool_use" => Ok("tool_calls"),
        "guardrail_intervened" | "content_filtered" => Ok("content_filter"),
        "malformed_model_output" | "malformed_tool_use" => Err(format!("the model stopped with {stop}")),
        _ => Ok("stop"),
    }
}

impl Reader {
    fn completion(&self, answer: Answer) -> Result<Bytes, Untranslatable> {
        let finish = finish_reason(answer.stop_reason.as_deref().unwrap_or("")).map_err(Untranslatable)?;
        let (mut text, mut thought) = (String::new(), String::new());
        let (mut calls, mut thinking) = (Vec::new(), Vec::new());
        let mut answered_by_tool = false;
        for block in answer.output.message.content {
            text.push_str(block.text.as_deref().unwrap_or(""));
            for part in block.citations_content.into_iter().flat_map(|cited| cited.content) {
                text.push_str(part.text.as_deref().unwrap_or(""));
            }
            if let Some(reasoning) = block.reasoning_content {
                if let Some(said) = reasoning.reasoning_text {
                    thought.push_str(&said.text);
                    let signature = said.signature.map_or(Value::Null, Value::from);
                    thinking
                        .push(json!({ "type": "thinking", "thinking": said.text, "signature": signature }));
                }
                if let Some(data) = reasoning.redacted_content {
                    thinking.push(json!({ "type": "redacted_thinking", "data": data }));
                }
            }
            match block.tool_use {
                Some(call) if self.json_tool && call.name == JSON_TOOL => {
                    text.push_str(call.input.as_deref().map_or("{}", RawValue::get));
                    answered_by_tool = true;
                }
                Some(call) => {
                    let input = call.input.as_deref().map_or("{}", RawValue::get);
                    calls.push(chat::call(None, &call.tool_use_id, &call.name, input));
                }
                None => {}
            }
        }
        let finish =
            if answered_by_tool && calls.is_empty() && finish == "tool_calls" { "stop" } else { finish };
        let mut message = chat::message(text, thought, calls);
        if !thinking.is_empty() {
            message.insert("thinking_blocks".to_owned(), thinking.into());
        }
        let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
        Ok(chat::completion(&self.id, self.created, &self.model, vec![choice], &answer.usage.counts()))
    }
}
