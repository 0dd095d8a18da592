//! What is known about deployments and groups: `/v1/model/info` and `/model_group/info`, in LiteLLM's shapes, from
//! the configuration and the catalogue.
//!
//! What an operator writes into `model_info` is shown, except what tells how to probe: it may hold secrets.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use haleway_config::keys::SHOWN_INFO;
use haleway_providers::catalogue::{CatalogueRow, ModelFacts, PriceKind, Prices};
use haleway_providers::registry::Wire;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::models::names;
use super::{Asked, Detail, PageError, Shared};
use crate::deployment::Deployment;
use crate::gateway::Live;

/// Parameters of chat that an OpenAI-compatible provider may be given, as LiteLLM lists them.
const OPENAI_PARAMS: [&str; 32] = [
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "max_tokens",
    "max_completion_tokens",
    "modalities",
    "prediction",
    "n",
    "presence_penalty",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "function_call",
    "functions",
    "max_retries",
    "extra_headers",
    "parallel_tool_calls",
    "audio",
    "web_search_options",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "store",
    "response_format",
    "reasoning_effort",
];

/// What a group can do when one of its deployments can, in LiteLLM's words.
const CAPABILITIES: [&str; 8] = [
    "supports_parallel_function_calling",
    "supports_vision",
    "supports_web_search",
    "supports_url_context",
    "supports_continuation",
    "supports_reasoning",
    "supports_function_calling",
    "supports_fast_mode",
];

#[derive(Debug, Deserialize)]
pub(super) struct DeploymentQuery {
    /// Only the deployment with this id.
    litellm_model_id: Option<String>,
}

/// `GET /v1/model/info`
pub(super) async fn deployments(
    State(gateway): Shared,
    Asked(query): Asked<DeploymentQuery>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let live = gateway.live.load();
    live.keys.admit(&headers)?;
    let wanted = query.litellm_model_id.as_deref().filter(|id| !id.is_empty());
    let asked = live.each().filter(|deployment| wanted.is_none_or(|id| *deployment.model.id == *id));
    let data: Vec<Value> = asked.map(|deployment| describe(deployment)).collect();
    if let (Some(id), true) = (wanted, data.is_empty()) {
        let message = format!("Model id = {id} not found");
        return Ok(Detail(StatusCode::NOT_FOUND, message).into_response());
    }
    Ok(Json(json!({"data": data})).into_response())
}

#[derive(Debug, Deserialize)]
pub(super) struct GroupQuery {
    /// Only the group of this name.
    model_group: Option<String>,
}

/// `GET /model_group/info`
pub(super) async fn groups(
    State(gateway): Shared,
    Asked(query): Asked<GroupQuery>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let live = gateway.live.load();
    live.keys.admit(&headers)?;
    let wanted = query.model_group.as_deref().filter(|name| !name.is_empty());
    let asked = names(&live).into_iter().filter(|name| wanted.is_none_or(|wanted| wanted == *name));
    let data: Vec<Value> = asked.map(|name| group(&live, name)).collect();
    if let (Some(name), true) = (wanted, data.is_empty()) {
        let message = format!("Model group = {name} not found");
        return Ok(Detail(StatusCode::NOT_FOUND, message).into_response());
    }
    Ok(Json(json!({"data": data})).into_response())
}

/// A deployment from an allow-list of fields: what is not listed here cannot leak.
pub(super) fn describe(deployment: &Deployment) -> Value {
    let params = &deployment.model.params;
    let mut shown = Map::new();
    shown.insert("model".to_owned(), params.model.clone().into());
    shown.insert("api_base".to_owned(), deployment.target.api_base.clone().into());
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            shown.insert(name.to_owned(), value);
        }
    };
    put("custom_llm_provider", params.custom_llm_provider.clone().map(Value::from));
    put("api_version", params.api_version.clone().map(Value::from));
    put("rpm", params.rpm.map(Value::from));
    put("tpm", params.tpm.map(Value::from));
    put("weight", params.weight.map(Value::from));
    put("order", params.order.map(Value::from));
    put("timeout", params.timeout.map(|timeout| timeout.as_secs_f64().into()));
    put("stream_timeout", params.stream_timeout.map(|timeout| timeout.as_secs_f64().into()));
    json!({
        "model_name": &*deployment.model.name,
        "litellm_params": shown,
        "model_info": model_info(deployment),
    })
}

/// What is known about a deployment's model: the catalogue's facts, and what the operator says instead.
fn model_info(deployment: &Deployment) -> Map<String, Value> {
    let target = &deployment.target;
    let facts = facts(deployment);
    let info = &deployment.model.info;
    let own = deployment.model.prices.known().map(|(kind, _)| kind.key());
    let key = if facts.name.is_empty() { target.full_model.as_str() } else { facts.name.as_ref() };
    let mut shown = object(json!({
        "id": &**deployment.id(),
        "db_model": deployment.model.stored,
        "mode": target.mode.as_str(),
        "pricing_overrides": own.collect::<Vec<_>>(),
        "key": key,
        "litellm_provider": &target.provider_name,
        "base_model": info.base_model,
        "max_tokens": facts.max_output_tokens.or(facts.max_input_tokens),
        "max_input_tokens": deployment.max_input_tokens(),
        "max_output_tokens": facts.max_output_tokens,
        "output_vector_size": facts.vector_dimensions,
        "rpm": facts.rpm,
        "tpm": facts.tpm,
        "deprecation_date": facts.deprecated_on.map(|day| day.to_string()),
        "supported_endpoints": endpoints(&facts),
        "supports_reasoning": facts.reasoning,
        "thinking_always_on": facts.always_thinks,
        "thinking_on_by_default": facts.thinks_by_default,
        "supports_none_reasoning_effort": facts.effort_none,
        "supports_minimal_reasoning_effort": facts.effort_minimal,
        "supports_sampling_params": facts.sampling,
        "supported_openai_params": openai_params(deployment),
        "blocked": info.blocked,
        "disable_background_health_check": info.disable_background_health_check,
    }));
    for kind in PriceKind::ALL {
        shown.insert(kind.key().to_owned(), json!(target.prices.get(*kind)));
    }
    for name in SHOWN_INFO {
        if let Some(value) = info.shown.get(*name).filter(|value| !value.is_null()) {
            shown.insert((*name).to_owned(), value.clone());
        }
    }
    shown
}

fn facts(deployment: &Deployment) -> ModelFacts<'_> {
    deployment.target.known.as_ref().map(CatalogueRow::facts).unwrap_or_default()
}

fn endpoints(facts: &ModelFacts<'_>) -> Option<Vec<String>> {
    let listed = facts.endpoints.split(',').filter(|endpoint| !endpoint.is_empty());
    let listed: Vec<String> = listed.map(str::to_owned).collect();
    (!listed.is_empty()).then_some(listed)
}

fn openai_params(deployment: &Deployment) -> Option<Vec<&'static str>> {
    let provider = deployment.target.provider;
    let openai = matches!(provider.wire, Wire::OpenAi | Wire::Azure);
    openai.then(|| OPENAI_PARAMS.into_iter().filter(|name| !provider.refuses.contains(name)).collect())
}

/// A group: the most that one of its deployments takes or costs, what any of them can, the sum of their limits.
fn group(live: &Live, name: &str) -> Value {
    let group = live.table.resolve(name).ok().map_or(name, |found| live.table.group_name(found.group));
    let members: Vec<&Deployment> =
        live.each().filter(|deployment| *deployment.model.name == *group).map(|one| &**one).collect();
    let infos: Vec<Map<String, Value>> = members.iter().map(|member| model_info(member)).collect();
    let most = |key: &str| {
        let known = infos.iter().filter_map(|info| Some((info.get(key)?.as_f64()?, info.get(key)?)));
        known.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, value)| value)
    };
    let first = |key: &str| infos.iter().find_map(|info| info.get(key).filter(|value| !value.is_null()));
    let sum = |stated: fn(&Deployment) -> Option<u64>| {
        members.iter().filter_map(|member| stated(member)).reduce(u64::saturating_add)
    };
    let providers: BTreeSet<&str> = members.iter().map(|one| one.target.provider_name.as_str()).collect();
    let listed: BTreeSet<&str> = infos
        .iter()
        .filter_map(|info| info.get("supported_endpoints")?.as_array())
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut shown = object(json!({
        "model_group": name,
        "providers": providers,
        "max_input_tokens": most("max_input_tokens"),
        "max_output_tokens": most("max_output_tokens"),
        "input_cost_per_token": most("input_cost_per_token"),
        "output_cost_per_token": most("output_cost_per_token"),
        "input_cost_per_pixel": most("input_cost_per_pixel"),
        "mode": first("mode"),
        "tpm": sum(|member| member.model.params.tpm),
        "rpm": sum(|member| member.model.params.rpm),
        "itpm": null,
        "otpm": null,
    }));
    for capability in CAPABILITIES {
        let any = infos.iter().any(|info| info.get(capability) == Some(&Value::Bool(true)));
        shown.insert(capability.to_owned(), any.into());
    }
    let rest = json!({
        "supported_reasoning_efforts": null,
        "supported_openai_params": first("supported_openai_params"),
        "configurable_clientside_auth_params": null,
        "description": first("description"),
        "supported_endpoints": if listed.is_empty() { None } else { Some(listed) },
        "deployment_pricing": pricing(&members),
        "supports_background_chat": false,
        "is_public_model_group": false,
        "health_status": null,
        "health_response_time": null,
        "health_checked_at": null,
        "custom_tags": null,
        "custom_metadata": null,
    });
    shown.extend(object(rest));
    shown.into()
}

/// The prices of a group's deployments, equal ones once.
fn pricing(members: &[&Deployment]) -> Vec<Value> {
    let mut seen: Vec<(&str, Prices)> = Vec::new();
    for member in members {
        let entry = (member.target.provider_name.as_str(), member.target.prices);
        if !entry.1.is_empty() && !seen.contains(&entry) {
            seen.push(entry);
        }
    }
    let shown = |(provider, prices): (&str, Prices)| {
        let costs: Map<String, Value> =
            prices.known().map(|(kind, price)| (kind.key().to_owned(), json!(price))).collect();
        json!({"provider": provider, "costs": costs, "tiered_pricing": []})
    };
    seen.into_iter().map(shown).collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    }
}
