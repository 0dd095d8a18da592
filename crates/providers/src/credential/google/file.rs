//! The JSON in which Google describes a credential: `type` says which kind it is.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::Deserialize;

use crate::credential::{ExchangeError, TokenOrigin};

const TOKEN: &str = "https://oauth2.googleapis.com/token";
const FEDERATION: &str = "https://sts.googleapis.com/v1/token";

/// A described credential.
#[derive(Clone, Debug)]
pub enum GoogleFile {
    /// `service_account`
    ServiceAccount(ServiceAccount),
    /// `authorized_user`
    User(User),
    /// `external_account`
    Federated(Federated),
    /// `impersonated_service_account`
    Impersonated(Impersonated),
}

/// The key of a service account.
#[derive(Clone, Debug, Deserialize)]
pub struct ServiceAccount {
    /// The account.
    pub client_email: String,
    /// Its private key, as PEM.
    pub private_key: SecretString,
    /// The key's name.
    #[serde(default)]
    pub private_key_id: Option<String>,
    /// The token service.
    #[serde(default = "token_service")]
    pub token_uri: String,
    /// The project of the account.
    #[serde(default)]
    pub project_id: Option<String>,
}

/// What gcloud keeps of a user who logged in.
#[derive(Clone, Debug, Deserialize)]
pub struct User {
    /// gcloud itself.
    pub client_id: String,
    /// Its secret.
    pub client_secret: SecretString,
    /// What stands for the user's consent.
    pub refresh_token: SecretString,
    /// The token service.
    #[serde(default = "token_service")]
    pub token_uri: String,
    /// The project that is billed.
    #[serde(default)]
    pub quota_project_id: Option<String>,
}

/// Another issuer's token that Google trusts.
#[derive(Clone, Debug)]
pub struct Federated {
    /// The pool and provider.
    pub audience: String,
    /// The kind of the token.
    pub token_type: String,
    /// Google's exchange.
    pub token_url: String,
    /// Where the token is.
    pub token: TokenOrigin,
    /// The service account that is then spoken for.
    pub impersonation: Option<String>,
}

/// A service account that another credential speaks for.
#[derive(Clone, Debug)]
pub struct Impersonated {
    /// Where it is asked for.
    pub url: String,
    /// Those in between.
    pub delegates: Vec<String>,
    /// The credential that speaks for it.
    pub source: Box<GoogleFile>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct External {
    audience: String,
    subject_token_type: String,
    #[serde(default)]
    token_url: Option<String>,
    #[serde(default)]
    service_account_impersonation_url: Option<String>,
    credential_source: Origin,
}

#[derive(Deserialize)]
struct Origin {
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, SecretString>,
    #[serde(default)]
    format: Option<Format>,
}

#[derive(Deserialize)]
struct Format {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    subject_token_field_name: Option<String>,
}

#[derive(Deserialize)]
struct Speaks<'a> {
    service_account_impersonation_url: String,
    #[serde(default)]
    delegates: Vec<String>,
    #[serde(borrow)]
    source_credentials: &'a serde_json::value::RawValue,
}

fn token_service() -> String {
    TOKEN.to_owned()
}

impl GoogleFile {
    /// Reads the JSON.
    ///
    /// # Errors
    /// When it is none, lacks a member, or is of a kind that is not spoken.
    pub fn parse(text: &str) -> Result<Self, ExchangeError> {
        Self::nested(text, true)
    }

    fn nested(text: &str, outermost: bool) -> Result<Self, ExchangeError> {
        let text = text.trim_start_matches('\u{feff}').trim();
        let head: Head = serde_json::from_str(text)
            .map_err(|_| ExchangeError::unreadable("the credentials are no JSON object"))?;
        match head.kind.as_deref() {
            Some("service_account") => read(text).map(Self::ServiceAccount),
            Some("authorized_user") => read(text).map(Self::User),
            Some("external_account") => federated(read(text)?).map(Self::Federated),
            Some("impersonated_service_account") if outermost => {
                let speaks: Speaks<'_> = read(text)?;
                Ok(Self::Impersonated(Impersonated {
                    url: speaks.service_account_impersonation_url,
                    delegates: speaks.delegates,
                    source: Box::new(Self::nested(speaks.source_credentials.get(), false)?),
                }))
            }
            Some(kind) => Err(ExchangeError::Unsupported(format!(
                "credentials of type {kind:?} are not spoken: use service_account, authorized_user, external_account or \
                 impersonated_service_account"
            ))),
            None => Err(ExchangeError::unreadable("the credentials have no \"type\"")),
        }
    }

    /// The project that the credential names.
    pub fn project(&self) -> Option<&str> {
        match self {
            Self::ServiceAccount(account) => account.project_id.as_deref(),
            Self::User(user) => user.quota_project_id.as_deref(),
            Self::Federated(_) => None,
            Self::Impersonated(speaks) => speaks.source.project(),
        }
    }
}

/// The members of one kind. serde's own message quotes no value of a missing member.
fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ExchangeError> {
    serde_json::from_str(text).map_err(|error| {
        let what = error.to_string();
        match what.split_once("missing field") {
            Some((_, rest)) => {
                let name = rest.split('`').nth(1).unwrap_or("?");
                ExchangeError::unreadable(format!("the credentials lack {name:?}"))
            }
            None => ExchangeError::unreadable("a member of the credentials is not what its kind promises"),
        }
    })
}

fn federated(external: External) -> Result<Federated, ExchangeError> {
    let Origin { file, url, headers, format } = external.credential_source;
    let member = format
        .filter(|format| format.kind == "json")
        .map(|format| format.subject_token_field_name.unwrap_or_else(|| "access_token".to_owned()));
    let token = match (file, url) {
        (Some(path), _) => TokenOrigin::File { path, member },
        (None, Some(url)) => TokenOrigin::Url { url, headers: headers.into_iter().collect(), member },
        (None, None) => {
            return Err(ExchangeError::Unsupported(
                "of external accounts, those whose token is in a file or behind a URL are spoken".to_owned(),
            ));
        }
    };
    Ok(Federated {
        audience: external.audience,
        token_type: external.subject_token_type,
        token_url: external.token_url.unwrap_or_else(|| FEDERATION.to_owned()),
        token,
        impersonation: external.service_account_impersonation_url,
    })
}
