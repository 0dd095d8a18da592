//! Whole answers: does this body hold what its operation promises?
//!
//! A probe and the first look at a served answer ask the same: is the structure legal, is there usable content,
//! and if not, why. Usable follows the operation: text that is not blank, a refusal or a tool call for chat, a
//! vector of finite numbers that are not all zero for embeddings, a scored list for rerank.

use serde_json::Value;

use super::quick;
use super::{Finish, Usage, is_filled};

/// What the body is an answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI completions.
    Completion,
    /// OpenAI embeddings.
    Embedding,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Rerank, in the shapes of Cohere, Jina and others.
    Rerank,
}

/// What a body holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerFacts {
    /// Something the caller can use.
    pub usable_output: bool,
    /// Why the answer ended, when it says so.
    pub finish: Option<Finish>,
    /// Tokens spent on reasoning, as stated.
    pub reasoning_tokens: u64,
    /// Reasoning text is present, or reasoning tokens were counted.
    pub has_reasoning: bool,
    /// Token counts.
    pub usage: Option<Usage>,
    /// The body is, or holds, an error.
    pub error: bool,
    /// The members that the operation promises are there, with the right types.
    pub structure_ok: bool,
}

/// Looks at the body of a 2xx answer.
pub fn inspect_answer(body: &[u8], kind: AnswerKind) -> AnswerFacts {
    let body = body.trim_ascii_start();
    let quick = match kind {
        AnswerKind::Chat | AnswerKind::Completion => quick::choices(body),
        AnswerKind::Embedding => quick::embedding(body),
        AnswerKind::Responses | AnswerKind::Messages | AnswerKind::Rerank => None,
    };
    if let Some(facts) = quick {
        return facts;
    }
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => inspect_parsed(&value, kind),
        Err(_) => AnswerFacts::default(),
    }
}

/// As [`inspect_answer`], for a body that is parsed already.
pub fn inspect_parsed(value: &Value, kind: AnswerKind) -> AnswerFacts {
    let usage = Usage::of(value.get("usage"));
    let mut facts = AnswerFacts {
        error: is_error(value),
        usage,
        reasoning_tokens: usage.map_or(0, |usage| usage.reasoning_tokens),
        ..AnswerFacts::default()
    };
    match kind {
        AnswerKind::Chat | AnswerKind::Completion => choices(value, &mut facts),
        AnswerKind::Embedding => embedding(value, &mut facts),
        AnswerKind::Responses => responses(value, &mut facts),
        AnswerKind::Messages => messages(value, &mut facts),
        AnswerKind::Rerank => rerank(value, &mut facts),
    }
    facts.has_reasoning |= facts.reasoning_tokens > 0;
    facts
}

/// The ways in which a body with a success status is an error all the same.
fn is_error(value: &Value) -> bool {
    let word = |name: &str| value.get(name).and_then(Value::as_str);
    value.get("error").is_some_and(is_filled)
        || word("object") == Some("error")
        || word("type") == Some("error")
        || word("status") == Some("failed")
        || value.pointer("/base_resp/status_code").and_then(Value::as_i64).is_some_and(|code| code != 0)
}

fn choices(value: &Value, facts: &mut AnswerFacts) {
    let Some(list) = value.get("choices").and_then(Value::as_array) else { return };
    facts.structure_ok = !list.is_empty()
        && list.iter().all(|choice| {
            choice.get("message").is_some_and(Value::is_object) || choice.get("text").is_some()
        });
    for choice in list {
        let message = choice.get("message").unwrap_or(choice);
        facts.usable_output |= is_said(message.get("content"))
            || is_said(message.get("text"))
            || is_said(message.get("refusal"))
            || ["tool_calls", "function_call", "audio"]
                .iter()
                .any(|name| message.get(name).is_some_and(is_filled));
        facts.has_reasoning |= ["reasoning_content", "reasoning", "reasoning_details"]
            .iter()
            .any(|name| is_said(message.get(name)));
        let finish = choice.get("finish_reason").and_then(Value::as_str).map(Finish::from_word);
        facts.finish = facts.finish.or(finish);
    }
}

/// Text that is not blank, or a list of parts of which one is not.
fn is_said(value: Option<&Value>) -> bool {
    match value {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(parts)) => parts.iter().any(|part| match part.get("text") {
            Some(text) => is_said(Some(text)),
            None => is_filled(part) && part.get("type").and_then(Value::as_str) != Some("thinking"),
        }),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => false,
    }
}

fn embedding(value: &Value, facts: &mut AnswerFacts) {
    let Some(first) = value.get("data").and_then(Value::as_array).and_then(|list| list.first()) else {
        return;
    };
    match first.get("embedding") {
        Some(Value::Array(vector)) => {
            // JSON has no infinity: a number that does not fit is read as none.
            let numbers = vector.iter().all(|part| part.as_f64().is_some_and(f64::is_finite));
            facts.structure_ok = numbers && !vector.is_empty();
            facts.usable_output = facts.structure_ok && vector.iter().any(|part| part.as_f64() != Some(0.0));
        }
        // Base64 of 32-bit floats: whole groups of four characters, and not only the letter of zero bits.
        Some(Value::String(text)) => {
            facts.structure_ok = !text.is_empty() && text.len().is_multiple_of(4);
            facts.usable_output = facts.structure_ok && text.bytes().any(|byte| byte != b'A' && byte != b'=');
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
    }
}

fn responses(value: &Value, facts: &mut AnswerFacts) {
    let Some(items) = value.get("output").and_then(Value::as_array) else { return };
    let status = value.get("status").and_then(Value::as_str).unwrap_or("completed");
    facts.structure_ok = true;
    for item in items {
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "message" => {
                let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
                facts.usable_output |=
                    parts.into_iter().any(|part| is_said(part.get("text")) || is_said(part.get("refusal")));
            }
            "reasoning" => facts.has_reasoning = true,
            other => facts.usable_output |= other.ends_with("_call"),
        }
    }
    let reason = value.pointer("/incomplete_details/reason").and_then(Value::as_str);
    facts.finish = Some(match status {
        "failed" => Finish::Error,
        "incomplete" => reason.map_or(Finish::Other, Finish::from_word),
        _ => Finish::Stop,
    });
}

fn messages(value: &Value, facts: &mut AnswerFacts) {
    let Some(blocks) = value.get("content").and_then(Value::as_array) else { return };
    facts.structure_ok = true;
    for block in blocks {
        match block.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => facts.usable_output |= is_said(block.get("text")),
            "thinking" | "redacted_thinking" => facts.has_reasoning = true,
            "" => facts.structure_ok = false,
            _ => facts.usable_output = true,
        }
    }
    facts.finish = value.get("stop_reason").and_then(Value::as_str).map(Finish::from_word);
}

fn rerank(value: &Value, facts: &mut AnswerFacts) {
    let list = ["results", "data", "rankings"].iter().find_map(|name| value.get(name)).unwrap_or(value);
    let Some(list) = list.as_array() else { return };
    let scored = |item: &Value| {
        item.get("index").is_some_and(Value::is_u64)
            && ["relevance_score", "score", "logit"]
                .iter()
                .any(|name| item.get(name).and_then(Value::as_f64).is_some_and(f64::is_finite))
    };
    facts.structure_ok = !list.is_empty() && list.iter().all(scored);
    facts.usable_output = facts.structure_ok;
}
