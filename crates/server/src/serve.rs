//! Listening, accepting, and ending in order.
//!
//! Own accept loop because `axum::serve` has no header-read timeout and no cap on connections. Shutdown has two
//! phases: stop accepting and let what runs come to its end; then, at the cap, cut it.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::body::Body;

/// Longest time a client may take to send its request head.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Limits of one listener.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections served at once; further ones wait in the kernel's queue.
    pub max_connections: usize,
    /// How long running requests may go on after shutdown began.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_connections: 16_384, drain: Duration::from_secs(30) }
    }
}

/// Opens a listener.
///
/// # Errors
/// The system's error, with the address in its message.
pub async fn bind(addr: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(addr).await.map_err(|error| {
        #[expect(clippy::wildcard_enum_match_arm, reason = "ErrorKind is open-ended")]
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => ": another process listens there; choose another port",
            io::ErrorKind::PermissionDenied => ": ports below 1024 need a privilege; choose another port",
            _ => "",
        };
        io::Error::new(error.kind(), format!("cannot listen on {addr}{hint} ({error})"))
    })
}

/// Serves `listener` with `handler` until `shutdown`, then drains.
pub async fn serve<H, F>(listener: TcpListener, handler: H, limits: Limits, shutdown: CancellationToken)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(limits.max_connections));
    let tasks = TaskTracker::new();
    let graceful = GracefulShutdown::new();
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_READ_TIMEOUT).pipeline_flush(true);
    builder.http2().timer(TokioTimer::new());
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else { break };
        let handler = handler.clone();
        let service = service_fn(move |request| {
            let answer = handler(request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        let connection = graceful.watch(connection);
        tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = %error, "connection ended early");
            }
            drop(place);
        });
    }
    drop(listener);
    tasks.close();
    let ended = async {
        graceful.shutdown().await;
        tasks.wait().await;
    };
    if tokio::time::timeout(limits.drain, ended).await.is_err() {
        tracing::warn!(seconds = limits.drain.as_secs(), "drain cap reached, cutting what still runs");
    }
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(error = %error, "cannot set TCP_NODELAY");
                }
                return Some((stream, place));
            }
            Err(error) => {
                // Out of file descriptors or an aborted handshake: neither ends the listener.
                tracing::warn!(error = %error, "accept failed");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
