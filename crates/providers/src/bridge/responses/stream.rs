//! Chat chunks as the events of a response.
//!
//! A response is a list of items, one after the other: what is begun is ended before another begins, and its end repeats
//! it whole. The last event waits for the token counts, which follow the finish reason.

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::chat::Finish;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::chat::{Chunk, DONE, Delta, ToolCall, Usage, string};
use super::answer::{
    CallItem, Head, ending, item_id, message_item, reasoning_item, refusal_part, summary_part, text_part,
};
use super::echo::Echo;
use super::events::Numbers;
use crate::Step;

/// What is known of a stream so far.
#[derive(Debug, Default)]
pub(super) struct State {
    begun: bool,
    ended: bool,
    id: String,
    model: String,
    created: u64,
    numbers: Numbers,
    /// The items that are complete.
    output: Vec<Value>,
    open: Option<Open>,
    finish: Option<Finish>,
    usage: Option<Usage>,
}

/// The item that is open, and what it holds so far.
#[derive(Debug)]
struct Open {
    kind: Kind,
    item_id: String,
    /// The members of every event that name the place, as written.
    place: String,
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Thought,
    /// The tool call that chat counts so.
    Call {
        index: u64,
        id: String,
        name: String,
    },
}

impl State {
    /// One chunk.
    pub(super) fn chunk(&mut self, data: &[u8], created: u64, echo: &Echo, out: &mut Vec<Bytes>) -> Step {
        if self.ended {
            return Step::More;
        }
        if data.trim_ascii() == DONE {
            return self.close(echo, out);
        }
        let chunk = match Chunk::parse(data) {
            Ok(chunk) => chunk,
            Err(step) => return step,
        };
        if let Some(usage) = chunk.usage() {
            self.usage = Some(usage);
        }
        if !self.begun && (chunk.delta().is_some() || chunk.finish().is_some()) {
            self.begun = true;
            self.created = created;
            self.id = chunk.id.as_deref().unwrap_or("").to_owned();
            self.model = chunk.model.as_deref().unwrap_or("").to_owned();
            for kind in ["response.created", "response.in_progress"] {
                let response = self.head().response(("in_progress", None), Vec::new(), None, echo);
                self.numbers.event(kind, json!({ "response": response }), out);
            }
        }
        if let Some(delta) = chunk.delta()
            && let Err(step) = self.delta(delta, out)
        {
            return step;
        }
        if let Some(finish) = chunk.finish() {
            self.stop(out);
            self.finish.get_or_insert(finish);
        }
        Step::More
    }

    /// The stream ended without an end mark: well, if it said how it ended.
    pub(super) fn end(&mut self, echo: &Echo, out: &mut Vec<Bytes>) -> Step {
        if self.ended || self.finish.is_none() { Step::More } else { self.close(echo, out) }
    }

    fn head(&self) -> Head<'_> {
        Head { id: &self.id, created: self.created, model: &self.model }
    }

    fn delta(&mut self, delta: &Delta<'_>, out: &mut Vec<Bytes>) -> Result<(), Step> {
        if let Some(thought) = delta.thought() {
            self.say(Kind::Thought, "response.reasoning_summary_text.delta", thought, out);
        }
        if let Some(text) = delta.text() {
            self.say(Kind::Text, "response.output_text.delta", text, out);
        }
        if let Some(refusal) = delta.refusal() {
            self.say(Kind::Refusal, "response.refusal.delta", refusal, out);
        }
        delta.calls().try_for_each(|call| self.call(call, out))
    }

    fn say(&mut self, kind: Kind, event: &str, piece: &RawValue, out: &mut Vec<Bytes>) {
        if self.open.as_ref().is_none_or(|open| open.kind != kind) {
            self.stop(out);
            self.start(kind, out);
        }
        self.piece(event, piece, out);
    }

    fn piece(&mut self, event: &str, piece: &RawValue, out: &mut Vec<Bytes>) {
        if let Some(open) = &mut self.open {
            open.text.push_str(&string(piece).unwrap_or_default());
            self.numbers.piece(event, &open.place, piece, out);
        }
    }

    fn call(&mut self, call: &ToolCall<'_>, out: &mut Vec<Bytes>) -> Result<(), Step> {
        let function = call.function.as_ref();
        let name = filled(function.and_then(|function| function.name));
        let id = filled(call.id);
        let index = call.index.unwrap_or(0);
        // Some servers repeat name and id in every piece, others count every call as the first.
        let continues = match self.open.as_ref().map(|open| &open.kind) {
            Some(Kind::Call { index: open, id: open_id, .. }) => {
                *open == index && (name.is_none() || id.as_deref().is_none_or(|id| id == open_id))
            }
            Some(Kind::Text | Kind::Refusal | Kind::Thought) | None => false,
        };
        if !continues {
            let Some(name) = name else {
                return Err(Step::Malformed("arguments of a tool call that is not open".to_owned()));
            };
            self.stop(out);
            let id = id.unwrap_or_default().into_owned();
            self.start(Kind::Call { index, id, name: name.into_owned() }, out);
        }
        let arguments = function.and_then(|function| function.arguments);
        if let Some(arguments) = arguments.filter(|raw| raw.get().starts_with('"') && raw.get().len() > 2) {
            self.piece("response.function_call_arguments.delta", arguments, out);
        }
        Ok(())
    }

    /// Begins an item.
    fn start(&mut self, kind: Kind, out: &mut Vec<Bytes>) {
        let output_index = self.output.len();
        let item_id = self.item_id(&kind, output_index);
        let (item, inner) = match &kind {
            Kind::Text | Kind::Refusal => {
                (message_item(&item_id, "in_progress", Vec::new()), r#","content_index":0"#)
            }
            Kind::Thought => (reasoning_item(&item_id, None), r#","summary_index":0"#),
            Kind::Call { id, name, .. } => {
                (CallItem { id: &item_id, call_id: id, name }.with("", "in_progress"), "")
            }
        };
        let quoted = Value::from(item_id.as_str());
        let place = format!(r#""item_id":{quoted},"output_index":{output_index}{inner}"#);
        let added = json!({"output_index": output_index, "item": item});
        self.numbers.event("response.output_item.added", added, out);
        let part = match kind {
            Kind::Text => Some(("response.content_part.added", text_part(""))),
            Kind::Refusal => Some(("response.content_part.added", refusal_part(""))),
            Kind::Thought => Some(("response.reasoning_summary_part.added", summary_part(""))),
            Kind::Call { .. } => None,
        };
        let open = Open { kind, item_id, place, text: String::new() };
        if let Some((event, part)) = part {
            self.numbers.event(event, open.members(json!({ "part": part })), out);
        }
        self.open = Some(open);
    }

    /// The completion has one id for everything; what comes later in it is numbered.
    fn item_id(&self, kind: &Kind, output_index: usize) -> String {
        let (prefix, id) = match kind {
            Kind::Text | Kind::Refusal => ("msg", &self.id),
            Kind::Thought => ("rs", &self.id),
            Kind::Call { id, .. } => return item_id("fc", id),
        };
        let id = item_id(prefix, id);
        if output_index == 0 { id } else { format!("{id}_{output_index}") }
    }

    /// Ends the item that is open.
    fn stop(&mut self, out: &mut Vec<Bytes>) {
        const NO_ARGUMENTS: &str = "{}";
        let Some(mut open) = self.open.take() else { return };
        if matches!(open.kind, Kind::Call { .. }) && open.text.is_empty() {
            NO_ARGUMENTS.clone_into(&mut open.text);
            let delta = open.members(json!({ "delta": NO_ARGUMENTS }));
            self.numbers.event("response.function_call_arguments.delta", delta, out);
        }
        let text = open.text.as_str();
        let mut tell = |event: &str, members: Value| self.numbers.event(event, open.members(members), out);
        let item = match &open.kind {
            Kind::Text => {
                let part = text_part(text);
                tell("response.output_text.done", json!({"text": text, "logprobs": []}));
                tell("response.content_part.done", json!({ "part": part }));
                message_item(&open.item_id, "completed", vec![part])
            }
            Kind::Refusal => {
                let part = refusal_part(text);
                tell("response.refusal.done", json!({ "refusal": text }));
                tell("response.content_part.done", json!({ "part": part }));
                message_item(&open.item_id, "completed", vec![part])
            }
            Kind::Thought => {
                tell("response.reasoning_summary_text.done", json!({ "text": text }));
                tell("response.reasoning_summary_part.done", json!({ "part": summary_part(text) }));
                reasoning_item(&open.item_id, Some(text))
            }
            Kind::Call { id, name, .. } => {
                tell("response.function_call_arguments.done", json!({"name": name, "arguments": text}));
                CallItem { id: &open.item_id, call_id: id, name }.with(text, "completed")
            }
        };
        let done = json!({"output_index": self.output.len(), "item": item});
        self.numbers.event("response.output_item.done", done, out);
        self.output.push(item);
    }

    fn close(&mut self, echo: &Echo, out: &mut Vec<Bytes>) -> Step {
        if !self.begun {
            return Step::Malformed("the stream ended before it began".to_owned());
        }
        self.stop(out);
        self.ended = true;
        let ending = ending(self.finish.unwrap_or(Finish::Stop));
        let kind = format!("response.{}", ending.0);
        let output = std::mem::take(&mut self.output);
        let response = self.head().response(ending, output, self.usage.as_ref(), echo);
        self.numbers.event(&kind, json!({ "response": response }), out);
        Step::Done
    }
}

impl Open {
    /// `members` after those that name the place.
    fn members(&self, members: Value) -> Value {
        let mut whole: Value = serde_json::from_str(&format!("{{{}}}", self.place)).unwrap_or_default();
        if let (Some(whole), Value::Object(members)) = (whole.as_object_mut(), members) {
            whole.extend(members);
        }
        whole
    }
}

/// A string with something in it.
fn filled(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    raw.and_then(string).filter(|text| !text.is_empty())
}
