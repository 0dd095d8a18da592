//! ElevenLabs: speech to text as a form of its own, and text to speech with the voice in the URL.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::members::Members;
use super::openai::form as openai_form;
use super::transcript::{Format, Transcript, Word, elsewhere};
use super::{Encode, chat};
use crate::route::Place;
use crate::target::Outgoing;
use crate::{Operation, Refusal, Reply, Step, Translator, Untranslatable};

/// How the wire is called in refusals.
const WIRE: &str = "ElevenLabs";
/// The voice that stands for OpenAI's `alloy`, as LiteLLM has it.
const ALLOY: &str = "21m00Tcm4TlvDq8ikWAM";

/// The provider's request.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Outgoing, Refusal> {
    match encode.operation {
        Operation::Transcriptions => transcribe(encode),
        Operation::Speech => speak(encode),
        Operation::Chat
        | Operation::Completions
        | Operation::Embeddings
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Images
        | Operation::Rerank
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime => Err(Refusal::unsupported(encode.target.provider.id, encode.operation)),
    }
}

/// Reads transcriptions.
pub(super) fn translator() -> Box<dyn Translator> {
    Box::new(Transcribed { format: Format::Json })
}

fn transcribe(encode: &Encode<'_>) -> Result<Outgoing, Refusal> {
    /// OpenAI's fields: said otherwise here, or implied by the form of the answer.
    const KNOWN: [&str; 7] = [
        "response_format",
        "timestamp_granularities",
        "prompt",
        "include",
        "chunking_strategy",
        "language",
        "file",
    ];
    let members = Members::new(encode);
    let format = Format::asked(&members, WIRE)?;
    chat::refuse_unsayable(encode, &members, WIRE, &["prompt", "include"])?;
    let missing = || Refusal::invalid("file", "file is missing");
    let asked = encode.form.ok_or_else(missing)?;
    let file = asked.file("file").ok_or_else(missing)?;
    let mut out = asked.emptied();
    out.push_text("model_id", encode.model.unwrap_or(&encode.target.wire_model));
    out.push(file.clone());
    if let Some(language) = members.text("language")? {
        out.push_text("language_code", &language);
    }
    if let Some(temperature) = members.get("temperature") {
        openai_form::push(&mut out, "temperature", temperature.get().as_bytes());
    }
    for (name, raw) in members.foreign().filter(|(name, _)| !KNOWN.contains(name)) {
        openai_form::push(&mut out, name, raw.get().as_bytes());
    }
    for (name, value) in &encode.target.defaults.extra {
        openai_form::push(&mut out, name, value);
    }
    Ok(openai_form::sent(&out, Reply::Translated(Box::new(Transcribed { format }))))
}

fn speak(encode: &Encode<'_>) -> Result<Outgoing, Refusal> {
    /// ElevenLabs' own parameters that stand in the query.
    const QUERY: [&str; 3] = ["output_format", "enable_logging", "optimize_streaming_latency"];
    const KNOWN: [&str; 6] = ["input", "voice", "response_format", "speed", "instructions", "stream_format"];
    let members = Members::new(encode);
    let text = members.text("input")?.ok_or_else(|| Refusal::invalid("input", "input is missing"))?;
    chat::refuse_unsayable(encode, &members, WIRE, &["instructions"])?;
    let voice = match members.text("voice")? {
        None => ALLOY.to_owned(),
        Some(voice) if voice == "alloy" => ALLOY.to_owned(),
        Some(voice) => voice.into_owned(),
    };
    let mut query = Vec::new();
    let mut body = Map::new();
    body.insert("text".to_owned(), text.into());
    body.insert("model_id".to_owned(), encode.model.unwrap_or(&encode.target.wire_model).into());
    if let Some(speed) = members.get("speed") {
        body.insert("voice_settings".to_owned(), json!({ "speed": chat::value(speed)? }));
    }
    for (name, raw) in members.foreign().filter(|(name, _)| !KNOWN.contains(name)) {
        let value = chat::value(raw)?;
        if QUERY.contains(&name) {
            query.push((name.to_owned(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
        } else {
            put(&mut body, name, value);
        }
    }
    if !query.iter().any(|(name, _)| name == "output_format")
        && let Some(format) = output_format(&members)?
    {
        query.push(("output_format".to_owned(), format.to_owned()));
    }
    Ok(Outgoing {
        body: chat::written(encode, body).into(),
        content_type: None,
        place: Place { voice: Some(voice), query },
        reply: Reply::Passthrough,
        strip_usage: false,
    })
}

/// Settings of the voice join the speed that OpenAI's field set.
fn put(body: &mut Map<String, Value>, name: &str, value: Value) {
    match (body.get_mut(name), value) {
        (Some(Value::Object(settings)), Value::Object(more)) => settings.extend(more),
        (_, value) => {
            body.insert(name.to_owned(), value);
        }
    }
}

/// OpenAI's formats in ElevenLabs' words; MP3 is the default of both.
fn output_format(members: &Members<'_>) -> Result<Option<&'static str>, Refusal> {
    match members.text("response_format")?.as_deref() {
        None => Ok(None),
        Some("mp3") => Ok(Some("mp3_44100_128")),
        Some("opus") => Ok(Some("opus_48000_128")),
        Some("pcm") => Ok(Some("pcm_24000")),
        Some(other) => Err(elsewhere(
            "response_format",
            format!("response_format {other:?} cannot be had from {WIRE}: ask for mp3, opus or pcm"),
        )),
    }
}

/// Reads a transcription.
#[derive(Debug)]
struct Transcribed {
    format: Format,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    language_code: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    words: Vec<Heard<'a>>,
}

#[derive(Deserialize)]
struct Heard<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    start: Option<f64>,
    #[serde(default)]
    end: Option<f64>,
}

impl Translator for Transcribed {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer<'_> = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        // Spaces and sounds stand in the list, too.
        let words =
            answer.words.iter().filter(|heard| heard.kind.as_deref().is_none_or(|kind| kind == "word"));
        let words: Vec<Word<'_>> = words
            .filter_map(|heard| Some(Word { word: &heard.text, start: heard.start?, end: heard.end? }))
            .collect();
        let transcript = Transcript {
            text: Cow::Borrowed(&answer.text),
            language: answer.language_code.as_deref(),
            // What is billed is not stated; the last word ends near the end of the sound.
            duration: answer.words.iter().rev().find_map(|heard| heard.end),
            billed: None,
            words,
        };
        Ok(transcript.written(self.format))
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("a transcription of a file is not streamed".to_owned())
    }

    fn content_type(&self) -> &'static str {
        self.format.content_type()
    }
}
