//! A client's request as the `input` of a model.

use serde_json::{Map, Value};

use super::{Kind, NAME};
use crate::Refusal;
use crate::wires::Encode;
use crate::wires::chat::{self, Piece, Role, Said, cap, conversation, put_number, stops};
use crate::wires::members::Members;

/// Parameters of completions and images that are said in other words, or have no counterpart.
const KNOWN: [&str; 9] =
    ["prompt", "n", "size", "quality", "style", "response_format", "background", "best_of", "echo"];

pub(super) fn translate(encode: &Encode<'_>, kind: Kind, model: &str) -> Result<Map<String, Value>, Refusal> {
    let members = Members::new(encode);
    let mut input = Map::new();
    match kind {
        Kind::Chat => {
            let unsayable = [
                "tools",
                "tool_choice",
                "functions",
                "function_call",
                "response_format",
                "n",
                "logit_bias",
                "logprobs",
                "modalities",
                "prediction",
                "web_search_options",
            ];
            chat::refuse_unsayable(encode, &members, NAME, &unsayable)?;
            let (system, prompt) = prompt(&conversation(&members, NAME)?)?;
            input.insert("prompt".to_owned(), prompt.into());
            if !system.is_empty() {
                input.insert("system_prompt".to_owned(), system.into());
            }
        }
        Kind::Text | Kind::Images => {
            if kind == Kind::Text {
                let unsayable = ["n", "best_of", "logprobs", "logit_bias", "echo"];
                chat::refuse_unsayable(encode, &members, NAME, &unsayable)?;
            }
            let prompt =
                members.text("prompt")?.ok_or_else(|| Refusal::invalid("prompt", "prompt is missing"))?;
            input.insert("prompt".to_owned(), prompt.into());
        }
    }
    if kind == Kind::Images {
        picture(&mut input, &members)?;
    } else {
        sampling(&mut input, &members)?;
    }
    for (name, raw) in members.foreign().filter(|(name, _)| !KNOWN.contains(name)) {
        input.insert(name.to_owned(), chat::value(raw)?);
    }
    let mut body = Map::new();
    if let Some((_, version)) = model.split_once(':') {
        body.insert("version".to_owned(), version.into());
    }
    body.insert("input".to_owned(), input.into());
    Ok(body)
}

fn sampling(input: &mut Map<String, Value>, members: &Members<'_>) -> Result<(), Refusal> {
    if let Some(cap) = cap(members)? {
        input.insert("max_new_tokens".to_owned(), cap.into());
    }
    for name in ["temperature", "top_p", "seed", "presence_penalty", "frequency_penalty"] {
        put_number(input, members, name, name)?;
    }
    // Models on Replicate read one string.
    if let Some(stops) = stops(members)? {
        input.insert("stop_sequences".to_owned(), stops.join(",").into());
    }
    Ok(())
}

fn picture(input: &mut Map<String, Value>, members: &Members<'_>) -> Result<(), Refusal> {
    if let Some(count) = members.read::<u64>("n", "a positive integer")?.filter(|count| *count != 1) {
        input.insert("num_outputs".to_owned(), count.into());
    }
    put_number(input, members, "seed", "seed")?;
    let Some(size) = members.text("size")?.filter(|size| size != "auto") else { return Ok(()) };
    let sides: Option<(u32, u32)> =
        size.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    let (width, height) =
        sides.ok_or_else(|| Refusal::invalid("size", "size must be WIDTHxHEIGHT in pixels"))?;
    input.insert("width".to_owned(), width.into());
    input.insert("height".to_owned(), height.into());
    Ok(())
}

/// The system's words, and the rest as one text: a single turn as it is, a conversation with its speakers.
fn prompt(conversation: &[Said]) -> Result<(String, String), Refusal> {
    let mut system = Vec::new();
    let mut turns: Vec<(&str, String)> = Vec::new();
    for (index, said) in conversation.iter().enumerate() {
        let text = text(said, index)?;
        match said.role {
            Role::System => system.push(text),
            Role::User => turns.push(("User", text)),
            Role::Assistant => turns.push(("Assistant", text)),
            Role::Tool => {
                let at = format!("messages[{index}]");
                return Err(Refusal::untranslatable(at, format!("{NAME}'s models call no tools")));
            }
        }
    }
    let prompt = match turns.as_slice() {
        [("User", only)] => only.clone(),
        turns => {
            let lines: Vec<String> = turns.iter().map(|(who, text)| format!("{who}: {text}")).collect();
            format!("{}\n\nAssistant:", lines.join("\n\n"))
        }
    };
    Ok((system.join("\n\n"), prompt))
}

fn text(said: &Said, index: usize) -> Result<String, Refusal> {
    let parts: Option<Vec<&str>> = said
        .pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Image { .. } | Piece::Audio { .. } | Piece::File { .. } => None,
        })
        .collect();
    let parts = parts.ok_or_else(|| {
        Refusal::untranslatable(format!("messages[{index}].content"), format!("{NAME}'s prompts are text"))
    })?;
    Ok(parts.join("\n"))
}
