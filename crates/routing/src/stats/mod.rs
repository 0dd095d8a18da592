//! What selection reads about load and speed, and the lock-free table that keeps it.
//!
//! A failure never makes a deployment look better: it adds a penalty that decays, and no latency sample. A
//! deployment that comes back starts from nothing again, so that an old average cannot starve it.

mod cell;
mod table;

use haleway_health::{Slot, Timestamp};

pub use table::{Running, Sample, StatsTable};

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
    /// Requests sent this minute.
    fn requests_this_minute(&self, slot: Slot, now: Timestamp) -> u32;
    /// Tokens used this minute.
    fn tokens_this_minute(&self, slot: Slot, now: Timestamp) -> u64;
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
    fn requests_this_minute(&self, _: Slot, _: Timestamp) -> u32 {
        0
    }
    fn tokens_this_minute(&self, _: Slot, _: Timestamp) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests;
