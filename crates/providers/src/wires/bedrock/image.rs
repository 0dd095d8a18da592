//! Images by InvokeModel: Stability's bodies, and Amazon's for Nova Canvas and Titan.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::model;
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::{Encode, chat};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// OpenAI's parameters; the others are the maker's own.
const OPENAI: [&str; 9] =
    ["prompt", "n", "size", "quality", "style", "response_format", "user", "background", "model_id"];

/// The shapes that Stability paints.
const RATIOS: [(u32, u32); 9] = [(1, 1), (16, 9), (21, 9), (2, 3), (3, 2), (4, 5), (5, 4), (9, 16), (9, 21)];

/// The maker's body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let prompt = members.text("prompt")?.ok_or_else(|| Refusal::invalid("prompt", "prompt is missing"))?;
    let count = members.read::<u64>("n", "a positive integer")?.unwrap_or(1);
    let size = size(&members)?;
    let model = model(encode);
    let mut body = if model.contains("stability.") {
        if count != 1 {
            return Err(Refusal::untranslatable(
                "n",
                "Stability's models paint one picture per call: n must be 1",
            ));
        }
        let mut body = Map::new();
        body.insert("prompt".to_owned(), prompt.into());
        if let Some((width, height)) = size {
            body.insert("aspect_ratio".to_owned(), ratio(width, height).into());
        }
        body
    } else if model.contains("amazon.nova-canvas") || model.contains("amazon.titan-image") {
        amazon(&prompt, count, size, members.text("quality")?.as_deref())
    } else {
        let message =
            "Bedrock's images are spoken for Stability and Amazon models, and the model's id names neither";
        return Err(Refusal::untranslatable("model", message));
    };
    if let Some(seed) = members.read::<u64>("seed", "a positive integer")? {
        let place = match body.get_mut("imageGenerationConfig") {
            Some(Value::Object(config)) => config,
            Some(_) | None => &mut body,
        };
        place.insert("seed".to_owned(), seed.into());
    }
    for (name, raw) in members.foreign().filter(|(name, _)| !OPENAI.contains(name)) {
        body.insert(name.to_owned(), chat::value(raw)?);
    }
    let reply = Reply::Translated(Box::new(Pictures { created: encode.options.created }));
    Ok(Encoded { body: chat::written(encode, body), reply, strip_usage: false })
}

fn amazon(prompt: &str, count: u64, size: Option<(u32, u32)>, quality: Option<&str>) -> Map<String, Value> {
    let mut config = Map::new();
    config.insert("numberOfImages".to_owned(), count.into());
    if let Some((width, height)) = size {
        config.insert("width".to_owned(), width.into());
        config.insert("height".to_owned(), height.into());
    }
    match quality {
        Some("hd" | "high" | "premium") => drop(config.insert("quality".to_owned(), "premium".into())),
        Some("standard" | "low" | "medium") => drop(config.insert("quality".to_owned(), "standard".into())),
        Some(_) | None => {}
    }
    let mut body = Map::new();
    body.insert("taskType".to_owned(), "TEXT_IMAGE".into());
    body.insert("textToImageParams".to_owned(), json!({ "text": prompt }));
    body.insert("imageGenerationConfig".to_owned(), config.into());
    body
}

/// Width and height in pixels.
fn size(members: &Members<'_>) -> Result<Option<(u32, u32)>, Refusal> {
    let Some(text) = members.text("size")?.filter(|text| text != "auto") else { return Ok(None) };
    let sides =
        text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    sides
        .filter(|(width, height)| *width > 0 && *height > 0)
        .map(Some)
        .ok_or_else(|| Refusal::invalid("size", "size must be WIDTHxHEIGHT in pixels"))
}

/// The nearest shape.
fn ratio(width: u32, height: u32) -> String {
    let wanted = (f64::from(width) / f64::from(height)).ln();
    let distance =
        |(width, height): &(u32, u32)| ((f64::from(*width) / f64::from(*height)).ln() - wanted).abs();
    let nearest = RATIOS.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.map_or_else(|| "1:1".to_owned(), |(width, height)| format!("{width}:{height}"))
}

/// Reads the answers of either maker. Why a picture is missing is kept beside the list.
#[derive(Debug)]
pub(super) struct Pictures {
    pub(super) created: u64,
}

impl Translator for Pictures {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Map<String, Value> = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        let images = answer.get("images").and_then(Value::as_array);
        let images = images.ok_or_else(|| Untranslatable("there is no list of images".to_owned()))?;
        let data: Vec<Value> = images.iter().map(|image| json!({ "b64_json": image })).collect();
        let mut whole = Map::new();
        whole.insert("created".to_owned(), self.created.into());
        whole.insert("data".to_owned(), data.into());
        for name in ["seeds", "finish_reasons"] {
            if let Some(value) = answer.get(name) {
                whole.insert(name.to_owned(), value.clone());
            }
        }
        Ok(Value::Object(whole).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("images are not streamed".to_owned())
    }
}
