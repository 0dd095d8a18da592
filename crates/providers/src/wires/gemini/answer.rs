//! A `GenerateContentResponse` as a chat completion.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::stream::State;
use crate::wires::chat::{Counts, call, completion, message, wrong};
use crate::{Step, Translator, Untranslatable};

/// Reads one answer, whole or streamed.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) created: u64,
    /// How many choices were asked for.
    pub(super) choices: usize,
    pub(super) state: State,
}

impl Reader {
    pub(super) fn new(created: u64, choices: usize) -> Self {
        Self { created, choices, state: State::default() }
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let response = Response::read(body)?;
        let mut choices = Vec::with_capacity(response.candidates.len());
        for (place, candidate) in response.candidates.iter().enumerate() {
            let index = candidate.index.unwrap_or(u64::try_from(place).unwrap_or(0));
            choices.push(self.choice(&response, candidate, index)?);
        }
        if choices.is_empty() {
            if !response.is_blocked() {
                return Err(Untranslatable("there are no candidates".to_owned()));
            }
            let said = message(String::new(), String::new(), Vec::new());
            choices.push(json!({ "index": 0, "message": said, "finish_reason": "content_filter" }));
        }
        let counts = response.usage_metadata.unwrap_or_default().counts();
        Ok(completion(&response.id(self.created), self.created, &response.model_version, choices, &counts))
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.streamed(data, chunks)
    }
}

impl Reader {
    fn choice(
        &self,
        response: &Response,
        candidate: &Candidate,
        index: u64,
    ) -> Result<Value, Untranslatable> {
        let mut parts = Parts::default();
        parts.take(candidate, &response.call_id(self.created, index), None);
        let finish =
            finish_reason(candidate.finish_reason.as_deref(), parts.usable(), !parts.calls.is_empty())?;
        let mut said = message(parts.text, parts.thought, parts.calls);
        if !parts.images.is_empty() {
            said.insert("images".to_owned(), parts.images.into());
        }
        let mut choice = Map::new();
        choice.insert("index".to_owned(), index.into());
        choice.insert("message".to_owned(), said.into());
        if let Some(logprobs) = candidate.logprobs_result.as_ref() {
            choice.insert("logprobs".to_owned(), logprobs_of(logprobs));
        }
        choice.insert("finish_reason".to_owned(), finish.into());
        Ok(Value::Object(choice))
    }
}

/// One answer, or one event of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Response {
    pub(super) candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    pub(super) usage_metadata: Option<Usage>,
    pub(super) model_version: String,
    response_id: String,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Candidate {
    pub(super) index: Option<u64>,
    content: Option<Content>,
    pub(super) finish_reason: Option<String>,
    logprobs_result: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Content {
    parts: Option<Vec<Part>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Part {
    text: Option<String>,
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
    inline_data: Option<InlineData>,
}

#[derive(Debug, Deserialize)]
struct FunctionCall {
    name: String,
    #[serde(default)]
    args: Option<Map<String, Value>>,
    #[serde(default)]
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InlineData {
    mime_type: String,
    data: String,
}

/// Token counts as Google gives them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Usage {
    prompt_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
}

impl Usage {
    /// Thoughts are part of what was written.
    pub(super) fn counts(&self) -> Counts {
        let sum = |one: Option<u64>, other: Option<u64>| one.unwrap_or(0).saturating_add(other.unwrap_or(0));
        Counts {
            prompt: sum(self.prompt_token_count, self.tool_use_prompt_token_count),
            completion: sum(self.candidates_token_count, self.thoughts_token_count),
            cached: self.cached_content_token_count,
            reasoning: self.thoughts_token_count,
        }
    }
}

impl Response {
    /// Reads a body or an event; some faces put it into an array of one.
    pub(super) fn read(body: &[u8]) -> Result<Self, Untranslatable> {
        let body = body.trim_ascii();
        if body.starts_with(b"[") {
            let list: Vec<Self> = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
            let only = list.into_iter().next();
            return only.ok_or_else(|| Untranslatable("an empty list".to_owned()));
        }
        serde_json::from_slice(body).map_err(|error| wrong(&error))
    }

    /// Whether the prompt was refused by a filter.
    pub(super) fn is_blocked(&self) -> bool {
        self.prompt_feedback.as_ref().is_some_and(|feedback| feedback.block_reason.is_some())
    }

    /// The pictures of every candidate, as base64.
    pub(super) fn pictures(&self) -> Vec<String> {
        let parts = |candidate: &Candidate| {
            let content = candidate.content.as_ref().and_then(|content| content.parts.as_ref());
            content.into_iter().flatten().filter_map(picture).collect::<Vec<_>>()
        };
        self.candidates.iter().flat_map(parts).collect()
    }

    /// The first sound: its type, and its bytes as base64.
    pub(super) fn sound(&self) -> Option<(&str, &str)> {
        self.candidates
            .iter()
            .filter_map(|candidate| candidate.content.as_ref()?.parts.as_ref())
            .flatten()
            .filter_map(|part| part.inline_data.as_ref())
            .find(|data| data.mime_type.starts_with("audio/"))
            .map(|data| (data.mime_type.as_str(), data.data.as_str()))
    }

    /// Whether a candidate was stopped by a filter.
    pub(super) fn is_filtered(&self) -> bool {
        self.candidates.iter().any(|candidate| {
            finish_reason(candidate.finish_reason.as_deref(), true, false) == Ok("content_filter")
        })
    }

    /// The answer's id: Google's, or one by its time.
    pub(super) fn id(&self, created: u64) -> String {
        if self.response_id.is_empty() { format!("chatcmpl-{created}") } else { self.response_id.clone() }
    }

    /// What the ids of a choice's calls begin with, where Google gives none: letters that other providers take
    /// back, too.
    pub(super) fn call_id(&self, created: u64, choice: u64) -> String {
        let id: String = self
            .id(created)
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            .take(24)
            .collect();
        if choice == 0 { format!("call_{id}") } else { format!("call_{id}_{choice}") }
    }
}

/// The bytes of a part that is a picture, as base64.
fn picture(part: &Part) -> Option<String> {
    let data = part.inline_data.as_ref().filter(|data| data.mime_type.starts_with("image/"))?;
    Some(data.data.clone())
}

/// The parts of a candidate, by kind.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) text: String,
    pub(super) thought: String,
    pub(super) calls: Vec<Value>,
    pub(super) images: Vec<Value>,
}

impl Parts {
    /// Adds a candidate's parts. `first` is the index of its first call, inside chunks.
    pub(super) fn take(&mut self, candidate: &Candidate, id: &str, first: Option<usize>) {
        let parts = candidate.content.as_ref().and_then(|content| content.parts.as_ref());
        for part in parts.into_iter().flatten() {
            if let Some(function) = &part.function_call {
                let place = first.unwrap_or(0) + self.calls.len();
                let made = format!("{id}_{place}");
                let id = function.id.as_deref().unwrap_or(&made);
                let arguments = Value::Object(function.args.clone().unwrap_or_default()).to_string();
                let mut call = call(first.map(|_| place), id, &function.name, &arguments);
                if let (Some(signature), Some(call)) = (&part.thought_signature, call.as_object_mut()) {
                    let own = json!({ "thought_signature": signature });
                    call.insert("provider_specific_fields".to_owned(), own);
                }
                self.calls.push(call);
            }
            if let Some(InlineData { mime_type, data }) = &part.inline_data {
                let url = format!("data:{mime_type};base64,{data}");
                let index = self.images.len();
                self.images.push(json!({ "index": index, "type": "image_url", "image_url": { "url": url } }));
            }
            match (&part.text, part.thought) {
                (Some(text), true) => self.thought.push_str(text),
                (Some(text), false) => self.text.push_str(text),
                (None, _) => {}
            }
        }
    }

    /// Whether the caller can use something of it.
    pub(super) fn usable(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty() || !self.images.is_empty()
    }
}

/// OpenAI's word for a finish reason. New reasons may appear at any time: they are a stop.
///
/// # Errors
/// When the model failed to say what it wanted, and nothing usable came.
pub(super) fn finish_reason(
    reason: Option<&str>,
    usable: bool,
    calls: bool,
) -> Result<&'static str, Untranslatable> {
    match reason {
        Some("MAX_TOKENS" | "CONTINUATION") => Ok("length"),
        Some(
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "OTHER"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "IMAGE_OTHER"
            | "NO_IMAGE"
            | "ESCALATION"
            | "MODEL_ARMOR",
        ) => Ok("content_filter"),
        Some(
            reason @ ("MALFORMED_FUNCTION_CALL"
            | "MALFORMED_RESPONSE"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MISSING_THOUGHT_SIGNATURE"),
        ) if !usable => Err(Untranslatable(format!("the model gave up: {reason}"))),
        Some(_) | None if calls => Ok("tool_calls"),
        Some(_) | None => Ok("stop"),
    }
}

/// `logprobsResult` in OpenAI's shape.
fn logprobs_of(result: &Value) -> Value {
    let list = |pointer: &str| result.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let entry = |candidate: &Value| {
        json!({
            "token": candidate.get("token"),
            "logprob": candidate.get("logProbability"),
            "bytes": null,
        })
    };
    let tops = list("/topCandidates");
    let content: Vec<Value> = list("/chosenCandidates")
        .iter()
        .enumerate()
        .map(|(place, chosen)| {
            let top = tops.get(place).and_then(|top| top.get("candidates")).and_then(Value::as_array);
            let top: Vec<Value> = top.into_iter().flatten().map(entry).collect();
            let mut entry = entry(chosen);
            if let Some(members) = entry.as_object_mut() {
                members.insert("top_logprobs".to_owned(), top.into());
            }
            entry
        })
        .collect();
    json!({ "content": content })
}
