//! One deployment's client: its pool, and one exchange over it.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use haleway_wire::Payload;
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;

use crate::connect::Connector;
use crate::deadline::{Deadlines, Phase, due};
use crate::fault::{Fault, is_stale};
use crate::network::Network;
use crate::relay::{Relay, read_all};

/// How a deployment's connections are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Limit for name resolution, TCP and TLS together. Default 5 s.
    pub connect: Duration,
    /// Idle connections kept. Default 256.
    pub max_idle: usize,
    /// How long an idle connection is kept: below the 60 s after which common load balancers close theirs. Default 50 s.
    pub idle_timeout: Duration,
    /// Age from which a connection is not used again, so that a name that moved is followed. Default 300 s; `None`: no limit.
    pub max_age: Option<Duration>,
    /// Largest head of an answer, and the most that is read ahead of a slow reader, in bytes. At least 8192. Default 64 KiB.
    pub read_buffer: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            max_idle: 256,
            idle_timeout: Duration::from_secs(50),
            max_age: Some(Duration::from_secs(300)),
            read_buffer: 64 * 1024,
        }
    }
}

/// The smallest buffer hyper accepts.
const MIN_READ_BUFFER: usize = 8192;

/// Which connection an exchange may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// A kept one when there is one.
    #[default]
    Pooled,
    /// A new one, name resolved anew, closed afterwards: for every n-th probe, so that it sees what a new client would.
    Fresh,
}

/// The transport of one deployment. Cheap to clone; clones share the pool.
#[derive(Clone)]
pub struct Upstream {
    pooled: Client<Connector, Payload>,
    fresh: Client<Connector, Payload>,
}

impl Upstream {
    /// A client with an empty pool. Connects to nothing yet.
    pub fn new(network: &Network, settings: &Settings) -> Self {
        let connector = Connector::new(network, settings.connect, settings.max_age);
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(settings.idle_timeout)
            .retry_canceled_requests(true)
            .http1_max_buf_size(settings.read_buffer.max(MIN_READ_BUFFER));
        let fresh = builder.clone().pool_max_idle_per_host(0).build(connector.clone());
        let pooled = builder.pool_max_idle_per_host(settings.max_idle).build(connector);
        Self { pooled, fresh }
    }

    /// Sends a request with an absolute URI and waits for the head of the answer. Dropping the future cancels the exchange.
    ///
    /// # Errors
    /// A [`Fault`] when no head came; every status, errors included, is a [`Reply`].
    pub async fn send(
        &self,
        request: Request<impl Into<Payload>>,
        deadlines: Deadlines,
        connection: Connection,
    ) -> Result<Reply, Fault> {
        let started = Instant::now();
        let (response, reconnected) =
            self.head(request.map(Into::into), started, deadlines, connection).await?;
        Ok(Reply::new(response, reconnected, started, deadlines))
    }

    /// The head of the answer to a request that was `started`, within the deadlines that can strike before it.
    pub(crate) async fn head(
        &self,
        request: Request<Payload>,
        started: Instant,
        deadlines: Deadlines,
        connection: Connection,
    ) -> Result<(Response<Incoming>, bool), Fault> {
        let exchange = self.exchange(request, connection);
        match deadlines.before_head(started) {
            None => exchange.await,
            Some((at, phase)) => match tokio::time::timeout_at(at, exchange).await {
                Ok(result) => result,
                Err(_elapsed) => Err(Fault::timeout(phase)),
            },
        }
    }

    async fn exchange(
        &self,
        request: Request<Payload>,
        connection: Connection,
    ) -> Result<(Response<Incoming>, bool), Fault> {
        let request = match connection {
            Connection::Fresh => request,
            Connection::Pooled => {
                // hyper consumes the request; the copy shares every string and the body.
                let spare = request.clone();
                match self.pooled.request(request).await {
                    Ok(response) => return Ok((response, false)),
                    Err(error) if is_stale(&error) => spare,
                    Err(error) => return Err(Fault::sending(&error)),
                }
            }
        };
        match self.fresh.request(request).await {
            Ok(response) => Ok((response, connection == Connection::Pooled)),
            Err(error) => Err(Fault::sending(&error)),
        }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").finish_non_exhaustive()
    }
}

/// The head of an answer, and its body still to come. Dropping it cancels the rest.
#[derive(Debug)]
pub struct Reply {
    /// The status, whatever it is.
    pub status: StatusCode,
    /// The headers as they came.
    pub headers: HeaderMap,
    /// A dead kept-alive connection was replaced on the way. Not a failure of the deployment.
    pub reconnected: bool,
    body: Incoming,
    started: Instant,
    deadlines: Deadlines,
}

impl Reply {
    pub(crate) fn new(
        response: Response<Incoming>,
        reconnected: bool,
        started: Instant,
        deadlines: Deadlines,
    ) -> Self {
        let (head, body) = response.into_parts();
        Self { status: head.status, headers: head.headers, reconnected, body, started, deadlines }
    }

    /// When the call began.
    pub const fn started(&self) -> Instant {
        self.started
    }

    /// Reads the whole body, at most `cap` bytes, within the total deadline.
    ///
    /// # Errors
    /// [`FaultKind::TooLarge`](crate::FaultKind::TooLarge) beyond the cap, `Cut`, or a timeout of the total.
    pub async fn read_all(self, cap: usize) -> Result<Bytes, Fault> {
        read_all(self.body, cap, due(self.started, self.deadlines.total, Phase::Total).map(|(at, _)| at))
            .await
    }

    /// Splits into head and stream.
    pub fn into_relay(self) -> (StatusCode, HeaderMap, Relay) {
        (self.status, self.headers, Relay::new(self.body, self.started, &self.deadlines))
    }
}
