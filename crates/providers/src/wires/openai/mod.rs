//! OpenAI's wire, which clients speak too: a body is patched, not rewritten. Members the gateway has no opinion
//! on keep their bytes and their order.

pub(super) mod form;

use std::borrow::Cow;
use std::collections::BTreeMap;

use haleway_wire::Change;
use serde_json::value::RawValue;

use super::Encode;
use crate::resolve::{applies, is_gateway_field, samples};
use crate::target::{Encoded, Outgoing, Purpose, json_string};
use crate::{Operation, Reply};

/// The provider's body: the model's name on the wire, the deployment's defaults where the client is silent, the
/// gateway's own fields taken out.
pub(super) fn encode(encode: &Encode<'_>) -> Outgoing {
    match encode.form {
        Some(form) => form::encode(encode, form),
        None => json(encode).into(),
    }
}

/// The provider's body for a client's JSON.
pub(super) fn json(encode: &Encode<'_>) -> Encoded {
    let mut changes = Vec::with_capacity(8);
    patch(encode, &mut changes);
    let strip_usage = ask_for_usage(encode, &mut changes);
    Encoded { body: encode.body.patched(&changes), reply: Reply::Passthrough, strip_usage }
}

/// The changes that every wire with OpenAI-like members needs.
pub(super) fn patch<'a>(encode: &'a Encode<'_>, changes: &mut Vec<Change<'a>>) {
    let defaults = &encode.target.defaults;
    let model = match encode.model {
        Some(model) => Cow::Owned(json_string(model)),
        None => Cow::Borrowed(defaults.model.as_slice()),
    };
    changes.push(Change::Set("model", model));
    let drop = encode.options.drop_params || defaults.drop_params;
    for (name, value) in encode.body.iter() {
        if name == "model" || name == "stream" {
            continue;
        }
        let refused = drop && is_refused(encode, name, value);
        if refused
            || is_gateway_field(name)
            || is_tags(encode, name)
            || defaults.dropped.iter().any(|d| d == name)
        {
            changes.push(Change::Remove(name));
        }
    }
    if defaults.habits.completion_tokens
        && encode.operation == Operation::Chat
        && let Some(cap) = encode.body.get("max_tokens")
    {
        changes.push(Change::Remove("max_tokens"));
        if encode.body.get("max_completion_tokens").is_none() {
            changes.push(Change::Set("max_completion_tokens", Cow::Borrowed(cap.get().as_bytes())));
        }
    }
    rename_voice(encode, changes);
    for (name, value) in &defaults.params {
        if takes_default(encode, name) {
            changes.push(Change::Set(renamed(encode, name), Cow::Borrowed(value)));
        }
    }
    flatten_extra_body(encode, changes);
    for (name, value) in &defaults.extra {
        changes.push(Change::Set(name, Cow::Borrowed(value)));
    }
}

/// `metadata` without `store` is LiteLLM's: it labels the request for the gateway, and OpenAI refuses it.
fn is_tags(encode: &Encode<'_>, name: &str) -> bool {
    name == "metadata"
        && matches!(encode.operation, Operation::Chat | Operation::Completions | Operation::Embeddings)
        && encode.body.bool("store") != Some(true)
}

/// Mistral calls a voice by its id.
fn rename_voice<'a>(encode: &'a Encode<'_>, changes: &mut Vec<Change<'a>>) {
    if renamed(encode, "voice") == "voice" {
        return;
    }
    if let Some(voice) = encode.body.get("voice") {
        changes.push(Change::Remove("voice"));
        if encode.body.get("voice_id").is_none() {
            changes.push(Change::Set("voice_id", Cow::Borrowed(voice.get().as_bytes())));
        }
    }
}

/// Whether a deployment's default goes into this body.
fn takes_default(encode: &Encode<'_>, name: &str) -> bool {
    const CAPS: [&str; 2] = ["max_tokens", "max_completion_tokens"];
    if encode.body.get(name).is_some() || !applies(name, encode.operation) {
        return false;
    }
    if let Purpose::Probe { omit } = encode.purpose
        && (samples(name) || omit.iter().any(|omitted| omitted == name))
    {
        return false;
    }
    // The two caps are one parameter under two names.
    !(CAPS.contains(&name) && CAPS.iter().any(|cap| encode.body.get(cap).is_some()))
}

fn renamed<'a>(encode: &Encode<'_>, name: &'a str) -> &'a str {
    if name == "max_tokens"
        && encode.target.defaults.habits.completion_tokens
        && encode.operation == Operation::Chat
    {
        "max_completion_tokens"
    } else if name == "voice"
        && encode.operation == Operation::Speech
        && encode.target.provider.id == "mistral"
    {
        "voice_id"
    } else {
        name
    }
}

/// Whether the provider is known to refuse this parameter.
fn is_refused(encode: &Encode<'_>, name: &str, value: &RawValue) -> bool {
    if encode.target.provider.refuses.contains(&name) {
        return true;
    }
    let habits = encode.target.defaults.habits;
    match name {
        "temperature" | "top_p" if habits.no_sampling => true,
        "temperature" | "top_p" => habits.completion_tokens && !matches!(value.get(), "1" | "1.0"),
        "top_k" => habits.no_sampling,
        "presence_penalty" | "frequency_penalty" | "logit_bias" | "logprobs" | "top_logprobs" => {
            habits.completion_tokens
        }
        _ => false,
    }
}

/// The members of a client's `extra_body`, as the SDKs put them into the body themselves.
fn flatten_extra_body<'a>(encode: &'a Encode<'_>, changes: &mut Vec<Change<'a>>) {
    let Some(extra) = encode.body.get("extra_body") else { return };
    let Ok(members) = serde_json::from_str::<BTreeMap<&str, &RawValue>>(extra.get()) else { return };
    for (name, value) in members {
        if !is_gateway_field(name) && encode.body.get(name).is_none() {
            changes.push(Change::Set(name, Cow::Borrowed(value.get().as_bytes())));
        }
    }
}

/// Asks a stream for its usage, and tells whether the chunk with it is to be hidden from the client.
fn ask_for_usage(encode: &Encode<'_>, changes: &mut Vec<Change<'_>>) -> bool {
    if !encode.options.stream
        || !encode.options.count_tokens
        || encode.purpose != Purpose::Traffic
        || !matches!(encode.operation, Operation::Chat | Operation::Completions)
        || encode.target.provider.refuses.contains(&"stream_options")
    {
        return false;
    }
    #[derive(serde::Deserialize)]
    struct Asked {
        #[serde(default)]
        include_usage: Option<bool>,
    }
    match encode.body.get("stream_options") {
        None => {
            changes.push(Change::Set("stream_options", Cow::Borrowed(b"{\"include_usage\":true}")));
            true
        }
        Some(options) => match serde_json::from_str::<Option<Asked>>(options.get()) {
            Ok(Some(Asked { include_usage: Some(true) })) => false,
            Ok(_) => {
                let mut members: serde_json::Map<String, serde_json::Value> =
                    serde_json::from_str(options.get()).unwrap_or_default();
                members.insert("include_usage".to_owned(), true.into());
                let text = serde_json::Value::Object(members).to_string().into_bytes();
                changes.push(Change::Set("stream_options", Cow::Owned(text)));
                true
            }
            // Not an object: the provider says so better than the gateway would.
            Err(_) => false,
        },
    }
}
