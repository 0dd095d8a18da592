//! A chat completion as a message.

use bytes::Bytes;
use haleway_wire::chat::Finish;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::chat::{self, Completion, Said, Usage, string};
use crate::Untranslatable;

/// The message that a completion amounts to.
pub(super) fn message(body: &[u8]) -> Result<Bytes, Untranslatable> {
    let mut completion = Completion::parse(body)?;
    let said = completion.said()?;
    let content = content(&said)?;
    let calls = content.iter().any(|block| block.get("type").and_then(Value::as_str) == Some("tool_use"));
    let whole = json!({
        "id": message_id(&completion.id),
        "type": "message",
        "role": "assistant",
        "model": completion.model,
        "content": content,
        "stop_reason": stop_reason(said.finish, calls, said.message.refusal().is_some()),
        "stop_sequence": null,
        "usage": usage(&said.usage),
    });
    Ok(whole.to_string().into())
}

fn content(said: &Said<'_>) -> Result<Vec<Value>, Untranslatable> {
    let message = &said.message;
    let mut content = Vec::new();
    let kept = message.thinking_blocks.as_deref().unwrap_or_default();
    let value = |raw: Option<&RawValue>| {
        raw.and_then(string).map_or_else(|| Value::from(""), |text| Value::from(text.into_owned()))
    };
    for thought in kept {
        content.push(match thought.data {
            Some(data) => json!({"type": "redacted_thinking", "data": value(Some(data))}),
            None => json!({
                "type": "thinking",
                "thinking": value(thought.thinking),
                "signature": value(thought.signature),
            }),
        });
    }
    if kept.is_empty()
        && let Some(thought) = message.thought()
    {
        content.push(json!({"type": "thinking", "thinking": thought, "signature": ""}));
    }
    if let Some(text) = message.text().or_else(|| message.refusal()) {
        content.push(json!({"type": "text", "text": text}));
    }
    for call in message.calls() {
        let function = call.function.as_ref();
        let name = function
            .and_then(|function| string(function.name?))
            .ok_or_else(|| Untranslatable("a tool call has no name".to_owned()))?;
        let arguments = function.and_then(|function| string(function.arguments?)).unwrap_or_default();
        let input: Option<Map<String, Value>> =
            chat::arguments(&arguments).and_then(|raw| serde_json::from_str(raw.get()).ok());
        match input {
            Some(input) => content.push(json!({
                "type": "tool_use",
                "id": value(call.id),
                "name": name,
                "input": input,
            })),
            // The limit cut it off: no call was made.
            None if said.finish == Finish::Length => {}
            None => {
                return Err(Untranslatable("the arguments of a tool call are no JSON object".to_owned()));
            }
        }
    }
    Ok(content)
}

/// An id of the kind that Anthropic's have.
pub(super) fn message_id(id: &str) -> String {
    if id.starts_with("msg_") { id.to_owned() } else { format!("msg_{id}") }
}

/// Anthropic's word for how an answer ended. Some servers say `stop` beside a tool call.
pub(super) fn stop_reason(finish: Finish, calls: bool, refused: bool) -> &'static str {
    match finish {
        Finish::Length => "max_tokens",
        Finish::ContentFilter => "refusal",
        Finish::ToolCalls => "tool_use",
        Finish::Stop | Finish::Other | Finish::Error | Finish::NoCapacity | Finish::Malformed => {
            match (calls, refused) {
                (true, _) => "tool_use",
                (false, true) => "refusal",
                (false, false) => "end_turn",
            }
        }
    }
}

/// Counts in Anthropic's sense: cached tokens are not part of the input.
pub(super) fn usage(usage: &Usage) -> Value {
    let tokens = usage.tokens;
    let cached = tokens.cached_tokens.saturating_add(usage.cache_written);
    json!({
        "input_tokens": tokens.prompt_tokens.saturating_sub(cached),
        "cache_creation_input_tokens": usage.cache_written,
        "cache_read_input_tokens": tokens.cached_tokens,
        "output_tokens": tokens.completion_tokens,
    })
}
