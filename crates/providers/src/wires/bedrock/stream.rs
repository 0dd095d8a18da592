//! A ConverseStream as chat chunks, event by event.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{Reader, Usage, finish_reason};
use super::tools::JSON_TOOL;
use crate::Step;
use crate::events::EXCEPTION;
use crate::wires::chat::{Chunks, call};

/// What is known of a stream so far.
#[derive(Debug, Default)]
pub(super) struct State {
    chunks: Chunks,
    /// Tool calls begun: the index of the next one.
    calls: usize,
    block: Block,
    answered_by_tool: bool,
}

/// The content block that is being streamed.
#[derive(Debug, Default, PartialEq, Eq)]
enum Block {
    /// Text, thinking, or a kind that is left out. Such blocks begin with their first delta.
    #[default]
    Plain,
    /// A tool call, and whether its arguments have begun.
    Call { index: usize, begun: bool },
    /// The tool that stands for the answer.
    Answer,
}

/// What any event may hold.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Event<'a> {
    #[serde(borrow)]
    start: Option<Start<'a>>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
    usage: Option<Usage>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Start<'a> {
    #[serde(borrow)]
    tool_use: Option<Begun<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Begun<'a> {
    #[serde(borrow)]
    tool_use_id: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_use: Option<Input<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Thought<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Input<'a> {
    #[serde(borrow)]
    input: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Thought<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    redacted_content: Option<Cow<'a, str>>,
}

impl Reader {
    pub(super) fn streamed(&mut self, name: &str, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        if name == EXCEPTION {
            return Step::Failed(Bytes::copy_from_slice(data));
        }
        let event: Event<'_> = match serde_json::from_slice(data) {
            Ok(event) => event,
            Err(error) => return Step::Malformed(format!("an event of the stream is broken: {error}")),
        };
        if name != "messageStart" && !self.state.chunks.begun() {
            self.begin(chunks);
        }
        match name {
            "messageStart" => self.begin(chunks),
            "contentBlockStart" => self.open(event.start.and_then(|start| start.tool_use), chunks),
            "contentBlockDelta" => self.delta(event.delta.unwrap_or_default(), chunks),
            "contentBlockStop" => self.close(chunks),
            "messageStop" => {
                let finish = match finish_reason(event.stop_reason.as_deref().unwrap_or_default()) {
                    Ok(finish) => finish,
                    Err(what) => return Step::Malformed(what),
                };
                let only_answer = self.state.answered_by_tool && self.state.calls == 0;
                let finish = if finish == "tool_calls" && only_answer { "stop" } else { finish };
                chunks.push(self.state.chunks.delta(0, &json!({}), Some(finish)));
            }
            "metadata" => {
                chunks.push(self.state.chunks.usage(&event.usage.unwrap_or_default().counts()));
                return Step::Done;
            }
            // Events that are yet to come.
            _ => {}
        }
        Step::More
    }

    fn begin(&mut self, chunks: &mut Vec<Bytes>) {
        self.state.chunks.begin(&self.id, self.created, &self.model);
        chunks.push(self.state.chunks.role(0));
    }

    fn put(&self, delta: &Value, chunks: &mut Vec<Bytes>) {
        chunks.push(self.state.chunks.delta(0, delta, None));
    }

    fn open(&mut self, begun: Option<Begun<'_>>, chunks: &mut Vec<Bytes>) {
        self.state.block = match begun {
            None => Block::Plain,
            Some(begun) if self.json_tool && begun.name == JSON_TOOL => {
                self.state.answered_by_tool = true;
                Block::Answer
            }
            Some(begun) => {
                let index = self.state.calls;
                self.state.calls += 1;
                let call = call(Some(index), &begun.tool_use_id, &begun.name, "");
                self.put(&json!({ "tool_calls": [call] }), chunks);
                Block::Call { index, begun: false }
            }
        };
    }

    fn delta(&mut self, delta: Delta<'_>, chunks: &mut Vec<Bytes>) {
        if let Some(text) = delta.text {
            self.put(&json!({ "content": text }), chunks);
        }
        if let Some(input) = delta.tool_use.filter(|input| !input.input.is_empty()) {
            match self.state.block {
                Block::Answer => self.put(&json!({ "content": input.input }), chunks),
                Block::Call { .. } => self.arguments(&input.input, chunks),
                Block::Plain => {}
            }
        }
        let Some(thought) = delta.reasoning_content else { return };
        if let Some(text) = thought.text {
            let block = json!({ "type": "thinking", "thinking": text });
            self.put(&json!({ "reasoning_content": text, "thinking_blocks": [block] }), chunks);
        }
        if let Some(signature) = thought.signature {
            let block = json!({ "type": "thinking", "thinking": "", "signature": signature });
            self.put(&json!({ "thinking_blocks": [block] }), chunks);
        }
        if let Some(data) = thought.redacted_content {
            let block = json!({ "type": "redacted_thinking", "data": data });
            self.put(&json!({ "thinking_blocks": [block] }), chunks);
        }
    }

    fn arguments(&mut self, text: &str, chunks: &mut Vec<Bytes>) {
        if let Block::Call { index, begun } = &mut self.state.block {
            *begun = true;
            let call = json!({ "index": *index, "function": { "arguments": text } });
            self.put(&json!({ "tool_calls": [call] }), chunks);
        }
    }

    /// A tool call without arguments has the empty object.
    fn close(&mut self, chunks: &mut Vec<Bytes>) {
        if let Block::Call { begun: false, .. } = self.state.block {
            self.arguments("{}", chunks);
        }
        self.state.block = Block::Plain;
    }
}
