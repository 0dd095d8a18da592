//! The events of a response as chat chunks. Text is moved as the JSON string it came as.

use std::borrow::Cow;
use std::io::Write as _;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::chat::{DONE, is_text};
use super::answer::Response;
use crate::Step;
use crate::target::json_string;

/// What is known of a stream so far.
#[derive(Debug)]
pub(super) struct State {
    created: u64,
    /// Everything of a chunk before its choices; empty before the stream has begun.
    head: Vec<u8>,
    /// The place of each tool call among the output items, in chat's order, and whether its arguments have begun.
    calls: Vec<(u64, bool)>,
    ended: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item: Option<Item<'a>>,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl State {
    pub(super) const fn new(created: u64) -> Self {
        Self { created, head: Vec::new(), calls: Vec::new(), ended: false }
    }

    pub(super) const fn created(&self) -> u64 {
        self.created
    }

    /// One event.
    pub(super) fn event(&mut self, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        if self.ended || data.trim_ascii() == DONE {
            return Step::More;
        }
        let event: Event<'_> = match serde_json::from_slice(data) {
            Ok(event) => event,
            Err(error) => return Step::Malformed(error.to_string()),
        };
        match event.kind.as_ref() {
            "response.created" | "response.in_progress" => self.begin(event.response, chunks),
            "response.output_text.delta" => self.say("content", event.delta, chunks),
            "response.refusal.delta" => self.say("refusal", event.delta, chunks),
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.say("reasoning_content", event.delta, chunks);
            }
            "response.output_item.added" => self.item(event.output_index, event.item.as_ref(), chunks),
            "response.function_call_arguments.delta" => {
                self.arguments(event.output_index, event.delta, chunks);
            }
            "response.output_item.done" => {
                // Some servers give the arguments only now.
                let begun = self.place(event.output_index).is_none_or(|(_, begun)| begun);
                if let Some(item) = event.item.filter(|_| !begun) {
                    self.arguments(event.output_index, item.arguments, chunks);
                }
            }
            "response.completed" | "response.incomplete" => return self.finish(event.response, chunks),
            "response.failed" | "response.cancelled" | "error" => {
                return Step::Failed(Bytes::copy_from_slice(data));
            }
            // An error without a type, in the shape of chat's.
            "" => return Step::Failed(Bytes::copy_from_slice(data)),
            _ => {}
        }
        Step::More
    }

    fn begin(&mut self, response: Option<&RawValue>, chunks: &mut Vec<Bytes>) {
        if !self.head.is_empty() {
            return;
        }
        let response = read(response);
        self.head = b"{\"id\":".to_vec();
        self.head.extend(json_string(&response.id));
        self.head.extend(b",\"object\":\"chat.completion.chunk\",\"created\":");
        self.head.extend(self.created.to_string().into_bytes());
        self.head.extend(b",\"model\":");
        self.head.extend(json_string(&response.model));
        self.chunk(format_args!(r#"{{"role":"assistant","content":""}}"#), None, chunks);
    }

    fn say(&mut self, member: &str, piece: Option<&RawValue>, chunks: &mut Vec<Bytes>) {
        if let Some(piece) = piece.filter(|piece| is_text(piece)) {
            self.chunk(format_args!(r#"{{"{member}":{}}}"#, piece.get()), None, chunks);
        }
    }

    fn item(&mut self, place: Option<u64>, item: Option<&Item<'_>>, chunks: &mut Vec<Bytes>) {
        let Some(item) = item.filter(|item| item.kind == "function_call") else { return };
        let index = self.calls.len();
        self.calls.push((place.unwrap_or(0), false));
        let raw = |value: Option<&'_ RawValue>| value.map_or("\"\"", RawValue::get).to_owned();
        let (id, name) = (raw(item.call_id), raw(item.name));
        self.chunk(
            format_args!(
                r#"{{"tool_calls":[{{"index":{index},"id":{id},"type":"function","function":{{"name":{name},"arguments":""}}}}]}}"#
            ),
            None,
            chunks,
        );
        self.arguments(place, item.arguments, chunks);
    }

    fn arguments(&mut self, place: Option<u64>, piece: Option<&RawValue>, chunks: &mut Vec<Bytes>) {
        let Some(piece) = piece.filter(|piece| is_text(piece)) else { return };
        let Some((index, _)) = self.place(place) else { return };
        if let Some((_, begun)) = self.calls.get_mut(index) {
            *begun = true;
        }
        self.chunk(
            format_args!(
                r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{}}}}}]}}"#,
                piece.get()
            ),
            None,
            chunks,
        );
    }

    /// Chat's index of the call at this place among the items, and whether its arguments have begun.
    fn place(&self, place: Option<u64>) -> Option<(usize, bool)> {
        let found = self.calls.iter().rposition(|(at, _)| *at == place.unwrap_or(0))?;
        self.calls.get(found).map(|(_, begun)| (found, *begun))
    }

    fn finish(&mut self, response: Option<&RawValue>, chunks: &mut Vec<Bytes>) -> Step {
        self.begin(response, chunks);
        self.ended = true;
        let response = read(response);
        let finish = response.finish(!self.calls.is_empty());
        self.chunk(format_args!("{{}}"), Some(finish), chunks);
        let mut usage = self.head.clone();
        usage.extend(b",\"choices\":[],\"usage\":");
        usage.extend(response.usage().to_string().into_bytes());
        usage.push(b'}');
        chunks.push(usage.into());
        Step::Done
    }

    fn chunk(&self, delta: std::fmt::Arguments<'_>, finish: Option<&str>, chunks: &mut Vec<Bytes>) {
        if self.head.is_empty() {
            return;
        }
        let mut chunk = Vec::with_capacity(self.head.len() + 160);
        chunk.extend_from_slice(&self.head);
        let finish = json!(finish);
        // A vector takes every write.
        let _always =
            write!(chunk, r#","choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#);
        chunks.push(chunk.into());
    }
}

/// The response inside an event; only its outline when it cannot be read.
fn read(raw: Option<&RawValue>) -> Response {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}
