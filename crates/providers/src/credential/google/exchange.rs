//! The exchanges: what each kind of credential asks for, and of whom.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, header};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::{Federated, SCOPE, ServiceAccount, User, jwt};
use crate::credential::{Credential, ExchangeError, Fetched, oauth};

/// How long the token of an impersonated account is asked to live.
const LIFE: &str = "3600s";

/// A service account's signed statement for a token. `now_ms` is in milliseconds since the Unix epoch.
///
/// # Errors
/// When its key cannot sign or the token service's address is no URL.
pub fn service_account_request(
    account: &ServiceAccount,
    now_ms: u64,
) -> Result<Request<Bytes>, ExchangeError> {
    let statement = jwt::statement(account, now_ms / 1000)?;
    oauth::post(
        &account.token_uri,
        &[
            ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
            ("assertion", statement.expose_secret()),
        ],
    )
}

/// A user's refresh token for a token.
///
/// # Errors
/// When the token service's address is no URL.
pub fn user_request(user: &User) -> Result<Request<Bytes>, ExchangeError> {
    oauth::post(
        &user.token_uri,
        &[
            ("grant_type", "refresh_token"),
            ("client_id", &user.client_id),
            ("client_secret", user.client_secret.expose_secret()),
            ("refresh_token", user.refresh_token.expose_secret()),
        ],
    )
}

/// The machine's own token.
///
/// # Errors
/// When the metadata server's name makes no URL.
pub fn machine_request(metadata: &str) -> Result<Request<Bytes>, ExchangeError> {
    let url = format!("http://{metadata}/computeMetadata/v1/instance/service-accounts/default/token");
    oauth::get(&url, &[("metadata-flavor", "Google")])
}

/// Another issuer's token for Google's.
///
/// # Errors
/// When the exchange's address is no URL.
pub fn federated_request(
    federated: &Federated,
    token: &SecretString,
) -> Result<Request<Bytes>, ExchangeError> {
    oauth::post(
        &federated.token_url,
        &[
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", &federated.audience),
            ("scope", SCOPE),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token_type", &federated.token_type),
            ("subject_token", token.expose_secret()),
        ],
    )
}

/// The answer to [`federated_request`].
///
/// # Errors
/// When it is an error, or no token.
pub fn federated_answer(status: u16, body: &[u8], now_ms: u64) -> Result<Fetched, ExchangeError> {
    oauth::token(status, body, now_ms)
}

/// Asks for the token of a service account that `credential` speaks for.
///
/// # Errors
/// When the address is no URL.
pub fn impersonated_request(
    url: &str,
    delegates: &[String],
    credential: &Credential,
) -> Result<Request<Bytes>, ExchangeError> {
    let body = json!({ "scope": [SCOPE], "delegates": delegates, "lifetime": LIFE });
    let mut request = Request::new(Bytes::from(body.to_string()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = oauth::address(url)?;
    let headers = request.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Credential::Bearer(value) = credential {
        headers.insert(header::AUTHORIZATION, value.clone());
    }
    Ok(request)
}

/// The answer to [`impersonated_request`].
///
/// # Errors
/// When it is an error, or no token.
pub fn impersonated_answer(status: u16, body: &[u8]) -> Result<Fetched, ExchangeError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        access_token: SecretString,
        expire_time: String,
    }
    if !(200..300).contains(&status) {
        return Err(oauth::refused(status, body));
    }
    let unreadable = || ExchangeError::unreadable("the answer holds no accessToken with its expireTime");
    let answer: Answer = serde_json::from_slice(body).map_err(|_| unreadable())?;
    let end: jiff::Timestamp = answer.expire_time.parse().map_err(|_| unreadable())?;
    Ok(Fetched {
        credential: Credential::bearer(&answer.access_token)?,
        expires_at_ms: u64::try_from(end.as_millisecond()).ok(),
    })
}

/// The answer to [`service_account_request`], [`user_request`] and [`machine_request`]. `now_ms` is in milliseconds
/// since the Unix epoch.
///
/// # Errors
/// When it is an error, or no token.
pub fn read(status: u16, body: &[u8], now_ms: u64) -> Result<Fetched, ExchangeError> {
    oauth::token(status, body, now_ms)
}
