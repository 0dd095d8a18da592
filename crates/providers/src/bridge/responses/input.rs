//! The input items of a response request as chat messages.
//!
//! A tool call is an item of its own there and part of the assistant's message here: calls join the assistant's message
//! before them.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::chat::{is_text, string};
use super::super::drafts::{Content, File, ImageUrl, Message, Part, ToolCall};
use super::super::{Asked, Dialect};
use crate::Refusal;

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    arguments: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    summary: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default, alias = "refusal")]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    image_url: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    detail: Option<&'a RawValue>,
    #[serde(borrow, default)]
    file_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    file_data: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    filename: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input_audio: Option<&'a RawValue>,
}

/// `instructions` and `input`.
pub(super) fn conversation<'a>(asked: &Asked<'a>, dialect: Dialect) -> Result<Vec<Message<'a>>, Refusal> {
    let mut out = Vec::new();
    if let Some(raw) = asked.get("instructions") {
        if !raw.get().starts_with('"') {
            return Err(Refusal::invalid("instructions", "instructions must be a string"));
        }
        out.push(Message::saying("system", Content::Raw(raw)));
    }
    let Some(raw) = asked.get("input") else {
        return Err(Refusal::invalid("input", "input is missing"));
    };
    if raw.get().starts_with('"') {
        out.push(Message::saying("user", Content::Raw(raw)));
        return Ok(out);
    }
    let items: Vec<Item<'a>> = serde_json::from_str(raw.get()).map_err(|error| {
        Refusal::invalid("input", format!("input is no string and no list of items: {error}"))
    })?;
    let mut thought = None;
    for (index, item) in items.into_iter().enumerate() {
        let at = format!("input[{index}]");
        match item.kind.as_deref().unwrap_or("message") {
            "message" => {
                let mut message = said(&item, &at)?;
                if message.role == "assistant" {
                    message.reasoning_content = thought.take();
                }
                out.push(message);
            }
            "function_call" => call(item, &at, thought.take(), &mut out)?,
            "function_call_output" => out.push(result(item, &at)?),
            "reasoning" => thought = item.summary.filter(|_| dialect.thoughts).and_then(summary),
            kind => {
                return Err(Refusal::untranslatable(
                    at,
                    format!("an item of type {kind:?} has no counterpart in chat completions"),
                ));
            }
        }
    }
    Ok(out)
}

fn said<'a>(item: &Item<'a>, at: &str) -> Result<Message<'a>, Refusal> {
    let role = match item.role.as_ref() {
        "user" => "user",
        "assistant" => "assistant",
        "system" | "developer" => "system",
        role => {
            let message = format!("the role {role:?} is none of user, assistant, system and developer");
            return Err(Refusal::invalid(format!("{at}.role"), message));
        }
    };
    let Some(raw) = item.content else {
        return Err(Refusal::invalid(format!("{at}.content"), "a message needs its content"));
    };
    let content = content(raw, &format!("{at}.content"))?;
    Ok(Message::saying(role, content.unwrap_or(Content::Text(Cow::Borrowed("")))))
}

/// A string, or parts.
fn content<'a>(raw: &'a RawValue, at: &str) -> Result<Option<Content<'a>>, Refusal> {
    if raw.get().starts_with('"') {
        return Ok(is_text(raw).then_some(Content::Raw(raw)));
    }
    let pieces: Vec<Piece<'a>> = serde_json::from_str(raw.get())
        .map_err(|error| Refusal::invalid(at, format!("{at} is no string and no list of parts: {error}")))?;
    let mut parts = Vec::with_capacity(pieces.len());
    for (index, piece) in pieces.into_iter().enumerate() {
        parts.push(part(piece, &format!("{at}[{index}]"))?);
    }
    Ok(Content::of_parts(parts, "\n"))
}

fn part<'a>(piece: Piece<'a>, at: &str) -> Result<Part<'a>, Refusal> {
    let needs = |what: &str| Refusal::invalid(at, format!("a part of this type needs {what}"));
    match piece.kind.as_ref() {
        "input_text" | "output_text" | "text" | "refusal" => {
            Ok(Part::plain(piece.text.and_then(string).ok_or_else(|| needs("its text"))?))
        }
        "input_image" => match (piece.image_url, piece.file_id) {
            (Some(url), _) => {
                let detail = piece.detail.filter(|detail| detail.get() != "null");
                Ok(Part::ImageUrl { image_url: ImageUrl { url, detail }, cache_control: None })
            }
            (None, Some(_)) => Err(Refusal::untranslatable(
                at,
                "a picture by its file_id has no counterpart in chat completions: give its URL or bytes",
            )),
            (None, None) => Err(needs("an image_url")),
        },
        "input_file" => {
            let file = File { file_data: piece.file_data, file_id: piece.file_id, filename: piece.filename };
            if file.file_data.is_none() && file.file_id.is_none() {
                let message = "a file by its URL has no counterpart in chat completions: give its bytes";
                return Err(Refusal::untranslatable(at, message));
            }
            Ok(Part::File { file, cache_control: None })
        }
        "input_audio" => {
            Ok(Part::InputAudio { input_audio: piece.input_audio.ok_or_else(|| needs("an input_audio"))? })
        }
        kind => Err(Refusal::untranslatable(
            at,
            format!("a part of type {kind:?} has no counterpart in chat completions"),
        )),
    }
}

fn call<'a>(
    item: Item<'a>,
    at: &str,
    thought: Option<String>,
    out: &mut Vec<Message<'a>>,
) -> Result<(), Refusal> {
    let (Some(id), Some(name)) = (item.call_id, item.name) else {
        return Err(Refusal::invalid(at, "a function_call needs a call_id and a name"));
    };
    let call = ToolCall::new(id, name, item.arguments.unwrap_or(Cow::Borrowed("{}")));
    match out.last_mut().filter(|last| last.role == "assistant") {
        Some(last) => last.tool_calls.push(call),
        None => {
            let mut message = Message::of("assistant");
            message.reasoning_content = thought;
            message.tool_calls.push(call);
            out.push(message);
        }
    }
    Ok(())
}

fn result<'a>(item: Item<'a>, at: &str) -> Result<Message<'a>, Refusal> {
    let id = item
        .call_id
        .ok_or_else(|| Refusal::invalid(format!("{at}.call_id"), "a function_call_output needs a call_id"))?;
    let content = match item.output {
        Some(raw) => content(raw, &format!("{at}.output"))?,
        None => None,
    };
    let content = content.unwrap_or(Content::Text(Cow::Borrowed("")));
    if matches!(content, Content::Parts(_)) {
        return Err(Refusal::untranslatable(
            format!("{at}.output"),
            "the result of a tool can only be text in chat completions",
        ));
    }
    Ok(Message::result(id, content))
}

/// What a reasoning item tells of the thought.
fn summary(raw: &RawValue) -> Option<String> {
    let pieces: Vec<Piece<'_>> = serde_json::from_str(raw.get()).ok()?;
    let text: Vec<Cow<'_, str>> = pieces.iter().filter_map(|piece| string(piece.text?)).collect();
    Some(text.join("\n")).filter(|text| !text.is_empty())
}
