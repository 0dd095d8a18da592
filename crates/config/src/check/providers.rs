//! Ids that repeat, and deployments of which nobody can say where their calls would go.

use std::collections::HashMap;

use haleway_providers::ResolveError;

use super::{Facts, probes};
use crate::diag::{Finding, codes};

pub(super) fn check(facts: &Facts<'_>) {
    ids(facts);
    let mut limits_known = false;
    for (model, parts) in facts.entries() {
        let env = |name: &str| facts.config.var(facts.source, name);
        let file = |path: &str| facts.config.file(facts.source, path);
        let error = match haleway_providers::resolve(&model.source(&env, &file)) {
            Err(error) => error,
            Ok(target) => {
                let listed = target.known.as_ref().and_then(|row| row.facts().max_input_tokens);
                limits_known |= model.info.max_input_tokens.or(listed).is_some();
                probes::check(facts, model, parts, &target);
                continue;
            }
        };
        let (code, key) = match &error {
            ResolveError::UnknownProvider { .. } | ResolveError::NoProvider { .. } => {
                (codes::UNKNOWN_PROVIDER, "model")
            }
            ResolveError::ForeignBase { .. } | ResolveError::InvalidBase { .. } => {
                (codes::UNRESOLVED, "api_base")
            }
            ResolveError::InvalidHeader { .. } => (codes::UNRESOLVED, "extra_headers"),
            ResolveError::InvalidCredential { param, .. } => (codes::UNRESOLVED, *param),
            ResolveError::InvalidDropPath { .. } => (codes::UNRESOLVED, "additional_drop_params"),
            ResolveError::EmptyModel { .. }
            | ResolveError::MissingBase { .. }
            | ResolveError::MissingKey { .. }
            | ResolveError::MissingProject
            | ResolveError::WireNotSupported { .. } => (codes::UNRESOLVED, "model"),
        };
        let key = if model.params.custom_llm_provider.is_some() && code == codes::UNKNOWN_PROVIDER {
            "custom_llm_provider"
        } else {
            key
        };
        let field = parts.params.get(key).unwrap_or(parts.model);
        facts.report.add(Finding::error(code, field.span(), error.to_string()).maybe_hint(hint(&error)));
    }
    if !limits_known {
        pre_call(facts);
    }
}

/// The check before a call compares the prompt with what a deployment takes; where that is not known of any, it
/// lets everything through.
fn pre_call(facts: &Facts<'_>) {
    let entry = facts.router.and_then(|router| router.map.get("enable_pre_call_checks"));
    if let Some(entry) = entry.filter(|_| facts.config.router.settings.pre_call_checks) {
        let message =
            "enable_pre_call_checks has nothing to compare with: no deployment's context window is known";
        facts.report.add(
            Finding::warning(codes::PRE_CALL_INERT, entry.key, message)
                .hint("set model_info.max_input_tokens"),
        );
    }
}

fn hint(error: &ResolveError) -> Option<String> {
    match error {
        ResolveError::UnknownProvider { suggestion: None, .. } => Some(
            "for any OpenAI-compatible server write openai/model-name with its api_base; a call is never sent to \
             another provider's host"
                .to_owned(),
        ),
        ResolveError::UnknownProvider { .. }
        | ResolveError::NoProvider { .. }
        | ResolveError::EmptyModel { .. }
        | ResolveError::MissingBase { .. }
        | ResolveError::MissingKey { .. }
        | ResolveError::ForeignBase { .. }
        | ResolveError::InvalidBase { .. }
        | ResolveError::InvalidHeader { .. }
        | ResolveError::InvalidCredential { .. }
        | ResolveError::MissingProject
        | ResolveError::InvalidDropPath { .. }
        | ResolveError::WireNotSupported { .. } => None,
    }
}

/// LiteLLM lets two deployments share an id; their health would then be one, and neither could be named.
fn ids(facts: &Facts<'_>) {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (index, model) in facts.config.models.iter().enumerate() {
        let Some(first) = seen.insert(&model.id, index).and_then(|first| facts.config.models.get(first))
        else {
            continue;
        };
        let Some(parts) = facts.parts.get(index) else { continue };
        let field = parts.info.and_then(|info| info.get("id")).unwrap_or(parts.name);
        let place = &first.place;
        let message = format!(
            "the id {:?} is taken by the deployment at {}:{}",
            model.id,
            place.file.display(),
            place.line
        );
        facts.report.add(
            Finding::error(codes::DUPLICATE_ID, field.span(), message)
                .hint("give each deployment an id of its own, or none: then one is computed"),
        );
    }
}
