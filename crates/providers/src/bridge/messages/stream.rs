//! Chat chunks as the events of a message, each beginning with its type.
//!
//! A message is one block after the other: what is begun is ended before another kind begins. Its end waits for the
//! token counts, which follow the finish reason.

use std::io::Write as _;

use bytes::Bytes;
use haleway_wire::chat::Finish;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::chat::{Chunk, DONE, Delta, ToolCall, Usage};
use super::answer::{message_id, stop_reason, usage};
use crate::Step;

/// What is known of a stream so far.
#[derive(Debug, Default)]
pub(super) struct State {
    begun: bool,
    ended: bool,
    /// The blocks begun so far: the index of the next one.
    blocks: usize,
    open: Option<Open>,
    /// The id of the tool call that is open, as written.
    call_id: String,
    called: bool,
    refused: bool,
    finish: Option<Finish>,
    usage: Usage,
}

/// The block that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
    /// The tool call that chat counts so.
    Call(u64),
}

impl State {
    /// One chunk.
    pub(super) fn chunk(&mut self, data: &[u8], out: &mut Vec<Bytes>) -> Step {
        if self.ended {
            return Step::More;
        }
        if data.trim_ascii() == DONE {
            return self.close(out);
        }
        let chunk = match Chunk::parse(data) {
            Ok(chunk) => chunk,
            Err(step) => return step,
        };
        if let Some(usage) = chunk.usage() {
            self.usage = usage;
        }
        if !self.begun && (chunk.delta().is_some() || chunk.finish().is_some()) {
            self.begin(&chunk, out);
        }
        if let Some(delta) = chunk.delta()
            && let Err(step) = self.delta(delta, out)
        {
            return step;
        }
        if let Some(finish) = chunk.finish() {
            self.stop_block(out);
            self.finish.get_or_insert(finish);
        }
        Step::More
    }

    /// The stream ended without an end mark: well, if it said how it ended.
    pub(super) fn end(&mut self, out: &mut Vec<Bytes>) -> Step {
        if self.ended || self.finish.is_none() { Step::More } else { self.close(out) }
    }

    fn begin(&mut self, chunk: &Chunk<'_>, out: &mut Vec<Bytes>) {
        self.begun = true;
        let start = json!({
            "type": "message_start",
            "message": {
                "id": message_id(chunk.id.as_deref().unwrap_or("")),
                "type": "message",
                "role": "assistant",
                "model": chunk.model.as_deref().unwrap_or(""),
                "content": [],
                "stop_reason": null,
                "stop_sequence": null,
                "usage": usage(&self.usage),
            },
        });
        out.push(start.to_string().into());
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Vec<Bytes>) -> Result<(), Step> {
        let kept = delta.thinking_blocks.as_deref().unwrap_or_default();
        if let Some(thought) = delta.thought() {
            self.enter(Open::Thinking, out);
            self.say(r#"{"type":"thinking_delta","thinking":"#, thought, out);
        }
        for block in kept {
            if let Some(data) = block.data {
                self.redacted(data, out);
            } else if let Some(signature) = block.signature.filter(|raw| raw.get().len() > 2) {
                self.enter(Open::Thinking, out);
                self.say(r#"{"type":"signature_delta","signature":"#, signature, out);
            }
        }
        if let Some(text) = delta.text() {
            self.enter(Open::Text, out);
            self.say(r#"{"type":"text_delta","text":"#, text, out);
        }
        if let Some(refusal) = delta.refusal() {
            self.refused = true;
            self.enter(Open::Text, out);
            self.say(r#"{"type":"text_delta","text":"#, refusal, out);
        }
        delta.calls().try_for_each(|call| self.call(call, out))
    }

    fn call(&mut self, call: &ToolCall<'_>, out: &mut Vec<Bytes>) -> Result<(), Step> {
        let function = call.function.as_ref();
        let name = function.and_then(|function| function.name).filter(|name| name.get().len() > 2);
        let index = call.index.unwrap_or(0);
        let id = call.id.filter(|id| id.get().len() > 2);
        // Some servers repeat name and id in every piece, others count every call as the first.
        let same = name.is_none() || id.is_none_or(|id| id.get() == self.call_id);
        if self.open != Some(Open::Call(index)) || !same {
            let Some(name) = name else {
                return Err(Step::Malformed("arguments of a tool call that is not open".to_owned()));
            };
            self.stop_block(out);
            self.called = true;
            let id = id.map_or("\"\"", RawValue::get);
            id.clone_into(&mut self.call_id);
            self.start_block(
                format_args!(r#"{{"type":"tool_use","id":{id},"name":{},"input":{{}}}}"#, name.get()),
                out,
            );
            self.open = Some(Open::Call(index));
        }
        let arguments = function.and_then(|function| function.arguments);
        if let Some(arguments) = arguments.filter(|raw| raw.get().len() > 2 && raw.get().starts_with('"')) {
            self.say(r#"{"type":"input_json_delta","partial_json":"#, arguments, out);
        }
        Ok(())
    }

    /// A thought that is kept from sight comes in one piece.
    fn redacted(&mut self, data: &RawValue, out: &mut Vec<Bytes>) {
        self.stop_block(out);
        self.start_block(format_args!(r#"{{"type":"redacted_thinking","data":{}}}"#, data.get()), out);
        self.open = Some(Open::Thinking);
        self.stop_block(out);
    }

    /// Makes `wanted` the open block.
    fn enter(&mut self, wanted: Open, out: &mut Vec<Bytes>) {
        if self.open == Some(wanted) {
            return;
        }
        self.stop_block(out);
        let empty = match wanted {
            Open::Thinking => r#"{"type":"thinking","thinking":"","signature":""}"#,
            Open::Text | Open::Call(_) => r#"{"type":"text","text":""}"#,
        };
        self.start_block(format_args!("{empty}"), out);
        self.open = Some(wanted);
    }

    fn start_block(&mut self, block: std::fmt::Arguments<'_>, out: &mut Vec<Bytes>) {
        let index = self.blocks;
        self.blocks += 1;
        let event = format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#);
        out.push(event.into());
    }

    fn stop_block(&mut self, out: &mut Vec<Bytes>) {
        if self.open.take().is_some() {
            let index = self.blocks.saturating_sub(1);
            out.push(format!(r#"{{"type":"content_block_stop","index":{index}}}"#).into());
        }
    }

    /// A piece of the open block: `head` is its delta up to the JSON string `piece`.
    fn say(&self, head: &str, piece: &RawValue, out: &mut Vec<Bytes>) {
        let mut event = Vec::with_capacity(head.len() + piece.get().len() + 72);
        // A vector takes every write.
        let _always = write!(
            event,
            r#"{{"type":"content_block_delta","index":{},"delta":{head}{}}}}}"#,
            self.blocks.saturating_sub(1),
            piece.get()
        );
        out.push(event.into());
    }

    fn close(&mut self, out: &mut Vec<Bytes>) -> Step {
        if !self.begun {
            return Step::Malformed("the stream ended before it began".to_owned());
        }
        self.stop_block(out);
        self.ended = true;
        let reason = stop_reason(self.finish.unwrap_or(Finish::Stop), self.called, self.refused);
        let delta = json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": usage(&self.usage),
        });
        out.push(delta.to_string().into());
        out.push(Bytes::from_static(br#"{"type":"message_stop"}"#));
        Step::Done
    }
}
