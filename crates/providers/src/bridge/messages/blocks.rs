//! Anthropic's turns, block by block, as chat messages.
//!
//! A user's turn may answer tools and say something: the results become messages of their own, ahead of the rest, since
//! chat wants them right after the calls. Pictures in a result follow in the user's message: a tool's has only text.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::chat::{is_text, string};
use super::super::drafts::{Content, File, ImageUrl, Message, Part, ToolCall};
use super::super::{Asked, Dialect};
use crate::Refusal;

#[derive(Deserialize)]
struct Turn<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    source: Option<Source<'a>>,
    #[serde(borrow, default)]
    title: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_use_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Source<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    media_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    url: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

/// `system` and `messages`.
pub(super) fn conversation<'a>(asked: &Asked<'a>, dialect: Dialect) -> Result<Vec<Message<'a>>, Refusal> {
    let raw = asked.get("messages").ok_or_else(|| Refusal::invalid("messages", "messages is missing"))?;
    let turns: Vec<Turn<'a>> = serde_json::from_str(raw.get()).map_err(|error| {
        Refusal::invalid("messages", format!("messages is not a list of messages: {error}"))
    })?;
    let mut out = Vec::with_capacity(turns.len() + 1);
    if let Some(system) = asked.get("system") {
        let place = Place { at: "system".to_owned(), dialect };
        out.extend(place.parts(system)?.map(|content| Message::saying("system", content)));
    }
    for (index, turn) in turns.into_iter().enumerate() {
        let Some(content) = turn.content.filter(|content| content.get() != "null") else { continue };
        let place = Place { at: format!("messages[{index}].content"), dialect };
        match turn.role.as_ref() {
            "user" => place.user(content, &mut out)?,
            "assistant" => out.extend(place.assistant(content)?),
            "system" => out.extend(place.parts(content)?.map(|content| Message::saying("system", content))),
            role => {
                return Err(Refusal::invalid(
                    format!("messages[{index}].role"),
                    format!("the role {role:?} is none of user, assistant and system"),
                ));
            }
        }
    }
    Ok(out)
}

/// Where in the request a block stands, for refusals, and what may be said of it.
struct Place {
    at: String,
    dialect: Dialect,
}

impl Place {
    fn blocks<'a>(&self, raw: &'a RawValue) -> Result<Vec<Block<'a>>, Refusal> {
        serde_json::from_str(raw.get()).map_err(|error| {
            Refusal::invalid(
                self.at.as_str(),
                format!("{} is no string and no list of blocks: {error}", self.at),
            )
        })
    }

    fn unsayable(&self, index: usize, kind: &str) -> Refusal {
        Refusal::untranslatable(
            format!("{}[{index}]", self.at),
            format!("a block of type {kind:?} has no counterpart here in chat completions"),
        )
    }

    fn mark<'a>(&self, cache_control: Option<&'a RawValue>) -> Option<&'a RawValue> {
        cache_control.filter(|_| self.dialect.marks)
    }

    /// Content of nothing but text, pictures and documents.
    fn parts<'a>(&self, raw: &'a RawValue) -> Result<Option<Content<'a>>, Refusal> {
        if raw.get().starts_with('"') {
            return Ok(is_text(raw).then_some(Content::Raw(raw)));
        }
        let mut parts = Vec::new();
        for (index, block) in self.blocks(raw)?.into_iter().enumerate() {
            self.part(index, block, &mut parts)?;
        }
        Ok(Content::of_parts(parts, "\n\n"))
    }

    fn user<'a>(&self, raw: &'a RawValue, out: &mut Vec<Message<'a>>) -> Result<(), Refusal> {
        if raw.get().starts_with('"') {
            out.push(Message::saying("user", Content::Raw(raw)));
            return Ok(());
        }
        let mut parts = Vec::new();
        for (index, block) in self.blocks(raw)?.into_iter().enumerate() {
            if block.kind == "tool_result" {
                out.push(self.result(index, block, &mut parts)?);
            } else {
                self.part(index, block, &mut parts)?;
            }
        }
        out.extend(Content::of_parts(parts, "\n\n").map(|content| Message::saying("user", content)));
        Ok(())
    }

    /// A tool's result; what is not text goes to the user's own `parts`.
    fn result<'a>(
        &self,
        index: usize,
        block: Block<'a>,
        parts: &mut Vec<Part<'a>>,
    ) -> Result<Message<'a>, Refusal> {
        let id = block.tool_use_id.ok_or_else(|| {
            Refusal::invalid(format!("{}[{index}].tool_use_id", self.at), "a tool_result needs a tool_use_id")
        })?;
        let content = match block.content.filter(|content| content.get() != "null") {
            None => Content::Text(Cow::Borrowed("")),
            Some(raw) if raw.get().starts_with('"') => Content::Raw(raw),
            Some(raw) => {
                let inside = Self { at: format!("{}[{index}].content", self.at), dialect: self.dialect };
                let mut texts = Vec::new();
                for (index, block) in inside.blocks(raw)?.into_iter().enumerate() {
                    let into = if block.kind == "text" { &mut texts } else { &mut *parts };
                    inside.part(index, block, into)?;
                }
                Content::of_parts(texts, "\n").unwrap_or(Content::Text(Cow::Borrowed("")))
            }
        };
        let mut message = Message::result(id, content);
        message.cache_control = self.mark(block.cache_control);
        Ok(message)
    }

    fn part<'a>(&self, index: usize, block: Block<'a>, parts: &mut Vec<Part<'a>>) -> Result<(), Refusal> {
        let cache_control = self.mark(block.cache_control);
        match (block.kind.as_ref(), block.source) {
            ("text", _) => {
                let text = block.text.and_then(string).ok_or_else(|| {
                    Refusal::invalid(format!("{}[{index}].text", self.at), "a text block needs its text")
                })?;
                if !text.is_empty() {
                    parts.push(Part::Text { text, cache_control });
                }
            }
            ("image", Some(source)) => {
                let url = self.url(index, source)?;
                parts.push(Part::ImageUrl { image_url: ImageUrl { url, detail: None }, cache_control });
            }
            ("document", Some(source)) => match (source.kind.as_ref(), source.data, source.content) {
                ("text", Some(text), _) => parts.push(Part::Text { text, cache_control }),
                ("base64", Some(data), _) => {
                    let kind = source.media_type.unwrap_or(Cow::Borrowed("application/pdf"));
                    let filename = Some(block.title.unwrap_or(Cow::Borrowed("document.pdf")));
                    let file_data = Some(Cow::Owned(format!("data:{kind};base64,{data}")));
                    parts.push(Part::File {
                        file: File { file_data, filename, file_id: None },
                        cache_control,
                    });
                }
                ("content", _, Some(raw)) => {
                    let inside =
                        Self { at: format!("{}[{index}].source.content", self.at), dialect: self.dialect };
                    if raw.get().starts_with('"') {
                        parts.extend(string(raw).map(Part::plain));
                    } else {
                        for (index, block) in inside.blocks(raw)?.into_iter().enumerate() {
                            inside.part(index, block, parts)?;
                        }
                    }
                }
                _ => return Err(self.unsayable(index, "document")),
            },
            (kind, _) => return Err(self.unsayable(index, kind)),
        }
        Ok(())
    }

    fn url<'a>(&self, index: usize, source: Source<'a>) -> Result<Cow<'a, str>, Refusal> {
        match (source.kind.as_ref(), source.url, source.data) {
            ("url", Some(url), _) => Ok(url),
            ("base64", _, Some(data)) => {
                let kind = source.media_type.unwrap_or(Cow::Borrowed("image/png"));
                Ok(Cow::Owned(format!("data:{kind};base64,{data}")))
            }
            _ => Err(Refusal::untranslatable(
                format!("{}[{index}].source", self.at),
                "a picture must be given by its bytes or its URL",
            )),
        }
    }

    fn assistant<'a>(&self, raw: &'a RawValue) -> Result<Option<Message<'a>>, Refusal> {
        if raw.get().starts_with('"') {
            return Ok(Some(Message::saying("assistant", Content::Raw(raw))));
        }
        let whole: Vec<&'a RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
        let mut message = Message::of("assistant");
        let mut parts = Vec::new();
        for (index, block) in self.blocks(raw)?.into_iter().enumerate() {
            match block.kind.as_ref() {
                "text" => self.part(index, block, &mut parts)?,
                "tool_use" => message.tool_calls.push(self.call(index, block)?),
                "thinking" | "redacted_thinking" => {
                    if self.dialect.thoughts {
                        let thought = block.thinking.and_then(string).unwrap_or_default();
                        if !thought.is_empty() {
                            message.reasoning_content.get_or_insert_default().push_str(&thought);
                        }
                    }
                    if self.dialect.marks {
                        message.thinking_blocks.extend(whole.get(index));
                    }
                }
                kind => return Err(self.unsayable(index, kind)),
            }
        }
        message.content = Content::of_parts(parts, "");
        let says = message.content.is_some() || !message.tool_calls.is_empty();
        Ok(says.then_some(message))
    }

    fn call<'a>(&self, index: usize, block: Block<'a>) -> Result<ToolCall<'a>, Refusal> {
        let (Some(id), Some(name)) = (block.id, block.name) else {
            let at = format!("{}[{index}]", self.at);
            return Err(Refusal::invalid(at, "a tool_use needs an id and a name"));
        };
        let arguments = block.input.map_or("{}", RawValue::get);
        Ok(ToolCall::new(id, name, Cow::Borrowed(arguments)))
    }
}
