//! Who calls watsonx: a Zen key, a token that is written down, or an API key that is exchanged for one.

use secrecy::SecretString;

use super::key::{Key, Presented};
use super::{DeploymentSource, set, text};
use crate::credential::CredentialSource;
use crate::credential::ibm::{IAM, IbmSource};

/// What a Zen key is called in the environment.
pub(super) const ZEN: &str = "WATSONX_ZENAPIKEY";
/// What a token is called there.
pub(super) const TOKEN: &str = "WATSONX_TOKEN";

/// The deployment's own credential.
pub(super) fn own(source: &DeploymentSource<'_>) -> Option<Presented> {
    let sent = |text: String, variable| Presented::Key(Key::sent(SecretString::from(text), Some(variable)));
    text(source, "zen_api_key")
        .map(|key| sent(key, ZEN))
        .or_else(|| text(source, "token").map(|token| sent(token, TOKEN)))
        .or_else(|| source.api_key.clone().map(|key| exchanged(source, key)))
}

/// The environment's.
pub(super) fn of_environment(source: &DeploymentSource<'_>) -> Option<Presented> {
    let sent = |name| set(source, &[name]).map(|text| Presented::Key(Key::sent(text.into(), Some(name))));
    sent(ZEN).or_else(|| sent(TOKEN)).or_else(|| {
        let key = set(source, &["WATSONX_APIKEY", "WATSONX_API_KEY", "WX_API_KEY"])?;
        Some(exchanged(source, key.into()))
    })
}

fn exchanged(source: &DeploymentSource<'_>, api_key: SecretString) -> Presented {
    let url = set(source, &["WATSONX_IAM_URL"]).unwrap_or_else(|| IAM.to_owned());
    Presented::fetched(CredentialSource::Ibm(IbmSource { api_key, url }))
}
