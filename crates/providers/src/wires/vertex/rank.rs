//! Rankings by Google's ranking service, which knows documents by a name that it is given.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::model;
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::{Encode, chat};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// The service's body for a ranking in Cohere's shape.
pub(in crate::wires) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let query = members.text("query")?.ok_or_else(|| Refusal::invalid("query", "query is missing"))?;
    let documents: Vec<Value> = members
        .read("documents", "a list")?
        .filter(|documents: &Vec<Value>| !documents.is_empty())
        .ok_or_else(|| Refusal::invalid("documents", "documents is missing or empty"))?;
    let mut records = Vec::with_capacity(documents.len());
    for (index, document) in documents.iter().enumerate() {
        let text = document.as_str().or_else(|| document.get("text").and_then(Value::as_str));
        let Some(text) = text else {
            let message = "a document must be a string or an object with a text";
            return Err(Refusal::untranslatable(format!("documents[{index}]"), message));
        };
        let mut record = Map::new();
        record.insert("id".to_owned(), index.to_string().into());
        if let Some(title) = document.get("title") {
            record.insert("title".to_owned(), title.clone());
        }
        record.insert("content".to_owned(), text.into());
        records.push(Value::Object(record));
    }
    let returned = members.read::<bool>("return_documents", "true or false")?.unwrap_or(false);
    let mut body = Map::new();
    body.insert("model".to_owned(), model(encode).into());
    body.insert("query".to_owned(), query.into());
    body.insert("records".to_owned(), records.into());
    if let Some(top) = members.read::<u64>("top_n", "a positive integer")? {
        body.insert("topN".to_owned(), top.into());
    }
    body.insert("ignoreRecordDetailsInResponse".to_owned(), true.into());
    for (name, raw) in members.foreign() {
        if !matches!(name, "query" | "documents" | "top_n" | "return_documents") {
            body.insert(name.to_owned(), chat::value(raw)?);
        }
    }
    let documents = if returned { documents } else { Vec::new() };
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(Ranking { documents })),
        strip_usage: false,
    })
}

/// Reads rankings.
#[derive(Debug)]
pub(super) struct Ranking {
    /// The documents, when the client wants them back.
    pub(super) documents: Vec<Value>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    records: Vec<Row<'a>>,
}

#[derive(Deserialize)]
struct Row<'a> {
    id: String,
    #[serde(borrow)]
    score: &'a RawValue,
}

impl Translator for Ranking {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer<'_> = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        let mut results = Vec::with_capacity(answer.records.len());
        for row in &answer.records {
            let index: usize = row
                .id
                .parse()
                .map_err(|_| Untranslatable("a record has an id that was not given".to_owned()))?;
            let mut result = Map::new();
            result.insert("index".to_owned(), index.into());
            result.insert(
                "relevance_score".to_owned(),
                serde_json::from_str(row.score.get()).unwrap_or(Value::Null),
            );
            if let Some(document) = self.documents.get(index) {
                let document = match document {
                    Value::String(text) => json!({ "text": text }),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                        document.clone()
                    }
                };
                result.insert("document".to_owned(), document);
            }
            results.push(Value::Object(result));
        }
        Ok(json!({ "id": null, "results": results, "meta": {} }).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a ranking is not streamed".to_owned())
    }
}
