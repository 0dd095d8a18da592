//! Ollama's own API: chat, completions and embeddings, translated both ways. Streams are lines of JSON.

mod answer;
mod generate;
mod messages;
mod request;

use serde_json::{Map, Value};

use super::members::Members;
use super::vectors::{self, Place, Vectors};
use super::{Encode, chat};
use crate::target::Encoded;
use crate::{Operation, Refusal, Reply, Translator};

use answer::Reader;
use generate::Generated;

/// The wire's name in messages to callers.
const NAME: &str = "Ollama";

/// Where the vectors of `/api/embed` are.
const VECTORS: Place = Place { lists: &["/embeddings"], vector: "", tokens: "/prompt_eval_count" };

/// The provider's body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    let created = encode.options.created;
    let (body, reader): (_, Box<dyn Translator>) = match encode.operation {
        Operation::Embeddings => return embed(encode, model),
        Operation::Completions => {
            (generate::translate(encode, model)?, Box::new(Generated::new(created, model)))
        }
        Operation::Chat
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Rerank
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime => (request::translate(encode, model)?, Box::new(Reader::new(created, model))),
    };
    Ok(Encoded {
        body,
        reply: Reply::Translated(reader),
        strip_usage: encode.options.stream && !chat::wants_usage(encode),
    })
}

/// Reads the answers to `operation`.
pub(super) fn translator(operation: Operation, created: u64) -> Box<dyn Translator> {
    match operation {
        Operation::Embeddings => Box::new(Vectors { place: VECTORS, model: String::new(), base64: false }),
        Operation::Completions => Box::new(Generated::new(created, "")),
        Operation::Chat
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Rerank
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

fn embed(encode: &Encode<'_>, model: &str) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let asked = vectors::asked(&members, NAME)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("input".to_owned(), asked.inputs.into());
    if let Some(dimensions) = asked.dimensions {
        body.insert("dimensions".to_owned(), dimensions.into());
    }
    let mut options = Map::new();
    put_own(&mut body, &mut options, &members, &["input", "dimensions", "encoding_format", "input_type"])?;
    if !options.is_empty() {
        body.insert("options".to_owned(), options.into());
    }
    let reader = Vectors { place: VECTORS, model: model.to_owned(), base64: asked.base64 };
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: false,
    })
}

/// Ollama's own members, but for `known`: options of the model go where options are, the rest stands beside them.
fn put_own(
    body: &mut Map<String, Value>,
    options: &mut Map<String, Value>,
    members: &Members<'_>,
    known: &[&str],
) -> Result<(), Refusal> {
    for (name, raw) in members.foreign().filter(|(name, _)| !known.contains(name)) {
        let value = chat::value(raw)?;
        match (name, value) {
            ("options", Value::Object(own)) => options.extend(own),
            ("options", _) => return Err(Refusal::invalid("options", "options must be an object")),
            (name, value) if is_option(name) => {
                options.insert(name.to_owned(), value);
            }
            (name, value) => {
                body.insert(name.to_owned(), value);
            }
        }
    }
    Ok(())
}

/// The names of a model's options (Ollama's reference of `PARAMETER` and its API) that are not OpenAI's, too.
fn is_option(name: &str) -> bool {
    matches!(
        name,
        "num_ctx"
            | "num_predict"
            | "num_keep"
            | "num_batch"
            | "num_gpu"
            | "main_gpu"
            | "num_thread"
            | "num_gqa"
            | "use_mmap"
            | "use_mlock"
            | "numa"
            | "low_vram"
    ) || matches!(
        name,
        "top_k"
            | "min_p"
            | "tfs_z"
            | "typical_p"
            | "repeat_last_n"
            | "repeat_penalty"
            | "penalize_newline"
            | "mirostat"
            | "mirostat_eta"
            | "mirostat_tau"
    )
}
