//! Tools, the choice among them, and the shape of the answer.

use std::borrow::Cow;

use haleway_wire::{Change, Envelope};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Refusal;

/// The tool that stands for a JSON answer on models that take no schema. LiteLLM's name.
pub(super) const JSON_TOOL: &str = "json_tool_call";

/// A tool as Anthropic takes it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Tool<'a> {
    /// One of Anthropic's own, as written.
    Raw(&'a RawValue),
    /// A function.
    Function(Function<'a>),
}

#[derive(Debug, Serialize)]
pub(super) struct Function<'a> {
    name: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a RawValue>,
    input_schema: Cow<'a, RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    function: Option<WrittenFunction<'a>>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct WrittenFunction<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
    #[serde(default)]
    strict: Option<bool>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
}

/// Reads `tools`.
pub(super) fn tools(raw: &RawValue) -> Result<Vec<Tool<'_>>, Refusal> {
    let list: Vec<&RawValue> =
        serde_json::from_str(raw.get()).map_err(|_| Refusal::invalid("tools", "tools must be a list"))?;
    let mut tools = Vec::with_capacity(list.len());
    for (index, raw) in list.into_iter().enumerate() {
        let at = || format!("tools[{index}]");
        let tool: Written<'_> = serde_json::from_str(raw.get())
            .map_err(|error| Refusal::invalid(at(), format!("a tool is not as promised: {error}")))?;
        match (tool.kind.as_ref(), tool.function) {
            ("function" | "", Some(function)) => {
                let cache_control = tool.cache_control.or(function.cache_control);
                tools.push(Tool::Function(Function {
                    name: function.name,
                    description: function.description.filter(|text| text.get() != "null"),
                    input_schema: schema(function.parameters, &at)?,
                    strict: function.strict,
                    cache_control,
                }));
            }
            ("function" | "custom" | "", None)
                if Envelope::parse(raw.get().as_bytes()).is_ok_and(|tool| tool.is_set("input_schema")) =>
            {
                tools.push(Tool::Raw(raw));
            }
            ("function" | "custom" | "", _) => {
                return Err(Refusal::untranslatable(
                    at(),
                    "only function tools have a counterpart on Anthropic's wire",
                ));
            }
            // web_search_…, computer_…: Anthropic's own.
            (_, _) => tools.push(Tool::Raw(raw)),
        }
    }
    Ok(tools)
}

/// A schema is an object and says so.
fn schema<'a>(raw: Option<&'a RawValue>, at: &dyn Fn() -> String) -> Result<Cow<'a, RawValue>, Refusal> {
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else {
        return made(r#"{"type":"object","properties":{}}"#.to_owned());
    };
    let wrong = || {
        Refusal::invalid(format!("{}.function.parameters", at()), "parameters must be a JSON Schema object")
    };
    let members = Envelope::parse(raw.get().as_bytes()).map_err(|_| wrong())?;
    if members.is_set("type") {
        return Ok(Cow::Borrowed(raw));
    }
    let mut changes = vec![Change::set_raw("type", "\"object\"")];
    if !members.is_set("properties") {
        changes.push(Change::set_raw("properties", "{}"));
    }
    made(String::from_utf8_lossy(&members.patched(&changes)).into_owned())
}

fn made<'a>(text: String) -> Result<Cow<'a, RawValue>, Refusal> {
    RawValue::from_string(text)
        .map(Cow::Owned)
        .map_err(|error| Refusal::invalid("tools", format!("a schema cannot be written: {error}")))
}

/// The tool whose input is the answer.
pub(super) fn json_tool(schema: Option<&RawValue>) -> Result<Tool<'_>, Refusal> {
    let input_schema = match schema {
        Some(schema) => Cow::Borrowed(schema),
        None => made(r#"{"type":"object","additionalProperties":true,"properties":{}}"#.to_owned())?,
    };
    Ok(Tool::Function(Function {
        name: Cow::Borrowed(JSON_TOOL),
        description: None,
        input_schema,
        strict: None,
        cache_control: None,
    }))
}

/// The choice among tools.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Choice<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disable_parallel_tool_use: Option<bool>,
}

impl Choice<'_> {
    /// Whether a tool must be called.
    pub(super) fn is_forced(&self) -> bool {
        matches!(self.kind, "any" | "tool")
    }
}

/// Reads `tool_choice`.
pub(super) fn choice<'a>(
    raw: Option<&'a RawValue>,
    parallel: Option<bool>,
) -> Result<Option<Choice<'a>>, Refusal> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "type", default)]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        function: Option<Name<'a>>,
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
    }
    #[derive(Deserialize)]
    struct Name<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    let disable = (parallel == Some(false)).then_some(true);
    let plain = |kind| Some(Choice { kind, name: None, disable_parallel_tool_use: disable });
    let wrong = || {
        Refusal::untranslatable("tool_choice", "tool_choice must be auto, none, required or name a function")
    };
    let Some(raw) = raw else {
        return Ok(disable.and_then(|_| plain("auto")));
    };
    match raw.get() {
        "\"auto\"" => Ok(plain("auto")),
        // Anthropic refuses the mark beside "none".
        "\"none\"" => Ok(Some(Choice { kind: "none", name: None, disable_parallel_tool_use: None })),
        "\"required\"" | "\"any\"" => Ok(plain("any")),
        text if text.starts_with('{') => {
            let named: Named<'a> = serde_json::from_str(text).map_err(|_| wrong())?;
            match (named.kind.as_ref(), named.function.map(|function| function.name).or(named.name)) {
                ("auto", _) => Ok(plain("auto")),
                ("any", _) => Ok(plain("any")),
                ("function" | "tool", Some(name)) => {
                    Ok(Some(Choice { kind: "tool", name: Some(name), disable_parallel_tool_use: disable }))
                }
                (_, _) => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

/// The shape the answer must have.
#[derive(Debug)]
pub(super) enum Format<'a> {
    /// Any JSON object.
    Json,
    /// JSON of this schema.
    Schema(&'a RawValue),
}

/// Reads `response_format`.
pub(super) fn format(raw: &RawValue) -> Result<Option<Format<'_>>, Refusal> {
    #[derive(Deserialize)]
    struct Asked<'a> {
        #[serde(borrow, rename = "type", default)]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        json_schema: Option<Schema<'a>>,
    }
    #[derive(Deserialize)]
    struct Schema<'a> {
        #[serde(borrow)]
        schema: &'a RawValue,
    }
    let wrong = |what: &str| Refusal::invalid("response_format", what.to_owned());
    let asked: Asked<'_> = serde_json::from_str(raw.get())
        .map_err(|_| wrong("response_format must be an object with a type"))?;
    match (asked.kind.as_ref(), asked.json_schema) {
        ("text", _) => Ok(None),
        ("json_object", _) => Ok(Some(Format::Json)),
        ("json_schema", Some(schema)) => Ok(Some(Format::Schema(schema.schema))),
        ("json_schema", None) => Err(wrong("response_format.json_schema needs a schema")),
        (kind, _) => Err(wrong(&format!("response_format.type {kind:?} is not known"))),
    }
}
