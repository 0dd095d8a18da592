//! The smallest valid body per mode, in the client's format. The deployment's wire then makes of it what it
//! makes of any client's body, so a probe travels the road of traffic.

use std::time::Duration;

use haleway_wire::{Envelope, Form};
use http::HeaderValue;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::{CannotProbe, Expectation, Probe, ProbeMemory, ProbeSettings, clip, picture};
use crate::bridge;
use crate::catalogue::ProbeCandidate;
use crate::resolve::Habits;
use crate::resolve::model::id_for;
use crate::target::{Purpose, Target};
use crate::{CallOptions, ClientBody, Mode, ModeOrigin, Operation};

/// Output cap of a model that is not known to reason, in tokens. Responses APIs refuse less.
const CAP: u64 = 16;
/// Output cap of a model that reasons, in tokens: reasoning is billed as output and comes first.
const CAP_REASONING: u64 = 256;

impl Target {
    /// The smallest request that shows whether this deployment serves `mode` (usually [`Target::mode`]).
    ///
    /// `salt` ends up in the prompt, so that no cache in front of the model answers for it.
    ///
    /// # Errors
    /// When no probe can be built. That says nothing about the deployment.
    pub fn probe(
        &self,
        mode: Mode,
        settings: &ProbeSettings,
        memory: &ProbeMemory,
        salt: u64,
    ) -> Result<Probe, CannotProbe> {
        if let Some(word) = &self.unknown_mode {
            return Err(self.no_mode(word));
        }
        if mode == Mode::Batch {
            return super::batch::probe(self, settings);
        }
        if mode == Mode::Http {
            return super::http::probe(self, &settings.http.clone().unwrap_or_default());
        }
        if mode == Mode::VideoGeneration {
            return super::video::probe(self, self.probe_model(settings, memory)?.0.as_deref());
        }
        if mode == Mode::Realtime {
            return super::realtime::probe(self, settings);
        }
        let mode = self.asked_as(mode)?;
        let operation = operation(mode)?;
        if !self.serves(operation) {
            return Err(CannotProbe {
                code: "unsupported_by_provider",
                message: format!(
                    "{} does not serve {mode} ({operation}): correct model_info.mode of {:?}",
                    self.provider.id, self.full_model
                ),
            });
        }
        let (model, candidate) = self.probe_model(settings, memory)?;
        let habits = match &model {
            Some(model) => Habits::of(self.provider, model, self.facts_of(model).as_ref()),
            None => self.defaults.habits,
        };
        let draft = Draft {
            habits,
            target: self,
            mode,
            settings,
            memory,
            salt,
            model: model.as_deref().unwrap_or(&self.wire_model),
        };
        let body = draft.body();
        let stream = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
        let expect = Expectation { candidate, ..draft.expectation(&body, stream) };
        let form = draft.form(operation, &body);
        let text = Value::Object(body).to_string();
        let invalid = |message: String| CannotProbe { code: "invalid_settings", message };
        let envelope = Envelope::parse(text.as_bytes()).map_err(|error| invalid(error.to_string()))?;
        let options = CallOptions { stream, ..CallOptions::default() };
        let purpose = Purpose::Probe { omit: &memory.dropped };
        let mut call = self
            .build(
                operation,
                ClientBody { members: &envelope, form: form.as_ref() },
                model.as_deref(),
                options,
                purpose,
            )
            .map_err(|refusal| invalid(format!("health_check_params cannot be sent: {}", refusal.message)))?;
        call.headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Ok(Probe { call, expect, deadline: draft.deadline(), prices: self.prices_of(model.as_deref()) })
    }

    /// The mode on the wire: calls that are served over another API are probed over it, since that is where they go.
    fn asked_as(&self, mode: Mode) -> Result<Mode, CannotProbe> {
        let operation = operation(mode)?;
        if self.serves(operation) || !bridge::serves(self, operation) {
            return Ok(mode);
        }
        Ok(if self.serves(Operation::Chat) { Mode::Chat } else { Mode::Responses })
    }

    fn no_mode(&self, word: &str) -> CannotProbe {
        if self.mode_origin == ModeOrigin::CatalogueUnknown {
            return CannotProbe {
                code: "mode_without_probe",
                message: format!(
                    "the catalogue says that {:?} is for {word}, for which there is no probe: set model_info.mode to \
                     have it probed as something else",
                    self.full_model
                ),
            };
        }
        CannotProbe {
            code: "mode_unknown",
            message: format!(
                "model_info.mode {word:?} is no mode, so the deployment is not probed: correct model_info.mode"
            ),
        }
    }

    /// The wire model of the probe, when it is not the deployment's own, and the catalogue's name that it came from.
    fn probe_model(
        &self,
        settings: &ProbeSettings,
        memory: &ProbeMemory,
    ) -> Result<(Option<String>, Option<String>), CannotProbe> {
        let wire = |model: &str| Some(id_for(self.provider, &self.provider_name, model));
        if let Some(model) = settings.model.as_deref().map(str::trim).filter(|model| !model.is_empty()) {
            return Ok((wire(model), None));
        }
        if !self.wildcard {
            return Ok((None, None));
        }
        let today = settings.now_ms.and_then(day_of);
        let current = |candidate: &&ProbeCandidate| {
            let retired = candidate.deprecated_on.zip(today).is_some_and(|(day, today)| day <= today);
            !retired && !memory.absent.contains(&candidate.model)
        };
        match self.probe_candidates.iter().find(current) {
            Some(candidate) => Ok((wire(&candidate.model), Some(candidate.model.clone()))),
            None => Err(CannotProbe {
                code: "no_probe_model",
                message: format!(
                    "{:?} serves many models: name the one to probe in model_info.health_check_model",
                    self.full_model
                ),
            }),
        }
    }
}

/// The day of a time in milliseconds, in UTC.
fn day_of(now_ms: u64) -> Option<Date> {
    let now = Timestamp::from_millisecond(i64::try_from(now_ms).ok()?).ok()?;
    Some(TimeZone::UTC.to_datetime(now).date())
}

/// The operation that proves a mode.
pub(super) fn operation(mode: Mode) -> Result<Operation, CannotProbe> {
    match mode {
        Mode::Chat => Ok(Operation::Chat),
        Mode::Completion => Ok(Operation::Completions),
        Mode::Embedding => Ok(Operation::Embeddings),
        Mode::Responses => Ok(Operation::Responses),
        Mode::Rerank => Ok(Operation::Rerank),
        Mode::AnthropicMessages => Ok(Operation::Messages),
        Mode::AudioSpeech => Ok(Operation::Speech),
        Mode::ImageGeneration => Ok(Operation::Images),
        Mode::AudioTranscription => Ok(Operation::Transcriptions),
        Mode::ImageEdit => Ok(Operation::ImageEdits),
        Mode::Ocr => Ok(Operation::Ocr),
        Mode::Realtime => Ok(Operation::Realtime),
        Mode::VideoGeneration | Mode::Batch | Mode::Http => Err(CannotProbe {
            code: "mode_without_probe",
            message: format!(
                "there is no probe for model_info.mode {mode:?}; its health comes from traffic",
                mode = mode.as_str()
            ),
        }),
    }
}

struct Draft<'a> {
    /// How the model that is asked wants to be called.
    habits: Habits,
    target: &'a Target,
    mode: Mode,
    settings: &'a ProbeSettings,
    memory: &'a ProbeMemory,
    salt: u64,
    model: &'a str,
}

impl Draft<'_> {
    /// The body in the client's format, without `model` (the wire puts it in).
    fn body(&self) -> Map<String, Value> {
        let mut body = match self.mode {
            Mode::Chat | Mode::AnthropicMessages => self.chat(),
            Mode::Responses => self.responses(),
            Mode::Completion => {
                let mut body = object(json!({ "prompt": self.text("The capital of France is") }));
                self.put_cap(&mut body, "max_tokens");
                body
            }
            Mode::Embedding => self.embedding(),
            Mode::Rerank => object(json!({ "query": self.text("a"), "documents": ["a"], "top_n": 1 })),
            Mode::AudioSpeech => {
                super::speech::body(self.target, self.settings, self.memory, &self.text("ok"))
            }
            Mode::ImageGeneration => super::image::body(self.model, &self.text("a small grey dot")),
            Mode::ImageEdit => super::image::body(self.model, &self.text("make the dot a little darker")),
            Mode::AudioTranscription => object(json!({ "response_format": "json" })),
            Mode::Ocr => super::ocr::body(),
            Mode::VideoGeneration | Mode::Realtime | Mode::Batch | Mode::Http => Map::new(),
        };
        for (name, value) in &self.settings.params {
            body.insert(name.clone(), value.clone());
        }
        body.retain(|name, value| !value.is_null() && name != "model" && !self.memory.dropped.contains(name));
        // Without a model the envelope has none to patch; first, as everyone writes it.
        let mut whole = Map::with_capacity(body.len() + 1);
        whole.insert("model".to_owned(), self.model.into());
        whole.extend(body);
        whole
    }

    /// The same fields and the project's own file, where the operation takes a form.
    fn form(&self, operation: Operation, body: &Map<String, Value>) -> Option<Form> {
        let name = operation.file()?;
        let mut form = Form::new("haleway-probe");
        for (name, value) in body {
            match value {
                Value::String(text) => form.push_text(name, text),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                    form.push_text(name, &value.to_string());
                }
            }
        }
        match self.mode {
            Mode::AudioTranscription => form.push_file(name, "probe.wav", "audio/wav", clip::wav()),
            Mode::ImageEdit => form.push_file(name, "probe.png", "image/png", picture::dot()),
            Mode::Chat
            | Mode::Completion
            | Mode::Embedding
            | Mode::AudioSpeech
            | Mode::ImageGeneration
            | Mode::VideoGeneration
            | Mode::Rerank
            | Mode::Realtime
            | Mode::Batch
            | Mode::Responses
            | Mode::Ocr
            | Mode::AnthropicMessages
            | Mode::Http => {}
        }
        Some(form)
    }

    fn chat(&self) -> Map<String, Value> {
        let content = format!("Reply with the digit 2. (ref {:04x})", self.salt & 0xffff);
        let mut body = object(json!({ "messages": [{ "role": "user", "content": content }] }));
        let cap =
            if self.mode == Mode::Chat && (self.habits.completion_tokens || self.memory.completion_tokens) {
                "max_completion_tokens"
            } else {
                "max_tokens"
            };
        self.put_cap(&mut body, cap);
        if self.mode == Mode::Chat
            && let Some(effort) = self.effort()
        {
            body.insert("reasoning_effort".to_owned(), effort.into());
        }
        self.put_stream(&mut body);
        body
    }

    fn responses(&self) -> Map<String, Value> {
        let input = format!("Reply with the digit 2. (ref {:04x})", self.salt & 0xffff);
        let mut body = object(json!({ "input": input }));
        self.put_cap(&mut body, "max_output_tokens");
        body.insert("store".to_owned(), false.into());
        if let Some(effort) = self.effort() {
            body.insert("reasoning".to_owned(), json!({ "effort": effort }));
        }
        body
    }

    /// The operator's reasoning effort, else the lowest that the model is known to take: a probe has nothing to
    /// reason about.
    fn effort(&self) -> Option<&str> {
        self.settings.reasoning_effort.as_deref().or(self.habits.least_effort)
    }

    fn embedding(&self) -> Map<String, Value> {
        let mut body = object(json!({ "input": [self.text("ok")] }));
        if let Some(input_type) = &self.memory.input_type {
            body.insert("input_type".to_owned(), input_type.as_str().into());
        }
        body
    }

    /// The operator's text for probes that are not chat, or ours.
    fn text(&self, ours: &str) -> String {
        self.settings
            .prompt
            .clone()
            .filter(|prompt| !prompt.trim().is_empty())
            .unwrap_or_else(|| ours.to_owned())
    }

    fn put_cap(&self, body: &mut Map<String, Value>, name: &str) {
        // Anthropic takes no request without a cap.
        let needed = self.mode == Mode::AnthropicMessages;
        if self.settings.supports_max_tokens != Some(false) || needed {
            body.insert(name.to_owned(), self.cap().into());
        }
    }

    fn put_stream(&self, body: &mut Map<String, Value>) {
        if self.memory.stream_only || self.target.defaults.stream {
            body.insert("stream".to_owned(), true.into());
        }
    }

    /// The operator's cap by LiteLLM's precedence, raised to what this deployment was seen to need.
    fn cap(&self) -> u64 {
        let settings = self.settings;
        let reasons = self.habits.reasons || self.memory.reasons;
        let by_kind = if reasons { settings.max_tokens_reasoning } else { settings.max_tokens_non_reasoning };
        let by_env = if reasons {
            settings.env_max_tokens_reasoning.or(settings.env_max_tokens)
        } else {
            settings.env_max_tokens
        };
        let default = if reasons { CAP_REASONING } else { CAP };
        let wished = settings.max_tokens.or(by_kind).or(by_env).unwrap_or(default);
        wished.max(self.memory.cap_floor.unwrap_or(0)).max(self.memory.cap_raised.unwrap_or(0))
    }

    fn expectation(&self, body: &Map<String, Value>, stream: bool) -> Expectation {
        let cap = ["max_completion_tokens", "max_tokens", "max_output_tokens"]
            .iter()
            .find_map(|name| body.get(*name).and_then(Value::as_u64));
        let configured = self.target.defaults.params.iter().find(|(name, _)| name == "dimensions");
        let dimensions = body
            .get("dimensions")
            .and_then(Value::as_u64)
            .or_else(|| configured.and_then(|(_, value)| serde_json::from_slice(value).ok()))
            .and_then(|dimensions| usize::try_from(dimensions).ok());
        Expectation {
            mode: self.mode,
            free: false,
            stream,
            repaired: false,
            cap,
            dimensions: dimensions.filter(|_| self.mode == Mode::Embedding),
            documents: body.get("documents").and_then(Value::as_array).map_or(0, Vec::len),
            http: None,
            candidate: None,
        }
    }

    /// How long the mode may take when the operator says nothing.
    fn deadline(&self) -> Duration {
        let slow = self.habits.reasons
            || self.memory.reasons
            || self.target.provider.key == crate::registry::KeyNeed::Optional;
        Duration::from_secs(match self.mode {
            Mode::Chat
            | Mode::Completion
            | Mode::Responses
            | Mode::AnthropicMessages
            | Mode::Embedding
            | Mode::Rerank => {
                if slow {
                    30
                } else {
                    10
                }
            }
            Mode::AudioSpeech | Mode::AudioTranscription => 20,
            Mode::ImageGeneration | Mode::ImageEdit => 120,
            Mode::VideoGeneration => 30,
            Mode::Realtime | Mode::Batch | Mode::Http => 5,
            Mode::Ocr => 60,
        })
    }
}

/// The members of a JSON object literal.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
