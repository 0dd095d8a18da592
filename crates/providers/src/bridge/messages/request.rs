//! A message request as a chat request.

use std::borrow::Cow;

use serde::Deserialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::drafts::{Choice, Function, Tool};
use super::super::{Asked, Dialect, Effort};
use super::blocks;
use crate::Refusal;

/// The members that are translated, and those of which a chat request needs no counterpart.
const KNOWN: &[&str] = &[
    "messages",
    "system",
    "stop_sequences",
    "stream",
    "metadata",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "service_tier",
    "top_k",
    "cache_control",
    "container",
    "context_management",
    "mcp_servers",
];

/// The chat request that asks the same.
pub(in crate::bridge) fn request(asked: &Asked<'_>) -> Result<Vec<u8>, Refusal> {
    let dialect = asked.dialect();
    refuse_unsayable(asked)?;
    let messages = blocks::conversation(asked, dialect)?;
    let tools = tools(asked, dialect)?;
    let size = asked.get("messages").map_or(0, |raw| raw.get().len());
    let mut out = serde_json::Serializer::new(Vec::with_capacity(size + 512));
    let mut map = out.serialize_map(None)?;
    for (name, value) in asked.others(KNOWN) {
        map.serialize_entry(name, value)?;
    }
    map.serialize_entry("messages", &messages)?;
    if asked.options.stream {
        map.serialize_entry("stream", &true)?;
    }
    if let Some(stops) = asked.get("stop_sequences").filter(|stops| stops.get() != "[]") {
        map.serialize_entry("stop", stops)?;
    }
    if let Some(top_k) = asked.get("top_k").filter(|_| dialect.top_k) {
        map.serialize_entry("top_k", top_k)?;
    }
    if !tools.is_empty() {
        map.serialize_entry("tools", &tools)?;
        choice(asked, &mut map)?;
    }
    thinking(asked, dialect, &mut map)?;
    if let Some(schema) = schema(asked)? {
        let format = json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": true}});
        map.serialize_entry("response_format", &format)?;
    }
    labels(asked, &mut map)?;
    map.end()?;
    Ok(out.into_inner())
}

/// What only Anthropic itself can do.
fn refuse_unsayable(asked: &Asked<'_>) -> Result<(), Refusal> {
    const OWN: [&str; 3] = ["container", "context_management", "mcp_servers"];
    match OWN.iter().find(|name| asked.get(name).is_some_and(|value| !matches!(value.get(), "[]" | "{}"))) {
        Some(name) if !asked.drops() => Err(Refusal::untranslatable(
            *name,
            format!("{name} has no counterpart in chat completions: leave it out, or set drop_params"),
        )),
        Some(_) | None => Ok(()),
    }
}

#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input_schema: Option<&'a RawValue>,
    #[serde(default)]
    strict: Option<bool>,
    #[serde(borrow, default)]
    cache_control: Option<&'a RawValue>,
}

fn tools<'a>(asked: &Asked<'a>, dialect: Dialect) -> Result<Vec<Tool<'a>>, Refusal> {
    let list: Vec<&RawValue> = asked.read("tools", "a list of tools")?.unwrap_or_default();
    let mut tools = Vec::with_capacity(list.len());
    for (index, raw) in list.into_iter().enumerate() {
        let tool: Written<'a> = serde_json::from_str(raw.get()).map_err(|error| {
            Refusal::invalid(format!("tools[{index}]"), format!("a tool is not as promised: {error}"))
        })?;
        if let Some(kind) = tool.kind.as_deref().filter(|kind| *kind != "custom") {
            return Err(Refusal::untranslatable(
                format!("tools[{index}]"),
                format!("{kind:?} is a tool of Anthropic's own: it has no counterpart in chat completions"),
            ));
        }
        let function = Function {
            name: tool.name,
            description: tool.description,
            parameters: tool.input_schema,
            strict: tool.strict,
        };
        tools.push(Tool::new(function, tool.cache_control.filter(|_| dialect.marks)));
    }
    Ok(tools)
}

fn choice<M: SerializeMap<Error = serde_json::Error>>(asked: &Asked<'_>, map: &mut M) -> Result<(), Refusal> {
    #[derive(Deserialize)]
    struct Asks<'a> {
        #[serde(borrow, rename = "type")]
        kind: Cow<'a, str>,
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
        #[serde(default)]
        disable_parallel_tool_use: Option<bool>,
    }
    let wanted = "an object with the type auto, any, tool or none";
    let Some(asks) = asked.read::<Asks<'_>>("tool_choice", wanted)? else { return Ok(()) };
    let choice = match (asks.kind.as_ref(), asks.name) {
        ("auto", _) => Choice::Word("auto"),
        ("any", _) => Choice::Word("required"),
        ("none", _) => Choice::Word("none"),
        ("tool", Some(name)) => Choice::named(name),
        _ => return Err(Refusal::invalid("tool_choice", format!("tool_choice must be {wanted}"))),
    };
    map.serialize_entry("tool_choice", &choice)?;
    if asks.disable_parallel_tool_use == Some(true) {
        map.serialize_entry("parallel_tool_calls", &false)?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Thinking<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    budget_tokens: Option<u64>,
}

/// `thinking` as it is, or as the effort that comes nearest.
fn thinking<M: SerializeMap<Error = serde_json::Error>>(
    asked: &Asked<'_>,
    dialect: Dialect,
    map: &mut M,
) -> Result<(), Refusal> {
    let Some(raw) = asked.get("thinking") else { return Ok(()) };
    let thinking: Thinking<'_> = asked
        .read("thinking", "an object with a type")?
        .unwrap_or(Thinking { kind: Cow::Borrowed("disabled"), budget_tokens: None });
    let effort = match (dialect.effort, thinking.kind.as_ref()) {
        (Effort::Unsaid, _) | (_, "disabled") => return Ok(()),
        (Effort::AsWritten, _) => {
            map.serialize_entry("thinking", raw)?;
            return Ok(());
        }
        (Effort::Word, "enabled") => effort_of_budget(thinking.budget_tokens.unwrap_or(0)),
        (Effort::Word, _) => match asked_effort(asked)? {
            Some(effort) => effort,
            None => return Ok(()),
        },
    };
    map.serialize_entry("reasoning_effort", effort)?;
    Ok(())
}

/// The effort that a budget in tokens means, by LiteLLM's bounds.
fn effort_of_budget(tokens: u64) -> &'static str {
    match tokens {
        10_000.. => "high",
        5_000.. => "medium",
        _ => "low",
    }
}

#[derive(Deserialize)]
struct OutputConfig<'a> {
    #[serde(borrow, default)]
    effort: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    format: Option<&'a RawValue>,
}

fn output_config<'a>(asked: &Asked<'a>) -> Result<Option<OutputConfig<'a>>, Refusal> {
    asked.read("output_config", "an object")
}

/// The effort beside adaptive thinking; chat's scale ends at `high`.
fn asked_effort(asked: &Asked<'_>) -> Result<Option<&'static str>, Refusal> {
    let effort = output_config(asked)?.and_then(|config| config.effort);
    Ok(match effort.as_deref() {
        Some("low") => Some("low"),
        Some("medium") => Some("medium"),
        Some("high" | "xhigh" | "max") => Some("high"),
        Some(_) | None => None,
    })
}

/// The schema that the answer must follow.
fn schema(asked: &Asked<'_>) -> Result<Option<Value>, Refusal> {
    #[derive(Deserialize)]
    struct Format {
        #[serde(rename = "type", default)]
        kind: String,
        #[serde(default)]
        schema: Option<Value>,
    }
    let raw = output_config(asked)?.and_then(|config| config.format).or_else(|| asked.get("output_format"));
    let Some(raw) = raw.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let wrong = || Refusal::invalid("output_config.format", "the format must be a json_schema with a schema");
    let format: Format = serde_json::from_str(raw.get()).map_err(|_| wrong())?;
    if format.kind != "json_schema" {
        return Err(wrong());
    }
    format.schema.map(Some).ok_or_else(wrong)
}

/// Who asks, and how soon.
fn labels<M: SerializeMap<Error = serde_json::Error>>(asked: &Asked<'_>, map: &mut M) -> Result<(), Refusal> {
    #[derive(Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow, default)]
        user_id: Option<Cow<'a, str>>,
    }
    if let Some(Metadata { user_id: Some(user) }) = asked.read("metadata", "an object")? {
        map.serialize_entry("user", &user)?;
    }
    match asked.read::<Cow<'_, str>>("service_tier", "a string")?.as_deref() {
        Some("auto") => map.serialize_entry("service_tier", "auto")?,
        Some("standard_only") => map.serialize_entry("service_tier", "default")?,
        Some(_) | None => {}
    }
    Ok(())
}
