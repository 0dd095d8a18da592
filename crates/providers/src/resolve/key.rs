//! The credential of a deployment, and the fingerprint by which deployments that share one are known.

use secrecy::{ExposeSecret, SecretString};

use super::base::Base;
use super::{DeploymentSource, ResolveError, aws};
use crate::registry::{Auth, KeyNeed, Provider, owner_of_host};

/// A key and where it came from.
pub(crate) struct Key {
    /// The secret.
    pub(crate) secret: SecretString,
    /// The environment variable (or the parameter of the same meaning) that held it.
    variable: Option<&'static str>,
    /// The other parts of an AWS identity: the secret is then a signing key, and is never sent.
    pub(crate) aws: Option<AwsIdentity>,
}

/// What belongs to an AWS signing key.
pub(crate) struct AwsIdentity {
    /// The access key id.
    pub(crate) access_key: String,
    /// The token of a temporary key.
    pub(crate) token: Option<SecretString>,
}

impl Key {
    /// A key that is sent.
    pub(super) const fn sent(secret: SecretString, variable: Option<&'static str>) -> Self {
        Self { secret, variable, aws: None }
    }

    /// The secret is a token that is presented as bearer where a key has a header of its own.
    pub(crate) fn is_token(&self) -> bool {
        self.variable.is_some_and(|name| name.ends_with("_TOKEN"))
    }
}

/// The key: the deployment's own, else the provider's first set environment variable.
pub(crate) fn find(
    provider: &'static Provider,
    base: &Base,
    source: &DeploymentSource<'_>,
) -> Result<Option<Key>, ResolveError> {
    if let Some(key) = source.api_key.as_ref().filter(|key| !key.expose_secret().trim().is_empty()) {
        return Ok(Some(Key::sent(key.clone(), None)));
    }
    if provider.auth == Auth::Aws
        && let Some(key) = aws::own_key(provider, source)?
    {
        return Ok(Some(key));
    }
    let entra = source.params.get("azure_ad_token").and_then(serde_json::Value::as_str);
    if let Some(token) = entra.filter(|token| provider.auth == Auth::Azure && !token.is_empty()) {
        return Ok(Some(Key::sent(SecretString::from(token), Some("AZURE_AD_TOKEN"))));
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
    let read = |name: &&'static str| {
        let value = (source.env)(name).filter(|value| !value.trim().is_empty())?;
        Some(Key::sent(SecretString::from(value), Some(*name)))
    };
    let found = match provider.auth {
        Auth::Aws => aws::key_of_environment(provider, source),
        Auth::Bearer
        | Auth::Token
        | Auth::Header(_)
        | Auth::Azure
        | Auth::AzureAi
        | Auth::Anthropic
        | Auth::GoogleOauth
        | Auth::IbmIam => provider.key_env.iter().find_map(read),
    };
    match (found, provider.key) {
        (Some(key), _) => Ok(Some(key)),
        (None, KeyNeed::Optional) => Ok(None),
        (None, KeyNeed::Required) => {
            Err(ResolveError::MissingKey { provider: provider.id, variables: provider.key_env })
        }
    }
}

/// One number per provider, host and key: equal for deployments that share a credential. FNV-1a over the
/// parts with a final mix; a provider's key has far more entropy than the 64 bits that are kept of it.
pub(crate) fn fingerprint(provider: &str, endpoint: &str, key: Option<&Key>) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let key = key.map_or("", |key| key.secret.expose_secret());
    for part in ["haleway credential", provider, endpoint, key] {
        for byte in part.bytes().chain(std::iter::once(0xff)) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}
