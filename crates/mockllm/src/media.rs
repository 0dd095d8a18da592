//! Sound and pictures: OpenAI's speech, transcriptions and images, and how Deepgram and ElevenLabs say the same.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::answer::{Event, Reply, Told};
use crate::request::{Call, Operation};

/// Known fields of a speech request.
pub(crate) const SPEECH_FIELDS: &[&str] =
    &["input", "instructions", "model", "response_format", "speed", "stream_format", "voice"];

/// Known fields of a transcription's or translation's form.
pub(crate) const TRANSCRIPTION_FIELDS: &[&str] = &[
    "chunking_strategy",
    "file",
    "include",
    "language",
    "model",
    "prompt",
    "response_format",
    "stream",
    "temperature",
    "timestamp_granularities",
];

/// Known fields of a request for pictures.
pub(crate) const IMAGE_FIELDS: &[&str] = &[
    "background",
    "image",
    "input_fidelity",
    "mask",
    "model",
    "moderation",
    "n",
    "output_compression",
    "output_format",
    "partial_images",
    "prompt",
    "quality",
    "response_format",
    "size",
    "stream",
    "style",
    "user",
];

/// The smallest PNG.
const ONE_PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The answer to a call of this operation; `None` when it is another module's.
pub(crate) fn answer(operation: Operation, call: &Call, told: &Told) -> Option<Reply> {
    let reply = match operation {
        Operation::Speech | Operation::DeepgramSpeak | Operation::ElevenLabsSpeech => speech(call, told),
        Operation::Transcription | Operation::Translation if call.streams() => transcript_stream(told),
        Operation::Transcription => transcript(call, told, "transcribe"),
        Operation::Translation => transcript(call, told, "translate"),
        Operation::DeepgramListen => Reply::Json(listened(told)),
        Operation::ElevenLabsText => Reply::Json(eleven_text(told)),
        Operation::Images if call.streams() => image_stream(call),
        Operation::Images => Reply::Json(json!({"created": told.created, "data": [{"b64_json": ONE_PIXEL}]})),
        Operation::Chat
        | Operation::Completions
        | Operation::Embeddings
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Rerank
        | Operation::Moderations
        | Operation::Models
        | Operation::Model
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Ocr
        | Operation::Predictions => return None,
    };
    Some(reply)
}

/// A tag and then one frame's worth of bytes per word: sound that arrives while it is spoken.
fn speech(call: &Call, told: &Told) -> Reply {
    let said = ["input", "text"].iter().find_map(|name| call.body.get(name)?.as_str()).unwrap_or_default();
    if call.body.get("stream_format").and_then(Value::as_str) == Some("sse") {
        let mut events: Vec<Event> = said
            .split_inclusive(' ')
            .map(|_| {
                Event::data(&json!({"type": "speech.audio.delta", "audio": "SUQzBAAAAAAAAA=="})).output()
            })
            .collect();
        events.push(Event::data(&json!({
            "type": "speech.audio.done",
            "usage": {"input_tokens": told.prompt_tokens, "output_tokens": 9, "total_tokens": told.prompt_tokens + 9},
        })));
        return Reply::Events(events);
    }
    let wav = call.body.get("response_format").and_then(Value::as_str) == Some("wav");
    let mut head =
        if wav { b"RIFF\xff\xff\xff\xffWAVEfmt ".to_vec() } else { b"ID3\x04\0\0\0\0\0\0".to_vec() };
    head.resize(256, 0);
    let frames = said.split_inclusive(' ').map(|word| {
        let mut frame = vec![0xff, 0xfb, 0x90, 0x64];
        frame.extend(word.bytes());
        frame.resize(256, 0);
        Event::bytes(frame)
    });
    let kind = if wav { "audio/wav" } else { "audio/mpeg" };
    Reply::Sound(kind, std::iter::once(Event::bytes(head)).chain(frames).collect())
}

fn transcript(call: &Call, told: &Told, task: &str) -> Reply {
    let text = told.text();
    let plain = |kind, text: String| Reply::Raw(kind, Bytes::from(text));
    match call.body.get("response_format").and_then(Value::as_str) {
        Some("text") => plain("text/plain; charset=utf-8", format!("{text}\n")),
        Some("srt") => {
            plain("text/plain; charset=utf-8", format!("1\n00:00:00,000 --> 00:00:01,000\n{text}\n\n"))
        }
        Some("vtt") => plain("text/vtt", format!("WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n{text}\n\n")),
        Some("verbose_json") => Reply::Json(json!({
            "task": task,
            "language": "english",
            "duration": 1.0,
            "text": text,
            "segments": [{"id": 0, "seek": 0, "start": 0.0, "end": 1.0, "text": text, "tokens": [1], "temperature": 0.0,
                "avg_logprob": -0.1, "compression_ratio": 1.0, "no_speech_prob": 0.01}],
            "usage": {"type": "duration", "seconds": 1},
        })),
        Some(_) | None => Reply::Json(json!({"text": text, "usage": {"type": "duration", "seconds": 1}})),
    }
}

fn transcript_stream(told: &Told) -> Reply {
    let delta = |piece: &String| json!({"type": "transcript.text.delta", "delta": piece});
    let mut events: Vec<Event> =
        told.pieces.iter().map(|piece| Event::data(&delta(piece)).output()).collect();
    events.push(Event::data(&json!({
        "type": "transcript.text.done",
        "text": told.text(),
        "usage": {
            "type": "tokens",
            "input_tokens": told.prompt_tokens,
            "output_tokens": told.completion_tokens,
            "total_tokens": told.prompt_tokens + told.completion_tokens,
        },
    })));
    Reply::Events(events)
}

fn listened(told: &Told) -> Value {
    let words: Vec<Value> = told
        .pieces
        .iter()
        .enumerate()
        .map(|(at, piece)| {
            let word = piece.trim();
            json!({"word": word.to_lowercase(), "start": at as f64 / 4.0, "end": (at + 1) as f64 / 4.0,
                "confidence": 0.99, "punctuated_word": word})
        })
        .collect();
    json!({
        "metadata": {"request_id": told.id, "duration": 1.0, "channels": 1, "models": [told.model]},
        "results": {"channels": [{"alternatives": [{"transcript": told.text(), "confidence": 0.99, "words": words}]}]},
    })
}

fn eleven_text(told: &Told) -> Value {
    json!({"language_code": "en", "language_probability": 0.98, "text": told.text(), "words": [
        {"text": told.text(), "start": 0.0, "end": 1.0, "type": "word"}
    ]})
}

fn image_stream(call: &Call) -> Reply {
    let kind = if call.path().ends_with("/edits") { "image_edit" } else { "image_generation" };
    let event = |what: &str, more: &Value| {
        let mut body = json!({"type": format!("{kind}.{what}"), "b64_json": ONE_PIXEL, "created_at": 1});
        if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
            body.extend(more.clone());
        }
        Event::named(&format!("{kind}.{what}"), &body).output()
    };
    Reply::Events(vec![
        event("partial_image", &json!({"partial_image_index": 0})),
        event("completed", &json!({"usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}})),
    ])
}
