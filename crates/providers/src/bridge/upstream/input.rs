//! Chat messages as the input items of a response request.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::Asked;
use super::super::chat::is_filled;
use crate::Refusal;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCall>>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(borrow, default)]
    function_call: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    id: String,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Option<String>,
}

/// `messages`.
pub(super) fn items(asked: &Asked<'_>) -> Result<Vec<Value>, Refusal> {
    let raw = asked.get("messages").ok_or_else(|| Refusal::invalid("messages", "messages is missing"))?;
    let messages: Vec<Message<'_>> = serde_json::from_str(raw.get()).map_err(|error| {
        Refusal::invalid("messages", format!("messages is not a list of messages: {error}"))
    })?;
    let mut items = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        let at = format!("messages[{index}]");
        if message.function_call.is_some_and(is_filled) {
            let message = "function_call is not translated: use tool_calls";
            return Err(Refusal::untranslatable(format!("{at}.function_call"), message));
        }
        match message.role.as_ref() {
            role @ ("user" | "system" | "developer" | "assistant") => {
                if let Some(content) = message.content.filter(|content| is_filled(content)) {
                    let content = content_of(content, role, &format!("{at}.content"))?;
                    items.push(json!({"role": role, "content": content}));
                }
            }
            "tool" => {
                let id = message.tool_call_id.as_deref().filter(|id| !id.is_empty()).ok_or_else(|| {
                    Refusal::invalid(format!("{at}.tool_call_id"), "a tool message needs a tool_call_id")
                })?;
                let output = match message.content {
                    Some(content) => content_of(content, "tool", &format!("{at}.content"))?,
                    None => Value::from(""),
                };
                items.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
            }
            role => {
                let message = format!("the role {role:?} has no counterpart in responses");
                return Err(Refusal::untranslatable(format!("{at}.role"), message));
            }
        }
        for call in message.tool_calls.into_iter().flatten() {
            items.push(json!({
                "type": "function_call",
                "call_id": call.id,
                "name": call.function.name,
                "arguments": call.function.arguments.unwrap_or_else(|| "{}".to_owned()),
            }));
        }
    }
    Ok(items)
}

/// A string, or parts.
fn content_of(raw: &RawValue, role: &str, at: &str) -> Result<Value, Refusal> {
    let parts = match serde_json::from_str::<Value>(raw.get())? {
        Value::Array(parts) => parts,
        Value::Null => return Ok(Value::from("")),
        text @ Value::String(_) => return Ok(text),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(Refusal::invalid(at, format!("{at} must be a string or a list of parts")));
        }
    };
    let parts = parts.into_iter().enumerate();
    parts.map(|(index, part)| part_of(part, role, &format!("{at}[{index}]"))).collect()
}

fn part_of(mut part: Value, role: &str, at: &str) -> Result<Value, Refusal> {
    let mut take =
        |pointer: &str| part.pointer_mut(pointer).map(Value::take).filter(|value| !value.is_null());
    let needs = |what: &str| Refusal::invalid(at, format!("a part of this type needs {what}"));
    let kind = take("/type");
    match kind.as_ref().and_then(Value::as_str).unwrap_or("text") {
        "text" => {
            let text = take("/text").ok_or_else(|| needs("its text"))?;
            let kind = if role == "assistant" { "output_text" } else { "input_text" };
            Ok(json!({"type": kind, "text": text}))
        }
        "refusal" => {
            let refusal = take("/refusal").ok_or_else(|| needs("its refusal"))?;
            Ok(json!({"type": "refusal", "refusal": refusal}))
        }
        "image_url" => {
            let url = take("/image_url/url").or_else(|| take("/image_url"));
            let url = url.filter(Value::is_string).ok_or_else(|| needs("an image_url"))?;
            let detail = take("/image_url/detail").unwrap_or_else(|| "auto".into());
            Ok(json!({"type": "input_image", "image_url": url, "detail": detail}))
        }
        "file" => match take("/file") {
            Some(Value::Object(mut file)) => {
                file.retain(|name, _| matches!(name.as_str(), "file_data" | "file_id" | "filename"));
                file.insert("type".to_owned(), "input_file".into());
                Ok(Value::Object(file))
            }
            Some(_) | None => Err(needs("a file")),
        },
        kind => Err(Refusal::untranslatable(
            at,
            format!("a part of type {kind:?} has no counterpart in responses"),
        )),
    }
}
