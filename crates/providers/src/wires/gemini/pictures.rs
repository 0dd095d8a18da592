//! Pictures of the models that paint in a chat's answer: the prompt is a user's turn, the pictures are its parts.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::answer::Response;
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::{Encode, chat};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// OpenAI's parameters.
const OPENAI: [&str; 8] =
    ["prompt", "n", "size", "quality", "style", "response_format", "user", "background"];

/// The body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let prompt = members.text("prompt")?.ok_or_else(|| Refusal::invalid("prompt", "prompt is missing"))?;
    if members.read::<u64>("n", "a positive integer")?.is_some_and(|count| count != 1) {
        let drop = encode.options.drop_params || encode.target.defaults.drop_params;
        if !drop {
            return Err(Refusal::untranslatable(
                "n",
                "Gemini paints as many pictures as it likes: n must be 1",
            ));
        }
    }
    let mut config = Map::new();
    config.insert("responseModalities".to_owned(), json!(["TEXT", "IMAGE"]));
    let mut body = Map::new();
    body.insert("contents".to_owned(), json!([{ "role": "user", "parts": [{ "text": prompt }] }]));
    for (name, raw) in members.foreign().filter(|(name, _)| !OPENAI.contains(name)) {
        if matches!(name, "generationConfig" | "generation_config") {
            if let Value::Object(own) = chat::value(raw)? {
                config.extend(own);
            }
        } else {
            body.insert(name.to_owned(), chat::value(raw)?);
        }
    }
    body.insert("generationConfig".to_owned(), config.into());
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(Pictures { created: encode.options.created })),
        strip_usage: false,
    })
}

/// Reads the pictures of an answer.
#[derive(Debug)]
pub(super) struct Pictures {
    pub(super) created: u64,
}

impl Translator for Pictures {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let response = Response::read(body)?;
        if response.candidates.is_empty() && !response.is_blocked() {
            return Err(Untranslatable("there are no candidates".to_owned()));
        }
        let data: Vec<Value> =
            response.pictures().into_iter().map(|data| json!({ "b64_json": data })).collect();
        let mut whole = Map::new();
        whole.insert("created".to_owned(), self.created.into());
        let filtered = data.is_empty() && (response.is_blocked() || response.is_filtered());
        whole.insert("data".to_owned(), data.into());
        if filtered {
            whole.insert("finish_reasons".to_owned(), json!(["filtered"]));
        }
        if let Some(usage) = response.usage_metadata {
            let counts = usage.counts();
            let total = counts.prompt.saturating_add(counts.completion);
            let usage = json!({ "input_tokens": counts.prompt, "output_tokens": counts.completion, "total_tokens": total });
            whole.insert("usage".to_owned(), usage);
        }
        Ok(Value::Object(whole).to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("images are not streamed".to_owned())
    }
}
