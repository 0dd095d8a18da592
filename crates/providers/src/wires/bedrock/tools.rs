//! Tools and the choice among them.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::family::Family;
use super::messages::cache_point;
use crate::Refusal;
use crate::wires::chat::{self, Choice, Tool};
use crate::wires::members::Members;

/// The tool that stands for a JSON answer on models that take no schema. LiteLLM's name.
pub(super) const JSON_TOOL: &str = "json_tool_call";

/// The client's tools in Converse's words, and what to choose.
#[derive(Debug, Default)]
pub(super) struct Tools {
    pub(super) list: Vec<Value>,
    pub(super) choice: Option<Choice>,
    /// Only one call at a time.
    pub(super) single: bool,
}

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`.
pub(super) fn read(members: &Members<'_>, uses_tools: bool, drop: bool) -> Result<Tools, Refusal> {
    let cached = cached(members);
    let mut tools = Tools::default();
    for (index, tool) in chat::tools(members)?.into_iter().enumerate() {
        let Tool::Function(function) = tool else {
            if drop {
                continue;
            }
            let message = "only function tools have a counterpart on Bedrock's wire";
            return Err(Refusal::untranslatable(format!("tools[{index}]"), message));
        };
        tools.list.push(spec(&function.name, function.description.as_deref(), function.parameters));
        if cached.get(index) == Some(&true) {
            tools.list.push(cache_point());
        }
    }
    if tools.list.is_empty() {
        return if uses_tools {
            let message = "Bedrock wants the tools of a conversation that holds calls of them";
            Err(Refusal::invalid("tools", message))
        } else {
            Ok(tools)
        };
    }
    tools.choice = chat::choice(members)?;
    tools.single = members.read::<bool>("parallel_tool_calls", "true or false")? == Some(false);
    if tools.choice == Some(Choice::None) {
        // There is no word for it: without tools there is no call.
        if !uses_tools {
            return Ok(Tools::default());
        }
        if !drop {
            let message = "Bedrock cannot be told to call no tool in a conversation that holds calls";
            return Err(Refusal::untranslatable("tool_choice", message));
        }
        tools.choice = None;
    }
    Ok(tools)
}

fn spec(name: &str, description: Option<&str>, schema: Option<Value>) -> Value {
    let mut spec = Map::new();
    spec.insert("name".to_owned(), name.into());
    if let Some(description) = description.filter(|text| !text.trim().is_empty()) {
        spec.insert("description".to_owned(), description.into());
    }
    spec.insert("inputSchema".to_owned(), json!({ "json": object(schema) }));
    json!({ "toolSpec": spec })
}

/// A schema is an object and says so.
fn object(schema: Option<Value>) -> Value {
    let Some(Value::Object(mut schema)) = schema else {
        return json!({ "type": "object", "properties": {} });
    };
    if schema.get("type").is_none_or(Value::is_null) {
        schema.insert("type".to_owned(), "object".into());
        schema.entry("properties").or_insert_with(|| json!({}));
    }
    Value::Object(schema)
}

/// The tool whose input is the answer.
pub(super) fn json_tool(schema: Option<Value>) -> Value {
    let schema =
        schema.or_else(|| Some(json!({ "type": "object", "additionalProperties": true, "properties": {} })));
    spec(JSON_TOOL, None, schema)
}

/// `toolConfig`; `None` without tools.
pub(super) fn config(tools: Tools, family: Family, drop: bool) -> Result<Option<Value>, Refusal> {
    if tools.list.is_empty() {
        return Ok(None);
    }
    let choice = match &tools.choice {
        Some(Choice::Required) => Some(json!({ "any": {} })),
        Some(Choice::Named(name)) => Some(json!({ "tool": { "name": name } })),
        Some(Choice::Auto) if family.can_be_forced() => Some(json!({ "auto": {} })),
        // What happens without a word.
        Some(Choice::Auto | Choice::None) | None => None,
    };
    let mut config = Map::new();
    config.insert("tools".to_owned(), tools.list.into());
    match choice {
        Some(choice) if family.can_be_forced() => {
            config.insert("toolChoice".to_owned(), choice);
        }
        Some(_) if !drop => {
            let message = "this model cannot be told to call a tool on Bedrock: leave tool_choice out";
            return Err(Refusal::untranslatable("tool_choice", message));
        }
        Some(_) | None => {}
    }
    Ok(Some(Value::Object(config)))
}

/// Which tools carry a mark to cache up to them.
fn cached(members: &Members<'_>) -> Vec<bool> {
    #[derive(Deserialize)]
    struct Marked {
        #[serde(default)]
        cache_control: Option<Value>,
        #[serde(default)]
        function: Option<Function>,
    }
    #[derive(Deserialize)]
    struct Function {
        #[serde(default)]
        cache_control: Option<Value>,
    }
    let Some(raw) = members.get("tools") else { return Vec::new() };
    let tools: Vec<Marked> = serde_json::from_str(raw.get()).unwrap_or_default();
    let marked = |tool: Marked| tool.cache_control.or(tool.function?.cache_control);
    tools.into_iter().map(|tool| marked(tool).is_some_and(|mark| mark.is_object())).collect()
}
