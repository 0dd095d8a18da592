//! Every effective health value with where it came from, as rows.
//!
//! Globally every value is listed. For a group or a deployment only what is not the global value from the global
//! place: what somebody decided for it, and what is known of its model.

use std::fmt::Write as _;

use haleway_providers::catalogue::CatalogueRow;
use haleway_providers::{Mode, ModeOrigin};
use serde_json::Value as Json;

use crate::lower::health::fields::{self, KEYS, Reach};
use crate::lower::health::{Draft, text};
use crate::typed::{Budget, Config, Model, Origins};
use crate::{Origin, env};

/// One effective value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainRow {
    /// `global`, `group NAME` or `deployment ID`.
    pub scope: String,
    /// The key: a name below `haleway.health`, or LiteLLM's.
    pub key: String,
    /// The value, as a person would write it.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Every effective health value, global ones first, then groups and deployments in the order of the file.
pub fn explain(config: &Config) -> Vec<ExplainRow> {
    let own = &config.haleway;
    let profile = own.profile.name();
    let global = Draft {
        params: own.health.clone(),
        probe: own.probe,
        panic: own.panic,
        limits: own.limits,
        budget: Budget { usd_per_day: own.limits.total_usd_per_day, ..own.budget },
        statuses: own.statuses.clone(),
        timeouts: own.timeouts,
        own_policy: false,
        cooldown: None,
        origins: own.origins.clone(),
    };
    let mut rows = switches(config);
    rows.extend(values("global", &global, profile, Reach::Global));
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    let all = rows.clone();
    let differs = |row: &ExplainRow| {
        !all.iter()
            .any(|global| global.key == row.key && global.value == row.value && global.origin == row.origin)
    };
    for (name, panic) in &own.group_panic {
        let origins = own.group_origins.get(name).cloned().unwrap_or_default();
        let draft = Draft { panic: *panic, origins, ..global.clone() };
        let rows_of_group = values(&format!("group {name}"), &draft, profile, Reach::Group);
        rows.extend(rows_of_group.into_iter().filter(|row| {
            fields::find(&row.key).is_some_and(|key| key.reach == Reach::Group) && differs(row)
        }));
    }
    for model in &config.models {
        rows.extend(deployment(config, model, &global).into_iter().filter(&differs));
    }
    rows
}

/// Settings that are no numbers of the machine.
fn switches(config: &Config) -> Vec<ExplainRow> {
    let own = &config.haleway;
    let origins = &own.origins;
    let row = |key: &str, value: String, origin: Origin| ExplainRow {
        scope: "global".to_owned(),
        key: key.to_owned(),
        value,
        origin,
    };
    let origin = |key: &str| origins.get(key).cloned().unwrap_or_default();
    let environment = |key: &str, value: Option<String>, variable: env::Variable| {
        let origin = if value.is_some() { Origin::Env(variable.name) } else { Origin::Default };
        row(key, value.unwrap_or_else(|| "none".to_owned()), origin)
    };
    let body = &own.probe_body;
    let cap = |cap: Option<u64>| cap.map(|cap| cap.to_string());
    vec![
        row("catalogue", format!("{} models", own.catalogue.len()), origin("catalogue")),
        environment("probe.prompt", body.prompt.clone(), env::DEFAULT_HEALTH_CHECK_PROMPT),
        environment("probe.max_tokens", cap(body.env_max_tokens), env::BACKGROUND_HEALTH_CHECK_MAX_TOKENS),
        environment(
            "probe.max_tokens_reasoning",
            cap(body.env_max_tokens_reasoning),
            env::BACKGROUND_HEALTH_CHECK_MAX_TOKENS_REASONING,
        ),
        row(
            "background_health_checks",
            config.general.background_health_checks.to_string(),
            origin("background_health_checks"),
        ),
        row("profile", own.profile.name().to_owned(), origin("profile")),
        row("retry.reserve", own.calls.retry_reserve.to_string(), origin("retry.reserve")),
        row("retry.share", own.calls.retry_share.to_string(), origin("retry.share")),
        row("shared", own.fleet.shared.to_string(), origin("shared")),
        row("shared.lock_ttl", text::duration(own.fleet.lock_ttl), origin("shared.lock_ttl")),
        row("shared.ttl", text::duration(own.fleet.ttl), origin("shared.ttl")),
        row("stream.resume", (own.calls.resumptions > 0).to_string(), origin("stream.resume")),
        row("stream.resumptions", own.calls.resumptions.to_string(), origin("stream.resumptions")),
        row("trace", own.calls.trace.name().to_owned(), origin("trace")),
    ]
}

fn deployment(config: &Config, model: &Model, global: &Draft) -> Vec<ExplainRow> {
    let scope = format!("deployment {}", model.id);
    let draft = Draft {
        params: model.health.clone(),
        probe: model.probe_as(mode_of(model)).unwrap_or(global.probe),
        budget: model.budget,
        statuses: model.statuses.clone(),
        timeouts: model.timeouts,
        origins: model.origins.clone(),
        ..global.clone()
    };
    let mut rows = values(&scope, &draft, config.haleway.profile.name(), Reach::Deployment);
    if draft.probe.policy != model.probe.map_or(draft.probe.policy, |probe| probe.policy) {
        let derived = rows.iter_mut().find(|row| row.key == "probe.policy");
        if let Some(row) = derived {
            row.origin = Origin::Derived("a costly mode");
        }
    }
    rows.extend(known(&scope, model));
    for (key, origin) in model.origins.iter().filter(|(key, _)| key.starts_with("health_check_")) {
        if let Some(value) = model.info.shown.get(*key) {
            rows.push(ExplainRow {
                scope: scope.clone(),
                key: (*key).to_owned(),
                value: shown(value),
                origin: origin.clone(),
            });
        }
    }
    if model.budget.usd_per_day.is_none() {
        // What is said of everything is a cap on the sum.
        rows.retain(|row| row.key != "budget.usd_per_day");
    }
    if model.probe.is_none() {
        rows.retain(|row| !is_probe_key(&row.key));
    }
    if let Some(why) = model.skip_reason.filter(|_| config.general.background_health_checks) {
        let origin = Origin::Derived(why);
        rows.push(ExplainRow { scope, key: "probed".to_owned(), value: "false".to_owned(), origin });
    }
    rows.sort_by(|a, b| a.key.cmp(&b.key));
    rows
}

/// What a deployment serves, as far as the file alone says it.
fn mode_of(model: &Model) -> Mode {
    haleway_providers::mode_of(&model.source(&|_| None, &|_| None)).map_or(Mode::Chat, |(mode, _)| mode)
}

/// What the deployment serves, its limit and its prices: by its entry, else by the catalogue.
fn known(scope: &str, model: &Model) -> Vec<ExplainRow> {
    let source = model.source(&|_| None, &|_| None);
    let written = |key: &str| model.origins.get(key).cloned();
    let row = |key: &str, value: String, origin: Origin| ExplainRow {
        scope: scope.to_owned(),
        key: key.to_owned(),
        value,
        origin,
    };
    let mut rows = Vec::new();
    if let Ok((mode, from)) = haleway_providers::mode_of(&source) {
        let origin = match from {
            ModeOrigin::Catalogue | ModeOrigin::CatalogueUnknown => Origin::Catalogue,
            ModeOrigin::Default => Origin::Default,
            ModeOrigin::ModelString | ModeOrigin::Provider | ModeOrigin::Name => {
                Origin::Derived(from.as_str())
            }
            ModeOrigin::Configured | ModeOrigin::ConfiguredUnknown => written("mode").unwrap_or_default(),
        };
        rows.push(row("mode", mode.to_string(), origin));
    }
    let listed = haleway_providers::known_of(&source);
    let facts = listed.as_ref().map(CatalogueRow::facts).unwrap_or_default();
    if let Some(limit) = model.info.max_input_tokens.or(facts.max_input_tokens) {
        let origin = written("max_input_tokens").unwrap_or(Origin::Catalogue);
        rows.push(row("max_input_tokens", limit.to_string(), origin));
    }
    let prices = facts.prices.overridden(&model.prices);
    rows.extend(prices.known().map(|(kind, price)| {
        let origin = written(kind.key()).unwrap_or(Origin::Catalogue);
        row(kind.key(), price.to_string(), origin)
    }));
    rows
}

/// A value of `model_info`; of a mapping the names only, since it may hold secrets.
fn shown(value: &Json) -> String {
    match value {
        Json::Object(map) => {
            format!("{{{}}}", map.keys().map(String::as_str).collect::<Vec<_>>().join(", "))
        }
        Json::String(text) => text.clone(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => value.to_string(),
    }
}

fn is_probe_key(key: &str) -> bool {
    matches!(key, "interval" | "idle_interval" | "suspect_interval" | "timeout") || key.starts_with("probe.")
}

/// The rows of a draft: keys that may stand in `scope`.
fn values(scope: &str, draft: &Draft, profile: &'static str, reach: Reach) -> Vec<ExplainRow> {
    let mut draft = draft.clone();
    let origins: Origins = draft.origins.clone();
    let origin = |key: &str| origins.get(key).cloned().unwrap_or(Origin::Profile(profile));
    let row = |key: &str, value: String| ExplainRow {
        scope: scope.to_owned(),
        key: key.to_owned(),
        value,
        origin: origin(key),
    };
    let counters = draft.params.litellm;
    let keys = KEYS.iter().filter(|key| key.reach >= reach);
    let mut rows: Vec<ExplainRow> =
        keys.map(|key| row(key.name, fields::show(key.slot, &mut draft))).collect();
    if let Some(counters) = counters {
        rows.extend(fields::show_litellm(&counters).into_iter().map(|(key, value)| row(key, value)));
    }
    rows
}

/// Rows as an aligned table, one heading per scope.
pub fn render_rows(rows: &[ExplainRow]) -> String {
    let width =
        |get: fn(&ExplainRow) -> &str| rows.iter().map(|row| get(row).chars().count()).max().unwrap_or(0);
    let (keys, values) = (width(|row| &row.key), width(|row| &row.value));
    let mut text = String::new();
    let mut scope = None;
    for row in rows {
        if scope != Some(&row.scope) {
            let gap = if scope.is_none() { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _infallible = writeln!(text, "{gap}{}", row.scope);
            scope = Some(&row.scope);
        }
        let _infallible = writeln!(text, "  {:keys$}  {:values$}  {}", row.key, row.value, row.origin);
    }
    text
}
