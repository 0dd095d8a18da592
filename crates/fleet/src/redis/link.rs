//! A connection to any form of Redis, with a deadline on everything.
//!
//! One connection carries commands and pushed messages (RESP3). It is dropped after any fault and made anew by the one
//! task that keeps the link; nobody else waits for it.

use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, Pipeline, ProtocolVersion, PushInfo, RedisError,
    RedisFuture, RedisResult, ServerErrorKind, TlsMode, Value,
};
use secrecy::ExposeSecret;
use tokio::sync::mpsc;

use super::settings::{Nodes, Settings};
use crate::pod::Trouble;

/// Longest time for one command.
pub(super) const ANSWER: Duration = Duration::from_secs(1);
/// Longest time for a connection, with what it takes to find the server.
pub(super) const CONNECT: Duration = Duration::from_secs(2);

/// A connection. Cheap to clone: clones share it.
#[derive(Clone)]
pub(super) enum Connection {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Self::One(connection) => connection.req_packed_command(cmd),
            Self::Cluster(connection) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Self::One(connection) => connection.req_packed_commands(pipeline, offset, count),
            Self::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::One(connection) => connection.get_db(),
            Self::Cluster(connection) => connection.get_db(),
        }
    }
}

/// Connects and subscribes to `channel`. Messages that `pushes` has no room for are dropped: the poll finds what they
/// said.
pub(super) async fn connect(
    settings: &Settings,
    channel: &str,
    pushes: mpsc::Sender<PushInfo>,
) -> Result<Connection, Trouble> {
    let connecting = async {
        let mut connection = open(settings, pushes).await?;
        match &mut connection {
            Connection::One(connection) => connection.subscribe(channel).await?,
            Connection::Cluster(connection) => connection.subscribe(channel).await?,
        }
        Ok(connection)
    };
    match tokio::time::timeout(CONNECT, connecting).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => Err(trouble(&error)),
        Err(_) => Err(Trouble::Unreachable),
    }
}

async fn open(settings: &Settings, pushes: mpsc::Sender<PushInfo>) -> RedisResult<Connection> {
    let sender = move |push| pushes.try_send(push);
    let client = match &settings.nodes {
        Nodes::Single(address) => Client::open(settings.connection(address)?)?,
        Nodes::Sentinel { sentinels, service, password } => {
            primary(settings, sentinels, service, password.as_ref()).await?
        }
        Nodes::Cluster(nodes) => {
            let nodes: Vec<_> =
                nodes.iter().map(|node| settings.connection(node)).collect::<RedisResult<_>>()?;
            let mut builder = ClusterClient::builder(nodes)
                .use_protocol(ProtocolVersion::RESP3)
                .connection_timeout(CONNECT)
                .response_timeout(ANSWER)
                .retries(2)
                .push_sender(sender);
            if settings.tls {
                builder = builder.tls(TlsMode::Secure);
            }
            return Ok(Connection::Cluster(builder.build()?.get_async_connection().await?));
        }
    };
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(CONNECT))
        .set_response_timeout(Some(ANSWER))
        .set_push_sender(sender);
    Ok(Connection::One(client.get_multiplexed_async_connection_with_config(&config).await?))
}

/// The primary, as the sentinels name it now.
async fn primary(
    settings: &Settings,
    sentinels: &[super::settings::Address],
    service: &str,
    password: Option<&secrecy::SecretString>,
) -> RedisResult<Client> {
    let addresses = sentinels.iter().map(|address| settings.address(address));
    let mut builder = SentinelClientBuilder::new(addresses, service, SentinelServerType::Master)?
        .set_client_to_redis_db(settings.db)
        .set_client_to_redis_protocol(ProtocolVersion::RESP3);
    if settings.tls {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
    }
    if let Some(username) = &settings.username {
        builder = builder.set_client_to_redis_username(username);
    }
    if let Some(password) = &settings.password {
        builder = builder.set_client_to_redis_password(password.expose_secret());
    }
    if let Some(password) = password {
        builder = builder.set_client_to_sentinel_password(password.expose_secret());
    }
    builder.build()?.async_get_client().await
}

/// What an error means to a pod. Its text may carry an address or a user and goes nowhere.
pub(super) fn trouble(error: &RedisError) -> Trouble {
    if error.is_timeout() {
        return Trouble::Silent;
    }
    match error.code() {
        Some("OOM") => return Trouble::Full,
        Some("NOREPLICAS" | "MISCONF") => return Trouble::ReadOnly,
        Some("NOAUTH" | "WRONGPASS" | "NOPERM") => return Trouble::Refused,
        _ => {}
    }
    if error.is_io_error() || error.is_connection_dropped() {
        return Trouble::Unreachable;
    }
    let kind = error.kind();
    let no_server = [
        ErrorKind::ClusterConnectionNotFound,
        ErrorKind::MasterNameNotFoundBySentinel,
        ErrorKind::NoValidReplicasFoundBySentinel,
        ErrorKind::EmptySentinelList,
        ErrorKind::Server(ServerErrorKind::MasterDown),
        ErrorKind::Server(ServerErrorKind::ClusterDown),
    ];
    if no_server.contains(&kind) {
        return Trouble::Unreachable;
    }
    if kind == ErrorKind::Server(ServerErrorKind::ReadOnly) {
        Trouble::ReadOnly
    } else if kind == ErrorKind::Server(ServerErrorKind::BusyLoading) {
        Trouble::Loading
    } else {
        Trouble::Refused
    }
}
