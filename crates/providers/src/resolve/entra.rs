//! Who asks Microsoft Entra for a token, when a deployment has no key.
//!
//! The order is LiteLLM's: a token that is written down, a client secret, a user's password; then what the platform
//! provides, by the variables it sets: a federated token (workload identity), a managed identity.

use secrecy::SecretString;
use serde_json::Value;

use super::key::{Key, Presented};
use super::web_identity::{Named, origin};
use super::{DeploymentSource, ResolveError, set, text};
use crate::credential::azure::{AUTHORITY, AzureIdentity, AzureProof, AzureSource, METADATA, SCOPE};
use crate::credential::{CredentialSource, TokenOrigin};

/// The deployment's own credential, besides `api_key`.
pub(super) fn own(source: &DeploymentSource<'_>) -> Result<Option<Presented>, ResolveError> {
    if let Some(token) = text(source, "azure_ad_token") {
        return written(source, "azure_ad_token", &token).map(Some);
    }
    let says = |names: &[&str]| names.iter().any(|name| text(source, name).is_some());
    if says(&["client_secret"])
        && let Some(found) = by_secret(source)
    {
        return Ok(Some(found));
    }
    if says(&["azure_username", "azure_password"])
        && let Some(found) = by_password(source)
    {
        return Ok(Some(found));
    }
    // An application without a secret is one whose platform vouches for it.
    if says(&["client_id", "tenant_id"])
        && let Some(found) = by_secret(source).or_else(|| by_platform(source))
    {
        return Ok(Some(found));
    }
    Ok(None)
}

/// The environment's, after its keys.
pub(super) fn of_environment(source: &DeploymentSource<'_>) -> Result<Option<Presented>, ResolveError> {
    if let Some(token) = set(source, &["AZURE_AD_TOKEN"]) {
        return written(source, "AZURE_AD_TOKEN", &token).map(Some);
    }
    Ok(by_secret(source).or_else(|| by_password(source)).or_else(|| by_platform(source)))
}

/// A token as it stands, or `oidc/…`: another issuer's token that is exchanged for one.
fn written(
    source: &DeploymentSource<'_>,
    param: &'static str,
    token: &str,
) -> Result<Presented, ResolveError> {
    if !token.trim_start().starts_with("oidc/") {
        return Ok(Presented::Key(Key::sent(SecretString::from(token), Some("AZURE_AD_TOKEN"))));
    }
    let federated = origin(source, param, token, Named::Only)?;
    let missing = |name: &str| ResolveError::InvalidCredential {
        param,
        reason: format!("an exchanged token needs {name}"),
    };
    let tenant = tenant(source).ok_or_else(|| missing("tenant_id (or AZURE_TENANT_ID)"))?;
    let client = client(source).ok_or_else(|| missing("client_id (or AZURE_CLIENT_ID)"))?;
    Ok(application(source, tenant, client, AzureProof::Federated(federated)))
}

fn by_secret(source: &DeploymentSource<'_>) -> Option<Presented> {
    let secret = text(source, "client_secret").or_else(|| set(source, &["AZURE_CLIENT_SECRET"]))?;
    Some(application(source, tenant(source)?, client(source)?, AzureProof::Secret(secret.into())))
}

fn by_password(source: &DeploymentSource<'_>) -> Option<Presented> {
    let user = text(source, "azure_username").or_else(|| set(source, &["AZURE_USERNAME"]))?;
    let password = text(source, "azure_password").or_else(|| set(source, &["AZURE_PASSWORD"]))?;
    let tenant = tenant(source).unwrap_or_else(|| "organizations".to_owned());
    Some(application(
        source,
        tenant,
        client(source)?,
        AzureProof::Password { user, password: password.into() },
    ))
}

fn by_platform(source: &DeploymentSource<'_>) -> Option<Presented> {
    let file = set(source, &["AZURE_FEDERATED_TOKEN_FILE"]);
    if let (Some(file), Some(tenant), Some(client)) = (file, tenant(source), client(source)) {
        return Some(application(source, tenant, client, AzureProof::Federated(TokenOrigin::file(file))));
    }
    let identity = match (set(source, &["IDENTITY_ENDPOINT"]), set(source, &["IDENTITY_HEADER"])) {
        (Some(endpoint), Some(secret)) => {
            AzureIdentity::AppService { endpoint, secret: secret.into(), client: client(source) }
        }
        (_, _) if asks_the_machine(source) => AzureIdentity::Machine {
            endpoint: set(source, &["AZURE_POD_IDENTITY_AUTHORITY_HOST"])
                .unwrap_or_else(|| METADATA.to_owned()),
            client: client(source),
        },
        (_, _) => return None,
    };
    Some(fetched(source, identity))
}

/// Whether the operator wants the identity of the machine: nothing in the environment shows that there is one.
fn asks_the_machine(source: &DeploymentSource<'_>) -> bool {
    source.params.get("enable_azure_ad_token_refresh").and_then(Value::as_bool) == Some(true)
        || set(source, &["AZURE_CREDENTIAL"])
            .is_some_and(|name| matches!(name.trim(), "ManagedIdentityCredential" | "DefaultAzureCredential"))
}

fn tenant(source: &DeploymentSource<'_>) -> Option<String> {
    text(source, "tenant_id").or_else(|| set(source, &["AZURE_TENANT_ID"]))
}

fn client(source: &DeploymentSource<'_>) -> Option<String> {
    text(source, "client_id").or_else(|| set(source, &["AZURE_CLIENT_ID"]))
}

fn application(
    source: &DeploymentSource<'_>,
    tenant: String,
    client: String,
    proof: AzureProof,
) -> Presented {
    let authority = set(source, &["AZURE_AUTHORITY_HOST"]).unwrap_or_else(|| AUTHORITY.to_owned());
    fetched(source, AzureIdentity::Application { authority, tenant, client, proof })
}

fn fetched(source: &DeploymentSource<'_>, identity: AzureIdentity) -> Presented {
    let scope = text(source, "azure_scope").or_else(|| set(source, &["AZURE_SCOPE"]));
    let scope = scope.unwrap_or_else(|| SCOPE.to_owned());
    Presented::fetched(CredentialSource::Azure(AzureSource { scope, identity }))
}
