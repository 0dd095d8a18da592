//! Liveness and readiness: about this process only, without a key, revealing nothing.
//!
//! Readiness means: the configuration is loaded and there is a group to route to. Upstream outages are none of its
//! business: withdrawing every pod because a provider is down helps nobody (report G06).

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

use super::Shared;
use crate::gateway::Gateway;

/// Routes that need no key.
pub(super) fn routes() -> Router<Arc<Gateway>> {
    Router::new()
        .route("/health/liveliness", get(alive).options(options))
        .route("/health/liveness", get(alive).options(options))
        .route("/health/readiness", get(ready).options(options))
        .route("/actuator/health", get(actuator))
        .route("/actuator/health/liveness", get(actuator_live))
        .route("/actuator/health/readiness", get(actuator))
}

async fn alive() -> Response {
    axum::Json("I'm alive!").into_response()
}

async fn ready(State(gateway): Shared) -> Response {
    if gateway.shutdown.is_cancelled() {
        let body = axum::Json(serde_json::json!({"status": "shutting_down"}));
        return (StatusCode::SERVICE_UNAVAILABLE, body).into_response();
    }
    let mut body = serde_json::json!({"status": "healthy", "db": gateway.database()});
    if gateway.usable_groups() == 0
        && let Some(body) = body.as_object_mut()
    {
        body.insert("usable_groups".to_owned(), 0.into());
    }
    axum::Json(body).into_response()
}

async fn options(method: Method) -> Response {
    debug_assert_eq!(method, Method::OPTIONS);
    let headers = [
        (header::ALLOW, HeaderValue::from_static("GET, OPTIONS")),
        (header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, OPTIONS")),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*")),
    ];
    headers.into_response()
}

async fn actuator(State(gateway): Shared) -> Response {
    if gateway.shutdown.is_cancelled() {
        let body = axum::Json(serde_json::json!({"status": "OUT_OF_SERVICE"}));
        return (StatusCode::SERVICE_UNAVAILABLE, body).into_response();
    }
    axum::Json(serde_json::json!({"status": "UP"})).into_response()
}

async fn actuator_live() -> Response {
    axum::Json(serde_json::json!({"status": "UP"})).into_response()
}
