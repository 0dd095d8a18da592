//! Google: OAuth tokens for a service account, a user, a federated identity, or the machine itself.
//!
//! What kind of credential it is stands in its JSON ([`GoogleFile`]), which is read anew at each exchange.

mod exchange;
mod file;
mod jwt;

pub use exchange::{
    federated_answer, federated_request, impersonated_answer, impersonated_request, machine_request, read,
    service_account_request, user_request,
};
pub use file::{Federated, GoogleFile, Impersonated, ServiceAccount, User};

use std::fmt;

use secrecy::SecretString;

use super::source::Parts;

/// What every token is asked for.
pub const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The metadata server, unless `GCE_METADATA_HOST` says otherwise.
pub const METADATA_HOST: &str = "metadata.google.internal";

/// Where a Google credential is described.
#[derive(Clone)]
pub enum GoogleSource {
    /// In the configuration or the environment: its JSON.
    Inline(SecretString),
    /// In a file of that JSON.
    File(String),
    /// In gcloud's own file, when there is one; else it is the machine's, by the metadata server.
    Ambient {
        /// gcloud's file of application default credentials.
        file: Option<String>,
        /// The metadata server.
        metadata: String,
    },
}

impl GoogleSource {
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Inline(_) | Self::File(_) => "google_credentials",
            Self::Ambient { .. } => "google_default",
        }
    }

    pub(crate) fn parts(&self, parts: &mut Parts) {
        match self {
            Self::Inline(text) => {
                parts.add("inline");
                parts.secret(text);
            }
            Self::File(path) => parts.add_all(&["file", path]),
            Self::Ambient { file, metadata } => {
                parts.optional(file.as_deref());
                parts.add(metadata);
            }
        }
    }
}

impl fmt::Debug for GoogleSource {
    /// The place, not the JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(_) => f.write_str("Inline([redacted])"),
            Self::File(path) => write!(f, "File({path})"),
            Self::Ambient { file, metadata } => write!(f, "Ambient({file:?}, {metadata})"),
        }
    }
}
