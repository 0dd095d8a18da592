//! Where AWS calls go and who makes them.
//!
//! The order is LiteLLM's: a web identity with its role, a role, a profile, a pair of keys, a Bedrock API key of the
//! environment, and then what boto3 looks for by itself. A pair that is written down signs at once; everything else is
//! described, to be fetched.

use std::sync::Arc;

use secrecy::SecretString;

use super::key::{Key, Presented};
use super::model::is_region;
use super::web_identity::{Named, origin};
use super::{DeploymentSource, ModelName, ResolveError, set, text};
use crate::credential::aws::{
    Ambient, AwsOrigin, AwsRole, AwsSource, CONTAINER, Container, INSTANCE_METADATA, ProfileFiles, StsPlace,
    WebIdentity,
};
use crate::credential::{AwsKeys, CredentialSource, TokenOrigin};
use crate::registry::Provider;
use crate::sigv4::{Place, Signer, legal};

use super::base::Base;

/// What a Bedrock API key is called in the environment.
const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";
/// How sessions of roles are called where nothing says otherwise.
const SESSION: &str = "haleway";

/// Makes `name` say what is called and where: `model_id` stands for the model, and the region is the first of the
/// model string's, its ARN's, the deployment's, the environment's and LiteLLM's default.
pub(super) fn place(name: &mut ModelName, source: &DeploymentSource<'_>) {
    if let Some(id) = text(source, "model_id").filter(|_| name.provider.id == "bedrock") {
        name.id = id;
    }
    let region = name
        .region
        .take()
        .or_else(|| region_of_arn(&name.id))
        .or_else(|| text(source, "aws_region_name"))
        .or_else(|| set(source, &["AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION"]))
        .unwrap_or_else(|| "us-west-2".to_owned());
    name.region = Some(region.trim().to_owned());
}

/// `arn:aws:bedrock:{region}:…`.
fn region_of_arn(id: &str) -> Option<String> {
    let mut parts = id.split(':');
    let is_arn = parts.next() == Some("arn");
    parts.nth(2).filter(|region| is_arn && !region.is_empty()).map(str::to_owned)
}

/// Whether calls of this provider are signed at all; the others take a bearer token only.
fn signs(provider: &Provider) -> bool {
    provider.key_env.contains(&"AWS_SECRET_ACCESS_KEY")
}

/// The deployment's own identity.
pub(super) fn own(
    name: &ModelName,
    source: &DeploymentSource<'_>,
) -> Result<Option<Presented>, ResolveError> {
    if !signs(name.provider) {
        return Ok(None);
    }
    let keys = pair(|part| text(source, part.param()))?;
    let role = text(source, "aws_role_name").map(|arn| AwsRole {
        arn,
        session: text(source, "aws_session_name").unwrap_or_else(|| SESSION.to_owned()),
        external_id: text(source, "aws_external_id"),
    });
    let profile = text(source, "aws_profile_name");
    let (origin, role) = match (text(source, "aws_web_identity_token"), role, profile) {
        (Some(token), Some(role), _) => {
            let token = origin(source, "aws_web_identity_token", &token, Named::OrLiteral)?;
            (AwsOrigin::WebIdentity(WebIdentity { token, role }), None)
        }
        (Some(_), None, _) => {
            return Err(ResolveError::InvalidCredential {
                param: "aws_web_identity_token",
                reason: "a web identity is exchanged for a role: aws_role_name is missing".to_owned(),
            });
        }
        (None, role @ Some(_), profile) => {
            let origin = match (keys, profile) {
                (Some(keys), _) => AwsOrigin::Keys(Arc::new(keys)),
                (None, Some(name)) => self::profile(source, name)?,
                (None, None) => chain(source)?,
            };
            (origin, role)
        }
        (None, None, Some(name)) => (self::profile(source, name)?, None),
        (None, None, None) => return Ok(keys.map(Key::signing).map(Presented::Key)),
    };
    Ok(Some(fetched(name, source, origin, role)))
}

/// The environment's: a Bedrock API key before a key pair, as LiteLLM has it; then what boto3 looks for.
pub(super) fn of_environment(
    name: &ModelName,
    source: &DeploymentSource<'_>,
) -> Result<Option<Presented>, ResolveError> {
    if let Some(token) = set(source, &[BEARER]) {
        return Ok(Some(Presented::Key(Key::sent(SecretString::from(token), Some(BEARER)))));
    }
    if !signs(name.provider) {
        return Ok(None);
    }
    if let Some(keys) = pair(|part| set(source, &[part.variable()]))? {
        return Ok(Some(Presented::Key(Key::signing(keys))));
    }
    // Half a pair is a slip, and not somebody else's turn.
    if set(source, &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]).is_some() {
        return Ok(None);
    }
    let origin = chain(source)?;
    Ok(is_anywhere(source, &origin).then(|| fetched(name, source, origin, None)))
}

/// Whether the chain has an end at which keys may be: with the metadata service switched off, something must say so.
fn is_anywhere(source: &DeploymentSource<'_>, origin: &AwsOrigin) -> bool {
    match origin {
        AwsOrigin::Chain { files, ambient, .. } => {
            ambient.instance.is_some()
                || ambient.container.is_some()
                || ambient.web_identity.is_some()
                || [&files.config, &files.credentials].iter().any(|path| (source.file)(path).is_some())
        }
        AwsOrigin::Keys(_) | AwsOrigin::WebIdentity(_) | AwsOrigin::Profile { .. } => true,
    }
}

fn fetched(
    name: &ModelName,
    source: &DeploymentSource<'_>,
    origin: AwsOrigin,
    role: Option<AwsRole>,
) -> Presented {
    let mut sts = StsPlace::of_region(name.region.as_deref().unwrap_or_default());
    let endpoint = text(source, "aws_sts_endpoint")
        .or_else(|| set(source, &["AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL"]));
    if let Some(endpoint) = endpoint {
        sts.endpoint = endpoint.trim().trim_end_matches('/').to_owned();
    }
    Presented::fetched(CredentialSource::Aws(AwsSource { origin, role, sts }))
}

fn files(source: &DeploymentSource<'_>) -> ProfileFiles {
    let home = set(source, &["HOME"]).unwrap_or_default();
    let home = home.trim_end_matches('/');
    let at = |variable: &str, name: &str| {
        set(source, &[variable]).unwrap_or_else(|| format!("{home}/.aws/{name}"))
    };
    ProfileFiles {
        config: at("AWS_CONFIG_FILE", "config"),
        credentials: at("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
    }
}

fn profile(source: &DeploymentSource<'_>, name: String) -> Result<AwsOrigin, ResolveError> {
    Ok(AwsOrigin::Profile { name, files: files(source), ambient: Box::new(ambient(source)?) })
}

fn chain(source: &DeploymentSource<'_>) -> Result<AwsOrigin, ResolveError> {
    let profile =
        set(source, &["AWS_PROFILE", "AWS_DEFAULT_PROFILE"]).unwrap_or_else(|| "default".to_owned());
    Ok(AwsOrigin::Chain { profile, files: files(source), ambient: Box::new(ambient(source)?) })
}

/// What boto3 looks for by itself.
fn ambient(source: &DeploymentSource<'_>) -> Result<Ambient, ResolveError> {
    let web_identity = set(source, &["AWS_WEB_IDENTITY_TOKEN_FILE"]).zip(set(source, &["AWS_ROLE_ARN"]));
    let web_identity = web_identity.map(|(path, arn)| WebIdentity {
        token: TokenOrigin::file(path),
        role: AwsRole {
            arn,
            session: set(source, &["AWS_ROLE_SESSION_NAME"]).unwrap_or_else(|| SESSION.to_owned()),
            external_id: None,
        },
    });
    let off =
        set(source, &["AWS_EC2_METADATA_DISABLED"]).is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let instance = set(source, &["AWS_EC2_METADATA_SERVICE_ENDPOINT"]);
    Ok(Ambient {
        environment: pair(|part| set(source, &[part.variable()]))?.map(Arc::new),
        web_identity,
        container: container(source)?,
        instance: (!off).then(|| instance.unwrap_or_else(|| INSTANCE_METADATA.to_owned())),
    })
}

/// The container's service, by the variables that ECS and EKS set.
fn container(source: &DeploymentSource<'_>) -> Result<Option<Container>, ResolveError> {
    const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
    let relative =
        set(source, &["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"]).map(|path| format!("{CONTAINER}{path}"));
    let Some(url) = relative.or_else(|| set(source, &[FULL])) else { return Ok(None) };
    if !Container::is_near(&url) {
        return Err(ResolveError::InvalidCredential {
            param: FULL,
            reason: "keys are asked for over https, or at an address of this host".to_owned(),
        });
    }
    let file = set(source, &["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]).map(TokenOrigin::file);
    let authorization = file.or_else(|| {
        set(source, &["AWS_CONTAINER_AUTHORIZATION_TOKEN"]).map(|text| TokenOrigin::Text(text.into()))
    });
    Ok(Some(Container { url, authorization }))
}

#[derive(Clone, Copy)]
enum Part {
    Id,
    Secret,
    Token,
}

impl Part {
    const fn param(self) -> &'static str {
        match self {
            Self::Id => "aws_access_key_id",
            Self::Secret => "aws_secret_access_key",
            Self::Token => "aws_session_token",
        }
    }

    const fn variable(self) -> &'static str {
        match self {
            Self::Id => "AWS_ACCESS_KEY_ID",
            Self::Secret => "AWS_SECRET_ACCESS_KEY",
            Self::Token => "AWS_SESSION_TOKEN",
        }
    }
}

fn pair(read: impl Fn(Part) -> Option<String>) -> Result<Option<AwsKeys>, ResolveError> {
    let Some((access_key, secret)) = read(Part::Id).zip(read(Part::Secret)) else { return Ok(None) };
    AwsKeys::new(access_key.trim(), secret.trim().into(), read(Part::Token).map(SecretString::from))
        .map(Some)
        .map_err(illegal)
}

fn illegal(part: &'static str) -> ResolveError {
    ResolveError::InvalidHeader { name: part.to_owned(), part: "value" }
}

/// What signs the calls; `None` where a key is sent.
pub(super) fn signer(
    name: &ModelName,
    base: &Base,
    presented: &Presented,
) -> Result<Option<Signer>, ResolveError> {
    let keys = match presented {
        Presented::Key(Key { aws: Some(keys), .. }) => Some(Arc::clone(keys)),
        Presented::Fetched(source) if matches!(source.as_ref(), CredentialSource::Aws(_)) => None,
        Presented::Key(_) | Presented::Fetched(_) | Presented::Nothing => return Ok(None),
    };
    // The host decides: AWS refuses what was signed for another region.
    let of_host =
        base.host.contains(".amazonaws.com").then(|| base.host.split('.').find(|part| is_region(part)));
    let region = of_host.flatten().or(name.region.as_deref()).unwrap_or_default();
    if !legal(region) {
        return Err(illegal("aws_region_name"));
    }
    Ok(Some(Signer { place: Place { region: region.to_owned(), service: "bedrock" }, keys }))
}
