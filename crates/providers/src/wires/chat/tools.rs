//! The tools of a chat request, the choice among them, and the shape of the answer.

use serde::Deserialize;
use serde_json::Value;

use crate::Refusal;
use crate::wires::members::Members;

/// A tool.
#[derive(Debug)]
pub(in crate::wires) enum Tool {
    /// A function of the client.
    Function(Function),
    /// One of the provider's own, as written.
    Own(Value),
}

/// A function of the client.
#[derive(Debug, Deserialize)]
pub(in crate::wires) struct Function {
    /// Its name.
    pub(in crate::wires) name: String,
    /// What it does.
    #[serde(default)]
    pub(in crate::wires) description: Option<String>,
    /// The schema of its arguments.
    #[serde(default)]
    pub(in crate::wires) parameters: Option<Value>,
    /// The arguments must follow the schema.
    #[serde(default)]
    pub(in crate::wires) strict: Option<bool>,
}

#[derive(Deserialize)]
struct Written {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    function: Option<Function>,
}

/// Reads `tools`.
pub(in crate::wires) fn tools(members: &Members<'_>) -> Result<Vec<Tool>, Refusal> {
    let list: Vec<Value> = members.read("tools", "a list")?.unwrap_or_default();
    let mut tools = Vec::with_capacity(list.len());
    for (index, value) in list.into_iter().enumerate() {
        let at = || format!("tools[{index}]");
        let tool = Written::deserialize(&value)
            .map_err(|error| Refusal::invalid(at(), format!("a tool is not as promised: {error}")))?;
        match (tool.kind.as_str(), tool.function) {
            ("function" | "", Some(function)) => {
                if function.parameters.as_ref().is_some_and(|schema| !schema.is_object() && !schema.is_null())
                {
                    return Err(Refusal::invalid(
                        format!("{}.function.parameters", at()),
                        "parameters must be a JSON Schema object",
                    ));
                }
                tools.push(Tool::Function(function));
            }
            ("function", None) => return Err(Refusal::invalid(at(), "a function tool needs a function")),
            (_, _) => tools.push(Tool::Own(value)),
        }
    }
    Ok(tools)
}

/// The choice among tools.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::wires) enum Choice {
    /// The model decides.
    Auto,
    /// No tool.
    None,
    /// Some tool.
    Required,
    /// This function.
    Named(String),
}

/// Reads `tool_choice`.
pub(in crate::wires) fn choice(members: &Members<'_>) -> Result<Option<Choice>, Refusal> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Asked {
        Word(String),
        Named { function: Name },
    }
    #[derive(Deserialize)]
    struct Name {
        name: String,
    }
    let wanted = "auto, none, required or the name of a function";
    match members.read::<Asked>("tool_choice", wanted)? {
        None => Ok(None),
        Some(Asked::Named { function }) => Ok(Some(Choice::Named(function.name))),
        Some(Asked::Word(word)) => match word.as_str() {
            "auto" => Ok(Some(Choice::Auto)),
            "none" => Ok(Some(Choice::None)),
            "required" | "any" => Ok(Some(Choice::Required)),
            _ => Err(Refusal::invalid("tool_choice", format!("tool_choice must be {wanted}"))),
        },
    }
}

/// The shape the answer must have.
#[derive(Debug)]
pub(in crate::wires) enum Format {
    /// Any JSON object.
    Json,
    /// JSON of this schema.
    Schema(Value),
}

/// Reads `response_format`.
pub(in crate::wires) fn format(members: &Members<'_>) -> Result<Option<Format>, Refusal> {
    #[derive(Deserialize)]
    struct Asked {
        #[serde(rename = "type", default)]
        kind: String,
        #[serde(default)]
        json_schema: Option<Schema>,
    }
    #[derive(Deserialize)]
    struct Schema {
        schema: Value,
    }
    let Some(asked) = members.read::<Asked>("response_format", "an object with a type")? else {
        return Ok(None);
    };
    match (asked.kind.as_str(), asked.json_schema) {
        ("text", _) => Ok(None),
        ("json_object", _) => Ok(Some(Format::Json)),
        ("json_schema", Some(schema)) => Ok(Some(Format::Schema(schema.schema))),
        ("json_schema", None) => {
            Err(Refusal::invalid("response_format", "response_format.json_schema needs a schema"))
        }
        (kind, _) => {
            Err(Refusal::invalid("response_format", format!("response_format.type {kind:?} is not known")))
        }
    }
}
