//! Settings that another one of the same file outranks, and what is defined and never used.

use std::collections::{HashMap, HashSet};

use super::Facts;
use crate::diag::{Finding, codes};
use crate::lower::section::Reader;
use crate::typed::Model;
use crate::yaml::{Entry, Map, Span};

pub(super) fn check(facts: &Facts<'_>) {
    sections(facts);
    deployments(facts);
    retries(facts);
    database(facts);
    credentials(facts);
    cache(facts);
}

/// Keys that may stand in two sections: the one that loses, the one that wins.
const PAIRS: &[(&str, &str)] = &[
    ("fallbacks", "fallbacks"),
    ("default_fallbacks", "default_fallbacks"),
    ("context_window_fallbacks", "context_window_fallbacks"),
    ("content_policy_fallbacks", "content_policy_fallbacks"),
    ("num_retries", "num_retries"),
    ("request_timeout", "timeout"),
];

const EITHER: &[&str] = &[
    "enable_health_check_routing",
    "health_check_staleness_threshold",
    "health_check_ignore_transient_errors",
    "background_health_check_model_groups",
];

fn sections(facts: &Facts<'_>) {
    for (loser, winner) in PAIRS {
        outranked(facts, facts.litellm, loser, facts.router, winner);
    }
    for name in EITHER {
        outranked(facts, facts.general, name, facts.router, name);
    }
}

fn outranked(
    facts: &Facts<'_>,
    losing: Option<Reader<'_>>,
    loser: &str,
    winning: Option<Reader<'_>>,
    winner: &str,
) {
    let (Some(losing), Some(winning)) = (losing, winning) else { return };
    let (Some(lost), Some(won)) = (set(losing.map, loser), set(winning.map, winner)) else { return };
    // Said twice and the same, nothing is lost.
    if lost.value.to_json() != won.value.to_json() {
        let loser = format!("{}.{loser}", losing.section.name());
        add(facts, lost.key, &loser, &format!("{}.{winner}", winning.section.name()), won.key);
    }
}

fn set<'m>(map: &'m Map, name: &str) -> Option<&'m Entry> {
    map.get(name).filter(|entry| !entry.value.is_null())
}

fn add(facts: &Facts<'_>, span: Span, loser: &str, winner: &str, at: Span) {
    let place = facts.report.place(at);
    let message = format!("{loser} is not used: {winner} outranks it");
    let hint = format!("take one of the two out; the other is at {}:{}", place.file.display(), place.line);
    facts.report.add(Finding::warning(codes::OVERRIDDEN, span, message).hint(hint));
}

/// One value of a deployment under two names.
fn deployments(facts: &Facts<'_>) {
    for (_, parts) in facts.entries() {
        let params = parts.params.map;
        let twice = |loser: &str, winner: &str, map: &Map| {
            let (Some(lost), Some(won)) = (set(params, loser), set(map, winner)) else { return };
            if lost.value.to_json() != won.value.to_json() {
                add(facts, lost.key, loser, winner, won.key);
            }
        };
        twice("max_retries", "num_retries", params);
        twice("base_url", "api_base", params);
        if let Some(info) = parts.info {
            twice("cooldown_time", "cooldown_time", info.map);
        }
    }
}

/// Retries are counted per group: the first deployment that says a number speaks for all.
fn retries(facts: &Facts<'_>) {
    let of = |model: &Model| model.params.num_retries.or(model.params.max_retries);
    let mut first: HashMap<&str, (u32, Span)> = HashMap::new();
    for (model, parts) in facts.entries() {
        let entry = set(parts.params.map, "num_retries").or_else(|| set(parts.params.map, "max_retries"));
        let (Some(count), Some(entry)) = (of(model), entry) else { continue };
        let (spoken, at) = *first.entry(&model.name).or_insert((count, entry.key));
        if spoken != count {
            let winner = format!("what the first deployment of {:?} says ({spoken})", &*model.name);
            add(facts, entry.key, &format!("{} {count}", entry.name), &winner, at);
        }
    }
}

fn database(facts: &Facts<'_>) {
    let own = facts.haleway.and_then(|field| set(field.value.as_map()?.get("store")?.value.as_map()?, "url"));
    let other = facts.general.and_then(|reader| set(reader.map, "database_url"));
    if let (Some(won), Some(lost)) = (own, other)
        && won.value.to_json() != lost.value.to_json()
    {
        add(facts, lost.key, "general_settings.database_url", "haleway.store.url", won.key);
    }
}

fn credentials(facts: &Facts<'_>) {
    let named: HashSet<String> = facts
        .entries()
        .filter_map(|(_, parts)| set(parts.params.map, "litellm_credential_name")?.value.as_scalar())
        .map(|scalar| scalar.text.to_string())
        .collect();
    let list = facts.top.map.get("credential_list").and_then(|entry| entry.value.as_seq());
    for node in list.unwrap_or_default() {
        let Some(entry) = node.as_map().and_then(|map| map.get("credential_name")) else { continue };
        let Some(name) = entry.value.as_scalar().map(|scalar| scalar.text.as_str()) else { continue };
        if !named.contains(name) {
            let message = format!("no deployment uses the credential {name:?}");
            facts
                .report
                .add(Finding::warning(codes::CREDENTIAL_UNUSED, entry.key, message).hint(format!(
                    "name it at a deployment: litellm_params.litellm_credential_name: {name}"
                )));
        }
    }
}

/// Answers are not cached. Where the cache names the Redis of the fleet, that is the whole of its effect.
fn cache(facts: &Facts<'_>) {
    const WHY: &str = "answers are not cached in this version";
    let Some(litellm) = facts.litellm else { return };
    let Some(on) =
        litellm.get("cache").filter(|field| !matches!(&*field.value.to_json().to_string(), "false"))
    else {
        if let Some(entry) = set(litellm.map, "cache_params") {
            facts.report.inert("litellm_settings.cache_params", "the cache is off");
            let message = "litellm_settings.cache_params has no effect: the cache is off";
            facts.report.add(Finding::warning(codes::NO_EFFECT, entry.key, message).hint(WHY));
        }
        return;
    };
    let kind =
        set(litellm.map, "cache_params").and_then(|entry| entry.value.as_map()?.get("type")?.value.as_str());
    let shared = facts.redis && kind.is_none_or(|kind| kind.starts_with("redis"));
    let finding = if shared {
        let message = "litellm_settings.cache caches no answers; its Redis is the one that processes share";
        Finding::note(codes::NO_EFFECT, on.key, message)
    } else {
        for key in ["cache", "cache_params"].into_iter().filter(|key| set(litellm.map, key).is_some()) {
            facts.report.inert(&format!("litellm_settings.{key}"), WHY);
        }
        Finding::warning(codes::NO_EFFECT, on.key, "litellm_settings.cache has no effect")
    };
    facts.report.add(finding.hint(WHY));
}
