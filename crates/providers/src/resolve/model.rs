//! LiteLLM's model strings: which provider, which id on its wire, and what the string says besides.
//!
//! `provider/name` names the provider; a bare name is taken only when it belongs to one provider beyond doubt,
//! or when the operator gave a base of their own. An unknown prefix is never sent anywhere: LiteLLM's habit of
//! falling back to OpenAI's host hands a key to a stranger.

use super::ResolveError;
use crate::Mode;
use crate::registry::{PROVIDERS, Provider, owner_of_host, provider, provider_of_prefix};

/// A model string, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    /// The provider.
    pub provider: &'static Provider,
    /// The provider as LiteLLM writes it: the prefix.
    pub prefix: String,
    /// The id on the provider's wire.
    pub id: String,
    /// The mode that the string implies.
    pub mode: Option<Mode>,
    /// The region that the string names (Bedrock); part of the host, not of the id.
    pub region: Option<String>,
    /// The string says that the model reasons (`azure/o_series/…`).
    pub reasons: bool,
}

/// Takes `model` apart.
///
/// # Errors
/// When no provider, or no known one, is named, or nothing follows it.
pub fn split(model: &str, custom: Option<&str>, api_base: Option<&str>) -> Result<ModelName, ResolveError> {
    let model = model.trim();
    let (prefix, rest) = match custom.map(str::trim).filter(|custom| !custom.is_empty()) {
        Some(custom) => {
            let own = model.strip_prefix(custom).and_then(|rest| rest.strip_prefix('/'));
            (custom, own.unwrap_or(model))
        }
        None => match model.split_once('/') {
            Some((prefix, rest)) => (prefix, rest),
            None => return bare(model, api_base),
        },
    };
    let Some(found) = provider_of_prefix(prefix) else {
        return Err(ResolveError::UnknownProvider {
            prefix: prefix.to_owned(),
            model: model.to_owned(),
            suggestion: similar(prefix),
        });
    };
    if rest.is_empty() {
        return Err(ResolveError::EmptyModel { model: model.to_owned() });
    }
    named(found, prefix, rest, model)
}

/// A name without a prefix.
fn bare(model: &str, api_base: Option<&str>) -> Result<ModelName, ResolveError> {
    if model.is_empty() {
        return Err(ResolveError::EmptyModel { model: String::new() });
    }
    // A base decides before a name does: `gpt-4o` at the operator's own server is that server's.
    let by_base = api_base.map(|base| {
        let host = base.split("://").nth(1).unwrap_or(base).split(['/', ':', '?']).next().unwrap_or("");
        owner_of_host(host)
            .map_or("custom_openai", |owner| owner.prefixes.first().copied().unwrap_or(owner.id))
    });
    let Some(prefix) = owner_of_name(model).or(by_base) else {
        return Err(ResolveError::NoProvider { model: model.to_owned() });
    };
    match provider_of_prefix(prefix) {
        Some(found) => named(found, prefix, model, model),
        None => Err(ResolveError::NoProvider { model: model.to_owned() }),
    }
}

/// The prefix that a bare name stands for, when it can be no other provider's.
fn owner_of_name(model: &str) -> Option<&'static str> {
    const OPENAI: [&str; 20] = [
        "gpt-",
        "chatgpt-",
        "o1-",
        "o3-",
        "o4-",
        "ft:gpt-",
        "text-embedding-3-",
        "text-embedding-ada-",
        "whisper-1",
        "tts-1",
        "dall-e-",
        "davinci-002",
        "babbage-002",
        "omni-moderation-",
        "text-moderation-",
        "codex-mini",
        "computer-use-preview",
        "sora-",
        "ft:davinci-002",
        "ft:babbage-002",
    ];
    // Open models of this name are served by others.
    const NOT_OPENAI: [&str; 3] = ["gpt-oss", "gpt-neo", "gpt-j"];
    const BEDROCK: [&str; 5] = ["anthropic.", "amazon.", "meta.llama", "us.anthropic.", "eu.anthropic."];
    let one_of = |prefixes: &[&str]| prefixes.iter().any(|prefix| model.starts_with(prefix));
    if matches!(model, "o1" | "o3" | "o4") || (one_of(&OPENAI) && !one_of(&NOT_OPENAI)) {
        Some("openai")
    } else if model.starts_with("claude-") {
        Some("anthropic")
    } else if model.starts_with("command-") {
        Some("cohere_chat")
    } else if model.starts_with("gemini-") {
        Some("vertex_ai")
    } else if one_of(&BEDROCK) {
        Some("bedrock")
    } else {
        None
    }
}

/// What the rest of the string says, by the habits of its provider.
fn named(found: &'static Provider, prefix: &str, rest: &str, model: &str) -> Result<ModelName, ResolveError> {
    let mut name = ModelName {
        provider: found,
        prefix: prefix.to_owned(),
        id: rest.to_owned(),
        mode: mode_of_prefix(prefix),
        region: None,
        reasons: false,
    };
    if found.id == "azure" {
        for series in ["o_series/", "gpt5_series/"] {
            if let Some(id) = name.id.strip_prefix(series) {
                name.id = id.to_owned();
                name.reasons = true;
            }
        }
    }
    if let Some(id) = name.id.strip_prefix("responses/") {
        name.id = id.to_owned();
        name.mode = Some(Mode::Responses);
    }
    match found.id {
        "bedrock" => bedrock(&mut name),
        "fireworks_ai" if !name.id.contains('/') && !name.id.contains('*') => {
            name.id = format!("accounts/fireworks/models/{}", name.id);
        }
        "huggingface" => {
            // `huggingface/{inference provider}/{org}/{model}`: the router takes the provider as a suffix.
            if let [host, org, id] = *name.id.splitn(3, '/').collect::<Vec<_>>() {
                name.id = format!("{org}/{id}:{host}");
            }
        }
        _ => {}
    }
    if name.id.is_empty() {
        return Err(ResolveError::EmptyModel { model: model.to_owned() });
    }
    Ok(name)
}

/// The mode of the prefixes that stand for one.
fn mode_of_prefix(prefix: &str) -> Option<Mode> {
    match prefix {
        "text-completion-openai" | "azure_text" | "text-completion-codestral" | "watsonx_text" => {
            Some(Mode::Completion)
        }
        _ => None,
    }
}

/// `bedrock/converse/us-west-2/anthropic.claude…`: route and region segments are not part of the id.
fn bedrock(name: &mut ModelName) {
    let mut kept = Vec::new();
    for segment in name.id.split('/') {
        if is_region(segment) && name.region.is_none() {
            name.region = Some(segment.to_owned());
        } else if !kept.is_empty() || !matches!(segment, "converse" | "invoke") {
            kept.push(segment);
        }
    }
    name.id = kept.join("/");
}

/// Whether a path segment has the form of an AWS region: `us-west-2`, `ap-southeast-1`, `us-gov-east-1`.
pub(crate) fn is_region(segment: &str) -> bool {
    const AREAS: [&str; 10] = ["us", "eu", "ap", "ca", "sa", "me", "af", "il", "mx", "cn"];
    let parts: Vec<&str> = segment.split('-').collect();
    let [area, middle @ .., number] = parts.as_slice() else { return false };
    AREAS.contains(area)
        && (1..=2).contains(&middle.len())
        && middle.iter().all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase()))
        && number.len() == 1
        && number.bytes().all(|b| b.is_ascii_digit())
}

/// A known prefix much like this one.
fn similar(prefix: &str) -> Option<&'static str> {
    let lower = prefix.to_ascii_lowercase().replace(['-', '.', ' '], "_");
    PROVIDERS
        .iter()
        .flat_map(|provider| provider.prefixes)
        .map(|known| (strsim::normalized_damerau_levenshtein(&lower, known), *known))
        .filter(|(score, _)| *score >= 0.7)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}

/// The id that `health_check_model` means on this deployment's wire: without the deployment's own prefix,
/// else as it stands. It never moves the probe to another provider.
pub(crate) fn id_for(owner: &Provider, prefix: &str, model: &str) -> String {
    let own = |found: &Provider| {
        found.id == owner.id
            || (found.id == "openai" && owner.id == "openai_compatible")
            || found.prefixes.contains(&prefix)
    };
    match split(model, None, None) {
        Ok(name) if model.contains('/') && own(name.provider) => name.id,
        Ok(_) | Err(_) => match split(model, Some(prefix), None) {
            Ok(name) => name.id,
            Err(_) => model.to_owned(),
        },
    }
}

/// The row for a base that is not the provider's own.
pub(super) fn at_base(name: &mut ModelName, own_host: bool) {
    let other = match name.provider.id {
        "openai" if !own_host => "openai_compatible",
        "openai_compatible" if own_host => "openai",
        _ => return,
    };
    if let Some(row) = provider(other) {
        name.provider = row;
    }
}
