//! Credentials that must be fetched: what a deployment's credential is got from, and what each exchange says.
//!
//! [`crate::resolve`] decides *from where* a credential comes ([`CredentialSource`]): that is configuration. Getting it
//! takes files, clocks and calls, which belong to the caller. Here are the two pure halves of every exchange, the
//! request and the reading of its answer, so that each can be compared with what the clouds document.
//!
//! A credential that came ([`Credential`]) goes into a call when the call becomes a request
//! ([`crate::Call::into_request`]), on the one road of traffic and probes.

pub mod aws;
pub mod azure;
pub mod google;
pub mod ibm;
mod oauth;
mod source;
#[cfg(test)]
mod tests;

pub(crate) use oauth::escaped as query_value;
pub use oauth::web_token;
pub use source::{CredentialSource, SourceId, TokenOrigin};

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

pub use crate::sigv4::AwsKeys;

/// What a call is authorised with, beside the headers that never change.
#[derive(Clone, Default)]
pub enum Credential {
    /// Nothing: the deployment's own headers, or its own key pair, hold it.
    #[default]
    Configured,
    /// The value of the `authorization` header, marked sensitive.
    Bearer(HeaderValue),
    /// The keys that sign the call.
    Aws(Arc<AwsKeys>),
}

impl Credential {
    /// A bearer token.
    ///
    /// # Errors
    /// When the token cannot be part of a header.
    pub fn bearer(token: &SecretString) -> Result<Self, ExchangeError> {
        let text = SecretString::from(format!("Bearer {}", token.expose_secret().trim()));
        let mut value = HeaderValue::from_str(text.expose_secret())
            .map_err(|_| ExchangeError::unreadable("the token cannot be part of a header"))?;
        value.set_sensitive(true);
        Ok(Self::Bearer(value))
    }
}

impl fmt::Debug for Credential {
    /// The kind, never the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Configured => "Configured",
            Self::Bearer(_) => "Bearer([redacted])",
            Self::Aws(_) => "Aws([redacted])",
        })
    }
}

/// What an exchange brought.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The credential.
    pub credential: Credential,
    /// When it ends, in milliseconds since the Unix epoch; `None` when nobody said that it does.
    pub expires_at_ms: Option<u64>,
}

/// Whether an answer says that the credential itself, not what it may do, is no longer accepted: worth a fresh one.
pub fn is_rejected(status: u16, headers: &HeaderMap) -> bool {
    // AWS answers 403 and names the kind in a header.
    let kind = headers.get("x-amzn-errortype").and_then(|value| value.to_str().ok()).unwrap_or("");
    let expired = ["ExpiredToken", "UnrecognizedClient", "InvalidClientTokenId"];
    status == 401 || (status == 403 && expired.iter().any(|name| kind.starts_with(name)))
}

/// Why an exchange brought nothing. The text holds no part of a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// The token service answered with an error.
    #[error("the token service answered HTTP {status}{}", said(code, message))]
    Refused {
        /// The status.
        status: u16,
        /// Its machine-readable code, when it gave one.
        code: Option<String>,
        /// Its words, bounded and without secrets.
        message: String,
    },
    /// An answer or a file is not what is promised there.
    #[error("{0}")]
    Unreadable(String),
    /// What is asked for is not spoken by this version.
    #[error("{0}")]
    Unsupported(String),
}

impl ExchangeError {
    pub(crate) fn unreadable(what: impl Into<String>) -> Self {
        Self::Unreadable(what.into())
    }
}

fn said(code: &Option<String>, message: &str) -> String {
    match (code, message) {
        (None, "") => String::new(),
        (Some(code), "") => format!(": {code}"),
        (None, message) => format!(": {message}"),
        (Some(code), message) => format!(": {code}: {message}"),
    }
}

/// A token service's own words, fit to be shown: short, one line, without anything that looks like a key.
pub(crate) fn fit_to_show(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect();
    crate::classify::redact(&line).trim().to_owned()
}
