//! Settings about probes and counted failures that can have no effect: probes that are off or never paid, counts
//! that take nothing out, and how long to remember what nothing remembers.

use haleway_health::{LitellmParams, Params};
use haleway_providers::catalogue::Usd;

use super::{Facts, dotted};
use crate::diag::{Finding, codes};
use crate::yaml::{Map, Span};

pub(super) fn check(facts: &Facts<'_>) {
    off(facts);
    zero(facts);
    counts(facts);
    retention(facts);
}

/// Keys of `haleway.health` that only background probes look at.
pub(super) const BACKGROUND_ONLY: &[&str] = &[
    "interval",
    "idle_interval",
    "suspect_interval",
    "probe.policy",
    "probe.backoff_max",
    "probe.per_host",
    "probe.traffic_postpones",
];

fn off(facts: &Facts<'_>) {
    if facts.config.general.background_health_checks {
        return;
    }
    let add = |name: &str, span: Span| {
        let message = format!("{name} has no effect: nothing is probed in the background");
        let hint = "set general_settings.background_health_checks: true";
        facts.report.add(Finding::warning(codes::PROBES_OFF, span, message).hint(hint));
    };
    let general = facts.general.map(|reader| reader.map);
    let router = facts.router.map(|reader| reader.map);
    let key = |map: Option<&Map>, name: &str| {
        let entry = map.and_then(|map| map.get(name)).filter(|entry| !entry.value.is_null());
        entry.map(|entry| entry.key)
    };
    for name in ["health_check_interval", "background_health_check_model_groups"] {
        if let Some(span) = key(general, name) {
            add(name, span);
        }
    }
    if let Some(span) = key(router, "background_health_check_model_groups") {
        add("background_health_check_model_groups", span);
    }
    for name in BACKGROUND_ONLY {
        if let Some(span) = facts.health_key(name) {
            add(name, span);
        }
    }
}

/// Budgets that pay for nothing.
fn zero(facts: &Facts<'_>) {
    let probed = facts.config.models.iter().any(|model| model.probe.is_some());
    if !probed {
        return;
    }
    let add = |name: &str, span: Option<Span>| {
        let Some(span) = span else { return };
        let message = format!("{name} is 0: no probe that costs anything is ever sent");
        let hint =
            "write probe.policy: never to probe nothing, or probe.depth: free for calls that cost nothing";
        facts.report.add(Finding::warning(codes::BUDGET_ZERO, span, message).hint(hint));
    };
    let own = &facts.config.haleway;
    for (name, zero) in [
        ("budget.probes_per_day", own.budget.probes_per_day == Some(0)),
        ("budget.total_probes_per_day", own.limits.total_probes_per_day == Some(0)),
        ("budget.usd_per_day", own.limits.total_usd_per_day == Some(Usd::ZERO)),
    ] {
        add(name, facts.health_key(name).filter(|_| zero));
    }
    for (model, parts) in facts.entries().filter(|(model, _)| model.probe.is_some()) {
        let section = || parts.info?.map.get("haleway")?.value.as_map();
        for (name, zero) in [
            ("budget.probes_per_day", model.budget.probes_per_day == Some(0)),
            ("budget.usd_per_day", model.budget.usd_per_day == Some(Usd::ZERO)),
        ] {
            add(name, section().and_then(|map| dotted(map, name)).filter(|_| zero));
        }
    }
}

/// Tolerated failures where no count takes anything out.
fn counts(facts: &Facts<'_>) {
    let add = |name: &str, span: Span, why: &str| {
        let message = format!("{name} has no effect: {why}");
        let hint = format!("take {name} out, or let cooldowns be");
        facts.report.add(Finding::warning(codes::COUNTS_INERT, span, message).hint(hint));
    };
    // A deployment that cools at all is judged by what is said of all.
    let all = facts.config.models.iter().map(|model| never_cools(&model.health)).collect::<Option<Vec<_>>>();
    if let (Some(why), Some(router)) = (all.and_then(|all| all.first().copied()), facts.router) {
        for name in ["allowed_fails", "allowed_fails_policy"] {
            if let Some(entry) = router.map.get(name).filter(|entry| !entry.value.is_null()) {
                add(name, entry.key, why);
            }
        }
    }
    for (model, parts) in facts.entries() {
        let (Some(why), Some(info)) = (never_cools(&model.health), parts.info) else { continue };
        for name in ["allowed_fails", "allowed_fails_policy"] {
            if let Some(entry) = info.map.get(name).filter(|entry| !entry.value.is_null()) {
                add(name, entry.key, why);
            }
        }
    }
}

/// Why no counted failure takes a deployment out, when none does.
fn never_cools(params: &Params) -> Option<&'static str> {
    let LitellmParams { disable_cooldowns, cooldown_time, .. } = params.litellm?;
    if disable_cooldowns {
        Some("disable_cooldowns is set")
    } else if cooldown_time.is_zero() {
        Some("its cooldown_time is 0")
    } else {
        None
    }
}

fn retention(facts: &Facts<'_>) {
    let entry = facts.general.and_then(|reader| reader.map.get("maximum_health_check_retention_period"));
    let set = entry.filter(|entry| !entry.value.is_null() && facts.config.haleway.store.is_none());
    if let Some(entry) = set {
        let message = "maximum_health_check_retention_period has no effect: health is not remembered";
        facts.report.add(
            Finding::warning(codes::RETENTION_INERT, entry.key, message)
                .hint("set haleway.store.url, general_settings.database_url or DATABASE_URL"),
        );
    }
}
