//! A chat completion as a `/api/chat` request.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::messages::messages;
use super::{NAME, put_own};
use crate::Refusal;
use crate::target::Purpose;
use crate::wires::Encode;
use crate::wires::chat::{
    self, Choice, Format, Tool, cap, choice, conversation, format, put_number, stops, tools,
};
use crate::wires::members::Members;

/// Translates a chat request.
pub(super) fn translate(encode: &Encode<'_>, model: &str) -> Result<Bytes, Refusal> {
    let members = Members::new(encode);
    let unsayable = [
        "n",
        "functions",
        "function_call",
        "logit_bias",
        "modalities",
        "tool_choice",
        "web_search_options",
        "prediction",
    ];
    chat::refuse_unsayable(encode, &members, NAME, &unsayable)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages(&conversation(&members, NAME)?)?.into());
    // Ollama streams unless told not to.
    body.insert("stream".to_owned(), encode.options.stream.into());
    put_tools(&mut body, &members)?;
    match format(&members)? {
        None => {}
        Some(Format::Json) => {
            body.insert("format".to_owned(), "json".into());
        }
        Some(Format::Schema(schema)) => {
            body.insert("format".to_owned(), schema);
        }
    }
    if let Some(think) = think(encode, &members, model)? {
        body.insert("think".to_owned(), think);
    }
    let mut options = options(&members)?;
    put_own(&mut body, &mut options, &members, &["thinking"])?;
    if !options.is_empty() {
        body.insert("options".to_owned(), options.into());
    }
    Ok(chat::written(encode, body))
}

/// OpenAI's sampling parameters as options of the model.
pub(super) fn options(members: &Members<'_>) -> Result<Map<String, Value>, Refusal> {
    let mut options = Map::new();
    if let Some(cap) = cap(members)? {
        options.insert("num_predict".to_owned(), cap.into());
    }
    for name in ["temperature", "top_p", "seed", "frequency_penalty", "presence_penalty"] {
        put_number(&mut options, members, name, name)?;
    }
    if let Some(list) = stops(members)? {
        options.insert("stop".to_owned(), list.into());
    }
    Ok(options)
}

/// `think`, from Anthropic's words or from an effort; a probe asks for no thoughts.
fn think(encode: &Encode<'_>, members: &Members<'_>, model: &str) -> Result<Option<Value>, Refusal> {
    // The one family that takes a level, and that cannot be switched off.
    let has_levels = model.contains("gpt-oss");
    if let Some(thinking) = members.read::<Value>("thinking", "an object")? {
        let is_off = thinking.get("type").and_then(Value::as_str) == Some("disabled");
        return Ok(Some((!is_off).into()));
    }
    let Some(effort) = members.text("reasoning_effort")? else {
        let own = members.get("think").is_some();
        return Ok(match encode.purpose {
            Purpose::Probe { omit } if !own && !omit.iter().any(|name| name == "think") => {
                Some(if has_levels { "low".into() } else { false.into() })
            }
            Purpose::Probe { .. } | Purpose::Traffic => None,
        });
    };
    Ok(Some(match effort.as_ref() {
        "none" | "minimal" | "low" if has_levels => "low".into(),
        "medium" if has_levels => "medium".into(),
        "high" | "xhigh" | "max" if has_levels => "high".into(),
        "none" => false.into(),
        "minimal" | "low" | "medium" | "high" | "xhigh" | "max" => true.into(),
        _ => {
            let message = format!("reasoning_effort {effort:?} is not known");
            return Err(Refusal::invalid("reasoning_effort", message));
        }
    }))
}

/// `tools`; without a choice among them, "none" offers none.
fn put_tools(body: &mut Map<String, Value>, members: &Members<'_>) -> Result<(), Refusal> {
    let mut functions: Vec<Value> = Vec::new();
    for (index, tool) in tools(members)?.into_iter().enumerate() {
        let Tool::Function(function) = tool else {
            return Err(Refusal::untranslatable(
                format!("tools[{index}]"),
                "only function tools have a counterpart on Ollama's wire",
            ));
        };
        let schema = function.parameters.filter(|schema| !schema.is_null());
        let schema = schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
        let description = function.description.unwrap_or_default();
        functions.push(json!({
            "type": "function",
            "function": { "name": function.name, "description": description, "parameters": schema },
        }));
    }
    if !functions.is_empty() && choice(members)? != Some(Choice::None) {
        body.insert("tools".to_owned(), functions.into());
    }
    Ok(())
}
