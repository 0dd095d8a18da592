//! Where a Redis is, and how to be let in.

use redis::{
    ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo, RedisResult,
};
use secrecy::{ExposeSecret, SecretString};

/// A host and a port.
pub type Address = (String, u16);

/// Where a Redis is.
#[derive(Clone, Debug)]
pub enum Nodes {
    /// One server.
    Single(Address),
    /// Some nodes of a cluster; the others are found through them.
    Cluster(Vec<Address>),
    /// Sentinels that know which server is the primary.
    Sentinel {
        /// Their addresses.
        sentinels: Vec<Address>,
        /// What they call the primary.
        service: String,
        /// Password of the sentinels themselves.
        password: Option<SecretString>,
    },
}

/// A Redis of version 7 or later, or a Valkey.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where.
    pub nodes: Nodes,
    /// Whether over TLS, checked against the certificates of the system.
    pub tls: bool,
    /// ACL user.
    pub username: Option<String>,
    /// Password.
    pub password: Option<SecretString>,
    /// Number of the database; a cluster has only 0.
    pub db: i64,
    /// Prefix of every key.
    pub namespace: String,
}

impl Settings {
    pub(super) fn address(&self, (host, port): &Address) -> ConnectionAddr {
        if self.tls {
            ConnectionAddr::TcpTls { host: host.clone(), port: *port, insecure: false, tls_params: None }
        } else {
            ConnectionAddr::Tcp(host.clone(), *port)
        }
    }

    pub(super) fn login(&self) -> RedisConnectionInfo {
        let mut login = RedisConnectionInfo::default().set_db(self.db).set_protocol(ProtocolVersion::RESP3);
        if let Some(username) = &self.username {
            login = login.set_username(username);
        }
        if let Some(password) = &self.password {
            login = login.set_password(password.expose_secret());
        }
        login
    }

    pub(super) fn connection(&self, address: &Address) -> RedisResult<ConnectionInfo> {
        Ok(self.address(address).into_connection_info()?.set_redis_settings(self.login()))
    }
}
