//! Who may call: the master key, in any of the four headers that LiteLLM's clients use.
//!
//! A missing, malformed or wrong key always answers 401 with one short text, on every path, so that an answer
//! tells a stranger nothing (reports J06, J07).

use http::HeaderMap;
use http::header::AUTHORIZATION;
use secrecy::{ExposeSecret, SecretString};

use crate::error::ApiError;

/// What a request must present.
#[derive(Debug, Clone)]
pub struct KeyCheck {
    master: Option<SecretString>,
    custom_header: Option<http::HeaderName>,
}

/// What a caller was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// Presented the master key: may also operate the gateway.
    Admin,
    /// No key is configured: may call models and read, but not operate the gateway.
    Anyone,
}

impl KeyCheck {
    /// A check against `master`; without one everybody may call.
    pub fn new(master: Option<SecretString>, custom_header: Option<http::HeaderName>) -> Self {
        Self { master, custom_header }
    }

    /// Admits or refuses the bearer of `headers`.
    ///
    /// # Errors
    /// 401 `auth_error` when a key is required and none, a malformed or a wrong one is presented.
    pub fn admit(&self, headers: &HeaderMap) -> Result<Caller, ApiError> {
        let Some(master) = &self.master else { return Ok(Caller::Anyone) };
        match self.presented(headers) {
            Presented::Key(key) if same(key, master.expose_secret().as_bytes()) => Ok(Caller::Admin),
            Presented::Malformed => Err(ApiError::unauthorized(
                "Authentication Error, Malformed API Key passed in. Ensure Key has `Bearer ` prefix.",
            )),
            Presented::Key(_) => Err(ApiError::unauthorized(
                "Authentication Error, the API key is not valid. Send it as `Authorization: Bearer <key>`.",
            )),
            Presented::Nothing => Err(ApiError::unauthorized("Authentication Error, No api key passed in.")),
        }
    }

    /// Admits only the bearer of the master key.
    ///
    /// # Errors
    /// As [`KeyCheck::admit`]; 403 when no master key is configured, because then nobody can prove to be the
    /// operator.
    pub fn admit_admin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        match self.admit(headers)? {
            Caller::Admin => Ok(()),
            Caller::Anyone => Err(ApiError::forbidden(
                "This operation needs a master key: set general_settings.master_key and present it.",
            )),
        }
    }

    fn presented<'h>(&self, headers: &'h HeaderMap) -> Presented<'h> {
        if let Some(value) = self.custom_header.as_ref().and_then(|name| headers.get(name)) {
            return Presented::Key(strip_bearer(value.as_bytes()).unwrap_or(value.as_bytes()));
        }
        if let Some(value) = headers.get("x-litellm-api-key") {
            return Presented::Key(strip_bearer(value.as_bytes()).unwrap_or(value.as_bytes()));
        }
        if let Some(value) = headers.get(AUTHORIZATION) {
            return strip_bearer(value.as_bytes()).map_or(Presented::Malformed, Presented::Key);
        }
        ["api-key", "x-api-key", "x-goog-api-key"]
            .iter()
            .find_map(|name| headers.get(*name))
            .map_or(Presented::Nothing, |value| Presented::Key(value.as_bytes()))
    }
}

enum Presented<'h> {
    Key(&'h [u8]),
    Malformed,
    Nothing,
}

fn strip_bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| rest.trim_ascii())
}

/// Compares without leaving early, so that the time taken tells nothing about the key but its length.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |diff, (x, y)| diff | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check() -> KeyCheck {
        KeyCheck::new(Some("sk-master".to_owned().into()), None)
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(k, v)| (http::HeaderName::from_static(k), http::HeaderValue::from_static(v)))
            .collect()
    }

    #[test]
    fn the_key_is_found_in_every_header_that_litellm_reads() {
        for pair in [
            ("authorization", "Bearer sk-master"),
            ("authorization", "bearer sk-master"),
            ("x-litellm-api-key", "Bearer sk-master"),
            ("x-litellm-api-key", "sk-master"),
            ("api-key", "sk-master"),
            ("x-api-key", "sk-master"),
        ] {
            assert_eq!(check().admit(&headers(&[pair])).ok(), Some(Caller::Admin), "{pair:?}");
        }
    }

    #[test]
    fn wrong_missing_and_malformed_keys_answer_401() {
        for pairs in [
            &[][..],
            &[("authorization", "sk-master")],
            &[("authorization", "Bearer sk-mastes")],
            &[("api-key", "")],
        ] {
            assert_eq!(check().admit(&headers(pairs)).unwrap_err().status(), 401, "{pairs:?}");
        }
    }

    #[test]
    fn without_a_master_key_nobody_is_the_operator() {
        let open = KeyCheck::new(None, None);
        assert_eq!(open.admit(&HeaderMap::new()).ok(), Some(Caller::Anyone));
        assert_eq!(open.admit_admin(&HeaderMap::new()).unwrap_err().status(), 403);
    }

    #[test]
    fn a_configured_header_carries_the_key() {
        let check = KeyCheck::new(
            Some("sk-master".to_owned().into()),
            Some(http::HeaderName::from_static("x-corp-key")),
        );
        assert_eq!(check.admit(&headers(&[("x-corp-key", "Bearer sk-master")])).ok(), Some(Caller::Admin));
    }
}
