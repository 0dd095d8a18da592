//! A chat completion as a `generateContent` request.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::contents::contents;
use super::{NAME, family};
use crate::Refusal;
use crate::target::Purpose;
use crate::wires::Encode;
use crate::wires::chat::{
    self, Choice, Format, Function, Tool, cap, choice, conversation, format, put_number, stops, tools, value,
};
use crate::wires::members::Members;

/// The request's body, and what reading the answer needs to know.
pub(super) struct Request {
    pub(super) body: Bytes,
    /// How many choices are asked for.
    pub(super) choices: usize,
}

/// Translates a chat request.
pub(super) fn translate(encode: &Encode<'_>) -> Result<Request, Refusal> {
    let members = Members::new(encode);
    let model = encode.model.unwrap_or(&encode.target.wire_model);
    chat::refuse_unsayable(
        encode,
        &members,
        NAME,
        &["functions", "function_call", "logit_bias", "modalities", "prediction"],
    )?;
    let conversation = conversation(&members, NAME)?;
    let mut contents = contents(&conversation, model, encode.target.provider.id == "vertex_ai")?;
    let system = std::mem::take(&mut contents.system);
    let mut body = Map::new();
    if !system.is_empty() {
        body.insert("systemInstruction".to_owned(), json!({ "parts": system }));
    }
    body.insert("contents".to_owned(), contents.turns());
    put_tools(&mut body, &members)?;
    let mut config = config(encode, &members, model)?;
    for (name, raw) in members.foreign() {
        match name {
            "thinking" => {}
            "generationConfig" | "generation_config" => match value(raw)? {
                Value::Object(own) => config.extend(own),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    return Err(Refusal::invalid(name, format!("{name} must be an object")));
                }
            },
            "top_k" => put_number(&mut config, &members, "top_k", "topK")?,
            name if is_generation(name) => {
                config.insert(name.to_owned(), value(raw)?);
            }
            name => {
                body.insert(name.to_owned(), value(raw)?);
            }
        }
    }
    let choices = config.get("candidateCount").and_then(Value::as_u64).unwrap_or(1);
    if !config.is_empty() {
        body.insert("generationConfig".to_owned(), config.into());
    }
    let choices = usize::try_from(choices).unwrap_or(1).max(1);
    Ok(Request { body: chat::written(encode, body), choices })
}

/// Google's own names inside `generationConfig`, in both spellings it reads.
fn is_generation(name: &str) -> bool {
    matches!(
        name,
        "topK"
            | "topP"
            | "maxOutputTokens"
            | "max_output_tokens"
            | "candidateCount"
            | "candidate_count"
            | "stopSequences"
            | "stop_sequences"
            | "responseMimeType"
            | "response_mime_type"
            | "responseSchema"
            | "response_schema"
            | "responseJsonSchema"
            | "response_json_schema"
    ) || matches!(
        name,
        "responseModalities"
            | "response_modalities"
            | "mediaResolution"
            | "media_resolution"
            | "speechConfig"
            | "speech_config"
            | "imageConfig"
            | "image_config"
            | "thinkingConfig"
            | "thinking_config"
            | "enableEnhancedCivicAnswers"
    )
}

/// `generationConfig`, from OpenAI's parameters.
fn config(encode: &Encode<'_>, members: &Members<'_>, model: &str) -> Result<Map<String, Value>, Refusal> {
    let mut config = Map::new();
    if let Some(cap) = cap(members)? {
        config.insert("maxOutputTokens".to_owned(), cap.into());
    }
    for (name, as_name) in [
        ("temperature", "temperature"),
        ("top_p", "topP"),
        ("seed", "seed"),
        ("frequency_penalty", "frequencyPenalty"),
        ("presence_penalty", "presencePenalty"),
        ("top_logprobs", "logprobs"),
    ] {
        put_number(&mut config, members, name, as_name)?;
    }
    if members.read::<bool>("logprobs", "true or false")? == Some(true) {
        config.insert("responseLogprobs".to_owned(), true.into());
    }
    if let Some(choices) = members.read::<u64>("n", "a positive integer")?.filter(|n| *n != 1) {
        config.insert("candidateCount".to_owned(), choices.into());
    }
    if let Some(mut list) = stops(members)? {
        const MOST: usize = 5;
        let drop = encode.options.drop_params || encode.target.defaults.drop_params;
        if list.len() > MOST && !drop {
            return Err(Refusal::untranslatable("stop", "Gemini takes up to 5 stop sequences"));
        }
        list.truncate(MOST);
        config.insert("stopSequences".to_owned(), list.into());
    }
    match format(members)? {
        None => {}
        Some(Format::Json) => {
            config.insert("responseMimeType".to_owned(), "application/json".into());
        }
        Some(Format::Schema(schema)) => {
            config.insert("responseMimeType".to_owned(), "application/json".into());
            config.insert("responseJsonSchema".to_owned(), schema);
        }
    }
    if let Some(modalities) = members.read::<Vec<String>>("modalities", "a list of strings")? {
        let modalities: Vec<String> = modalities.iter().map(|word| word.to_ascii_uppercase()).collect();
        config.insert("responseModalities".to_owned(), modalities.into());
    }
    if let Some(thinking) = thinking(encode, members, model)? {
        config.insert("thinkingConfig".to_owned(), thinking);
    }
    Ok(config)
}

/// What `thinking` or `reasoning_effort` mean for this model; a probe asks for no thoughts.
fn thinking(encode: &Encode<'_>, members: &Members<'_>, model: &str) -> Result<Option<Value>, Refusal> {
    if let Some(thinking) = members.read::<Value>("thinking", "an object")? {
        let is_off = thinking.get("type").and_then(Value::as_str) == Some("disabled");
        let budget = if is_off { Some(0) } else { thinking.get("budget_tokens").and_then(Value::as_u64) };
        let mut config = Map::new();
        if let Some(budget) = budget {
            config.insert("thinkingBudget".to_owned(), budget.into());
        }
        config.insert("includeThoughts".to_owned(), (!is_off).into());
        return Ok(Some(Value::Object(config)));
    }
    let Some(effort) = members.text("reasoning_effort")? else {
        let own = ["thinkingConfig", "thinking_config"].iter().any(|name| members.get(name).is_some());
        return Ok(match encode.purpose {
            Purpose::Probe { omit } if !own && !omit.iter().any(|name| name.starts_with("thinking")) => {
                family::config_of_probe(model)
            }
            Purpose::Probe { .. } | Purpose::Traffic => None,
        });
    };
    if !family::thinks(model) {
        let drop = encode.options.drop_params || encode.target.defaults.drop_params;
        if drop || matches!(effort.as_ref(), "none" | "disable") {
            return Ok(None);
        }
        return Err(Refusal::untranslatable("reasoning_effort", format!("{model} does not think")));
    }
    match family::config(model, &effort) {
        Some(config) => Ok(Some(config)),
        None => {
            Err(Refusal::invalid("reasoning_effort", format!("reasoning_effort {effort:?} is not known")))
        }
    }
}

/// `tools` and `toolConfig`.
fn put_tools(body: &mut Map<String, Value>, members: &Members<'_>) -> Result<(), Refusal> {
    let mut functions = Vec::new();
    let mut list = Vec::new();
    for (index, tool) in tools(members)?.into_iter().enumerate() {
        match tool {
            Tool::Function(function) => functions.push(declaration(function)),
            // `{"googleSearch":{}}`, `{"codeExecution":{}}`: Google's own have no type.
            Tool::Own(own) if own.get("type").is_none() => list.push(own),
            Tool::Own(_) => {
                return Err(Refusal::untranslatable(
                    format!("tools[{index}]"),
                    "only function tools and Google's own have a counterpart on Gemini's wire",
                ));
            }
        }
    }
    if members.get("web_search_options").is_some() {
        list.push(json!({ "googleSearch": {} }));
    }
    let has_functions = !functions.is_empty();
    if has_functions {
        list.push(json!({ "functionDeclarations": functions }));
    }
    if !list.is_empty() {
        body.insert("tools".to_owned(), list.into());
    }
    let calling = match choice(members)?.filter(|_| has_functions) {
        None => return Ok(()),
        Some(Choice::Auto) => json!({ "mode": "AUTO" }),
        Some(Choice::None) => json!({ "mode": "NONE" }),
        Some(Choice::Required) => json!({ "mode": "ANY" }),
        Some(Choice::Named(name)) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    };
    body.insert("toolConfig".to_owned(), json!({ "functionCallingConfig": calling }));
    Ok(())
}

/// A function; its schema goes as the JSON Schema it is, not as the older subset.
fn declaration(function: Function) -> Value {
    let mut declaration = Map::new();
    declaration.insert("name".to_owned(), function.name.into());
    if let Some(description) = function.description {
        declaration.insert("description".to_owned(), description.into());
    }
    if let Some(schema) = function.parameters.filter(|schema| !schema.is_null()) {
        declaration.insert("parametersJsonSchema".to_owned(), schema);
    }
    Value::Object(declaration)
}
