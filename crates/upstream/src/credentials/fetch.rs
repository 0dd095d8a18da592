//! The exchanges, step by step: what is read and asked in which order.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use haleway_providers::credential::aws::{
    self, Ambient, AwsOrigin, AwsRole, AwsSource, Container, Profile, ProfileFiles, StsPlace, WebIdentity,
};
use haleway_providers::credential::azure::{AzureIdentity, AzureSource};
use haleway_providers::credential::google::{self, GoogleFile, GoogleSource};
use haleway_providers::credential::ibm::IbmSource;
use haleway_providers::credential::{AwsKeys, Credential, CredentialSource, Fetched};
use secrecy::ExposeSecret;

use super::outside::{Failure, Outside, Reach, at};

const STS: &str = "AWS STS";
const INSTANCE: &str = "the instance metadata service";
const CONTAINER: &str = "the container credential service";
const GOOGLE: &str = "Google's token service";
const METADATA: &str = "Google's metadata server";
const ENTRA: &str = "Microsoft Entra";
const IDENTITY: &str = "the managed identity endpoint";
const IAM: &str = "IBM IAM";

type Fetching<'a> = Pin<Box<dyn Future<Output = Result<Fetched, Failure>> + Send + 'a>>;

/// Fetches the credential of a source.
pub(super) async fn fetch(outside: &Outside, source: &CredentialSource) -> Result<Fetched, Failure> {
    match source {
        CredentialSource::Aws(source) => of_aws(outside, source).await,
        CredentialSource::Google(source) => of_google(outside, source).await,
        CredentialSource::Azure(source) => of_azure(outside, source).await,
        CredentialSource::Ibm(source) => {
            let (status, body) = outside.ask(IAM, Reach::Far, source.request()).await?;
            IbmSource::read(status, &body, outside.now_ms()).map_err(at(IAM))
        }
    }
}

async fn of_aws(outside: &Outside, source: &AwsSource) -> Result<Fetched, Failure> {
    let found = match &source.origin {
        AwsOrigin::Keys(keys) => Fetched::keys(Arc::clone(keys)),
        AwsOrigin::WebIdentity(identity) => web_identity(outside, &source.sts, identity).await?,
        AwsOrigin::Profile { name, files, ambient } => profile(outside, &source.sts, name, files, ambient)
            .await?
            .ok_or_else(|| Failure::Nothing(missing_profile(name, files)))?,
        AwsOrigin::Chain { profile, files, ambient } => {
            chain(outside, &source.sts, profile, files, ambient).await?
        }
    };
    match &source.role {
        None => Ok(found),
        Some(role) => assume(outside, &source.sts, role, found).await,
    }
}

fn missing_profile(name: &str, files: &ProfileFiles) -> String {
    format!("AWS profile {name:?} is in neither {} nor {}, or holds no keys", files.credentials, files.config)
}

/// What boto3 looks for, in its order.
async fn chain(
    outside: &Outside,
    sts: &StsPlace,
    name: &str,
    files: &ProfileFiles,
    ambient: &Ambient,
) -> Result<Fetched, Failure> {
    if let Some(keys) = &ambient.environment {
        return Ok(Fetched::keys(Arc::clone(keys)));
    }
    if let Some(identity) = &ambient.web_identity {
        return web_identity(outside, sts, identity).await;
    }
    if let Some(found) = profile(outside, sts, name, files, ambient).await? {
        return Ok(found);
    }
    if let Some(service) = &ambient.container {
        return container(outside, service).await;
    }
    match &ambient.instance {
        Some(endpoint) => instance(outside, endpoint).await,
        None => Err(Failure::Nothing(format!(
            "there are no AWS keys: none in the environment, and {}",
            missing_profile(name, files)
        ))),
    }
}

async fn profile(
    outside: &Outside,
    sts: &StsPlace,
    name: &str,
    files: &ProfileFiles,
    ambient: &Ambient,
) -> Result<Option<Fetched>, Failure> {
    let config = outside.read_if_there(&files.config).await?.unwrap_or_default();
    let credentials = outside.read_if_there(&files.credentials).await?.unwrap_or_default();
    let found = Profile::find(name, &config, &credentials, "haleway").map_err(at("the AWS profile"))?;
    match found {
        Some(profile) => follow(outside, sts, &profile, ambient).await.map(Some),
        None => Ok(None),
    }
}

/// What a profile stands for; profiles may stand behind each other.
fn follow<'a>(
    outside: &'a Outside,
    sts: &'a StsPlace,
    profile: &'a Profile,
    ambient: &'a Ambient,
) -> Fetching<'a> {
    Box::pin(async move {
        let nothing =
            |what: &str| Failure::Nothing(format!("the AWS profile refers to {what}, and there is none"));
        match profile {
            Profile::Keys(keys) => Ok(Fetched::keys(Arc::clone(keys))),
            Profile::WebIdentity(identity) => web_identity(outside, sts, identity).await,
            Profile::Role(role, with) => {
                let found = follow(outside, sts, with, ambient).await?;
                assume(outside, sts, role, found).await
            }
            Profile::Environment => {
                let keys = ambient.environment.as_ref().ok_or_else(|| nothing("keys of the environment"))?;
                Ok(Fetched::keys(Arc::clone(keys)))
            }
            Profile::Container => {
                let service = ambient.container.as_ref().ok_or_else(|| nothing("the container's keys"))?;
                container(outside, service).await
            }
            Profile::Instance => {
                let endpoint = ambient.instance.as_ref().ok_or_else(|| nothing("the instance's keys"))?;
                instance(outside, endpoint).await
            }
        }
    })
}

async fn assume(
    outside: &Outside,
    sts: &StsPlace,
    role: &AwsRole,
    found: Fetched,
) -> Result<Fetched, Failure> {
    let keys: Arc<AwsKeys> = match found.credential {
        Credential::Aws(keys) => keys,
        Credential::Bearer(_) | Credential::Configured => {
            return Err(Failure::Nothing("a role is assumed with keys, and there are none".to_owned()));
        }
    };
    let request = aws::assume_role(sts, role, &keys, outside.now_ms());
    let (status, body) = outside.ask(STS, Reach::Far, request).await?;
    aws::sts_answer(status, &body).map_err(at(STS))
}

async fn web_identity(outside: &Outside, sts: &StsPlace, identity: &WebIdentity) -> Result<Fetched, Failure> {
    let token = outside.identity(&identity.token).await?;
    let request = aws::assume_role_with_web_identity(sts, &identity.role, &token);
    let (status, body) = outside.ask(STS, Reach::Far, request).await?;
    aws::sts_answer(status, &body).map_err(at(STS))
}

async fn container(outside: &Outside, service: &Container) -> Result<Fetched, Failure> {
    let authorization = match &service.authorization {
        Some(origin) => Some(outside.identity(origin).await?),
        None => None,
    };
    let request = service.request(authorization.as_ref());
    let (status, body) = outside.ask(CONTAINER, Reach::Near, request).await?;
    aws::keys_answer(status, &body).map_err(at(CONTAINER))
}

async fn instance(outside: &Outside, endpoint: &str) -> Result<Fetched, Failure> {
    let (status, body) = outside.ask(INSTANCE, Reach::Near, aws::instance_token(endpoint)).await?;
    let session = aws::token_text(status, &body).map_err(at(INSTANCE))?;
    let (status, body) = outside.ask(INSTANCE, Reach::Near, aws::instance_role(endpoint, &session)).await?;
    let role = aws::role_name(status, &body).map_err(at(INSTANCE))?;
    let (status, body) =
        outside.ask(INSTANCE, Reach::Near, aws::instance_keys(endpoint, &session, &role)).await?;
    aws::keys_answer(status, &body).map_err(at(INSTANCE))
}

async fn of_google(outside: &Outside, source: &GoogleSource) -> Result<Fetched, Failure> {
    let text = match source {
        GoogleSource::Inline(text) => text.expose_secret().to_owned(),
        GoogleSource::File(path) => String::from_utf8_lossy(&outside.read(path).await?).into_owned(),
        GoogleSource::Ambient { file, metadata } => {
            let found = match file {
                Some(path) => outside.read_if_there(path).await?,
                None => None,
            };
            match found {
                Some(text) => text,
                None => {
                    let request = google::machine_request(metadata);
                    let (status, body) = outside.ask(METADATA, Reach::Near, request).await?;
                    return google::read(status, &body, outside.now_ms()).map_err(at(METADATA));
                }
            }
        }
    };
    let file = GoogleFile::parse(&text).map_err(at("the Google credentials"))?;
    described(outside, &file).await
}

/// What a description stands for; one may speak for another.
fn described<'a>(outside: &'a Outside, file: &'a GoogleFile) -> Fetching<'a> {
    Box::pin(async move {
        let request = match file {
            GoogleFile::ServiceAccount(account) => google::service_account_request(account, outside.now_ms()),
            GoogleFile::User(user) => google::user_request(user),
            GoogleFile::Federated(federated) => {
                let token = outside.identity(&federated.token).await?;
                let request = google::federated_request(federated, &token);
                let (status, body) = outside.ask(GOOGLE, Reach::Far, request).await?;
                let found = google::federated_answer(status, &body, outside.now_ms()).map_err(at(GOOGLE))?;
                return match &federated.impersonation {
                    None => Ok(found),
                    Some(url) => impersonate(outside, url, &[], &found.credential).await,
                };
            }
            GoogleFile::Impersonated(speaks) => {
                let found = described(outside, &speaks.source).await?;
                return impersonate(outside, &speaks.url, &speaks.delegates, &found.credential).await;
            }
        };
        let (status, body) = outside.ask(GOOGLE, Reach::Far, request).await?;
        google::read(status, &body, outside.now_ms()).map_err(at(GOOGLE))
    })
}

async fn impersonate(
    outside: &Outside,
    url: &str,
    delegates: &[String],
    credential: &Credential,
) -> Result<Fetched, Failure> {
    let request = google::impersonated_request(url, delegates, credential);
    let (status, body) = outside.ask(GOOGLE, Reach::Far, request).await?;
    google::impersonated_answer(status, &body).map_err(at(GOOGLE))
}

async fn of_azure(outside: &Outside, source: &AzureSource) -> Result<Fetched, Failure> {
    let assertion = match source.federated() {
        Some(origin) => Some(outside.identity(origin).await?),
        None => None,
    };
    let (service, reach) = match &source.identity {
        AzureIdentity::Application { .. } => (ENTRA, Reach::Far),
        AzureIdentity::AppService { .. } | AzureIdentity::Machine { .. } => (IDENTITY, Reach::Near),
    };
    let (status, body) = outside.ask(service, reach, source.request(assertion.as_ref())).await?;
    AzureSource::read(status, &body, outside.now_ms()).map_err(at(service))
}
