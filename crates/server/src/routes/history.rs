//! What was remembered: LiteLLM's two pages over its table, and incidents and the audit beside them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use haleway_health::Timestamp;
use haleway_store::{Check, Details, HistoryQuery, Incident, IncidentQuery, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Asked, Detail, PageError, Shared, rfc3339};
use crate::gateway::Gateway;
use crate::memory::Memory;

/// Longest time that a page waits for the database.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST: u32 = 1_000;

#[derive(Debug, Deserialize)]
pub(super) struct Page {
    model: Option<String>,
    status_filter: Option<String>,
    #[serde(default = "hundred")]
    limit: u32,
    #[serde(default)]
    offset: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Incidents {
    model: Option<String>,
    #[serde(default)]
    open: bool,
    #[serde(default = "hundred")]
    limit: u32,
}

#[derive(Debug, Deserialize)]
pub(super) struct Lines {
    #[serde(default = "hundred")]
    limit: u32,
}

const fn hundred() -> u32 {
    100
}

/// `GET /health/history`
pub(super) async fn history(
    State(gateway): Shared,
    headers: HeaderMap,
    Asked(page): Asked<Page>,
) -> Result<Response, PageError> {
    gateway.live.load().keys.admit(&headers)?;
    let (limit, offset) = (page.limit, page.offset);
    let query = HistoryQuery { model: page.model, status: page.status_filter, limit, offset };
    Ok(answer(
        &gateway,
        Some(limit),
        |memory| async move { memory.store().history(&query).await },
        |found| {
            let health_checks = found.checks.iter().map(Row::of).collect();
            json_of(&History { health_checks, total_records: found.total, limit, offset })
        },
    )
    .await)
}

/// `GET /health/latest`
pub(super) async fn latest(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    gateway.live.load().keys.admit(&headers)?;
    Ok(answer(
        &gateway,
        None,
        |memory| async move { memory.store().latest().await },
        |checks| {
            let by_id = |check: &Check| check.model_id.as_deref().unwrap_or(&check.model_name).to_owned();
            let rows: BTreeMap<_, _> = checks.iter().map(|check| (by_id(check), Row::of(check))).collect();
            json_of(&Latest { total_models: rows.len(), latest_health_checks: rows })
        },
    )
    .await)
}

/// `GET /haleway/incidents`
pub(super) async fn incidents(
    State(gateway): Shared,
    headers: HeaderMap,
    Asked(asked): Asked<Incidents>,
) -> Result<Response, PageError> {
    gateway.live.load().keys.admit(&headers)?;
    let limit = asked.limit;
    let query = IncidentQuery { model: asked.model, open_only: asked.open, limit };
    let now = gateway.clock.now();
    Ok(answer(
        &gateway,
        Some(limit),
        |memory| async move { memory.store().incidents(&query).await },
        |found| {
            let incidents: Vec<_> = found.iter().map(|incident| shown(incident, now)).collect();
            json_of(&json!({"incidents": incidents}))
        },
    )
    .await)
}

/// `GET /haleway/audit`
pub(super) async fn audit(
    State(gateway): Shared,
    headers: HeaderMap,
    Asked(lines): Asked<Lines>,
) -> Result<Response, PageError> {
    gateway.live.load().keys.admit_admin(&headers)?;
    let limit = lines.limit;
    Ok(answer(
        &gateway,
        Some(limit),
        |memory| async move { memory.store().audit(limit).await },
        |rows| {
            let row = |row: &haleway_store::AuditRow| {
                json!({
                    "at": time(row.at),
                    "actor": row.actor,
                    "origin": row.origin,
                    "action": row.action,
                    "subject": row.subject,
                    "reason": row.reason,
                    "until": row.until.map(time),
                })
            };
            json_of(&json!({"audit": rows.iter().map(row).collect::<Vec<_>>()}))
        },
    )
    .await)
}

/// Asks the memory, and shows what it says.
async fn answer<T, F>(
    gateway: &Gateway,
    limit: Option<u32>,
    ask: impl FnOnce(Arc<Memory>) -> F,
    show: impl FnOnce(T) -> Response,
) -> Response
where
    F: Future<Output = Result<T, StoreError>>,
{
    // LiteLLM's words.
    let Some(memory) = gateway.memory.get() else {
        return Detail(StatusCode::INTERNAL_SERVER_ERROR, "Database not initialized".to_owned())
            .into_response();
    };
    if limit.is_some_and(|limit| !(1..=MOST).contains(&limit)) {
        return Detail(StatusCode::UNPROCESSABLE_ENTITY, format!("limit must be from 1 to {MOST}"))
            .into_response();
    }
    match timeout(PATIENCE, ask(Arc::clone(memory))).await {
        Ok(Ok(found)) => show(found),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a page cannot be read from the store");
            unavailable()
        }
        Err(_) => unavailable(),
    }
}

fn unavailable() -> Response {
    let message = "The store does not answer; health itself is at /haleway/deployments";
    Detail(StatusCode::SERVICE_UNAVAILABLE, message.to_owned()).into_response()
}

fn time(millis: u64) -> String {
    rfc3339(Timestamp::from_millis(millis))
}

/// A page as it is sent: ten thousand rows are written out once, without a tree of values in between.
fn json_of(page: &impl Serialize) -> Response {
    Json(page).into_response()
}

#[derive(Serialize)]
struct History<'a> {
    health_checks: Vec<Row<'a>>,
    total_records: u64,
    limit: u32,
    offset: u64,
}

#[derive(Serialize)]
struct Latest<'a> {
    total_models: usize,
    latest_health_checks: BTreeMap<String, Row<'a>>,
}

/// A row in LiteLLM's shape.
#[derive(Serialize)]
struct Row<'a> {
    health_check_id: &'a str,
    model_name: &'a str,
    model_id: Option<&'a str>,
    status: &'static str,
    healthy_count: u8,
    unhealthy_count: u8,
    error_message: Option<&'a str>,
    response_time_ms: Option<f64>,
    details: Option<&'a Details>,
    checked_by: Option<&'a str>,
    checked_at: String,
    created_at: String,
}

impl<'a> Row<'a> {
    fn of(check: &'a Check) -> Self {
        Self {
            health_check_id: &check.health_check_id,
            model_name: &check.model_name,
            model_id: check.model_id.as_deref(),
            status: check.status(),
            healthy_count: check.healthy.into(),
            unhealthy_count: (!check.healthy).into(),
            error_message: check.error_message.as_deref(),
            response_time_ms: check.response_time_ms,
            details: check.details.as_ref(),
            checked_by: check.checked_by.as_deref(),
            checked_at: time(check.checked_at),
            created_at: time(check.created_at),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "dollars and seconds for people")]
fn shown(incident: &Incident, now: Timestamp) -> Value {
    let end = incident.ended_at.unwrap_or(now.as_millis());
    json!({
        "id": incident.incident_id,
        "deployment": incident.deployment,
        "model_group": incident.model_name,
        "from": time(incident.began_at),
        "to": incident.ended_at.map(time),
        "duration_seconds": end.saturating_sub(incident.began_at) as f64 / 1e3,
        "cause": incident.cause,
        "noticed_by": incident.noticed_by,
        "observer": incident.observer,
        "message": incident.message,
        "probe_cost_usd": incident.probe_nanousd as f64 / 1e9,
    })
}
