//! Answers with a success status: is it one?
//!
//! Providers report errors inside a 200, stop in the middle of one, answer with a login page, or with a legal
//! structure that holds nothing. The question is asked of what the operation promises; the finer judgement of a
//! probe stands beside the probe.

use haleway_health::Class;
use haleway_wire::chat::{AnswerKind, Finish, inspect_parsed};
use serde_json::Value;

use super::extract::Extract;
use super::parsed::Parsed;
use super::{Answer, Fault, Verdict, by_rules, finish, rules};
use crate::Mode;

/// The fault of an answer with a success status; [`Class::Ok`] when it is usable.
pub(super) fn judge(answer: &Answer<'_>, parsed: &Parsed) -> Fault {
    match parsed {
        Parsed::Json(value) => error_in(answer, value).unwrap_or_else(|| content(answer, value)),
        Parsed::Events(values) => {
            if let Some(fault) = values.iter().find_map(|value| error_in(answer, value)) {
                return fault;
            }
            let said = values.iter().any(stream_said);
            if said { ok(answer) } else { malformed(answer, "a stream without output") }
        }
        Parsed::Html(title) => malformed(answer, title),
        Parsed::Text(_) if is_binary_mode(answer.mode) => ok(answer),
        Parsed::Text(_) if answer.mode == Mode::AudioTranscription && is_plain_text(answer) => ok(answer),
        Parsed::Text(text) => malformed(answer, text),
        // A WebSocket that has sent nothing yet, and a service that only says 204.
        Parsed::Empty if answer.status == 101 || answer.mode == Mode::Http => ok(answer),
        Parsed::Empty => malformed(answer, "an empty body"),
    }
}

/// The fault in one JSON value, if it is an error or ends like one.
pub(super) fn error_in(answer: &Answer<'_>, value: &Value) -> Option<Fault> {
    if !is_error(value) {
        return failed_ending(answer, value);
    }
    let extract = Extract::of_error(value, answer.headers);
    let carried = rules::carried_status(&extract);
    let mut verdict = by_rules(answer, &extract, Some(value), answer.status);
    if !verdict.by_rule {
        verdict = match carried {
            Some(status) => by_rules(answer, &extract, Some(value), status),
            None if answer.status == 101 => Verdict { class: Class::BadRequest, ..verdict },
            None => Verdict { class: Class::ServerError, ..verdict },
        };
    }
    verdict.status = carried;
    Some(finish(answer, &extract, Some(value), verdict))
}

/// An ending that says the answer failed or was refused, in a value that is no error otherwise.
fn failed_ending(answer: &Answer<'_>, value: &Value) -> Option<Fault> {
    let mut extract = Extract::default();
    extract.add_finishes(value);
    if extract.finishes.is_empty() {
        return None;
    }
    let verdict = by_rules(answer, &extract, None, answer.status);
    verdict.by_rule.then(|| finish(answer, &extract, None, verdict))
}

/// The ways in which a body with a success status is an error all the same.
fn is_error(value: &Value) -> bool {
    let word = |name: &str| value.get(name).and_then(Value::as_str);
    let filled = |name: &str| {
        value.get(name).is_some_and(|value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
            Value::Number(number) => number.as_f64() != Some(0.0),
            Value::Bool(true) => true,
        })
    };
    // `{"code":20012,"message":"…","data":null}`: a code, words and nothing else.
    let bare = filled("code")
        && word("message").is_some()
        && !["data", "choices", "output", "content"].into_iter().any(filled);
    let wrapped = || {
        let items = value.as_array()?;
        Some(items.first().is_some_and(|first| first.get("error").is_some_and(Value::is_object)))
    };
    filled("error")
        || filled("errors")
        || word("object") == Some("error")
        || word("type") == Some("error")
        || word("type") == Some("response.failed")
        || word("status") == Some("failed")
        || value.get("success") == Some(&Value::Bool(false))
        || value.pointer("/base_resp/status_code").and_then(Value::as_i64).is_some_and(|code| code != 0)
        || value.pointer("/response/error").is_some_and(Value::is_object)
        || bare
        || wrapped().unwrap_or(false)
}

/// A body without an error: does it hold what was promised?
fn content(answer: &Answer<'_>, value: &Value) -> Fault {
    if answer.status == 101 {
        return ok(answer);
    }
    let value = match value {
        Value::Array(items) if items.len() == 1 && answer.mode != Mode::Embedding => {
            items.first().unwrap_or(value)
        }
        Value::Array(_)
        | Value::Object(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => value,
    };
    let found = match answer.mode {
        Mode::Chat | Mode::Completion | Mode::Responses | Mode::AnthropicMessages => text_output(value),
        Mode::Embedding => embedding_output(value),
        Mode::AudioSpeech
        | Mode::AudioTranscription
        | Mode::ImageGeneration
        | Mode::ImageEdit
        | Mode::VideoGeneration
        | Mode::Rerank
        | Mode::Realtime
        | Mode::Batch
        | Mode::Ocr
        | Mode::Http => Found::Usable,
    };
    match found {
        Found::Usable => ok(answer),
        Found::CutShort => {
            let verdict = Verdict::of(Class::OutputBudget);
            finish(answer, &Extract::default(), None, verdict)
        }
        Found::Nothing => malformed(answer, "an answer without usable output"),
    }
}

/// What a body without an error holds.
enum Found {
    /// Something the caller can use.
    Usable,
    /// Nothing, because the output limit came first.
    CutShort,
    /// Nothing.
    Nothing,
}

/// Text output in the shape of any wire.
fn text_output(value: &Value) -> Found {
    for (member, kind) in
        [("choices", AnswerKind::Chat), ("output", AnswerKind::Responses), ("content", AnswerKind::Messages)]
    {
        if !value.get(member).is_some_and(Value::is_array) {
            continue;
        }
        let facts = inspect_parsed(value, kind);
        return match facts.finish {
            _ if facts.usable_output && facts.structure_ok => Found::Usable,
            Some(Finish::Length) => Found::CutShort,
            Some(_) | None => Found::Nothing,
        };
    }
    if value.get("candidates").is_some_and(Value::is_array) {
        return candidates(value);
    }
    let says = [
        "/output/message/content",
        "/message/content",
        "/response",
        "/generated_text",
        "/0/generated_text",
        "/results/0/generated_text",
        "/outputText",
        "/completion",
        "/generation",
        "/text",
        "/output",
    ]
    .iter()
    .any(|path| value.pointer(path).is_some_and(is_said));
    let calls = value.pointer("/message/tool_calls").is_some_and(Value::is_array);
    let mut extract = Extract::default();
    extract.add_finishes(value);
    let cut = extract.finishes.iter().any(|word| Finish::from_word(word) == Finish::Length);
    match (says || calls, cut) {
        (true, _) => Found::Usable,
        (false, true) => Found::CutShort,
        (false, false) => Found::Nothing,
    }
}

fn candidates(value: &Value) -> Found {
    let list = value.get("candidates").and_then(Value::as_array).into_iter().flatten();
    let mut cut = false;
    for candidate in list {
        let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
        let usable = parts.into_iter().flatten().any(|part| {
            part.get("thought") != Some(&Value::Bool(true))
                && (part.get("text").is_some_and(is_said)
                    || ["functionCall", "inlineData", "executableCode"]
                        .iter()
                        .any(|name| part.get(name).is_some()))
        });
        if usable {
            return Found::Usable;
        }
        let finish = candidate.get("finishReason").and_then(Value::as_str);
        cut |= finish.is_some_and(|word| Finish::from_word(word) == Finish::Length);
    }
    if cut { Found::CutShort } else { Found::Nothing }
}

fn embedding_output(value: &Value) -> Found {
    let vector = [
        "/data/0/embedding",
        "/embedding/values",
        "/embedding",
        "/embeddings/0/values",
        "/embeddings/float/0",
        "/embeddings/0",
        "/predictions/0/embeddings/values",
        "/results/0/embedding",
        "/0",
    ];
    let found = vector.iter().find_map(|path| value.pointer(path));
    let numbers = |list: &[Value]| !list.is_empty() && list.iter().all(Value::is_number);
    let usable = match found {
        Some(Value::Array(list)) => {
            numbers(list) || list.first().and_then(Value::as_array).is_some_and(|l| numbers(l))
        }
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => false,
    };
    if usable { Found::Usable } else { Found::Nothing }
}

/// Text that is not blank, or a list with such a part.
fn is_said(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(parts) => parts
            .iter()
            .any(|part| is_said(part.get("text").unwrap_or(part)) || part.get("toolUse").is_some()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Whether one event of a stream, of any wire, carries output.
fn stream_said(value: &Value) -> bool {
    let data = value.to_string();
    use haleway_wire::chat::{StreamKind, inspect_event};
    [StreamKind::Chat, StreamKind::Responses, StreamKind::Messages]
        .into_iter()
        .any(|kind| inspect_event(kind, data.as_bytes()).has_output)
        || matches!(text_output(value), Found::Usable)
}

/// Modes whose answer is no text.
fn is_binary_mode(mode: Mode) -> bool {
    matches!(
        mode,
        Mode::AudioSpeech | Mode::ImageGeneration | Mode::ImageEdit | Mode::VideoGeneration | Mode::Http
    )
}

fn is_plain_text(answer: &Answer<'_>) -> bool {
    let kind = answer.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/plain") || kind.starts_with("text/vtt"))
}

fn ok(answer: &Answer<'_>) -> Fault {
    Fault::new(Class::Ok, answer.status, "")
}

fn malformed(answer: &Answer<'_>, words: &str) -> Fault {
    Fault::new(Class::MalformedResponse, answer.status, words)
}
