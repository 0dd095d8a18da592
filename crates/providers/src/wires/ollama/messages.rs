//! OpenAI's messages as Ollama's: one text, and pictures beside it.

use serde_json::{Map, Value, json};

use super::NAME;
use crate::Refusal;
use crate::wires::chat::{Piece, Role, Said, data_url, name_of_call};

/// Translates the conversation.
pub(super) fn messages(conversation: &[Said]) -> Result<Vec<Value>, Refusal> {
    let mut messages = Vec::with_capacity(conversation.len());
    for (index, said) in conversation.iter().enumerate() {
        let mut message = Map::new();
        let role = match said.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        message.insert("role".to_owned(), role.into());
        let (text, images) = content(&said.pieces, &format!("messages[{index}].content"))?;
        message.insert("content".to_owned(), text.into());
        if !images.is_empty() {
            message.insert("images".to_owned(), images.into());
        }
        if let Some(thought) = &said.thought {
            message.insert("thinking".to_owned(), thought.as_str().into());
        }
        if !said.calls.is_empty() {
            let calls = said
                .calls
                .iter()
                .map(|call| json!({ "function": { "name": call.name, "arguments": call.arguments } }));
            message.insert("tool_calls".to_owned(), calls.collect());
        }
        if let Some(name) = name_of_call(conversation, &said.answers).filter(|_| said.role == Role::Tool) {
            message.insert("tool_name".to_owned(), name.into());
        }
        messages.push(Value::Object(message));
    }
    Ok(messages)
}

/// The text of a message, and its pictures in base64.
fn content(pieces: &[Piece], at: &str) -> Result<(String, Vec<String>), Refusal> {
    let mut text = String::new();
    let mut images = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(part) => {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(part);
            }
            Piece::Image { url, .. } => match data_url(url) {
                Some((_, data)) => images.push(data.to_owned()),
                None => {
                    return Err(Refusal::untranslatable(
                        at,
                        format!("{NAME} fetches no pictures: send them as base64 data URLs"),
                    ));
                }
            },
            Piece::Audio { .. } | Piece::File { .. } => {
                return Err(Refusal::untranslatable(at, format!("{NAME} reads text and pictures")));
            }
        }
    }
    Ok((text, images))
}
