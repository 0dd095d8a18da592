//! Where a call may go on: how soon, and with whose credential.

use std::time::Duration;

use http::Uri;
use http::uri::Scheme;

use crate::{Follow, Untranslatable};

/// Waits between two looks at a job, in milliseconds: short at first, since most are short.
const WAITS: [u64; 4] = [250, 500, 1000, 2000];
/// All later ones.
const LATER: u64 = 3000;

/// The wait before look number `looks`, from 0.
pub(super) fn wait(looks: usize) -> Duration {
    Duration::from_millis(WAITS.get(looks).copied().unwrap_or(LATER))
}

/// Bytes that the provider offers at `text`; `own` is where its API is. From any other host they are fetched over TLS
/// and without the credential.
pub(super) fn bytes(text: &str, own: &Uri) -> Result<Follow, Untranslatable> {
    let offered = || Untranslatable("the provider offers its answer at no usable URL".to_owned());
    let uri: Uri = text.parse().map_err(|_| offered())?;
    if uri.host().is_none() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(offered());
    }
    if uri.scheme() == own.scheme() && uri.authority() == own.authority() {
        return Ok(Follow { uri, wait: Duration::ZERO, credential: true });
    }
    let mut parts = uri.into_parts();
    parts.scheme = Some(Scheme::HTTPS);
    let uri = Uri::from_parts(parts).map_err(|_| offered())?;
    Ok(Follow { uri, wait: Duration::ZERO, credential: false })
}
