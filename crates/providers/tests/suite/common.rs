//! Deployments for tests, written as a configuration would have them.

use haleway_providers::catalogue::{Catalogue, Prices};
use haleway_providers::classify::StatusLists;
use haleway_providers::{
    Call, CallOptions, DeploymentSource, Operation, Refusal, ResolveError, Target, resolve,
};
use haleway_wire::Envelope;
use http::HeaderMap;
use secrecy::SecretString;
use serde_json::{Map, Value, json};

/// A deployment from `litellm_params` (and `mode`) as JSON, with the given environment.
pub(crate) fn deployment(
    params: Value,
    mode: Option<&str>,
    env: &[(&str, &str)],
) -> Result<Target, ResolveError> {
    let mut params = params.as_object().unwrap().clone();
    let text = |params: &mut Map<String, Value>, key: &str| {
        params.remove(key).map(|value| value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string()))
    };
    let model = text(&mut params, "model").unwrap_or_default();
    let custom = text(&mut params, "custom_llm_provider");
    let base = text(&mut params, "api_base");
    let key = text(&mut params, "api_key").map(SecretString::from);
    let version = text(&mut params, "api_version");
    let organization = text(&mut params, "organization");
    let drop_params = params.remove("drop_params").and_then(|v| v.as_bool()).unwrap_or(false);
    let dropped: Vec<String> = params
        .remove("additional_drop_params")
        .map(|v| serde_json::from_value(v).unwrap())
        .unwrap_or_default();
    let headers: Vec<(String, String)> = params
        .remove("extra_headers")
        .map(|v| {
            v.as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect()
        })
        .unwrap_or_default();
    let base_model = text(&mut params, "base_model");
    let extra_body = params.remove("extra_body").map(|v| v.as_object().unwrap().clone());
    let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    resolve(&DeploymentSource {
        model: &model,
        custom_llm_provider: custom.as_deref(),
        statuses: &StatusLists::default(),
        api_base: base.as_deref(),
        api_key: key,
        api_version: version.as_deref(),
        organization: organization.as_deref(),
        mode,
        base_model: base_model.as_deref(),
        prices: &Prices::NONE,
        catalogue: &Catalogue::builtin(),
        extra_headers: &headers,
        extra_body: extra_body.as_ref(),
        params: &params,
        drop_params,
        additional_drop_params: &dropped,
        env: &env,
        file: &|_| None,
    })
}

/// A deployment with a key, at the provider's own base or at a made-up one where it has none.
pub(crate) fn any(model: &str, mode: Option<&str>) -> Result<Target, ResolveError> {
    let mut params = json!({ "model": model, "api_key": "sk-canary-1" });
    match deployment(params.clone(), mode, &[]) {
        Err(ResolveError::MissingBase { .. }) => {
            params["api_base"] = json!("https://own.example/v1");
            deployment(params, mode, &[])
        }
        other => other,
    }
}

/// The body of a call as JSON.
pub(crate) fn body(call: &Call) -> Value {
    serde_json::from_slice(&call.body.to_bytes()).unwrap()
}

/// The URL of an operation, if the deployment serves it.
pub(crate) fn url(target: &Target, operation: Operation) -> Option<String> {
    call(
        target,
        operation,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"query":"q","documents":["d"]}"#,
    )
    .ok()
    .map(|call| call.uri.to_string())
}

/// The headers of a deployment's calls.
pub(crate) fn headers(target: &Target) -> HeaderMap {
    call(target, Operation::Chat, r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#)
        .unwrap()
        .headers
}

/// A client's call.
pub(crate) fn call(target: &Target, operation: Operation, body: &str) -> Result<Call, Refusal> {
    target.call(
        operation,
        &Envelope::parse(body.as_bytes()).unwrap(),
        None,
        CallOptions { created: 1_764_500_000, ..CallOptions::default() },
    )
}
