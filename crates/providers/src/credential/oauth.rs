//! What the token services of OAuth 2 have in common: forms, and answers with `access_token`.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Uri, header};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;

use super::{Credential, ExchangeError, Fetched, fit_to_show};

/// `application/x-www-form-urlencoded`: every byte but the unreserved ones is escaped.
pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if !out.is_empty() {
            out.push('&');
        }
        out.push_str(&escaped(name));
        out.push('=');
        out.push_str(&escaped(value));
    }
    out
}

/// A query or form value.
pub(crate) fn escaped(text: &str) -> String {
    crate::route::encoded(text).replace('/', "%2F").replace('@', "%40")
}

/// A `POST` of a form.
pub(crate) fn post(url: &str, pairs: &[(&str, &str)]) -> Result<Request<Bytes>, ExchangeError> {
    let mut request = Request::new(Bytes::from(form(pairs)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = address(url)?;
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    request.headers_mut().insert(header::CONTENT_TYPE, kind);
    request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    Ok(request)
}

/// A `GET` with these headers; the last ones may be secret.
pub(crate) fn get(url: &str, headers: &[(&'static str, &str)]) -> Result<Request<Bytes>, ExchangeError> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = address(url)?;
    for (name, value) in headers {
        let mut value = HeaderValue::from_str(value.trim()).map_err(|_| {
            ExchangeError::unreadable(format!("the value for {name} cannot be part of a header"))
        })?;
        value.set_sensitive(true);
        request.headers_mut().insert(*name, value);
    }
    Ok(request)
}

/// An absolute URL. Its text is not shown: some hold secrets.
pub(crate) fn address(url: &str) -> Result<Uri, ExchangeError> {
    url.trim()
        .parse::<Uri>()
        .ok()
        .filter(|uri| uri.host().is_some() && uri.scheme().is_some())
        .ok_or_else(|| ExchangeError::unreadable("the address of the token service is no URL"))
}

/// A count of seconds that some services write as text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(f64),
    Text(String),
}

impl Seconds {
    fn value(&self) -> Option<u64> {
        let number = match self {
            Self::Number(number) => *number,
            Self::Text(text) => text.trim().parse().ok()?,
        };
        // Negative and broken numbers are no moment; huge ones saturate.
        (number >= 0.0).then_some(number as u64)
    }
}

#[derive(Deserialize)]
struct Answer {
    access_token: SecretString,
    #[serde(default)]
    expires_in: Option<Seconds>,
    #[serde(default)]
    expires_on: Option<Seconds>,
    #[serde(default)]
    expiration: Option<Seconds>,
}

/// Reads the answer of a token service: `access_token` with `expires_in` (seconds from now), or `expires_on` or
/// `expiration` (seconds since the epoch).
pub(crate) fn token(status: u16, body: &[u8], now_ms: u64) -> Result<Fetched, ExchangeError> {
    if !(200..300).contains(&status) {
        return Err(refused(status, body));
    }
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|_| ExchangeError::unreadable("the answer holds no access_token"))?;
    let at = |seconds: &Option<Seconds>| seconds.as_ref().and_then(Seconds::value);
    let in_seconds =
        at(&answer.expires_in).map(|seconds| now_ms.saturating_add(seconds.saturating_mul(1000)));
    let moment =
        at(&answer.expires_on).or(at(&answer.expiration)).map(|seconds| seconds.saturating_mul(1000));
    Ok(Fetched {
        credential: Credential::bearer(&answer.access_token)?,
        expires_at_ms: in_seconds.or(moment),
    })
}

/// An error answer, in any of the shapes that token services use.
pub(crate) fn refused(status: u16, body: &[u8]) -> ExchangeError {
    let value: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let text = |names: &[&str]| {
        names.iter().find_map(|name| value.pointer(name)).and_then(Value::as_str).map(fit_to_show)
    };
    // Google and Entra: `error` is the code; IBM and AWS: a code of its own; Google's APIs: an object.
    let code = text(&["/error", "/errorCode", "/code", "/Code", "/error/status", "/__type"]);
    let message = text(&["/error_description", "/errorMessage", "/message", "/Message", "/error/message"]);
    ExchangeError::Refused {
        status,
        code: code.filter(|code| !code.is_empty()),
        message: message.unwrap_or_default(),
    }
}

/// Reads a token of a workload's identity out of a file or an answer: bare text, or a member of a JSON object.
///
/// # Errors
/// When there is none.
pub fn web_token(text: &[u8], member: Option<&str>) -> Result<SecretString, ExchangeError> {
    let missing = || ExchangeError::unreadable("there is no identity token where one is promised");
    let found = match member {
        None => std::str::from_utf8(text).map_err(|_| missing())?.trim().to_owned(),
        Some(member) => {
            let value: Value = serde_json::from_slice(text).map_err(|_| missing())?;
            value.get(member).and_then(Value::as_str).ok_or_else(missing)?.to_owned()
        }
    };
    if found.is_empty() { Err(missing()) } else { Ok(SecretString::from(found)) }
}
