//! What selection reads about load and speed, and the lock-free table that keeps it.
//!
//! A failure never makes a deployment look better: it adds a penalty that decays, and no latency sample. A
//! deployment that comes back starts from nothing again, so that an old average cannot starve it.

mod cell;
mod table;

use haleway_health::{Slot, Timestamp};

pub use table::{Running, Sample, StatsTable};

/// What was used of a deployment's limits in the present minute of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Requests sent.
    pub requests: u32,
    /// Tokens of the answers that came.
    pub tokens: u64,
}

/// Load and speed of deployments.
pub trait Stats {
    /// Requests in flight.
    fn in_flight(&self, slot: Slot) -> u32;
    /// Milliseconds to the first token, decayed from its peak; `None` before the first sample.
    fn first_token_ms(&self, slot: Slot, now: Timestamp) -> Option<f32>;
    /// Mean of the recent latencies in milliseconds; `None` without a recent one.
    fn latency_ms(&self, slot: Slot, now: Timestamp) -> Option<f32>;
    /// What recent failures add to a latency, in milliseconds; 0 without any.
    fn penalty_ms(&self, slot: Slot, now: Timestamp) -> f32;
    /// Requests sent and tokens used this minute.
    fn used_this_minute(&self, slot: Slot, now: Timestamp) -> Used;
}

/// Nothing is known of anyone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStats;

impl Stats for NoStats {
    fn in_flight(&self, _: Slot) -> u32 {
        0
    }
    fn first_token_ms(&self, _: Slot, _: Timestamp) -> Option<f32> {
        None
    }
    fn latency_ms(&self, _: Slot, _: Timestamp) -> Option<f32> {
        None
    }
    fn penalty_ms(&self, _: Slot, _: Timestamp) -> f32 {
        0.0
    }
    fn used_this_minute(&self, _: Slot, _: Timestamp) -> Used {
        Used::default()
    }
}

#[cfg(test)]
mod tests;
