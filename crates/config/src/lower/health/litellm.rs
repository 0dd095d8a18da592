//! LiteLLM's health and cooldown keys into a draft.

use std::time::Duration;

use haleway_health::{AllowedFails, Profile};

use super::draft::Draft;
use super::text;
use crate::Origin;
use crate::diag::{Finding, codes, did_you_mean};
use crate::env::{self, Environment};
use crate::keys::{POLICY_FIELDS, Section};
use crate::lower::field::Field;
use crate::lower::section::Reader;
use crate::yaml::Value;

/// A `cooldown_time`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cooldown {
    /// How long; zero never cools.
    pub(crate) time: Duration,
    /// Whether a deployment said so itself.
    pub(crate) own: bool,
}

/// Health keys of `general_settings`, read once; those of the router override them.
#[derive(Clone, Default)]
pub(crate) struct General<'a> {
    pub(crate) background: Option<Field<'a>>,
    pub(crate) shared: bool,
    pub(crate) groups: Option<Vec<String>>,
    pub(crate) groups_field: Option<Field<'a>>,
    pub(crate) routing_field: Option<Field<'a>>,
}

impl<'a> General<'a> {
    /// The environment and `general_settings` into the global draft.
    pub(crate) fn apply(reader: Option<Reader<'a>>, env: &Environment<'_>, draft: &mut Draft) -> Self {
        environment(env, draft);
        let Some(reader) = reader else { return Self::default() };
        if let Some(field) = reader.get("health_check_interval")
            && let Some(span) = interval(field)
        {
            draft.probe.interval = span;
            draft.note("interval", field.origin());
        }
        if let Some(field) = reader.get("health_check_concurrency")
            && let Some(count) = concurrency(field)
        {
            draft.limits.concurrency = count;
            draft.note("probe.concurrency", field.origin());
        }
        let mut general = Self {
            background: reader.get("background_health_checks"),
            shared: reader.get("use_shared_health_check").is_some_and(|field| field.truth()),
            ..Self::default()
        };
        general.both(reader, draft);
        general
    }

    /// The keys that may stand in either section.
    fn both(&mut self, reader: Reader<'a>, draft: &mut Draft) {
        if let Some(field) = reader.get("enable_health_check_routing") {
            draft.params.probe_routing = field.truth();
            draft.note("probe.routing", field.origin());
            self.routing_field = Some(field);
        }
        if let Some(field) = reader.get("health_check_staleness_threshold")
            && let Some(span) = staleness(field)
        {
            draft.params.stale_after = span;
            draft.note("stale_after", field.origin());
        }
        if let Some(field) = reader.get("health_check_ignore_transient_errors") {
            draft.params.ignore_transient_probes = field.truth();
            draft.note("ignore_transient_probes", field.origin());
        }
        if let Some(field) = reader.get("background_health_check_model_groups") {
            self.groups = model_groups(field);
            self.groups_field = Some(field);
        }
    }
}

/// Cooldown keys of `router_settings`.
#[derive(Debug)]
pub(crate) struct Router;

impl Router {
    /// `router_settings` into the global draft; keys that may stand under `general_settings` override it.
    pub(crate) fn apply<'a>(reader: Option<Reader<'a>>, general: &mut General<'a>, draft: &mut Draft) {
        let Some(reader) = reader else { return };
        misplaced(reader);
        general.both(reader, draft);
        if let Some(field) = reader.get("cooldown_time")
            && let Some(time) = cooldown(field)
        {
            if field.is_zero() {
                field.report.add(
                    field
                        .warning(codes::COOLDOWN_ZERO, "a cooldown_time of 0 turns cooldowns off here")
                        .hint("LiteLLM reads 0 as its default of 5 seconds; write 5 to keep that, -1 to turn it off in both"),
                );
            }
            draft.cooldown = Some(Cooldown { time, own: false });
            draft.note("cooldown_time", field.origin());
        }
        if let Some(field) = reader.get("allowed_fails")
            && let Some(count) = field.count32(0)
        {
            draft.counters().allowed_fails = Some(count);
            draft.note("allowed_fails", field.origin());
        }
        if let Some(field) = reader.get("allowed_fails_policy") {
            let policy = policy(field);
            if policy.is_some() {
                draft.counters().policy = policy;
                draft.note("allowed_fails_policy", field.origin());
            }
        }
        if let Some(field) = reader.get("disable_cooldowns")
            && field.truth()
        {
            disable_cooldowns(draft, field.origin());
        }
    }
}

fn environment(env: &Environment<'_>, draft: &mut Draft) {
    if let Some(span) = env.seconds(env::DEFAULT_HEALTH_CHECK_INTERVAL) {
        draft.probe.interval = span;
        draft.params.stale_after = span * 2;
        draft.note("interval", Origin::Env(env::DEFAULT_HEALTH_CHECK_INTERVAL.name));
        draft.note("stale_after", Origin::Env(env::DEFAULT_HEALTH_CHECK_INTERVAL.name));
    }
    if let Some(span) = env.seconds(env::HEALTH_CHECK_TIMEOUT_SECONDS) {
        draft.probe.timeout = span;
        draft.note("timeout", Origin::Env(env::HEALTH_CHECK_TIMEOUT_SECONDS.name));
    }
    if let Some(time) = env.seconds(env::DEFAULT_COOLDOWN_TIME_SECONDS) {
        draft.cooldown = Some(Cooldown { time, own: false });
        draft.note("cooldown_time", Origin::Env(env::DEFAULT_COOLDOWN_TIME_SECONDS.name));
    }
}

/// The keys of one deployment: `model_info` and `litellm_params.cooldown_time`.
pub(crate) fn deployment(info: Option<Reader<'_>>, params: Reader<'_>, draft: &mut Draft) {
    let own = params.get("cooldown_time");
    if let Some(field) = info.and_then(|info| info.get("cooldown_time")).or(own)
        && let Some(time) = cooldown(field)
    {
        draft.cooldown = Some(Cooldown { time, own: true });
        draft.note("cooldown_time", field.origin());
        draft.origins.remove("isolation.base");
    }
    let Some(info) = info else { return };
    // What goes into the probe's body is read with the rest of model_info; here only where it came from.
    for key in Section::Info.keys().filter(|key| key.name.starts_with("health_check_")) {
        if let Some(entry) = info.map.get(key.name).filter(|entry| !entry.value.is_null()) {
            draft.note(key.name, info.report.origin(entry.key));
        }
    }
    if let Some(field) = info.get("health_check_timeout")
        && let Some(span) = field.seconds().filter(|span| !span.is_zero())
    {
        draft.probe.timeout = span;
        draft.note("timeout", field.origin());
    }
    if let Some(field) = info.get("allowed_fails")
        && let Some(count) = field.count32(0)
    {
        draft.counters().deployment_allowed_fails = Some(count);
        draft.note("allowed_fails", field.origin());
    }
    if let Some(field) = info.get("allowed_fails_policy") {
        let policy = policy(field);
        if policy.is_some() {
            draft.counters().deployment_policy = policy;
            draft.note("allowed_fails_policy", field.origin());
        }
    }
}

/// `disable_cooldowns`: traffic takes nothing out; probes still may.
fn disable_cooldowns(draft: &mut Draft, origin: Origin) {
    draft.note("disable_cooldowns", origin);
    if draft.params.profile == Profile::Litellm {
        draft.counters().disable_cooldowns = true;
        return;
    }
    draft.params.consecutive_failures = 0;
    draft.params.window.min_requests = 0;
    for key in ["consecutive_failures", "window.min_requests"] {
        draft.note(key, Origin::Derived("disable_cooldowns"));
    }
}

/// `health_check_interval`: anything that says a positive number of seconds.
fn interval(field: Field<'_>) -> Option<Duration> {
    let scalar = field.value.as_scalar();
    let (seconds, exact) = match scalar.map(|scalar| scalar.value) {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a setting are few")]
        Some(Value::Int(number)) => (Some(number as f64), true),
        Some(Value::Float(number)) => (Some(number), false),
        Some(Value::Str) => (scalar.and_then(|scalar| scalar.text.trim().parse().ok()), false),
        Some(Value::Null | Value::Bool(_) | Value::Date) | None => (None, false),
    };
    let span =
        seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()).filter(|span| !span.is_zero());
    let Some(span) = span else {
        let message = format!("{} must be a number of seconds above 0, not {}", field.name, field.shown());
        field.report.add(
            field
                .error(codes::BAD_INTERVAL, message)
                .hint("to turn background health checks off, write background_health_checks: false"),
        );
        return None;
    };
    if !exact {
        let shown = text::duration(span);
        let message = format!(
            "{} is {}, not a whole number; it is read as {shown}",
            field.name,
            field.value.describe()
        );
        field.report.add(field.warning(codes::LOOSE_TYPE, message).hint(format!(
            "LiteLLM silently switches its background health checks off for such a value; write {} as a plain number",
            span.as_secs().max(1)
        )));
    }
    Some(span)
}

/// `health_check_concurrency`: unset, zero and less mean no limit of its own.
fn concurrency(field: Field<'_>) -> Option<u32> {
    let Some(number) = field.whole() else {
        field.wrong("a whole number");
        return None;
    };
    u32::try_from(number).ok().filter(|count| *count > 0).map(|count| count.min(65_535))
}

/// `health_check_staleness_threshold`: zero is not set.
fn staleness(field: Field<'_>) -> Option<Duration> {
    field.seconds().filter(|span| !span.is_zero())
}

/// `cooldown_time`: seconds; a negative number never cools.
fn cooldown(field: Field<'_>) -> Option<Duration> {
    let number = field.number()?;
    if number < 0.0 {
        return Some(Duration::ZERO);
    }
    field.seconds_of(number)
}

/// `background_health_check_model_groups`: a list of strings and nothing else.
fn model_groups(field: Field<'_>) -> Option<Vec<String>> {
    let wrong = |field: Field<'_>| {
        let message = format!("{} must be a list of model group names, not {}", field.name, field.shown());
        field.report.add(
            field
                .error(codes::BAD_MODEL_GROUPS, message)
                .hint("write [\"my-group\"], or [] to probe nothing"),
        );
    };
    let Some(items) = field.value.as_seq() else {
        wrong(field);
        return None;
    };
    for item in items.iter().filter(|item| item.as_str().is_none()) {
        wrong(field.item(item));
    }
    Some(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
}

/// `allowed_fails_policy`; an empty one is none.
fn policy(field: Field<'_>) -> Option<AllowedFails> {
    let map = field.map()?;
    let mut policy = AllowedFails::default();
    for entry in &map.entries {
        let Some(slot) = text::policy_field(&mut policy, &entry.name) else {
            let message = format!("{} is no field of {} and has no effect", entry.name, field.name);
            let hint = did_you_mean(&entry.name, POLICY_FIELDS);
            let all = format!("the fields are {}", POLICY_FIELDS.join(", "));
            let finding = Finding::warning(codes::UNKNOWN_KEY, entry.key, message);
            field.report.add(finding.hint(all).maybe_hint(hint));
            continue;
        };
        let field = Field { name: &entry.name, key: entry.key, value: &entry.value, report: field.report };
        if !entry.value.is_null() {
            *slot = field.count32(0);
        }
    }
    if policy == AllowedFails::default() {
        let message = format!("an empty {} is no policy", field.name);
        let note = Finding::note(codes::EMPTY_POLICY, field.key, message);
        field.report.add(note.hint("LiteLLM takes it for one, and then ignores failed probes when routing"));
        return None;
    }
    Some(policy)
}

/// Keys that LiteLLM refuses under `router_settings`.
fn misplaced(reader: Reader<'_>) {
    for name in ["health_check_interval", "health_check_concurrency"] {
        if let Some(entry) = reader.map.get(name) {
            let message = format!("{name} cannot stand under router_settings");
            reader.report.add(
                Finding::error(codes::MISPLACED_KEY, entry.key, message)
                    .hint("move it to general_settings; LiteLLM does not start with it here"),
            );
        }
    }
}
