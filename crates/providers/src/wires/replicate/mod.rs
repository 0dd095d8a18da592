//! Replicate's predictions: chats, completions and images as the `input` of a model, and a job that is asked for until
//! it ends.
//!
//! A prediction is waited for (`Prefer: wait`) as long as Replicate keeps the connection; a colder model is asked for
//! again. There are no streams on this wire: a client that wants one gets the whole answer as events.

mod input;

use bytes::Bytes;
use http::Uri;
use serde::Deserialize;
use serde_json::{Value, json};

use super::chat::{Counts, completion, message, wrong};
use super::{Encode, chat, follow};
use crate::objects::segment;
use crate::target::Encoded;
use crate::{Follow, Operation, Progress, Refusal, Reply, Step, Translator, Untranslatable};

/// How the wire is called in refusals.
const NAME: &str = "Replicate";

/// Where predictions of a model are made: by its name, by a version, or by a deployment.
pub(crate) fn path(model: &str) -> &'static str {
    if model.contains(':') {
        "/predictions"
    } else if model.starts_with("deployments/") {
        "/{model}/predictions"
    } else {
        "/models/{model}/predictions"
    }
}

/// The provider's body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    let kind = Kind::of(encode.operation)
        .ok_or_else(|| Refusal::unsupported(encode.target.provider.id, encode.operation))?;
    let body = input::translate(encode, kind, model)?;
    let reader = Reader {
        kind,
        created: encode.options.created,
        model: model.to_owned(),
        base: encode.target.api_base.clone(),
        looks: 0,
    };
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: false,
    })
}

/// Reads the answers to `operation`.
pub(super) fn translator(operation: Operation, created: u64) -> Box<dyn Translator> {
    let kind = Kind::of(operation).unwrap_or(Kind::Chat);
    Box::new(Reader { kind, created, model: String::new(), base: String::new(), looks: 0 })
}

/// What a prediction is made into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Chat,
    Text,
    Images,
}

impl Kind {
    fn of(operation: Operation) -> Option<Self> {
        const KINDS: [(Operation, Kind); 3] = [
            (Operation::Chat, Kind::Chat),
            (Operation::Completions, Kind::Text),
            (Operation::Images, Kind::Images),
        ];
        KINDS.iter().find(|(served, _)| *served == operation).map(|(_, kind)| *kind)
    }
}

#[derive(Debug)]
struct Reader {
    kind: Kind,
    created: u64,
    model: String,
    /// Where predictions are asked for: never at an address out of an answer, for the credential goes there.
    base: String,
    looks: usize,
}

#[derive(Deserialize)]
struct Prediction {
    id: String,
    status: String,
    #[serde(default)]
    output: Value,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    metrics: Metrics,
}

#[derive(Default, Deserialize)]
struct Metrics {
    #[serde(default)]
    input_token_count: Option<u64>,
    #[serde(default)]
    output_token_count: Option<u64>,
}

impl Reader {
    fn read(&self, body: &[u8]) -> Result<Prediction, Untranslatable> {
        serde_json::from_slice(body).map_err(|error| wrong(&error))
    }

    fn finished(&self, prediction: &Prediction) -> Result<Bytes, Untranslatable> {
        let counts = Counts {
            prompt: prediction.metrics.input_token_count.unwrap_or(0),
            completion: prediction.metrics.output_token_count.unwrap_or(0),
            cached: None,
            reasoning: None,
        };
        let id = &prediction.id;
        match self.kind {
            Kind::Chat => {
                let said = message(text(&prediction.output)?, String::new(), Vec::new());
                let choice = json!({ "index": 0, "message": said, "finish_reason": "stop" });
                Ok(completion(&format!("chatcmpl-{id}"), self.created, &self.model, vec![choice], &counts))
            }
            Kind::Text => {
                let said = text(&prediction.output)?;
                let whole = json!({
                    "id": format!("cmpl-{id}"),
                    "object": "text_completion",
                    "created": self.created,
                    "model": self.model,
                    "choices": [{ "index": 0, "text": said, "logprobs": null, "finish_reason": "stop" }],
                    "usage": counts.usage(),
                });
                Ok(whole.to_string().into())
            }
            Kind::Images => {
                let data: Vec<Value> = urls(&prediction.output).map(|url| json!({ "url": url })).collect();
                Ok(json!({ "created": self.created, "data": data }).to_string().into())
            }
        }
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        match self.progress(body)? {
            Progress::Done(answer) => Ok(answer),
            Progress::Again(_) | Progress::Fetch(_) | Progress::Refused(_) => {
                Err(Untranslatable("the prediction has not ended".to_owned()))
            }
        }
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a prediction is not streamed".to_owned())
    }

    fn continues(&self) -> bool {
        true
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn progress(&mut self, body: &[u8]) -> Result<Progress, Untranslatable> {
        let prediction = self.read(body)?;
        match prediction.status.as_str() {
            "succeeded" => self.finished(&prediction).map(Progress::Done),
            "starting" | "processing" => {
                let id = segment(&prediction.id).map_err(|refusal| Untranslatable(refusal.message))?;
                let uri: Result<Uri, _> = format!("{}/predictions/{id}", self.base).parse();
                let uri = uri.map_err(|error| Untranslatable(error.to_string()))?;
                let wait = follow::wait(self.looks);
                self.looks += 1;
                Ok(Progress::Again(Follow { uri, wait, credential: true }))
            }
            "failed" | "canceled" => {
                let said = prediction.error.as_str().unwrap_or("no reason is given");
                Err(Untranslatable(format!("the prediction {}: {said}", prediction.status)))
            }
            _ => Err(Untranslatable("the prediction's status is not known".to_owned())),
        }
    }
}

/// A text, or the pieces of one.
fn text(output: &Value) -> Result<String, Untranslatable> {
    match output {
        Value::String(text) => Ok(text.clone()),
        Value::Array(pieces) => Ok(pieces.iter().filter_map(Value::as_str).collect()),
        Value::Null => Ok(String::new()),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(Untranslatable("the output is no text".to_owned()))
        }
    }
}

/// One address, or a list of them.
fn urls(output: &Value) -> impl Iterator<Item = &str> {
    let list = output.as_array().map_or(std::slice::from_ref(output), Vec::as_slice);
    list.iter().filter_map(Value::as_str)
}
