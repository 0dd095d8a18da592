//! The services beside a workload: the metadata service of an instance (version 2, with its session token) and the
//! credential service of a container (ECS, and EKS pod identities).

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::Spelt;
use crate::credential::source::Parts;
use crate::credential::{ExchangeError, Fetched, TokenOrigin, oauth};

/// How long a session with the metadata service lasts, in seconds: its maximum.
const SESSION: &str = "21600";
const ROLES: &str = "/latest/meta-data/iam/security-credentials/";

/// The credential service of a container.
#[derive(Clone, Debug)]
pub struct Container {
    /// Its address.
    pub url: String,
    /// What it wants to see.
    pub authorization: Option<TokenOrigin>,
}

impl Container {
    /// Whether keys may be asked for at this address: over TLS, or at one of the addresses that never leave the host.
    pub fn is_near(url: &str) -> bool {
        let Ok(uri) = oauth::address(url) else { return false };
        let host = uri.host().unwrap_or("").trim_matches(['[', ']']);
        uri.scheme_str() == Some("https")
            || matches!(host, "localhost" | "::1" | "169.254.170.2" | "169.254.170.23" | "fd00:ec2::23")
            || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
    }

    pub(super) fn parts(&self, parts: &mut Parts) {
        parts.add_all(&["container", &self.url]);
        if let Some(origin) = &self.authorization {
            origin.parts(parts);
        }
    }

    /// The exchange, with what [`Container::authorization`] holds.
    ///
    /// # Errors
    /// When the address is no URL or the authorization cannot be sent.
    pub fn request(&self, authorization: Option<&SecretString>) -> Result<Request<Bytes>, ExchangeError> {
        match authorization {
            Some(text) => oauth::get(&self.url, &[("authorization", text.expose_secret())]),
            None => oauth::get(&self.url, &[]),
        }
    }
}

/// Asks an instance's metadata service for a session.
///
/// # Errors
/// When the address is no URL.
pub fn instance_token(endpoint: &str) -> Result<Request<Bytes>, ExchangeError> {
    let mut request = oauth::get(&at(endpoint, "/latest/api/token"), &[])?;
    *request.method_mut() = Method::PUT;
    request.headers_mut().insert("x-aws-ec2-metadata-token-ttl-seconds", HeaderValue::from_static(SESSION));
    Ok(request)
}

/// Asks for the name of the instance's role.
///
/// # Errors
/// When the address is no URL or the session cannot be sent.
pub fn instance_role(endpoint: &str, session: &SecretString) -> Result<Request<Bytes>, ExchangeError> {
    oauth::get(&at(endpoint, ROLES), &[("x-aws-ec2-metadata-token", session.expose_secret())])
}

/// Asks for the keys of a role.
///
/// # Errors
/// When the address is no URL or the session cannot be sent.
pub fn instance_keys(
    endpoint: &str,
    session: &SecretString,
    role: &str,
) -> Result<Request<Bytes>, ExchangeError> {
    let url = format!("{}{}", at(endpoint, ROLES), oauth::escaped(role));
    oauth::get(&url, &[("x-aws-ec2-metadata-token", session.expose_secret())])
}

fn at(endpoint: &str, path: &str) -> String {
    format!("{}{path}", endpoint.trim_end_matches('/'))
}

/// The session out of the answer to [`instance_token`].
///
/// # Errors
/// When the answer is an error or empty.
pub fn token_text(status: u16, body: &[u8]) -> Result<SecretString, ExchangeError> {
    line(status, body).map(SecretString::from)
}

/// The role's name out of the answer to [`instance_role`]: the first line.
///
/// # Errors
/// When the instance has no role.
pub fn role_name(status: u16, body: &[u8]) -> Result<String, ExchangeError> {
    line(status, body)
}

fn line(status: u16, body: &[u8]) -> Result<String, ExchangeError> {
    if !(200..300).contains(&status) {
        return Err(ExchangeError::Refused { status, code: None, message: String::new() });
    }
    std::str::from_utf8(body)
        .ok()
        .and_then(|text| text.lines().next())
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| ExchangeError::unreadable("the metadata service answered nothing"))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default)]
    code: Option<String>,
    access_key_id: String,
    secret_access_key: SecretString,
    #[serde(default)]
    token: Option<SecretString>,
    #[serde(default)]
    expiration: Option<String>,
}

/// The keys out of the answer of an instance or a container.
///
/// # Errors
/// When the answer is an error or holds no keys.
pub fn keys_answer(status: u16, body: &[u8]) -> Result<Fetched, ExchangeError> {
    if !(200..300).contains(&status) {
        return Err(oauth::refused(status, body));
    }
    let answer: Answer =
        serde_json::from_slice(body).map_err(|_| ExchangeError::unreadable("the answer holds no keys"))?;
    if answer.code.as_deref().is_some_and(|code| code != "Success") {
        return Err(oauth::refused(status, body));
    }
    Spelt {
        access_key: answer.access_key_id,
        secret: answer.secret_access_key,
        token: answer.token,
        expiration: answer.expiration,
    }
    .fetched()
}
