//! Deepgram: speech to text with the sound as the body and everything else in the query, and text to speech.

use std::borrow::Cow;

use bytes::Bytes;
use http::HeaderValue;
use serde::Deserialize;
use serde_json::{Value, json};

use super::members::Members;
use super::transcript::{Format, Transcript, Word, elsewhere};
use super::{Encode, chat};
use crate::route::Place;
use crate::target::Outgoing;
use crate::{Operation, Refusal, Reply, Step, Translator, Untranslatable};

/// How the wire is called in refusals.
const WIRE: &str = "Deepgram";

/// The provider's request.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Outgoing, Refusal> {
    match encode.operation {
        Operation::Transcriptions => listen(encode),
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
    Box::new(Listened { format: Format::Json })
}

fn listen(encode: &Encode<'_>) -> Result<Outgoing, Refusal> {
    /// OpenAI's fields: said otherwise here, or implied by the form of the answer.
    const KNOWN: [&str; 7] = [
        "response_format",
        "timestamp_granularities",
        "prompt",
        "temperature",
        "include",
        "chunking_strategy",
        "file",
    ];
    let members = Members::new(encode);
    let format = Format::asked(&members, WIRE)?;
    chat::refuse_unsayable(encode, &members, WIRE, &["prompt", "temperature", "include"])?;
    let file = encode.form.and_then(|form| form.file("file"));
    let file = file.ok_or_else(|| Refusal::invalid("file", "file is missing"))?;
    let content_type = file.content_type.as_deref().and_then(|kind| HeaderValue::from_str(kind).ok());
    Ok(Outgoing {
        body: file.content.clone().into(),
        content_type: Some(content_type.unwrap_or(HeaderValue::from_static("application/octet-stream"))),
        place: Place { voice: None, query: query(&members, &KNOWN)? },
        reply: Reply::Translated(Box::new(Listened { format })),
        strip_usage: false,
    })
}

/// Deepgram's own parameters, and OpenAI's of the same name, as the caller or the deployment gave them.
fn query(members: &Members<'_>, known: &[&str]) -> Result<Vec<(String, String)>, Refusal> {
    let mut query = Vec::new();
    for (name, raw) in members.foreign().filter(|(name, _)| !known.contains(name)) {
        let value = chat::value(raw)?;
        let several = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
        query.extend(several.iter().map(|value| (name.to_owned(), word(value))));
    }
    Ok(query)
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn speak(encode: &Encode<'_>) -> Result<Outgoing, Refusal> {
    let members = Members::new(encode);
    let text = members.text("input")?.ok_or_else(|| Refusal::invalid("input", "input is missing"))?;
    chat::refuse_unsayable(encode, &members, WIRE, &["speed", "instructions"])?;
    let mut place = Place { voice: None, query: encoding(&members)? };
    // The voice is the model's: aura-2-thalia-en.
    let known = ["input", "voice", "response_format", "speed", "instructions", "stream_format"];
    place.query.extend(query(&members, &known)?);
    Ok(Outgoing {
        body: Bytes::from(json!({ "text": text }).to_string()).into(),
        content_type: None,
        place,
        reply: Reply::Passthrough,
        strip_usage: false,
    })
}

/// OpenAI's formats in Deepgram's words; MP3 is the default of both.
fn encoding(members: &Members<'_>) -> Result<Vec<(String, String)>, Refusal> {
    let pairs: &[(&str, &str)] = match members.text("response_format")?.as_deref() {
        None => &[],
        Some("mp3") => &[("encoding", "mp3")],
        Some("opus") => &[("encoding", "opus"), ("container", "ogg")],
        Some("aac") => &[("encoding", "aac")],
        Some("flac") => &[("encoding", "flac")],
        Some("wav") => &[("encoding", "linear16"), ("container", "wav")],
        Some("pcm") => &[("encoding", "linear16"), ("container", "none"), ("sample_rate", "24000")],
        Some(other) => {
            let message = format!("response_format {other:?} cannot be had from {WIRE}");
            return Err(elsewhere("response_format", message));
        }
    };
    Ok(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

/// Reads a transcription.
#[derive(Debug)]
struct Listened {
    format: Format,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    results: Results<'a>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    duration: Option<f64>,
}

#[derive(Deserialize)]
struct Results<'a> {
    #[serde(borrow)]
    channels: Vec<Channel<'a>>,
}

#[derive(Deserialize)]
struct Channel<'a> {
    #[serde(borrow)]
    alternatives: Vec<Alternative<'a>>,
    #[serde(borrow, default)]
    detected_language: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Alternative<'a> {
    #[serde(borrow)]
    transcript: Cow<'a, str>,
    #[serde(borrow, default)]
    words: Vec<Heard<'a>>,
}

#[derive(Deserialize)]
struct Heard<'a> {
    #[serde(borrow)]
    word: Cow<'a, str>,
    #[serde(borrow, default)]
    punctuated_word: Option<Cow<'a, str>>,
    start: f64,
    end: f64,
}

impl Translator for Listened {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer<'_> = serde_json::from_slice(body).map_err(|error| chat::wrong(&error))?;
        let missing = || Untranslatable("no alternative in the first channel".to_owned());
        let channel = answer.results.channels.first().ok_or_else(missing)?;
        let best = channel.alternatives.first().ok_or_else(missing)?;
        let words = best.words.iter().map(|heard| Word {
            word: heard.punctuated_word.as_deref().unwrap_or(&heard.word),
            start: heard.start,
            end: heard.end,
        });
        let transcript = Transcript {
            text: Cow::Borrowed(&best.transcript),
            language: channel.detected_language.as_deref(),
            duration: answer.metadata.duration,
            billed: answer.metadata.duration,
            words: words.collect(),
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
