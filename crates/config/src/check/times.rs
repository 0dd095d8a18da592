//! Times that contradict each other, and health settings that can have no effect.

use std::time::Duration;

use haleway_health::{AllowedFails, Params, ProbeParams, Profile};

use super::budgets::BACKGROUND_ONLY;
use super::{Facts, dotted};
use crate::Origin;
use crate::diag::{Finding, codes};
use crate::lower::health::text::duration;
use crate::typed::Origins;
use crate::yaml::Span;

pub(super) fn check(facts: &Facts<'_>) {
    cooldown(facts);
    staleness(facts);
    inert_routing(facts);
    shared(facts);
    skipped(facts);
    ejection(facts);
    order(facts);
}

/// Counters live for one cooldown_time: a policy whose counters expire between two probes never adds them up.
fn cooldown(facts: &Facts<'_>) {
    if !facts.config.general.background_health_checks {
        return;
    }
    let own = &facts.config.haleway;
    let key = facts.key("cooldown_time").or_else(|| facts.key("allowed_fails_policy"));
    if let Some(span) = key {
        forgetful(facts, &own.health, &own.probe, span, "router_settings.cooldown_time");
    }
    for (model, parts) in facts.config.models.iter().zip(facts.parts) {
        let Some(probe) = &model.probe else { continue };
        let key =
            |name| parts.info.and_then(|info| info.map.get(name)).or_else(|| parts.params.map.get(name));
        if let Some(entry) = key("cooldown_time").or_else(|| key("allowed_fails_policy")) {
            forgetful(facts, &model.health, probe, entry.key, "the deployment's cooldown_time");
        }
    }
}

fn forgetful(facts: &Facts<'_>, params: &Params, probe: &ProbeParams, span: Span, setting: &str) {
    let Some(counters) = params.litellm else { return };
    let (time, interval) = (counters.cooldown_time, probe.interval);
    // A tolerance of zero acts on the first failure, and needs no memory.
    let remembers = counters.deployment_policy.or(counters.policy).is_some_and(|policy| tolerates(&policy));
    if time > interval || time.is_zero() || !remembers {
        return;
    }
    let message = format!(
        "failed probes never add up: their count is kept for cooldown_time ({}), and the next probe comes after {}",
        duration(time),
        duration(interval)
    );
    let hint = format!("set {setting} above {}", interval.as_secs());
    facts.report.add(Finding::warning(codes::COOLDOWN_SHORT, span, message).hint(hint));
}

/// Whether a policy tolerates any failure.
fn tolerates(policy: &AllowedFails) -> bool {
    [
        policy.bad_request,
        policy.authentication,
        policy.timeout,
        policy.rate_limit,
        policy.content_policy,
        policy.internal_server,
        policy.service_unavailable,
        policy.bad_gateway,
        policy.not_found,
    ]
    .into_iter()
    .any(|count| count.is_some_and(|count| count > 0))
}

/// A verdict that expires before the next probe can renew it takes part in nothing for a while.
fn staleness(facts: &Facts<'_>) {
    let own = &facts.config.haleway;
    let (stale, interval) = (own.health.stale_after, own.probe.interval);
    if !facts.config.general.background_health_checks || stale >= interval * 2 {
        return;
    }
    let Some(span) =
        facts.key("health_check_staleness_threshold").or_else(|| facts.key("health_check_interval"))
    else {
        return;
    };
    let message = format!(
        "a probe's result counts for {} and probes come every {}: one late probe and it is forgotten",
        duration(stale),
        duration(interval)
    );
    facts.report.add(
        Finding::warning(codes::STALENESS_SHORT, span, message)
            .hint(format!("set health_check_staleness_threshold to at least {}", (interval * 2).as_secs())),
    );
}

/// Health routing looks at probes; without probes there is nothing to look at.
fn inert_routing(facts: &Facts<'_>) {
    let Some(field) = facts.health.routing_field else { return };
    if facts.config.general.enable_health_check_routing && !facts.config.general.background_health_checks {
        facts.report.add(
            Finding::warning(
                codes::ROUTING_OFF,
                field.key,
                "enable_health_check_routing has nothing to go by",
            )
            .hint("probes are off: set general_settings.background_health_checks: true"),
        );
    }
}

fn shared(facts: &Facts<'_>) {
    let Some(field) = facts.shared.filter(|_| facts.health.shared) else { return };
    if !facts.redis {
        facts.report.add(
            Finding::warning(codes::SHARED_WITHOUT_REDIS, field.key, "use_shared_health_check has no Redis to share in")
                .hint(
                    "set general_settings.coordination_redis, a Redis cache under litellm_settings, or REDIS_HOST; \
                     until then every process probes on its own",
                ),
        );
        return;
    }
    let ttl = facts.config.haleway.fleet.ttl;
    if let Some(Origin::Derived("shared.ttl")) = facts.global.origins.get("interval") {
        let message = format!(
            "in shared mode a deployment is probed every {}, whatever health_check_interval says",
            duration(ttl)
        );
        facts.report.add(
            Finding::note(codes::SHARED_INTERVAL, field.key, message)
                .hint("DEFAULT_SHARED_HEALTH_CHECK_TTL sets that period"),
        );
    }
}

/// Probe settings of a deployment that is never probed.
fn skipped(facts: &Facts<'_>) {
    for (model, parts) in facts.config.models.iter().zip(facts.parts) {
        let Some(why) = model.skip_reason.filter(|why| *why != "background_health_checks_off") else {
            continue;
        };
        let Some(info) = parts.info else { continue };
        let first = info.map.entries.iter().find(|entry| entry.name.starts_with("health_check_"));
        let own = || {
            let section = info.map.get("haleway")?.value.as_map()?;
            let name = BACKGROUND_ONLY.iter().find(|name| dotted(section, name).is_some())?;
            // The policy that says "never" is the reason, and no contradiction.
            (why != "policy_never").then_some((*name, dotted(section, name)?))
        };
        let Some((name, key)) = first.map(|entry| (entry.name.as_str(), entry.key)).or_else(own) else {
            continue;
        };
        let why = match why {
            "disabled" => "disable_background_health_check is set",
            "group_not_listed" => "its group is not in background_health_check_model_groups",
            "blocked" => "it is blocked",
            _ => "its probe policy is never",
        };
        let message = format!("{name} is set for a deployment that is not probed in the background: {why}");
        let finding = Finding::warning(codes::PROBE_OFF, key, message);
        facts.report.add(finding.hint("it counts only for a probe that somebody asks for"));
    }
}

/// A cap on ejections that rounds down to nobody.
fn ejection(facts: &Facts<'_>) {
    for group in facts.config.groups() {
        let panic = facts.config.haleway.panic_of(group);
        let Some(cap) = panic.ejection_cap.filter(|_| !panic.eject_at_least_one) else { continue };
        let members = facts.config.models.iter().filter(|model| &*model.name == group).count();
        #[expect(clippy::cast_precision_loss, reason = "groups are small")]
        let most = cap * members as f32;
        if most >= 1.0 {
            continue;
        }
        let Some(parts) = facts.parts.iter().find(|parts| parts.name.value.as_str() == Some(group)) else {
            continue;
        };
        let message =
            format!("an ejection cap of {cap} lets none of the {members} deployments of {group:?} go");
        facts.report.add(
            Finding::warning(codes::CAP_INERT, parts.name.span(), message)
                .hint("raise panic.ejection_cap, or set panic.eject_at_least_one: true"),
        );
    }
}

/// Times of one scope that somebody set against each other.
fn order(facts: &Facts<'_>) {
    let own = &facts.config.haleway;
    let mut reported = Vec::new();
    let mut scope = |params: &Params, probe: &ProbeParams, origins: &Origins, anywhere: Option<Span>| {
        for (small, lesser, big, greater) in pairs(params, probe) {
            let Some(origin) = set(origins, big).or_else(|| set(origins, small)).filter(|_| lesser > greater)
            else {
                continue;
            };
            if reported.contains(&origin) {
                continue;
            }
            reported.push(origin.clone());
            let message =
                format!("{big} ({}) is below {small} ({}), at {origin}", duration(greater), duration(lesser));
            let finding = match anywhere {
                Some(span) => Finding::warning(codes::INTERVALS, span, message),
                None => Finding::placeless(crate::Severity::Warning, codes::INTERVALS, message),
            };
            facts.report.add(finding.hint(format!("set {big} to at least {small}")));
        }
    };
    scope(&own.health, &own.probe, &own.origins, facts.haleway.map(|field| field.key));
    for (model, parts) in facts.config.models.iter().zip(facts.parts) {
        if let Some(probe) = &model.probe {
            scope(&model.health, probe, &model.origins, Some(parts.name.span()));
        }
    }
}

/// Pairs of which the first must not exceed the second.
fn pairs(params: &Params, probe: &ProbeParams) -> Vec<(&'static str, Duration, &'static str, Duration)> {
    let mut pairs = vec![
        ("isolation.base", params.isolation.base, "isolation.max", params.isolation.max),
        ("ramp.length", params.ramp.length, "ramp.cap", params.ramp.cap),
    ];
    if params.profile == Profile::Resilient {
        pairs.push(("suspect_interval", probe.suspect_interval, "interval", probe.interval));
        pairs.push(("interval", probe.interval, "idle_interval", probe.idle_interval));
        pairs.push(("interval", probe.interval, "probe.backoff_max", probe.backoff_max));
    }
    pairs
}

/// The origin of a value that a file set.
fn set(origins: &Origins, key: &str) -> Option<Origin> {
    origins.get(key).filter(|origin| matches!(origin, Origin::File { .. })).cloned()
}
