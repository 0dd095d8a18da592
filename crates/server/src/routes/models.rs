//! What may be called: `/v1/models` and `/v1/model/info`, answered from the configuration, never from a provider.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use haleway_health::{Slot, Snapshot, Tier};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Asked, Detail, PageError, Shared};
use crate::deployment::Deployment;
use crate::gateway::{Gateway, Live};

/// LiteLLM's constant.
const CREATED: u64 = 1_677_610_602;

#[derive(Debug, Serialize)]
struct Model<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ListQuery {
    #[serde(default, deserialize_with = "truth")]
    healthy_only: Option<bool>,
}

/// `GET /v1/models`
pub(super) async fn list(
    State(gateway): Shared,
    Asked(query): Asked<ListQuery>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let live = gateway.live.load();
    live.keys.admit(&headers)?;
    let healthy_only = query.healthy_only.unwrap_or(live.config.general.model_list_healthy_only);
    let data: Vec<Model<'_>> = names(&live)
        .into_iter()
        .filter(|name| !healthy_only || gateway.may_serve(&live, name))
        .map(|name| model(&live, name))
        .collect();
    Ok(Json(json!({"data": data, "object": "list"})).into_response())
}

/// `GET /v1/models/{id}`
pub(super) async fn one(
    State(gateway): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    let live = gateway.live.load();
    live.keys.admit(&headers)?;
    let known = names(&live).into_iter().find(|name| *name == id);
    Ok(match known {
        Some(name) => Json(model(&live, name)).into_response(),
        None => Detail(StatusCode::NOT_FOUND, format!("The model `{id}` does not exist")).into_response(),
    })
}

/// A boolean as Python's clients and LiteLLM's server write it.
fn truth<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    let text = String::deserialize(from)?;
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Ok(Some(true)),
        "false" | "0" | "no" | "off" | "f" | "n" => Ok(Some(false)),
        "" => Ok(None),
        _ => Err(serde::de::Error::custom(format!("{text:?} is neither true nor false"))),
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct InfoQuery {
    /// Only the deployment with this id.
    litellm_model_id: Option<String>,
}

/// `GET /v1/model/info`
pub(super) async fn info(
    State(gateway): Shared,
    Asked(query): Asked<InfoQuery>,
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

/// Names a caller may use: groups in order, then aliases that are not hidden.
fn names(live: &Live) -> Vec<&str> {
    let mut names = live.config.groups();
    names.extend(live.table.aliases().iter().filter(|alias| !alias.hidden).map(|alias| &*alias.name));
    names
}

fn model<'a>(live: &'a Live, name: &'a str) -> Model<'a> {
    let group = live.table.resolve(name).ok().map_or(name, |found| live.table.group_name(found.group));
    let first = live.each().find(|deployment| *deployment.model.name == *group);
    Model {
        id: name,
        object: "model",
        created: CREATED,
        owned_by: "openai",
        mode: first.and_then(|deployment| deployment.model.info.mode.as_deref()),
        max_input_tokens: first.and_then(|deployment| deployment.model.info.max_input_tokens),
    }
}

/// A deployment from an allow-list of fields: what is not listed here cannot leak.
fn describe(deployment: &Deployment) -> Value {
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
    let info = &deployment.model.info;
    json!({
        "model_name": &*deployment.model.name,
        "litellm_params": shown,
        "model_info": {
            "id": &**deployment.id(),
            "db_model": false,
            "mode": deployment.target.mode.as_str(),
            "base_model": info.base_model,
            "max_input_tokens": info.max_input_tokens,
            "input_cost_per_token": params.input_cost_per_token,
            "output_cost_per_token": params.output_cost_per_token,
            "blocked": info.blocked,
            "disable_background_health_check": info.disable_background_health_check,
        },
    })
}

/// Whether a deployment is in rotation, and no doubt about its credential keeps traffic away.
fn is_usable(snapshot: &Snapshot, slot: Slot) -> bool {
    snapshot.verdict(slot).state.eligible() && snapshot.entry(slot).tier != Tier::Never
}

impl Gateway {
    /// Whether a name can lead to a deployment that is not known to be out.
    fn may_serve(&self, live: &Live, name: &str) -> bool {
        let Ok(found) = live.table.resolve(name) else { return false };
        let snapshot = self.hub.snapshot();
        live.table.slots(found.group).any(|slot| is_usable(&snapshot, slot))
    }

    /// Groups with a deployment that may be used now.
    pub(crate) fn usable_groups(&self) -> usize {
        let live = self.live.load();
        let snapshot = self.hub.snapshot();
        live.health_groups
            .iter()
            .filter_map(|ix| snapshot.group(*ix))
            .filter(|group| group.slots.iter().any(|slot| is_usable(&snapshot, *slot)))
            .count()
    }
}
