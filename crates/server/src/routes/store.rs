//! Models that are added, changed and removed while the gateway runs, in LiteLLM's words: `/model/new`, `/model/update`,
//! `/model/{id}/update`, `/model/delete`. No answer holds a secret, not even a sealed one.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use haleway_health::Timestamp;
use haleway_store::ModelRow;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::operate::origin;
use super::{PageError, Shared, info, rfc3339};
use crate::error::ApiError;
use crate::gateway::Gateway;
use crate::stored::{Asked, Refusal};

#[derive(Debug, Deserialize)]
struct Unwanted {
    id: String,
}

/// `POST /model/new`
pub(super) async fn new(
    State(gateway): Shared,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    gateway.live.load().keys.admit_admin(&headers)?;
    let asked: Asked = read(&body)?;
    let row = gateway.add_model(asked, origin(&headers)).await.map_err(refused)?;
    Ok(Json(shown(&gateway, &row)).into_response())
}

/// `POST /model/update`: the model is named in `model_info.id`.
pub(super) async fn update(
    State(gateway): Shared,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    gateway.live.load().keys.admit_admin(&headers)?;
    let asked: Asked = read(&body)?;
    let id = asked.id().ok_or_else(|| {
        ApiError::invalid("'model_info.id' says which model to change.", Some("model_info.id"))
    })?;
    let row = gateway.change_model(&id, asked, origin(&headers)).await.map_err(refused)?;
    Ok(Json(shown(&gateway, &row)).into_response())
}

/// `PATCH /model/{id}/update`
pub(super) async fn patch(
    State(gateway): Shared,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    gateway.live.load().keys.admit_admin(&headers)?;
    let asked: Asked = read(&body)?;
    let changed = gateway.change_model(&id, asked, origin(&headers)).await;
    if let Err(Refusal::Unknown(id)) = &changed {
        // The path names what there is not.
        let message = format!("Model {id} not found on proxy.");
        return Err(
            ApiError::new(StatusCode::NOT_FOUND, "not_found_error", "unknown_model_id", message).into()
        );
    }
    Ok(Json(shown(&gateway, &changed.map_err(refused)?)).into_response())
}

/// `POST /model/delete`
pub(super) async fn delete(
    State(gateway): Shared,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, PageError> {
    gateway.live.load().keys.admit_admin(&headers)?;
    let Unwanted { id } = read(&body)?;
    gateway.drop_model(&id, origin(&headers)).await.map_err(refused)?;
    Ok(Json(json!({"message": format!("Model: {id} deleted successfully")})).into_response())
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    // The error says where and what type, and never repeats a value.
    serde_json::from_slice(body).map_err(|error| {
        let place = format!("line {} column {}", error.line(), error.column());
        ApiError::invalid(format!("The body is not the JSON that this path takes ({place})."), None)
    })
}

/// A row as LiteLLM answers it, its parameters as `/model/info` shows them.
fn shown(gateway: &Gateway, row: &ModelRow) -> Value {
    let live = gateway.live.load();
    let deployment = live.find(&row.id).map(|deployment| info::describe(deployment));
    let part = |name: &str| deployment.as_ref().and_then(|shown| shown.get(name)).cloned();
    let time = |millis| rfc3339(Timestamp::from_millis(millis));
    json!({
        "model_id": row.id,
        "model_name": row.name,
        "litellm_params": part("litellm_params").unwrap_or_else(|| json!({})),
        "model_info": part("model_info").unwrap_or_else(|| json!({"id": row.id, "db_model": true})),
        "created_at": time(row.created_at),
        "created_by": row.created_by,
        "updated_at": time(row.updated_at),
        "updated_by": row.updated_by,
    })
}

fn refused(refusal: Refusal) -> ApiError {
    let bad = |class, message: String| {
        ApiError::new(StatusCode::BAD_REQUEST, "invalid_request_error", class, message)
    };
    // LiteLLM's status for what its operator has to set up first.
    let not_set_up = |class, message: &str| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_server_error", class, message)
    };
    match refusal {
        Refusal::Off => not_set_up(
            "models_not_stored",
            "Models are not stored: set general_settings.store_model_in_db: true or STORE_MODEL_IN_DB=True.",
        ),
        Refusal::NoDatabase => not_set_up(
            "no_database",
            "No DB Connected: set general_settings.database_url, DATABASE_URL or haleway.store, and restart.",
        ),
        Refusal::NoSaltKey => not_set_up(
            "no_salt_key",
            "There is no key to seal secrets with: set HALEWAY_SALT_KEY or LITELLM_SALT_KEY.",
        ),
        Refusal::NoOrigin => {
            not_set_up("no_origin", "This process has no file that its models could be added to.")
        }
        Refusal::InFile(id) => bad(
            "model_in_config",
            format!(
                "Model {id} is in the configuration file: change it there, or store one with /model/new."
            ),
        ),
        Refusal::Unknown(id) => bad("unknown_model_id", format!("Model with id={id} not found in db")),
        Refusal::Taken(id) => {
            bad("model_id_taken", format!("There is a model with id={id}: give another id, or none."))
        }
        Refusal::Sealed(id) => bad(
            "sealed_model",
            format!(
                "Model {id} is sealed with a salt key that is not known here: set that key, or delete it."
            ),
        ),
        Refusal::Overtaken(id) => ApiError::new(
            StatusCode::CONFLICT,
            "conflict_error",
            "model_changed",
            format!("Model {id} was changed by somebody else meanwhile: read it again."),
        ),
        Refusal::Bad(findings) => {
            let first = findings.first().map_or("it cannot be served", |finding| finding.message.as_str());
            bad("bad_model", format!("The model is not stored: {first}."))
                .with_detail(json!({"diagnostics": findings}))
        }
        Refusal::Lost(error) => {
            tracing::error!(%error, "a stored model cannot be changed");
            ApiError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "internal_server_error",
                "store_unavailable",
                "The database does not answer: try again later.",
            )
        }
    }
}
