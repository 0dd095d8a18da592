//! Microsoft Entra: tokens for a client secret, a federated token, a user's password, or a managed identity.

use std::fmt;

use bytes::Bytes;
use http::Request;
use secrecy::{ExposeSecret, SecretString};

use super::source::Parts;
use super::{ExchangeError, Fetched, TokenOrigin, oauth};

/// What a token is asked for, unless `azure_scope` says otherwise.
pub const SCOPE: &str = "https://cognitiveservices.azure.com/.default";
/// Entra itself, unless `AZURE_AUTHORITY_HOST` says otherwise.
pub const AUTHORITY: &str = "https://login.microsoftonline.com";
/// The metadata service of virtual machines.
pub const METADATA: &str = "http://169.254.169.254";

/// Who asks for a token, and for what.
#[derive(Clone, Debug)]
pub struct AzureSource {
    /// The scope: a resource with `/.default`.
    pub scope: String,
    /// Who asks.
    pub identity: AzureIdentity,
}

/// Who asks.
#[derive(Clone)]
pub enum AzureIdentity {
    /// A registered application.
    Application {
        /// `https://login.microsoftonline.com`, or a national cloud's.
        authority: String,
        /// The directory.
        tenant: String,
        /// The application.
        client: String,
        /// What it proves itself with.
        proof: AzureProof,
    },
    /// The identity of an App Service, a function or a container app.
    AppService {
        /// `IDENTITY_ENDPOINT`.
        endpoint: String,
        /// `IDENTITY_HEADER`.
        secret: SecretString,
        /// A user-assigned identity.
        client: Option<String>,
    },
    /// The identity of a virtual machine.
    Machine {
        /// The metadata service, without a path.
        endpoint: String,
        /// A user-assigned identity.
        client: Option<String>,
    },
}

/// What an application proves itself with.
#[derive(Clone, Debug)]
pub enum AzureProof {
    /// A client secret.
    Secret(SecretString),
    /// A token of the workload's own identity (federated credentials).
    Federated(TokenOrigin),
    /// A user's name and password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: SecretString,
    },
}

impl fmt::Debug for AzureIdentity {
    /// The identity, never its secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Application { tenant, client, .. } => f
                .debug_struct("Application")
                .field("tenant", tenant)
                .field("client", client)
                .finish_non_exhaustive(),
            Self::AppService { client, .. } => {
                f.debug_struct("AppService").field("client", client).finish_non_exhaustive()
            }
            Self::Machine { client, .. } => {
                f.debug_struct("Machine").field("client", client).finish_non_exhaustive()
            }
        }
    }
}

impl AzureSource {
    pub(super) const fn kind(&self) -> &'static str {
        match &self.identity {
            AzureIdentity::Application { proof: AzureProof::Secret(_), .. } => "entra_client_secret",
            AzureIdentity::Application { proof: AzureProof::Federated(_), .. } => "entra_workload_identity",
            AzureIdentity::Application { proof: AzureProof::Password { .. }, .. } => "entra_password",
            AzureIdentity::AppService { .. } | AzureIdentity::Machine { .. } => "azure_managed_identity",
        }
    }

    pub(crate) fn parts(&self, parts: &mut Parts) {
        parts.add(&self.scope);
        match &self.identity {
            AzureIdentity::Application { authority, tenant, client, proof } => {
                parts.add_all(&[authority, tenant, client]);
                match proof {
                    AzureProof::Secret(secret) => parts.secret(secret),
                    AzureProof::Federated(origin) => origin.parts(parts),
                    AzureProof::Password { user, password } => {
                        parts.add(user);
                        parts.secret(password);
                    }
                }
            }
            AzureIdentity::AppService { endpoint, secret, client } => {
                parts.add_all(&["app service", endpoint]);
                parts.secret(secret);
                parts.optional(client.as_deref());
            }
            AzureIdentity::Machine { endpoint, client } => {
                parts.add_all(&["machine", endpoint]);
                parts.optional(client.as_deref());
            }
        }
    }

    /// Where the token of the workload's own identity is, when one is exchanged.
    pub const fn federated(&self) -> Option<&TokenOrigin> {
        match &self.identity {
            AzureIdentity::Application { proof: AzureProof::Federated(origin), .. } => Some(origin),
            AzureIdentity::Application { .. }
            | AzureIdentity::AppService { .. }
            | AzureIdentity::Machine { .. } => None,
        }
    }

    /// The exchange. `assertion` is the token that [`AzureSource::federated`] asks for.
    ///
    /// # Errors
    /// When an address is no URL, or the assertion is missing.
    pub fn request(&self, assertion: Option<&SecretString>) -> Result<Request<Bytes>, ExchangeError> {
        match &self.identity {
            AzureIdentity::Application { authority, tenant, client, proof } => {
                let authority = authority.trim_end_matches('/');
                let authority = if authority.contains("://") {
                    authority.to_owned()
                } else {
                    format!("https://{authority}")
                };
                let url = format!("{authority}/{}/oauth2/v2.0/token", oauth::escaped(tenant.trim()));
                let own = [("client_id", client.trim()), ("scope", self.scope.as_str())];
                let proof = match proof {
                    AzureProof::Secret(secret) => vec![
                        ("grant_type", "client_credentials"),
                        ("client_secret", secret.expose_secret().trim()),
                    ],
                    AzureProof::Federated(_) => {
                        let missing = || ExchangeError::unreadable("there is no federated token to exchange");
                        vec![
                            ("grant_type", "client_credentials"),
                            (
                                "client_assertion_type",
                                "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                            ),
                            ("client_assertion", assertion.ok_or_else(missing)?.expose_secret()),
                        ]
                    }
                    AzureProof::Password { user, password } => vec![
                        ("grant_type", "password"),
                        ("username", user.as_str()),
                        ("password", password.expose_secret()),
                    ],
                };
                oauth::post(&url, &[&own[..], &proof[..]].concat())
            }
            AzureIdentity::AppService { endpoint, secret, client } => {
                let url =
                    format!("{endpoint}?api-version=2019-08-01&{}", self.of_identity(client.as_deref()));
                oauth::get(&url, &[("x-identity-header", secret.expose_secret())])
            }
            AzureIdentity::Machine { endpoint, client } => {
                let endpoint = endpoint.trim_end_matches('/');
                let query = self.of_identity(client.as_deref());
                let url = format!("{endpoint}/metadata/identity/oauth2/token?api-version=2018-02-01&{query}");
                oauth::get(&url, &[("metadata", "true")])
            }
        }
    }

    /// Managed identities speak of resources, not of scopes.
    fn of_identity(&self, client: Option<&str>) -> String {
        let resource = self.scope.strip_suffix("/.default").unwrap_or(&self.scope);
        let mut pairs = vec![("resource", resource)];
        pairs.extend(client.map(|client| ("client_id", client)));
        oauth::form(&pairs)
    }

    /// The answer. `now_ms` is in milliseconds since the Unix epoch.
    ///
    /// # Errors
    /// When it is an error, or no token.
    pub fn read(status: u16, body: &[u8], now_ms: u64) -> Result<Fetched, ExchangeError> {
        oauth::token(status, body, now_ms)
    }
}
