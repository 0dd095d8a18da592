//! Opening a connection: name, TCP (or memory), TLS, within the connect deadline, each failure with its own kind.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiResolver, Name};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::deadline::Phase;
use crate::fault::{DnsFault, Fault};
use crate::network::{Dial, Dialled, Network};
use crate::watch::Watched;

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The system's resolver, its errors marked as such.
#[derive(Clone, Debug)]
pub(crate) struct Resolver(GaiResolver);

impl Resolver {
    pub(crate) fn system() -> Self {
        Self(GaiResolver::new())
    }
}

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = DnsFault;
    type Future = BoxFuture<Result<GaiAddrs, DnsFault>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), DnsFault>> {
        self.0.poll_ready(cx).map_err(DnsFault)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolving = self.0.call(name);
        Box::pin(async move { resolving.await.map_err(DnsFault) })
    }
}

/// Where byte streams come from.
#[derive(Clone)]
pub(crate) enum Transport {
    Tcp(HttpConnector<Resolver>),
    Dial(Arc<dyn Dial>),
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp(_) => "tcp",
            Self::Dial(_) => "memory",
        })
    }
}

impl Service<Uri> for Transport {
    type Response = TokioIo<Wire>;
    type Error = Fault;
    type Future = BoxFuture<Result<TokioIo<Wire>, Fault>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        match self {
            Self::Tcp(connector) => connector.poll_ready(cx).map_err(|error| Fault::connecting(&error)),
            Self::Dial(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        match self {
            Self::Tcp(connector) => {
                let connecting = connector.call(uri);
                Box::pin(async move {
                    let stream = connecting.await.map_err(|error| Fault::connecting(&error))?;
                    Ok(TokioIo::new(Wire::Tcp(stream.into_inner())))
                })
            }
            Self::Dial(dial) => {
                let default_port = if uri.scheme_str() == Some("https") { 443 } else { 80 };
                let dialling =
                    dial.dial(uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(default_port));
                Box::pin(async move {
                    let stream = dialling.await.map_err(|error| Fault::connecting(&error))?;
                    Ok(TokioIo::new(Wire::Memory(stream)))
                })
            }
        }
    }
}

/// An open byte stream, before TLS.
pub(crate) enum Wire {
    Tcp(TcpStream),
    Memory(Box<dyn Dialled>),
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        // No peer address in the extras: it would be boxed into every answer, and nobody reads it.
        Connected::new()
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Memory(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Memory(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Memory(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Memory(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Memory(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Memory(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }
}

/// The connector of one deployment.
#[derive(Clone)]
pub(crate) struct Connector {
    https: HttpsConnector<Transport>,
    limit: Duration,
    max_age: Option<Duration>,
}

impl Connector {
    /// A connector that gives up after `limit` and retires connections at `max_age`.
    pub(crate) fn new(network: &Network, limit: Duration, max_age: Option<Duration>) -> Self {
        // No ALPN: HTTP/1.1, one connection per running exchange, so that no stream waits behind another.
        let https = HttpsConnector::from((network.transport.clone(), Arc::clone(&network.tls)));
        Self { https, limit, max_age }
    }
}

type Secured = TokioIo<MaybeHttpsStream<TokioIo<Wire>>>;

impl Service<Uri> for Connector {
    type Response = TokioIo<Watched<Secured>>;
    type Error = Fault;
    type Future = BoxFuture<Result<Self::Response, Fault>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.https.poll_ready(cx).map_err(of_boxed)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.https.call(uri);
        let (limit, max_age) = (self.limit, self.max_age);
        Box::pin(async move {
            match tokio::time::timeout(limit, connecting).await {
                Ok(Ok(stream)) => Ok(TokioIo::new(Watched::new(TokioIo::new(stream), max_age))),
                Ok(Err(error)) => Err(of_boxed(error)),
                Err(_elapsed) => Err(Fault::timeout(Phase::Connect)),
            }
        })
    }
}

/// Everything below TLS fails with a [`Fault`]; what is left is TLS itself.
fn of_boxed(error: Box<dyn std::error::Error + Send + Sync>) -> Fault {
    match error.downcast::<Fault>() {
        Ok(fault) => *fault,
        Err(tls) => Fault::tls(tls.as_ref()),
    }
}
