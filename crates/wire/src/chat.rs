//! The little that is read of an answer or of a stream event on its way through.
//!
//! Health needs to know whether something usable came, how the answer ended, what it cost and whether an error
//! hides in it; the rest is passed on unread. Members are borrowed as text and only their emptiness is tested.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

mod answer;
mod event;
mod quick;
#[cfg(test)]
mod tests;

pub use answer::{AnswerFacts, AnswerKind, inspect_answer, inspect_parsed};
pub use event::{StreamKind, inspect_event};

/// What one event of a chat or completion stream holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChunkFacts {
    /// Text, reasoning, a refusal, audio or (part of) a tool call: something the model said.
    pub has_output: bool,
    /// Why the answer ended, when this event says so.
    pub finish: Option<Finish>,
    /// Token counts, when this event has them.
    pub usage: Option<Usage>,
    /// The event is an error, whatever the status of the response was.
    pub error: bool,
    /// The end mark of the stream.
    pub is_done: bool,
    /// Not JSON, or JSON of another structure.
    pub malformed: bool,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model was done, or met a stop sequence.
    Stop,
    /// The output limit.
    Length,
    /// The model calls a tool.
    ToolCalls,
    /// A content filter, or the model's own refusal.
    ContentFilter,
    /// The provider failed while it answered.
    Error,
    /// The provider ran out of capacity while it answered.
    NoCapacity,
    /// The tool call or the output was not well-formed.
    Malformed,
    /// A reason that is not known here.
    Other,
}

impl Finish {
    /// The reason behind a provider's word, of any wire.
    pub fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" | "complete" | "completed"
            | "pause_turn" => Self::Stop,
            "length" | "max_tokens" | "max_output_tokens" | "model_context_window_exceeded" => Self::Length,
            "tool_calls" | "tool_call" | "tool_use" | "function_call" => Self::ToolCalls,
            "content_filter"
            | "refusal"
            | "guardrail_intervened"
            | "safety"
            | "recitation"
            | "blocklist"
            | "prohibited_content"
            | "spii"
            | "sensitive" => Self::ContentFilter,
            "error" | "network_error" | "failed" | "model_error" => Self::Error,
            "insufficient_system_resource" => Self::NoCapacity,
            "malformed_function_call" | "malformed_model_output" => Self::Malformed,
            _ => Self::Other,
        }
    }

    /// Whether the ending itself says that the provider failed.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Error | Self::NoCapacity | Self::Malformed => true,
            Self::Stop | Self::Length | Self::ToolCalls | Self::ContentFilter | Self::Other => false,
        }
    }
}

/// Token counts as the provider states them; zero when it states none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, cached ones included where the provider counts so.
    pub prompt_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub completion_tokens: u64,
    /// Sum as stated, else of the two above.
    pub total_tokens: u64,
    /// Tokens of the answer that were reasoning.
    pub reasoning_tokens: u64,
    /// Tokens of the prompt that were read from a cache.
    pub cached_tokens: u64,
    /// Tokens of the prompt that were written to a cache.
    pub cache_written_tokens: u64,
}

/// Looks at the data of one event of a chat or completion stream.
pub fn inspect_chunk(data: &[u8]) -> ChunkFacts {
    if data.trim_ascii() == b"[DONE]" {
        return ChunkFacts { is_done: true, ..ChunkFacts::default() };
    }
    if let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) {
        return chunk.facts();
    }
    // A repeated key, or a member of an unusual type: the slow reader takes both.
    match serde_json::from_slice::<Value>(data) {
        Ok(value) => loose(&value),
        Err(_) => ChunkFacts { malformed: true, ..ChunkFacts::default() },
    }
}

/// One event of a chat or completion stream, as far as it is looked at.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default)]
    choices: Option<Choices>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    object: Option<Cow<'a, str>>,
}

impl Chunk<'_> {
    fn facts(&self) -> ChunkFacts {
        let error = self.error.is_some_and(has_content) || self.object.as_deref() == Some("error");
        let usage = self.usage.and_then(|usage| serde_json::from_str::<RawUsage>(usage.get()).ok());
        let choices = self.choices.unwrap_or_default();
        ChunkFacts {
            has_output: choices.has_output,
            finish: choices.finish,
            usage: usage.map(Usage::from),
            error,
            is_done: false,
            malformed: self.choices.is_none() && !error && self.usage.is_none(),
        }
    }
}

/// All choices folded into what is asked of them; no list is built.
#[derive(Clone, Copy, Default)]
struct Choices {
    has_output: bool,
    finish: Option<Finish>,
}

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fold;
        impl<'de> Visitor<'de> for Fold {
            type Value = Choices;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choices, A::Error> {
                let mut choices = Choices::default();
                while let Some(choice) = list.next_element::<Choice<'de>>()? {
                    choices.has_output |= choice.has_output();
                    choices.finish =
                        choices.finish.or(choice.finish_reason.as_deref().map(Finish::from_word));
                }
                Ok(choices)
            }
        }
        deserializer.deserialize_seq(Fold)
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
}

impl Choice<'_> {
    fn has_output(&self) -> bool {
        self.text.is_some_and(has_content) || self.delta.as_ref().is_some_and(Delta::has_output)
    }
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow, default)]
    audio: Option<&'a RawValue>,
}

impl Delta<'_> {
    fn has_output(&self) -> bool {
        [
            self.content,
            self.reasoning_content,
            self.reasoning,
            self.tool_calls,
            self.function_call,
            self.refusal,
            self.audio,
        ]
        .into_iter()
        .flatten()
        .any(has_content)
    }
}

/// Members of a message or delta that hold what the model said.
const OUTPUT_MEMBERS: [&str; 7] =
    ["content", "reasoning_content", "reasoning", "tool_calls", "function_call", "refusal", "audio"];

/// Whether a value is anything but null, "", [] and {}.
fn has_content(value: &RawValue) -> bool {
    !matches!(value.get(), "null" | "\"\"" | "[]" | "{}" | "false")
}

/// As [`has_content`], for a parsed value.
fn is_filled(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// [`inspect_chunk`] for events that the borrowed reader does not take.
fn loose(value: &Value) -> ChunkFacts {
    let error = value.get("error").is_some_and(is_filled)
        || value.get("object").and_then(Value::as_str) == Some("error");
    let choices = value.get("choices").and_then(Value::as_array);
    let mut facts = ChunkFacts { error, usage: Usage::of(value.get("usage")), ..ChunkFacts::default() };
    facts.malformed = choices.is_none() && !error && facts.usage.is_none();
    for choice in choices.into_iter().flatten() {
        let said = choice.get("delta").or_else(|| choice.get("message"));
        facts.has_output |= choice.get("text").is_some_and(is_filled)
            || OUTPUT_MEMBERS.iter().any(|name| said.and_then(|said| said.get(name)).is_some_and(is_filled));
        let finish = choice.get("finish_reason").and_then(Value::as_str).map(Finish::from_word);
        facts.finish = facts.finish.or(finish);
    }
    facts
}

/// Counts of any wire, as they stand in JSON.
#[derive(Default, Deserialize)]
struct RawUsage {
    #[serde(default, alias = "input_tokens", deserialize_with = "count")]
    prompt_tokens: u64,
    #[serde(default, alias = "output_tokens", deserialize_with = "count")]
    completion_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    total_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    cache_read_input_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: u64,
    #[serde(default, alias = "output_tokens_details")]
    completion_tokens_details: Option<Details>,
    #[serde(default, alias = "input_tokens_details")]
    prompt_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
struct Details {
    #[serde(default, deserialize_with = "count")]
    reasoning_tokens: u64,
    #[serde(default, deserialize_with = "count")]
    cached_tokens: u64,
}

impl From<RawUsage> for Usage {
    fn from(raw: RawUsage) -> Self {
        let total = if raw.total_tokens > 0 {
            raw.total_tokens
        } else {
            raw.prompt_tokens.saturating_add(raw.completion_tokens)
        };
        let prompt_details = raw.prompt_tokens_details.unwrap_or_default();
        Self {
            prompt_tokens: raw.prompt_tokens,
            completion_tokens: raw.completion_tokens,
            total_tokens: total,
            reasoning_tokens: raw.completion_tokens_details.unwrap_or_default().reasoning_tokens,
            cached_tokens: prompt_details.cached_tokens.max(raw.cache_read_input_tokens),
            cache_written_tokens: raw.cache_creation_input_tokens,
        }
    }
}

impl Usage {
    /// The counts in a `usage` object of the OpenAI or Anthropic wires; `None` when it is no object.
    pub fn of(value: Option<&Value>) -> Option<Self> {
        let value = value.filter(|value| value.is_object())?;
        let number = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_u64()).unwrap_or(0);
        let detail = |names: &[&str], inner: &str| {
            names.iter().find_map(|name| value.get(name)?.get(inner)?.as_u64()).unwrap_or(0)
        };
        let prompt_tokens = number(&["prompt_tokens", "input_tokens"]);
        let completion_tokens = number(&["completion_tokens", "output_tokens"]);
        let total = number(&["total_tokens"]);
        let cached = detail(&["prompt_tokens_details", "input_tokens_details"], "cached_tokens");
        Some(Self {
            prompt_tokens,
            completion_tokens,
            total_tokens: if total > 0 { total } else { prompt_tokens.saturating_add(completion_tokens) },
            reasoning_tokens: detail(
                &["completion_tokens_details", "output_tokens_details"],
                "reasoning_tokens",
            ),
            cached_tokens: cached.max(number(&["cache_read_input_tokens"])),
            cache_written_tokens: number(&["cache_creation_input_tokens"]),
        })
    }
}

/// A count; anything that is no whole number is none.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Count {
        Whole(u64),
        Other(IgnoredAny),
    }
    Ok(match Count::deserialize(deserializer)? {
        Count::Whole(count) => count,
        Count::Other(IgnoredAny) => 0,
    })
}
