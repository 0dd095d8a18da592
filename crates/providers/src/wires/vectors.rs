//! Embeddings on the wires that say them otherwise: what the client asks for, and the list it gets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::members::Members;
use crate::{Refusal, Step, Translator, Untranslatable};

/// What the client asks for.
#[derive(Debug)]
pub(super) struct Asked {
    /// The texts.
    pub(super) inputs: Vec<String>,
    /// The length of the vectors.
    pub(super) dimensions: Option<u64>,
    /// The vectors are wanted as base64 of little-endian `f32`s.
    pub(super) base64: bool,
}

/// Reads an embedding request, for `wire`.
pub(super) fn asked(members: &Members<'_>, wire: &str) -> Result<Asked, Refusal> {
    let raw = members.get("input").ok_or_else(|| Refusal::invalid("input", "input is missing"))?;
    let inputs = if raw.get().starts_with('"') {
        serde_json::from_str::<String>(raw.get()).map(|one| vec![one])
    } else {
        serde_json::from_str::<Vec<String>>(raw.get())
    };
    let inputs = inputs.map_err(|_| {
        Refusal::untranslatable(
            "input",
            format!("{wire} embeds texts: input must be a string or a list of them"),
        )
    })?;
    if inputs.is_empty() {
        return Err(Refusal::invalid("input", "input is empty"));
    }
    Ok(Asked {
        inputs,
        dimensions: members.read("dimensions", "a positive integer")?,
        base64: members.text("encoding_format")?.as_deref() == Some("base64"),
    })
}

/// The members that are neither OpenAI's nor among `own`: the provider's own, as they are.
pub(super) fn put_foreign(
    body: &mut Map<String, Value>,
    members: &Members<'_>,
    own: &[&str],
) -> Result<(), Refusal> {
    let known =
        |name: &str| matches!(name, "input" | "dimensions" | "encoding_format") || own.contains(&name);
    let foreign: Vec<(&str, &RawValue)> = members.foreign().filter(|(name, _)| !known(name)).collect();
    for (name, raw) in foreign {
        body.insert(name.to_owned(), super::chat::value(raw)?);
    }
    Ok(())
}

/// Where a provider puts its vectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// JSON pointers to the list, the usual one first.
    pub(super) lists: &'static [&'static str],
    /// The JSON pointer to the vector inside an entry; empty when the entry is the vector.
    pub(super) vector: &'static str,
    /// The JSON pointer to the number of tokens read.
    pub(super) tokens: &'static str,
}

/// Reads the vectors of one answer.
#[derive(Debug)]
pub(super) struct Vectors {
    /// Where they are.
    pub(super) place: Place,
    /// The model, as the client is told.
    pub(super) model: String,
    /// See [`Asked::base64`].
    pub(super) base64: bool,
}

impl Translator for Vectors {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Value =
            serde_json::from_slice(body).map_err(|error| Untranslatable(error.to_string()))?;
        let list = self.place.lists.iter().find_map(|place| answer.pointer(place)).and_then(Value::as_array);
        let list = list.ok_or_else(|| Untranslatable("there is no list of embeddings".to_owned()))?;
        let mut data = Vec::with_capacity(list.len());
        for (index, entry) in list.iter().enumerate() {
            let vector = entry
                .pointer(self.place.vector)
                .filter(|vector| vector.is_array())
                .ok_or_else(|| Untranslatable(format!("entry {index} holds no vector")))?;
            let embedding = if self.base64 { packed(vector)? } else { vector.clone() };
            data.push(json!({ "object": "embedding", "index": index, "embedding": embedding }));
        }
        let tokens = super::chat::count(&answer, self.place.tokens).unwrap_or(0);
        let whole = json!({
            "object": "list",
            "data": data,
            "model": self.model,
            "usage": { "prompt_tokens": tokens, "total_tokens": tokens },
        });
        Ok(whole.to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("embeddings are not streamed".to_owned())
    }
}

/// A vector as base64 of its little-endian `f32`s.
fn packed(vector: &Value) -> Result<Value, Untranslatable> {
    let numbers: Vec<f32> =
        serde_json::from_value(vector.clone()).map_err(|error| Untranslatable(error.to_string()))?;
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Ok(STANDARD.encode(bytes).into())
}
