//! From the configuration to the fleet that it asks for.

use std::sync::Arc;

use haleway_config::{Config, Redis, RedisNodes};
use haleway_fleet::redis::{Nodes, RedisFleet, Settings};
use haleway_fleet::{FleetHandle, PodId};

use super::role;
use crate::clock::Clock;

/// The fleet that `config` asks for: over its Redis, or this process alone. Connects to nothing yet. `host` is what this
/// machine is called; with `seed`, which is different per process, it makes the name of the pod.
pub fn handle(config: &Config, clock: Clock, seed: u64, host: Option<&str>) -> FleetHandle {
    let Some(redis) = &config.haleway.fleet.redis else { return FleetHandle::local() };
    let name = format!("{}-{:08x}", host.unwrap_or("haleway"), seed as u32);
    let fleet = RedisFleet::new(settings(redis), PodId::new(&name), role(config), seed, move || clock.now());
    FleetHandle::Redis(Arc::new(fleet))
}

fn settings(redis: &Redis) -> Settings {
    let nodes = match &redis.nodes {
        RedisNodes::Single(address) => Nodes::Single(address.clone()),
        RedisNodes::Cluster(nodes) => Nodes::Cluster(nodes.clone()),
        RedisNodes::Sentinel { sentinels, service, password } => Nodes::Sentinel {
            sentinels: sentinels.clone(),
            service: service.clone(),
            password: password.clone(),
        },
    };
    Settings {
        nodes,
        tls: redis.tls,
        username: redis.username.clone(),
        password: redis.password.clone(),
        db: redis.db,
        namespace: redis.namespace.clone(),
    }
}
