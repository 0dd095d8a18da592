//! Profiles of `~/.aws/config` and `~/.aws/credentials`: which keys a name stands for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{AwsRole, WebIdentity};
use crate::credential::{ExchangeError, TokenOrigin};
use crate::sigv4::AwsKeys;

/// How many profiles may stand behind each other.
const MOST: usize = 8;

/// The files that hold profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFiles {
    /// `~/.aws/config`, or `AWS_CONFIG_FILE`.
    pub config: String,
    /// `~/.aws/credentials`, or `AWS_SHARED_CREDENTIALS_FILE`.
    pub credentials: String,
}

/// What a profile stands for.
#[derive(Clone, Debug)]
pub enum Profile {
    /// Keys.
    Keys(Arc<AwsKeys>),
    /// A role, assumed with what another profile stands for.
    Role(AwsRole, Box<Self>),
    /// A role, for a token of the workload's own identity.
    WebIdentity(WebIdentity),
    /// The keys of the environment.
    Environment,
    /// The container's.
    Container,
    /// The instance's.
    Instance,
}

type Section<'a> = BTreeMap<&'a str, &'a str>;

impl Profile {
    /// What `name` stands for, by the texts of both files; a file that is not there is an empty text. `None` when
    /// neither knows the profile, or it holds nothing to sign with. `session` names the sessions of roles.
    ///
    /// # Errors
    /// When the profile is known and cannot be followed.
    pub fn find(
        name: &str,
        config: &str,
        credentials: &str,
        session: &str,
    ) -> Result<Option<Self>, ExchangeError> {
        let files = Files { config: sections(config), credentials: sections(credentials), session };
        files.find(name, 0)
    }
}

struct Files<'a> {
    config: BTreeMap<&'a str, Section<'a>>,
    credentials: BTreeMap<&'a str, Section<'a>>,
    session: &'a str,
}

impl<'a> Files<'a> {
    /// The settings of a profile; the credentials file outranks the other.
    fn section(&self, name: &str) -> Option<Section<'a>> {
        let config = self.config.get(format!("profile {name}").as_str());
        let config = config.or_else(|| self.config.get(name).filter(|_| name == "default"));
        let credentials = self.credentials.get(name);
        if config.is_none() && credentials.is_none() {
            return None;
        }
        let mut section = config.cloned().unwrap_or_default();
        section.extend(credentials.into_iter().flatten());
        Some(section)
    }

    fn find(&self, name: &str, depth: usize) -> Result<Option<Profile>, ExchangeError> {
        let wrong = |what: &str| ExchangeError::unreadable(format!("AWS profile {name:?} {what}"));
        if depth >= MOST {
            return Err(wrong("refers to itself"));
        }
        let Some(section) = self.section(name) else { return Ok(None) };
        let get = |key: &str| section.get(key).copied().filter(|value| !value.is_empty());
        if let Some(arn) = get("role_arn") {
            return self.role(name, &section, arn, depth).map(Some);
        }
        if let (Some(id), Some(secret)) = (get("aws_access_key_id"), get("aws_secret_access_key")) {
            return keys(id, secret, get("aws_session_token"))
                .map(|keys| Some(Profile::Keys(keys)))
                .ok_or_else(|| wrong("holds a key that cannot be sent"));
        }
        for (key, what) in
            [("sso_session", "SSO"), ("sso_start_url", "SSO"), ("credential_process", "a process")]
        {
            if get(key).is_some() {
                return Err(ExchangeError::Unsupported(format!(
                    "AWS profile {name:?} gets its keys from {what} ({key}), which this version does not ask: use a role, \
                     a web identity or keys"
                )));
            }
        }
        Ok(None)
    }

    fn role(
        &self,
        name: &str,
        section: &Section<'_>,
        arn: &str,
        depth: usize,
    ) -> Result<Profile, ExchangeError> {
        let wrong = |what: String| ExchangeError::unreadable(format!("AWS profile {name:?} {what}"));
        let get = |key: &str| section.get(key).copied().filter(|value| !value.is_empty());
        let role = AwsRole {
            arn: arn.to_owned(),
            session: get("role_session_name").unwrap_or(self.session).to_owned(),
            external_id: get("external_id").map(str::to_owned),
        };
        if let Some(path) = get("web_identity_token_file") {
            return Ok(Profile::WebIdentity(WebIdentity { token: TokenOrigin::file(path), role }));
        }
        let with = match (get("source_profile"), get("credential_source")) {
            // A profile may assume a role with keys of its own.
            (Some(source), _) if source == name => {
                let pair = get("aws_access_key_id").zip(get("aws_secret_access_key"));
                let own = pair.and_then(|(id, secret)| keys(id, secret, get("aws_session_token")));
                Profile::Keys(own.ok_or_else(|| wrong("refers to itself and holds no keys".to_owned()))?)
            }
            (Some(source), _) => self
                .find(source, depth + 1)?
                .ok_or_else(|| wrong(format!("refers to {source:?}, which holds no keys")))?,
            (None, Some("Environment")) => Profile::Environment,
            (None, Some("Ec2InstanceMetadata")) => Profile::Instance,
            (None, Some("EcsContainer")) => Profile::Container,
            (None, Some(other)) => return Err(wrong(format!("has an unknown credential_source {other:?}"))),
            (None, None) => {
                return Err(wrong(
                    "has a role_arn and says not with which keys: source_profile is missing".to_owned(),
                ));
            }
        };
        Ok(Profile::Role(role, Box::new(with)))
    }
}

fn keys(id: &str, secret: &str, token: Option<&str>) -> Option<Arc<AwsKeys>> {
    AwsKeys::new(id, secret.into(), token.map(Into::into)).ok().map(Arc::new)
}

/// The sections of an INI file. Nested settings (indented lines) are not ours.
fn sections(text: &str) -> BTreeMap<&str, Section<'_>> {
    let mut all: BTreeMap<&str, Section<'_>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            current = Some(name.trim());
            all.entry(name.trim()).or_default();
        } else if let Some((key, value)) = trimmed.split_once('=')
            && !line.starts_with([' ', '\t'])
            && let Some(section) = current.and_then(|name| all.get_mut(name))
        {
            let value = value.split(" #").next().unwrap_or(value);
            section.insert(key.trim(), value.trim());
        }
    }
    all
}
