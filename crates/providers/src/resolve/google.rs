//! Who calls Google Cloud, for which project, and where.

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::key::{Key, Presented};
use super::{DeploymentSource, ModelName, ResolveError, set, text};
use crate::credential::CredentialSource;
use crate::credential::google::{GoogleFile, GoogleSource, METADATA_HOST};
use crate::registry::Provider;

/// LiteLLM's default, and the variables before it.
const LOCATION: &str = "us-central1";

/// Makes `name` say where the model is called.
pub(super) fn place(name: &mut ModelName, source: &DeploymentSource<'_>) {
    let location = text(source, "vertex_location")
        .or_else(|| text(source, "vertex_ai_location"))
        .or_else(|| set(source, &["VERTEXAI_LOCATION", "VERTEX_LOCATION"]))
        .unwrap_or_else(|| LOCATION.to_owned());
    name.region = Some(location.trim().to_owned());
}

/// The host of a location: `global` has none of its own, and whole continents have other names.
pub(super) fn base(location: &str) -> String {
    match location {
        "global" => "https://aiplatform.googleapis.com".to_owned(),
        "eu" | "us" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        location => format!("https://{location}-aiplatform.googleapis.com"),
    }
}

/// The deployment's own credential.
pub(super) fn own(source: &DeploymentSource<'_>) -> Result<Option<Presented>, ResolveError> {
    for param in ["vertex_credentials", "vertex_ai_credentials"] {
        let given = match source.params.get(param) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) if text.trim().is_empty() => continue,
            Some(Value::String(text)) => described(param, text)?,
            Some(object @ Value::Object(_)) => described(param, &object.to_string())?,
            Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
                return Err(ResolveError::InvalidCredential {
                    param,
                    reason: "it must be the path of a file, or the JSON of one".to_owned(),
                });
            }
        };
        return Ok(Some(Presented::fetched(CredentialSource::Google(given))));
    }
    Ok(None)
}

/// The environment's: a file or its JSON, gcloud's own file, the metadata server.
pub(super) fn of_environment(
    provider: &'static Provider,
    source: &DeploymentSource<'_>,
) -> Result<Presented, ResolveError> {
    for name in provider.key_env {
        if let Some(text) = set(source, &[name]) {
            return Ok(Presented::fetched(CredentialSource::Google(described(name, &text)?)));
        }
    }
    let folder = set(source, &["CLOUDSDK_CONFIG"]).or_else(|| {
        set(source, &["HOME"]).map(|home| format!("{}/.config/gcloud", home.trim_end_matches('/')))
    });
    let ambient = GoogleSource::Ambient {
        file: folder.map(|folder| format!("{folder}/application_default_credentials.json")),
        metadata: set(source, &["GCE_METADATA_HOST"]).unwrap_or_else(|| METADATA_HOST.to_owned()),
    };
    Ok(Presented::fetched(CredentialSource::Google(ambient)))
}

/// A path, or the JSON itself, which is looked at now: what is wrong with it is said before the first call.
fn described(param: &'static str, text: &str) -> Result<GoogleSource, ResolveError> {
    if !text.trim_start().starts_with('{') {
        return Ok(GoogleSource::File(text.trim().to_owned()));
    }
    match GoogleFile::parse(text) {
        Ok(_) => Ok(GoogleSource::Inline(SecretString::from(text))),
        Err(error) => Err(ResolveError::InvalidCredential { param, reason: error.to_string() }),
    }
}

/// The project that pays: the deployment's, the environment's, or the credential's own. An express key brings its
/// own.
pub(super) fn project(
    source: &DeploymentSource<'_>,
    presented: &Presented,
) -> Result<Option<String>, ResolveError> {
    let given = text(source, "vertex_project")
        .or_else(|| text(source, "vertex_ai_project"))
        .or_else(|| set(source, &["VERTEXAI_PROJECT", "VERTEX_PROJECT", "GOOGLE_CLOUD_PROJECT"]));
    if let Some(project) = given {
        return Ok(Some(project.trim().to_owned()));
    }
    let described = match presented {
        Presented::Key(_) | Presented::Nothing => return Ok(None),
        Presented::Fetched(fetched) => match fetched.as_ref() {
            CredentialSource::Google(GoogleSource::Inline(json)) => Some(json.expose_secret().to_owned()),
            CredentialSource::Google(GoogleSource::File(path)) => (source.file)(path),
            CredentialSource::Google(GoogleSource::Ambient { file, .. }) => {
                file.as_deref().and_then(|path| (source.file)(path))
            }
            CredentialSource::Aws(_) | CredentialSource::Azure(_) | CredentialSource::Ibm(_) => None,
        },
    };
    let file = described.and_then(|text| GoogleFile::parse(&text).ok());
    match file.as_ref().and_then(GoogleFile::project) {
        Some(project) => Ok(Some(project.to_owned())),
        None => Err(ResolveError::MissingProject),
    }
}

/// An express key is sent in a header, as every Google API takes it.
pub(super) const KEY_HEADER: &str = "x-goog-api-key";

/// Whether a key that is presented is an express key rather than an OAuth token.
pub(super) fn is_express(key: &Key) -> bool {
    !key.secret.expose_secret().starts_with("ya29.")
}
