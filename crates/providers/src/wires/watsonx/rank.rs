//! Rankings.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{OWN, identity};
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::{Encode, chat as words};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// IBM's body for a ranking in Cohere's shape.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let query = members.text("query")?.ok_or_else(|| Refusal::invalid("query", "query is missing"))?;
    let documents: Vec<Value> = members
        .read("documents", "a list")?
        .filter(|documents: &Vec<Value>| !documents.is_empty())
        .ok_or_else(|| Refusal::invalid("documents", "documents is missing or empty"))?;
    let mut inputs = Vec::with_capacity(documents.len());
    for (index, document) in documents.iter().enumerate() {
        let text = document.as_str().or_else(|| document.get("text").and_then(Value::as_str));
        let Some(text) = text else {
            let message = "a document must be a string or an object with a text";
            return Err(Refusal::untranslatable(format!("documents[{index}]"), message));
        };
        inputs.push(json!({ "text": text }));
    }
    let mut options = Map::new();
    if let Some(top) = members.read::<u64>("top_n", "a positive integer")? {
        options.insert("top_n".to_owned(), top.into());
    }
    if members.read::<bool>("return_documents", "true or false")? == Some(true) {
        options.insert("inputs".to_owned(), true.into());
    }
    let mut parameters = Map::new();
    if !options.is_empty() {
        parameters.insert("return_options".to_owned(), options.into());
    }
    for (name, raw) in members.foreign() {
        let known = matches!(name, "query" | "documents" | "top_n" | "return_documents");
        if !known && !OWN.contains(&name) {
            parameters.insert(name.to_owned(), words::value(raw)?);
        }
    }
    let mut body = identity(encode, &members)?;
    body.insert("query".to_owned(), query.into());
    body.insert("inputs".to_owned(), inputs.into());
    if !parameters.is_empty() {
        body.insert("parameters".to_owned(), parameters.into());
    }
    Ok(Encoded {
        body: words::written(encode, body),
        reply: Reply::Translated(Box::new(Ranking)),
        strip_usage: false,
    })
}

/// Reads rankings.
#[derive(Debug)]
pub(super) struct Ranking;

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    results: Vec<Row<'a>>,
    #[serde(default)]
    input_token_count: u64,
}

#[derive(Deserialize)]
struct Row<'a> {
    index: u64,
    #[serde(borrow)]
    score: &'a RawValue,
    #[serde(default)]
    input: Option<Value>,
}

impl Translator for Ranking {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer<'_> = serde_json::from_slice(body).map_err(|error| words::wrong(&error))?;
        let results: Vec<Value> = answer
            .results
            .iter()
            .map(|row| {
                let mut result = Map::new();
                result.insert("index".to_owned(), row.index.into());
                let score = serde_json::from_str(row.score.get()).unwrap_or(Value::Null);
                result.insert("relevance_score".to_owned(), score);
                if let Some(input) = &row.input {
                    let document =
                        if let Value::String(text) = input { json!({ "text": text }) } else { input.clone() };
                    result.insert("document".to_owned(), document);
                }
                Value::Object(result)
            })
            .collect();
        let meta = json!({ "billed_units": { "total_tokens": answer.input_token_count } });
        Ok(json!({ "id": null, "results": results, "meta": meta }).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a ranking is not streamed".to_owned())
    }
}
