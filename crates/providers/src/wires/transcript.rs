//! A transcription in OpenAI's words, for the wires that say it in others.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::members::Members;
use crate::Refusal;

/// What the client asked the transcription to be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `{"text": …}`.
    Json,
    /// With language, duration and words.
    Verbose,
    /// The text alone.
    Text,
}

impl Format {
    /// The format asked for. Subtitles need lines that only the provider could cut.
    pub(super) fn asked(members: &Members<'_>, wire: &str) -> Result<Self, Refusal> {
        match members.text("response_format")?.as_deref() {
            None | Some("json") => Ok(Self::Json),
            Some("verbose_json") => Ok(Self::Verbose),
            Some("text") => Ok(Self::Text),
            Some(other) => Err(elsewhere(
                "response_format",
                format!(
                    "response_format {other:?} cannot be had from {wire}: ask for json, verbose_json or text"
                ),
            )),
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::Verbose => "application/json",
            Self::Text => "text/plain; charset=utf-8",
        }
    }
}

/// A refusal of what another provider of the group may well serve.
pub(super) fn elsewhere(param: &str, message: String) -> Refusal {
    Refusal { retry_other: true, ..Refusal::untranslatable(param, message) }
}

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct Transcript<'a> {
    pub(super) text: Cow<'a, str>,
    /// As the provider names it.
    pub(super) language: Option<&'a str>,
    /// Of the sound, in seconds.
    pub(super) duration: Option<f64>,
    /// What the provider says that it counts, in seconds.
    pub(super) billed: Option<f64>,
    pub(super) words: Vec<Word<'a>>,
}

/// One word and its place, in seconds from the beginning.
#[derive(Debug)]
pub(super) struct Word<'a> {
    pub(super) word: &'a str,
    pub(super) start: f64,
    pub(super) end: f64,
}

impl Transcript<'_> {
    /// The answer for the client.
    pub(super) fn written(&self, format: Format) -> Bytes {
        if format == Format::Text {
            // OpenAI ends the text with a line break, too.
            return format!("{}\n", self.text).into();
        }
        let mut answer = Map::new();
        if format == Format::Verbose {
            answer.insert("task".to_owned(), "transcribe".into());
            answer.insert("language".to_owned(), self.language.unwrap_or_default().into());
            answer.insert("duration".to_owned(), self.duration.unwrap_or_default().into());
        }
        answer.insert("text".to_owned(), self.text.as_ref().into());
        if format == Format::Verbose {
            let words = self
                .words
                .iter()
                .map(|word| json!({"word": word.word, "start": word.start, "end": word.end}));
            answer.insert("words".to_owned(), words.collect());
        }
        if let Some(seconds) = self.billed {
            answer.insert("usage".to_owned(), json!({"type": "duration", "seconds": seconds.ceil()}));
        }
        Value::Object(answer).to_string().into()
    }
}
