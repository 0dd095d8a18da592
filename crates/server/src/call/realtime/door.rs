//! The caller's side of a handshake: what makes it one, whose key it carries, and how it is answered.

use std::borrow::Cow;

use http::header::{
    AUTHORIZATION, CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::body::Body;
use crate::error::ApiError;

/// How browsers, which cannot set headers, present a key.
const KEY_PROTOCOL: &str = "openai-insecure-api-key.";
/// The protocol that is spoken.
const PROTOCOL: &str = "realtime";

/// A caller that waits for the answer to its handshake.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) upgrade: OnUpgrade,
    accept: HeaderValue,
    speaks: bool,
}

impl Door {
    /// The caller of `request`.
    ///
    /// # Errors
    /// 426 when the request is no handshake of a WebSocket.
    pub(crate) fn of<B>(request: &mut Request<B>) -> Result<Self, ApiError> {
        let headers = request.headers();
        let says = |name, word: &str| words(headers, &name).any(|said| said.eq_ignore_ascii_case(word));
        let asked =
            says(UPGRADE, "websocket") && says(CONNECTION, "upgrade") && says(SEC_WEBSOCKET_VERSION, "13");
        let accept = headers
            .get(SEC_WEBSOCKET_KEY)
            .filter(|_| asked)
            .and_then(|key| HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok());
        let Some(accept) = accept else {
            let mut error = ApiError::new(
                StatusCode::UPGRADE_REQUIRED,
                "invalid_request_error",
                "bad_request",
                "A realtime session begins with the handshake of a WebSocket (version 13).",
            );
            error.headers_mut().insert(UPGRADE, HeaderValue::from_static("websocket"));
            error.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            return Err(error);
        };
        let speaks = words(headers, &SEC_WEBSOCKET_PROTOCOL).any(|said| said == PROTOCOL);
        Ok(Self { upgrade: hyper::upgrade::on(request), accept, speaks })
    }

    /// The answer that opens the session.
    pub(crate) fn opened(&self, mut headers: HeaderMap) -> Response<Body> {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept.clone());
        if self.speaks {
            headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *response.headers_mut() = headers;
        response
    }
}

/// `headers`, with the key that a browser put among its protocols where a key belongs.
pub(crate) fn credentials(headers: &HeaderMap) -> Cow<'_, HeaderMap> {
    let key = words(headers, &SEC_WEBSOCKET_PROTOCOL).find_map(|said| said.strip_prefix(KEY_PROTOCOL));
    let value = key
        .filter(|_| !headers.contains_key(AUTHORIZATION))
        .and_then(|key| HeaderValue::from_str(&format!("Bearer {key}")).ok());
    let Some(mut value) = value else { return Cow::Borrowed(headers) };
    value.set_sensitive(true);
    let mut headers = headers.clone();
    headers.insert(AUTHORIZATION, value);
    Cow::Owned(headers)
}

/// The words of a header that holds a list.
fn words<'h>(headers: &'h HeaderMap, name: &http::HeaderName) -> impl Iterator<Item = &'h str> {
    let values = headers.get_all(name).into_iter();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',').map(str::trim))
}
