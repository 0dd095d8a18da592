//! Embeddings on Vertex AI: `predict` for the models that embed a list, `embedContent` for those that take one content.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::model;
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::vectors::{self, Asked, Place, Vectors};
use crate::wires::{Encode, chat, gemini};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

const NAME: &str = "Vertex AI";
/// What a text is embedded for, under any of its names.
const TASK: [&str; 3] = ["task_type", "taskType", "input_type"];
/// Members of an instance, not of the parameters.
const INSTANCE: [&str; 2] = ["title", "auto_truncate"];

/// `predict`: an instance per text.
pub(in crate::wires) fn predict(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let asked = vectors::asked(&members, NAME)?;
    let multimodal = model(encode).contains("multimodalembedding");
    let task = task(&members)?;
    let title = members.text("title")?;
    let instances: Vec<Value> = asked
        .inputs
        .iter()
        .map(|text| {
            if multimodal {
                return json!({ "text": text });
            }
            let mut instance = Map::new();
            instance.insert("content".to_owned(), text.as_str().into());
            if let Some(task) = &task {
                instance.insert("task_type".to_owned(), task.as_str().into());
            }
            if let Some(title) = &title {
                instance.insert("title".to_owned(), title.as_ref().into());
            }
            Value::Object(instance)
        })
        .collect();
    let mut parameters = Map::new();
    if let Some(dimensions) = asked.dimensions {
        let name = if multimodal { "dimension" } else { "outputDimensionality" };
        parameters.insert(name.to_owned(), dimensions.into());
    }
    if let Some(truncate) = members.read::<bool>("auto_truncate", "true or false")? {
        parameters.insert("autoTruncate".to_owned(), truncate.into());
    }
    vectors::put_foreign(&mut parameters, &members, &[&TASK[..], &INSTANCE[..]].concat())?;
    let mut body = Map::new();
    body.insert("instances".to_owned(), instances.into());
    if !parameters.is_empty() {
        body.insert("parameters".to_owned(), parameters.into());
    }
    Ok(encoded(encode, body, &asked))
}

/// `embedContent`: one content per call.
pub(in crate::wires) fn content(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let asked = vectors::asked(&members, NAME)?;
    let [only] = asked.inputs.as_slice() else {
        let message = format!("{} embeds one text per call: send one input", model(encode));
        return Err(Refusal::untranslatable("input", message));
    };
    let mut body = Map::new();
    body.insert("content".to_owned(), json!({ "parts": [{ "text": only }] }));
    if let Some(task) = task(&members)? {
        body.insert("taskType".to_owned(), task.into());
    }
    if let Some(dimensions) = asked.dimensions {
        body.insert("outputDimensionality".to_owned(), dimensions.into());
    }
    vectors::put_foreign(&mut body, &members, &TASK)?;
    Ok(encoded(encode, body, &asked))
}

fn task(members: &Members<'_>) -> Result<Option<String>, Refusal> {
    for name in TASK {
        if let Some(kind) = members.text(name)? {
            return Ok(Some(gemini::task(&kind)));
        }
    }
    Ok(None)
}

fn encoded(encode: &Encode<'_>, body: Map<String, Value>, asked: &Asked) -> Encoded {
    let reader = Reader::new(model(encode).to_owned(), asked.base64);
    Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: false,
    }
}

/// Reads the vectors of either method.
#[derive(Debug)]
pub(super) struct Reader(Vectors);

impl Reader {
    pub(super) fn new(model: String, base64: bool) -> Self {
        let place = Place { lists: &["/vectors"], vector: "", tokens: "/tokens" };
        Self(Vectors { place, model, base64 })
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Value = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        let (vectors, tokens): (Vec<Value>, u64) = match answer.get("predictions").and_then(Value::as_array) {
            Some(list) => {
                let vector = |entry: &Value| {
                    let places = ["/embeddings/values", "/textEmbedding", "/imageEmbedding"];
                    places.iter().find_map(|place| entry.pointer(place)).cloned().unwrap_or(Value::Null)
                };
                let tokens =
                    |entry: &Value| chat::count(entry, "/embeddings/statistics/token_count").unwrap_or(0);
                (list.iter().map(vector).collect(), list.iter().map(tokens).sum())
            }
            None => {
                let vector = answer.pointer("/embedding/values").cloned();
                let vector = vector.ok_or_else(|| Untranslatable("there are no embeddings".to_owned()))?;
                (vec![vector], chat::count(&answer, "/usageMetadata/promptTokenCount").unwrap_or(0))
            }
        };
        self.0.answer(json!({ "vectors": vectors, "tokens": tokens }).to_string().as_bytes())
    }

    fn event(&mut self, event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.0.event(event, data, chunks)
    }
}
