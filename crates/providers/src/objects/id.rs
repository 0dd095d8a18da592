//! Ids that say where their object is.
//!
//! A file or a job exists at one deployment only, and the gateway keeps no list of them. So the id that a caller
//! gets holds the deployment's id and the provider's: any gateway with the same configuration finds its way back. The
//! provider's prefix stays in front (`file-`, `batch_`), because clients look at it. A check over both parts tells
//! such an id from a provider's own, and a damaged one from a whole one; it is no signature, since a caller can name
//! any deployment anyway.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// The form of what is encoded, for the day it changes.
const VERSION: u8 = 1;
/// Bytes of the check.
const CHECK: usize = 6;
/// Longest prefix that is kept, its separator included.
const MAX_PREFIX: usize = 16;

/// `object` of `deployment` as the caller gets it. `usual` is the prefix of objects whose id has none.
pub fn seal(deployment: &str, object: &str, usual: &str) -> String {
    let prefix = prefix(object).unwrap_or(usual);
    let mut bytes = Vec::with_capacity(2 + CHECK + deployment.len() + object.len());
    bytes.push(VERSION);
    bytes.extend_from_slice(&check(deployment, object));
    bytes.extend_from_slice(deployment.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(object.as_bytes());
    format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// The deployment and the provider's id in an id that [`seal`] made; `None` for any other.
pub fn unseal(id: &str) -> Option<(String, String)> {
    let text = id.get(prefix(id)?.len()..)?;
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let (version, rest) = bytes.split_first()?;
    let (found, rest) = rest.split_at_checked(CHECK)?;
    let (deployment, object) = std::str::from_utf8(rest).ok()?.split_once('\0')?;
    let whole = *version == VERSION && found == check(deployment, object);
    (whole && !deployment.is_empty() && !object.is_empty())
        .then(|| (deployment.to_owned(), object.to_owned()))
}

fn check(deployment: &str, object: &str) -> [u8; CHECK] {
    let mut hash = Sha256::new();
    hash.update(b"haleway object id\0");
    hash.update((deployment.len() as u64).to_le_bytes());
    hash.update(deployment.as_bytes());
    hash.update(object.as_bytes());
    let digest = hash.finalize();
    let mut check = [0; CHECK];
    check.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    check
}

/// Lower-case letters and the separator after them.
fn prefix(id: &str) -> Option<&str> {
    let end = id.bytes().position(|byte| !byte.is_ascii_lowercase())?;
    let is_separator = matches!(id.as_bytes().get(end), Some(b'-' | b'_'));
    (end > 0 && end < MAX_PREFIX && is_separator).then(|| id.get(..=end)).flatten()
}
