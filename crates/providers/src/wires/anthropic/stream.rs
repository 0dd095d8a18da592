//! A message stream as chat chunks, event by event. Text is moved as the JSON string it came as.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::answer::{Reader, Usage, finish_reason};
use super::tools::JSON_TOOL;
use crate::Step;
use crate::target::json_string;

/// What is known of a stream so far.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Everything of a chunk before its delta.
    head: Bytes,
    usage: Usage,
    /// Tool calls begun: the index of the next one.
    calls: usize,
    block: Block,
    answered_by_tool: bool,
}

/// The content block that is being streamed.
#[derive(Debug, Default, PartialEq, Eq)]
enum Block {
    /// Text, thinking, or a kind that is left out.
    #[default]
    Plain,
    /// A tool call, and whether its arguments have begun.
    Call { index: usize, begun: bool },
    /// The tool that stands for the answer.
    Answer,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    message: Option<Start<'a>>,
    #[serde(borrow, default)]
    content_block: Option<Opened<'a>>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Start<'a> {
    #[serde(borrow, default)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    model: Cow<'a, str>,
    #[serde(default)]
    usage: Usage,
}

#[derive(Deserialize)]
struct Opened<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow, default)]
    signature: Option<&'a RawValue>,
    #[serde(borrow, default)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stop_reason: Option<Cow<'a, str>>,
}

impl Reader {
    /// One event's chunks.
    pub(super) fn streamed(&mut self, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        // Comments say nothing.
        if data.is_empty() {
            return Step::More;
        }
        let event: Event<'_> = match serde_json::from_slice(data) {
            Ok(event) => event,
            Err(error) => return Step::Malformed(error.to_string()),
        };
        match event.kind.as_ref() {
            kind if self.state.head.is_empty()
                && (kind.starts_with("content_block") || kind.starts_with("message_"))
                && kind != "message_start" =>
            {
                return Step::Malformed(format!("{kind} comes before message_start"));
            }
            "message_start" => {
                let Some(start) = event.message else {
                    return Step::Malformed("message_start has no message".to_owned());
                };
                self.start(&start, chunks);
            }
            "content_block_start" => self.open(event.content_block.as_ref(), chunks),
            "content_block_delta" => {
                if let Some(delta) = &event.delta {
                    self.delta(delta, chunks);
                }
            }
            "content_block_stop" => self.close(chunks),
            "message_delta" => {
                if let Some(usage) = &event.usage {
                    self.state.usage.update(usage);
                }
                if let Some(stop) = event.delta.and_then(|delta| delta.stop_reason) {
                    self.finish(&stop, chunks);
                }
            }
            "message_stop" => {
                chunks.push(self.usage_chunk());
                return Step::Done;
            }
            "error" => return Step::Failed(Bytes::copy_from_slice(data)),
            // Pings, and events that are yet to come.
            _ => {}
        }
        Step::More
    }

    fn start(&mut self, start: &Start<'_>, chunks: &mut Vec<Bytes>) {
        self.state.usage = start.usage;
        let mut head = BytesMut::with_capacity(160);
        head.put_slice(b"{\"id\":");
        head.put_slice(&json_string(&start.id));
        head.put_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
        head.put_slice(self.created.to_string().as_bytes());
        head.put_slice(b",\"model\":");
        head.put_slice(&json_string(&start.model));
        self.state.head = head.freeze();
        chunks.push(self.chunk(&[b"{\"role\":\"assistant\",\"content\":\"\"}"], None));
    }

    fn open(&mut self, opened: Option<&Opened<'_>>, chunks: &mut Vec<Bytes>) {
        self.state.block = Block::Plain;
        let Some(opened) = opened else { return };
        let raw = |value: Option<&RawValue>| value.map_or("\"\"", RawValue::get).to_owned();
        match opened.kind.as_ref() {
            "tool_use"
                if self.json_tool
                    && opened.name.is_some_and(|name| name.get().trim_matches('"') == JSON_TOOL) =>
            {
                self.state.block = Block::Answer;
                self.state.answered_by_tool = true;
            }
            "tool_use" => {
                let index = self.state.calls;
                self.state.calls += 1;
                let call = format!(
                    r#"{{"tool_calls":[{{"index":{index},"id":{},"type":"function","function":{{"name":{},"arguments":""}}}}]}}"#,
                    raw(opened.id),
                    raw(opened.name)
                );
                chunks.push(self.chunk(&[call.as_bytes()], None));
                self.state.block = Block::Call { index, begun: false };
                // Some servers give the whole input at once.
                if let Some(input) = opened.input.filter(|input| !matches!(input.get(), "{}" | "null")) {
                    let text = json_string(input.get());
                    self.arguments(&text, chunks);
                }
            }
            "redacted_thinking" => {
                let block = format!(
                    r#"{{"thinking_blocks":[{{"type":"redacted_thinking","data":{}}}]}}"#,
                    raw(opened.data)
                );
                chunks.push(self.chunk(&[block.as_bytes()], None));
            }
            "text" => {
                if let Some(text) = opened.text.filter(|text| text.get() != "\"\"") {
                    chunks.push(self.chunk(&[b"{\"content\":", text.get().as_bytes(), b"}"], None));
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, delta: &Delta<'_>, chunks: &mut Vec<Bytes>) {
        let chunk =
            match (delta.kind.as_ref(), delta.text, delta.thinking, delta.signature, delta.partial_json) {
                ("text_delta", Some(text), ..) => {
                    self.chunk(&[b"{\"content\":", text.get().as_bytes(), b"}"], None)
                }
                ("thinking_delta", _, Some(thought), ..) => {
                    let thought = thought.get().as_bytes();
                    let block = b",\"thinking_blocks\":[{\"type\":\"thinking\",\"thinking\":";
                    self.chunk(&[b"{\"reasoning_content\":", thought, block, thought, b"}]}"], None)
                }
                ("signature_delta", _, _, Some(signature), _) => {
                    let block =
                        b"{\"thinking_blocks\":[{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":";
                    self.chunk(&[block, signature.get().as_bytes(), b"}]}"], None)
                }
                ("input_json_delta", .., Some(part)) if self.state.block == Block::Answer => {
                    self.chunk(&[b"{\"content\":", part.get().as_bytes(), b"}"], None)
                }
                ("input_json_delta", .., Some(part)) => {
                    // The first one is often empty: it begins nothing.
                    if part.get() != "\"\"" {
                        self.arguments(part.get().as_bytes(), chunks);
                    }
                    return;
                }
                _ => return,
            };
        chunks.push(chunk);
    }

    fn arguments(&mut self, text: &[u8], chunks: &mut Vec<Bytes>) {
        if let Block::Call { index, begun } = &mut self.state.block {
            *begun = true;
            let head = format!(r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":"#);
            chunks.push(self.chunk(&[head.as_bytes(), text, b"}}]}"], None));
        }
    }

    /// A tool call without arguments has the empty object.
    fn close(&mut self, chunks: &mut Vec<Bytes>) {
        if let Block::Call { begun: false, .. } = self.state.block {
            self.arguments(b"\"{}\"", chunks);
        }
        self.state.block = Block::Plain;
    }

    fn finish(&mut self, stop: &str, chunks: &mut Vec<Bytes>) {
        let finish = finish_reason(Some(stop));
        let only_answer = self.state.answered_by_tool && self.state.calls == 0;
        let finish = if finish == "tool_calls" && only_answer { "stop" } else { finish };
        chunks.push(self.chunk(&[b"{}"], Some(finish)));
    }

    /// One chunk: `parts` joined are its delta.
    fn chunk(&self, parts: &[&[u8]], finish: Option<&str>) -> Bytes {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        let mut out = BytesMut::with_capacity(self.state.head.len() + size + 80);
        out.put_slice(&self.state.head);
        out.put_slice(b",\"choices\":[{\"index\":0,\"delta\":");
        for part in parts {
            out.put_slice(part);
        }
        match finish {
            Some(finish) => {
                out.put_slice(b",\"finish_reason\":\"");
                out.put_slice(finish.as_bytes());
                out.put_slice(b"\"}]}");
            }
            None => out.put_slice(b",\"finish_reason\":null}]}"),
        }
        out.freeze()
    }

    fn usage_chunk(&self) -> Bytes {
        let usage: Value = self.state.usage.openai();
        let usage = usage.to_string();
        let mut out = BytesMut::with_capacity(self.state.head.len() + usage.len() + 32);
        out.put_slice(&self.state.head);
        out.put_slice(b",\"choices\":[],\"usage\":");
        out.put_slice(usage.as_bytes());
        out.put_slice(b"}");
        out.freeze()
    }
}
