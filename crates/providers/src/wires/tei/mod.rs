//! Text Embeddings Inference, and the feature extraction of Hugging Face's inference API: lists without names.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::members::Members;
use super::vectors::{self, Place, Vectors};
use super::{Encode, chat};
use crate::target::Encoded;
use crate::{Operation, Refusal, Reply, Step, Translator, Untranslatable};

/// How the wire is called in refusals.
const WIRE: &str = "Text Embeddings Inference";

/// The server's body for a client's.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    match encode.operation {
        Operation::Embeddings => embed(encode),
        Operation::Rerank => rank(encode),
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
        | Operation::Realtime => Err(Refusal::unsupported(encode.target.provider.id, encode.operation)),
    }
}

/// Reads the answers to `operation`.
pub(super) fn translator(operation: Operation) -> Box<dyn Translator> {
    if operation == Operation::Rerank {
        Box::new(Ranking { top: None })
    } else {
        Box::new(reader(String::new(), false))
    }
}

fn encoded(encode: &Encode<'_>, body: Map<String, Value>, reader: Box<dyn Translator>) -> Encoded {
    Encoded { body: chat::written(encode, body), reply: Reply::Translated(reader), strip_usage: false }
}

fn embed(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let asked = vectors::asked(&members, WIRE)?;
    let mut body = Map::new();
    body.insert("inputs".to_owned(), asked.inputs.into());
    if let Some(dimensions) = asked.dimensions {
        body.insert("dimensions".to_owned(), dimensions.into());
    }
    // OpenAI's world has input types, this server's models have prompts of their own.
    vectors::put_foreign(&mut body, &members, &["input_type"])?;
    let model = encode.model.unwrap_or(&encode.target.wire_model).to_owned();
    Ok(encoded(encode, body, Box::new(reader(model, asked.base64))))
}

/// The answer is the list of vectors. Tokens are counted in a header only.
fn reader(model: String, base64: bool) -> Vectors {
    Vectors { place: Place { lists: &[""], vector: "", tokens: "/tokens" }, model, base64 }
}

fn rank(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let query = members.text("query")?.ok_or_else(|| Refusal::invalid("query", "query is missing"))?;
    let documents: Vec<Value> = members
        .read("documents", "a list")?
        .filter(|documents: &Vec<Value>| !documents.is_empty())
        .ok_or_else(|| Refusal::invalid("documents", "documents is missing or empty"))?;
    let mut texts = Vec::with_capacity(documents.len());
    for (index, document) in documents.into_iter().enumerate() {
        match document {
            Value::String(text) => texts.push(Value::from(text)),
            Value::Object(mut members) if members.get("text").is_some_and(Value::is_string) => {
                texts.extend(members.remove("text"));
            }
            Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                let message = "a document must be a string or have a text";
                return Err(Refusal::untranslatable(format!("documents[{index}]"), message));
            }
        }
    }
    let top = members.read::<usize>("top_n", "a positive integer")?;
    let mut body = Map::new();
    body.insert("query".to_owned(), query.into());
    body.insert("texts".to_owned(), texts.into());
    if members.read::<bool>("return_documents", "true or false")? == Some(true) {
        body.insert("return_text".to_owned(), true.into());
    }
    let own = ["query", "documents", "top_n", "return_documents"];
    for (name, raw) in members.foreign().filter(|(name, _)| !own.contains(name)) {
        body.insert(name.to_owned(), chat::value(raw)?);
    }
    Ok(encoded(encode, body, Box::new(Ranking { top })))
}

/// Reads rankings. The server ranks everything: the caller's `top_n` is cut here.
#[derive(Debug)]
struct Ranking {
    top: Option<usize>,
}

#[derive(Deserialize)]
struct Row {
    index: u64,
    score: f64,
    #[serde(default)]
    text: Option<String>,
}

impl Translator for Ranking {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        // A probe's reader takes an object out of a list of one before it comes here.
        let rows = if body.trim_ascii_start().starts_with(b"{") {
            serde_json::from_slice::<Row>(body).map(|row| vec![row])
        } else {
            serde_json::from_slice::<Vec<Row>>(body)
        };
        let mut rows = rows.map_err(|error| chat::wrong(&error))?;
        rows.sort_by(|a, b| b.score.total_cmp(&a.score));
        rows.truncate(self.top.unwrap_or(usize::MAX));
        let results: Vec<Value> = rows
            .into_iter()
            .map(|row| {
                let mut result = Map::new();
                result.insert("index".to_owned(), row.index.into());
                result.insert("relevance_score".to_owned(), row.score.into());
                if let Some(text) = row.text {
                    result.insert("document".to_owned(), json!({ "text": text }));
                }
                Value::Object(result)
            })
            .collect();
        Ok(json!({ "id": null, "results": results, "meta": {} }).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a ranking is not streamed".to_owned())
    }
}
