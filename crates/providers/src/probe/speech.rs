//! Text to speech: the voice that is asked for, and bytes that are audio.

use http::{HeaderMap, header};
use serde_json::{Map, Value, json};

use super::body::object;
use super::verdict::Verdict;
use super::{ProbeMemory, ProbeSettings};
use crate::target::Target;

/// Less than this is a header without sound, in bytes.
const SOUND: usize = 200;

/// The body: the operator's voice, the learnt one, the deployment's, or one the provider has.
pub(super) fn body(
    target: &Target,
    settings: &ProbeSettings,
    memory: &ProbeMemory,
    text: &str,
) -> Map<String, Value> {
    let own = |name: &str| target.defaults.params.iter().any(|(key, _)| key == name);
    let mut body = object(json!({ "input": text }));
    let voice = settings.voice.as_deref().or(memory.voice.as_deref());
    if let Some(voice) = voice {
        body.insert("voice".to_owned(), voice.into());
    } else if !own("voice")
        && !own("voice_id")
        && let Some(voice) = default_voice(target)
    {
        body.insert("voice".to_owned(), voice.into());
    }
    if target.provider.id == "elevenlabs" && !own("output_format") {
        // The cheapest.
        body.insert("output_format".to_owned(), "mp3_22050_32".into());
    }
    body
}

/// A voice that the provider has; `None` where none is known to exist for everyone.
fn default_voice(target: &Target) -> Option<&'static str> {
    match target.provider.id {
        "groq" => Some("autumn"),
        "dashscope" => Some("Cherry"),
        "gemini" | "vertex_ai" => Some("Kore"),
        "mistral" => None,
        // Also ElevenLabs' and Deepgram's: their wires know what stands for it.
        _ => Some("alloy"),
    }
}

/// Audio by its first bytes, or by its type when the format has no mark (PCM).
pub(super) fn judge(headers: &HeaderMap, body: &[u8]) -> Verdict {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or("")
        .to_ascii_lowercase();
    if body.is_empty() {
        return Verdict::Blank;
    }
    if kind.starts_with("application/json") || body.trim_ascii_start().starts_with(b"{") {
        return match serde_json::from_slice::<Value>(body) {
            Ok(value) if value.get("error").is_some_and(|error| !error.is_null()) => Verdict::Error,
            Ok(_) | Err(_) => Verdict::Malformed("JSON instead of audio".to_owned()),
        };
    }
    if kind.starts_with("text/") || body.trim_ascii_start().starts_with(b"<") {
        return Verdict::Malformed("text instead of audio".to_owned());
    }
    if !has_mark(body) && !kind.starts_with("audio/") {
        return Verdict::Malformed("the bytes are no audio".to_owned());
    }
    if body.len() > SOUND { Verdict::Usable } else { Verdict::Blank }
}

fn has_mark(body: &[u8]) -> bool {
    const MARKS: [&[u8]; 4] = [b"ID3", b"RIFF", b"OggS", b"fLaC"];
    let mpeg = matches!(body, [0xff, second, ..] if second & 0xe0 == 0xe0);
    mpeg || MARKS.iter().any(|mark| body.starts_with(mark)) || body.get(4..8) == Some(b"ftyp")
}
