//! Where a credential comes from. Two deployments with equal sources share one credential, its cache and its refresh.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::aws::AwsSource;
use super::azure::AzureSource;
use super::google::GoogleSource;
use super::ibm::IbmSource;

/// How to get a credential.
#[derive(Clone, Debug)]
pub enum CredentialSource {
    /// Keys that sign.
    Aws(AwsSource),
    /// A Google OAuth token.
    Google(GoogleSource),
    /// A Microsoft Entra token.
    Azure(AzureSource),
    /// An IBM IAM token.
    Ibm(IbmSource),
}

/// The name of a source: equal for equal sources. No secret can be got from it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId([u8; 32]);

impl SourceId {
    /// Sixty-four of its bits.
    pub fn short(self) -> u64 {
        self.0.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl fmt::Debug for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceId({:016x})", self.short())
    }
}

impl CredentialSource {
    /// The name of this source.
    pub fn id(&self) -> SourceId {
        let mut parts = Parts(Sha256::new());
        parts.add(self.kind());
        match self {
            Self::Aws(source) => source.parts(&mut parts),
            Self::Google(source) => source.parts(&mut parts),
            Self::Azure(source) => source.parts(&mut parts),
            Self::Ibm(source) => source.parts(&mut parts),
        }
        SourceId(parts.0.finalize().into())
    }

    /// Its kind: a stable machine name for explanations and logs.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Aws(source) => source.kind(),
            Self::Google(source) => source.kind(),
            Self::Azure(source) => source.kind(),
            Self::Ibm(_) => "ibm_iam",
        }
    }

    /// How long before its end a credential of this source is renewed, in milliseconds, when it lives longer than
    /// five times that. Google's metadata server hands out the same token until five minutes before its end: asked
    /// earlier it would give nothing new.
    pub const fn lead_ms(&self) -> u64 {
        match self {
            Self::Google(_) => 225_000,
            Self::Aws(_) | Self::Azure(_) | Self::Ibm(_) => 300_000,
        }
    }
}

/// What a source is made of, put into its name part by part.
pub(crate) struct Parts(Sha256);

impl Parts {
    pub(crate) fn add(&mut self, part: &str) {
        // The length first: parts cannot run into each other.
        self.0.update(part.len().to_le_bytes());
        self.0.update(part.as_bytes());
    }

    pub(crate) fn add_all(&mut self, parts: &[&str]) {
        for part in parts {
            self.add(part);
        }
    }

    pub(crate) fn secret(&mut self, part: &SecretString) {
        self.add(part.expose_secret());
    }

    pub(crate) fn optional(&mut self, part: Option<&str>) {
        self.add(if part.is_some() { "some" } else { "none" });
        self.add(part.unwrap_or(""));
    }
}

/// Where the token of a workload's own identity is, which is exchanged for a credential. Files are read anew at each
/// exchange: whoever runs the workload replaces them.
#[derive(Clone)]
pub enum TokenOrigin {
    /// Written in the configuration or the environment.
    Text(SecretString),
    /// In a file; in a member of it, when it is JSON.
    File {
        /// The path.
        path: String,
        /// The member of the JSON object that holds the token.
        member: Option<String>,
    },
    /// Behind an address.
    Url {
        /// The address.
        url: String,
        /// Headers to send.
        headers: Vec<(String, SecretString)>,
        /// The member of the JSON answer that holds the token.
        member: Option<String>,
    },
}

impl TokenOrigin {
    /// A file that holds nothing but the token.
    pub fn file(path: impl Into<String>) -> Self {
        Self::File { path: path.into(), member: None }
    }

    pub(crate) fn parts(&self, parts: &mut Parts) {
        match self {
            Self::Text(text) => {
                parts.add("text");
                parts.secret(text);
            }
            Self::File { path, member } => {
                parts.add_all(&["file", path]);
                parts.optional(member.as_deref());
            }
            Self::Url { url, headers, member } => {
                parts.add_all(&["url", url]);
                for (name, value) in headers {
                    parts.add(name);
                    parts.secret(value);
                }
                parts.optional(member.as_deref());
            }
        }
    }
}

impl fmt::Debug for TokenOrigin {
    /// The place, not the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text([redacted])"),
            Self::File { path, .. } => write!(f, "File({path})"),
            Self::Url { .. } => f.write_str("Url"),
        }
    }
}
