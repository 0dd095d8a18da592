//! IBM Cloud IAM: an API key for a token of one hour.

use bytes::Bytes;
use http::Request;
use secrecy::{ExposeSecret, SecretString};

use super::source::Parts;
use super::{ExchangeError, Fetched, oauth};

/// Where IBM exchanges API keys, unless `WATSONX_IAM_URL` says otherwise.
pub const IAM: &str = "https://iam.cloud.ibm.com/identity/token";

/// An IBM Cloud API key and where it is exchanged.
#[derive(Clone, Debug)]
pub struct IbmSource {
    /// The API key.
    pub api_key: SecretString,
    /// The token service.
    pub url: String,
}

impl IbmSource {
    pub(crate) fn parts(&self, parts: &mut Parts) {
        parts.add(&self.url);
        parts.secret(&self.api_key);
    }

    /// The exchange.
    ///
    /// # Errors
    /// When the address is no URL.
    pub fn request(&self) -> Result<Request<Bytes>, ExchangeError> {
        let key = self.api_key.expose_secret().trim();
        oauth::post(&self.url, &[("grant_type", "urn:ibm:params:oauth:grant-type:apikey"), ("apikey", key)])
    }

    /// Its answer. `now_ms` is in milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// When it is an error, or no token.
    pub fn read(status: u16, body: &[u8], now_ms: u64) -> Result<Fetched, ExchangeError> {
        oauth::token(status, body, now_ms)
    }
}
