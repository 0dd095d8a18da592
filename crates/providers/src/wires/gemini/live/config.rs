//! What a caller wants a session to be, and the set-up that says it to Gemini.

use serde_json::{Map, Value, json};

use super::super::speech;
use crate::Refusal;

/// What is known of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) instructions: Option<String>,
    /// Answers are written, not spoken.
    pub(super) silent: bool,
    /// The functions, as the caller wrote them.
    pub(super) tools: Vec<Value>,
    /// The functions may be called.
    pub(super) calls: bool,
    pub(super) turns: Turns,
    /// What the caller says is written down.
    pub(super) transcribes: bool,
    voice: Option<String>,
    temperature: Option<Value>,
    cap: Option<Value>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            instructions: None,
            silent: false,
            tools: Vec::new(),
            calls: true,
            turns: Turns::Heard { padding: None, silence: None, interrupts: true },
            transcribes: false,
            voice: None,
            temperature: None,
            cap: None,
        }
    }
}

/// Who says when the caller has spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turns {
    /// The provider hears it; times in milliseconds.
    Heard { padding: Option<u64>, silence: Option<u64>, interrupts: bool },
    /// The caller commits.
    Stated,
}

impl Turns {
    pub(super) fn shown(&self) -> Value {
        match self {
            Self::Stated => Value::Null,
            Self::Heard { padding, silence, interrupts } => {
                let mut shown = json!({ "type": "server_vad", "create_response": true, "interrupt_response": interrupts });
                for (name, value) in [("prefix_padding_ms", padding), ("silence_duration_ms", silence)] {
                    if let (Some(value), Some(shown)) = (value, shown.as_object_mut()) {
                        shown.insert(name.to_owned(), (*value).into());
                    }
                }
                shown
            }
        }
    }

    fn setup(&self) -> Option<Value> {
        match self {
            Self::Stated => Some(json!({ "automaticActivityDetection": { "disabled": true } })),
            Self::Heard { padding: None, silence: None, interrupts: true } => None,
            Self::Heard { padding, silence, interrupts } => {
                let mut config = Map::new();
                let mut detection = Map::new();
                for (name, value) in [("prefixPaddingMs", padding), ("silenceDurationMs", silence)] {
                    if let Some(value) = value {
                        detection.insert(name.to_owned(), (*value).into());
                    }
                }
                if !detection.is_empty() {
                    config.insert("automaticActivityDetection".to_owned(), detection.into());
                }
                if !interrupts {
                    config.insert("activityHandling".to_owned(), "NO_INTERRUPTION".into());
                }
                Some(config.into())
            }
        }
    }
}

impl Config {
    /// The voice as callers know it.
    pub(super) fn voice(&self) -> &str {
        self.voice.as_deref().unwrap_or(speech::VOICE)
    }

    /// The first message of a session of this kind.
    pub(super) fn setup(&self, resource: &str) -> String {
        let mut generation = Map::new();
        generation
            .insert("responseModalities".to_owned(), json!([if self.silent { "TEXT" } else { "AUDIO" }]));
        for (name, value) in [("temperature", &self.temperature), ("maxOutputTokens", &self.cap)] {
            if let Some(value) = value {
                generation.insert(name.to_owned(), value.clone());
            }
        }
        if let Some(voice) = &self.voice {
            let voice =
                json!({ "voiceConfig": { "prebuiltVoiceConfig": { "voiceName": speech::voice(voice) } } });
            generation.insert("speechConfig".to_owned(), voice);
        }
        let mut setup = json!({ "model": resource, "generationConfig": generation });
        let mut put = |name: &str, value: Value| {
            if let Some(setup) = setup.as_object_mut() {
                setup.insert(name.to_owned(), value);
            }
        };
        if let Some(text) = self.instructions.as_ref().filter(|text| !text.is_empty()) {
            put("systemInstruction", json!({ "parts": [{ "text": text }] }));
        }
        if self.calls && !self.tools.is_empty() {
            let functions: Vec<Value> = self.tools.iter().map(declaration).collect();
            put("tools", json!([{ "functionDeclarations": functions }]));
        }
        if let Some(turns) = self.turns.setup() {
            put("realtimeInputConfig", turns);
        }
        if self.transcribes {
            put("inputAudioTranscription", json!({}));
        }
        if !self.silent {
            // OpenAI's spoken answers come with their words.
            put("outputAudioTranscription", json!({}));
        }
        json!({ "setup": setup }).to_string()
    }

    /// This session with what the members of `session` say; what they leave out stays. `drops`: what cannot be said is
    /// left out.
    pub(super) fn with(&self, session: &Map<String, Value>, drops: bool) -> Result<Self, Refusal> {
        let mut new = self.clone();
        for (name, value) in session {
            match new.put(name, value, &format!("session.{name}"), drops) {
                Err(refusal) if refusal.code != "untranslatable_request" || !drops => return Err(refusal),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(new)
    }

    fn put(&mut self, name: &str, value: &Value, at: &str, drops: bool) -> Result<(), Refusal> {
        match (name, value) {
            ("object" | "id" | "expires_at" | "model", _) => {}
            ("turn_detection", value) => self.turns = turns(value, at, drops)?,
            ("input_audio_transcription", value) => self.transcribes = transcribes(value, at)?,
            (_, Value::Null) => {}
            ("type", Value::String(kind)) if kind == "realtime" => {}
            ("truncation", Value::String(kind)) if kind == "auto" => {}
            ("instructions", Value::String(text)) => self.instructions = Some(text.clone()),
            ("output_modalities" | "modalities", Value::Array(list)) => {
                self.silent = !list.iter().any(|kind| kind == "audio");
            }
            ("tools", Value::Array(tools)) => {
                if let Some(index) = tools.iter().position(|tool| {
                    tool.get("type") != Some(&json!("function"))
                        || !tool.get("name").is_some_and(Value::is_string)
                }) {
                    return Err(unsayable(&format!("{at}[{index}]"), "only named functions are"));
                }
                self.tools.clone_from(tools);
            }
            ("tool_choice", Value::String(choice)) if choice == "auto" || choice == "none" => {
                self.calls = choice == "auto";
            }
            ("temperature", Value::Number(_)) => self.temperature = Some(value.clone()),
            ("max_output_tokens" | "max_response_output_tokens", Value::Number(_)) => {
                self.cap = Some(value.clone());
            }
            ("max_output_tokens" | "max_response_output_tokens", Value::String(word)) if word == "inf" => {
                self.cap = None;
            }
            ("voice", Value::String(voice)) => self.voice = Some(voice.clone()),
            ("speed", Value::Number(speed)) if speed.as_f64() == Some(1.0) => {}
            ("input_audio_format" | "output_audio_format", Value::String(format)) if format == "pcm16" => {}
            ("audio", Value::Object(sides)) => return self.put_audio(sides, at, drops),
            _ => return Err(unsayable(at, "this is not")),
        }
        Ok(())
    }

    fn put_audio(&mut self, sides: &Map<String, Value>, at: &str, drops: bool) -> Result<(), Refusal> {
        for (side, members) in sides {
            let known = side == "input" || side == "output";
            let Some(members) = members.as_object().filter(|_| known) else {
                return Err(unsayable(&format!("{at}.{side}"), "this is not"));
            };
            for (name, value) in members {
                let at = format!("{at}.{side}.{name}");
                let put = match (side.as_str(), name.as_str()) {
                    (_, "format") => format(value, &at),
                    ("input", "transcription") => {
                        transcribes(value, &at).map(|transcribes| self.transcribes = transcribes)
                    }
                    ("input", "turn_detection") | ("output", "voice" | "speed") => {
                        self.put(name, value, &at, drops)
                    }
                    (_, _) if value.is_null() => Ok(()),
                    (_, _) => Err(unsayable(&at, "this is not")),
                };
                match put {
                    Err(refusal) if !drops => return Err(refusal),
                    Ok(()) | Err(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// Gemini takes and speaks 16 bits at 24 kHz.
fn format(value: &Value, at: &str) -> Result<(), Refusal> {
    let pcm = value.get("type") == Some(&json!("audio/pcm"));
    let rate = value.get("rate").is_none_or(|rate| rate == 24_000 || rate.is_null());
    if value.is_null() || (pcm && rate) { Ok(()) } else { Err(unsayable(at, "only audio/pcm at 24000 is")) }
}

/// Which model writes down what is said is Google's choice.
fn transcribes(value: &Value, at: &str) -> Result<bool, Refusal> {
    match value {
        Value::Null => Ok(false),
        Value::Object(wanted) => {
            match wanted.iter().find(|(name, value)| *name != "model" && !value.is_null()) {
                Some((name, _)) => Err(unsayable(&format!("{at}.{name}"), "this is not")),
                None => Ok(true),
            }
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Refusal::invalid(at, "an object or null is expected"))
        }
    }
}

fn turns(value: &Value, at: &str, drops: bool) -> Result<Turns, Refusal> {
    let wanted = match value {
        Value::Null => return Ok(Turns::Stated),
        Value::Object(wanted) => wanted,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Refusal::invalid(at, "an object or null is expected"));
        }
    };
    let (mut padding, mut silence, mut interrupts) = (None, None, true);
    for (name, value) in wanted {
        match (name.as_str(), value) {
            (_, Value::Null) | ("create_response", Value::Bool(true)) => {}
            ("type", Value::String(kind)) if kind == "server_vad" => {}
            // OpenAI's default. Google has no such number.
            ("threshold", Value::Number(number)) if number.as_f64() == Some(0.5) => {}
            ("prefix_padding_ms", value) if value.is_u64() => padding = value.as_u64(),
            ("silence_duration_ms", value) if value.is_u64() => silence = value.as_u64(),
            ("interrupt_response", Value::Bool(wanted)) => interrupts = *wanted,
            _ if drops => {}
            _ => return Err(unsayable(&format!("{at}.{name}"), "this is not")),
        }
    }
    Ok(Turns::Heard { padding, silence, interrupts })
}

/// A function; its schema goes as the JSON Schema it is.
fn declaration(tool: &Value) -> Value {
    let mut declaration = Map::new();
    for (name, own) in
        [("name", "name"), ("description", "description"), ("parameters", "parametersJsonSchema")]
    {
        if let Some(value) = tool.get(name).filter(|value| !value.is_null()) {
            declaration.insert(own.to_owned(), value.clone());
        }
    }
    declaration.into()
}

pub(super) fn unsayable(at: &str, what: &str) -> Refusal {
    Refusal::untranslatable(at, format!("{what} part of Gemini's live sessions"))
}
