//! Text generation, as a completion.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{NAME, OWN, identity};
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::{Encode, chat as words};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// OpenAI's members of a completion that are translated, or have no counterpart.
const OPENAI: [&str; 6] = ["prompt", "suffix", "echo", "best_of", "parameters", "moderations"];

/// The body: a prompt and its parameters.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    words::refuse_unsayable(encode, &members, NAME, &["n", "logit_bias", "suffix"])?;
    let prompt = members
        .text("prompt")
        .map_err(|_| Refusal::untranslatable("prompt", "watsonx takes one prompt, as a string"))?
        .ok_or_else(|| Refusal::invalid("prompt", "prompt is missing"))?;
    let mut parameters = Map::new();
    if let Some(cap) = words::cap(&members)? {
        parameters.insert("max_new_tokens".to_owned(), cap.into());
    }
    for (name, as_name) in [
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("top_k", "top_k"),
        ("seed", "random_seed"),
        ("frequency_penalty", "repetition_penalty"),
    ] {
        words::put_number(&mut parameters, &members, name, as_name)?;
    }
    if parameters.contains_key("temperature") || parameters.contains_key("top_p") {
        // Without it the model is greedy, and reads neither.
        parameters.insert("decoding_method".to_owned(), "sample".into());
    }
    if let Some(stop) = words::stops(&members)? {
        parameters.insert("stop_sequences".to_owned(), stop.into());
    }
    for (name, raw) in members.foreign() {
        if name != "top_k" && !OPENAI.contains(&name) && !OWN.contains(&name) {
            parameters.insert(name.to_owned(), words::value(raw)?);
        }
    }
    if let Some(Value::Object(own)) = members.get("parameters").map(words::value).transpose()? {
        parameters.extend(own);
    }
    let mut body = identity(encode, &members)?;
    body.insert("input".to_owned(), prompt.into());
    if !parameters.is_empty() {
        body.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(raw) = members.get("moderations") {
        body.insert("moderations".to_owned(), words::value(raw)?);
    }
    let model = encode.model.unwrap_or(&encode.target.wire_model).to_owned();
    Ok(Encoded {
        body: words::written(encode, body),
        reply: Reply::Translated(Box::new(Reader::new(encode.options.created, model))),
        strip_usage: encode.options.stream && !words::wants_usage(encode),
    })
}

/// Reads one answer, whole or streamed.
#[derive(Debug)]
pub(super) struct Reader {
    created: u64,
    model: String,
    read: u64,
    over: bool,
}

#[derive(Deserialize)]
struct Answer {
    results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    generated_text: String,
    #[serde(default)]
    generated_token_count: u64,
    #[serde(default)]
    input_token_count: u64,
    #[serde(default)]
    stop_reason: Option<String>,
}

impl Row {
    /// OpenAI's word for why the text ended; `None` while it goes on.
    fn finish(&self) -> Option<&'static str> {
        match self.stop_reason.as_deref()? {
            "" | "not_finished" => None,
            "max_tokens" | "token_limit" | "time_limit" => Some("length"),
            _ => Some("stop"),
        }
    }
}

impl Reader {
    pub(super) const fn new(created: u64, model: String) -> Self {
        Self { created, model, read: 0, over: false }
    }

    fn head(&self) -> Map<String, Value> {
        let mut head = Map::new();
        head.insert("id".to_owned(), format!("cmpl-{}", self.created).into());
        head.insert("object".to_owned(), "text_completion".into());
        head.insert("created".to_owned(), self.created.into());
        head.insert("model".to_owned(), self.model.as_str().into());
        head
    }
}

fn usage(read: u64, written: u64) -> Value {
    json!({ "prompt_tokens": read, "completion_tokens": written, "total_tokens": read.saturating_add(written) })
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer = serde_json::from_slice(body).map_err(|error| words::wrong(&error))?;
        let choices: Vec<Value> = answer
            .results
            .iter()
            .enumerate()
            .map(|(index, row)| {
                let finish = row.finish().unwrap_or("stop");
                json!({ "index": index, "text": row.generated_text, "logprobs": null, "finish_reason": finish })
            })
            .collect();
        if choices.is_empty() {
            return Err(Untranslatable("there are no results".to_owned()));
        }
        let sum = |count: fn(&Row) -> u64| answer.results.iter().map(count).fold(0, u64::saturating_add);
        let mut whole = self.head();
        whole.insert("choices".to_owned(), choices.into());
        let counts = usage(sum(|row| row.input_token_count), sum(|row| row.generated_token_count));
        whole.insert("usage".to_owned(), counts);
        Ok(Value::Object(whole).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        if self.over || data.is_empty() {
            return Step::More;
        }
        let answer: Value = match serde_json::from_slice(data) {
            Ok(answer) => answer,
            Err(error) => return Step::Malformed(error.to_string()),
        };
        if answer.get("errors").is_some() || answer.get("error").is_some() {
            return Step::Failed(Bytes::copy_from_slice(data));
        }
        let answer: Answer = match serde_json::from_value(answer) {
            Ok(answer) => answer,
            Err(error) => return Step::Malformed(error.to_string()),
        };
        let Some(row) = answer.results.first() else { return Step::More };
        self.read = self.read.max(row.input_token_count);
        let finish = row.finish();
        let mut chunk = self.head();
        let choice =
            json!({ "index": 0, "text": row.generated_text, "logprobs": null, "finish_reason": finish });
        chunk.insert("choices".to_owned(), json!([choice]));
        chunks.push(Value::Object(chunk).to_string().into());
        if finish.is_none() {
            return Step::More;
        }
        self.over = true;
        let mut last = self.head();
        last.insert("choices".to_owned(), json!([]));
        last.insert("usage".to_owned(), usage(self.read, row.generated_token_count));
        chunks.push(Value::Object(last).to_string().into());
        Step::Done
    }
}
