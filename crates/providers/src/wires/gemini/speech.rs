//! Speech of the models that answer in sound: the text is a user's turn, the sound is a part of the answer.
//!
//! Google sends bare samples (16 bits, one channel). Callers get them in a WAV file, or bare when they ask for `pcm`; other
//! formats would have to be encoded here and are refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value, json};

use super::answer::Response;
use crate::target::Encoded;
use crate::wires::members::Members;
use crate::wires::{Encode, chat};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// OpenAI's parameters.
const OPENAI: [&str; 6] = ["input", "voice", "instructions", "response_format", "speed", "stream_format"];
/// Spoken when the caller names no voice.
pub(super) const VOICE: &str = "Kore";
/// OpenAI's voices, and the one of Google's that stands for each.
const VOICES: [(&str, &str); 6] = [
    ("alloy", "Kore"),
    ("echo", "Puck"),
    ("fable", "Fenrir"),
    ("onyx", "Charon"),
    ("nova", "Aoede"),
    ("shimmer", "Leda"),
];
/// Samples per second when the answer does not say.
const RATE: u32 = 24_000;

/// Google's name of a voice.
pub(super) fn voice(voice: &str) -> &str {
    VOICES.iter().find(|(openai, _)| *openai == voice).map_or(voice, |(_, own)| own)
}

/// The body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let input = members.text("input")?.ok_or_else(|| Refusal::invalid("input", "input is missing"))?;
    let drops = encode.options.drop_params || encode.target.defaults.drop_params;
    let bare = match members.text("response_format")?.as_deref() {
        Some("pcm") => true,
        Some("wav") | None => false,
        Some(_) if drops => false,
        Some(_) => {
            return Err(Refusal::untranslatable(
                "response_format",
                "Gemini speaks wav and pcm, nothing else",
            ));
        }
    };
    if !drops && members.read::<f64>("speed", "a number")?.is_some_and(|speed| speed != 1.0) {
        return Err(Refusal::untranslatable("speed", "Gemini has no speed: say it in instructions"));
    }
    let text = match members.text("instructions")? {
        Some(how) => format!("{how}\n\n{input}"),
        None => input.into_owned(),
    };
    let voice = members.text("voice")?.unwrap_or(VOICE.into());
    let voice = self::voice(&voice);
    let mut config = Map::new();
    config.insert("responseModalities".to_owned(), json!(["AUDIO"]));
    config.insert(
        "speechConfig".to_owned(),
        json!({ "voiceConfig": { "prebuiltVoiceConfig": { "voiceName": voice } } }),
    );
    let mut body = Map::new();
    body.insert("contents".to_owned(), json!([{ "role": "user", "parts": [{ "text": text }] }]));
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
        reply: Reply::Translated(Box::new(Sound { bare })),
        strip_usage: false,
    })
}

/// Reads the sound of an answer.
#[derive(Debug)]
pub(super) struct Sound {
    /// The caller wants bare samples.
    pub(super) bare: bool,
}

impl Translator for Sound {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let response = Response::read(body)?;
        let Some((kind, data)) = response.sound() else {
            return Err(Untranslatable("there is no sound in the answer".to_owned()));
        };
        let samples = STANDARD
            .decode(data)
            .map_err(|error| Untranslatable(format!("the sound is no base64: {error}")))?;
        let is_bare = kind.starts_with("audio/L16") || kind.starts_with("audio/pcm");
        if self.bare || !is_bare {
            return Ok(samples.into());
        }
        wav(&samples, rate(kind)).ok_or_else(|| Untranslatable("the sound is too long".to_owned()))
    }

    fn event(&mut self, _event: Option<&str>, _data: &[u8], _chunks: &mut Vec<Bytes>) -> Step {
        Step::Malformed("speech is not streamed".to_owned())
    }

    fn content_type(&self) -> &'static str {
        if self.bare { "audio/pcm" } else { "audio/wav" }
    }
}

/// `audio/L16;codec=pcm;rate=24000`
fn rate(kind: &str) -> u32 {
    let mut parameters = kind.split(';').map(str::trim);
    parameters.find_map(|part| part.strip_prefix("rate=")?.parse().ok()).unwrap_or(RATE)
}

/// Samples of 16 bits and one channel as a RIFF file; `None` beyond the 4 GiB that it can say.
fn wav(samples: &[u8], rate: u32) -> Option<Bytes> {
    const HEADER: u32 = 36;
    let length = u32::try_from(samples.len()).ok()?;
    let mut file = BytesMut::with_capacity(samples.len() + 44);
    file.put_slice(b"RIFF");
    file.put_u32_le(length.checked_add(HEADER)?);
    file.put_slice(b"WAVEfmt ");
    file.put_u32_le(16);
    file.put_u16_le(1);
    file.put_u16_le(1);
    file.put_u32_le(rate);
    file.put_u32_le(rate.checked_mul(2)?);
    file.put_u16_le(2);
    file.put_u16_le(16);
    file.put_slice(b"data");
    file.put_u32_le(length);
    file.put_slice(samples);
    Some(file.freeze())
}

/// Whether an answer of Google's form came without a sound: it said nothing, which is not the same as being broken.
pub(crate) fn is_silent(body: &[u8]) -> bool {
    Response::read(body).is_ok_and(|response| !response.candidates.is_empty() && response.sound().is_none())
}
