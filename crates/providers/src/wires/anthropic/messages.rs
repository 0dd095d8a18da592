//! OpenAI's messages as Anthropic's system text and turns.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::{Block, Made, Source, Turn};

use crate::Refusal;
use crate::wires::members::text;

/// The conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation<'a> {
    pub(super) system: Vec<Block<'a>>,
    pub(super) turns: Vec<Turn<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    thinking_blocks: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Cow<'a, str>,
}

/// Reads `messages`.
pub(super) fn conversation(raw: &RawValue) -> Result<Conversation<'_>, Refusal> {
    let messages: Vec<Message<'_>> = serde_json::from_str(raw.get()).map_err(|error| {
        Refusal::invalid("messages", format!("messages is not a list of messages: {error}"))
    })?;
    let mut whole = Conversation::default();
    for (index, message) in messages.into_iter().enumerate() {
        let at = |tail: &str| format!("messages[{index}]{tail}");
        match message.role.as_ref() {
            "system" | "developer" => {
                let before = whole.system.len();
                content(message.content, &at(".content"), &mut whole.system)?;
                mark(&mut whole.system, before, message.cache_control);
            }
            "user" => {
                let mut blocks = Vec::new();
                content(message.content, &at(".content"), &mut blocks)?;
                mark(&mut blocks, 0, message.cache_control);
                whole.push("user", blocks);
            }
            "assistant" => whole.push("assistant", assistant(message, &at)?),
            "tool" => whole.push("user", vec![result(message, &at)?]),
            role => {
                let message = format!("the role {role:?} has no counterpart on Anthropic's wire");
                return Err(Refusal::untranslatable(at(".role"), message));
            }
        }
    }
    if whole.turns.is_empty() {
        return Err(Refusal::untranslatable("messages", "Anthropic needs at least one user message"));
    }
    Ok(whole)
}

impl<'a> Conversation<'a> {
    /// Adds to the last turn when its role is the same; results of tools come first in a turn.
    fn push(&mut self, role: &'static str, blocks: Vec<Block<'a>>) {
        if blocks.is_empty() {
            return;
        }
        match self.turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => {
                for block in blocks {
                    let place = if block.is_result() {
                        turn.content.iter().take_while(|block| block.is_result()).count()
                    } else {
                        turn.content.len()
                    };
                    turn.content.insert(place, block);
                }
            }
            None => self.turns.push(Turn { role, content: blocks }),
        }
    }
}

fn assistant<'a>(message: Message<'a>, at: &dyn Fn(&str) -> String) -> Result<Vec<Block<'a>>, Refusal> {
    if message.function_call.is_some_and(|call| call.get() != "null") {
        return Err(Refusal::untranslatable(
            at(".function_call"),
            "function_call is not translated: use tool_calls",
        ));
    }
    // Thinking must come back unchanged, and first.
    let mut blocks: Vec<Block<'a>> = message.thinking_blocks.into_iter().flatten().map(Block::Raw).collect();
    content(message.content, &at(".content"), &mut blocks)?;
    mark(&mut blocks, 0, message.cache_control);
    for (index, call) in message.tool_calls.into_iter().flatten().enumerate() {
        let arguments = call.function.arguments.trim();
        let input = if arguments.is_empty() { "{}" } else { arguments };
        let input = RawValue::from_string(input.to_owned()).ok().filter(|input| input.get().starts_with('{'));
        let input = input.ok_or_else(|| {
            let param = at(&format!(".tool_calls[{index}].function.arguments"));
            Refusal::untranslatable(param, "the arguments of a tool call must be a JSON object")
        })?;
        blocks.push(Block::Made(Made::ToolUse { id: call.id, name: call.function.name, input }));
    }
    Ok(blocks)
}

fn result<'a>(message: Message<'a>, at: &dyn Fn(&str) -> String) -> Result<Block<'a>, Refusal> {
    let Some(id) = message.tool_call_id.filter(|id| !id.is_empty()) else {
        return Err(Refusal::invalid(at(".tool_call_id"), "a tool message needs a tool_call_id"));
    };
    let mut blocks = Vec::new();
    content(message.content, &at(".content"), &mut blocks)?;
    Ok(Block::Made(Made::ToolResult {
        tool_use_id: id,
        content: blocks,
        cache_control: message.cache_control,
    }))
}

/// A message's own cache mark belongs to its last block.
fn mark<'a>(blocks: &mut [Block<'a>], from: usize, cache: Option<&'a RawValue>) {
    if let (Some(cache), Some(Block::Made(Made::Text { cache_control, .. }))) =
        (cache, blocks.get_mut(from..).and_then(<[Block<'a>]>::last_mut))
    {
        cache_control.get_or_insert(cache);
    }
}

/// Content as a string or as parts. Blank text is left out: Anthropic refuses it.
fn content<'a>(raw: Option<&'a RawValue>, at: &str, blocks: &mut Vec<Block<'a>>) -> Result<(), Refusal> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(()) };
    if raw.get().starts_with('"') {
        if !is_blank(raw) {
            blocks.push(Block::text(raw));
        }
        return Ok(());
    }
    let parts: Vec<Part<'a>> = serde_json::from_str(raw.get())
        .map_err(|_| Refusal::invalid(at, format!("{at} must be a string or a list of parts")))?;
    for (index, part) in parts.into_iter().enumerate() {
        let at = format!("{at}[{index}]");
        blocks.extend(part.block(&at)?);
    }
    Ok(())
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default, alias = "refusal")]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    image_url: Option<&'a RawValue>,
    #[serde(borrow, default)]
    file: Option<File<'a>>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Url<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
}

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, default)]
    file_data: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    file_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    filename: Option<Cow<'a, str>>,
}

impl<'a> Part<'a> {
    fn block(self, at: &str) -> Result<Option<Block<'a>>, Refusal> {
        let cache_control = self.cache_control;
        match self.kind.as_ref() {
            "text" | "refusal" => {
                let text = self.text.ok_or_else(|| Refusal::invalid(at, "a text part needs its text"))?;
                Ok((!is_blank(text)).then_some(Block::Made(Made::Text { text, cache_control })))
            }
            "image_url" => {
                let raw =
                    self.image_url.ok_or_else(|| Refusal::invalid(at, "an image part needs an image_url"))?;
                let url = if raw.get().starts_with('"') {
                    text(raw)
                } else {
                    serde_json::from_str::<Url<'a>>(raw.get()).ok().map(|image| image.url)
                };
                let url = url.ok_or_else(|| Refusal::invalid(at, "image_url needs a url"))?;
                Ok(Some(Block::Made(Made::Image { source: image(url, at)?, cache_control })))
            }
            "file" => {
                let file = self.file.ok_or_else(|| Refusal::invalid(at, "a file part needs a file"))?;
                let title = file.filename;
                let source = document(file.file_data, file.file_id, at)?;
                Ok(Some(Block::Made(Made::Document { source, title, cache_control })))
            }
            kind => Err(Refusal::untranslatable(
                at,
                format!("a part of type {kind:?} has no counterpart on Anthropic's wire"),
            )),
        }
    }
}

fn image<'a>(url: Cow<'a, str>, at: &str) -> Result<Source<'a>, Refusal> {
    const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(Source::Url { url });
    }
    let Some((media_type, data)) = data_url(url) else {
        return Err(Refusal::untranslatable(at, "an image must be an http(s) URL or a base64 data URL"));
    };
    // A common slip that Anthropic refuses.
    let media_type = if media_type == "image/jpg" { Cow::Borrowed("image/jpeg") } else { media_type };
    if !PICTURES.contains(&media_type.as_ref()) {
        return Err(Refusal::untranslatable(
            at,
            format!("Anthropic reads png, jpeg, gif and webp, not {media_type:?}"),
        ));
    }
    Ok(Source::Base64 { media_type, data })
}

fn document<'a>(
    data: Option<Cow<'a, str>>,
    id: Option<Cow<'a, str>>,
    at: &str,
) -> Result<Source<'a>, Refusal> {
    if let Some(file_id) = id {
        if file_id.starts_with("http://") || file_id.starts_with("https://") {
            return Ok(Source::Url { url: file_id });
        }
        return Ok(Source::File { file_id });
    }
    let (media_type, data) = data.and_then(data_url).ok_or_else(|| {
        Refusal::untranslatable(at, "a file needs a file_id or file_data as a base64 data URL")
    })?;
    if media_type != "application/pdf" {
        return Err(Refusal::untranslatable(
            at,
            format!("Anthropic reads PDF documents, not {media_type:?}"),
        ));
    }
    Ok(Source::Base64 { media_type, data })
}

/// Media type and base64 text of a data URL.
fn data_url(url: Cow<'_, str>) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    fn parts(url: &str) -> Option<(&str, &str)> {
        let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
        let media = head.strip_suffix(";base64")?;
        Some((media.split(';').next().unwrap_or(media), data))
    }
    match url {
        Cow::Borrowed(url) => parts(url).map(|(media, data)| (Cow::Borrowed(media), Cow::Borrowed(data))),
        Cow::Owned(url) => {
            parts(&url).map(|(media, data)| (Cow::Owned(media.to_owned()), Cow::Owned(data.to_owned())))
        }
    }
}

/// Whether a raw JSON string holds nothing but white space. Long ones hold something.
fn is_blank(raw: &RawValue) -> bool {
    raw.get().len() < 64 && text(raw).is_some_and(|text| text.trim().is_empty())
}
