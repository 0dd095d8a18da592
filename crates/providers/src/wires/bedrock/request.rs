//! A chat completion as a Converse request.

use bytes::Bytes;
use serde_json::{Map, Number, Value, json};

use super::family::Family;
use super::messages::{self, Turn};
use super::tools::{self, JSON_TOOL, Tools};
use super::{WIRE, model};
use crate::Refusal;
use crate::wires::Encode;
use crate::wires::anthropic::family::{Generation, budget, effort};
use crate::wires::chat::{self, Choice, Format};
use crate::wires::members::Members;

/// The request's body, and what reading the answer needs to know.
pub(super) struct Request {
    pub(super) body: Bytes,
    /// A JSON answer comes as the input of a tool.
    pub(super) json_tool: bool,
}

/// Members of a Converse request that a caller may set by their own names.
const OWN: [&str; 6] = [
    "guardrailConfig",
    "performanceConfig",
    "promptVariables",
    "requestMetadata",
    "additionalModelResponseFieldPaths",
    "outputConfig",
];

/// Fields that no caller's answer depends on but that would change it: refused, or dropped on demand.
const UNSAYABLE: [&str; 10] = [
    "n",
    "functions",
    "function_call",
    "modalities",
    "audio",
    "prediction",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "web_search_options",
];

/// Translates a chat request.
pub(super) fn translate(encode: &Encode<'_>) -> Result<Request, Refusal> {
    let members = Members::new(encode);
    let drop = encode.options.drop_params || encode.target.defaults.drop_params;
    chat::refuse_unsayable(encode, &members, WIRE, &UNSAYABLE)?;
    let conversation = messages::conversation(&members)?;
    let mut draft = Draft { family: Family::of(model(encode)), drop, ..Draft::new() };
    draft.cap = chat::cap(&members)?;
    draft.think(&members)?;
    draft.sampling(&members)?;
    let mut tools = tools::read(&members, conversation.uses_tools, drop)?;
    draft.foreign(encode, &members)?;
    draft.only_one_call(&mut tools)?;
    if draft.thinks && matches!(tools.choice, Some(Choice::Required | Choice::Named(_))) {
        let message = "Claude cannot be forced to a tool while it thinks";
        return Err(Refusal::untranslatable("tool_choice", message));
    }
    let json_tool = draft.shape(&members, &mut tools)?;
    let mut body = Map::new();
    if !conversation.system.is_empty() {
        body.insert("system".to_owned(), conversation.system.into());
    }
    body.insert("messages".to_owned(), conversation.turns.into_iter().map(Turn::into_value).collect());
    draft.write(&members, tools, &mut body)?;
    Ok(Request { body: Value::Object(body).to_string().into(), json_tool })
}

/// Everything but the conversation.
struct Draft {
    family: Family,
    drop: bool,
    cap: Option<u64>,
    inference: Map<String, Value>,
    /// `additionalModelRequestFields`.
    additional: Map<String, Value>,
    /// Converse's own members.
    own: Map<String, Value>,
    /// A Claude thinks: it takes no sampling and no force.
    thinks: bool,
}

impl Draft {
    fn new() -> Self {
        Self {
            family: Family::Other,
            drop: false,
            cap: None,
            inference: Map::new(),
            additional: Map::new(),
            own: Map::new(),
            thinks: false,
        }
    }

    /// `thinking` as written, or what `reasoning_effort` means for this family.
    fn think(&mut self, members: &Members<'_>) -> Result<(), Refusal> {
        if let Some(raw) = members.get("thinking") {
            if !raw.get().contains("\"disabled\"") {
                self.additional.insert("thinking".to_owned(), chat::value(raw)?);
                self.thinks = matches!(self.family, Family::Claude(_));
            }
            return Ok(());
        }
        let Some(asked) = members.text("reasoning_effort")?.filter(|effort| effort != "none") else {
            return Ok(());
        };
        let unknown =
            || Refusal::invalid("reasoning_effort", format!("reasoning_effort {asked:?} is not known"));
        match self.family {
            Family::Claude(generation) => self.think_as_claude(generation, &asked).ok_or_else(unknown)?,
            Family::Nova2 => {
                let effort = match asked.as_ref() {
                    "minimal" | "low" => "low",
                    "medium" => "medium",
                    "high" | "xhigh" | "max" => "high",
                    _ => return Err(unknown()),
                };
                let config = json!({ "type": "enabled", "maxReasoningEffort": effort });
                self.additional.insert("reasoningConfig".to_owned(), config);
            }
            Family::GptOss => {
                self.additional.insert("reasoning_effort".to_owned(), asked.as_ref().into());
            }
            Family::Nova | Family::Mistral | Family::Other if self.drop => {}
            Family::Nova | Family::Mistral | Family::Other => {
                let message =
                    "this model takes no reasoning_effort on Bedrock: leave it out, or set drop_params";
                return Err(Refusal::untranslatable("reasoning_effort", message));
            }
        }
        Ok(())
    }

    fn think_as_claude(&mut self, generation: Generation, asked: &str) -> Option<()> {
        self.thinks = true;
        if generation.is_adaptive() {
            let effort = effort(asked)?;
            self.additional.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
            self.additional.insert("output_config".to_owned(), json!({ "effort": effort }));
        } else {
            let budget = budget(asked)?;
            // The budget is part of the cap; what the client asked for is room for the answer.
            self.cap = self.cap.map(|cap| if cap <= budget { cap + budget } else { cap });
            self.additional
                .insert("thinking".to_owned(), json!({ "type": "enabled", "budget_tokens": budget }));
        }
        Some(())
    }

    /// `inferenceConfig`, within Converse's bounds.
    fn sampling(&mut self, members: &Members<'_>) -> Result<(), Refusal> {
        if let Some(cap) = self.cap {
            self.inference.insert("maxTokens".to_owned(), cap.into());
        }
        for (name, wire) in [("temperature", "temperature"), ("top_p", "topP")] {
            let Some(value) = members.read::<Number>(name, "a number")?.filter(|_| !self.thinks) else {
                continue;
            };
            let clamped = match value.as_f64() {
                Some(number) if number > 1.0 => Number::from(1),
                Some(number) if number < 0.0 => Number::from(0),
                Some(_) | None => value,
            };
            self.inference.insert(wire.to_owned(), Value::Number(clamped));
        }
        if let Some(stops) = chat::stops(members)? {
            let stops: Vec<String> = stops.into_iter().filter(|stop| !stop.trim().is_empty()).collect();
            self.inference.insert("stopSequences".to_owned(), stops.into());
        }
        Ok(())
    }

    /// What is neither OpenAI's nor the gateway's: Converse's own by name, the rest is the model's own. The
    /// deployment's `extra_body` outranks the client.
    fn foreign(&mut self, encode: &Encode<'_>, members: &Members<'_>) -> Result<(), Refusal> {
        for (name, raw) in members.foreign().filter(|(name, _)| !matches!(*name, "thinking" | "model_id")) {
            self.put_foreign(name, chat::value(raw)?);
        }
        for (name, value) in &encode.target.defaults.extra {
            self.put_foreign(name, serde_json::from_slice(value)?);
        }
        Ok(())
    }

    fn put_foreign(&mut self, name: &str, value: Value) {
        match (name, value) {
            ("additionalModelRequestFields", Value::Object(fields)) => self.additional.extend(fields),
            ("inferenceConfig", Value::Object(fields)) => self.inference.extend(fields),
            ("top_k", value) if self.thinks => drop(value),
            ("top_k", value) if matches!(self.family, Family::Nova | Family::Nova2) => {
                self.additional.insert("inferenceConfig".to_owned(), json!({ "topK": value }));
            }
            (name, value) if OWN.contains(&name) => {
                self.own.insert(name.to_owned(), value);
            }
            (name, value) => {
                self.additional.insert(name.to_owned(), value);
            }
        }
    }

    /// `parallel_tool_calls: false` is Claude's own word, beside which Converse's choice has no place.
    fn only_one_call(&mut self, tools: &mut Tools) -> Result<(), Refusal> {
        if !tools.single {
            return Ok(());
        }
        let Family::Claude(_) = self.family else {
            if self.drop {
                return Ok(());
            }
            let message = "only Claude can be told to call one tool at a time on Bedrock";
            return Err(Refusal::untranslatable("parallel_tool_calls", message));
        };
        let mut choice = Map::new();
        match tools.choice.take() {
            Some(Choice::Required) if !self.thinks => choice.insert("type".to_owned(), "any".into()),
            Some(Choice::Named(name)) if !self.thinks => {
                choice.insert("type".to_owned(), "tool".into());
                choice.insert("name".to_owned(), name.into())
            }
            Some(forced @ (Choice::Required | Choice::Named(_))) => {
                // Refused by the caller.
                tools.choice = Some(forced);
                return Ok(());
            }
            Some(Choice::Auto | Choice::None) | None => choice.insert("type".to_owned(), "auto".into()),
        };
        choice.insert("disable_parallel_tool_use".to_owned(), true.into());
        self.additional.insert("tool_choice".to_owned(), Value::Object(choice));
        Ok(())
    }

    /// The shape of the answer, by schema or by a tool. Answers whether it is the tool.
    fn shape(&mut self, members: &Members<'_>, tools: &mut Tools) -> Result<bool, Refusal> {
        let schema = match chat::format(members)? {
            None => return Ok(false),
            Some(Format::Schema(schema)) if self.family.has_output_format() => {
                let structure = json!({ "jsonSchema": { "schema": schema.to_string() } });
                let format = json!({ "type": "json_schema", "structure": structure });
                self.own.insert("outputConfig".to_owned(), json!({ "textFormat": format }));
                return Ok(false);
            }
            Some(Format::Schema(schema)) => Some(schema),
            Some(Format::Json) => None,
        };
        // Beside the client's own tools, and while it thinks, the model is free to choose.
        if tools.list.is_empty() && !self.thinks && self.family.can_be_forced() {
            tools.choice = Some(Choice::Named(JSON_TOOL.to_owned()));
        }
        tools.list.push(tools::json_tool(schema));
        Ok(true)
    }

    fn write(
        self,
        members: &Members<'_>,
        tools: Tools,
        body: &mut Map<String, Value>,
    ) -> Result<(), Refusal> {
        if !self.inference.is_empty() {
            body.insert("inferenceConfig".to_owned(), self.inference.into());
        }
        if let Some(config) = tools::config(tools, self.family, self.drop)? {
            body.insert("toolConfig".to_owned(), config);
        }
        if !self.additional.is_empty() {
            body.insert("additionalModelRequestFields".to_owned(), self.additional.into());
        }
        if let Some(tier @ ("priority" | "default" | "flex" | "reserved")) =
            members.text("service_tier")?.as_deref()
        {
            body.insert("serviceTier".to_owned(), json!({ "type": tier }));
        }
        body.extend(self.own);
        Ok(())
    }
}
