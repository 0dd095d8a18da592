//! A chat completion as a v2 chat request.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::NAME;
use super::messages::messages;
use crate::Refusal;
use crate::target::Purpose;
use crate::wires::Encode;
use crate::wires::chat::{
    self, Choice, Format, Function, Tool, cap, choice, conversation, format, put_number, stops, tools, value,
};
use crate::wires::members::Members;

/// Translates a chat request.
pub(super) fn translate(encode: &Encode<'_>, model: &str) -> Result<Bytes, Refusal> {
    let members = Members::new(encode);
    let unsayable = [
        "n",
        "functions",
        "function_call",
        "logprobs",
        "top_logprobs",
        "modalities",
        "web_search_options",
        "prediction",
    ];
    chat::refuse_unsayable(encode, &members, NAME, &unsayable)?;
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages(&conversation(&members, NAME)?)?.into());
    body.insert("stream".to_owned(), encode.options.stream.into());
    if let Some(cap) = cap(&members)? {
        body.insert("max_tokens".to_owned(), cap.into());
    }
    for (name, as_name) in [
        ("temperature", "temperature"),
        ("top_p", "p"),
        ("top_k", "k"),
        ("seed", "seed"),
        ("frequency_penalty", "frequency_penalty"),
        ("presence_penalty", "presence_penalty"),
    ] {
        put_number(&mut body, &members, name, as_name)?;
    }
    if let Some(list) = stops(&members)? {
        body.insert("stop_sequences".to_owned(), list.into());
    }
    put_tools(&mut body, &members)?;
    match format(&members)? {
        None => {}
        Some(Format::Json) => {
            body.insert("response_format".to_owned(), json!({ "type": "json_object" }));
        }
        Some(Format::Schema(schema)) => {
            body.insert("response_format".to_owned(), json!({ "type": "json_object", "schema": schema }));
        }
    }
    if let Some(thinking) = thinking(encode, &members, model)? {
        body.insert("thinking".to_owned(), thinking);
    }
    for (name, raw) in members.foreign().filter(|(name, _)| !matches!(*name, "thinking" | "top_k")) {
        body.insert(name.to_owned(), value(raw)?);
    }
    Ok(chat::written(encode, body))
}

/// Whether the model is known to think unless told not to.
fn thinks(model: &str) -> bool {
    model.contains("reasoning")
}

/// `thinking` as Cohere says it, from Anthropic's words or from an effort. Budgets are LiteLLM's.
fn thinking(encode: &Encode<'_>, members: &Members<'_>, model: &str) -> Result<Option<Value>, Refusal> {
    if let Some(Value::Object(mut thinking)) = members.read::<Value>("thinking", "an object")? {
        if let Some(budget) = thinking.remove("budget_tokens") {
            thinking.insert("token_budget".to_owned(), budget);
        }
        return Ok(Some(Value::Object(thinking)));
    }
    let off = || thinks(model).then(|| json!({ "type": "disabled" }));
    let Some(effort) = members.text("reasoning_effort")? else {
        return Ok(match encode.purpose {
            // The cap of a probe would go into thoughts.
            Purpose::Probe { omit } if !omit.iter().any(|name| name == "thinking") => off(),
            Purpose::Probe { .. } | Purpose::Traffic => None,
        });
    };
    let budget = match effort.as_ref() {
        "none" => return Ok(off()),
        "minimal" | "low" => 1024,
        "medium" => 2048,
        "high" => 4096,
        "xhigh" => 8192,
        "max" => 16_384,
        _ => {
            let message = format!("reasoning_effort {effort:?} is not known");
            return Err(Refusal::invalid("reasoning_effort", message));
        }
    };
    Ok(Some(json!({ "type": "enabled", "token_budget": budget })))
}

/// `tools`, `strict_tools` and `tool_choice`. There is no choice of one tool: it is the only one offered then.
fn put_tools(body: &mut Map<String, Value>, members: &Members<'_>) -> Result<(), Refusal> {
    let mut functions = Vec::new();
    for (index, tool) in tools(members)?.into_iter().enumerate() {
        match tool {
            Tool::Function(function) => functions.push(function),
            Tool::Own(_) => {
                return Err(Refusal::untranslatable(
                    format!("tools[{index}]"),
                    "only function tools have a counterpart on Cohere's wire",
                ));
            }
        }
    }
    let choice = choice(members)?;
    if let Some(Choice::Named(name)) = &choice {
        functions.retain(|function| &function.name == name);
        if functions.is_empty() {
            return Err(Refusal::invalid("tool_choice", format!("tool_choice names no tool: {name:?}")));
        }
    }
    if functions.is_empty() {
        return Ok(());
    }
    if functions.iter().any(|function| function.strict == Some(true)) {
        body.insert("strict_tools".to_owned(), true.into());
    }
    body.insert("tools".to_owned(), functions.into_iter().map(declaration).collect());
    match choice {
        Some(Choice::Required | Choice::Named(_)) => body.insert("tool_choice".to_owned(), "REQUIRED".into()),
        Some(Choice::None) => body.insert("tool_choice".to_owned(), "NONE".into()),
        Some(Choice::Auto) | None => None,
    };
    Ok(())
}

fn declaration(function: Function) -> Value {
    let schema = function.parameters.filter(|schema| !schema.is_null());
    let schema = schema.unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    let mut declaration = Map::new();
    declaration.insert("name".to_owned(), function.name.into());
    if let Some(description) = function.description {
        declaration.insert("description".to_owned(), description.into());
    }
    declaration.insert("parameters".to_owned(), schema);
    json!({ "type": "function", "function": declaration })
}
