//! Where AWS calls go and who makes them: the region, and a key pair that does not change, or a Bedrock API key.
//!
//! Profiles, roles, web identities and the metadata services of instances and containers need calls or files of
//! their own; they are refused by name, so that a call is never made as somebody else.

use secrecy::SecretString;
use serde_json::Value;

use super::base::Base;
use super::key::{AwsIdentity, Key};
use super::model::is_region;
use super::{DeploymentSource, ModelName, ResolveError};
use crate::registry::Provider;
use crate::sigv4::Signer;

/// What a Bedrock API key is called in the environment.
const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";

/// Makes `name` say what is called and where: `model_id` stands for the model, and the region is the first of the
/// model string's, its ARN's, the deployment's, the environment's and LiteLLM's default.
pub(super) fn place(name: &mut ModelName, source: &DeploymentSource<'_>) {
    if let Some(id) = text(source, "model_id").filter(|_| name.provider.id == "bedrock") {
        name.id = id;
    }
    let of_environment = || {
        let variables = ["AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION"];
        variables.iter().find_map(|name| (source.env)(name).filter(|region| !region.trim().is_empty()))
    };
    let region = name
        .region
        .take()
        .or_else(|| region_of_arn(&name.id))
        .or_else(|| text(source, "aws_region_name"))
        .or_else(of_environment)
        .unwrap_or_else(|| "us-west-2".to_owned());
    name.region = Some(region.trim().to_owned());
}

/// `arn:aws:bedrock:{region}:…`.
fn region_of_arn(id: &str) -> Option<String> {
    let mut parts = id.split(':');
    let is_arn = parts.next() == Some("arn");
    parts.nth(2).filter(|region| is_arn && !region.is_empty()).map(str::to_owned)
}

/// The deployment's own key pair.
pub(super) fn own_key(
    provider: &'static Provider,
    source: &DeploymentSource<'_>,
) -> Result<Option<Key>, ResolveError> {
    for (param, wire) in [
        ("aws_role_name", "credentials by aws_role_name"),
        ("aws_profile_name", "credentials by aws_profile_name"),
        ("aws_web_identity_token", "credentials by aws_web_identity_token"),
    ] {
        if text(source, param).is_some() {
            return Err(ResolveError::WireNotSupported { provider: provider.id, wire });
        }
    }
    if provider.id != "bedrock" {
        return Ok(None);
    }
    Ok(pair(|name| match name {
        Part::Id => text(source, "aws_access_key_id"),
        Part::Secret => text(source, "aws_secret_access_key"),
        Part::Token => text(source, "aws_session_token"),
    }))
}

/// The environment's: a Bedrock API key before a key pair, as LiteLLM has it.
pub(super) fn key_of_environment(provider: &'static Provider, source: &DeploymentSource<'_>) -> Option<Key> {
    let read = |name: &str| (source.env)(name).filter(|value| !value.trim().is_empty());
    let token = read(BEARER).map(|token| Key::sent(SecretString::from(token), Some(BEARER)));
    let signed = || {
        pair(|part| {
            read(match part {
                Part::Id => "AWS_ACCESS_KEY_ID",
                Part::Secret => "AWS_SECRET_ACCESS_KEY",
                Part::Token => "AWS_SESSION_TOKEN",
            })
        })
    };
    // A signing key is no bearer token: only the row that lists it takes it.
    token.or_else(|| provider.key_env.contains(&"AWS_SECRET_ACCESS_KEY").then(signed).flatten())
}

#[derive(Clone, Copy)]
enum Part {
    Id,
    Secret,
    Token,
}

fn pair(read: impl Fn(Part) -> Option<String>) -> Option<Key> {
    let (access_key, secret) = (read(Part::Id)?, read(Part::Secret)?);
    let token = read(Part::Token).map(SecretString::from);
    let identity = AwsIdentity { access_key: access_key.trim().to_owned(), token };
    let mut key = Key::sent(SecretString::from(secret.trim()), None);
    key.aws = Some(identity);
    Some(key)
}

/// The signer of a key pair; `None` for a key that is sent.
pub(super) fn signer(name: &ModelName, base: &Base, key: &Key) -> Result<Option<Signer>, ResolveError> {
    let Some(identity) = &key.aws else { return Ok(None) };
    // The host decides: AWS refuses what was signed for another region.
    let of_host =
        base.host.contains(".amazonaws.com").then(|| base.host.split('.').find(|part| is_region(part)));
    let region = of_host.flatten().or(name.region.as_deref()).unwrap_or_default();
    Signer::new(&identity.access_key, &key.secret, identity.token.as_ref(), region, "bedrock")
        .map(Some)
        .map_err(|illegal| ResolveError::InvalidHeader { name: illegal.0.to_owned(), part: "value" })
}

fn text(source: &DeploymentSource<'_>, name: &str) -> Option<String> {
    let value = source.params.get(name).and_then(Value::as_str)?;
    (!value.trim().is_empty()).then(|| value.to_owned())
}
