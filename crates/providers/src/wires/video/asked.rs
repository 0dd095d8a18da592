//! What a caller asks of a video, from a form or from JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::Refusal;
use crate::objects::{Posted, field};
use crate::resolve::is_gateway_field;
use crate::wires::chat::data_url;

/// OpenAI's parameters; the others are the provider's own.
const OPENAI: [&str; 5] = ["model", "prompt", "seconds", "size", "input_reference"];

/// A picture to begin with.
#[derive(Debug)]
pub(super) enum Picture {
    /// Inline: its type and base64.
    Data(String, String),
    /// At an address that the provider fetches.
    Url(String),
}

#[derive(Debug)]
pub(super) struct Asked {
    pub(super) prompt: String,
    pub(super) seconds: Option<u64>,
    /// Width and height in pixels.
    pub(super) size: Option<(u32, u32)>,
    pub(super) picture: Option<Picture>,
    pub(super) foreign: Map<String, Value>,
}

impl Asked {
    pub(super) fn read(body: Posted<'_>) -> Result<Self, Refusal> {
        let prompt = field(body, "prompt").filter(|prompt| !prompt.trim().is_empty());
        let prompt = prompt.ok_or_else(|| Refusal::invalid("prompt", "prompt is missing"))?.into_owned();
        let seconds = field(body, "seconds")
            .map(|text| text.trim().parse())
            .transpose()
            .map_err(|_| Refusal::invalid("seconds", "seconds must be a whole number"))?;
        let size = field(body, "size").map(|text| sides(&text)).transpose()?;
        Ok(Self { prompt, seconds, size, picture: picture(body)?, foreign: foreign(body) })
    }
}

fn sides(text: &str) -> Result<(u32, u32), Refusal> {
    text.split_once('x')
        .and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)))
        .filter(|(width, height)| *width > 0 && *height > 0)
        .ok_or_else(|| Refusal::invalid("size", "size must be WIDTHxHEIGHT in pixels"))
}

fn picture(body: Posted<'_>) -> Result<Option<Picture>, Refusal> {
    const NAME: &str = "input_reference";
    let wrong = |message| Refusal::untranslatable(NAME, message);
    match body {
        Posted::Nothing => Ok(None),
        Posted::Form(form) => {
            let Some(part) = form.parts().iter().find(|part| part.name == NAME) else { return Ok(None) };
            let kind = kind(&part.content).ok_or_else(|| wrong("input_reference is no PNG, JPEG or WebP"))?;
            Ok(Some(Picture::Data(kind.to_owned(), STANDARD.encode(&part.content))))
        }
        Posted::Json(body) => {
            let Some(raw) = body.get(NAME).filter(|raw| raw.get() != "null") else { return Ok(None) };
            let value: Value = serde_json::from_str(raw.get())?;
            let url = value.as_str().or_else(|| value.get("image_url").and_then(Value::as_str));
            let url = url.ok_or_else(|| wrong("input_reference has no image_url"))?;
            Ok(Some(match data_url(url) {
                Some((kind, data)) => Picture::Data(kind.to_owned(), data.to_owned()),
                None => Picture::Url(url.to_owned()),
            }))
        }
    }
}

fn kind(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"\x89PNG") {
        Some("image/png")
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else {
        (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP")).then_some("image/webp")
    }
}

fn foreign(body: Posted<'_>) -> Map<String, Value> {
    let is_foreign = |name: &str| !OPENAI.contains(&name) && !is_gateway_field(name);
    match body {
        Posted::Nothing => Map::new(),
        Posted::Form(form) => form
            .parts()
            .iter()
            .filter(|part| is_foreign(&part.name) && part.file_name.is_none())
            .filter_map(|part| {
                let text = std::str::from_utf8(&part.content).ok()?;
                // A form knows only text: a number or a boolean is meant as one.
                let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
                Some((part.name.clone(), value))
            })
            .collect(),
        Posted::Json(body) => body
            .iter()
            .filter(|(name, value)| is_foreign(name) && value.get() != "null")
            .filter_map(|(name, value)| Some((name.to_owned(), serde_json::from_str(value.get()).ok()?)))
            .collect(),
    }
}
