//! Imagen: pictures by `predict`, on Vertex AI and with an API key.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::{Encode, chat};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// OpenAI's parameters, and those with a place of their own.
const OPENAI: [&str; 8] =
    ["prompt", "n", "size", "quality", "style", "response_format", "user", "background"];
/// The shapes that Imagen paints.
const RATIOS: [(u32, u32, &str); 5] =
    [(1, 1, "1:1"), (3, 4, "3:4"), (4, 3, "4:3"), (9, 16, "9:16"), (16, 9, "16:9")];

/// The body: one instance with the prompt, everything else a parameter.
pub(in crate::wires) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let prompt = members.text("prompt")?.ok_or_else(|| Refusal::invalid("prompt", "prompt is missing"))?;
    let mut parameters = Map::new();
    let count = members.read::<u64>("n", "a positive integer")?.unwrap_or(1);
    parameters.insert("sampleCount".to_owned(), count.into());
    if let Some(size) = members.text("size")?.filter(|size| size != "auto") {
        parameters.insert("aspectRatio".to_owned(), ratio(&size)?.into());
    }
    if let Some(seed) = members.read::<u64>("seed", "a positive integer")? {
        parameters.insert("seed".to_owned(), seed.into());
    }
    for (name, raw) in members.foreign().filter(|(name, _)| !OPENAI.contains(name)) {
        parameters.insert(name.to_owned(), chat::value(raw)?);
    }
    let mut body = Map::new();
    body.insert("instances".to_owned(), json!([{ "prompt": prompt }]));
    body.insert("parameters".to_owned(), parameters.into());
    let reply = Reply::Translated(Box::new(Pictures { created: encode.options.created }));
    Ok(Encoded { body: chat::written(encode, body), reply, strip_usage: false })
}

/// The nearest shape to a size of `WIDTHxHEIGHT`; a shape as it is.
fn ratio(size: &str) -> Result<&'static str, Refusal> {
    let sides = size
        .split_once(['x', ':'])
        .and_then(|(width, height)| Some((width.parse::<u32>().ok()?, height.parse::<u32>().ok()?)))
        .filter(|(width, height)| *width > 0 && *height > 0)
        .ok_or_else(|| Refusal::invalid("size", "size must be WIDTHxHEIGHT in pixels"))?;
    let wanted = (f64::from(sides.0) / f64::from(sides.1)).ln();
    let distance = |shape: &(u32, u32, &str)| ((f64::from(shape.0) / f64::from(shape.1)).ln() - wanted).abs();
    let nearest = RATIOS.iter().min_by(|one, other| distance(one).total_cmp(&distance(other)));
    Ok(nearest.map_or("1:1", |(_, _, name)| name))
}

/// Reads the pictures. Filtered ones are missing; why is kept beside the list.
#[derive(Debug)]
pub(super) struct Pictures {
    pub(super) created: u64,
}

impl Translator for Pictures {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Map<String, Value> = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        let list = answer.get("predictions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut reasons = Vec::new();
        let mut data = Vec::new();
        for prediction in list {
            if let Some(bytes) = prediction.get("bytesBase64Encoded").filter(|bytes| bytes.is_string()) {
                data.push(json!({ "b64_json": bytes }));
            }
            if let Some(reason) = prediction.get("raiFilteredReason").and_then(Value::as_str) {
                reasons.push(format!("filtered: {reason}"));
            }
        }
        if data.is_empty() && reasons.is_empty() {
            reasons.push("no_image".to_owned());
        }
        let mut whole = Map::new();
        whole.insert("created".to_owned(), self.created.into());
        whole.insert("data".to_owned(), data.into());
        if !reasons.is_empty() {
            whole.insert("finish_reasons".to_owned(), reasons.into());
        }
        Ok(Value::Object(whole).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("images are not streamed".to_owned())
    }
}
