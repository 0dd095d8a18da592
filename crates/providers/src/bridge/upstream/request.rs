//! A chat request as a response request.

use std::borrow::Cow;

use serde::Deserialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::Asked;
use super::input;
use crate::Refusal;
use crate::target::Purpose;

/// The members that are translated, and those that responses have no counterpart for.
const KNOWN: &[&str] = &[
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "store",
    "metadata",
    "stop",
    "n",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "frequency_penalty",
    "presence_penalty",
    "seed",
    "modalities",
    "audio",
    "prediction",
    "functions",
    "function_call",
    "web_search_options",
];

/// OpenAI's least cap, in tokens.
const LEAST_CAP: u64 = 16;

/// The response request that asks the same.
pub(in crate::bridge) fn request(asked: &Asked<'_>) -> Result<Vec<u8>, Refusal> {
    let members = Members { asked };
    refuse_unsayable(asked, &members)?;
    let size = asked.get("messages").map_or(0, |raw| raw.get().len());
    let mut out = serde_json::Serializer::new(Vec::with_capacity(size + 512));
    let mut map = out.serialize_map(None)?;
    for (name, value) in asked.others(KNOWN) {
        map.serialize_entry(name, value)?;
    }
    map.serialize_entry("input", &input::items(asked)?)?;
    if asked.options.stream {
        map.serialize_entry("stream", &true)?;
    }
    // Chat completions are kept only on demand, responses unless told not to.
    let keeps = members.get("store").is_some_and(|store| store.get() == "true");
    map.serialize_entry("store", &keeps)?;
    // Without storage, metadata is meant for the gateway.
    if let Some(metadata) = asked.get("metadata").filter(|_| keeps) {
        map.serialize_entry("metadata", metadata)?;
    }
    if let Some(cap) = cap(&members)? {
        map.serialize_entry("max_output_tokens", &cap.max(LEAST_CAP))?;
    }
    let tools = tools(&members)?;
    if !tools.is_empty() {
        map.serialize_entry("tools", &tools)?;
        if let Some(choice) = choice(&members)? {
            map.serialize_entry("tool_choice", &choice)?;
        }
    }
    if let Some(effort) = members.get("reasoning_effort") {
        map.serialize_entry("reasoning", &json!({ "effort": effort }))?;
    }
    let text = text(&members)?;
    if !text.is_empty() {
        map.serialize_entry("text", &text)?;
    }
    map.end()?;
    Ok(out.into_inner())
}

/// The client's members, then the deployment's defaults that responses name otherwise.
struct Members<'a> {
    asked: &'a Asked<'a>,
}

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.asked.get(name).or_else(|| {
            if self.asked.is_dropped(name) || self.asked.purpose != Purpose::Traffic {
                return None;
            }
            let defaults = &self.asked.target.defaults.params;
            let (_, value) = defaults.iter().find(|(key, _)| key == name)?;
            serde_json::from_slice(value).ok()
        })
    }

    fn read<T: Deserialize<'a>>(&self, name: &'static str, wanted: &str) -> Result<Option<T>, Refusal> {
        let Some(raw) = self.get(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| Refusal::invalid(name, format!("{name} must be {wanted}")))
    }
}

/// What would be answered wrongly if it were left out.
fn refuse_unsayable(asked: &Asked<'_>, members: &Members<'_>) -> Result<(), Refusal> {
    const UNSAID: [&str; 9] = [
        "n",
        "stop",
        "logprobs",
        "top_logprobs",
        "logit_bias",
        "modalities",
        "functions",
        "function_call",
        "web_search_options",
    ];
    let neutral = |name: &str, value: &str| match name {
        "n" => value == "1",
        "top_logprobs" => value == "0",
        "modalities" => !value.contains("\"audio\""),
        _ => matches!(value, "false" | "[]" | "{}" | "\"\""),
    };
    let said = |name: &&&str| members.get(name).is_some_and(|value| !neutral(name, value.get()));
    match UNSAID.iter().find(said) {
        Some(name) if !asked.drops() => Err(Refusal::untranslatable(
            *name,
            format!(
                "{name} has no counterpart in responses, which is all that this deployment serves: leave it out, or set drop_params"
            ),
        )),
        Some(_) | None => Ok(()),
    }
}

fn cap(members: &Members<'_>) -> Result<Option<u64>, Refusal> {
    let wanted = "a positive integer";
    match members.read::<u64>("max_completion_tokens", wanted)? {
        Some(cap) => Ok(Some(cap)),
        None => members.read::<u64>("max_tokens", wanted),
    }
}

/// Functions lie flat in a tool there. Those are strict unless they say otherwise, chat's are not.
fn tools(members: &Members<'_>) -> Result<Vec<Value>, Refusal> {
    let list: Vec<Value> = members.read("tools", "a list of tools")?.unwrap_or_default();
    let mut tools = Vec::with_capacity(list.len());
    for (index, mut tool) in list.into_iter().enumerate() {
        let wrong = || Refusal::invalid(format!("tools[{index}]"), "a function tool needs a function");
        if tool.get("type").and_then(Value::as_str).unwrap_or("function") != "function" {
            tools.push(tool);
            continue;
        }
        let Some(Value::Object(function)) = tool.get_mut("function").map(Value::take) else {
            return Err(wrong());
        };
        let mut flat = Map::new();
        flat.insert("type".to_owned(), "function".into());
        flat.extend(function);
        flat.entry("parameters").or_insert_with(|| json!({"type": "object", "properties": {}}));
        let strict = flat.entry("strict").or_insert(Value::Null);
        if strict.is_null() {
            *strict = false.into();
        }
        tools.push(Value::Object(flat));
    }
    Ok(tools)
}

fn choice(members: &Members<'_>) -> Result<Option<Value>, Refusal> {
    let Some(choice) = members.read::<Value>("tool_choice", "a word or an object")? else { return Ok(None) };
    Ok(Some(match choice.pointer("/function/name") {
        Some(name) => json!({"type": "function", "name": name}),
        None => choice,
    }))
}

/// The form of the answer.
fn text(members: &Members<'_>) -> Result<Map<String, Value>, Refusal> {
    let mut text = Map::new();
    if let Some(format) = members.read::<Map<String, Value>>("response_format", "an object with a type")? {
        let mut flat = Map::new();
        for (name, value) in format {
            match (name.as_str(), value) {
                ("json_schema", Value::Object(schema)) => flat.extend(schema),
                (_, value) => {
                    flat.insert(name, value);
                }
            }
        }
        text.insert("format".to_owned(), flat.into());
    }
    if let Some(verbosity) = members.read::<Cow<'_, str>>("verbosity", "a string")? {
        text.insert("verbosity".to_owned(), verbosity.into());
    }
    Ok(text)
}
