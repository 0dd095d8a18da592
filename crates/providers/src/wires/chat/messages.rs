//! The messages of a chat request, taken apart.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Refusal;
use crate::wires::members::Members;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::wires) enum Role {
    /// `system` and `developer`.
    System,
    /// `user`.
    User,
    /// `assistant`.
    Assistant,
    /// `tool`.
    Tool,
}

/// One message.
#[derive(Debug)]
pub(in crate::wires) struct Said {
    /// Who speaks.
    pub(in crate::wires) role: Role,
    /// Its parts, without empty text.
    pub(in crate::wires) pieces: Vec<Piece>,
    /// The tools an assistant called.
    pub(in crate::wires) calls: Vec<Call>,
    /// The call that a tool answers; empty otherwise.
    pub(in crate::wires) answers: String,
    /// What an assistant thought.
    pub(in crate::wires) thought: Option<String>,
}

/// One part of a message.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::wires) enum Piece {
    /// Text.
    Text(String),
    /// A picture, by a URL or a data URL.
    Image {
        /// The URL.
        url: String,
        /// Its media type, when the client says it.
        kind: Option<String>,
    },
    /// Sound, in base64.
    Audio {
        /// The bytes, in base64.
        data: String,
        /// `wav` or `mp3`.
        format: String,
    },
    /// A file, by a data URL or by an id.
    File {
        /// The data URL or the id.
        reference: String,
        /// Its media type, when the client says it.
        kind: Option<String>,
    },
}

/// A tool that was called.
#[derive(Debug)]
pub(in crate::wires) struct Call {
    /// The call's id.
    pub(in crate::wires) id: String,
    /// The tool's name.
    pub(in crate::wires) name: String,
    /// Its arguments.
    pub(in crate::wires) arguments: Map<String, Value>,
    /// What the provider that made the call wants back with it.
    pub(in crate::wires) own: Option<Value>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    role: String,
    #[serde(default)]
    content: Option<Value>,
    #[serde(default)]
    tool_calls: Option<Vec<ToolCall>>,
    #[serde(default)]
    tool_call_id: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    function_call: Option<Value>,
}

#[derive(Deserialize)]
struct ToolCall {
    #[serde(default)]
    id: String,
    function: CalledFunction,
    #[serde(default)]
    provider_specific_fields: Option<Value>,
}

#[derive(Deserialize)]
struct CalledFunction {
    name: String,
    #[serde(default)]
    arguments: Option<String>,
}

/// Reads `messages`, for `wire`.
pub(in crate::wires) fn conversation(members: &Members<'_>, wire: &str) -> Result<Vec<Said>, Refusal> {
    let raw = members.get("messages").ok_or_else(|| Refusal::invalid("messages", "messages is missing"))?;
    let messages: Vec<Message> = serde_json::from_str(raw.get()).map_err(|error| {
        Refusal::invalid("messages", format!("messages is not a list of messages: {error}"))
    })?;
    let mut whole = Vec::with_capacity(messages.len());
    for (index, message) in messages.into_iter().enumerate() {
        let at = |tail: &str| format!("messages[{index}]{tail}");
        let role = match message.role.as_str() {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            role => {
                let message = format!("the role {role:?} has no counterpart on {wire}'s wire");
                return Err(Refusal::untranslatable(at(".role"), message));
            }
        };
        whole.push(said(role, message, &at, wire)?);
    }
    if !whole.iter().any(|said| said.role != Role::System || !said.pieces.is_empty()) {
        return Err(Refusal::untranslatable("messages", format!("{wire} needs at least one message")));
    }
    Ok(whole)
}

fn said(role: Role, message: Message, at: &dyn Fn(&str) -> String, wire: &str) -> Result<Said, Refusal> {
    if message.function_call.is_some() {
        return Err(Refusal::untranslatable(
            at(".function_call"),
            "function_call is not translated: use tool_calls",
        ));
    }
    let answers = message.tool_call_id.unwrap_or_default();
    if role == Role::Tool && answers.is_empty() {
        return Err(Refusal::invalid(at(".tool_call_id"), "a tool message needs a tool_call_id"));
    }
    let mut calls = Vec::new();
    for (index, call) in message.tool_calls.into_iter().flatten().enumerate() {
        let text = call.function.arguments.unwrap_or_default();
        let text = if text.trim().is_empty() { "{}" } else { text.as_str() };
        let arguments = serde_json::from_str(text).map_err(|_| {
            let param = at(&format!(".tool_calls[{index}].function.arguments"));
            Refusal::untranslatable(param, "the arguments of a tool call must be a JSON object")
        })?;
        calls.push(Call {
            id: call.id,
            name: call.function.name,
            arguments,
            own: call.provider_specific_fields,
        });
    }
    Ok(Said {
        role,
        pieces: pieces(message.content, &at(".content"), wire)?,
        calls,
        answers,
        thought: message.reasoning_content.filter(|thought| !thought.is_empty()),
    })
}

/// Content as a string or as parts.
fn pieces(content: Option<Value>, at: &str, wire: &str) -> Result<Vec<Piece>, Refusal> {
    let parts = match content {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) if text.is_empty() => return Ok(Vec::new()),
        Some(Value::String(text)) => return Ok(vec![Piece::Text(text)]),
        Some(Value::Array(parts)) => parts,
        Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => {
            return Err(Refusal::invalid(at, format!("{at} must be a string or a list of parts")));
        }
    };
    let mut pieces = Vec::with_capacity(parts.len());
    for (index, part) in parts.into_iter().enumerate() {
        let at = format!("{at}[{index}]");
        let part: Part = serde_json::from_value(part)
            .map_err(|error| Refusal::invalid(at.as_str(), format!("a part is not as promised: {error}")))?;
        let piece = part.piece(&at, wire)?;
        if piece != Piece::Text(String::new()) {
            pieces.push(piece);
        }
    }
    Ok(pieces)
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default, alias = "refusal")]
    text: Option<String>,
    #[serde(default)]
    image_url: Option<Image>,
    #[serde(default)]
    input_audio: Option<Audio>,
    #[serde(default)]
    file: Option<File>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Image {
    Bare(String),
    Object {
        url: String,
        #[serde(default)]
        format: Option<String>,
    },
}

#[derive(Deserialize)]
struct Audio {
    data: String,
    #[serde(default)]
    format: Option<String>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    file_data: Option<String>,
    #[serde(default)]
    file_id: Option<String>,
    #[serde(default)]
    format: Option<String>,
}

impl Part {
    fn piece(self, at: &str, wire: &str) -> Result<Piece, Refusal> {
        let needs = |what: &str| Refusal::invalid(at, format!("a part of this type needs {what}"));
        match self.kind.as_str() {
            "text" | "refusal" => Ok(Piece::Text(self.text.ok_or_else(|| needs("its text"))?)),
            "image_url" => match self.image_url.ok_or_else(|| needs("an image_url"))? {
                Image::Bare(url) => Ok(Piece::Image { url, kind: None }),
                Image::Object { url, format } => Ok(Piece::Image { url, kind: format }),
            },
            "input_audio" => {
                let audio = self.input_audio.ok_or_else(|| needs("an input_audio"))?;
                Ok(Piece::Audio {
                    data: audio.data,
                    format: audio.format.unwrap_or_else(|| "wav".to_owned()),
                })
            }
            "file" => {
                let file = self.file.ok_or_else(|| needs("a file"))?;
                let reference = file.file_data.or(file.file_id);
                let reference = reference.ok_or_else(|| needs("file_data or a file_id"))?;
                Ok(Piece::File { reference, kind: file.format })
            }
            kind => Err(Refusal::untranslatable(
                at,
                format!("a part of type {kind:?} has no counterpart on {wire}'s wire"),
            )),
        }
    }
}

/// Media type and base64 text of a data URL.
pub(in crate::wires) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let media = head.strip_suffix(";base64")?;
    Some((media.split(';').next().unwrap_or(media), data))
}

/// The name of the tool that the call `id` called.
pub(in crate::wires) fn name_of_call<'a>(conversation: &'a [Said], id: &str) -> Option<&'a str> {
    conversation
        .iter()
        .rev()
        .flat_map(|said| &said.calls)
        .find(|call| call.id == id)
        .map(|call| call.name.as_str())
}
