//! What a refusal teaches about a deployment, so that the next probe is one it accepts.
//!
//! Providers word the same lesson in many ways; what counts is the pair of a refusing status and words that leave
//! one reading. A lesson costs one more request, once.

use super::{Expectation, ProbeAnswer, ProbeMemory};
use crate::Mode;
use crate::target::Target;

/// The cap after "could not finish the message": reasoning had no room at all.
const CAP_UNFINISHED: u64 = 512;
/// The floor when a provider says that the cap is too small and not what it wants.
const FLOOR_UNSTATED: u64 = 64;
/// How much of a refusal is read, in bytes.
const READ: usize = 16 * 1024;

/// One lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lesson {
    /// The output cap has a floor.
    CapFloor(u64),
    /// The cap left no room for an answer.
    CapRaised(u64),
    /// `max_tokens` has another name here.
    CompletionTokens,
    /// Only streams are served.
    StreamOnly,
    /// An `input_type` is demanded.
    InputType(&'static str),
    /// Another voice is demanded.
    Voice(String),
    /// A field is refused.
    Dropped(String),
}

impl Lesson {
    /// Writes the lesson down and names it.
    pub(super) fn learn(self, memory: &mut ProbeMemory) -> &'static str {
        match self {
            Self::CapFloor(floor) => {
                memory.cap_floor = Some(floor.max(memory.cap_floor.unwrap_or(0)));
                "output_cap_floor"
            }
            Self::CapRaised(cap) => {
                memory.cap_raised = Some(cap.max(memory.cap_raised.unwrap_or(0)));
                memory.reasons = true;
                "output_cap_raised"
            }
            Self::CompletionTokens => {
                memory.completion_tokens = true;
                "max_completion_tokens"
            }
            Self::StreamOnly => {
                memory.stream_only = true;
                "stream_only"
            }
            Self::InputType(kind) => {
                memory.input_type = Some(kind.to_owned());
                "input_type"
            }
            Self::Voice(voice) => {
                memory.voice = Some(voice);
                "voice"
            }
            Self::Dropped(field) => {
                if !memory.dropped.contains(&field) {
                    memory.dropped.push(field);
                }
                "field_dropped"
            }
        }
    }

    /// Whether the refusal itself proves that the model generates.
    pub(super) const fn is_alive(&self) -> bool {
        match self {
            Self::CapFloor(_) | Self::CapRaised(_) => true,
            Self::CompletionTokens
            | Self::StreamOnly
            | Self::InputType(_)
            | Self::Voice(_)
            | Self::Dropped(_) => false,
        }
    }
}

/// The lesson in a refusal, if there is one.
pub(super) fn lesson(target: &Target, expect: &Expectation, answer: &ProbeAnswer<'_>) -> Option<Lesson> {
    if !matches!(answer.status, 400 | 404 | 405 | 409 | 415 | 422 | 500 | 501) {
        return None;
    }
    let body = answer.body.get(..READ).unwrap_or(answer.body);
    let said = String::from_utf8_lossy(body);
    // Of the same length: what is found here is cut out there.
    let text = said.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    // A server error is read for the one lesson that some hosts wrap into it.
    if answer.status >= 500 {
        return (says(&["could not finish the message"])).then_some(Lesson::CapRaised(CAP_UNFINISHED));
    }
    if matches!(answer.status, 404 | 405) {
        return None;
    }
    if says(&["could not finish the message"]) {
        return Some(Lesson::CapRaised(CAP_UNFINISHED.max(expect.cap.unwrap_or(0).saturating_mul(2))));
    }
    if expect.mode == Mode::Chat
        && says(&["max_completion_tokens"])
        && says(&["unsupported", "not supported", "instead"])
    {
        return Some(Lesson::CompletionTokens);
    }
    if let Some(floor) = floor(&text, expect.cap) {
        return Some(Lesson::CapFloor(floor));
    }
    if !expect.stream && expect.mode == Mode::Chat && wants_stream(&text) {
        return Some(Lesson::StreamOnly);
    }
    if expect.mode == Mode::Embedding && says(&["input_type", "input type"]) {
        return Some(Lesson::InputType(if target.provider.id == "cohere" {
            "search_query"
        } else {
            "query"
        }));
    }
    if expect.mode == Mode::AudioSpeech && says(&["voice"]) {
        return offered(&said, &text).map(Lesson::Voice);
    }
    refused_field(&text, body).map(Lesson::Dropped)
}

/// The floor of the output cap, when the refusal is about one.
fn floor(text: &str, cap: Option<u64>) -> Option<u64> {
    let cap = cap?;
    let about_cap = [
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "max tokens",
        "output token",
        "limit must be",
    ];
    let too_small = [
        "at least",
        "minimum",
        "greater than",
        ">=",
        "below min",
        "too small",
        "too low",
        "larger than",
        "more than",
    ];
    if !about_cap.iter().any(|word| text.contains(word)) || !too_small.iter().any(|word| text.contains(word))
    {
        return None;
    }
    let stated = too_small
        .iter()
        .filter_map(|word| text.split_once(word).and_then(|(_, rest)| first_number(rest)))
        .find(|number| *number > cap && *number <= 4096);
    // "greater than 16" is met by 17, and a floor one too high costs a token.
    Some(stated.map_or(FLOOR_UNSTATED.max(cap.saturating_mul(4)), |number| {
        if text.contains("greater than") && !text.contains("or equal") { number + 1 } else { number }
    }))
}

/// The first number within reach.
fn first_number(text: &str) -> Option<u64> {
    let near = text.get(..text.len().min(40)).unwrap_or(text);
    let digits: String =
        near.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn wants_stream(text: &str) -> bool {
    let only = [
        "only support",
        "only supports",
        "must",
        "required",
        "requires",
        "non-streaming",
        "non streaming",
        "set ",
    ];
    let stream = ["stream=true", "stream: true", "\\\"stream\\\"", "stream mode", "streaming", "stream"];
    text.contains("enable_thinking must be set to false for non-streaming")
        || (stream.iter().any(|word| text.contains(word)) && only.iter().any(|word| text.contains(word)))
            && !text.contains("stream_options")
}

/// The first voice of a list: of what `should be` or `one of` opens, else in brackets. `text` is what was said in
/// lower case; voices have their own.
fn offered(said: &str, text: &str) -> Option<String> {
    let opened = ["should be", "one of", "must be"]
        .iter()
        .find_map(|words| said.get(text.find(words)? + words.len()..))
        .map(|rest| rest.trim_start_matches(['[', ':', ' ']));
    let quoted = opened.and_then(first_quoted);
    if quoted.is_some() {
        return quoted.filter(|voice| is_voice(voice));
    }
    let list = said.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(list, _)| list)?;
    let voice = list
        .split([',', ' '])
        .map(|word| word.trim_matches(['\'', '"', '\\', '`']))
        .find(|word| !word.is_empty())?;
    is_voice(voice).then(|| voice.to_owned())
}

fn is_voice(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// The word in quotes that a text begins with.
fn first_quoted(text: &str) -> Option<String> {
    let text = text.trim_start_matches('\\');
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"' | '`'))?;
    let (word, _) = text.get(1..)?.split_once(quote)?;
    Some(word.trim_end_matches('\\').to_owned())
}

/// The optional field that the refusal names.
fn refused_field(text: &str, body: &[u8]) -> Option<String> {
    const SIGNS: [&str; 9] = [
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
        "unsupported parameter",
        "unsupported value",
        "unknown parameter",
        "unrecognized request argument",
        "extra inputs are not permitted",
        "extra_forbidden",
    ];
    /// Fields without which there is no probe.
    const NEEDED: [&str; 9] =
        ["model", "messages", "input", "prompt", "query", "documents", "voice", "file", "image"];
    if !SIGNS.iter().any(|sign| text.contains(sign)) {
        return None;
    }
    let named = error_param(body).or_else(|| quoted(text)).or_else(|| after_colon(text))?;
    let field = named.split(['.', '[']).next().unwrap_or(&named).to_owned();
    (!field.is_empty() && !NEEDED.contains(&field.as_str())).then_some(field)
}

/// `error.param`, or the last string of a validation error's `loc`.
fn error_param(body: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    let param =
        value.pointer("/error/param").or_else(|| value.get("param")).and_then(serde_json::Value::as_str);
    let loc = value.pointer("/detail/0/loc").and_then(serde_json::Value::as_array);
    let last = loc.and_then(|loc| loc.iter().rev().find_map(serde_json::Value::as_str));
    param.or(last).map(str::to_owned)
}

fn quoted(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('\'')?;
    let (field, _) = rest.split_once('\'')?;
    field.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b == b'.').then(|| field.to_owned())
}

fn after_colon(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("supplied: ")?;
    Some(rest.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect())
}
