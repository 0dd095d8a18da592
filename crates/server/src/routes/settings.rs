//! What is in force and where it comes from: `/haleway/config`, and LiteLLM's `/settings` and `/active/callbacks` with the
//! same below its own members. No secret is among them.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::{PageError, Shared};
use crate::gateway::{Gateway, Live};

/// `GET /haleway/config`: every effective health value, and where it came from.
pub(super) async fn config(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    let live = gateway.live.load_full();
    live.keys.admit_admin(&headers)?;
    Ok(Json(effective(&gateway, &live)).into_response())
}

/// `GET /settings`, `GET /active/callbacks`
pub(super) async fn settings(State(gateway): Shared, headers: HeaderMap) -> Result<Response, PageError> {
    let live = gateway.live.load_full();
    live.keys.admit_admin(&headers)?;
    // LiteLLM's page lists its callbacks, and there are none.
    let mut page = Map::new();
    page.insert("alerting".to_owned(), "None".into());
    for list in [
        "litellm.callbacks",
        "litellm.input_callback",
        "litellm.failure_callback",
        "litellm.success_callback",
        "litellm._async_success_callback",
        "litellm._async_failure_callback",
        "litellm._async_input_callback",
        "all_litellm_callbacks",
    ] {
        page.insert(list.to_owned(), json!([]));
    }
    page.insert("num_callbacks".to_owned(), 0.into());
    page.insert("num_alerting".to_owned(), 0.into());
    page.insert("litellm.request_timeout".to_owned(), live.config.router.timeout.as_secs_f64().into());
    page.insert("general_settings".to_owned(), general(&live));
    page.extend(effective(&gateway, &live));
    Ok(Json(page).into_response())
}

/// Every effective value with its origin, and what became of the stored models.
fn effective(gateway: &Gateway, live: &Live) -> Map<String, Value> {
    let rows: Vec<Value> = haleway_config::explain(&live.config)
        .into_iter()
        .map(|row| {
            json!({"scope": row.scope, "key": row.key, "value": row.value, "origin": row.origin.to_string()})
        })
        .collect();
    let profile = &live.config.haleway.profile;
    let mut page = Map::new();
    page.insert("profile".to_owned(), profile.name().into());
    page.insert("profile_because".to_owned(), json!(profile.reason));
    page.insert("values".to_owned(), rows.into());
    if live.config.general.store_models {
        let served = live.each().filter(|deployment| deployment.model.stored).count();
        let left_out = gateway.stored.not_served();
        let left_out: Vec<Value> =
            left_out.into_iter().map(|(id, reason)| json!({"id": id, "reason": reason})).collect();
        page.insert("stored_models".to_owned(), json!({"served": served, "left_out": left_out}));
    }
    page
}

/// LiteLLM's names for what is in force.
fn general(live: &Live) -> Value {
    let general = &live.config.general;
    let hidden = |set: bool| set.then_some("[redacted]");
    json!({
        "health_check_concurrency": live.config.haleway.limits.concurrency,
        "background_health_checks": general.background_health_checks,
        "health_check_interval": general.health_check_interval.as_secs_f64(),
        "health_check_details": general.health_check_details,
        "use_shared_health_check": general.use_shared_health_check,
        "enable_health_check_routing": general.enable_health_check_routing,
        "model_list_healthy_only": general.model_list_healthy_only,
        "max_parallel_requests": general.max_parallel_requests,
        "store_model_in_db": general.store_models,
        "master_key": hidden(general.master_key.is_some()),
        "database_url": hidden(live.config.haleway.store.is_some()),
    })
}
