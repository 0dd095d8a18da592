//! The members of a chat request as they count: the client's, then the deployment's defaults, without the
//! gateway's own fields and those that are never to be sent.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Refusal;
use crate::resolve::{applies, is_gateway_field, samples};
use crate::target::Purpose;
use crate::wires::Encode;

/// A chat request's members.
pub(super) struct Members<'a> {
    encode: &'a Encode<'a>,
    defaults: Vec<(&'a str, &'a RawValue)>,
}

impl<'a> Members<'a> {
    pub(super) fn new(encode: &'a Encode<'a>) -> Self {
        let own = &encode.target.defaults;
        let defaults = own
            .params
            .iter()
            .filter(|(name, _)| applies(name, encode.operation))
            .filter(|(name, _)| match encode.purpose {
                Purpose::Traffic => true,
                Purpose::Probe { omit } => !samples(name) && !omit.iter().any(|omitted| omitted == name),
            })
            .filter_map(|(name, value)| Some((name.as_str(), serde_json::from_slice(value).ok()?)))
            .collect();
        Self { encode, defaults }
    }

    /// A member that is set and not `null`.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        if self.encode.target.defaults.dropped.iter().any(|dropped| dropped == name) {
            return None;
        }
        let own = self.encode.body.get(name);
        let value =
            own.or_else(|| self.defaults.iter().find(|(key, _)| *key == name).map(|(_, value)| *value));
        value.filter(|value| value.get() != "null")
    }

    /// A member as a value of `T`.
    pub(super) fn read<T: Deserialize<'a>>(&self, name: &str, wanted: &str) -> Result<Option<T>, Refusal> {
        let Some(raw) = self.get(name) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|_| Refusal::invalid(name, format!("{name} must be {wanted}")))
    }

    /// A member that must be a string.
    pub(super) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, Refusal> {
        let Some(raw) = self.get(name) else { return Ok(None) };
        text(raw).map(Some).ok_or_else(|| Refusal::invalid(name, format!("{name} must be a string")))
    }

    /// Members that are neither OpenAI's nor the gateway's: they are the provider's own and go as they are.
    pub(super) fn foreign(&self) -> impl Iterator<Item = (&'a str, &'a RawValue)> {
        let dropped = &self.encode.target.defaults.dropped;
        let defaults = self.defaults.iter().copied().filter(|(name, _)| self.encode.body.get(name).is_none());
        self.encode
            .body
            .iter()
            .chain(defaults)
            .filter(|(name, value)| !is_openai(name) && !is_gateway_field(name) && value.get() != "null")
            .filter(|(name, _)| !dropped.iter().any(|dropped| dropped == name))
    }
}

/// A raw JSON string, decoded.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(raw.get()).ok().map(Cow::Owned)
}

/// OpenAI's chat parameters: translated, or without a counterpart and left out.
fn is_openai(name: &str) -> bool {
    matches!(
        name,
        "messages"
            | "max_tokens"
            | "max_completion_tokens"
            | "temperature"
            | "top_p"
            | "stop"
            | "stream_options"
            | "tools"
            | "tool_choice"
            | "parallel_tool_calls"
            | "functions"
            | "function_call"
            | "response_format"
            | "reasoning_effort"
            | "user"
            | "n"
            | "logprobs"
            | "top_logprobs"
            | "logit_bias"
            | "frequency_penalty"
            | "presence_penalty"
            | "seed"
            | "service_tier"
            | "modalities"
            | "audio"
            | "prediction"
            | "store"
            | "metadata"
            | "verbosity"
            | "web_search_options"
            | "prompt_cache_key"
            | "prompt_cache_retention"
            | "safety_identifier"
            | "max_retries"
    )
}
