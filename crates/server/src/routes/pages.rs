//! Metrics, and the answers to paths and methods that do not exist.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haleway_telemetry::{HealthTotals, METRICS_CONTENT_TYPE};

use super::{PageError, Shared};

/// `GET /metrics`, in Prometheus' text format. Needs the key: metrics name deployments.
pub(super) async fn metrics(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    gateway.live.load().keys.admit(&headers)?;
    let counters = gateway.hub.counters();
    gateway.metrics.health_totals(&HealthTotals {
        trials_granted: counters.trials_granted,
        trials_lost: counters.trials_lost,
        late_verdicts: counters.late_verdicts,
    });
    if let Some(share) = &gateway.share {
        gateway.metrics.fleet_totals(&share.totals(gateway.clock.now()));
    }
    if let Some(memory) = gateway.memory.get() {
        gateway.metrics.store_totals(&memory.totals());
    }
    Ok(([(header::CONTENT_TYPE, METRICS_CONTENT_TYPE)], gateway.metrics.encode()).into_response())
}

/// `GET /health/license`: there is nothing to license, in LiteLLM's words.
pub(super) async fn license(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    gateway.live.load().keys.admit(&headers)?;
    Ok(axum::Json(serde_json::json!({
        "has_license": false,
        "license_type": "community",
        "expiration_date": null,
        "allowed_features": [],
        "limits": {"max_users": null, "max_teams": null},
    }))
    .into_response())
}

/// LiteLLM's 404.
pub(super) async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, axum::Json(serde_json::json!({"detail": "Not Found"}))).into_response()
}

/// LiteLLM's 405.
pub(super) async fn method_not_allowed() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, axum::Json(serde_json::json!({"detail": "Method Not Allowed"})))
        .into_response()
}
