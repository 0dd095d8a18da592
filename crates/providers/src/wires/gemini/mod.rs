//! Gemini `generateContent`, with an API key or on Vertex AI: chat completions, pictures, speech,
//! transcriptions and embeddings, translated both ways.

mod answer;
mod contents;
mod family;
pub(crate) mod live;
mod pictures;
mod request;
pub(crate) mod speech;
mod stream;
mod transcription;

use serde_json::{Map, Value, json};

use super::members::Members;
use super::vectors::{self, Place, Vectors};
use super::{Encode, chat};
use crate::target::Encoded;
use crate::{Operation, Refusal, Reply, Translator};

use answer::Reader;

/// The wire's name in messages to callers.
const NAME: &str = "Gemini";

/// Where the vectors of `batchEmbedContents` (and of `embedContent`) are.
const VECTORS: Place =
    Place { lists: &["/embeddings"], vector: "/values", tokens: "/usageMetadata/promptTokenCount" };

/// The provider's body for a chat completion or for embeddings.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    match encode.operation {
        Operation::Embeddings => return embed(encode),
        Operation::Images => return pictures::encode(encode),
        Operation::Speech => return speech::encode(encode),
        Operation::Transcriptions => return transcription::encode(encode),
        Operation::Chat
        | Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Rerank
        | Operation::Ocr
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime
        | Operation::Files
        | Operation::Batches
        | Operation::Videos => {}
    }
    let request = request::translate(encode)?;
    Ok(Encoded {
        body: request.body,
        reply: Reply::Translated(Box::new(Reader::new(encode.options.created, request.choices))),
        strip_usage: encode.options.stream && !chat::wants_usage(encode),
    })
}

/// Reads the answers to `operation`.
pub(super) fn translator(operation: Operation, created: u64) -> Box<dyn Translator> {
    if operation == Operation::Embeddings {
        return Box::new(Vectors { place: VECTORS, model: String::new(), base64: false });
    }
    if operation == Operation::Images {
        return Box::new(pictures::Pictures { created });
    }
    if operation == Operation::Transcriptions {
        return Box::new(transcription::Heard::as_json());
    }
    if operation == Operation::Speech {
        return Box::new(speech::Sound { bare: false });
    }
    Box::new(Reader::new(created, 1))
}

/// The batch form, also for one text: it is the one whose answer is a list.
fn embed(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let asked = vectors::asked(&members, NAME)?;
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    let mut own = Map::new();
    if let Some(dimensions) = asked.dimensions {
        own.insert("outputDimensionality".to_owned(), dimensions.into());
    }
    for name in ["taskType", "task_type", "input_type"] {
        if let Some(kind) = members.text(name)? {
            own.insert("taskType".to_owned(), task(&kind).into());
            break;
        }
    }
    vectors::put_foreign(&mut own, &members, &["taskType", "task_type", "input_type"])?;
    let requests: Vec<Value> = asked
        .inputs
        .iter()
        .map(|text| {
            let mut request = Map::new();
            request.insert("model".to_owned(), format!("models/{model}").into());
            request.insert("content".to_owned(), json!({ "parts": [{ "text": text }] }));
            request.extend(own.clone());
            Value::Object(request)
        })
        .collect();
    let mut body = Map::new();
    body.insert("requests".to_owned(), requests.into());
    let reader = Vectors { place: VECTORS, model: model.to_owned(), base64: asked.base64 };
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: false,
    })
}

/// Google's name for what a text is embedded for.
pub(super) fn task(kind: &str) -> String {
    match kind {
        "query" | "search_query" => "RETRIEVAL_QUERY".to_owned(),
        "passage" | "document" | "search_document" => "RETRIEVAL_DOCUMENT".to_owned(),
        kind => kind.to_ascii_uppercase(),
    }
}
