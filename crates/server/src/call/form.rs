//! Calls that upload a file: the form is cut, its file is checked for, and its fields become members like those of a
//! JSON body, so that everything after this reads both in one way.

use bytes::Bytes;
use haleway_providers::Operation;
use haleway_wire::Form;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value};

use crate::error::ApiError;

/// The form of an operation that takes one, with the file it needs. `None` when the body is JSON, which edits of images
/// may be, too: their pictures are then named by address.
///
/// # Errors
/// 400 when the body is no form or lacks the file.
pub(crate) fn read(
    operation: Operation,
    headers: &HeaderMap,
    bytes: &Bytes,
) -> Result<Option<Form>, ApiError> {
    let Some(file) = operation.file() else { return Ok(None) };
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_json = content_type.trim_start().to_ascii_lowercase().starts_with("application/json");
    if is_json && operation == Operation::ImageEdits {
        return Ok(None);
    }
    let form = Form::parse(content_type, bytes).map_err(|error| {
        ApiError::invalid(format!("{}: {error}.", operation.path()), Some("request_body"))
    })?;
    if form.file(file).is_none() {
        let detail = if form.has(file) { "must be uploaded as a file" } else { "is missing" };
        let message = format!("{}: the required file '{file}' {detail}.", operation.path());
        return Err(ApiError::invalid(message, Some(file)));
    }
    Ok(Some(form))
}

/// The fields of a form as the members of a JSON object: what decides where a call goes is then read in one way. Lists
/// are lists, and the fields that are not text in a JSON body are what they spell.
pub(crate) fn members(form: &Form) -> String {
    let mut members: Map<String, Value> = Map::new();
    for part in form.parts() {
        let Some(text) = part.text() else { continue };
        let value = if is_spelled(part.key()) { spelled(text) } else { Value::from(text) };
        match members.get_mut(part.key()) {
            Some(Value::Array(items)) => items.push(value),
            Some(first) if part.is_listed() => *first = Value::Array(vec![first.take(), value]),
            Some(last) => *last = value,
            None if part.is_listed() => {
                members.insert(part.key().to_owned(), Value::Array(vec![value]));
            }
            None => {
                members.insert(part.key().to_owned(), value);
            }
        }
    }
    Value::Object(members).to_string()
}

/// The fields that the gateway reads as something else than text.
fn is_spelled(name: &str) -> bool {
    matches!(name, "stream" | "num_retries" | "disable_fallbacks" | "metadata" | "litellm_metadata")
}

/// The value that a field's text spells, in JSON's words or Python's; else the text.
fn spelled(text: &str) -> Value {
    match text {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        text => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}
