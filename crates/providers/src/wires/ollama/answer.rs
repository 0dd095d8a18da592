//! A `/api/chat` answer as a chat completion, and its lines as chunks: each line is an answer with the next piece
//! of the message, the last one has `done`.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::wires::chat::{Chunks, Counts, call, completion, message, wrong};
use crate::{Framing, Step, Translator, Untranslatable};

/// Reads one answer, whole or streamed.
#[derive(Debug)]
pub(super) struct Reader {
    created: u64,
    /// The model, for answers that do not name it.
    model: String,
    chunks: Chunks,
    /// Tool calls begun.
    calls: usize,
    over: bool,
}

impl Reader {
    pub(super) fn new(created: u64, model: &str) -> Self {
        Self { created, model: model.to_owned(), chunks: Chunks::default(), calls: 0, over: false }
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Answer = serde_json::from_slice(body).map_err(|error| wrong(&error))?;
        let said = answer.message.ok_or_else(|| Untranslatable("there is no message".to_owned()))?;
        let calls: Vec<Value> = said
            .tool_calls
            .iter()
            .flatten()
            .enumerate()
            .map(|(place, made)| made.call(None, place, &answer.end.created_at))
            .collect();
        let finish = answer.end.finish_reason(!calls.is_empty());
        let said = message(said.content.unwrap_or_default(), said.thinking.unwrap_or_default(), calls);
        let choice = json!({ "index": 0, "message": said, "finish_reason": finish });
        let model = answer.end.model(&self.model);
        let id = answer.end.id("chatcmpl");
        Ok(completion(&id, self.created, model, vec![choice], &answer.end.counts()))
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        // Blank lines say nothing, and neither does what follows the end.
        if self.over || data.is_empty() {
            return Step::More;
        }
        let answer: Answer = match serde_json::from_slice(data) {
            Ok(answer) => answer,
            Err(error) => return Step::Malformed(error.to_string()),
        };
        if answer.end.error.is_some() {
            return Step::Failed(Bytes::copy_from_slice(data));
        }
        if !self.chunks.begun() {
            self.chunks.begin(&answer.end.id("chatcmpl"), self.created, answer.end.model(&self.model));
            chunks.push(self.chunks.role(0));
        }
        if let Some(said) = answer.message {
            for (member, text) in [("reasoning_content", said.thinking), ("content", said.content)] {
                if let Some(text) = text.filter(|text| !text.is_empty()) {
                    chunks.push(self.chunks.delta(0, &json!({ member: text }), None));
                }
            }
            for made in said.tool_calls.iter().flatten() {
                let call = made.call(Some(self.calls), self.calls, &answer.end.created_at);
                self.calls += 1;
                chunks.push(self.chunks.delta(0, &json!({ "tool_calls": [call] }), None));
            }
        }
        if !answer.end.done {
            return Step::More;
        }
        self.over = true;
        let finish = answer.end.finish_reason(self.calls > 0);
        chunks.push(self.chunks.delta(0, &json!({}), Some(finish)));
        chunks.push(self.chunks.usage(&answer.end.counts()));
        Step::Done
    }

    fn framing(&self) -> Framing {
        Framing::JsonLines
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    message: Option<Message>,
    #[serde(flatten)]
    end: End,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCall>>,
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

impl ToolCall {
    /// In OpenAI's shape. Older servers give no id: the time of the answer and the call's place make one.
    fn call(&self, index: Option<usize>, place: usize, time: &str) -> Value {
        let made = format!("call_{}_{place}", digits(time));
        let arguments = Value::Object(self.function.arguments.clone().unwrap_or_default()).to_string();
        call(index, self.id.as_deref().unwrap_or(&made), &self.function.name, &arguments)
    }
}

/// What every answer of Ollama's has.
#[derive(Deserialize)]
pub(super) struct End {
    #[serde(default)]
    model: String,
    #[serde(default)]
    created_at: String,
    #[serde(default)]
    pub(super) done: bool,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
    #[serde(default)]
    eval_count: Option<u64>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

impl End {
    /// The model, as the answer names it.
    pub(super) fn model<'a>(&'a self, asked: &'a str) -> &'a str {
        if self.model.is_empty() { asked } else { &self.model }
    }

    /// An id by the time of the answer: Ollama gives none.
    pub(super) fn id(&self, kind: &str) -> String {
        format!("{kind}-{}", digits(&self.created_at))
    }

    /// OpenAI's word for why the model stopped; `load` and `unload` said nothing, which their content shows.
    pub(super) fn finish_reason(&self, calls: bool) -> &'static str {
        match self.done_reason.as_deref() {
            Some("length") => "length",
            Some(_) | None if calls => "tool_calls",
            Some(_) | None => "stop",
        }
    }

    /// Token counts. A prompt that was cached whole is not counted.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            prompt: self.prompt_eval_count.unwrap_or(0),
            completion: self.eval_count.unwrap_or(0),
            cached: None,
            reasoning: None,
        }
    }
}

/// The digits of a time: `2026-11-30T10:00:00.5Z` as `202611301000005`.
fn digits(time: &str) -> String {
    time.chars().filter(char::is_ascii_digit).take(23).collect()
}
