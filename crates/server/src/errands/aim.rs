//! Which deployment an errand goes to.
//!
//! An id that the gateway gave names its deployment. Without one, the model that the caller names decides: what is
//! made goes wherever the model's traffic may go; what is looked at is looked for at the first deployment of the group,
//! always the same one, because objects do not move. Then `custom_llm_provider`; then the deployment that is made for
//! such objects.

use haleway_health::Slot;
use haleway_providers::objects::id::unseal;
use haleway_providers::{Operation, registry};
use haleway_routing::{Captures, Resolution, Via};
use haleway_wire::Envelope;
use haleway_wire::form::Form;
use http::{HeaderMap, StatusCode};

use crate::call::refusal;
use crate::deployment::Deployment;
use crate::error::ApiError;
use crate::gateway::Live;

/// What a caller posted.
#[derive(Debug)]
pub(super) enum Body<'a> {
    Nothing,
    Json(Envelope<'a>),
    Form(Form),
}

/// What the caller says about where to go.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The model.
    pub(super) model: Option<String>,
    /// `custom_llm_provider`.
    provider: Option<String>,
}

impl Wanted {
    /// Body before query before headers.
    ///
    /// # Errors
    /// 400 when several models are named: an object has one place.
    pub(super) fn read(
        body: &Body<'_>,
        query: &[(String, String)],
        headers: &HeaderMap,
        provider: Option<String>,
    ) -> Result<Self, ApiError> {
        let named = |name: &str, header: &str| {
            let in_query = query.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
            let in_header = headers.get(header).and_then(|value| value.to_str().ok()).map(str::to_owned);
            let found = body.text(name).or(in_query).or(in_header);
            found.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let model = match named("target_model_names", "x-litellm-target-model-names") {
            Some(names) if names.contains(',') => {
                let message = "An object is kept by one deployment: name one model in 'target_model_names'.";
                return Err(ApiError::invalid(message, Some("target_model_names")));
            }
            Some(name) => Some(name),
            None => named("model", "x-litellm-model"),
        };
        Ok(Self { model, provider: provider.or_else(|| named("custom_llm_provider", "custom-llm-provider")) })
    }
}

impl Body<'_> {
    fn text(&self, name: &str) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Json(body) => body.str(name).map(|text| text.into_owned()),
            Self::Form(form) => form.text(name).map(str::to_owned),
        }
    }
}

/// An id as the provider knows it, and the deployment in it. Another id is left alone.
pub(super) fn opened(id: &str) -> (String, Option<String>) {
    match unseal(id) {
        Some((deployment, object)) => (object, Some(deployment)),
        None => (id.to_owned(), None),
    }
}

/// Where an errand goes. `keeper` is the deployment that an id names; `makes` says that an object is to be made.
///
/// # Errors
/// 404 when that deployment is gone, 400 when no deployment is meant.
pub(super) fn aim<'a>(
    live: &'a Live,
    operation: Operation,
    wanted: &'a Wanted,
    keeper: Option<&str>,
    makes: bool,
) -> Result<Resolution<'a>, ApiError> {
    if let Some(id) = keeper {
        let deployment = live.find(id).ok_or_else(gone)?;
        return only(live, deployment).ok_or_else(gone);
    }
    if let Some(model) = &wanted.model {
        let found = live.table.resolve(model).map_err(|_| refusal::unknown_model(model))?;
        if makes || found.only.is_some() {
            return Ok(found);
        }
        let first = live.table.slots(found.group).find(|slot| serves(live, *slot, operation));
        return Ok(Resolution { only: first, ..found });
    }
    let mut candidates: Vec<&Deployment> = live.each().map(|deployment| &**deployment).collect();
    candidates.retain(|deployment| deployment.target.serves(operation));
    if let Some(name) = &wanted.provider {
        candidates.retain(|deployment| is_of(deployment, name));
    }
    // Made for it, else OpenAI's as in LiteLLM, else the first that keeps such objects.
    let rank = |deployment: &&&Deployment| match deployment.target.mode == operation.mode() {
        true => 0,
        false if deployment.target.provider_name == "openai" => 1,
        false => 2,
    };
    let chosen = candidates.iter().min_by_key(rank);
    chosen.and_then(|deployment| only(live, deployment)).ok_or_else(|| nobody(operation, wanted))
}

fn only<'a>(live: &Live, deployment: &Deployment) -> Option<Resolution<'a>> {
    let group = live.table.group_of(deployment.slot)?;
    Some(Resolution { group, only: Some(deployment.slot), captures: Captures::default(), via: Via::Id })
}

fn serves(live: &Live, slot: Slot, operation: Operation) -> bool {
    live.deployment(slot).is_some_and(|deployment| deployment.target.serves(operation))
}

/// Whether LiteLLM would call the deployment's provider by this name.
fn is_of(deployment: &Deployment, name: &str) -> bool {
    let target = &deployment.target;
    target.provider_name == name
        || target.provider.id == name
        || registry::provider_of_prefix(name).is_some_and(|provider| provider.id == target.provider.id)
}

fn gone() -> ApiError {
    ApiError::new(
        StatusCode::NOT_FOUND,
        "invalid_request_error",
        "not_configured",
        "The deployment that keeps this object is no longer configured.",
    )
}

fn nobody(operation: Operation, wanted: &Wanted) -> ApiError {
    let whose = wanted.provider.as_ref().map(|name| {
        let shown: String = name.chars().take(100).collect();
        format!(" of provider {shown}")
    });
    ApiError::new(
        StatusCode::BAD_REQUEST,
        "invalid_request_error",
        "not_configured",
        format!("No deployment{} serves {operation}.", whose.unwrap_or_default()),
    )
}
