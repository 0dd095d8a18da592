//! A chat completion, whole or in chunks, as the bridges read it. Text is carried as the JSON string it came as.

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::chat::{Finish, Usage as Tokens};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Step, Untranslatable};

/// The data of the event that ends a stream.
pub(super) const DONE: &[u8] = b"[DONE]";

/// A whole completion.
#[derive(Deserialize)]
pub(super) struct Completion<'a> {
    #[serde(borrow, default)]
    pub(super) id: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) model: Cow<'a, str>,
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

/// What the assistant said.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) thinking_blocks: Option<Vec<Thought<'a>>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

/// A thought with its signature, or one that is kept from sight.
#[derive(Deserialize)]
pub(super) struct Thought<'a> {
    #[serde(borrow, default)]
    pub(super) thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) data: Option<&'a RawValue>,
}

/// A tool call, whole or a piece of one.
#[derive(Deserialize)]
pub(super) struct ToolCall<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) function: Option<Function<'a>>,
}

/// The function that is called.
#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A completion's only choice.
pub(super) struct Said<'a> {
    pub(super) message: Message<'a>,
    pub(super) finish: Finish,
    pub(super) usage: Usage,
}

impl<'a> Completion<'a> {
    /// Reads a body.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, Untranslatable> {
        serde_json::from_slice(body).map_err(|error| Untranslatable(error.to_string()))
    }

    /// The first choice, unless the completion is a failure.
    pub(super) fn said(&mut self) -> Result<Said<'a>, Untranslatable> {
        if self.error.is_some_and(is_filled) {
            return Err(Untranslatable("the completion holds an error".to_owned()));
        }
        if self.choices.is_empty() {
            return Err(Untranslatable("the completion has no choice".to_owned()));
        }
        let choice = self.choices.swap_remove(0);
        let finish = choice.finish_reason.as_deref().map_or(Finish::Stop, Finish::from_word);
        if finish.is_failure() {
            return Err(Untranslatable("the completion says that it failed".to_owned()));
        }
        Ok(Said { message: choice.message, finish, usage: Usage::of(self.usage) })
    }
}

impl<'a> Message<'a> {
    /// The text; parts are joined.
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        let raw = self.content?;
        if let Some(text) = string(raw) {
            return Some(text).filter(|text| !text.is_empty());
        }
        #[derive(Deserialize)]
        struct Part<'p> {
            #[serde(borrow, default)]
            text: Option<&'p RawValue>,
        }
        let parts: Vec<Part<'_>> = serde_json::from_str(raw.get()).ok()?;
        let text: String = parts.iter().filter_map(|part| string(part.text?)).collect();
        (!text.is_empty()).then_some(Cow::Owned(text))
    }

    /// Why the model would not answer.
    pub(super) fn refusal(&self) -> Option<Cow<'a, str>> {
        self.refusal.and_then(string).filter(|text| !text.is_empty())
    }

    /// What it thought.
    pub(super) fn thought(&self) -> Option<Cow<'a, str>> {
        let thought = self.reasoning_content.and_then(string).filter(|text| !text.is_empty());
        thought.or_else(|| self.reasoning.and_then(string).filter(|text| !text.is_empty()))
    }

    /// The tools it calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall<'a>> {
        self.tool_calls.iter().flatten()
    }
}

/// One chunk.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    choices: Option<Vec<Piece<'a>>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

/// What a chunk adds.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) thinking_blocks: Option<Vec<Thought<'a>>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

impl<'a> Chunk<'a> {
    /// Reads an event's data.
    ///
    /// # Errors
    /// The step that ends the stream: the chunk is an error, or none at all.
    pub(super) fn parse(data: &'a [u8]) -> Result<Self, Step> {
        let chunk: Self = serde_json::from_slice(data).map_err(|error| Step::Malformed(error.to_string()))?;
        let failed = chunk.error.is_some_and(is_filled)
            || chunk.object.as_deref() == Some("error")
            || chunk.finish().is_some_and(Finish::is_failure);
        if failed { Err(Step::Failed(Bytes::copy_from_slice(data))) } else { Ok(chunk) }
    }

    /// What the first choice adds.
    pub(super) fn delta(&self) -> Option<&Delta<'a>> {
        self.first()?.delta.as_ref()
    }

    /// Why the first choice ended.
    pub(super) fn finish(&self) -> Option<Finish> {
        self.first()?.finish_reason.as_deref().map(Finish::from_word)
    }

    /// Token counts, when this chunk has them.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.filter(|usage| is_filled(usage)).map(|usage| Usage::of(Some(usage)))
    }

    fn first(&self) -> Option<&Piece<'a>> {
        self.choices.iter().flatten().find(|piece| piece.index.unwrap_or(0) == 0)
    }
}

impl<'a> Delta<'a> {
    /// A piece of the text, as a JSON string that is not empty.
    pub(super) fn text(&self) -> Option<&'a RawValue> {
        self.content.filter(|raw| is_text(raw))
    }

    /// A piece of a refusal.
    pub(super) fn refusal(&self) -> Option<&'a RawValue> {
        self.refusal.filter(|raw| is_text(raw))
    }

    /// A piece of a thought.
    pub(super) fn thought(&self) -> Option<&'a RawValue> {
        let thought = self.reasoning_content.filter(|raw| is_text(raw));
        thought.or_else(|| self.reasoning.filter(|raw| is_text(raw)))
    }

    /// Pieces of tool calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &ToolCall<'a>> {
        self.tool_calls.iter().flatten()
    }
}

/// Token counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// As OpenAI counts: cached tokens are part of the prompt.
    pub(super) tokens: Tokens,
    /// Tokens written to a cache, where the provider says so; part of the prompt too.
    pub(super) cache_written: u64,
}

impl Usage {
    fn of(raw: Option<&RawValue>) -> Self {
        let value: Value = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let written = value.get("cache_creation_input_tokens").and_then(Value::as_u64);
        Self { tokens: Tokens::of(Some(&value)).unwrap_or_default(), cache_written: written.unwrap_or(0) }
    }
}

/// A JSON string, decoded; `None` when it is none.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    crate::wires::text(raw)
}

/// Whether a value is a string with something in it.
pub(super) fn is_text(raw: &RawValue) -> bool {
    raw.get().starts_with('"') && raw.get() != "\"\""
}

/// Whether a value is anything but nothing.
pub(super) fn is_filled(raw: &RawValue) -> bool {
    !matches!(raw.get(), "null" | "\"\"" | "[]" | "{}" | "false")
}

/// The JSON object in a tool call's arguments. Nothing at all is the empty object.
pub(super) fn arguments(text: &str) -> Option<Box<RawValue>> {
    let text = text.trim();
    let text = if text.is_empty() { "{}" } else { text };
    RawValue::from_string(text.to_owned()).ok().filter(|raw| raw.get().starts_with('{'))
}
