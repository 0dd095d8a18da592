//! OpenAI's messages as Gemini's contents.

use serde_json::{Map, Value, json};

use super::{NAME, family};
use crate::Refusal;
use crate::wires::chat::{Call, Piece, Role, Said, data_url, name_of_call};

/// Documented by Google for histories whose calls were made by another model: without a signature Gemini 3
/// refuses the turn.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The conversation: `systemInstruction` and `contents`.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) system: Vec<Value>,
    turns: Vec<(&'static str, Vec<Value>)>,
}

/// Translates the conversation. `any_url`: Vertex AI fetches what a URL stands for, the other face only its own.
pub(super) fn contents(conversation: &[Said], model: &str, any_url: bool) -> Result<Contents, Refusal> {
    let mut whole = Contents::default();
    for (index, said) in conversation.iter().enumerate() {
        let at = |tail: &str| format!("messages[{index}]{tail}");
        match said.role {
            Role::System => {
                for piece in &said.pieces {
                    let Piece::Text(text) = piece else {
                        return Err(Refusal::untranslatable(
                            at(".content"),
                            "Gemini takes only text as system instruction",
                        ));
                    };
                    whole.system.push(json!({ "text": text }));
                }
            }
            Role::User => whole.push("user", parts(&said.pieces, any_url, &at)?),
            Role::Assistant => {
                let mut parts = parts(&said.pieces, any_url, &at)?;
                for (place, call) in said.calls.iter().enumerate() {
                    parts.push(function_call(call, place == 0 && family::wants_signatures(model)));
                }
                whole.push("model", parts);
            }
            Role::Tool => {
                let name = name_of_call(conversation, &said.answers).ok_or_else(|| {
                    Refusal::untranslatable(
                        at(".tool_call_id"),
                        "Gemini needs the name of the function, and no message calls one with this id",
                    )
                })?;
                let response = json!({ "name": name, "response": response(&said.pieces, &at)? });
                whole.push("user", vec![json!({ "functionResponse": response })]);
            }
        }
    }
    // An instruction alone is the question.
    if whole.turns.is_empty() {
        let system = std::mem::take(&mut whole.system);
        whole.push("user", system);
    }
    Ok(whole)
}

impl Contents {
    /// Neighbours of one role are one turn.
    fn push(&mut self, role: &'static str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        match self.turns.last_mut().filter(|(last, _)| *last == role) {
            Some((_, turn)) => turn.extend(parts),
            None => self.turns.push((role, parts)),
        }
    }

    /// `contents`.
    pub(super) fn turns(self) -> Value {
        self.turns.into_iter().map(|(role, parts)| json!({ "role": role, "parts": parts })).collect()
    }
}

fn function_call(call: &Call, wants_signature: bool) -> Value {
    let mut part = Map::new();
    part.insert("functionCall".to_owned(), json!({ "name": call.name, "args": call.arguments }));
    let kept = call.own.as_ref().and_then(|own| own.get("thought_signature")).and_then(Value::as_str);
    if let Some(signature) = kept.or_else(|| wants_signature.then_some(NO_SIGNATURE)) {
        part.insert("thoughtSignature".to_owned(), signature.into());
    }
    Value::Object(part)
}

/// What a tool answered: an object as it is, anything else under `result`.
fn response(pieces: &[Piece], at: &dyn Fn(&str) -> String) -> Result<Value, Refusal> {
    let mut text = String::new();
    for piece in pieces {
        let Piece::Text(part) = piece else {
            return Err(Refusal::untranslatable(at(".content"), "Gemini takes only text from a tool"));
        };
        text.push_str(part);
    }
    match serde_json::from_str::<Map<String, Value>>(&text) {
        Ok(object) => Ok(Value::Object(object)),
        Err(_) => Ok(json!({ "result": text })),
    }
}

fn parts(pieces: &[Piece], any_url: bool, at: &dyn Fn(&str) -> String) -> Result<Vec<Value>, Refusal> {
    let mut parts = Vec::with_capacity(pieces.len());
    for piece in pieces {
        parts.push(match piece {
            Piece::Text(text) => json!({ "text": text }),
            Piece::Image { url, kind } => media(url, kind.as_deref(), any_url, &at(".content"))?,
            Piece::File { reference, kind } => media(reference, kind.as_deref(), any_url, &at(".content"))?,
            Piece::Audio { data, format } => {
                json!({ "inlineData": { "mimeType": format!("audio/{format}"), "data": data } })
            }
        });
    }
    Ok(parts)
}

/// A picture, a sound or a document: inline, or by a reference that Google resolves.
fn media(reference: &str, kind: Option<&str>, any_url: bool, at: &str) -> Result<Value, Refusal> {
    const RESOLVED: [&str; 5] = [
        "gs://",
        "https://generativelanguage.googleapis.com/",
        "https://www.youtube.com/",
        "https://youtube.com/",
        "https://youtu.be/",
    ];
    if let Some((media, data)) = data_url(reference) {
        return Ok(json!({ "inlineData": { "mimeType": kind.unwrap_or(media), "data": data } }));
    }
    let is_url = reference.starts_with("https://") || reference.starts_with("http://");
    let is_googles = RESOLVED.iter().any(|start| reference.starts_with(start));
    if !is_googles && (!any_url || !is_url) {
        return Err(Refusal::untranslatable(
            at,
            format!("{NAME} resolves only its own file URIs: send the content as a base64 data URL"),
        ));
    }
    let mut file = Map::new();
    file.insert("fileUri".to_owned(), reference.into());
    if let Some(kind) = kind.or_else(|| kind_of_name(reference)) {
        file.insert("mimeType".to_owned(), kind.into());
    }
    Ok(json!({ "fileData": file }))
}

/// The media type that a name's ending says.
fn kind_of_name(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "webp" => Some("image/webp"),
        "pdf" => Some("application/pdf"),
        "mp3" => Some("audio/mp3"),
        "wav" => Some("audio/wav"),
        "mp4" => Some("video/mp4"),
        "txt" => Some("text/plain"),
        _ => None,
    }
}
