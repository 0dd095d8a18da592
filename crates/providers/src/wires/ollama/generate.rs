//! A completion as a `/api/generate` request, and its answer as a completion.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::End;
use super::request::options;
use super::{NAME, put_own};
use crate::target::Purpose;
use crate::wires::Encode;
use crate::wires::chat::{self, wrong};
use crate::wires::members::Members;
use crate::{Framing, Refusal, Step, Translator, Untranslatable};

/// Translates a completion request.
pub(super) fn translate(encode: &Encode<'_>, model: &str) -> Result<Bytes, Refusal> {
    let members = Members::new(encode);
    let unsayable = ["n", "best_of", "logprobs", "logit_bias", "echo"];
    chat::refuse_unsayable(encode, &members, NAME, &unsayable)?;
    let raw = members.get("prompt").ok_or_else(|| Refusal::invalid("prompt", "prompt is missing"))?;
    let prompt = match chat::value(raw)? {
        Value::String(prompt) => Some(prompt),
        Value::Array(list) => match list.as_slice() {
            [Value::String(only)] => Some(only.clone()),
            _ => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let prompt =
        prompt.ok_or_else(|| Refusal::untranslatable("prompt", "Ollama completes one text at a time"))?;
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("prompt".to_owned(), prompt.into());
    body.insert("stream".to_owned(), encode.options.stream.into());
    if let Purpose::Probe { omit } = encode.purpose
        && !omit.iter().any(|name| name == "think")
        && members.get("think").is_none()
    {
        body.insert("think".to_owned(), if model.contains("gpt-oss") { "low".into() } else { false.into() });
    }
    let mut options = options(&members)?;
    put_own(&mut body, &mut options, &members, &["prompt", "best_of", "echo"])?;
    if !options.is_empty() {
        body.insert("options".to_owned(), options.into());
    }
    Ok(chat::written(encode, body))
}

/// Reads one answer, whole or streamed.
#[derive(Debug)]
pub(super) struct Generated {
    created: u64,
    /// The model, for answers that do not name it.
    model: String,
    over: bool,
}

impl Generated {
    pub(super) fn new(created: u64, model: &str) -> Self {
        Self { created, model: model.to_owned(), over: false }
    }

    fn completion(&self, answer: &Answer, choices: &Value) -> Map<String, Value> {
        let mut whole = Map::new();
        whole.insert("id".to_owned(), answer.end.id("cmpl").into());
        whole.insert("object".to_owned(), "text_completion".into());
        whole.insert("created".to_owned(), self.created.into());
        whole.insert("model".to_owned(), answer.end.model(&self.model).into());
        whole.insert("choices".to_owned(), choices.clone());
        whole
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    response: Option<String>,
    #[serde(flatten)]
    end: End,
}

impl Translator for Generated {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
        let text =
            answer.response.as_ref().ok_or_else(|| Untranslatable("there is no response".to_owned()))?;
        let finish = answer.end.finish_reason(false);
        let choices = json!([{ "index": 0, "text": text, "logprobs": null, "finish_reason": finish }]);
        let mut whole = self.completion(&answer, &choices);
        whole.insert("usage".to_owned(), answer.end.counts().usage());
        Ok(Value::Object(whole).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        // Blank lines say nothing, and neither does what follows the end.
        if self.over || data.is_empty() {
            return Step::More;
        }
        let answer: Answer = match serde_json::from_slice(data) {
            Ok(answer) => answer,
            Err(error) => return Step::Malformed(error.to_string()),
        };
        if answer.end.error.is_some() {
            return Step::Failed(Bytes::copy_from_slice(data));
        }
        let text = answer.response.as_deref().unwrap_or("");
        let finish = answer.end.done.then(|| answer.end.finish_reason(false));
        if !text.is_empty() || finish.is_some() {
            let choices = json!([{ "index": 0, "text": text, "logprobs": null, "finish_reason": finish }]);
            chunks.push(Value::Object(self.completion(&answer, &choices)).to_string().into());
        }
        if !answer.end.done {
            return Step::More;
        }
        self.over = true;
        let mut last = self.completion(&answer, &json!([]));
        last.insert("usage".to_owned(), answer.end.counts().usage());
        chunks.push(Value::Object(last).to_string().into());
        Step::Done
    }

    fn framing(&self) -> Framing {
        Framing::JsonLines
    }
}
