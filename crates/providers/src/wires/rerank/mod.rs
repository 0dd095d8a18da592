//! Rerank on the wires that are not Cohere's: Voyage, which names the same things otherwise, and NVIDIA NIM,
//! which nests them.

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::Change;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Encode, openai};
use crate::registry::Wire;
use crate::target::Encoded;
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// Voyage: `top_n` is `top_k`, the results are under `data`.
pub(super) fn voyage(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let mut changes = Vec::with_capacity(8);
    openai::patch(encode, &mut changes);
    if let Some(top) = encode.body.get("top_n") {
        changes.push(Change::Remove("top_n"));
        changes.push(Change::Set("top_k", Cow::Borrowed(top.get().as_bytes())));
    }
    Ok(encoded(encode.body.patched(&changes), Wire::VoyageRerank))
}

/// NIM: `{model, query:{text}, passages:[{text}]}`.
pub(super) fn nim(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let query =
        encode.body.str("query").ok_or_else(|| Refusal::untranslatable("query", "query must be a string"))?;
    let documents = encode.body.get("documents").map_or("null", |documents| documents.get());
    let documents: Vec<Value> = serde_json::from_str(documents)
        .map_err(|_| Refusal::untranslatable("documents", "documents must be a list"))?;
    let mut passages = Vec::with_capacity(documents.len());
    for (index, document) in documents.iter().enumerate() {
        let text =
            document.as_str().or_else(|| document.get("text").and_then(Value::as_str)).ok_or_else(|| {
                Refusal::untranslatable(
                    format!("documents[{index}]"),
                    "a document must be a string or have a text",
                )
            })?;
        passages.push(json!({ "text": text }));
    }
    let mut body = Map::new();
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    body.insert("model".to_owned(), model.into());
    body.insert("query".to_owned(), json!({ "text": query }));
    body.insert("passages".to_owned(), passages.into());
    if let Some(truncate) = encode.body.str("truncate") {
        body.insert("truncate".to_owned(), truncate.into());
    }
    Ok(encoded(Value::Object(body).to_string().into(), Wire::NimRerank))
}

fn encoded(body: Bytes, wire: Wire) -> Encoded {
    Encoded { body, reply: Reply::Translated(translator(wire)), strip_usage: false }
}

/// Reads the answers of `wire`.
pub(super) fn translator(wire: Wire) -> Box<dyn Translator> {
    Box::new(Results { list: if wire == Wire::NimRerank { "rankings" } else { "data" } })
}

#[derive(Debug)]
struct Results {
    /// The member that holds the list.
    list: &'static str,
}

#[derive(Deserialize)]
struct Row<'a> {
    index: u64,
    #[serde(borrow, alias = "logit")]
    relevance_score: &'a RawValue,
    #[serde(borrow, default)]
    document: Option<&'a RawValue>,
}

impl Translator for Results {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let wrong = |what: String| Untranslatable(what);
        let answer: Map<String, Value> =
            serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
        let rows =
            answer.get(self.list).ok_or_else(|| wrong(format!("no member {:?}", self.list)))?.to_string();
        let rows: Vec<Row<'_>> = serde_json::from_str(&rows).map_err(|error| wrong(error.to_string()))?;
        let results: Vec<Value> = rows
            .iter()
            .map(|row| {
                let mut result = Map::new();
                result.insert("index".to_owned(), row.index.into());
                let score = serde_json::from_str(row.relevance_score.get()).unwrap_or(Value::Null);
                result.insert("relevance_score".to_owned(), score);
                if let Some(document) =
                    row.document.and_then(|document| serde_json::from_str(document.get()).ok())
                {
                    let document =
                        if let Value::String(text) = document { json!({ "text": text }) } else { document };
                    result.insert("document".to_owned(), document);
                }
                Value::Object(result)
            })
            .collect();
        let id = answer.get("id").cloned().unwrap_or(Value::Null);
        let tokens = answer.get("usage").and_then(|usage| usage.get("total_tokens")).cloned();
        let mut meta = Map::new();
        if let Some(tokens) = tokens {
            meta.insert("billed_units".to_owned(), json!({ "total_tokens": tokens }));
        }
        Ok(json!({ "id": id, "results": results, "meta": meta }).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a ranking is not streamed".to_owned())
    }
}
