//! OpenAI's messages as Converse's system text and turns.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::WIRE;
use crate::Refusal;
use crate::wires::chat::{self, Piece, Role, Said};
use crate::wires::members::Members;

/// The conversation.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) system: Vec<Value>,
    pub(super) turns: Vec<Turn>,
    /// It holds calls of tools or their results.
    pub(super) uses_tools: bool,
    documents: usize,
}

/// One turn.
#[derive(Debug)]
pub(super) struct Turn {
    role: &'static str,
    content: Vec<Value>,
}

impl Turn {
    pub(super) fn into_value(self) -> Value {
        json!({ "role": self.role, "content": self.content })
    }
}

/// Reads `messages`.
pub(super) fn conversation(members: &Members<'_>) -> Result<Conversation, Refusal> {
    let said = chat::conversation(members, WIRE)?;
    let mut marks = marks(members);
    marks.resize_with(said.len(), Marks::default);
    let mut whole = Conversation::default();
    for (index, (said, marks)) in said.into_iter().zip(marks).enumerate() {
        let at = format!("messages[{index}].content");
        match said.role {
            Role::System => {
                let system = whole.blocks(said.pieces, &marks, &at)?;
                if let Some(odd) =
                    system.iter().find(|block| block.get("text").or(block.get("cachePoint")).is_none())
                {
                    let kind = odd.as_object().and_then(|odd| odd.keys().next()).map_or("", String::as_str);
                    return Err(Refusal::untranslatable(
                        at,
                        format!("Bedrock's system prompt is text, not {kind}"),
                    ));
                }
                whole.system.extend(system);
            }
            Role::User => {
                let blocks = whole.blocks(said.pieces, &marks, &at)?;
                whole.push("user", blocks);
            }
            Role::Assistant => {
                let blocks = whole.assistant(said, &marks, &at)?;
                whole.push("assistant", blocks);
            }
            Role::Tool => {
                whole.uses_tools = true;
                let content = whole.blocks(said.pieces, &Marks::default(), &at)?;
                let mut blocks =
                    vec![json!({ "toolResult": { "toolUseId": said.answers, "content": content } })];
                blocks.extend(marks.last().then(cache_point));
                whole.push("user", blocks);
            }
        }
    }
    match whole.turns.first() {
        Some(first) if first.role == "user" => Ok(whole),
        Some(_) => {
            Err(Refusal::untranslatable("messages", "Bedrock's conversations begin with a user message"))
        }
        None => Err(Refusal::untranslatable("messages", "Bedrock needs at least one user message")),
    }
}

impl Conversation {
    /// Adds to the last turn when its role is the same; results of tools come first in a turn.
    fn push(&mut self, role: &'static str, blocks: Vec<Value>) {
        if blocks.is_empty() {
            return;
        }
        let is_result = |block: &Value| block.get("toolResult").is_some();
        match self.turns.last_mut().filter(|turn| turn.role == role) {
            Some(turn) => {
                for block in blocks {
                    let place = if is_result(&block) {
                        turn.content.iter().take_while(|block| is_result(block)).count()
                    } else {
                        turn.content.len()
                    };
                    turn.content.insert(place, block);
                }
            }
            None => self.turns.push(Turn { role, content: blocks }),
        }
    }

    fn assistant(&mut self, said: Said, marks: &Marks, at: &str) -> Result<Vec<Value>, Refusal> {
        // Thinking must come back unchanged, and first. Without its signature no model takes it back.
        let mut blocks: Vec<Value> = marks.thinking.iter().filter_map(thinking).collect();
        blocks.extend(self.blocks(said.pieces, marks, at)?);
        for call in said.calls {
            self.uses_tools = true;
            let call = json!({ "toolUseId": call.id, "name": call.name, "input": call.arguments });
            blocks.push(json!({ "toolUse": call }));
        }
        Ok(blocks)
    }

    /// Blocks for the parts of a message. Blank text is left out: Bedrock refuses it.
    fn blocks(&mut self, pieces: Vec<Piece>, marks: &Marks, at: &str) -> Result<Vec<Value>, Refusal> {
        let mut blocks = Vec::with_capacity(pieces.len());
        for (index, piece) in pieces.into_iter().enumerate() {
            match piece {
                Piece::Text(text) if text.trim().is_empty() => {}
                Piece::Text(text) => blocks.push(json!({ "text": text })),
                Piece::Image { url, kind } => blocks.push(image(&url, kind.as_deref(), at)?),
                Piece::File { reference, kind } => {
                    self.documents += 1;
                    blocks.push(document(&reference, kind.as_deref(), self.documents, at)?);
                }
                Piece::Audio { .. } => {
                    return Err(Refusal::untranslatable(at, "sound cannot be said on Bedrock's wire"));
                }
            }
            if marks.points.contains(&index) && !blocks.is_empty() {
                blocks.push(cache_point());
            }
        }
        if marks.whole && !blocks.is_empty() {
            blocks.push(cache_point());
        }
        Ok(blocks)
    }
}

/// Everything before it may be cached.
pub(super) fn cache_point() -> Value {
    json!({ "cachePoint": { "type": "default" } })
}

/// Marks of a message that are Anthropic's words and not OpenAI's: kept thoughts, and where to cache.
#[derive(Debug, Default)]
struct Marks {
    thinking: Vec<Value>,
    /// After which parts.
    points: Vec<usize>,
    /// After the message.
    whole: bool,
}

impl Marks {
    fn last(&self) -> bool {
        self.whole || !self.points.is_empty()
    }
}

/// The marks of every message; none when there are none, which is told without parsing.
fn marks(members: &Members<'_>) -> Vec<Marks> {
    #[derive(Deserialize)]
    struct Marked {
        #[serde(default)]
        thinking_blocks: Option<Vec<Value>>,
        #[serde(default)]
        cache_control: Option<Map<String, Value>>,
        #[serde(default)]
        content: Option<Value>,
    }
    let Some(raw) = members.get("messages").map(|raw| raw.get().as_bytes()) else { return Vec::new() };
    if !["cache_control", "thinking_blocks"]
        .iter()
        .any(|word| memchr::memmem::find(raw, word.as_bytes()).is_some())
    {
        return Vec::new();
    }
    let marked: Vec<Marked> = serde_json::from_slice(raw).unwrap_or_default();
    let points = |content: Option<Value>| {
        let parts = content.as_ref().and_then(Value::as_array).into_iter().flatten();
        let said = parts.filter(|part| part.get("text").and_then(Value::as_str) != Some(""));
        said.enumerate()
            .filter(|(_, part)| part.get("cache_control").is_some_and(Value::is_object))
            .map(|(index, _)| index)
            .collect()
    };
    marked
        .into_iter()
        .map(|marked| Marks {
            thinking: marked.thinking_blocks.unwrap_or_default(),
            points: points(marked.content),
            whole: marked.cache_control.is_some(),
        })
        .collect()
}

/// A kept thought.
fn thinking(block: &Value) -> Option<Value> {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    match text("type")? {
        "thinking" => {
            let mut kept = Map::new();
            kept.insert("text".to_owned(), text("thinking")?.into());
            kept.insert("signature".to_owned(), text("signature")?.into());
            Some(json!({ "reasoningContent": { "reasoningText": kept } }))
        }
        "redacted_thinking" => Some(json!({ "reasoningContent": { "redactedContent": text("data")? } })),
        _ => None,
    }
}

/// Bedrock takes bytes: it fetches nothing, and neither does the gateway.
fn image(url: &str, kind: Option<&str>, at: &str) -> Result<Value, Refusal> {
    let (media, data) = chat::data_url(url).ok_or_else(|| {
        Refusal::untranslatable(at, "Bedrock takes the bytes of an image: send it as a base64 data URL")
    })?;
    let media = kind.unwrap_or(media);
    let format = match media {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpeg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        _ => {
            let message = format!("Bedrock reads png, jpeg, gif and webp, not {media:?}");
            return Err(Refusal::untranslatable(at, message));
        }
    };
    Ok(json!({ "image": { "format": format, "source": { "bytes": data } } }))
}

fn document(reference: &str, kind: Option<&str>, number: usize, at: &str) -> Result<Value, Refusal> {
    let (media, data) = chat::data_url(reference).ok_or_else(|| {
        Refusal::untranslatable(at, "Bedrock takes the bytes of a file: send file_data as a base64 data URL")
    })?;
    let media = kind.unwrap_or(media);
    let format = match media {
        "application/pdf" => "pdf",
        "text/csv" => "csv",
        "application/msword" => "doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "docx",
        "application/vnd.ms-excel" => "xls",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "xlsx",
        "text/html" => "html",
        "text/plain" => "txt",
        "text/markdown" => "md",
        _ => {
            return Err(Refusal::untranslatable(at, format!("Bedrock reads no documents of type {media:?}")));
        }
    };
    // Names are few letters by Bedrock's rules, and one per document; nothing is known of the model's use of them.
    let name = format!("document {number}");
    Ok(json!({ "document": { "format": format, "name": name, "source": { "bytes": data } } }))
}
