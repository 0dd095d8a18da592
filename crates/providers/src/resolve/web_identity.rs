//! LiteLLM's ways to say where the token of a workload's own identity is: `oidc/file/PATH`, `oidc/env/NAME`,
//! `oidc/env_path/NAME`, `oidc/google/AUDIENCE`, `oidc/github/AUDIENCE`, `oidc/azure/…`.

use secrecy::SecretString;

use super::{DeploymentSource, ResolveError, set};
use crate::credential::TokenOrigin;
use crate::credential::google::METADATA_HOST;

/// What else than `oidc/…` may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// Nothing else.
    Only,
    /// A path, or the token itself.
    OrLiteral,
}

/// Where the token is that `written` speaks of.
pub(super) fn origin(
    source: &DeploymentSource<'_>,
    param: &'static str,
    written: &str,
    named: Named,
) -> Result<TokenOrigin, ResolveError> {
    let invalid = |reason: String| ResolveError::InvalidCredential { param, reason };
    let written = written.trim();
    let Some(rest) = written.strip_prefix("oidc/") else {
        return match named {
            Named::OrLiteral if written.starts_with('/') => Ok(TokenOrigin::file(written)),
            Named::OrLiteral => Ok(TokenOrigin::Text(SecretString::from(written))),
            Named::Only => Err(invalid("it must begin with oidc/".to_owned())),
        };
    };
    let variable = |name: &str| {
        set(source, &[name]).ok_or_else(|| invalid(format!("the environment variable {name} is not set")))
    };
    match rest.split_once('/').unwrap_or((rest, "")) {
        ("file", path) if !path.is_empty() => {
            // `oidc/file//abs/path` and `oidc/file/abs/path` both occur; a token is never beside the binary.
            Ok(TokenOrigin::file(format!("/{}", path.trim_start_matches('/'))))
        }
        ("env", name) if !name.is_empty() => Ok(TokenOrigin::Text(variable(name)?.into())),
        ("env_path", name) if !name.is_empty() => Ok(TokenOrigin::file(variable(name)?)),
        ("azure", _) => Ok(TokenOrigin::file(variable("AZURE_FEDERATED_TOKEN_FILE")?)),
        ("google", audience) if !audience.is_empty() => {
            let host = set(source, &["GCE_METADATA_HOST"]).unwrap_or_else(|| METADATA_HOST.to_owned());
            let audience = crate::credential::query_value(audience);
            Ok(TokenOrigin::Url {
                url: format!(
                    "http://{host}/computeMetadata/v1/instance/service-accounts/default/identity?audience={audience}"
                ),
                headers: vec![("metadata-flavor".to_owned(), SecretString::from("Google"))],
                member: None,
            })
        }
        ("github", audience) if !audience.is_empty() => {
            let url = variable("ACTIONS_ID_TOKEN_REQUEST_URL")?;
            let token = variable("ACTIONS_ID_TOKEN_REQUEST_TOKEN")?;
            let joint = if url.contains('?') { '&' } else { '?' };
            Ok(TokenOrigin::Url {
                url: format!("{url}{joint}audience={}", crate::credential::query_value(audience)),
                headers: vec![("authorization".to_owned(), SecretString::from(format!("Bearer {token}")))],
                member: Some("value".to_owned()),
            })
        }
        (kind, _) => Err(invalid(format!(
            "oidc/{kind} is not spoken: use oidc/file/PATH, oidc/env/NAME, oidc/env_path/NAME, oidc/google/AUDIENCE, \
             oidc/github/AUDIENCE or oidc/azure"
        ))),
    }
}
