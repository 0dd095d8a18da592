//! Two streams of chunks made one: what was said so far, and how the chunks of the second become those of the first.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use haleway_wire::sse::{self, Decoder};
use serde::Deserialize;
use serde_json::{Map, Value};

/// More text than this is not sent again.
const MOST: usize = 256 * 1024;

/// What a stream has said so far.
#[derive(Debug, Default)]
pub(crate) struct Story {
    decoder: Decoder,
    text: String,
    /// `id`, `created` and `model` of the first chunk.
    head: Option<Map<String, Value>>,
    /// Something else than text was said: a tool call, sound, a refusal.
    other: bool,
    /// Chunks come from another deployment now, and are made to fit.
    continued: bool,
    /// White space that the caller has read and the other deployment was not told of: it may say it again.
    owed: String,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    function_call: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    audio: Option<&'a serde_json::value::RawValue>,
}

impl Story {
    /// The text to go on with: without the white space at its end, which some refuse. `None` when there is none, or it is not all
    /// that was said.
    pub(crate) fn text(&self) -> Option<&str> {
        let text = self.text.trim_end();
        (!self.other && !text.is_empty()).then_some(text)
    }

    /// How much was said, in bytes.
    pub(crate) fn length(&self) -> usize {
        self.text.len()
    }

    /// From here on another deployment speaks.
    pub(crate) fn goes_on(&mut self) {
        self.continued = true;
        self.owed = self.text.get(self.text.trim_end().len()..).unwrap_or_default().to_owned();
        self.decoder = Decoder::default();
    }

    /// Takes in a piece of whole events; answers what the caller gets.
    pub(crate) fn take(&mut self, bytes: Bytes) -> Bytes {
        self.decoder.push(&bytes);
        let mut out = BytesMut::new();
        while let Ok(Some(event)) = self.decoder.next_event() {
            if !self.continued {
                self.hear(&event.data);
            } else if event.is_done() {
                out.extend_from_slice(sse::DONE);
            } else if !event.is_blank()
                && let Some(chunk) = self.fit(&event.data)
            {
                sse::write_event(&mut out, None, &chunk);
            }
        }
        if self.continued { out.freeze() } else { bytes }
    }

    fn hear(&mut self, data: &[u8]) {
        if self.head.is_none() {
            self.head = serde_json::from_slice::<Map<String, Value>>(data).ok().map(|mut chunk| {
                chunk.retain(|name, _| matches!(name.as_str(), "id" | "created" | "model"));
                chunk
            });
        }
        let Ok(chunk) = serde_json::from_slice::<Chunk<'_>>(data) else { return };
        for delta in chunk.choices.iter().filter_map(|choice| choice.delta.as_ref()) {
            self.text.push_str(delta.content.as_deref().unwrap_or_default());
            let said = |raw: Option<&serde_json::value::RawValue>| {
                raw.is_some_and(|raw| !matches!(raw.get(), "null" | "[]"))
            };
            self.other |= said(delta.tool_calls) || said(delta.function_call) || said(delta.audio);
            self.other |= delta.refusal.is_some() || self.text.len() > MOST;
        }
    }

    /// A chunk of the other deployment as one of the first; `None` when it says nothing any more.
    fn fit(&mut self, data: &[u8]) -> Option<Vec<u8>> {
        let mut chunk: Map<String, Value> = serde_json::from_slice(data).ok()?;
        for (name, value) in self.head.iter().flatten() {
            chunk.insert(name.clone(), value.clone());
        }
        let usage = chunk.get("usage").is_some_and(|usage| !usage.is_null());
        let mut says = usage;
        for choice in chunk.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
            says |= choice.get("finish_reason").is_some_and(|finish| !finish.is_null());
            if let Some(delta) = choice.get_mut("delta").and_then(Value::as_object_mut) {
                delta.remove("role");
                if let Some(Value::String(content)) = delta.get_mut("content") {
                    self.settle(content);
                    if content.is_empty() {
                        delta.remove("content");
                    }
                }
                says |= delta.values().any(|value| !value.is_null());
            }
        }
        let fitted = serde_json::to_vec(&chunk).ok().filter(|_| says)?;
        self.hear(&fitted);
        Some(fitted)
    }

    /// Takes from the beginning of `content` what the caller has read already.
    fn settle(&mut self, content: &mut String) {
        let same = content.bytes().zip(self.owed.bytes()).take_while(|(new, old)| new == old).count();
        // White space may have several bytes; a part of one is none.
        let same = if content.is_char_boundary(same) { same } else { 0 };
        if same < content.len() {
            self.owed.clear();
        } else {
            self.owed.drain(..same);
        }
        content.drain(..same);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(id: &str, delta: &str) -> Bytes {
        format!("data: {{\"id\":\"{id}\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n").into()
    }

    #[test]
    fn the_second_stream_becomes_the_first() {
        let mut story = Story::default();
        for delta in ["{\"role\":\"assistant\",\"content\":\"\"}", "{\"content\":\"One, two,\\n \"}"] {
            let piece = chunk("a", delta);
            assert_eq!(story.take(piece.clone()), piece);
        }
        assert_eq!(story.text(), Some("One, two,"));
        story.goes_on();
        assert!(story.take(chunk("b", "{\"role\":\"assistant\",\"content\":\"\"}")).is_empty());
        assert!(story.take(chunk("b", "{\"content\":\"\\n\"}")).is_empty(), "read already");
        assert_eq!(story.take(chunk("b", "{\"content\":\" three\"}")), chunk("a", "{\"content\":\"three\"}"));
        assert_eq!(story.take(Bytes::from_static(sse::DONE)), sse::DONE);
        assert_eq!(story.text(), Some("One, two,\n three"));
    }

    #[test]
    fn a_tool_call_in_flight_is_not_gone_on_with() {
        let mut story = Story::default();
        story.take(chunk("a", "{\"content\":\"I look it up\"}"));
        assert!(story.text().is_some());
        story.take(chunk("a", "{\"tool_calls\":[{\"index\":0}]}"));
        assert_eq!(story.text(), None);
    }
}
