//! What would be sent, without sending it: request, pace and price of every deployment's probe, and a day of it.
//!
//! A day is counted as one without traffic, which is the dearest one while everything is in rotation.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use haleway_config::is_secret_key;
use haleway_health::{ProbeDepth, ProbeParams, ProbePolicy};
use haleway_providers::catalogue::Usd;
use haleway_providers::classify::redact;
use haleway_providers::{Call, Probe, ProbeMemory, Target};
use haleway_server::{Deployment, Gateway};
use http::Uri;
use serde::Serialize;
use serde_json::Value;

use super::shown::{dollars, json};

const DAY: u64 = 24 * 60 * 60;

/// A request that would be sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Request {
    method: String,
    url: String,
    /// How the credential is presented, never the credential.
    auth: String,
    /// JSON with what may be secret left out; a sentence for other bodies; `null` for none.
    body: Value,
}

/// The plan of one deployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Plan {
    id: String,
    model_group: String,
    mode: &'static str,
    mode_origin: &'static str,
    /// Why nothing is sent in the background; `null` when something is.
    not_probed: Option<String>,
    policy: &'static str,
    depth: &'static str,
    /// What is sent while it is in rotation: `free`, `generation` or `none`.
    rung: &'static str,
    /// Seconds between two probes while in rotation and without traffic; `null` when none is sent.
    interval_seconds: Option<f64>,
    /// The real call.
    probe: Option<Request>,
    /// The call that costs nothing.
    free_call: Option<Request>,
    /// Estimated price of one real probe; `null` when it is not known.
    price_per_probe_usd: Option<Usd>,
    /// Probes of a day in rotation and without traffic.
    probes_per_day: u64,
    /// Their price; `null` when it is not known.
    price_per_day_usd: Option<Usd>,
}

/// The plans of all, and their sums.
#[derive(Debug, Serialize)]
pub(super) struct Plans {
    deployments: Vec<Plan>,
    probes_per_day: u64,
    /// The sum of the prices that are known, within the budget of all.
    price_per_day_usd: Usd,
    /// Deployments whose price is not known.
    unpriced: usize,
    /// What LiteLLM would send with background health checks on: every pod probes everything.
    litellm: Litellm,
}

#[derive(Debug, Serialize)]
struct Litellm {
    pods: u32,
    interval_seconds: f64,
    probes_per_day: u64,
    price_per_day_usd: Usd,
}

impl Plans {
    /// The plans of `chosen`, beside LiteLLM on `pods` pods.
    pub(super) fn of(gateway: &Gateway, chosen: &[Arc<Deployment>], pods: u32) -> Self {
        let config = &gateway.live.load_full().config;
        let deployments: Vec<Plan> = chosen.iter().map(|deployment| Plan::of(deployment)).collect();
        let interval = config.general.health_check_interval;
        let each = per_day(interval) * u64::from(pods.max(1));
        let paid = |plan: &&Plan| plan.rung == "generation";
        let sum: Usd = deployments.iter().filter_map(|plan| plan.price_per_day_usd).sum();
        let cap = config.haleway.limits.total_usd_per_day;
        Self {
            probes_per_day: deployments.iter().map(|plan| plan.probes_per_day).sum(),
            price_per_day_usd: cap.map_or(sum, |cap| sum.min(cap)),
            unpriced: deployments.iter().filter(paid).filter(|plan| plan.price_per_day_usd.is_none()).count(),
            litellm: Litellm {
                pods: pods.max(1),
                interval_seconds: interval.as_secs_f64(),
                probes_per_day: each * deployments.len() as u64,
                price_per_day_usd: deployments
                    .iter()
                    .filter_map(|plan| plan.price_per_probe_usd)
                    .map(|price| price.times(each))
                    .sum(),
            },
            deployments,
        }
    }

    /// As JSON.
    pub(super) fn json(&self) -> String {
        json(self)
    }

    /// As text for people.
    pub(super) fn render(&self) -> String {
        let mut text = String::new();
        for plan in &self.deployments {
            plan.render(&mut text);
        }
        let unpriced = if self.unpriced > 0 {
            format!("; the price of {} is not known", self.unpriced)
        } else {
            String::new()
        };
        let litellm = &self.litellm;
        let pods = if litellm.pods == 1 { "one pod".to_owned() } else { format!("{} pods", litellm.pods) };
        // A String takes every write.
        let _always = write!(
            text,
            "nothing was sent. A day in rotation without traffic: {} probes, {}{unpriced}\n\
             LiteLLM on {pods} with an interval of {} s: {} probes, {}\n",
            self.probes_per_day,
            dollars(Some(self.price_per_day_usd)),
            litellm.interval_seconds,
            litellm.probes_per_day,
            dollars(Some(litellm.price_per_day_usd)),
        );
        text
    }
}

impl Plan {
    fn of(deployment: &Deployment) -> Self {
        let (model, target) = (&deployment.model, &deployment.target);
        let params = model.probe_params_as(target.mode);
        let real = target.probe(target.mode, &model.info.probe, &ProbeMemory::default(), 0);
        let free = target.free_probe().ok();
        let price = real.as_ref().ok().and_then(|_| deployment.probe_price());
        let not_probed =
            model.skip_reason.map(str::to_owned).or_else(|| match (&real, params.depth, &free) {
                (_, ProbeDepth::Free, None) => Some("no_free_call".to_owned()),
                (Err(cannot), ProbeDepth::Auto | ProbeDepth::Generation, _) => {
                    Some(format!("{}: {}", cannot.code, cannot.message))
                }
                (_, ProbeDepth::Auto | ProbeDepth::Generation | ProbeDepth::Free, _) => None,
            });
        let rung = rung(&params, target.mode.is_costly(), free.is_some(), not_probed.is_some());
        let interval = (rung != "none").then(|| pace(&params));
        let mut probes_per_day = interval.map_or(0, per_day);
        if let Some(cap) = model.budget.probes_per_day.filter(|_| rung == "generation") {
            probes_per_day = probes_per_day.min(u64::from(cap));
        }
        let day = if rung == "generation" {
            price.map(|price| price.times(probes_per_day))
        } else {
            Some(Usd::ZERO)
        };
        let cap = model.budget.usd_per_day;
        Self {
            id: deployment.id().to_string(),
            model_group: model.name.to_string(),
            mode: target.mode.as_str(),
            mode_origin: target.mode_origin.as_str(),
            not_probed,
            policy: policy(params.policy),
            depth: depth(params.depth),
            rung,
            interval_seconds: interval.map(|interval| interval.as_secs_f64()),
            probe: real.ok().map(|probe| Request::of(target, probe)),
            free_call: free.map(|probe| Request::of(target, probe)),
            price_per_probe_usd: price,
            probes_per_day,
            price_per_day_usd: day.map(|day| cap.map_or(day, |cap| day.min(cap))),
        }
    }

    fn render(&self, text: &mut String) {
        // A String takes every write.
        let _always = writeln!(text, "{} in group {}", self.id, self.model_group);
        let mut line = |name: &str, value: String| {
            let _always = writeln!(text, "  {name:9} {value}");
        };
        line("mode", format!("{} (from {})", self.mode, self.mode_origin));
        if let Some(probe) = &self.probe {
            probe.render("probe", &mut line);
        }
        if let Some(free) = &self.free_call {
            line("free call", format!("{} {}", free.method, free.url));
        }
        let pace = match (&self.not_probed, self.interval_seconds) {
            (Some(why), _) => format!("not in the background: {why}"),
            (None, None) => format!("{}, depth {}: nothing while in rotation", self.policy, self.depth),
            (None, Some(seconds)) => format!(
                "{}, depth {}: every {seconds} s without traffic, {}",
                self.policy,
                self.depth,
                if self.rung == "free" { "the free call" } else { "a real call" },
            ),
        };
        line("when", pace);
        line(
            "price",
            format!(
                "{} a real probe; {} probes and {} a day",
                dollars(self.price_per_probe_usd),
                self.probes_per_day,
                dollars(self.price_per_day_usd)
            ),
        );
        text.push('\n');
    }
}

impl Request {
    fn of(target: &Target, probe: Probe) -> Self {
        let call = probe.call;
        let fetched = target.credential_source.as_ref().map(|source| format!("fetched: {}", source.kind()));
        Self {
            method: call.method.to_string(),
            url: shown_url(&call.uri),
            auth: fetched.unwrap_or_else(|| call.auth_kind()),
            body: shown_body(&call),
        }
    }

    fn render(&self, name: &str, line: &mut impl FnMut(&str, String)) {
        line(name, format!("{} {}", self.method, self.url));
        line("auth", self.auth.clone());
        if !self.body.is_null() {
            line("body", self.body.to_string());
        }
    }
}

/// The URL with what may be secret in its query left out.
fn shown_url(uri: &Uri) -> String {
    let text = uri.to_string();
    let Some((path, query)) = text.split_once('?') else { return text };
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret_key(name) || matches!(name, "code" | "sig" | "signature") => {
            format!("{name}=***")
        }
        Some((name, value)) => format!("{name}={}", redact(value)),
        None => redact(pair).into_owned(),
    });
    format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"))
}

/// The body with what may be secret left out: an operator's `extra_body` may hold anything.
fn shown_body(call: &Call) -> Value {
    if call.body.is_empty() {
        return Value::Null;
    }
    match serde_json::from_slice(&call.body.to_bytes()) {
        Ok(value) => masked(value),
        Err(_) => Value::String(format!("{} bytes of a form or a file", call.body.len())),
    }
}

fn masked(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(name, value)| {
                    let value =
                        if is_secret_key(&name) { Value::String("***".to_owned()) } else { masked(value) };
                    (name, value)
                })
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(masked).collect()),
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// What is sent while the deployment is in rotation.
const fn rung(params: &ProbeParams, costly: bool, free: bool, not_probed: bool) -> &'static str {
    match (params.policy, params.depth) {
        _ if not_probed => "none",
        (ProbePolicy::Never | ProbePolicy::OnlyWhenOut, _) => "none",
        (_, ProbeDepth::Free) => "free",
        (_, ProbeDepth::Auto) if costly && free => "free",
        (ProbePolicy::Always | ProbePolicy::WhenIdle, ProbeDepth::Auto | ProbeDepth::Generation) => {
            "generation"
        }
    }
}

/// Time between two probes without traffic.
fn pace(params: &ProbeParams) -> Duration {
    if params.traffic_postpones { params.idle_interval.max(params.interval) } else { params.interval }
}

/// How often `interval` fits into a day.
fn per_day(interval: Duration) -> u64 {
    u64::try_from(Duration::from_secs(DAY).as_nanos() / interval.as_nanos().max(1)).unwrap_or(u64::MAX)
}

const fn policy(policy: ProbePolicy) -> &'static str {
    match policy {
        ProbePolicy::Always => "always",
        ProbePolicy::WhenIdle => "when_idle",
        ProbePolicy::OnlyWhenOut => "only_when_out",
        ProbePolicy::Never => "never",
    }
}

const fn depth(depth: ProbeDepth) -> &'static str {
    match depth {
        ProbeDepth::Auto => "auto",
        ProbeDepth::Free => "free",
        ProbeDepth::Generation => "generation",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_follows_policy_depth_and_cost() {
        let with = |policy, depth| ProbeParams { policy, depth, ..ProbeParams::resilient() };
        use ProbeDepth::{Auto, Free, Generation};
        use ProbePolicy::{Always, Never, OnlyWhenOut, WhenIdle};
        for (policy, depth, costly, free, wanted) in [
            (Always, Auto, false, true, "generation"),
            (WhenIdle, Auto, true, true, "free"),
            (Always, Auto, true, false, "generation"),
            (Always, Generation, true, true, "generation"),
            (Always, Free, false, true, "free"),
            (OnlyWhenOut, Auto, true, true, "none"),
            (Never, Free, false, true, "none"),
        ] {
            let found = rung(&with(policy, depth), costly, free, false);
            assert_eq!(found, wanted, "{policy:?} {depth:?} costly {costly} free {free}");
        }
        assert_eq!(rung(&with(Always, Auto), false, true, true), "none");
    }

    #[test]
    fn a_day_without_traffic_is_paced_by_the_idle_interval_where_traffic_postpones() {
        assert_eq!(per_day(pace(&ProbeParams::resilient())), 288);
        assert_eq!(
            per_day(pace(&ProbeParams { traffic_postpones: false, ..ProbeParams::resilient() })),
            1440
        );
    }

    #[test]
    fn nothing_secret_is_shown() {
        let uri: Uri = "https://h/p?api-version=1&code=abc&api_key=k1&x=sk-abc123def456ghi".parse().unwrap();
        assert_eq!(shown_url(&uri), "https://h/p?api-version=1&code=***&api_key=***&x=[redacted]");
        let body = masked(serde_json::json!({
            "max_tokens": 16, "extra": {"access_token": "abc", "list": ["sk-abc123def456ghi", "fine"]},
        }));
        assert_eq!(
            body,
            serde_json::json!({"max_tokens": 16, "extra": {"access_token": "***", "list": ["[redacted]", "fine"]}})
        );
    }
}
