//! Listening, accepting, and ending in order.
//!
//! Own accept loop because `axum::serve` has no header-read timeout and no cap on connections. Shutdown has three
//! phases. For `delay` everything is served as before, so that whoever spreads the traffic has time to notice that this
//! process is not ready any more. Then what runs comes to its end, while new connections are answered by `late`: whoever
//! watches this process still learns that it lives. At the cap, what still runs is cut.

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
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::body::Body;

/// Longest time a client may take to send its request head.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections at once that are answered while the process drains.
const LATE_CONNECTIONS: usize = 256;

/// Limits of one listener.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections served at once; further ones wait in the kernel's queue.
    pub max_connections: usize,
    /// How long new requests are served after shutdown began.
    pub delay: Duration,
    /// How long running requests may go on after that.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_connections: 16_384, delay: Duration::ZERO, drain: Duration::from_secs(30) }
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

/// Serves `listener` with `handler` until `shutdown`, then drains; connections that come meanwhile are for `late`.
pub async fn serve<H, F, L, G>(
    listener: TcpListener,
    handler: H,
    late: L,
    limits: Limits,
    shutdown: CancellationToken,
) where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
    L: Fn(Request<Incoming>) -> G + Clone + Send + Sync + 'static,
    G: Future<Output = Response<Body>> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(limits.max_connections));
    let tasks = TaskTracker::new();
    let graceful = GracefulShutdown::new();
    let builder = builder(true);
    let end = async {
        shutdown.cancelled().await;
        tokio::time::sleep(limits.delay).await;
    };
    tokio::pin!(end);
    loop {
        let accepted = tokio::select! {
            biased;
            () = &mut end => break,
            accepted = accept(&listener, &places) => accepted,
        };
        let Some((stream, place)) = accepted else { break };
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service(&handler));
        let connection = graceful.watch(connection.into_owned());
        tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = %error, "connection ended early");
            }
            drop(place);
        });
    }
    tasks.close();
    let ended = async {
        graceful.shutdown().await;
        tasks.wait().await;
    };
    tokio::select! {
        ended = tokio::time::timeout(limits.drain, ended) => if ended.is_err() {
            tracing::warn!(seconds = limits.drain.as_secs(), "drain cap reached, cutting what still runs");
        },
        () = answer_late(&listener, &late) => {}
    }
}

/// Answers connections that come while the process drains, one request each. What they still run ends with it.
async fn answer_late<L, G>(listener: &TcpListener, late: &L)
where
    L: Fn(Request<Incoming>) -> G + Clone + Send + Sync + 'static,
    G: Future<Output = Response<Body>> + Send + 'static,
{
    let builder = builder(false);
    let places = Arc::new(Semaphore::new(LATE_CONNECTIONS));
    let mut running = JoinSet::new();
    while let Some((stream, place)) = accept(listener, &places).await {
        let connection = builder.serve_connection(TokioIo::new(stream), service(late)).into_owned();
        running.spawn(async move {
            drop(connection.await);
            drop(place);
        });
        while running.try_join_next().is_some() {}
    }
}

fn builder(keep_alive: bool) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    let mut http1 = builder.http1();
    http1.timer(TokioTimer::new()).header_read_timeout(HEADER_READ_TIMEOUT).pipeline_flush(true);
    http1.keep_alive(keep_alive);
    builder.http2().timer(TokioTimer::new());
    builder
}

fn service<H, F>(
    handler: &H,
) -> impl hyper::service::Service<
    Request<Incoming>,
    Response = Response<Body>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<H, F>,
> + use<H, F>
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let handler = handler.clone();
    service_fn(move |request| {
        let answer = handler(request);
        async move { Ok::<_, Infallible>(answer.await) }
    })
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
