//! Calls that end without a provider's answer: unknown model, nothing available, a limit of the gateway.

use std::time::Duration;

use haleway_health::{Profile, Timestamp};
use haleway_routing::{Refusal, RefusalKind};
use http::StatusCode;

use crate::error::ApiError;
use crate::gateway::Live;

/// 400, as LiteLLM answers: no group, alias, id or wildcard answers to the name.
pub(crate) fn unknown_model(model: &str) -> ApiError {
    let shown: String = model.chars().take(200).collect();
    let mut error = ApiError::new(
        StatusCode::BAD_REQUEST,
        "invalid_request_error",
        "not_configured",
        format!("You passed in model={shown}. There is no such model; GET /v1/models lists what there is."),
    );
    error.set_param("model");
    error
}

/// 400: the request cannot be said on the wire of any deployment that could serve it.
pub(crate) fn untranslatable(refusal: &haleway_providers::Refusal) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "invalid_request_error", "bad_request", refusal.message.clone())
        .with_detail(serde_json::json!({"code": refusal.code, "param": refusal.param}))
}

/// 408: the caller's own time passed before anything could be tried.
pub(crate) fn out_of_time() -> ApiError {
    ApiError::new(
        StatusCode::REQUEST_TIMEOUT,
        "timeout_error",
        "timeout",
        "The time that the caller allowed (x-litellm-timeout) passed.",
    )
}

/// What the router's refusal means for the caller: a status, a type, when to come back, and per deployment why.
pub(crate) fn to_error(refusal: &Refusal, model: &str, live: &Live, now: Timestamp) -> ApiError {
    let wait = refusal.retry_after_seconds(now).map(Duration::from_secs);
    let deployments: Vec<_> = refusal
        .skipped
        .iter()
        .map(|skip| serde_json::json!({"reason": skip.reason.code(), "detail": skip.reason.text(now)}))
        .collect();
    let detail = serde_json::json!({
        "refusal": refusal.kind.code(),
        "retry_after_seconds": wait.map(|wait| wait.as_secs()),
        "deployments": deployments,
    });
    let error = match refusal.kind {
        RefusalKind::AllOut => all_out(model, live, wait),
        RefusalKind::GatewayLimit => ApiError::new(
            StatusCode::TOO_MANY_REQUESTS,
            "throttling_error",
            "gateway_limit",
            format!(
                "Every deployment of {model} is at a limit set in this gateway (rpm, tpm, max_parallel_requests)."
            ),
        ),
        RefusalKind::NoneConfigured => ApiError::new(
            StatusCode::BAD_REQUEST,
            "invalid_request_error",
            "not_configured",
            format!("No deployment is configured for {model}."),
        ),
        RefusalKind::NoneAllowed => ApiError::new(
            StatusCode::FORBIDDEN,
            "invalid_request_error",
            "not_allowed",
            format!("This call may use none of the deployments of {model} (tags, blocked)."),
        ),
        RefusalKind::PromptTooLong => ApiError::new(
            StatusCode::BAD_REQUEST,
            "invalid_request_error",
            "context_window",
            format!(
                "The prompt is larger than what any deployment of {model} takes (ContextWindowExceededError)."
            ),
        ),
    };
    // No return foreseen, no time named: a guess would only invite callers back.
    let wait = wait.filter(|_| refusal.kind.passes());
    error.with_retry_after(wait).with_detail(detail)
}

fn all_out(model: &str, live: &Live, wait: Option<Duration>) -> ApiError {
    let haleway = &live.config.haleway;
    let litellm = haleway.profile.profile == Profile::Litellm;
    let usual = if litellm { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::SERVICE_UNAVAILABLE };
    let status = haleway.all_out_status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(usual);
    let when = wait.map_or_else(
        || "and no return is foreseen.".to_owned(),
        |wait| format!("Try again in {} seconds.", wait.as_secs()),
    );
    let kind = if litellm { "all_deployments_in_cooldown" } else { "all_deployments_out" };
    ApiError::new(
        status,
        kind,
        "all_out",
        format!("No deployments available for selected model, {when} Passed model={model}."),
    )
}
