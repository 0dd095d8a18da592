//! OpenAI's messages as Cohere's, which differ in what they may hold.

use serde_json::{Map, Value, json};

use super::NAME;
use crate::Refusal;
use crate::wires::chat::{Call, Piece, Role, Said};

/// Translates the conversation.
pub(super) fn messages(conversation: &[Said]) -> Result<Vec<Value>, Refusal> {
    conversation.iter().enumerate().map(|(index, said)| message(said, index)).collect()
}

fn message(said: &Said, index: usize) -> Result<Value, Refusal> {
    let mut message = Map::new();
    let role = match said.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    message.insert("role".to_owned(), role.into());
    if said.role == Role::Tool {
        message.insert("tool_call_id".to_owned(), said.answers.as_str().into());
    }
    let content = content(&said.pieces, said.role == Role::User, index)?;
    // An assistant that calls tools need not speak; everyone else does.
    if said.calls.is_empty() || content != "" {
        message.insert("content".to_owned(), content);
    }
    if !said.calls.is_empty() {
        message.insert("tool_calls".to_owned(), said.calls.iter().map(call).collect());
        if let Some(thought) = &said.thought {
            message.insert("tool_plan".to_owned(), thought.as_str().into());
        }
    }
    Ok(Value::Object(message))
}

fn call(call: &Call) -> Value {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

/// Text alone as a string, text with pictures as parts.
fn content(pieces: &[Piece], may_show: bool, index: usize) -> Result<Value, Refusal> {
    let mut parts = Vec::with_capacity(pieces.len());
    let mut text = String::new();
    let mut shows = false;
    for piece in pieces {
        match piece {
            Piece::Text(part) => {
                text.push_str(part);
                parts.push(json!({ "type": "text", "text": part }));
            }
            Piece::Image { url, .. } if may_show => {
                shows = true;
                parts.push(json!({ "type": "image_url", "image_url": { "url": url } }));
            }
            Piece::Image { .. } | Piece::Audio { .. } | Piece::File { .. } => {
                return Err(Refusal::untranslatable(
                    format!("messages[{index}].content"),
                    format!("{NAME} reads text, and pictures of the user"),
                ));
            }
        }
    }
    let one = parts.len() <= 1;
    Ok(if shows || !one { parts.into() } else { text.into() })
}
