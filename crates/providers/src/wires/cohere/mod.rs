//! Cohere v2: chat completions and embeddings, translated both ways; rerank is what clients speak, but for
//! documents that are objects.

mod answer;
mod messages;
mod request;
mod stream;

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::Change;
use serde_json::{Map, Value, json};

use super::members::Members;
use super::vectors::{self, Place, Vectors};
use super::{Encode, chat, openai};
use crate::target::Encoded;
use crate::{Operation, Refusal, Reply, Step, Translator, Untranslatable};

use answer::Reader;

/// The wire's name in messages to callers.
const NAME: &str = "Cohere";

/// Where the vectors of `embed` are; without `embedding_types` they stand in `embeddings` itself.
const VECTORS: Place = Place {
    lists: &["/embeddings/float", "/embeddings"],
    vector: "",
    tokens: "/meta/billed_units/input_tokens",
};

/// The provider's body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    match encode.operation {
        Operation::Embeddings => embed(encode),
        Operation::Rerank => rerank(encode),
        Operation::Ocr | Operation::Files | Operation::Batches | Operation::Videos => {
            Err(Refusal::unsupported(encode.target.provider.id, encode.operation))
        }
        Operation::Chat
        | Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime => {
            let model = encode.model.unwrap_or(&encode.target.wire_model);
            Ok(Encoded {
                body: request::translate(encode, model)?,
                reply: Reply::Translated(Box::new(Reader::new(encode.options.created, model))),
                strip_usage: encode.options.stream && !chat::wants_usage(encode),
            })
        }
    }
}

/// Reads the answers to `operation`.
pub(super) fn translator(operation: Operation, created: u64) -> Box<dyn Translator> {
    match operation {
        Operation::Embeddings => Box::new(Vectors { place: VECTORS, model: String::new(), base64: false }),
        Operation::Rerank => Box::new(Ranked { documents: Vec::new() }),
        Operation::Chat
        | Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime => Box::new(Reader::new(created, "")),
    }
}

fn embed(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let asked = vectors::asked(&members, NAME)?;
    if members.get("embedding_types").is_some_and(|types| types.get().replace(' ', "") != "[\"float\"]") {
        return Err(Refusal::untranslatable(
            "embedding_types",
            "embeddings are answered as floats, or as base64 by encoding_format",
        ));
    }
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    let are_images = asked.inputs.iter().all(|input| input.starts_with("data:image/"));
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert((if are_images { "images" } else { "texts" }).to_owned(), asked.inputs.into());
    // Models from v3 on refuse a body without it; the default is LiteLLM's.
    let default = if are_images { "image" } else { "search_document" };
    let kind = members.text("input_type")?.map_or_else(|| default.to_owned(), Cow::into_owned);
    body.insert("input_type".to_owned(), kind.into());
    body.insert("embedding_types".to_owned(), json!(["float"]));
    if let Some(dimensions) = asked.dimensions {
        body.insert("output_dimension".to_owned(), dimensions.into());
    }
    vectors::put_foreign(&mut body, &members, &["input_type", "embedding_types"])?;
    let reader = Vectors { place: VECTORS, model: model.to_owned(), base64: asked.base64 };
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: false,
    })
}

/// v2 ranks texts and does not give them back.
fn rerank(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let raw = encode.body.get("documents").map_or("null", |documents| documents.get());
    let documents: Vec<Value> =
        serde_json::from_str(raw).map_err(|_| Refusal::invalid("documents", "documents must be a list"))?;
    let mut texts = Vec::with_capacity(documents.len());
    for (index, document) in documents.iter().enumerate() {
        let text = document.as_str().or_else(|| document.get("text").and_then(Value::as_str));
        let text = text.ok_or_else(|| {
            let at = format!("documents[{index}]");
            Refusal::untranslatable(at, "a document must be a string or have a text")
        })?;
        texts.push(text);
    }
    let mut changes = Vec::with_capacity(8);
    openai::patch(encode, &mut changes);
    if documents.iter().any(Value::is_object) {
        let texts = Value::from(texts.as_slice()).to_string().into_bytes();
        changes.push(Change::Set("documents", Cow::Owned(texts)));
    }
    if encode.body.get("return_documents").is_some() {
        changes.push(Change::Remove("return_documents"));
    }
    let reply = if encode.body.bool("return_documents") == Some(true) {
        Reply::Translated(Box::new(Ranked { documents: texts.into_iter().map(str::to_owned).collect() }))
    } else {
        Reply::Passthrough
    };
    Ok(Encoded { body: encode.body.patched(&changes), reply, strip_usage: false })
}

/// Puts the documents back beside their scores.
#[derive(Debug)]
struct Ranked {
    documents: Vec<String>,
}

impl Translator for Ranked {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let mut answer: Value = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        for result in answer.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten() {
            let index = result.get("index").and_then(Value::as_u64).and_then(|i| usize::try_from(i).ok());
            let text = index.and_then(|index| self.documents.get(index));
            if let (Some(text), Some(result)) = (text, result.as_object_mut()) {
                result.insert("document".to_owned(), json!({ "text": text }));
            }
        }
        Ok(answer.to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a ranking is not streamed".to_owned())
    }
}
