//! Transcriptions of the models that hear: the sound is a part of a user's turn, and what was heard is the answer's text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, json};

use super::NAME;
use super::answer::{Parts, Response};
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::transcript::{Format, Transcript};
use crate::wires::{Encode, chat};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// OpenAI's fields: said in the task, or implied by the form of the answer.
const OPENAI: [&str; 8] = [
    "response_format",
    "timestamp_granularities",
    "prompt",
    "temperature",
    "include",
    "chunking_strategy",
    "language",
    "file",
];

/// The body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let format = Format::asked(&members, NAME)?;
    chat::refuse_unsayable(encode, &members, NAME, &["include"])?;
    let file = encode.form.and_then(|form| form.file("file"));
    let file = file.ok_or_else(|| Refusal::invalid("file", "file is missing"))?;
    let mut task =
        "Write down what is said in this recording, word for word, and nothing besides.".to_owned();
    if let Some(language) = members.text("language")? {
        task.push_str(&format!(" It is spoken in the language {language:?}."));
    }
    if let Some(hint) = members.text("prompt")? {
        task.push_str(&format!(" It may hold these words: {hint}"));
    }
    let kind = file.content_type.as_deref().unwrap_or("audio/wav");
    let sound = json!({ "inlineData": { "mimeType": kind, "data": STANDARD.encode(&file.content) } });
    let mut body = Map::new();
    body.insert("contents".to_owned(), json!([{ "role": "user", "parts": [sound, { "text": task }] }]));
    let mut config = Map::new();
    if let Some(temperature) = members.text("temperature")?.and_then(|text| text.parse::<f64>().ok()) {
        config.insert("temperature".to_owned(), temperature.into());
    }
    for (name, raw) in members.foreign().filter(|(name, _)| !OPENAI.contains(name)) {
        body.insert(name.to_owned(), chat::value(raw)?);
    }
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), config.into());
    }
    Ok(Encoded {
        body: chat::written(encode, body),
        reply: Reply::Translated(Box::new(Heard { format })),
        strip_usage: false,
    })
}

/// Reads what was heard.
#[derive(Debug)]
pub(super) struct Heard {
    format: Format,
}

impl Heard {
    pub(super) const fn as_json() -> Self {
        Self { format: Format::Json }
    }
}

impl Translator for Heard {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let response = Response::read(body)?;
        let Some(first) = response.candidates.first() else {
            return Err(Untranslatable("there are no candidates".to_owned()));
        };
        let mut parts = Parts::default();
        parts.take(first, "", None);
        let heard = Transcript { text: parts.text.trim().into(), ..Transcript::default() };
        Ok(heard.written(self.format))
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("transcriptions are not streamed".to_owned())
    }

    fn content_type(&self) -> &'static str {
        self.format.content_type()
    }
}
