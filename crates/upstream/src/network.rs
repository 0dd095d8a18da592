//! Which network an upstream lives on: the real one, or one in memory so that tests run on the paused clock.
//!
//! TLS is rustls with ring, named explicitly: no process-wide default decides it. Roots are the system's; an image
//! without any gets Mozilla's bundled ones.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::ConfigBuilderExt;
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::connect::{Resolver, Transport};

/// A byte stream that a [`Dial`] opened.
pub trait Dialled: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Dialled for T {}

/// A connection being opened.
pub type Dialling = Pin<Box<dyn Future<Output = io::Result<Box<dyn Dialled>>> + Send>>;

/// Opens connections in place of TCP. A refused connection is `ConnectionRefused`.
pub trait Dial: Send + Sync + 'static {
    /// Connects to a host and port.
    fn dial(&self, host: &str, port: u16) -> Dialling;
}

/// TLS could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("TLS cannot be set up: {0}")]
pub struct NetworkError(#[from] rustls::Error);

/// How connections are opened, shared by all upstreams: cheap to clone.
#[derive(Clone)]
pub struct Network {
    pub(crate) transport: Transport,
    pub(crate) tls: Arc<ClientConfig>,
}

impl Network {
    /// TCP with the system's resolver and trusted roots. Reads the root certificates: call it once.
    ///
    /// # Errors
    /// When the TLS library refuses its own defaults.
    pub fn system() -> Result<Self, NetworkError> {
        let config = match tls_builder()?.with_native_roots() {
            Ok(builder) => builder.with_no_client_auth(),
            Err(_no_system_roots) => tls_builder()?.with_webpki_roots().with_no_client_auth(),
        };
        Ok(Self { transport: Transport::Tcp(tcp()), tls: Arc::new(config) })
    }

    /// Connections from `dial`, for tests. Trusts no certificate until [`Network::trusting`].
    ///
    /// # Errors
    /// When the TLS library refuses its own defaults.
    pub fn in_memory(dial: Arc<dyn Dial>) -> Result<Self, NetworkError> {
        Ok(Self { transport: Transport::Dial(dial), tls: Arc::new(trusting(RootCertStore::empty())?) })
    }

    /// The same network, with exactly these certificate authorities (a private CA).
    ///
    /// # Errors
    /// When a certificate is not a usable authority.
    pub fn trusting(
        mut self,
        authorities: impl IntoIterator<Item = CertificateDer<'static>>,
    ) -> Result<Self, NetworkError> {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority)?;
        }
        self.tls = Arc::new(trusting(roots)?);
        Ok(self)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("transport", &self.transport).finish_non_exhaustive()
    }
}

fn tls_builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
}

fn trusting(roots: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    Ok(tls_builder()?.with_root_certificates(roots).with_no_client_auth())
}

/// TCP as calls to model providers need it: no Nagle delay, and dead peers noticed while a stream is silent.
fn tcp() -> HttpConnector<Resolver> {
    let mut connector = HttpConnector::new_with_resolver(Resolver::system());
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_keepalive(Some(Duration::from_secs(15)));
    connector.set_keepalive_interval(Some(Duration::from_secs(5)));
    connector.set_keepalive_retries(Some(3));
    // A peer that vanished (a NAT entry gone) acknowledges nothing: known after this, not after 15 minutes.
    #[cfg(target_os = "linux")]
    connector.set_tcp_user_timeout(Some(Duration::from_secs(10)));
    connector
}
