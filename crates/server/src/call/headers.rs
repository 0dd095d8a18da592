//! Response headers: LiteLLM's names, and which candidates were passed over and why.

use std::time::Duration;

use haleway_providers::catalogue::Usd;
use haleway_routing::GiveUp;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::deployment::{Deployment, header_value};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the headers of a served call tell.
#[derive(Debug)]
pub(crate) struct Served<'a> {
    pub(crate) deployment: &'a Deployment,
    /// What a wildcard's `*` stands for.
    pub(crate) captured: Option<&'a str>,
    pub(crate) call_id: &'a HeaderValue,
    pub(crate) model_group: &'a str,
    /// Attempts that failed before this one, in the group that serves.
    pub(crate) retries: u32,
    /// Fallback groups entered.
    pub(crate) fallbacks: u32,
    /// All attempts of the call.
    pub(crate) attempts: u32,
    pub(crate) skipped: &'a str,
    /// What the group is in, when it is not calm.
    pub(crate) panic: Option<&'static str>,
    /// From the head of the call to now.
    pub(crate) total: Duration,
}

/// The headers of a served call. `upstream` are the provider's.
pub(crate) fn served(facts: &Served<'_>, upstream: &HeaderMap) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(24 + upstream.len());
    named(&mut headers, facts.deployment, facts.captured, facts.call_id);
    let put = |headers: &mut HeaderMap, name: &'static str, value: HeaderValue| {
        headers.insert(HeaderName::from_static(name), value);
    };
    put(&mut headers, "x-litellm-model-api-base", facts.deployment.names.api_base.clone());
    put(&mut headers, "x-litellm-version", HeaderValue::from_static(VERSION));
    put(&mut headers, "x-litellm-key-spend", HeaderValue::from_static("0.0"));
    put(&mut headers, "x-litellm-response-duration-ms", millis(facts.total));
    put(&mut headers, "x-litellm-model-group", header_value(facts.model_group));
    put(&mut headers, "x-litellm-attempted-retries", HeaderValue::from(facts.retries));
    put(&mut headers, "x-litellm-attempted-fallbacks", HeaderValue::from(facts.fallbacks));
    route(&mut headers, facts.attempts, facts.skipped);
    if let Some(panic) = facts.panic {
        put(&mut headers, "x-haleway-panic", HeaderValue::from_static(panic));
    }
    from_provider(&mut headers, upstream, true);
    headers
}

/// What the list of several answers keeps of the headers of the first: nothing that names one deployment but its model, as
/// LiteLLM has it.
pub(crate) fn of_several(first: &HeaderMap) -> HeaderMap {
    const KEPT: [&str; 4] =
        ["x-litellm-call-id", "x-litellm-model-name", "x-litellm-version", "x-litellm-key-spend"];
    let mut headers = HeaderMap::with_capacity(8);
    for name in KEPT {
        if let Some(value) = first.get(name) {
            headers.insert(HeaderName::from_static(name), value.clone());
        }
    }
    headers
}

/// What every error of a model call tells, however early it ended.
pub(crate) fn refused(headers: &mut HeaderMap, call_id: &HeaderValue) {
    headers.insert(HeaderName::from_static("x-litellm-call-id"), call_id.clone());
    headers.insert(HeaderName::from_static("x-litellm-version"), HeaderValue::from_static(VERSION));
    headers.insert(HeaderName::from_static("x-litellm-response-cost"), HeaderValue::from_static("0"));
    headers.insert(HeaderName::from_static("x-litellm-key-spend"), HeaderValue::from_static("0.0"));
}

/// What the answer cost, in US dollars.
pub(crate) fn cost(headers: &mut HeaderMap, cost: Usd) {
    headers.insert(HeaderName::from_static("x-litellm-response-cost"), header_value(&cost.to_string()));
}

/// Adds what an error tells of the deployment that was tried last, with the time `limit` it had.
pub(crate) fn failed(
    headers: &mut HeaderMap,
    deployment: &Deployment,
    captured: Option<&str>,
    call_id: &HeaderValue,
    limit: Duration,
    upstream: Option<&HeaderMap>,
) {
    named(headers, deployment, captured, call_id);
    headers.insert(
        HeaderName::from_static("x-litellm-timeout"),
        header_value(&format!("{:?}", limit.as_secs_f64())),
    );
    if let Some(upstream) = upstream {
        from_provider(headers, upstream, false);
    }
}

/// What makes a stream a stream for everything between here and the caller.
pub(crate) fn stream(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
}

fn named(headers: &mut HeaderMap, deployment: &Deployment, captured: Option<&str>, call_id: &HeaderValue) {
    let model =
        captured.map(|captured| header_value(&deployment.target.full_model.replacen('*', captured, 1)));
    let model = model.unwrap_or_else(|| deployment.names.model.clone());
    headers.insert(HeaderName::from_static("x-litellm-call-id"), call_id.clone());
    headers.insert(HeaderName::from_static("x-litellm-model-id"), deployment.names.id.clone());
    headers.insert(HeaderName::from_static("x-litellm-model-name"), model);
}

/// How many attempts there were, and why other candidates did not serve.
pub(crate) fn route(headers: &mut HeaderMap, attempts: u32, skipped: &str) {
    headers.insert(HeaderName::from_static("x-haleway-attempts"), HeaderValue::from(attempts));
    if !skipped.is_empty() {
        headers.insert(HeaderName::from_static("x-haleway-skipped"), header_value(skipped));
    }
}

/// Why a call that was tried is not tried again: `retries_exhausted`, `not_retryable`, `deadline`, `retry_share`, …
pub(crate) fn gave_up(headers: &mut HeaderMap, reason: GiveUp) {
    headers.insert(HeaderName::from_static("x-haleway-gave-up"), HeaderValue::from_static(reason.code()));
}

/// Copies the provider's headers as `llm_provider-*`, and its rate limits under their own names on success.
/// Cookies stay behind: they are between the gateway and the provider.
fn from_provider(headers: &mut HeaderMap, upstream: &HeaderMap, success: bool) {
    for (name, value) in upstream {
        let text = name.as_str();
        if text == "set-cookie" {
            continue;
        }
        if success && (text.starts_with("x-ratelimit-") || text == "request-id") {
            headers.insert(name.clone(), value.clone());
        }
        if let Some(name) = prefixed(text) {
            headers.insert(name, value.clone());
        }
    }
}

fn prefixed(name: &str) -> Option<HeaderName> {
    // The headers that every provider sends, so that their names are not made for each answer.
    Some(match name {
        "content-type" => HeaderName::from_static("llm_provider-content-type"),
        "content-length" => HeaderName::from_static("llm_provider-content-length"),
        "connection" => HeaderName::from_static("llm_provider-connection"),
        "date" => HeaderName::from_static("llm_provider-date"),
        "server" => HeaderName::from_static("llm_provider-server"),
        "transfer-encoding" => HeaderName::from_static("llm_provider-transfer-encoding"),
        "x-request-id" => HeaderName::from_static("llm_provider-x-request-id"),
        other => HeaderName::from_bytes(format!("llm_provider-{other}").as_bytes()).ok()?,
    })
}

fn millis(span: Duration) -> HeaderValue {
    let micros = span.as_micros();
    let text = format!("{}.{:03}", micros / 1000, micros % 1000);
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("0"))
}
