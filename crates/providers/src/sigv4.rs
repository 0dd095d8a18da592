//! AWS Signature Version 4 as pure code: the keys and the time of the call are given.
//!
//! A signature holds for minutes, so a call is signed when it becomes a request
//! ([`crate::Call::into_request`]), not when it is built. What is signed: method, path, query, `content-type`,
//! `host`, the date, the session token, and the body's digest. The path on the wire is percent-encoded once;
//! the signed one once more, as every AWS service but S3 wants it.

use std::fmt;
use std::sync::Arc;

use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

#[cfg(test)]
mod tests;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

/// The keys of one identity.
#[derive(Clone)]
pub struct AwsKeys {
    pub(crate) access_key: String,
    pub(crate) secret: SecretString,
    pub(crate) token: Option<SecretString>,
    /// The token as a header.
    token_header: Option<HeaderValue>,
}

impl PartialEq for AwsKeys {
    fn eq(&self, other: &Self) -> bool {
        self.access_key == other.access_key
            && self.secret.expose_secret() == other.secret.expose_secret()
            && self.token_header == other.token_header
    }
}

impl Eq for AwsKeys {}

impl fmt::Debug for AwsKeys {
    /// Nothing of the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsKeys").finish_non_exhaustive()
    }
}

impl AwsKeys {
    /// An access key, its secret, and the token of a temporary one.
    ///
    /// # Errors
    /// With the name of the part that cannot be sent.
    pub fn new(
        access_key: &str,
        secret: SecretString,
        token: Option<SecretString>,
    ) -> Result<Self, &'static str> {
        if !legal(access_key) {
            return Err("aws_access_key_id");
        }
        let token_header = match &token {
            None => None,
            Some(token) => {
                let mut value =
                    HeaderValue::from_str(token.expose_secret().trim()).map_err(|_| "aws_session_token")?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Self { access_key: access_key.to_owned(), secret, token, token_header })
    }
}

/// The place a signature is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) region: String,
    pub(crate) service: &'static str,
}

/// What signs the calls of a deployment.
#[derive(Clone, Debug)]
pub(crate) struct Signer {
    /// The place that is signed for.
    pub(crate) place: Place,
    /// The deployment's own keys; `None` when they are fetched.
    pub(crate) keys: Option<Arc<AwsKeys>>,
}

impl Signer {
    /// Signs with `fetched`, else with the deployment's own keys.
    pub(crate) fn sign(
        &self,
        fetched: Option<&AwsKeys>,
        method: &Method,
        uri: &Uri,
        headers: &mut HeaderMap,
        body: &[u8],
        now: u64,
    ) {
        if let Some(keys) = fetched.or(self.keys.as_deref()) {
            self.place.sign(keys, method, uri, headers, body, now);
        }
    }
}

/// Whether a text can be part of a credential scope.
pub(crate) fn legal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

impl Place {
    /// Puts the date, the session token and the signature into `headers`. `now` is in seconds since the Unix
    /// epoch.
    pub(crate) fn sign(
        &self,
        keys: &AwsKeys,
        method: &Method,
        uri: &Uri,
        headers: &mut HeaderMap,
        body: &[u8],
        now: u64,
    ) {
        let date = amz_date(now);
        if let Ok(value) = HeaderValue::from_str(&date) {
            headers.insert(DATE, value);
        }
        if let Some(token) = &keys.token_header {
            headers.insert(TOKEN, token.clone());
        }
        let (canonical, signed) = canonical(method, uri, headers, body);
        let signature = self.signature(keys, &date, &canonical);
        let scope = self.scope(&date);
        let text = format!(
            "{ALGORITHM} Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}",
            keys.access_key
        );
        if let Ok(mut value) = HeaderValue::from_str(&text) {
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
    }

    fn scope(&self, date: &str) -> String {
        let day = date.get(..8).unwrap_or(date);
        format!("{day}/{}/{}/aws4_request", self.region, self.service)
    }

    fn string_to_sign(&self, date: &str, canonical: &str) -> String {
        let digest = hex(&Sha256::digest(canonical.as_bytes()));
        format!("{ALGORITHM}\n{date}\n{}\n{digest}", self.scope(date))
    }

    fn signature(&self, keys: &AwsKeys, date: &str, canonical: &str) -> String {
        let mut key = format!("AWS4{}", keys.secret.expose_secret()).into_bytes();
        let day = date.get(..8).unwrap_or(date);
        for part in [day, &self.region, self.service, "aws4_request"] {
            key = hmac(&key, part.as_bytes());
        }
        hex(&hmac(&key, self.string_to_sign(date, canonical).as_bytes()))
    }
}

/// The canonical request, and the names of the signed headers.
fn canonical(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> (String, String) {
    let mut lines = String::new();
    let mut names: Vec<&str> = Vec::with_capacity(4);
    let host = host(uri);
    let mut add = |name: &'static str, value: Option<&str>| {
        if let Some(value) = value {
            lines.push_str(&format!(
                "{name}:{}\n",
                value.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
            ));
            names.push(name);
        }
    };
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    // In the order of their names.
    add("content-type", text(&header::CONTENT_TYPE));
    add("host", Some(&host));
    add("x-amz-date", text(&DATE));
    add("x-amz-security-token", text(&TOKEN));
    let signed = names.join(";");
    let path = match uri.path() {
        "" => "/".to_owned(),
        path => crate::route::encoded(path),
    };
    let digest = hex(&Sha256::digest(body));
    (format!("{method}\n{path}\n{}\n{lines}\n{signed}\n{digest}", query(uri)), signed)
}

/// The pairs of the query in order. They are percent-encoded already.
fn query(uri: &Uri) -> String {
    let mut pairs: Vec<(&str, &str)> = uri
        .query()
        .unwrap_or("")
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .collect();
    pairs.sort_unstable();
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// The `host` header as the client sends it: with the port, unless it is the scheme's own.
fn host(uri: &Uri) -> String {
    let host = uri.host().unwrap_or("");
    match (uri.port_u16(), uri.scheme_str()) {
        (None, _) | (Some(443), Some("https")) | (Some(80), Some("http")) => host.to_owned(),
        (Some(port), _) => format!("{host}:{port}"),
    }
}

fn amz_date(now: u64) -> String {
    let now = i64::try_from(now).ok().and_then(|now| jiff::Timestamp::from_second(now).ok());
    now.unwrap_or(jiff::Timestamp::UNIX_EPOCH).strftime("%Y%m%dT%H%M%SZ").to_string()
}

fn hmac(key: &[u8], data: &[u8]) -> Vec<u8> {
    // A key of any length is legal: the error cannot occur, and an empty one would only sign wrongly.
    Hmac::<Sha256>::new_from_slice(key).map_or_else(
        |_| Vec::new(),
        |mut mac| {
            mac.update(data);
            mac.finalize().into_bytes().to_vec()
        },
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        for nibble in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
        }
        out
    })
}
