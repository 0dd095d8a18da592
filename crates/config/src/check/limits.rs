//! Settings of the router that can have no effect: fallbacks that are never taken, limits that nobody keeps, tags
//! that nobody looks at, arguments of another strategy.

use haleway_routing::Strategy;

use super::Facts;
use crate::diag::{Finding, codes};
use crate::typed::Model;
use crate::yaml::Span;

pub(super) fn check(facts: &Facts<'_>) {
    fallbacks(facts);
    tags(facts);
    arguments(facts);
    for (name, get) in LIMITS {
        limits(facts, name, *get);
    }
}

type Get = fn(&Model) -> Option<u64>;

const LIMITS: &[(&str, Get)] = &[("rpm", |model| model.params.rpm), ("tpm", |model| model.params.tpm)];

fn fallbacks(facts: &Facts<'_>) {
    if facts.config.router.settings.max_fallbacks > 0 {
        return;
    }
    let Some(span) = facts.router.and_then(|router| router.map.get("max_fallbacks")).map(|entry| entry.key)
    else {
        return;
    };
    if !facts.names.chains.is_empty() || !facts.names.defaults.is_empty() {
        facts.report.add(
            Finding::warning(codes::FALLBACKS_OFF, span, "max_fallbacks is 0: no fallback is ever taken")
                .hint("raise max_fallbacks, or take the fallbacks out"),
        );
    }
}

fn tags(facts: &Facts<'_>) {
    if facts.config.router.settings.tag_filtering {
        return;
    }
    let hint = "set router_settings.enable_tag_filtering: true";
    let rule = facts.router.and_then(|router| router.map.get("tag_filtering_match_any"));
    if let Some(entry) = rule.filter(|_| facts.config.router.settings.tags_match_any) {
        let message = "tag_filtering_match_any has no effect: tag filtering is off";
        facts.report.add(Finding::warning(codes::TAGS_INERT, entry.key, message).hint(hint));
    }
    let tagged = facts.entries().filter(|(model, _)| !model.params.tags.is_empty());
    let spans: Vec<Span> =
        tagged.filter_map(|(_, parts)| parts.params.map.get("tags")).map(|entry| entry.key).collect();
    if let Some(first) = spans.first() {
        let message = match spans.len() {
            1 => "the tags of this deployment choose nothing: tag filtering is off".to_owned(),
            count => format!("the tags of {count} deployments choose nothing: tag filtering is off"),
        };
        facts.report.add(Finding::warning(codes::TAGS_INERT, *first, message).hint(hint));
    }
}

fn arguments(facts: &Facts<'_>) {
    let strategy = facts.config.router.settings.strategy;
    if matches!(strategy, Strategy::Latency { .. }) {
        return;
    }
    let args = facts.router.and_then(|router| router.map.get("routing_strategy_args"));
    let buffer = args.and_then(|args| args.value.as_map()?.get("lowest_latency_buffer"));
    if let Some(entry) = buffer {
        let message = format!("lowest_latency_buffer has no effect on {}", strategy.as_str());
        facts.report.add(
            Finding::warning(codes::STRATEGY_ARGS_INERT, entry.key, message)
                .hint("it belongs to latency-based-routing"),
        );
    }
}

/// A limit acts as one where limits are kept, and as a share where `simple-shuffle` has nothing better to go by.
fn limits(facts: &Facts<'_>, name: &'static str, get: Get) {
    let settings = &facts.config.router.settings;
    let shuffles = settings.strategy == Strategy::SimpleShuffle;
    for group in facts.config.groups() {
        let members: Vec<_> = facts.entries().filter(|(model, _)| &*model.name == group).collect();
        let set: Vec<_> = members
            .iter()
            .filter_map(|(model, parts)| Some((get(model)?, parts.params.map.get(name)?.key)))
            .collect();
        for (_, span) in set.iter().filter(|(limit, _)| *limit == 0 && settings.limits()) {
            let message = format!("{name} 0 lets no request through");
            let hint = format!("take {name} out for no limit, or set model_info.blocked: true");
            facts.report.add(Finding::warning(codes::LIMIT_ZERO, *span, message).hint(hint));
        }
        let Some((_, first)) = set.first().filter(|_| !settings.limits()) else { continue };
        let weighed = members.iter().any(|(model, _)| model.params.weight.is_some_and(|weight| weight > 0.0));
        let by_requests =
            name == "tpm" && members.iter().any(|(model, _)| model.params.rpm.is_some_and(|limit| limit > 0));
        let why = if set.iter().all(|(limit, _)| *limit == 0) {
            "0 is no share, and no limit is kept".to_owned()
        } else if !shuffles {
            format!("{} neither keeps limits nor weighs by them", settings.strategy.as_str())
        } else if weighed {
            "the group is shared by weight, and no limit is kept".to_owned()
        } else if by_requests {
            "the group is shared by rpm, and no limit is kept".to_owned()
        } else {
            continue;
        };
        let message = format!("{name} has no effect in group {group:?}: {why}");
        let hint =
            "write router_settings.optional_pre_call_checks: [enforce_model_rate_limits] to have limits kept";
        facts.report.add(Finding::warning(codes::LIMIT_INERT, *first, message).hint(hint));
    }
}
