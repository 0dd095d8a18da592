//! A response request as a chat request.

use std::borrow::Cow;

use serde::Deserialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::Asked;
use super::super::drafts::{Choice, Function, Tool};
use super::input;
use crate::Refusal;

/// The members that are translated, and those that ask for what chat completions do anyway.
const KNOWN: &[&str] = &[
    "input",
    "instructions",
    "max_output_tokens",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "include",
    "store",
    "metadata",
    "truncation",
    "max_tool_calls",
    "top_logprobs",
    "previous_response_id",
    "conversation",
    "background",
    "prompt",
    "context_management",
];

/// The chat request that asks the same.
pub(in crate::bridge) fn request(asked: &Asked<'_>) -> Result<Vec<u8>, Refusal> {
    refuse_unsayable(asked)?;
    let messages = input::conversation(asked, asked.dialect())?;
    let tools = tools(asked)?;
    let size = asked.get("input").map_or(0, |raw| raw.get().len());
    let mut out = serde_json::Serializer::new(Vec::with_capacity(size + 512));
    let mut map = out.serialize_map(None)?;
    // These say nothing without tools, and some servers refuse them then.
    let idle = |name: &str| tools.is_empty() && name == "parallel_tool_calls";
    for (name, value) in asked.others(KNOWN).filter(|(name, _)| !idle(name)) {
        map.serialize_entry(name, value)?;
    }
    map.serialize_entry("messages", &messages)?;
    if asked.options.stream {
        map.serialize_entry("stream", &true)?;
    }
    if let Some(cap) = asked.get("max_output_tokens") {
        map.serialize_entry("max_tokens", cap)?;
    }
    if !tools.is_empty() {
        map.serialize_entry("tools", &tools)?;
        if let Some(choice) = choice(asked)? {
            map.serialize_entry("tool_choice", &choice)?;
        }
    }
    text(asked, &mut map)?;
    effort(asked, &mut map)?;
    map.end()?;
    Ok(out.into_inner())
}

/// What needs a memory, a second model call or a tool at the provider.
fn refuse_unsayable(asked: &Asked<'_>) -> Result<(), Refusal> {
    const STATE: [&str; 4] = ["previous_response_id", "conversation", "prompt", "background"];
    let said = |name: &&&str| asked.get(name).is_some_and(|value| value.get() != "false");
    if let Some(name) = STATE.iter().find(said) {
        return Err(Refusal::untranslatable(
            *name,
            format!(
                "{name} needs a deployment that serves responses itself: this one has only chat completions"
            ),
        ));
    }
    let wants = asked.get("top_logprobs").is_some_and(|value| value.get() != "0");
    if wants && !asked.drops() {
        return Err(Refusal::untranslatable(
            "top_logprobs",
            "top_logprobs is not served over chat completions: leave it out, or set drop_params",
        ));
    }
    Ok(())
}

#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parameters: Option<&'a RawValue>,
    #[serde(default)]
    strict: Option<bool>,
}

fn tools<'a>(asked: &Asked<'a>) -> Result<Vec<Tool<'a>>, Refusal> {
    let list: Vec<&RawValue> = asked.read("tools", "a list of tools")?.unwrap_or_default();
    let mut tools = Vec::with_capacity(list.len());
    for (index, raw) in list.into_iter().enumerate() {
        let at = || format!("tools[{index}]");
        let tool: Written<'a> = serde_json::from_str(raw.get())
            .map_err(|error| Refusal::invalid(at(), format!("a tool is not as promised: {error}")))?;
        if tool.kind != "function" {
            let message = format!(
                "a tool of type {:?} runs at the provider: it has no counterpart in chat completions",
                tool.kind
            );
            return Err(Refusal::untranslatable(at(), message));
        }
        let given = |raw: Option<&'a RawValue>| raw.filter(|raw| raw.get() != "null");
        let function = Function {
            name: tool.name,
            description: given(tool.description),
            parameters: given(tool.parameters),
            strict: tool.strict,
        };
        tools.push(Tool::new(function, None));
    }
    Ok(tools)
}

fn choice<'a>(asked: &Asked<'a>) -> Result<Option<Choice<'a>>, Refusal> {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow, rename = "type", default)]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
    }
    let Some(raw) = asked.get("tool_choice") else { return Ok(None) };
    match raw.get() {
        "\"auto\"" => return Ok(Some(Choice::Word("auto"))),
        "\"none\"" => return Ok(Some(Choice::Word("none"))),
        "\"required\"" => return Ok(Some(Choice::Word("required"))),
        _ => {}
    }
    let named: Named<'a> = serde_json::from_str(raw.get()).map_err(|_| {
        Refusal::invalid("tool_choice", "tool_choice must be auto, none, required or name a function")
    })?;
    match (named.kind.as_ref(), named.name) {
        ("function", Some(name)) => Ok(Some(Choice::named(name))),
        (kind, _) => Err(Refusal::untranslatable(
            "tool_choice",
            format!("a tool_choice of type {kind:?} has no counterpart in chat completions"),
        )),
    }
}

/// The form of the answer: `text.format` is `response_format`, and `text.verbosity` is `verbosity`.
fn text<M: SerializeMap<Error = serde_json::Error>>(asked: &Asked<'_>, map: &mut M) -> Result<(), Refusal> {
    #[derive(Deserialize)]
    struct Text<'a> {
        #[serde(borrow, default)]
        format: Option<&'a RawValue>,
        #[serde(borrow, default)]
        verbosity: Option<&'a RawValue>,
    }
    let Some(text) = asked.read::<Text<'_>>("text", "an object")? else { return Ok(()) };
    if let Some(verbosity) = text.verbosity.filter(|raw| raw.get() != "null") {
        map.serialize_entry("verbosity", verbosity)?;
    }
    let Some(raw) = text.format.filter(|raw| raw.get() != "null") else { return Ok(()) };
    let wrong = || Refusal::invalid("text.format", "text.format must be text, json_object or json_schema");
    let mut format: serde_json::Map<String, Value> = serde_json::from_str(raw.get()).map_err(|_| wrong())?;
    match format.remove("type").as_ref().and_then(Value::as_str) {
        Some("text") => Ok(()),
        Some("json_object") => Ok(map.serialize_entry("response_format", &json!({"type": "json_object"}))?),
        Some("json_schema") => {
            format.retain(|_, value| !value.is_null());
            let format = json!({"type": "json_schema", "json_schema": format});
            Ok(map.serialize_entry("response_format", &format)?)
        }
        Some(_) | None => Err(wrong()),
    }
}

fn effort<M: SerializeMap<Error = serde_json::Error>>(asked: &Asked<'_>, map: &mut M) -> Result<(), Refusal> {
    #[derive(Deserialize)]
    struct Reasoning<'a> {
        #[serde(borrow, default)]
        effort: Option<Cow<'a, str>>,
    }
    if let Some(Reasoning { effort: Some(effort) }) = asked.read("reasoning", "an object")? {
        map.serialize_entry("reasoning_effort", &effort)?;
    }
    Ok(())
}
