//! `/health`: LiteLLM's shape, with the age and the origin of every verdict, answered from memory.
//!
//! Every deployment that the caller may see is in exactly one of four lists: healthy, unhealthy, unknown, skipped. A
//! skipped one says why (reports G08, H11). Without background checks LiteLLM probes on request; so does this page,
//! bounded in number and time, and never a deployment that is not to be probed (report B02).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use haleway_health::{ProbePolicy, Slot, Timestamp, Verdict};
use haleway_routing::Via;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Asked as Query, Detail, PageError, Shared};
use crate::build::cannot_probe;
use crate::deployment::Deployment;
use crate::gateway::{Gateway, Live};
use crate::prober::{self, Asked, OnDemand, Report};

/// Longest time that a live check of everything may take.
const LIVE_DEADLINE: Duration = Duration::from_secs(65);

#[derive(Debug, Deserialize)]
pub(super) struct HealthQuery {
    model: Option<String>,
    model_id: Option<String>,
}

impl HealthQuery {
    fn is_targeted(&self) -> bool {
        self.model_id.is_some() || self.model.as_deref().is_some_and(|model| !model.is_empty())
    }

    /// The deployments that are asked about: one by id, a group by its name or an alias, or those of a provider's model.
    fn wanted(&self, live: &Live) -> Vec<Arc<Deployment>> {
        let named = self.model.as_deref().map(|model| match live.table.resolve(model) {
            Ok(found) if found.via == Via::Alias => live.table.group_name(found.group),
            Ok(_) | Err(_) => model,
        });
        let wants = |deployment: &Deployment| match (&self.model_id, named) {
            (Some(id), _) => **deployment.id() == **id,
            (None, Some(model)) => *deployment.model.name == *model || deployment.model.params.model == model,
            (None, None) => true,
        };
        live.each().filter(|deployment| wants(deployment)).cloned().collect()
    }
}

/// `GET /health`
pub(super) async fn health(
    State(gateway): Shared,
    Query(query): Query<HealthQuery>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let live = gateway.live.load_full();
    live.keys.admit(&headers)?;
    let wanted = query.wanted(&live);
    if let (Some(id), true) = (&query.model_id, wanted.is_empty()) {
        return Ok(Detail(StatusCode::NOT_FOUND, format!("Model with ID {id} not found")).into_response());
    }
    let mut unreached = HashSet::new();
    if !live.config.general.background_health_checks || query.model_id.is_some() && !is_probed(&wanted) {
        unreached = check_now(&gateway, &live, &wanted, &query).await;
    }
    let now = gateway.clock.now();
    let mut lists = Lists::default();
    for deployment in &wanted {
        lists.add(&gateway, &live, deployment, now, unreached.contains(&deployment.slot));
    }
    let status = if query.is_targeted() && lists.healthy.is_empty() {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    };
    Ok((status, Json(lists.into_json())).into_response())
}

fn is_probed(wanted: &[Arc<Deployment>]) -> bool {
    wanted.iter().all(|deployment| deployment.model.probe.is_some())
}

/// Probes what was asked for, at most so many at once and for so long. Answers which ones time did not suffice for.
async fn check_now(
    gateway: &Arc<Gateway>,
    live: &Live,
    wanted: &[Arc<Deployment>],
    query: &HealthQuery,
) -> HashSet<Slot> {
    let named = query.model_id.is_some();
    let places =
        Arc::new(tokio::sync::Semaphore::new(live.config.haleway.limits.concurrency.max(1) as usize));
    let mut probes = tokio::task::JoinSet::new();
    let mut unreached = HashSet::new();
    for deployment in wanted {
        let info = &deployment.model.info;
        if !named
            && (info.disable_background_health_check || info.blocked || cannot_probe(deployment).is_some())
        {
            continue;
        }
        let (gateway, deployment, places) =
            (Arc::clone(gateway), Arc::clone(deployment), Arc::clone(&places));
        unreached.insert(deployment.slot);
        let asked = if named { Asked::ByName } else { Asked::ForAll };
        probes.spawn(async move {
            let _place = places.acquire_owned().await;
            let ended = prober::probe_now(&gateway, &deployment, asked).await;
            if let OnDemand::Impossible(cannot) = ended {
                tracing::info!(deployment = %deployment.id(), reason = cannot.code, "cannot be probed: {cannot}");
            }
            deployment.slot
        });
    }
    let all = async {
        while let Some(ended) = probes.join_next().await {
            if let Ok(slot) = ended {
                unreached.remove(&slot);
            }
        }
    };
    if tokio::time::timeout(LIVE_DEADLINE, all).await.is_err() {
        tracing::warn!("a live check of everything took too long; the rest keeps its last verdict");
    }
    unreached
}

/// Where each deployment goes.
#[derive(Debug, Default)]
struct Lists {
    healthy: Vec<Value>,
    unhealthy: Vec<Value>,
    unknown: Vec<Value>,
    skipped: Vec<Value>,
}

impl Lists {
    fn add(
        &mut self,
        gateway: &Gateway,
        live: &Live,
        deployment: &Deployment,
        now: Timestamp,
        unreached: bool,
    ) {
        let verdict = gateway.hub.snapshot().verdict(deployment.slot);
        let report = gateway.reports.latest(deployment.slot);
        let mut row = Map::new();
        row.insert("model_id".to_owned(), (&**deployment.id()).into());
        row.insert("model".to_owned(), deployment.model.params.model.clone().into());
        if live.config.general.health_check_details {
            details(&mut row, deployment, report.as_ref());
        }
        age(&mut row, &verdict, report.as_ref(), now);
        row.insert("state".to_owned(), verdict.state.as_str().into());
        let elsewhere = || gateway.share.as_ref()?.stopped(deployment.id());
        if let Some(cap) = gateway.ledger.account(deployment.id(), now).stopped().or_else(elsewhere) {
            // Not ill: nobody pays for its probes until midnight, so that its verdict comes from traffic.
            row.insert("probe_budget_used_up".to_owned(), cap.as_str().into());
        }
        if unreached {
            row.insert("live_check".to_owned(), "out_of_time".into());
        }
        match place(deployment, &verdict, report.as_ref()) {
            Place::Healthy => {
                inconclusive(&mut row, report.as_ref());
                self.healthy.push(row.into());
            }
            Place::Unhealthy => {
                wrong(gateway, deployment, report.as_ref(), now, &mut row);
                self.unhealthy.push(row.into());
            }
            Place::Unknown(reason) => {
                row.insert("reason".to_owned(), reason.into());
                self.unknown.push(row.into());
            }
            Place::Skipped(_) if unreached => {
                row.insert("reason".to_owned(), "live_check_out_of_time".into());
                self.unknown.push(row.into());
            }
            Place::Skipped(reason) => {
                row.insert("reason".to_owned(), reason.into());
                self.skipped.push(row.into());
            }
        }
    }

    fn into_json(self) -> Value {
        json!({
            "healthy_count": self.healthy.len(),
            "unhealthy_count": self.unhealthy.len(),
            "unknown_count": self.unknown.len(),
            "skipped_count": self.skipped.len(),
            "healthy_endpoints": self.healthy,
            "unhealthy_endpoints": self.unhealthy,
            "unknown_endpoints": self.unknown,
            "skipped_endpoints": self.skipped,
        })
    }
}

enum Place {
    Healthy,
    Unhealthy,
    Unknown(String),
    Skipped(&'static str),
}

/// One deployment, one list. The machine's verdict outranks the latest probe's; a failed probe that the machine does not
/// act on (health-check routing is off, or more failures are needed) still shows.
fn place(deployment: &Deployment, verdict: &Verdict, report: Option<&Report>) -> Place {
    let out = !verdict.state.eligible();
    let newer = |report: &Report| verdict.sent_at.is_none_or(|sent_at| sent_at <= report.sent_at);
    match report.map(|report| (report, &report.verdict)) {
        _ if out => Place::Unhealthy,
        Some((report, prober::Verdict::Unhealthy(_))) if newer(report) => Place::Unhealthy,
        Some((report, prober::Verdict::Unknown { code, message }))
            if newer(report) && verdict.sent_at.is_none() =>
        {
            Place::Unknown(if message.is_empty() { (*code).to_owned() } else { format!("{code}: {message}") })
        }
        Some((_, prober::Verdict::Healthy { .. })) => Place::Healthy,
        _ if verdict.sent_at.is_some() && verdict.state != haleway_health::State::Unknown => Place::Healthy,
        _ => match (deployment.model.skip_reason, cannot_probe(deployment)) {
            (Some(reason), _) => Place::Skipped(reason),
            (None, Some(cannot)) => Place::Unknown(format!("{}: {}", cannot.code, cannot.message)),
            (None, None) => Place::Unknown(unprobed(deployment).to_owned()),
        },
    }
}

/// Why there is no evidence about a deployment that is probed.
fn unprobed(deployment: &Deployment) -> &'static str {
    let policy = deployment.model.probe_as(deployment.target.mode).map(|probe| probe.policy);
    if policy == Some(ProbePolicy::OnlyWhenOut) { "probed_only_when_out" } else { "not_probed_yet" }
}

/// LiteLLM's allow-list, as far as there is something to show.
fn details(row: &mut Map<String, Value>, deployment: &Deployment, report: Option<&Report>) {
    let params = &deployment.model.params;
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            row.insert(name.to_owned(), value);
        }
    };
    put("api_base", Some(deployment.target.api_base.clone().into()));
    put("api_version", params.api_version.clone().map(Value::from));
    put("custom_llm_provider", params.custom_llm_provider.clone().map(Value::from));
    put("rpm", params.rpm.map(Value::from));
    put("tpm", params.tpm.map(Value::from));
    put("mode", Some(deployment.target.mode.as_str().into()));
    put("health_check_model", deployment.model.info.probe.model.clone().map(Value::from));
    let Some(report) = report else { return };
    for (name, value) in &report.headers {
        row.insert((*name).to_owned(), value.clone().into());
    }
    if let prober::Verdict::Healthy { degraded: Some(degraded) } = report.verdict {
        row.insert("degraded".to_owned(), degraded.into());
    }
}

/// How old the verdict is, and who found out how.
fn age(row: &mut Map<String, Value>, verdict: &Verdict, report: Option<&Report>, now: Timestamp) {
    // A probe that said nothing about the deployment makes no verdict younger that rests on other evidence.
    let silent = |report: &Report| matches!(report.verdict, prober::Verdict::Unknown { .. });
    let probed =
        report.filter(|report| verdict.sent_at.is_none() || !silent(report)).map(|report| report.sent_at);
    let Some(sent_at) = verdict.sent_at.max(probed) else { return };
    row.insert("checked_at".to_owned(), super::operate::rfc3339(sent_at).into());
    row.insert("age_seconds".to_owned(), (now.since(sent_at).as_millis() as f64 / 1000.0).into());
    let by_probe = probed == Some(sent_at);
    let pod = report.and_then(|report| report.by.as_deref()).filter(|_| by_probe);
    let by = pod.unwrap_or(if by_probe { "background_health_check" } else { "traffic" });
    row.insert("checked_by".to_owned(), by.into());
    if let Some(report) = report {
        row.insert("response_time_ms".to_owned(), (report.latency.as_millis() as f64).into());
    }
}

/// What the latest probe of a healthy deployment was answered with, if that said nothing about the deployment.
fn inconclusive(row: &mut Map<String, Value>, report: Option<&Report>) {
    if let Some(prober::Verdict::Unknown { code, message }) = report.map(|report| &report.verdict) {
        row.insert("last_probe".to_owned(), format!("{code}: {message}").into());
    }
}

/// What is wrong with a deployment.
fn wrong(
    gateway: &Gateway,
    deployment: &Deployment,
    report: Option<&Report>,
    now: Timestamp,
    row: &mut Map<String, Value>,
) {
    let finding = match report.map(|report| &report.verdict) {
        Some(prober::Verdict::Unhealthy(finding)) => Some(finding),
        Some(prober::Verdict::Healthy { .. } | prober::Verdict::Unknown { .. }) | None => None,
    };
    let explanation = gateway.hub.detail(deployment.slot, now).map(|detail| detail.explanation);
    let (error, status) = match finding {
        Some(finding) if finding.reason == "total" || finding.reason == "connect" => {
            ("Timeout exceeded".to_owned(), finding.status)
        }
        Some(finding) => (format!("{}: {}", finding.class, finding.message), finding.status),
        None => (explanation.clone().unwrap_or_default(), 500),
    };
    row.insert("error".to_owned(), error.into());
    row.insert("exception_status".to_owned(), if status == 0 { 500 } else { status }.into());
    row.insert("explanation".to_owned(), explanation.unwrap_or_default().into());
}

/// `GET /health/readiness/details`
pub(super) async fn readiness_details(
    State(gateway): Shared,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let live = gateway.live.load();
    if !live.config.general.public_readiness_details {
        live.keys.admit(&headers)?;
    }
    let groups = live.health_groups.len();
    Ok(Json(json!({
        "status": if gateway.shutdown.is_cancelled() { "shutting_down" } else { "healthy" },
        "db": gateway.database(),
        "cache": null,
        "litellm_version": null,
        "haleway_version": env!("CARGO_PKG_VERSION"),
        "success_callbacks": [],
        "groups": groups,
        "usable_groups": gateway.usable_groups(),
        "deployments": live.each().count(),
        "profile": live.config.haleway.profile.name(),
        "store": gateway.memory.get().map(|memory| memory.condition()),
        "fleet": crate::fleet::Status::of(&gateway).as_str(),
    }))
    .into_response())
}

/// `GET /health/backlog`
pub(super) async fn backlog(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    gateway.live.load().keys.admit(&headers)?;
    let in_flight = gateway.in_flight.load(std::sync::atomic::Ordering::Relaxed);
    Ok(Json(json!({
        "in_flight_requests": in_flight,
        "admitted_requests": in_flight,
        "queued_requests": 0,
        "rejected_requests": 0,
    }))
    .into_response())
}

/// What LiteLLM's shared results hold: the healthy and the unhealthy of all deployments.
pub(crate) fn endpoints(gateway: &Gateway, now: Timestamp) -> (Vec<Value>, Vec<Value>) {
    let live = gateway.live.load_full();
    let mut lists = Lists::default();
    for deployment in live.each() {
        lists.add(gateway, &live, deployment, now, false);
    }
    (lists.healthy, lists.unhealthy)
}
