//! What may be called: `/v1/models`, answered from the configuration, never from a provider.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use haleway_health::{Slot, Snapshot, Tier};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Asked, Detail, PageError, Shared};
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

/// Names a caller may use: groups in order, then aliases that are not hidden.
pub(super) fn names(live: &Live) -> Vec<&str> {
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
        max_input_tokens: first.and_then(|deployment| deployment.max_input_tokens()),
    }
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
