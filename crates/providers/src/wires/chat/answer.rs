//! The completion and the chunks that a client gets.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value, json};

use crate::target::json_string;

/// Token counts, in OpenAI's sense: reasoning is part of the completion, cached tokens are part of the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::wires) struct Counts {
    /// Tokens read.
    pub(in crate::wires) prompt: u64,
    /// Tokens written.
    pub(in crate::wires) completion: u64,
    /// Tokens read from a cache, when the provider says so.
    pub(in crate::wires) cached: Option<u64>,
    /// Tokens thought, when the provider says so.
    pub(in crate::wires) reasoning: Option<u64>,
}

impl Counts {
    /// As the client gets them.
    pub(in crate::wires) fn usage(&self) -> Value {
        let mut usage = Map::new();
        usage.insert("prompt_tokens".to_owned(), self.prompt.into());
        usage.insert("completion_tokens".to_owned(), self.completion.into());
        usage.insert("total_tokens".to_owned(), self.prompt.saturating_add(self.completion).into());
        if let Some(cached) = self.cached {
            usage.insert("prompt_tokens_details".to_owned(), json!({ "cached_tokens": cached }));
        }
        if let Some(reasoning) = self.reasoning {
            usage.insert("completion_tokens_details".to_owned(), json!({ "reasoning_tokens": reasoning }));
        }
        Value::Object(usage)
    }
}

/// A tool call; `index` only inside chunks.
pub(in crate::wires) fn call(index: Option<usize>, id: &str, name: &str, arguments: &str) -> Value {
    let mut call = Map::new();
    if let Some(index) = index {
        call.insert("index".to_owned(), index.into());
    }
    call.insert("id".to_owned(), id.into());
    call.insert("type".to_owned(), "function".into());
    call.insert("function".to_owned(), json!({ "name": name, "arguments": arguments }));
    Value::Object(call)
}

/// What an assistant said.
pub(in crate::wires) fn message(text: String, thought: String, calls: Vec<Value>) -> Map<String, Value> {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
    message.insert("content".to_owned(), content);
    if !thought.is_empty() {
        message.insert("reasoning_content".to_owned(), thought.into());
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    message
}

/// A whole chat completion.
pub(in crate::wires) fn completion(
    id: &str,
    created: u64,
    model: &str,
    choices: Vec<Value>,
    counts: &Counts,
) -> Bytes {
    let whole = json!({
        "id": id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": choices,
        "usage": counts.usage(),
    });
    whole.to_string().into()
}

/// Writes the chunks of one stream.
#[derive(Debug, Default)]
pub(in crate::wires) struct Chunks {
    /// Everything of a chunk before its choices; empty before the stream has begun.
    head: Bytes,
}

impl Chunks {
    /// Begins the stream of this answer.
    pub(in crate::wires) fn begin(&mut self, id: &str, created: u64, model: &str) {
        let mut head = BytesMut::with_capacity(160);
        head.put_slice(b"{\"id\":");
        head.put_slice(&json_string(id));
        head.put_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
        head.put_slice(created.to_string().as_bytes());
        head.put_slice(b",\"model\":");
        head.put_slice(&json_string(model));
        self.head = head.freeze();
    }

    /// Whether the stream has begun.
    pub(in crate::wires) const fn begun(&self) -> bool {
        !self.head.is_empty()
    }

    /// The chunk that names the role of choice `index`.
    pub(in crate::wires) fn role(&self, index: u64) -> Bytes {
        self.delta(index, &json!({ "role": "assistant", "content": "" }), None)
    }

    /// One chunk.
    pub(in crate::wires) fn delta(&self, index: u64, delta: &Value, finish: Option<&str>) -> Bytes {
        let delta = delta.to_string();
        let mut out = BytesMut::with_capacity(self.head.len() + delta.len() + 80);
        out.put_slice(&self.head);
        out.put_slice(b",\"choices\":[{\"index\":");
        out.put_slice(index.to_string().as_bytes());
        out.put_slice(b",\"delta\":");
        out.put_slice(delta.as_bytes());
        out.put_slice(b",\"finish_reason\":");
        match finish {
            Some(finish) => out.put_slice(&json_string(finish)),
            None => out.put_slice(b"null"),
        }
        out.put_slice(b"}]}");
        out.freeze()
    }

    /// The chunk that holds the usage.
    pub(in crate::wires) fn usage(&self, counts: &Counts) -> Bytes {
        let mut out = BytesMut::with_capacity(self.head.len() + 200);
        out.put_slice(&self.head);
        out.put_slice(b",\"choices\":[],\"usage\":");
        out.put_slice(counts.usage().to_string().as_bytes());
        out.put_slice(b"}");
        out.freeze()
    }
}
