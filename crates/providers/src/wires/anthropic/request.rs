//! A chat completion as a message request.

use std::borrow::Cow;

use bytes::Bytes;
use haleway_wire::{Change, Envelope};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Number, json};

use super::family::{self, Generation};

use super::messages::{self, Conversation};
use super::tools::{self, Choice, Format, Tool};
use crate::Refusal;
use crate::wires::Encode;
use crate::wires::members::Members;

/// The request's body, and what reading the answer needs to know.
pub(super) struct Request {
    pub(super) body: Bytes,
    /// A JSON answer comes as the input of a tool.
    pub(super) json_tool: bool,
}

/// Everything but the conversation.
#[derive(Default)]
struct Draft<'a> {
    cap: u64,
    tools: Vec<Tool<'a>>,
    choice: Option<Choice<'a>>,
    thinking: Option<Cow<'a, RawValue>>,
    effort: Option<&'static str>,
    schema: Option<&'a RawValue>,
    json_tool: bool,
}

/// Translates a chat request.
pub(super) fn translate(encode: &Encode<'_>) -> Result<Request, Refusal> {
    let members = Members::new(encode);
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    let raw = members.get("messages").ok_or_else(|| Refusal::invalid("messages", "messages is missing"))?;
    let conversation = messages::conversation(raw)?;
    refuse_unsayable(&members, encode)?;
    let draft = Draft::read(&members, model)?;
    let body = write(encode, &members, model, &conversation, &draft)?;
    Ok(Request { body: with_extra(encode, body), json_tool: draft.json_tool })
}

/// What would be answered wrongly if it were left out.
fn refuse_unsayable(members: &Members<'_>, encode: &Encode<'_>) -> Result<(), Refusal> {
    if encode.options.drop_params || encode.target.defaults.drop_params {
        return Ok(());
    }
    let unsayable = |name: &'static str, why: &str| Err(Refusal::untranslatable(name, why.to_owned()));
    if members.get("n").is_some_and(|n| n.get() != "1") {
        return unsayable("n", "Anthropic answers with one choice: n must be 1");
    }
    if members.get("functions").is_some() || members.get("function_call").is_some() {
        return unsayable("functions", "functions are not translated: use tools");
    }
    if members.get("modalities").is_some_and(|modalities| modalities.get().contains("\"audio\"")) {
        return unsayable("modalities", "Anthropic does not answer with audio");
    }
    Ok(())
}

impl<'a> Draft<'a> {
    fn read(members: &Members<'a>, model: &str) -> Result<Self, Refusal> {
        let wanted = "a positive integer";
        let given = match members.read::<u64>("max_completion_tokens", wanted)? {
            Some(cap) => Some(cap),
            None => members.read::<u64>("max_tokens", wanted)?,
        };
        let mut draft = Self { cap: given.unwrap_or_else(|| family::default_cap(model)), ..Self::default() };
        draft.think(members, model)?;
        if let Some(raw) = members.get("tools") {
            draft.tools = tools::tools(raw)?;
        }
        if members.get("web_search_options").is_some() {
            let search = r#"{"type":"web_search_20250305","name":"web_search"}"#;
            let raw: &'static RawValue = serde_json::from_str(search)
                .map_err(|error| Refusal::invalid("web_search_options", error.to_string()))?;
            draft.tools.push(Tool::Raw(raw));
        }
        let parallel = members.read::<bool>("parallel_tool_calls", "true or false")?;
        if !draft.tools.is_empty() {
            draft.choice = tools::choice(members.get("tool_choice"), parallel)?;
        }
        if draft.thinking.is_some() && draft.choice.as_ref().is_some_and(Choice::is_forced) {
            return Err(Refusal::untranslatable(
                "tool_choice",
                "Anthropic cannot be forced to a tool while it thinks",
            ));
        }
        if let Some(raw) = members.get("response_format") {
            draft.shape(tools::format(raw)?, model)?;
        }
        Ok(draft)
    }

    /// `thinking` as written, or what `reasoning_effort` means for this generation.
    fn think(&mut self, members: &Members<'a>, model: &str) -> Result<(), Refusal> {
        if let Some(raw) = members.get("thinking") {
            if !raw.get().contains("\"disabled\"") {
                self.thinking = Some(Cow::Borrowed(raw));
            }
            return Ok(());
        }
        let Some(effort) = members.text("reasoning_effort")? else { return Ok(()) };
        if effort == "none" {
            return Ok(());
        }
        let unknown =
            || Refusal::invalid("reasoning_effort", format!("reasoning_effort {effort:?} is not known"));
        if Generation::of(model).is_some_and(Generation::is_adaptive) {
            self.effort = Some(family::effort(&effort).ok_or_else(unknown)?);
            self.thinking = own(json!({ "type": "adaptive" }));
        } else {
            let budget = family::budget(&effort).ok_or_else(unknown)?;
            // The budget is part of the cap; what the client asked for is room for the answer.
            if self.cap <= budget {
                self.cap += budget;
            }
            self.thinking = own(json!({ "type": "enabled", "budget_tokens": budget }));
        }
        Ok(())
    }

    fn shape(&mut self, format: Option<Format<'a>>, model: &str) -> Result<(), Refusal> {
        let native = Generation::of(model).is_some_and(Generation::has_output_format);
        let schema = match format {
            None => return Ok(()),
            Some(Format::Schema(schema)) if native => {
                self.schema = Some(schema);
                return Ok(());
            }
            Some(Format::Schema(schema)) => Some(schema),
            Some(Format::Json) => None,
        };
        // Beside the client's own tools, and while it thinks, the model is free to choose.
        if self.tools.is_empty() && self.thinking.is_none() {
            let name = Some(Cow::Borrowed(tools::JSON_TOOL));
            self.choice = Some(Choice { kind: "tool", name, disable_parallel_tool_use: None });
        }
        self.tools.push(tools::json_tool(schema)?);
        self.json_tool = true;
        Ok(())
    }
}

fn own<'a>(value: serde_json::Value) -> Option<Cow<'a, RawValue>> {
    RawValue::from_string(value.to_string()).ok().map(Cow::Owned)
}

fn write(
    encode: &Encode<'_>,
    members: &Members<'_>,
    model: &str,
    conversation: &Conversation<'_>,
    draft: &Draft<'_>,
) -> Result<Vec<u8>, Refusal> {
    let size = encode.body.get("messages").map_or(0, |raw| raw.get().len());
    let mut out = serde_json::Serializer::new(Vec::with_capacity(size + 512));
    let mut map = out.serialize_map(None)?;
    map.serialize_entry("model", model)?;
    map.serialize_entry("max_tokens", &draft.cap)?;
    entry(&mut map, "system", &conversation.system)?;
    map.serialize_entry("messages", &conversation.turns)?;
    if encode.options.stream {
        map.serialize_entry("stream", &true)?;
    }
    let drops = encode.options.drop_params || encode.target.defaults.drop_params;
    if draft.thinking.is_none() && !(drops && encode.target.defaults.habits.no_sampling) {
        sampling(&mut map, members)?;
    }
    if let Some(stop) = members.get("stop") {
        entry(&mut map, "stop_sequences", &stops(stop)?)?;
    }
    if !draft.tools.is_empty() {
        map.serialize_entry("tools", &draft.tools)?;
    }
    if let Some(choice) = &draft.choice {
        map.serialize_entry("tool_choice", choice)?;
    }
    if let Some(thinking) = &draft.thinking {
        map.serialize_entry("thinking", thinking)?;
    }
    output_config(&mut map, draft)?;
    if let Some(user) = members.text("user")?.filter(|user| !is_personal(user)) {
        map.serialize_entry("metadata", &json!({ "user_id": user }))?;
    }
    match members.text("service_tier")?.as_deref() {
        Some("auto") => map.serialize_entry("service_tier", "auto")?,
        Some("default" | "standard_only") => map.serialize_entry("service_tier", "standard_only")?,
        Some(_) | None => {}
    }
    for (name, value) in members.foreign().filter(|(name, _)| !matches!(*name, "thinking" | "top_k")) {
        map.serialize_entry(name, value)?;
    }
    map.end()?;
    Ok(out.into_inner())
}

/// Sampling, within Anthropic's bounds.
fn sampling<M>(map: &mut M, members: &Members<'_>) -> Result<(), Refusal>
where
    M: SerializeMap<Error = serde_json::Error>,
{
    for name in ["temperature", "top_p"] {
        if let Some(value) = members.read::<Number>(name, "a number")? {
            let clamped = match value.as_f64() {
                Some(number) if number > 1.0 => Number::from(1),
                Some(number) if number < 0.0 => Number::from(0),
                Some(_) | None => value,
            };
            map.serialize_entry(name, &clamped)?;
        }
    }
    if let Some(top_k) = members.get("top_k") {
        map.serialize_entry("top_k", top_k)?;
    }
    Ok(())
}

fn output_config<M: SerializeMap>(map: &mut M, draft: &Draft<'_>) -> Result<(), M::Error> {
    #[derive(Serialize)]
    struct Config<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        effort: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<Shape<'a>>,
    }
    #[derive(Serialize)]
    struct Shape<'a> {
        #[serde(rename = "type")]
        kind: &'static str,
        schema: &'a RawValue,
    }
    if draft.effort.is_none() && draft.schema.is_none() {
        return Ok(());
    }
    let format = draft.schema.map(|schema| Shape { kind: "json_schema", schema });
    map.serialize_entry("output_config", &Config { effort: draft.effort, format })
}

/// Stop strings; Anthropic refuses blank ones.
fn stops(raw: &RawValue) -> Result<Vec<String>, Refusal> {
    let list = if raw.get().starts_with('"') {
        serde_json::from_str::<String>(raw.get()).map(|one| vec![one])
    } else {
        serde_json::from_str::<Vec<String>>(raw.get())
    };
    let list = list.map_err(|_| Refusal::invalid("stop", "stop must be a string or a list of strings"))?;
    Ok(list.into_iter().filter(|stop| !stop.trim().is_empty()).collect())
}

/// A list, unless it is empty.
fn entry<M: SerializeMap, T: Serialize>(map: &mut M, name: &str, list: &[T]) -> Result<(), M::Error> {
    if list.is_empty() { Ok(()) } else { map.serialize_entry(name, list) }
}

/// An e-mail address or a telephone number: Anthropic asks not to be told.
fn is_personal(user: &str) -> bool {
    let digits = user.bytes().filter(u8::is_ascii_digit).count();
    let phone = digits >= 7 && user.bytes().all(|b| b.is_ascii_digit() || b" +-().".contains(&b));
    phone || user.contains('@')
}

/// The deployment's `extra_body` outranks everything.
fn with_extra(encode: &Encode<'_>, body: Vec<u8>) -> Bytes {
    let extra = &encode.target.defaults.extra;
    if extra.is_empty() {
        return body.into();
    }
    let Ok(members) = Envelope::parse(&body) else { return body.into() };
    let changes: Vec<Change<'_>> =
        extra.iter().map(|(name, value)| Change::Set(name, Cow::Borrowed(value.as_slice()))).collect();
    members.patched(&changes)
}
