//! Rankings by the agent runtime.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::model;
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::{Encode, chat};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// The agent runtime's body for a ranking in Cohere's shape.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let query = members.text("query")?.ok_or_else(|| Refusal::invalid("query", "query is missing"))?;
    let documents: Vec<Value> = members
        .read("documents", "a list")?
        .filter(|documents: &Vec<Value>| !documents.is_empty())
        .ok_or_else(|| Refusal::invalid("documents", "documents is missing or empty"))?;
    let mut sources = Vec::with_capacity(documents.len());
    for (index, document) in documents.into_iter().enumerate() {
        let text = document.as_str().or_else(|| document.get("text").and_then(Value::as_str));
        let source = match (text, &document) {
            (Some(text), _) => json!({ "type": "TEXT", "textDocument": { "text": text } }),
            (None, Value::Object(_)) => json!({ "type": "JSON", "jsonDocument": document }),
            (None, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                let message = "a document must be a string or an object";
                return Err(Refusal::untranslatable(format!("documents[{index}]"), message));
            }
        };
        sources.push(json!({ "type": "INLINE", "inlineDocumentSource": source }));
    }
    let mut asked = Map::new();
    if let Some(top) = members.read::<u64>("top_n", "a positive integer")? {
        asked.insert("numberOfResults".to_owned(), top.into());
    }
    let mut chosen = Map::new();
    chosen.insert("modelArn".to_owned(), arn(encode).into());
    let own: Map<String, Value> = members
        .foreign()
        .filter(|(name, _)| {
            !matches!(*name, "query" | "documents" | "top_n" | "return_documents" | "model_id")
        })
        .map(|(name, raw)| Ok((name.to_owned(), chat::value(raw)?)))
        .collect::<Result<_, Refusal>>()?;
    if !own.is_empty() {
        chosen.insert("additionalModelRequestFields".to_owned(), own.into());
    }
    asked.insert("modelConfiguration".to_owned(), chosen.into());
    let mut body = Map::new();
    body.insert("queries".to_owned(), json!([{ "type": "TEXT", "textQuery": { "text": query } }]));
    body.insert("sources".to_owned(), sources.into());
    let configuration = json!({ "type": "BEDROCK_RERANKING_MODEL", "bedrockRerankingConfiguration": asked });
    body.insert("rerankingConfiguration".to_owned(), configuration);
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(Ranking)),
        strip_usage: false,
    })
}

/// The runtime wants an ARN; an id is a foundation model of the region.
fn arn(encode: &Encode<'_>) -> String {
    let model = model(encode);
    if model.starts_with("arn:") {
        return model.to_owned();
    }
    let region = encode.target.region.as_deref().unwrap_or_default();
    format!("arn:aws:bedrock:{region}::foundation-model/{model}")
}

/// Reads rankings.
#[derive(Debug)]
pub(super) struct Ranking;

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    results: Vec<Row<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    index: u64,
    #[serde(borrow)]
    relevance_score: &'a RawValue,
}

impl Translator for Ranking {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer<'_> = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        let rows: Vec<String> = answer
            .results
            .iter()
            .map(|row| {
                format!(r#"{{"index":{},"relevance_score":{}}}"#, row.index, row.relevance_score.get())
            })
            .collect();
        Ok(format!(r#"{{"id":null,"results":[{}],"meta":{{}}}}"#, rows.join(",")).into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a ranking is not streamed".to_owned())
    }
}
