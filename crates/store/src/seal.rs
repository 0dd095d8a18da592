//! Secrets of stored models, sealed as LiteLLM seals them, so that both read what the other stored.
//!
//! Three formats are read, told apart by their prefix: none is the one that every LiteLLM reads (XSalsa20-Poly1305, the
//! nonce in front, base64), `v2:gcm:` and `v3:gcm:` are AES-256-GCM under a key that is the digest of the salt key or
//! derived from it. The first is written, because every version reads it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use crypto_secretbox::aead::Aead;
use crypto_secretbox::{KeyInit, XSalsa20Poly1305};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use crate::StoreError;

const BY_DIGEST: &str = "v2:gcm:";
const DERIVED: &str = "v3:gcm:";
const INFO: &[&[u8]] = &[b"litellm-at-rest-v3"];
/// Bytes of the nonces.
const BOX_NONCE: usize = 24;
const GCM_NONCE: usize = 12;
/// Bytes of the shortest box: its nonce and its tag.
const SHORTEST: usize = BOX_NONCE + 16;
/// Under this name stands what LiteLLM leaves open and may hold secrets: headers, bodies, whole credentials.
const SEALED: &str = "haleway_sealed";

/// A value is sealed with a key that is not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is sealed with another salt key")]
pub struct CannotOpen;

/// Seals with one salt key and opens with any of several.
pub struct Sealer {
    keys: Vec<SecretString>,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("keys", &self.keys.len()).finish()
    }
}

impl Sealer {
    /// A sealer that seals with the first of `keys`. Without any it opens what is open.
    pub fn new(keys: &[SecretString]) -> Self {
        Self { keys: keys.to_vec() }
    }

    /// Whether there is a key to seal with.
    pub const fn can_seal(&self) -> bool {
        !self.keys.is_empty()
    }

    /// `litellm_params` as they are stored: every text sealed, as LiteLLM does, and every mapping, as it does not.
    ///
    /// # Errors
    /// When there is no key, or the system gives no randomness.
    pub fn seal_params(&self, params: &Map<String, Value>) -> Result<Map<String, Value>, StoreError> {
        let sealed = |value: &Value| -> Result<Value, StoreError> {
            Ok(match value {
                Value::String(text) => self.seal(text)?.into(),
                Value::Object(_) => json!({SEALED: self.seal(&value.to_string())?}),
                Value::Array(items) if items.iter().any(Value::is_object) => {
                    json!({SEALED: self.seal(&value.to_string())?})
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.clone(),
            })
        };
        params.iter().map(|(name, value)| Ok((name.clone(), sealed(value)?))).collect()
    }

    /// `litellm_params` from what is stored. Rows of an old LiteLLM whose `model` is in the open are taken as they are.
    ///
    /// # Errors
    /// When a value is sealed with a key that is not known.
    pub fn open_params(&self, stored: &Map<String, Value>) -> Result<Map<String, Value>, CannotOpen> {
        let open = stored.get("model").and_then(Value::as_str).is_some_and(|model| !looks_sealed(model));
        let opened = |value: &Value| -> Result<Value, CannotOpen> {
            if let Some(text) = value.as_str().filter(|text| !open && looks_sealed(text)) {
                return Ok(self.open(text)?.into());
            }
            let whole = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.get(SEALED));
            match whole {
                Some(sealed) => {
                    let text = sealed.as_str().ok_or(CannotOpen)?;
                    serde_json::from_str(&self.open(text)?).map_err(|_| CannotOpen)
                }
                None => Ok(value.clone()),
            }
        };
        stored.iter().map(|(name, value)| Ok((name.clone(), opened(value)?))).collect()
    }

    fn seal(&self, text: &str) -> Result<String, StoreError> {
        let fault = || StoreError::Unavailable("there is no key or no randomness to seal with".to_owned());
        let key = self.keys.first().ok_or_else(fault)?;
        let mut nonce = [0; BOX_NONCE];
        SystemRandom::new().fill(&mut nonce).map_err(|_| fault())?;
        let boxed = secret_box(key).encrypt(&nonce.into(), text.as_bytes()).map_err(|_| fault())?;
        Ok(URL_SAFE.encode([&nonce[..], &boxed].concat()))
    }

    fn open(&self, text: &str) -> Result<String, CannotOpen> {
        let opened = self.keys.iter().find_map(|key| open_with(key, text));
        opened.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(CannotOpen)
    }
}

/// Whether a text has the form of a sealed one.
fn looks_sealed(text: &str) -> bool {
    text.starts_with(BY_DIGEST)
        || text.starts_with(DERIVED)
        || decoded(text).is_some_and(|bytes| bytes.len() >= SHORTEST)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE.decode(text).or_else(|_| STANDARD.decode(text)).ok()
}

fn open_with(key: &SecretString, text: &str) -> Option<Vec<u8>> {
    if let Some(text) = text.strip_prefix(DERIVED) {
        let salt = Salt::new(HKDF_SHA256, &[]);
        let derived = salt.extract(key.expose_secret().as_bytes());
        let okm = derived.expand(INFO, &AES_256_GCM).ok()?;
        return open_gcm(UnboundKey::from(okm), text);
    }
    if let Some(text) = text.strip_prefix(BY_DIGEST) {
        let digest = digest(&SHA256, key.expose_secret().as_bytes());
        return open_gcm(UnboundKey::new(&AES_256_GCM, digest.as_ref()).ok()?, text);
    }
    let bytes = decoded(text)?;
    let (nonce, boxed) = bytes.split_first_chunk::<BOX_NONCE>()?;
    secret_box(key).decrypt(nonce.into(), boxed).ok()
}

fn secret_box(key: &SecretString) -> XSalsa20Poly1305 {
    let digest = digest(&SHA256, key.expose_secret().as_bytes());
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    XSalsa20Poly1305::new(&bytes.into())
}

fn open_gcm(key: UnboundKey, text: &str) -> Option<Vec<u8>> {
    let mut bytes = URL_SAFE.decode(text).ok()?;
    let (nonce, sealed) = bytes.split_first_chunk_mut::<GCM_NONCE>()?;
    let nonce = Nonce::assume_unique_for_key(*nonce);
    let opened = LessSafeKey::new(key).open_in_place(nonce, Aad::empty(), sealed).ok()?;
    Some(opened.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(keys: &[&str]) -> Sealer {
        Sealer::new(&keys.iter().map(|key| SecretString::from(*key)).collect::<Vec<_>>())
    }

    fn params(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    /// Made with PyNaCl and Python's cryptography, as LiteLLM calls them: key `sk-salt-1234`, text `sk-provider-key`.
    const OF_LITELLM: [&str; 4] = [
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX_qdEjxMgrq2TIlKzE7r5x4y3-U4ds14782kJnd5Ptg==",
        "yMnKy8zNzs/Q0dLT1NXW19jZ2tvc3d7fJWVQ5+iVyCNjKomHS2hDvfmQZ10DfoXmG4haAxQD2Q==",
        "v2:gcm:AAECAwQFBgcICQoL63wyvXJljqEwtYZ6a03wGwAOr70yhHoNab_YWbafrw==",
        "v3:gcm:AAECAwQFBgcICQoLcCZXpjyMQ9GNRrPMzRElcpcl1OUhMXLsiisbX7EcuQ==",
    ];

    #[test]
    fn every_format_of_litellm_is_opened_with_the_right_key_only() {
        for sealed in OF_LITELLM {
            let stored = params(json!({"model": sealed, "rpm": 6, "tags": ["a"]}));
            let opened = sealer(&["sk-other", "sk-salt-1234"]).open_params(&stored).unwrap();
            assert_eq!(Value::from(opened), json!({"model": "sk-provider-key", "rpm": 6, "tags": ["a"]}));
            assert_eq!(sealer(&["sk-other"]).open_params(&stored).unwrap_err(), CannotOpen);
        }
    }

    #[test]
    fn what_is_sealed_is_opened_and_shows_nothing_of_any_secret() {
        let given = params(json!({
            "model": "openai/gpt-4o", "api_key": "sk-secret", "rpm": 60, "drop_params": true, "tags": ["free"],
            "extra_headers": {"x-key": "sk-secret"}, "parts": [{"token": "sk-secret"}], "empty": "",
        }));
        let sealer = sealer(&["salt"]);
        let stored = sealer.seal_params(&given).unwrap();
        let text = Value::from(stored.clone()).to_string();
        assert!(!text.contains("sk-secret") && !text.contains("gpt-4o"), "{text}");
        assert_eq!((&stored["rpm"], &stored["tags"]), (&json!(60), &json!(["free"])));
        assert_eq!(sealer.open_params(&stored).unwrap(), given);
        assert_ne!(sealer.seal_params(&given).unwrap(), stored, "a nonce is used once");
    }

    #[test]
    fn a_row_that_was_never_sealed_is_taken_as_it_is_and_rubbish_is_not_opened() {
        let long = "sk-proj-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1234";
        let stored = params(json!({"model": "openai/gpt-4o", "api_key": long}));
        assert_eq!(sealer(&["salt"]).open_params(&stored).unwrap(), stored);
        for rubbish in ["v2:gcm:", "v3:gcm:AAAA", "v2:gcm:\u{e4}", OF_LITELLM[0]] {
            let stored = params(json!({"model": rubbish}));
            assert!(sealer(&["salt"]).open_params(&stored).is_err(), "{rubbish}");
        }
        assert!(!sealer(&[]).can_seal() && sealer(&[]).seal_params(&stored).is_err());
    }
}
