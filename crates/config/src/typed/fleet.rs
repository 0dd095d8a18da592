//! How processes share one Redis.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// Coordination of several processes: what the file and the environment say of it.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// `use_shared_health_check`, and Redis is configured.
    pub shared: bool,
    /// `DEFAULT_SHARED_HEALTH_CHECK_TTL`: the probing period in shared mode.
    pub ttl: Duration,
    /// `DEFAULT_SHARED_HEALTH_CHECK_LOCK_TTL`.
    pub lock_ttl: Duration,
    /// The store that the processes share; `None` = each is on its own.
    pub redis: Option<Redis>,
    /// `fleet.role`: what this process is for, unless its command line says otherwise.
    pub role: FleetRole,
    /// `fleet.litellm_keys`.
    pub litellm_keys: LitellmKeys,
    /// `fleet.full_sync`: how often everything is read again, whatever was pushed.
    pub full_sync: Duration,
    /// `fleet.snapshot`: file in which what the fleet knows is kept for the next start.
    pub snapshot: Option<PathBuf>,
    /// `fleet.owner_index` of `fleet.owner_count`: the share of the deployments that this process probes without Redis.
    pub share: Option<(u32, u32)>,
}

/// What a process is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FleetRole {
    /// It serves and probes.
    #[default]
    All,
    /// It serves and never probes.
    Gateway,
    /// It probes and serves no model calls.
    Prober,
}

impl FleetRole {
    /// The word in files and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Gateway => "gateway",
            Self::Prober => "prober",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::All, Self::Gateway, Self::Prober].into_iter().find(|role| role.as_str() == name)
    }
}

/// What is done with the Redis keys of LiteLLM's shared health check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LitellmKeys {
    /// They are written, for runbooks and for pods of LiteLLM.
    #[default]
    Publish,
    /// They are written, and what pods of LiteLLM write counts.
    Join,
    /// They are left alone.
    Off,
}

/// A Redis, in any of its forms.
#[derive(Clone, Debug)]
pub struct Redis {
    /// Where.
    pub nodes: RedisNodes,
    /// Whether over TLS.
    pub tls: bool,
    /// ACL user.
    pub username: Option<String>,
    /// Password.
    pub password: Option<SecretString>,
    /// Number of the database; always 0 in a cluster.
    pub db: i64,
    /// `namespace` where LiteLLM's cache names one: the prefix of LiteLLM's own keys.
    pub litellm_namespace: Option<String>,
    /// `haleway.fleet.namespace`, else LiteLLM's, else `haleway`: the prefix of every key.
    pub namespace: String,
}

/// A host and a port.
pub type RedisAddress = (String, u16);

/// Where a Redis is.
#[derive(Clone, Debug)]
pub enum RedisNodes {
    /// One server.
    Single(RedisAddress),
    /// Some nodes of a cluster; the others are found through them.
    Cluster(Vec<RedisAddress>),
    /// Sentinels that know which server is the primary.
    Sentinel {
        /// Their addresses.
        sentinels: Vec<RedisAddress>,
        /// What they call the primary.
        service: String,
        /// Password of the sentinels themselves.
        password: Option<SecretString>,
    },
}
