//! Embeddings by InvokeModel: the bodies are the maker's, Amazon's or Cohere's.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{WIRE, model};
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::vectors::{self, Place, Vectors};
use crate::wires::{Encode, chat};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// The maker's body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let asked = vectors::asked(&members, WIRE)?;
    let model = model(encode);
    let mut body = Map::new();
    if model.contains("cohere.") {
        body.insert("texts".to_owned(), asked.inputs.into());
        body.insert("input_type".to_owned(), "search_document".into());
        if let Some(dimensions) = asked.dimensions {
            body.insert("output_dimension".to_owned(), dimensions.into());
        }
    } else if model.contains("titan") {
        let [only] = asked.inputs.as_slice() else {
            return Err(Refusal::untranslatable("input", "Titan embeds one text per call: send one input"));
        };
        body.insert("inputText".to_owned(), only.as_str().into());
        if let Some(dimensions) = asked.dimensions {
            body.insert("dimensions".to_owned(), dimensions.into());
        }
    } else {
        let message = "Bedrock's embeddings are spoken for Amazon Titan and Cohere models, and the model's id names neither";
        return Err(Refusal::untranslatable("model", message));
    }
    vectors::put_foreign(&mut body, &members, &["model_id"])?;
    let reader = Embedded::new(model.to_owned(), asked.base64);
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: false,
    })
}

/// Reads the answers of either maker.
#[derive(Debug)]
pub(super) struct Embedded(Vectors);

impl Embedded {
    pub(super) fn new(model: String, base64: bool) -> Self {
        let place = Place {
            lists: &["/embeddings/float", "/embeddings"],
            vector: "",
            tokens: "/inputTextTokenCount",
        };
        Self(Vectors { place, model, base64 })
    }
}

impl Translator for Embedded {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let mut answer: Map<String, Value> =
            serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        // Titan answers with the one vector.
        if let Some(vector) = answer.remove("embedding") {
            answer.insert("embeddings".to_owned(), json!([vector]));
            return self.0.answer(Value::Object(answer).to_string().as_bytes());
        }
        self.0.answer(body)
    }

    fn event(&mut self, event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.0.event(event, data, chunks)
    }
}
