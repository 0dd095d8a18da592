//! The gateway's own routes: every deployment's verdict with its evidence, why a group is as it is, and an operator's
//! hand on a deployment.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use haleway_health::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Asked, Detail, PageError, Shared};
use crate::deployment::Deployment;
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::memory::{Given, operator_of};
use crate::prober::ledger::ProbeCost;
use crate::prober::{self, OnDemand};
use crate::reload::Rejected;

/// `GET /haleway/deployments`
pub(super) async fn deployments(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    let live = gateway.live.load_full();
    live.keys.admit(&headers)?;
    let now = gateway.clock.now();
    let rows: Vec<Shown> = gateway
        .hub
        .details(now)
        .into_iter()
        .filter_map(|detail| {
            // One that a reload has just taken away is known for a moment longer.
            let deployment = live.find(&detail.id)?;
            Some(Shown::new(&gateway, Some(&**deployment), detail, now))
        })
        .collect();
    let caps = live.total_caps();
    let total = ProbeCost::of_all(&gateway.ledger.total(now), &caps, now);
    Ok(Json(json!({"deployments": rows, "probe_cost_today": total})).into_response())
}

/// One deployment as the pages show it: its health, and what its probes used up.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    health: haleway_health::Detail,
    /// What its probes cost on this UTC day.
    price_today_usd: f64,
    probe_cost: Option<ProbeCost>,
    /// The same of all processes together, where a budget is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    fleet_cost: Option<Value>,
    /// How its credential stands, when that is fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    credential: Option<Value>,
}

impl Shown {
    fn new(
        gateway: &Gateway,
        deployment: Option<&Deployment>,
        health: haleway_health::Detail,
        now: Timestamp,
    ) -> Self {
        let cost = deployment.map(|deployment| {
            let caps = gateway.live.load().probe_caps(deployment);
            ProbeCost::of_deployment(&gateway.ledger.account(deployment.id(), now), &caps, now)
        });
        Self {
            health,
            price_today_usd: cost.as_ref().map_or(0.0, |cost| cost.sum.usd),
            probe_cost: cost,
            fleet_cost: deployment.and_then(|deployment| gateway.share.as_ref()?.spent_on(deployment.id())),
            credential: deployment.and_then(credential),
        }
    }

    /// The row of `deployment`.
    fn of(gateway: &Gateway, deployment: &Deployment, now: Timestamp) -> Option<Self> {
        let detail = gateway.hub.detail(deployment.slot, now)?;
        Some(Self::new(gateway, Some(deployment), detail, now))
    }
}

/// How the credential of a deployment stands, when it is fetched.
fn credential(deployment: &Deployment) -> Option<Value> {
    let state = deployment.credential.as_ref()?.state();
    Some(json!({
        "kind": state.kind,
        "available": state.available,
        "expires_in_seconds": state.expires_in.map(|left| left.as_secs()),
        "error": state.error.as_deref(),
    }))
}

#[derive(Debug, Deserialize)]
pub(super) struct ExplainQuery {
    model: String,
}

/// `GET /haleway/explain?model=`
pub(super) async fn explain(
    State(gateway): Shared,
    Asked(query): Asked<ExplainQuery>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let live = gateway.live.load_full();
    live.keys.admit(&headers)?;
    let Ok(found) = live.table.resolve(&query.model) else {
        return Ok(
            Detail(StatusCode::NOT_FOUND, format!("no model answers to {:?}", query.model)).into_response()
        );
    };
    let now = gateway.clock.now();
    let snapshot = gateway.hub.snapshot();
    let group = live.health_groups.get(found.group.0 as usize).and_then(|ix| snapshot.group(*ix));
    let deployments: Vec<_> = live
        .table
        .slots(found.group)
        .filter_map(|slot| {
            let detail = gateway.hub.detail(slot, now)?;
            let entry = snapshot.entry(slot);
            Some(json!({
                "id": detail.id,
                "state": detail.state,
                "usable": entry.rank.as_str(),
                "only_by_rule_of_group": entry.spared(),
                "weight": detail.weight,
                "cause": detail.cause,
                "credential": live.deployment(slot).and_then(|deployment| credential(deployment)),
                "until": detail.until,
                "explanation": detail.explanation,
            }))
        })
        .collect();
    Ok(Json(json!({
        "model": query.model,
        "model_group": live.table.group_name(found.group),
        "strategy": live.table.settings().strategy.as_str(),
        "panic": group.map(|group| group.panic.as_str()),
        "panic_reason": group.map(|group| group.reason.as_str()),
        "soonest_return": group.and_then(|group| group.soonest_return).map(rfc3339),
        "has_fallback": live.table.has_fallback(found.group),
        "deployments": deployments,
    }))
    .into_response())
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CommandBody {
    /// How long the operator's state lasts, in seconds; for good when absent.
    seconds: Option<f64>,
    reason: Option<String>,
}

/// `POST /haleway/reload`: 200 with what changed, 422 with the findings that keep the configuration as it is.
pub(super) async fn reload(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    gateway.live.load().keys.admit_admin(&headers)?;
    Ok(match gateway.reload().await {
        Ok(reloaded) => Json(reloaded).into_response(),
        Err(Rejected::Findings(findings)) => {
            (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({"diagnostics": findings}))).into_response()
        }
        Err(no_origin @ Rejected::NoOrigin) => {
            Detail(StatusCode::CONFLICT, no_origin.to_string()).into_response()
        }
        Err(ending @ Rejected::Ending) => {
            Detail(StatusCode::SERVICE_UNAVAILABLE, ending.to_string()).into_response()
        }
    })
}

/// `POST /haleway/deployments/{id}/{command}`
pub(super) async fn command(
    State(gateway): Shared,
    Path((id, command)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    let live = gateway.live.load_full();
    live.keys.admit_admin(&headers)?;
    let Some(deployment) = live.find(&id) else {
        return Ok(Detail(StatusCode::NOT_FOUND, format!("Model with ID {id} not found")).into_response());
    };
    if command == "probe" {
        return Ok(probe(&gateway, deployment).await);
    }
    let Some(operator) = operator_of(&command) else {
        let known = "drain, disable, enable, force-up, reset, probe";
        return Ok(Detail(StatusCode::NOT_FOUND, format!("no command {command:?}; there are {known}"))
            .into_response());
    };
    let body: CommandBody = if body.is_empty() {
        CommandBody::default()
    } else {
        serde_json::from_slice(&body)
            .map_err(|error| ApiError::invalid(format!("Invalid JSON payload: {error}"), None))?
    };
    let now = gateway.clock.now();
    let span = body.seconds.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .ok()
            .filter(|span| !span.is_zero())
            .ok_or_else(|| ApiError::invalid("'seconds' must be positive.", Some("seconds")))
    });
    let until = span.transpose()?.map(|span| now + span);
    let reason = body.reason.as_deref().unwrap_or("");
    let unwritten = gateway.memory.get().map(|memory| {
        let (deployment, origin) = (deployment.id(), origin(&headers));
        memory.order(&Given { deployment, command: &command, at: now, until, reason, origin })
    });
    gateway.hub.operator(now, deployment.slot, operator, until, reason);
    gateway.wake_prober.notify_one();
    tracing::info!(deployment = %deployment.id(), command, "operator");
    let stored = match unwritten {
        Some(unwritten) => Some(unwritten.write().await),
        None => None,
    };
    let mut answer = json!({"deployment": Shown::of(&gateway, deployment, now)});
    if let (Some(stored), Some(answer)) = (stored, answer.as_object_mut()) {
        answer.insert("stored".to_owned(), stored.into());
    }
    Ok(Json(answer).into_response())
}

/// Where a request came from, as the proxy in front of the gateway says; empty when none does.
pub(super) fn origin(headers: &HeaderMap) -> &str {
    headers.get("x-forwarded-for").and_then(|value| value.to_str().ok()).unwrap_or("")
}

async fn probe(gateway: &Arc<Gateway>, deployment: &Arc<Deployment>) -> Response {
    let ended = prober::probe_now(gateway, deployment, prober::Asked::ByName).await;
    let word = match &ended {
        OnDemand::Probed => "probed",
        OnDemand::TooSoon => "too_soon",
        OnDemand::Impossible(_) => "impossible",
        OnDemand::OverBudget(_) => "over_budget",
        OnDemand::Policy(policy) => policy,
    };
    let reason = match ended {
        OnDemand::Impossible(cannot) => Some(cannot.message),
        OnDemand::OverBudget(until) => {
            Some(format!("the budget for probes is used up until {}", rfc3339(until)))
        }
        OnDemand::Probed | OnDemand::TooSoon | OnDemand::Policy(_) => None,
    };
    let detail = Shown::of(gateway, deployment, gateway.clock.now());
    Json(json!({"probe": word, "reason": reason, "deployment": detail})).into_response()
}

/// A timestamp as RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    i64::try_from(at.as_millis())
        .ok()
        .and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok())
        .map_or_else(String::new, |at| format!("{at:.3}"))
}
