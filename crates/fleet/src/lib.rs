//! Who in the fleet may send a probe now: one-shot permits.
//!
//! Safety comes from one atomic claim per probe. A permit is a lease of exactly one probe that ends by itself:
//! nothing is renewed, so no renewal can race. Its number is the fencing token: a verdict counts only for the
//! latest permit, once. Between two grants of a deployment lies at least the interval that the claim names, so
//! what probes cost is bounded whatever the processes do.
//!
//! [`book`] is what the store decides, [`pod`] what each process decides by itself; both are pure, and the simulator
//! runs them as they are.
//!
//! [`Fleet`] is asynchronous because a shared store is; its futures are unnamed, which rules out `dyn`. The
//! implementations are few and known here, so [`FleetHandle`] names them: no boxing, no type parameter in every
//! struct that holds one.

pub mod book;
mod id;
mod local;
mod permit;
pub mod pod;
pub mod redis;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::Timestamp;

pub use id::{PodId, share_of};
pub use local::LocalFleet;
pub use permit::{Grant, Permit, TooLate, USE_WITHIN};

/// Shortest time from a verdict to the next probe, unless the interval itself is shorter.
pub const MIN_GAP: Duration = Duration::from_secs(5);

/// A claim for one probe.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The deployment's id.
    pub deployment: &'a Arc<str>,
    /// The interval in force for it now.
    pub interval: Duration,
    /// How long a probe may take until it counts as lost: its timeout and a margin of 5 s.
    pub hold: Duration,
}

/// The answer to a claim.
#[derive(Debug, PartialEq, Eq)]
pub enum Claim {
    /// One probe may be sent.
    Granted(Permit),
    /// Not before then.
    Wait(Timestamp),
}

/// A verdict that came too late to count: another permit was granted, or it was committed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the verdict of permit {seq} is stale")]
pub struct Stale {
    /// The permit's number.
    pub seq: u64,
}

/// Grants permits and takes note of verdicts.
pub trait Fleet {
    /// Asks for a permit.
    fn claim(&self, now: Timestamp, ask: &Ask<'_>) -> impl Future<Output = Claim> + Send;

    /// Notes that the verdict of `grant` came. Only an accepted verdict may change health.
    fn commit(&self, now: Timestamp, grant: &Grant) -> impl Future<Output = Result<(), Stale>> + Send;
}

/// The fleet that this process is part of. Cheap to clone.
#[derive(Clone, Debug)]
pub enum FleetHandle {
    /// This process alone.
    Local(Arc<LocalFleet>),
    /// Several processes that share a Redis.
    Redis(Arc<redis::RedisFleet>),
}

impl FleetHandle {
    /// A process alone.
    pub fn local() -> Self {
        Self::Local(Arc::new(LocalFleet::new()))
    }

    /// Forgets deployments that are gone, after a reload.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) {
        match self {
            Self::Local(fleet) => fleet.retain(keep),
            Self::Redis(fleet) => fleet.retain(keep),
        }
    }
}

impl Fleet for FleetHandle {
    async fn claim(&self, now: Timestamp, ask: &Ask<'_>) -> Claim {
        match self {
            Self::Local(fleet) => fleet.claim(now, ask).await,
            Self::Redis(fleet) => fleet.claim(now, ask).await,
        }
    }

    async fn commit(&self, now: Timestamp, grant: &Grant) -> Result<(), Stale> {
        match self {
            Self::Local(fleet) => fleet.commit(now, grant).await,
            Self::Redis(fleet) => fleet.commit(now, grant).await,
        }
    }
}

#[cfg(test)]
mod tests;
