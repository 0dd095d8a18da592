//! What an exchange touches: files, the network, the wall clock.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haleway_providers::credential::{ExchangeError, TokenOrigin, web_token};
use http::{HeaderName, HeaderValue, Request};
use secrecy::{ExposeSecret, SecretString};

use crate::client::{Connection, Settings, Upstream};
use crate::deadline::Deadlines;
use crate::fault::Fault;
use crate::network::Network;

/// Longest time for the answer of a token service.
const SERVICE: Duration = Duration::from_secs(10);
/// Longest time for the answer of a service on the host: away from its cloud nobody answers.
const NEARBY: Duration = Duration::from_secs(2);
/// Longest answer and longest file, in bytes.
const LIMIT: usize = 256 * 1024;

/// Why nothing was brought.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// A file cannot be read.
    #[error("{path} cannot be read: {reason}")]
    File { path: String, reason: std::io::Error },
    /// Nobody answered.
    #[error("{service} gave no answer ({fault})")]
    Unanswered { service: &'static str, fault: Fault },
    /// An answer or a file said no.
    #[error("{service}: {error}")]
    Exchange { service: &'static str, error: ExchangeError },
    /// There is nothing to begin with.
    #[error("{0}")]
    Nothing(String),
}

/// Gives an [`ExchangeError`] its place.
pub(super) fn at(service: &'static str) -> impl Fn(ExchangeError) -> Failure {
    move |error| Failure::Exchange { service, error }
}

/// What all exchanges use.
pub(super) struct Outside {
    client: Upstream,
    wall_ms: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// How far away a service is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    /// On the network.
    Far,
    /// On the host.
    Near,
}

impl Outside {
    pub(super) fn new(network: &Network, wall_ms: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        Self { client: Upstream::new(network, &Settings::default()), wall_ms }
    }

    /// Milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        (self.wall_ms)()
    }

    /// A file's bytes.
    pub(super) async fn read(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let failed = |reason| Failure::File { path: path.to_owned(), reason };
        let bytes = tokio::fs::read(path).await.map_err(failed)?;
        if bytes.len() > LIMIT {
            return Err(failed(std::io::ErrorKind::FileTooLarge.into()));
        }
        Ok(bytes)
    }

    /// A file's text; nothing when there is no such file.
    pub(super) async fn read_if_there(&self, path: &str) -> Result<Option<String>, Failure> {
        match self.read(path).await {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(Failure::File { reason, .. }) if reason.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The status and the body of an answer.
    pub(super) async fn ask(
        &self,
        service: &'static str,
        reach: Reach,
        request: Result<Request<Bytes>, ExchangeError>,
    ) -> Result<(u16, Bytes), Failure> {
        let request = request.map_err(at(service))?;
        let unanswered = |fault| Failure::Unanswered { service, fault };
        let limit = match reach {
            Reach::Far => SERVICE,
            Reach::Near => NEARBY,
        };
        let reply = self
            .client
            .send(request, Deadlines::total(limit), Connection::Pooled)
            .await
            .map_err(unanswered)?;
        let status = reply.status.as_u16();
        let body = reply.read_all(LIMIT).await.map_err(unanswered)?;
        Ok((status, body))
    }

    /// The token of the workload's own identity.
    pub(super) async fn identity(&self, origin: &TokenOrigin) -> Result<SecretString, Failure> {
        const SERVICE: &str = "the identity token";
        match origin {
            TokenOrigin::Text(text) => Ok(text.clone()),
            TokenOrigin::File { path, member } => {
                web_token(&self.read(path).await?, member.as_deref()).map_err(at(SERVICE))
            }
            TokenOrigin::Url { url, headers, member } => {
                let unusable = |what: &str| at(SERVICE)(ExchangeError::Unreadable(what.to_owned()));
                let mut request = Request::new(Bytes::new());
                *request.uri_mut() = url.parse().map_err(|_| unusable("its address is no URL"))?;
                for (name, value) in headers {
                    let illegal = || unusable("a header for it cannot be sent");
                    let name = HeaderName::try_from(name.as_str()).map_err(|_| illegal())?;
                    let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| illegal())?;
                    value.set_sensitive(true);
                    request.headers_mut().insert(name, value);
                }
                let (status, body) = self.ask(SERVICE, Reach::Far, Ok(request)).await?;
                if !(200..300).contains(&status) {
                    let refused = ExchangeError::Refused { status, code: None, message: String::new() };
                    return Err(at(SERVICE)(refused));
                }
                web_token(&body, member.as_deref()).map_err(at(SERVICE))
            }
        }
    }
}
