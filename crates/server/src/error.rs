//! Every refusal and failure that a caller sees, and the one place that turns it into HTTP.
//!
//! The shape is LiteLLM's: `{"error":{"message","type","param","code"}}` with `code` a string, to which
//! `class` is added: a stable word for the cause, the same that metrics and explanations use. Messages say what
//! the caller can do; they never carry configuration, keys or upstream addresses.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use haleway_wire::error_body::ErrorBody;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde_json::Value;

use crate::body::Body;

/// A refusal or failure on its way to the caller. Boxed: results that carry one stay small.
#[derive(Debug, Clone)]
pub struct ApiError(Box<Facts>);

#[derive(Debug, Clone)]
struct Facts {
    status: StatusCode,
    kind: Cow<'static, str>,
    class: &'static str,
    message: String,
    param: Option<&'static str>,
    code: Option<Cow<'static, str>>,
    retry_after: Option<Duration>,
    headers: HeaderMap,
    detail: Option<Value>,
}

/// Which error shape the caller's client understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorShape {
    /// `{"error":{…}}`
    OpenAi,
    /// `{"type":"error","error":{…}}`
    Anthropic,
    /// `{"type":"error","code","message","param","error":{…}}`: the event in a stream of OpenAI responses. Its own members
    /// are the documented ones; by `error`, OpenAI's SDKs raise.
    ResponseEvent,
}

impl ApiError {
    /// An error of `kind` (LiteLLM's `type`) and `class` (ours).
    pub fn new(
        status: StatusCode,
        kind: impl Into<Cow<'static, str>>,
        class: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self(Box::new(Facts {
            status,
            kind: kind.into(),
            class,
            message: message.into(),
            param: None,
            code: None,
            retry_after: None,
            headers: HeaderMap::new(),
            detail: None,
        }))
    }

    /// 400: the request itself is wrong.
    pub fn invalid(message: impl Into<String>, param: Option<&'static str>) -> Self {
        let mut error = Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", "bad_request", message);
        error.0.param = param;
        error
    }

    /// 503: this process ends; another one serves.
    pub(crate) fn shutting_down() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "service_unavailable_error",
            "gateway_limit",
            "The gateway is shutting down and begins nothing new.",
        )
        .with_retry_after(Some(Duration::from_secs(1)))
    }

    /// 401: no key, or not a valid one.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "auth_error", "gateway_auth", message)
    }

    /// 403: the key may not do this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "auth_error", "not_allowed", message)
    }

    /// 413: the body is larger than the gateway accepts.
    pub fn too_large(limit: usize) -> Self {
        let mut error = Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "invalid_request_error",
            "body_too_large",
            format!("The request body is larger than {limit} bytes (general_settings.max_request_size_mb)."),
        );
        error.0.param = Some("request_body");
        error
    }

    /// 500: a fault of the gateway itself.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_server_error", "local", message)
    }

    /// Sets `error.code`; without it the code is the status.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Tells the caller when to come back.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Option<Duration>) -> Self {
        self.0.retry_after = wait;
        self
    }

    /// Adds machine-readable detail under `error.haleway`.
    #[must_use]
    pub fn with_detail(mut self, detail: Value) -> Self {
        self.0.detail = Some(detail);
        self
    }

    /// Adds members to the detail under `error.haleway`; those that are there stay.
    pub(crate) fn add_detail(&mut self, members: serde_json::Map<String, Value>) {
        let detail = self.0.detail.get_or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Value::Object(detail) = detail {
            for (name, value) in members {
                detail.entry(name).or_insert(value);
            }
        }
    }

    /// Names the member of the request at fault.
    pub(crate) fn set_param(&mut self, param: &'static str) {
        self.0.param = Some(param);
    }

    /// Headers to send along.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        &mut self.0.headers
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.0.status.as_u16()
    }

    /// The stable word for the cause.
    pub fn class(&self) -> &'static str {
        self.0.class
    }

    /// The text for the caller.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The body in the shape that the caller's client understands.
    pub fn to_json(&self, shape: ErrorShape) -> Bytes {
        let Facts { status, kind, class, message, param, code, detail, .. } = &*self.0;
        let body = ErrorBody {
            message,
            kind,
            param: *param,
            code: code.as_deref().unwrap_or(status.as_str()),
            extra: &[],
        };
        match shape {
            ErrorShape::OpenAi | ErrorShape::ResponseEvent => {
                let mut extra = vec![("class", Value::from(*class))];
                extra.extend(detail.clone().map(|detail| ("haleway", detail)));
                let bytes = ErrorBody { extra: &extra, ..body.clone() }.to_bytes();
                if shape == ErrorShape::OpenAi { bytes } else { response_event(&body, &bytes) }
            }
            ErrorShape::Anthropic => {
                let extra: Vec<_> = detail.iter().map(|detail| ("haleway", detail.clone())).collect();
                ErrorBody { kind: anthropic_kind(*status), extra: &extra, ..body }.to_anthropic_bytes()
            }
        }
    }

    /// The whole response.
    pub fn into_response(self, shape: ErrorShape) -> Response<Body> {
        let mut response = Response::new(Body::from(self.to_json(shape)));
        *response.status_mut() = self.0.status;
        *response.headers_mut() = self.0.headers;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(wait) = self.0.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
        }
        response
    }
}

/// Seconds for `Retry-After`: rounded up, at least 1, because 0 invites a caller back at once.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_millis().div_ceil(1000).max(1).try_into().unwrap_or(u64::MAX)
}

fn response_event(body: &ErrorBody<'_>, whole: &[u8]) -> Bytes {
    let whole: Value = serde_json::from_slice(whole).unwrap_or_default();
    let event = serde_json::json!({
        "type": "error",
        "code": body.code,
        "message": body.message,
        "param": body.param,
        "error": whole.get("error"),
    });
    event.to_string().into()
}

fn anthropic_kind(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 | 413 | 422 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_openai_shape_is_litellms_with_a_class() {
        let error = ApiError::invalid("no", Some("messages"));
        let json: Value = serde_json::from_slice(&error.to_json(ErrorShape::OpenAi)).unwrap();
        assert_eq!(
            json,
            serde_json::json!({"error": {"message": "no", "type": "invalid_request_error", "param": "messages", "code": "400", "class": "bad_request"}})
        );
    }

    #[test]
    fn retry_after_is_rounded_up_and_never_zero() {
        for (millis, header) in [(0, "1"), (1, "1"), (1000, "1"), (1001, "2"), (12_000, "12")] {
            let response = ApiError::internal("x")
                .with_retry_after(Some(Duration::from_millis(millis)))
                .into_response(ErrorShape::OpenAi);
            assert_eq!(response.headers()[RETRY_AFTER], header);
        }
    }
}
