//! Chat: OpenAI's members pass, the model and the stream are named elsewhere, and a tool choice by word has another
//! name.

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::{Change, Envelope};
use serde_json::{Map, Value};

use super::{OWN, identity};
use crate::target::{Encoded, json_string};
use crate::wires::members::Members;
use crate::wires::{Encode, chat as words, openai};
use crate::{Refusal, Reply, Step, Translator, Untranslatable};

/// The body.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    let members = Members::new(encode);
    let identity = identity(encode, &members)?;
    let patched = openai::encode(encode).body.to_bytes();
    let body = Envelope::parse(&patched).map_err(|error| Refusal::invalid("body", error.to_string()))?;
    let mut changes =
        vec![Change::Remove("model"), Change::Remove("stream"), Change::Remove("stream_options")];
    changes.extend(OWN.iter().map(|name| Change::Remove(name)));
    for (name, value) in &identity {
        changes.push(Change::Set(name, Cow::Owned(value.to_string().into_bytes())));
    }
    let choice = body.get("tool_choice").filter(|choice| choice.get().starts_with('"'));
    if let Some(choice) = choice {
        changes.push(Change::Remove("tool_choice"));
        changes.push(Change::Set("tool_choice_option", Cow::Borrowed(choice.get().as_bytes())));
    }
    Ok(Encoded {
        body: body.patched(&changes),
        reply: Reply::Translated(Box::new(Reader::new(encode.options.created))),
        strip_usage: encode.options.stream && !words::wants_usage(encode),
    })
}

/// Reads one answer, whole or streamed: OpenAI's but for the kind of the object.
#[derive(Debug)]
pub(super) struct Reader {
    created: u64,
    finished: bool,
    counted: bool,
    over: bool,
}

impl Reader {
    pub(super) const fn new(created: u64) -> Self {
        Self { created, finished: false, counted: false, over: false }
    }

    /// The members in OpenAI's order; IBM's own are left out.
    fn shaped(&self, mut answer: Map<String, Value>, object: &str) -> Result<Value, Untranslatable> {
        let choices = answer.remove("choices").filter(Value::is_array);
        let choices = choices.ok_or_else(|| Untranslatable("there are no choices".to_owned()))?;
        let mut whole = Map::new();
        let id = answer.remove("id").filter(Value::is_string);
        whole.insert("id".to_owned(), id.unwrap_or_else(|| format!("chatcmpl-{}", self.created).into()));
        whole.insert("object".to_owned(), object.into());
        let created = answer.remove("created").filter(Value::is_u64);
        whole.insert("created".to_owned(), created.unwrap_or_else(|| self.created.into()));
        let model = answer.remove("model").or_else(|| answer.remove("model_id")).filter(Value::is_string);
        whole.insert("model".to_owned(), model.unwrap_or_else(|| "".into()));
        whole.insert("choices".to_owned(), choices);
        if let Some(usage) = answer.remove("usage").filter(Value::is_object) {
            whole.insert("usage".to_owned(), usage);
        }
        Ok(Value::Object(whole))
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        let answer: Map<String, Value> =
            serde_json::from_slice(body).map_err(|error| words::wrong(&error))?;
        Ok(self.shaped(answer, "chat.completion")?.to_string().into())
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        // There is no end mark: the finish reason and the usage, in one event or in two, are the end.
        if self.over || data.is_empty() {
            return Step::More;
        }
        let answer: Map<String, Value> = match serde_json::from_slice(data) {
            Ok(answer) => answer,
            Err(error) => return Step::Malformed(error.to_string()),
        };
        if answer.contains_key("errors") || answer.contains_key("error") {
            return Step::Failed(Bytes::copy_from_slice(data));
        }
        let mut chunk = match self.shaped(answer, "chat.completion.chunk") {
            Ok(chunk) => chunk,
            Err(error) => return Step::Malformed(error.0),
        };
        let usage = chunk.as_object_mut().and_then(|chunk| chunk.remove("usage"));
        let choices = chunk.get("choices").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        self.finished |= choices.iter().any(|choice| {
            choice.get("finish_reason").is_some_and(|reason| reason.as_str().is_some_and(|r| !r.is_empty()))
        });
        if !choices.is_empty() {
            chunks.push(chunk.to_string().into());
        }
        if let Some(usage) = usage
            && self.finished
            && !self.counted
        {
            self.counted = true;
            chunks.push(usage_chunk(&chunk, &usage));
        }
        if self.finished && self.counted {
            self.over = true;
            return Step::Done;
        }
        Step::More
    }
}

/// The usage in a chunk of its own, as OpenAI sends it.
fn usage_chunk(chunk: &Value, usage: &Value) -> Bytes {
    let text = |name: &str| {
        chunk.get(name).and_then(Value::as_str).map(json_string).unwrap_or_else(|| json_string(""))
    };
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(b"{\"id\":");
    out.extend_from_slice(&text("id"));
    out.extend_from_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
    out.extend_from_slice(chunk.get("created").unwrap_or(&Value::Null).to_string().as_bytes());
    out.extend_from_slice(b",\"model\":");
    out.extend_from_slice(&text("model"));
    out.extend_from_slice(b",\"choices\":[],\"usage\":");
    out.extend_from_slice(usage.to_string().as_bytes());
    out.push(b'}');
    out.into()
}
