//! A chat completion in OpenAI's words, read and written for the wires that build their own bodies from it: what
//! the client asked, and the completion and chunks it gets.

mod answer;
mod events;
mod messages;
mod tools;

pub(super) use answer::{Chunks, Counts, call, completion, message};
pub use events::events_of;
pub(super) use messages::{Call, Piece, Role, Said, conversation, data_url, name_of_call};
pub(super) use tools::{Choice, Format, Function, Tool, choice, format, tools};

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::{Change, Envelope};
use serde_json::{Map, Value};

use super::Encode;
use super::members::Members;
use crate::target::Target;
use crate::{Refusal, Untranslatable};

/// Whether the client asked for the chunk that holds a stream's usage.
pub(super) fn wants_usage(encode: &Encode<'_>) -> bool {
    encode.body.get("stream_options").is_some_and(|options| {
        serde_json::from_str::<Value>(options.get())
            .is_ok_and(|options| options.get("include_usage").and_then(Value::as_bool) == Some(true))
    })
}

/// Refuses the parameters among `names` without which the caller would get another answer than asked for. With
/// `drop_params` they are left out instead.
pub(super) fn refuse_unsayable(
    encode: &Encode<'_>,
    members: &Members<'_>,
    wire: &str,
    names: &[&'static str],
) -> Result<(), Refusal> {
    if encode.options.drop_params || encode.target.defaults.drop_params {
        return Ok(());
    }
    let said = |name: &str| members.get(name).is_some_and(|value| !is_neutral(name, value.get()));
    match names.iter().find(|name| said(name)) {
        Some(name) => Err(Refusal::untranslatable(
            *name,
            format!("{name} cannot be said on {wire}'s wire: leave it out, or set drop_params"),
        )),
        None => Ok(()),
    }
}

/// Whether a value asks for what happens without it, too.
fn is_neutral(name: &str, value: &str) -> bool {
    match name {
        "n" => value == "1",
        "top_logprobs" => value == "0",
        "logprobs" => value == "false",
        "logit_bias" => value.trim_matches(['{', '}', ' ']).is_empty(),
        "modalities" => !value.contains("\"audio\""),
        "temperature" => matches!(value.trim_matches('"'), "0" | "0.0"),
        "speed" => matches!(value, "1" | "1.0"),
        "tool_choice" => value == "\"auto\"" || value == "\"none\"",
        _ => false,
    }
}

/// The output cap, by its newer name first, in tokens.
pub(super) fn cap(members: &Members<'_>) -> Result<Option<u64>, Refusal> {
    let wanted = "a positive integer";
    match members.read::<u64>("max_completion_tokens", wanted)? {
        Some(cap) => Ok(Some(cap)),
        None => members.read::<u64>("max_tokens", wanted),
    }
}

/// Stop strings, as a list.
pub(super) fn stops(members: &Members<'_>) -> Result<Option<Vec<String>>, Refusal> {
    let Some(raw) = members.get("stop") else { return Ok(None) };
    let list = if raw.get().starts_with('"') {
        serde_json::from_str::<String>(raw.get()).map(|one| vec![one])
    } else {
        serde_json::from_str::<Vec<String>>(raw.get())
    };
    let list = list.map_err(|_| Refusal::invalid("stop", "stop must be a string or a list of strings"))?;
    let list: Vec<String> = list.into_iter().filter(|stop| !stop.is_empty()).collect();
    Ok((!list.is_empty()).then_some(list))
}

/// Puts a member that must be a number under its name on the wire.
pub(super) fn put_number(
    body: &mut Map<String, Value>,
    members: &Members<'_>,
    name: &str,
    as_name: &str,
) -> Result<(), Refusal> {
    if let Some(number) = members.read::<serde_json::Number>(name, "a number")? {
        body.insert(as_name.to_owned(), Value::Number(number));
    }
    Ok(())
}

/// A raw member as a value.
pub(super) fn value(raw: &serde_json::value::RawValue) -> Result<Value, Refusal> {
    Ok(serde_json::from_str(raw.get())?)
}

/// The body's text; the deployment's `extra_body` outranks everything.
pub(super) fn written(encode: &Encode<'_>, body: Map<String, Value>) -> Bytes {
    written_for(encode.target, body)
}

/// The same without a body of the client's to encode.
pub(super) fn written_for(target: &Target, body: Map<String, Value>) -> Bytes {
    let text = Value::Object(body).to_string();
    let extra = &target.defaults.extra;
    if extra.is_empty() {
        return text.into();
    }
    let Ok(members) = Envelope::parse(text.as_bytes()) else { return text.clone().into() };
    let changes: Vec<Change<'_>> =
        extra.iter().map(|(name, value)| Change::Set(name, Cow::Borrowed(value.as_slice()))).collect();
    members.patched(&changes)
}

/// An answer that is no JSON of the promised shape.
pub(super) fn wrong(error: &serde_json::Error) -> Untranslatable {
    Untranslatable(error.to_string())
}

/// A count inside an answer; some providers write whole numbers as floats.
pub(super) fn count(answer: &Value, pointer: &str) -> Option<u64> {
    let number = answer.pointer(pointer)?;
    // Negative, huge and broken numbers saturate.
    number.as_u64().or_else(|| number.as_f64().map(|number| number as u64))
}
