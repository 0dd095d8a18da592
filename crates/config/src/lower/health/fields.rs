//! The keys of `haleway.health`, as data: name, place in the parameters, legal values, where it may stand. One
//! table drives reading, unknown-key findings and `explain`.

use std::time::Duration;

use haleway_health::{AllOut, LitellmParams, PanicMode, ProbeDepth, ProbePolicy};

use haleway_providers::catalogue::Usd;

use super::draft::Draft;
use super::text;

/// Where a key may stand, from everywhere to only globally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// In the global section only.
    Global,
    /// Globally and per group.
    Group,
    /// Everywhere.
    Deployment,
}

/// Access to a value of the draft, with its legal range.
#[derive(Clone, Copy)]
pub(crate) enum Slot {
    /// A time; the flag allows zero.
    Time(fn(&mut Draft) -> &mut Duration, bool),
    /// A time that may be absent.
    OptionalTime(fn(&mut Draft) -> &mut Option<Duration>),
    /// A whole number between two bounds.
    Count(fn(&mut Draft) -> &mut u32, u32, u32),
    /// A whole number that may be absent.
    OptionalCount(fn(&mut Draft) -> &mut Option<u32>),
    /// An amount of US dollars that may be absent.
    OptionalUsd(fn(&mut Draft) -> &mut Option<Usd>),
    /// A small whole number between two bounds.
    Small(fn(&mut Draft) -> &mut u8, u8, u8),
    /// A number between two bounds.
    Real(fn(&mut Draft) -> &mut f32, f32, f32),
    /// A share that may be absent.
    OptionalReal(fn(&mut Draft) -> &mut Option<f32>),
    /// Yes or no.
    Flag(fn(&mut Draft) -> &mut bool),
    /// When to probe.
    Policy(fn(&mut Draft) -> &mut ProbePolicy),
    /// How deep to probe.
    Depth(fn(&mut Draft) -> &mut ProbeDepth),
    /// What panic does.
    Panic(fn(&mut Draft) -> &mut PanicMode),
    /// HTTP statuses.
    Statuses(fn(&mut Draft) -> &mut Vec<u16>),
    /// What happens when all are out.
    AllOut(fn(&mut Draft) -> &mut AllOut),
}

/// One key.
#[derive(Clone, Copy)]
pub(crate) struct HealthKey {
    /// Dotted name below `haleway.health`.
    pub(crate) name: &'static str,
    pub(crate) reach: Reach,
    pub(crate) slot: Slot,
}

const fn key(name: &'static str, reach: Reach, slot: Slot) -> HealthKey {
    HealthKey { name, reach, slot }
}

const MOST: u32 = 1_000_000;

use Reach::{Deployment, Global, Group};
use Slot::{Count, Flag, OptionalCount, OptionalReal, Real, Small, Time};

/// Every key, sorted by name.
pub(crate) const KEYS: &[HealthKey] = &[
    key("all_out", Group, Slot::AllOut(|d| &mut d.panic.all_out)),
    key("budget.probes_per_day", Deployment, OptionalCount(|d| &mut d.budget.probes_per_day)),
    key("budget.total_probes_per_day", Global, OptionalCount(|d| &mut d.limits.total_probes_per_day)),
    key("budget.usd_per_day", Deployment, Slot::OptionalUsd(|d| &mut d.budget.usd_per_day)),
    key("config_sightings", Deployment, Count(|d| &mut d.params.config_sightings, 1, MOST)),
    key("consecutive_failures", Deployment, Count(|d| &mut d.params.consecutive_failures, 0, MOST)),
    key("early_release", Deployment, Count(|d| &mut d.params.early_release, 0, MOST)),
    key("fall", Deployment, Count(|d| &mut d.params.fall, 1, MOST)),
    key("hold.billing", Deployment, Time(|d| &mut d.params.budget_hold, false)),
    key("hold.default", Deployment, Time(|d| &mut d.params.hold_default, true)),
    key("hold.max", Deployment, Time(|d| &mut d.params.hold_max, true)),
    key("idle_interval", Deployment, Time(|d| &mut d.probe.idle_interval, false)),
    key("ignore_transient_probes", Deployment, Flag(|d| &mut d.params.ignore_transient_probes)),
    key("interval", Deployment, Time(|d| &mut d.probe.interval, false)),
    key("isolate_lone", Deployment, Flag(|d| &mut d.params.isolate_lone)),
    key("isolation.base", Deployment, Time(|d| &mut d.params.isolation.base, true)),
    key("isolation.decay_every", Deployment, Time(|d| &mut d.params.isolation.decay_every, false)),
    key("isolation.jitter", Deployment, Real(|d| &mut d.params.isolation.jitter, 0.0, 1.0)),
    key("isolation.max", Deployment, Time(|d| &mut d.params.isolation.max, true)),
    key("isolation.multiplier", Deployment, Real(|d| &mut d.params.isolation.multiplier, 1.0, 100.0)),
    key("isolation.trial", Deployment, Flag(|d| &mut d.params.isolation.trial)),
    key("panic.eject_at_least_one", Group, Flag(|d| &mut d.panic.eject_at_least_one)),
    key("panic.ejection_cap", Group, OptionalReal(|d| &mut d.panic.ejection_cap)),
    key("panic.mode", Group, Slot::Panic(|d| &mut d.panic.mode)),
    key("panic.threshold", Group, Real(|d| &mut d.panic.threshold, 0.0, 1.0)),
    key("probe.backoff_max", Deployment, Time(|d| &mut d.probe.backoff_max, false)),
    key("probe.can_restore", Deployment, Flag(|d| &mut d.params.probe_can_restore)),
    key("probe.concurrency", Global, Count(|d| &mut d.limits.concurrency, 1, 65_535)),
    key("probe.depth", Deployment, Slot::Depth(|d| &mut d.probe.depth)),
    key("probe.per_host", Global, Count(|d| &mut d.limits.per_host, 1, 65_535)),
    key("probe.policy", Deployment, Slot::Policy(|d| &mut d.probe.policy)),
    key("probe.routing", Deployment, Flag(|d| &mut d.params.probe_routing)),
    key("probe.traffic_postpones", Deployment, Flag(|d| &mut d.probe.traffic_postpones)),
    key("ramp.cap", Deployment, Time(|d| &mut d.params.ramp.cap, true)),
    key("ramp.fall", Deployment, Count(|d| &mut d.params.ramp.fall, 1, MOST)),
    key("ramp.length", Deployment, Time(|d| &mut d.params.ramp.length, true)),
    key("ramp.min_share", Deployment, Real(|d| &mut d.params.ramp.min_share, 0.001, 1.0)),
    key("ramp.min_successes", Deployment, Count(|d| &mut d.params.ramp.min_successes, 0, MOST)),
    key("rise", Deployment, Count(|d| &mut d.params.rise, 1, MOST)),
    key("soft_in_window", Deployment, Flag(|d| &mut d.params.soft_in_window)),
    key("stale_after", Deployment, Time(|d| &mut d.params.stale_after, false)),
    key("statuses.caller", Deployment, Slot::Statuses(|d| &mut d.statuses.caller)),
    key("statuses.upstream", Deployment, Slot::Statuses(|d| &mut d.statuses.upstream)),
    key("stream.first_token", Deployment, Time(|d| &mut d.params.stream.first_token, false)),
    key("stream.gap", Deployment, Time(|d| &mut d.params.stream.gap, false)),
    key("stream.hang_after", Deployment, Time(|d| &mut d.params.stream.hang_after, false)),
    key("stream.slow_first_token", Deployment, Time(|d| &mut d.params.stream.slow_first_token, false)),
    key("suspect_interval", Deployment, Time(|d| &mut d.probe.suspect_interval, false)),
    key("timeout", Deployment, Time(|d| &mut d.probe.timeout, false)),
    key("timeouts.connect", Deployment, Time(|d| &mut d.timeouts.connect, false)),
    key("timeouts.first_byte", Deployment, Slot::OptionalTime(|d| &mut d.timeouts.first_byte)),
    key("trial.hold", Deployment, Time(|d| &mut d.params.trial_hold, false)),
    key("window.buckets", Deployment, Small(|d| &mut d.params.window.buckets, 1, 64)),
    key("window.failure_ratio", Deployment, Real(|d| &mut d.params.window.failure_ratio, 0.0, 1.0)),
    key("window.length", Deployment, Time(|d| &mut d.params.window.length, false)),
    key("window.min_requests", Deployment, Count(|d| &mut d.params.window.min_requests, 0, MOST)),
];

/// Values of [`ProbePolicy`] by name.
pub(crate) const POLICIES: &[(&str, ProbePolicy)] = &[
    ("always", ProbePolicy::Always),
    ("when_idle", ProbePolicy::WhenIdle),
    ("only_when_out", ProbePolicy::OnlyWhenOut),
    ("never", ProbePolicy::Never),
];
/// Values of [`ProbeDepth`] by name.
pub(crate) const DEPTHS: &[(&str, ProbeDepth)] =
    &[("auto", ProbeDepth::Auto), ("free", ProbeDepth::Free), ("generation", ProbeDepth::Generation)];
/// Values of [`PanicMode`] by name.
pub(crate) const PANIC_MODES: &[(&str, PanicMode)] =
    &[("spread", PanicMode::Spread), ("refuse", PanicMode::Refuse), ("off", PanicMode::Off)];
/// Values of [`AllOut`] by name.
pub(crate) const ALL_OUT: &[(&str, AllOut)] =
    &[("try_best", AllOut::TryBest), ("wait", AllOut::Wait), ("fail", AllOut::Fail)];

/// The dotted names of every key below `haleway.health`, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}

/// The key of this dotted name.
pub(crate) fn find(name: &str) -> Option<&'static HealthKey> {
    KEYS.iter().find(|key| key.name == name)
}

/// The value of a key as a person writes it.
pub(crate) fn show(slot: Slot, draft: &mut Draft) -> String {
    fn named<T: PartialEq>(names: &[(&str, T)], value: &T) -> String {
        names
            .iter()
            .find(|(_, known)| known == value)
            .map_or_else(String::new, |(name, _)| (*name).to_owned())
    }
    let none = || "none".to_owned();
    match slot {
        Time(get, _) => text::duration(*get(draft)),
        Slot::OptionalTime(get) => get(draft).map_or_else(none, text::duration),
        Count(get, ..) => get(draft).to_string(),
        OptionalCount(get) => get(draft).map_or_else(none, |count| count.to_string()),
        Small(get, ..) => get(draft).to_string(),
        Real(get, ..) => get(draft).to_string(),
        Slot::OptionalUsd(get) => get(draft).map_or_else(none, |usd| usd.to_string()),
        OptionalReal(get) => get(draft).map_or_else(none, |share| share.to_string()),
        Flag(get) => get(draft).to_string(),
        Slot::Policy(get) => named(POLICIES, get(draft)),
        Slot::Depth(get) => named(DEPTHS, get(draft)),
        Slot::Panic(get) => named(PANIC_MODES, get(draft)),
        Slot::AllOut(get) => named(ALL_OUT, get(draft)),
        Slot::Statuses(get) if get(draft).is_empty() => none(),
        Slot::Statuses(get) => get(draft).iter().map(u16::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// LiteLLM's counters as rows: name and value.
pub(crate) fn show_litellm(litellm: &LitellmParams) -> Vec<(&'static str, String)> {
    let count = |value: Option<u32>| value.map_or_else(|| "none".to_owned(), |count| count.to_string());
    let policy = |policy: &Option<haleway_health::AllowedFails>| match policy {
        None => "none".to_owned(),
        Some(policy) => text::policy(policy),
    };
    vec![
        ("allowed_fails", count(litellm.deployment_allowed_fails.or(litellm.allowed_fails))),
        ("allowed_fails_policy", policy(&litellm.deployment_policy.or(litellm.policy))),
        ("cooldown_time", text::duration(litellm.cooldown_time)),
        ("disable_cooldowns", litellm.disable_cooldowns.to_string()),
    ]
}
