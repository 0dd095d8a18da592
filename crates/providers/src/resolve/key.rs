//! The credential of a deployment, and the fingerprint by which deployments that share one are known.

use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use super::base::Base;
use super::{DeploymentSource, ModelName, ResolveError, aws, entra, google, ibm, set};
use crate::credential::{AwsKeys, CredentialSource};
use crate::registry::{Auth, KeyNeed, owner_of_host};

/// What a deployment presents itself with.
pub(crate) enum Presented {
    /// Nothing: the provider takes calls without.
    Nothing,
    /// A key that is written down.
    Key(Key),
    /// What is fetched from there.
    Fetched(Arc<CredentialSource>),
}

impl Presented {
    /// What is fetched from `source`.
    pub(super) fn fetched(source: CredentialSource) -> Self {
        Self::Fetched(Arc::new(source))
    }

    /// The key that is written down.
    pub(crate) const fn key(&self) -> Option<&Key> {
        match self {
            Self::Key(key) => Some(key),
            Self::Nothing | Self::Fetched(_) => None,
        }
    }
}

/// A key and where it came from.
pub(crate) struct Key {
    /// The secret.
    pub(crate) secret: SecretString,
    /// The environment variable (or the parameter of the same meaning) that held it.
    variable: Option<&'static str>,
    /// A pair of AWS: the secret is then a signing key, and is never sent.
    pub(crate) aws: Option<Arc<AwsKeys>>,
}

impl Key {
    /// A key that is sent.
    pub(super) const fn sent(secret: SecretString, variable: Option<&'static str>) -> Self {
        Self { secret, variable, aws: None }
    }

    /// A pair that signs.
    pub(super) fn signing(keys: AwsKeys) -> Self {
        Self { secret: keys.secret.clone(), variable: None, aws: Some(Arc::new(keys)) }
    }

    /// The secret is a token that is presented as bearer where a key has a header of its own.
    pub(crate) fn is_token(&self) -> bool {
        self.variable.is_some_and(|name| name.ends_with("_TOKEN"))
    }

    /// The secret is a Zen key of IBM's.
    pub(crate) fn is_zen(&self) -> bool {
        self.variable == Some(ibm::ZEN)
    }
}

/// The deployment's own key or identity, else the provider's first of the environment.
pub(crate) fn find(
    name: &ModelName,
    base: &Base,
    source: &DeploymentSource<'_>,
) -> Result<Presented, ResolveError> {
    let provider = name.provider;
    if let Some(own) = own(name, source)? {
        return Ok(own);
    }
    // A key of the environment is the provider's: it goes to no other provider's door.
    let stranger = owner_of_host(&base.host).filter(|owner| {
        owner.id != provider.id && !(owner.id == "openai" && provider.id == "openai_compatible")
    });
    if let Some(owner) = stranger {
        return Err(ResolveError::ForeignBase {
            provider: provider.id,
            owner: owner.id,
            base: base.text.clone(),
        });
    }
    match (of_environment(name, source)?, provider.key) {
        (Some(found), _) => Ok(found),
        (None, KeyNeed::Optional) => Ok(Presented::Nothing),
        (None, KeyNeed::Required) => {
            Err(ResolveError::MissingKey { provider: provider.id, variables: provider.key_env })
        }
    }
}

fn own(name: &ModelName, source: &DeploymentSource<'_>) -> Result<Option<Presented>, ResolveError> {
    let auth = name.provider.auth;
    if auth == Auth::IbmIam {
        return Ok(ibm::own(source));
    }
    if let Some(key) = source.api_key.as_ref().filter(|key| !key.expose_secret().trim().is_empty()) {
        return Ok(Some(Presented::Key(Key::sent(key.clone(), None))));
    }
    match auth {
        Auth::Aws => aws::own(name, source),
        Auth::GoogleOauth => google::own(source),
        Auth::Azure | Auth::AzureAi => entra::own(source),
        Auth::Bearer | Auth::Token | Auth::Header(_) | Auth::Anthropic | Auth::IbmIam => Ok(None),
    }
}

fn of_environment(
    name: &ModelName,
    source: &DeploymentSource<'_>,
) -> Result<Option<Presented>, ResolveError> {
    let provider = name.provider;
    let read = |name: &&'static str| {
        let value = set(source, &[name])?;
        Some(Presented::Key(Key::sent(SecretString::from(value), Some(*name))))
    };
    match provider.auth {
        Auth::Aws => aws::of_environment(name, source),
        Auth::GoogleOauth => google::of_environment(provider, source).map(Some),
        Auth::IbmIam => Ok(ibm::of_environment(source)),
        Auth::Azure | Auth::AzureAi => {
            // The last variable of the row is a token: it may be one that is still to be exchanged.
            let key = provider.key_env.iter().filter(|name| **name != "AZURE_AD_TOKEN").find_map(read);
            key.map_or_else(|| entra::of_environment(source), |key| Ok(Some(key)))
        }
        Auth::Bearer | Auth::Token | Auth::Header(_) | Auth::Anthropic => {
            Ok(provider.key_env.iter().find_map(read))
        }
    }
}

/// One number per provider, host and credential: equal for deployments that share a credential. FNV-1a over the
/// parts with a final mix; a provider's key has far more entropy than the 64 bits that are kept of it.
pub(crate) fn fingerprint(provider: &str, endpoint: &str, presented: &Presented) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let fetched;
    let key = match presented {
        Presented::Nothing => "",
        Presented::Key(key) => key.secret.expose_secret(),
        Presented::Fetched(source) => {
            fetched = format!("{:016x}", source.id().short());
            &fetched
        }
    };
    for part in ["haleway credential", provider, endpoint, key] {
        for byte in part.bytes().chain(std::iter::once(0xff)) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}
