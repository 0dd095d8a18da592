//! AWS keys: whose they are, and the services that hand them out.
//!
//! The order is that of boto3, which LiteLLM uses. Explicit parameters come first; without any: environment, web
//! identity, profile, container, instance ([`AwsOrigin::Chain`]). A role, when one is named, is assumed with what was
//! found.

mod metadata;
mod profile;
mod sts;

pub use metadata::{
    Container, instance_keys, instance_role, instance_token, keys_answer, role_name, token_text,
};
pub use profile::{Profile, ProfileFiles};
pub use sts::{assume_role, assume_role_with_web_identity, sts_answer};

use std::fmt;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::source::Parts;
use super::{Credential, Fetched, TokenOrigin};
use crate::sigv4::AwsKeys;

/// The instance metadata service, unless `AWS_EC2_METADATA_SERVICE_ENDPOINT` says otherwise.
pub const INSTANCE_METADATA: &str = "http://169.254.169.254";
/// The container credential service.
pub const CONTAINER: &str = "http://169.254.170.2";

/// Whose keys sign, and in which role.
#[derive(Clone, Debug)]
pub struct AwsSource {
    /// Whose keys.
    pub origin: AwsOrigin,
    /// The role that is assumed with them.
    pub role: Option<AwsRole>,
    /// Where roles are assumed.
    pub sts: StsPlace,
}

/// Where roles are assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StsPlace {
    /// The address of the service.
    pub endpoint: String,
    /// The region that calls to it are signed for.
    pub region: String,
}

impl StsPlace {
    /// The service of a region.
    pub fn of_region(region: &str) -> Self {
        let tld = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        Self { endpoint: format!("https://sts.{region}.{tld}"), region: region.to_owned() }
    }
}

/// A role to assume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsRole {
    /// Its ARN.
    pub arn: String,
    /// How the session is called in the account's records.
    pub session: String,
    /// What the role's owner wants to hear.
    pub external_id: Option<String>,
}

/// A token of the workload's own identity, and the role it may assume.
#[derive(Clone, Debug)]
pub struct WebIdentity {
    /// Where the token is.
    pub token: TokenOrigin,
    /// The role.
    pub role: AwsRole,
}

/// Whose keys.
#[derive(Clone, Debug)]
pub enum AwsOrigin {
    /// Written in the configuration.
    Keys(Arc<AwsKeys>),
    /// Of a role, for a token of the workload's own identity.
    WebIdentity(WebIdentity),
    /// Of a profile.
    Profile {
        /// The profile.
        name: String,
        /// The files that hold profiles.
        files: ProfileFiles,
        /// What a profile may refer to.
        ambient: Box<Ambient>,
    },
    /// Of the first that has some.
    Chain {
        /// The profile to look for.
        profile: String,
        /// The files that hold profiles.
        files: ProfileFiles,
        /// Everything else.
        ambient: Box<Ambient>,
    },
}

/// What a process finds around it.
#[derive(Clone, Debug, Default)]
pub struct Ambient {
    /// `AWS_ACCESS_KEY_ID` and its companions.
    pub environment: Option<Arc<AwsKeys>>,
    /// `AWS_WEB_IDENTITY_TOKEN_FILE` with `AWS_ROLE_ARN`.
    pub web_identity: Option<WebIdentity>,
    /// The credential service of the container.
    pub container: Option<Container>,
    /// The metadata service of the instance; `None` when it is switched off.
    pub instance: Option<String>,
}

impl AwsSource {
    pub(super) const fn kind(&self) -> &'static str {
        match (&self.origin, &self.role) {
            (AwsOrigin::WebIdentity(_), _) => "aws_web_identity",
            (_, Some(_)) => "aws_role",
            (AwsOrigin::Profile { .. }, None) => "aws_profile",
            (AwsOrigin::Chain { .. }, None) => "aws_chain",
            (AwsOrigin::Keys(_), None) => "aws_keys",
        }
    }

    pub(crate) fn parts(&self, parts: &mut Parts) {
        parts.add_all(&[&self.sts.endpoint, &self.sts.region]);
        match &self.origin {
            AwsOrigin::Keys(keys) => keys.parts(parts),
            AwsOrigin::WebIdentity(identity) => identity.parts(parts),
            AwsOrigin::Profile { name, files, ambient } => {
                parts.add_all(&["profile", name, &files.config, &files.credentials]);
                ambient.parts(parts);
            }
            AwsOrigin::Chain { profile, files, ambient } => {
                parts.add_all(&["chain", profile, &files.config, &files.credentials]);
                ambient.parts(parts);
            }
        }
        if let Some(role) = &self.role {
            role.parts(parts);
        }
    }
}

impl AwsRole {
    fn parts(&self, parts: &mut Parts) {
        parts.add_all(&["role", &self.arn, &self.session]);
        parts.optional(self.external_id.as_deref());
    }
}

impl WebIdentity {
    fn parts(&self, parts: &mut Parts) {
        self.token.parts(parts);
        self.role.parts(parts);
    }
}

impl Ambient {
    fn parts(&self, parts: &mut Parts) {
        if let Some(keys) = &self.environment {
            keys.parts(parts);
        }
        if let Some(identity) = &self.web_identity {
            identity.parts(parts);
        }
        if let Some(container) = &self.container {
            container.parts(parts);
        }
        parts.optional(self.instance.as_deref());
    }
}

impl AwsKeys {
    fn parts(&self, parts: &mut Parts) {
        parts.add_all(&["keys", &self.access_key]);
        parts.secret(&self.secret);
        parts.optional(self.token.as_ref().map(ExposeSecret::expose_secret));
    }
}

impl Fetched {
    /// Keys without an end.
    pub const fn keys(keys: Arc<AwsKeys>) -> Self {
        Self { credential: Credential::Aws(keys), expires_at_ms: None }
    }
}

/// Keys as the services spell them.
pub(super) struct Spelt {
    pub(super) access_key: String,
    pub(super) secret: SecretString,
    pub(super) token: Option<SecretString>,
    pub(super) expiration: Option<String>,
}

impl Spelt {
    pub(super) fn fetched(self) -> Result<Fetched, super::ExchangeError> {
        let unreadable = |what: String| super::ExchangeError::unreadable(what);
        let keys = AwsKeys::new(&self.access_key, self.secret, self.token)
            .map_err(|part| unreadable(format!("the answer's {part} cannot be used")))?;
        let expires_at_ms = match self.expiration {
            None => None,
            Some(text) => Some(
                text.trim()
                    .parse::<jiff::Timestamp>()
                    .ok()
                    .and_then(|moment| u64::try_from(moment.as_millisecond()).ok())
                    .ok_or_else(|| unreadable("the answer's expiration is no moment".to_owned()))?,
            ),
        };
        Ok(Fetched { credential: Credential::Aws(Arc::new(keys)), expires_at_ms })
    }
}

impl fmt::Debug for Spelt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spelt").finish_non_exhaustive()
    }
}
