//! The signed statement of a service account: a JWT with RS256.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::{SCOPE, ServiceAccount};
use crate::credential::ExchangeError;

/// How long the statement holds, in seconds: the longest that Google takes.
const LIFE: u64 = 3600;

/// The statement of `account` that it asks for a token. `now` is in seconds since the Unix epoch.
pub(super) fn statement(account: &ServiceAccount, now: u64) -> Result<SecretString, ExchangeError> {
    let mut head = Map::new();
    head.insert("alg".to_owned(), "RS256".into());
    head.insert("typ".to_owned(), "JWT".into());
    if let Some(id) = &account.private_key_id {
        head.insert("kid".to_owned(), id.as_str().into());
    }
    let claims = json!({
        "iss": account.client_email,
        "scope": SCOPE,
        "aud": account.token_uri,
        "iat": now,
        "exp": now + LIFE,
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&Value::Object(head)), part(&claims));
    let pair = key_pair(&account.private_key)?;
    let mut signature = vec![0; pair.public().modulus_len()];
    // The padding of RS256 takes no random bits: the same statement always has the same signature.
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| ExchangeError::unreadable("private_key cannot sign"))?;
    Ok(SecretString::from(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

/// The key of a PEM text, in either of the two forms in use.
fn key_pair(pem: &SecretString) -> Result<RsaKeyPair, ExchangeError> {
    let wrong = || ExchangeError::unreadable("private_key is no RSA key in PEM");
    let text = pem.expose_secret();
    let (_, rest) = text.split_once("-----BEGIN ").ok_or_else(wrong)?;
    let (label, rest) = rest.split_once("-----").ok_or_else(wrong)?;
    let (body, _) = rest.split_once("-----END ").ok_or_else(wrong)?;
    // Written inside JSON inside an environment variable, line ends are often escaped twice.
    let body: String = body.replace("\\n", "").chars().filter(|c| !c.is_whitespace()).collect();
    let der = STANDARD.decode(body).map_err(|_| wrong())?;
    match label {
        "PRIVATE KEY" => RsaKeyPair::from_pkcs8(&der),
        "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der),
        _ => return Err(wrong()),
    }
    .map_err(|_| wrong())
}
