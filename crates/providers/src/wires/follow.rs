//! Where a call may go on: the credential stays with its host.

use std::time::Duration;

use http::Uri;

use crate::{Follow, Untranslatable};

/// Bytes that the provider offers at `text`; `own` is where its API is. Elsewhere they are fetched over TLS only, and
/// without the credential.
pub(super) fn bytes(text: &str, own: &Uri) -> Result<Follow, Untranslatable> {
    let offered = || Untranslatable("the provider offers its answer at no usable URL".to_owned());
    let uri: Uri = text.parse().map_err(|_| offered())?;
    let at_home = uri.scheme() == own.scheme() && uri.authority() == own.authority();
    if uri.host().is_none() || !(at_home || uri.scheme_str() == Some("https")) {
        return Err(offered());
    }
    Ok(Follow { uri, wait: Duration::ZERO, credential: at_home })
}
