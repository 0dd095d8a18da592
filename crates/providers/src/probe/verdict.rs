//! Whether the content of a 2xx answer is what the mode promises.

use bytes::Bytes;
use http::{HeaderMap, header};
use serde_json::Value;

use super::Expectation;
use super::chat::Assembled;
use crate::{EventReader, Mode, Progress, Reply, Step};

/// What the content of an answer is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Legal and usable.
    Usable,
    /// Legal, and stopped by a content filter.
    Filtered,
    /// Legal, and blank because the output cap was reached.
    OutOfBudget,
    /// Legal, and nothing in it.
    Blank,
    /// The provider says that it failed.
    Failed(&'static str),
    /// An error in the clothes of a success: the classifier knows its class.
    Error,
    /// The work was accepted and goes on.
    Unfinished,
    /// Not the promised structure.
    Malformed(String),
}

/// Whether the answer is a stream, by its type or its looks.
pub(super) fn is_stream(headers: &HeaderMap, body: &[u8]) -> bool {
    let by_type =
        headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            ["text/event-stream", "application/vnd.amazon.eventstream", "application/x-ndjson"]
                .iter()
                .any(|kind| value.starts_with(kind))
        });
    let start = body.trim_ascii_start();
    by_type || start.starts_with(b"data:") || start.starts_with(b"event:")
}

/// Reads a JSON answer, or a stream of them, by its mode.
pub(super) fn read(expect: &Expectation, reply: Reply, body: &[u8], is_stream: bool) -> Verdict {
    if is_stream {
        return assemble(reply, body).map_or_else(|verdict| verdict, |assembled| assembled.verdict());
    }
    let value = match parse(body) {
        Ok(value) => value,
        Err(what) => return Verdict::Malformed(what),
    };
    if is_error(&value) {
        return Verdict::Error;
    }
    let value = match reply {
        Reply::Passthrough => value,
        Reply::Translated(mut translator) => match translator.progress(value.to_string().as_bytes()) {
            Ok(Progress::Done(bytes)) if expect.mode == Mode::AudioSpeech => {
                return super::speech::judge(&HeaderMap::new(), &bytes);
            }
            Ok(Progress::Done(bytes)) => match parse(&bytes) {
                Ok(value) => value,
                Err(what) => return Verdict::Malformed(what),
            },
            Ok(Progress::Again(_)) => return Verdict::Unfinished,
            // The work is done; what it made need not be fetched to know that.
            Ok(Progress::Fetch(_)) => return Verdict::Usable,
            Ok(Progress::Refused(refusal)) => return Verdict::Malformed(refusal.message),
            Err(error) => return Verdict::Malformed(error.0),
        },
    };
    match expect.mode {
        Mode::Chat => super::chat::whole(&value),
        Mode::AnthropicMessages => super::chat::message(&value),
        Mode::Completion => super::chat::completion(&value),
        Mode::Responses => super::chat::response(&value),
        Mode::Embedding => super::vectors::embedding(&value, expect.dimensions),
        Mode::Rerank => super::vectors::rerank(&value, expect.documents),
        Mode::ImageGeneration | Mode::ImageEdit => super::image::judge(&value),
        Mode::Batch => super::batch::judge(&value),
        Mode::Ocr => super::ocr::judge(&value),
        Mode::VideoGeneration => super::video::judge(&value),
        Mode::AudioSpeech | Mode::AudioTranscription | Mode::Realtime | Mode::Http => Verdict::Usable,
    }
}

/// JSON after any blank lines, out of a one-element array.
pub(super) fn parse(body: &[u8]) -> Result<Value, String> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii();
    if body.is_empty() {
        return Err("the body is empty".to_owned());
    }
    let value: Value = serde_json::from_slice(body).map_err(|error| format!("no JSON ({error})"))?;
    if let Value::Array(list) = &value
        && let [only] = list.as_slice()
        && only.is_object()
    {
        return Ok(only.clone());
    }
    Ok(value)
}

/// Errors that come with a 2xx.
pub(super) fn is_error(value: &Value) -> bool {
    let error = value.get("error").is_some_and(|error| !error.is_null());
    let base = value.pointer("/base_resp/status_code").and_then(Value::as_i64).is_some_and(|code| code != 0);
    let says = |key: &str, word: &str| value.get(key).and_then(Value::as_str) == Some(word);
    error || base || says("status", "failed") || says("object", "error") || says("type", "error")
}

/// Whether the part of a stream read so far shows output.
pub(super) fn stream_has_output(reply: Reply, body: &[u8]) -> bool {
    matches!(assemble(reply, body).map(|assembled| assembled.has_output()), Ok(true))
}

/// Every event of a stream, put together.
fn assemble(mut reply: Reply, body: &[u8]) -> Result<Assembled, Verdict> {
    let mut decoder = EventReader::new(reply.framing());
    decoder.push(body);
    let mut assembled = Assembled::default();
    let mut chunks: Vec<Bytes> = Vec::new();
    loop {
        let event = match decoder.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => match decoder.finish() {
                Some(event) => event,
                None => return Ok(assembled),
            },
            Err(error) => return Err(Verdict::Malformed(error.to_string())),
        };
        if event.is_blank() || event.is_done() {
            continue;
        }
        match &mut reply {
            Reply::Passthrough => chunks.push(event.data.clone()),
            Reply::Translated(translator) => match translator.event(event.name(), &event.data, &mut chunks) {
                Step::More | Step::Done => {}
                Step::Failed(_) => return Err(Verdict::Error),
                Step::Malformed(what) => return Err(Verdict::Malformed(what)),
            },
        }
        for chunk in chunks.drain(..) {
            match serde_json::from_slice::<Value>(&chunk) {
                Ok(value) if is_error(&value) => return Err(Verdict::Error),
                Ok(value) => assembled.add(&value),
                // The last event of a stream that was cut on purpose.
                Err(_) if assembled.has_output() => return Ok(assembled),
                Err(error) => return Err(Verdict::Malformed(format!("an event is no JSON ({error})"))),
            }
        }
    }
}

/// Speech: bytes that are audio, and more than a header.
pub(super) fn speech(headers: &HeaderMap, body: &[u8]) -> Verdict {
    super::speech::judge(headers, body)
}
