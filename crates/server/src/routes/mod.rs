//! Which path does what. Model calls take the short way to [`crate::call`]; everything else is an axum router.

mod health;
mod history;
mod info;
mod models;
mod operate;
mod pages;
mod probes;
mod settings;
mod store;

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, patch, post};
use bytes::Bytes;
use haleway_providers::Operation;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use tower::ServiceExt;

use crate::body::Body;
use crate::call::{self, realtime};
use crate::errands;
use crate::error::{ApiError, ErrorShape};
use crate::fleet;
use crate::gateway::Gateway;
pub(crate) use health::endpoints;
pub(crate) use operate::rfc3339;

/// Answers every request of a listener.
#[derive(Clone, Debug)]
pub struct Routes {
    gateway: Arc<Gateway>,
    pages: Router,
}

impl Routes {
    /// The routes of the listener for traffic: everything.
    pub fn all(gateway: &Arc<Gateway>) -> Self {
        Self { gateway: Arc::clone(gateway), pages: pages_of(gateway) }
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if let Some(path) = errands::Path::of(request.uri().path())
            && request.method() != Method::OPTIONS
        {
            // Boxed, so that model calls do not carry its size.
            let mut response = Box::pin(errands::handle(&self.gateway, path, request)).await;
            secure(&mut response);
            return response;
        }
        let target = model_call(request.uri().path())
            .map(|(operation, model)| (operation, model.map(|model| decode(model).into_owned())));
        let mut response = match target {
            Some((operation, model)) if request.method() == Method::POST => {
                call::handle(&self.gateway, operation, model.as_deref(), request).await
            }
            None if realtime::is_path(request.uri().path()) && request.method() == Method::GET => {
                realtime::handle(&self.gateway, request).await
            }
            _ if request.method() == Method::OPTIONS && is_preflight(&request) => preflight(),
            Some(_) => only_post(),
            None => self.page(request).await,
        };
        secure(&mut response);
        response
    }

    /// Answers one request that came while the process drains: no model call begins any more, pages answer as before.
    pub async fn answer_late<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let path = request.uri().path();
        if errands::Path::of(path).is_none() && model_call(path).is_none() && !realtime::is_path(path) {
            return self.answer_page(request).await;
        }
        let mut response = ApiError::shutting_down().into_response(ErrorShape::OpenAi);
        secure(&mut response);
        response
    }

    /// Answers one request to the administrative listener: never a model call.
    pub async fn answer_page<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut response = self.page(request).await;
        secure(&mut response);
        response
    }

    async fn page<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let limit = self.gateway.live.load().max_body;
        let (head, body) = request.into_parts();
        let body = match call::read::body(&head.headers, body, limit).await {
            Ok(bytes) => axum::body::Body::from(bytes),
            Err(error) => return error.into_response(ErrorShape::OpenAi),
        };
        match self.pages.clone().oneshot(Request::from_parts(head, body)).await {
            Ok(response) => response.map(Body::Page),
            Err(never) => match never {},
        }
    }
}

/// The operation that a path names, and the model in it, if any.
///
/// `/v1/chat/completions`, the same without `/v1`, under `/openai/deployments/{model}` and `/engines/{model}`.
fn model_call(path: &str) -> Option<(Operation, Option<&str>)> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let by_body = |operation: &Operation| !operation.keeps_objects() && *operation != Operation::Realtime;
    for operation in Operation::ALL.into_iter().filter(by_body) {
        let Some(rest) = path.strip_suffix(operation.path()) else { continue };
        let rest = rest.strip_suffix("/v1").filter(|rest| !rest.is_empty()).unwrap_or(rest);
        match rest {
            "" | "/v1" | "/openai" | "/openai/v1" => return Some((operation, None)),
            _ => {}
        }
        let model = rest
            .strip_prefix("/openai/deployments/")
            .or_else(|| rest.strip_prefix("/v1/engines/"))
            .or_else(|| rest.strip_prefix("/engines/"));
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            return Some((operation, Some(model)));
        }
    }
    None
}

/// Decodes `%2F` and its like in a path segment.
fn decode(segment: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(segment).decode_utf8_lossy()
}

fn pages_of(gateway: &Arc<Gateway>) -> Router {
    Router::new()
        .merge(probes::routes())
        .route("/health", get(health::health))
        .route("/health/readiness/details", get(health::readiness_details))
        .route("/health/backlog", get(health::backlog))
        .route("/health/license", get(pages::license))
        .route("/health/history", get(history::history))
        .route("/health/latest", get(history::latest))
        .route("/health/shared-status", get(fleet::shared_status))
        .route("/v1/models", get(models::list))
        .route("/models", get(models::list))
        .route("/v1/models/", get(models::list))
        .route("/models/", get(models::list))
        .route("/v1/models/{*id}", get(models::one))
        .route("/models/{*id}", get(models::one))
        .route("/v1/model/info", get(info::deployments))
        .route("/model/info", get(info::deployments))
        .route("/model_group/info", get(info::groups))
        .route("/model/new", post(store::new))
        .route("/model/update", post(store::update))
        .route("/model/{id}/update", patch(store::patch))
        .route("/model/delete", post(store::delete))
        .route("/settings", get(settings::settings))
        .route("/active/callbacks", get(settings::settings))
        .route("/metrics", get(pages::metrics))
        .route("/haleway/deployments", get(operate::deployments))
        .route("/haleway/explain", get(operate::explain))
        .route("/haleway/reload", post(operate::reload))
        .route("/haleway/config", get(settings::config))
        .route("/haleway/fleet", get(fleet::fleet_page))
        .route("/haleway/incidents", get(history::incidents))
        .route("/haleway/audit", get(history::audit))
        .route("/haleway/deployments/{id}/{command}", post(operate::command))
        .fallback(pages::not_found)
        .method_not_allowed_fallback(pages::method_not_allowed)
        .with_state(Arc::clone(gateway))
}

fn is_preflight<B>(request: &Request<B>) -> bool {
    request.headers().contains_key("access-control-request-method")
}

/// LiteLLM's answer to any other method on the path of a model call.
fn only_post() -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::from_static(br#"{"detail":"Method Not Allowed"}"#)));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    let headers = response.headers_mut();
    headers.insert(http::header::ALLOW, HeaderValue::from_static("POST"));
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// What LiteLLM answers to a browser that asks before it calls.
fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::from(Bytes::from_static(b"OK")));
    let headers = response.headers_mut();
    let put = |headers: &mut http::HeaderMap, name: &'static str, value: &'static str| {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    };
    put(headers, "access-control-allow-methods", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
    put(headers, "access-control-allow-headers", "*");
    put(headers, "access-control-max-age", "600");
    put(headers, "content-type", "text/plain; charset=utf-8");
    response
}

/// Headers on every answer.
fn secure(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static("x-frame-options"), HeaderValue::from_static("DENY"));
    headers.insert(
        HeaderName::from_static("content-security-policy"),
        HeaderValue::from_static("frame-ancestors 'none'"),
    );
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("access-control-allow-origin"), HeaderValue::from_static("*"));
}

/// An error of an administrative route.
pub(crate) struct PageError(ApiError);

impl From<ApiError> for PageError {
    fn from(error: ApiError) -> Self {
        Self(error)
    }
}

impl axum::response::IntoResponse for PageError {
    fn into_response(self) -> axum::response::Response {
        self.0.into_response(ErrorShape::OpenAi).map(axum::body::Body::new)
    }
}

/// An error in the shape of LiteLLM's own handlers: `{"detail":{"error":…}}`.
pub(crate) struct Detail(pub(crate) StatusCode, pub(crate) String);

impl axum::response::IntoResponse for Detail {
    fn into_response(self) -> axum::response::Response {
        (self.0, axum::Json(serde_json::json!({"detail": {"error": self.1}}))).into_response()
    }
}

/// A query string; one that cannot be read is answered in the same shape.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T, S> axum::extract::FromRequestParts<S> for Asked<T>
where
    T: serde::de::DeserializeOwned,
    S: Sync,
{
    type Rejection = Detail;

    async fn from_request_parts(parts: &mut http::request::Parts, _: &S) -> Result<Self, Detail> {
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(query) => Ok(Self(query.0)),
            Err(error) => Err(Detail(StatusCode::UNPROCESSABLE_ENTITY, error.body_text())),
        }
    }
}

pub(crate) type Shared = State<Arc<Gateway>>;
