//! A message as a chat completion.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::stream::State;
use super::tools::JSON_TOOL;
use super::wrong;
use crate::wires::members;
use crate::{Step, Translator, Untranslatable};

/// Reads one answer, whole or streamed.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) created: u64,
    /// The tool [`JSON_TOOL`] stands for the answer.
    pub(super) json_tool: bool,
    pub(super) state: State,
}

impl Reader {
    pub(super) fn new(created: u64, json_tool: bool) -> Self {
        Self { created, json_tool, state: State::default() }
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let message: Message<'_> = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
        let completion = self.completion(&message)?;
        serde_json::to_vec(&completion).map(Bytes::from).map_err(|error| wrong(&error))
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.streamed(data, chunks)
    }
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    model: Cow<'a, str>,
    #[serde(borrow)]
    content: Vec<Content<'a>>,
    #[serde(borrow, default)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

/// Token counts as Anthropic gives them. Cached tokens are not part of `input_tokens`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_read_input_tokens: Option<u64>,
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    #[serde(alias = "reasoning_tokens")]
    pub(super) thinking_tokens: Option<u64>,
}

impl Usage {
    /// Takes what `later` knows; counts are cumulative.
    pub(super) fn update(&mut self, later: &Self) {
        let take = |own: &mut Option<u64>, new: Option<u64>| {
            if new.is_some() {
                *own = new;
            }
        };
        take(&mut self.input_tokens, later.input_tokens);
        take(&mut self.output_tokens, later.output_tokens);
        take(&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens);
        take(&mut self.cache_read_input_tokens, later.cache_read_input_tokens);
        if later.output_tokens_details.is_some() {
            self.output_tokens_details = later.output_tokens_details;
        }
    }

    /// In OpenAI's shape.
    pub(super) fn openai(&self) -> Value {
        let created = self.cache_creation_input_tokens.unwrap_or(0);
        let read = self.cache_read_input_tokens.unwrap_or(0);
        let prompt = self.input_tokens.unwrap_or(0).saturating_add(created).saturating_add(read);
        let completion = self.output_tokens.unwrap_or(0);
        let mut usage = Map::new();
        usage.insert("prompt_tokens".to_owned(), prompt.into());
        usage.insert("completion_tokens".to_owned(), completion.into());
        usage.insert("total_tokens".to_owned(), prompt.saturating_add(completion).into());
        usage.insert("prompt_tokens_details".to_owned(), json!({ "cached_tokens": read }));
        if let Some(tokens) = self.output_tokens_details.and_then(|details| details.thinking_tokens) {
            usage.insert("completion_tokens_details".to_owned(), json!({ "reasoning_tokens": tokens }));
        }
        if created > 0 || read > 0 {
            usage.insert("cache_creation_input_tokens".to_owned(), created.into());
            usage.insert("cache_read_input_tokens".to_owned(), read.into());
        }
        Value::Object(usage)
    }
}

/// OpenAI's word for a stop reason. New reasons may appear at any time: they are a stop.
pub(super) fn finish_reason(stop: Option<&str>) -> &'static str {
    match stop {
        Some("max_tokens" | "model_context_window_exceeded" | "pause_turn" | "compaction") => "length",
        Some("tool_use") => "tool_calls",
        Some("refusal") => "content_filter",
        Some(_) | None => "stop",
    }
}

#[derive(Serialize)]
struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: Value,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    message: Said<'a>,
    finish_reason: &'static str,
}

#[derive(Default, Serialize)]
struct Said<'a> {
    role: &'static str,
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    thinking_blocks: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Serialize)]
struct ToolCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl Reader {
    fn completion<'a>(&self, message: &'a Message<'a>) -> Result<Completion<'a>, Untranslatable> {
        let mut said = Said { role: "assistant", ..Said::default() };
        let mut text = String::new();
        let mut answered_by_tool = false;
        for block in &message.content {
            match block.kind.as_ref() {
                "text" => text.push_str(block.text.as_deref().unwrap_or("")),
                "thinking" => {
                    let thought = block.thinking.as_deref().unwrap_or("");
                    said.reasoning_content.get_or_insert_default().push_str(thought);
                    let mut kept = Map::new();
                    kept.insert("type".to_owned(), "thinking".into());
                    kept.insert("thinking".to_owned(), thought.into());
                    kept.insert("signature".to_owned(), string(block.signature));
                    said.thinking_blocks.push(Value::Object(kept));
                }
                "redacted_thinking" => {
                    said.thinking_blocks
                        .push(json!({ "type": "redacted_thinking", "data": string(block.data) }));
                }
                "tool_use" if self.json_tool && block.name.as_deref() == Some(JSON_TOOL) => {
                    text.push_str(block.input.map_or("{}", RawValue::get));
                    answered_by_tool = true;
                }
                "tool_use" => said.tool_calls.push(ToolCall {
                    id: block.id.as_deref().unwrap_or(""),
                    kind: "function",
                    function: Function {
                        name: block
                            .name
                            .as_deref()
                            .ok_or_else(|| Untranslatable("a tool_use has no name".to_owned()))?,
                        arguments: block.input.map_or("{}", RawValue::get),
                    },
                }),
                // Results of Anthropic's own tools: the text around them tells what they found.
                _ => {}
            }
        }
        said.content = (!text.is_empty() || said.tool_calls.is_empty()).then_some(text);
        let finish = finish_reason(message.stop_reason.as_deref());
        let finish_reason = if answered_by_tool && said.tool_calls.is_empty() && finish == "tool_calls" {
            "stop"
        } else {
            finish
        };
        Ok(Completion {
            id: &message.id,
            object: "chat.completion",
            created: self.created,
            model: &message.model,
            choices: [Choice { index: 0, message: said, finish_reason }],
            usage: message.usage.openai(),
        })
    }
}

/// A raw string as a value.
fn string(raw: Option<&RawValue>) -> Value {
    raw.and_then(members::text).map_or(Value::Null, |text| Value::from(text.into_owned()))
}
