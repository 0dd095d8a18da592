//! How the store is, as metrics and readiness tell it. A lost store makes no process unready: it serves without.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use haleway_telemetry::StoreTotals;
use serde_json::{Value, json};

use super::Memory;
use crate::gateway::Gateway;

/// What the one task that writes saw last, and what became of its writes.
#[derive(Debug, Default)]
pub(super) struct Condition {
    pub(super) up: AtomicBool,
    pub(super) written: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) refused: AtomicU64,
}

impl Condition {
    pub(super) fn add(counter: &AtomicU64, number: u64) {
        counter.fetch_add(number, Relaxed);
    }
}

impl Memory {
    /// Counts so far.
    pub(crate) fn totals(&self) -> StoreTotals {
        let condition = &self.condition;
        StoreTotals {
            up: condition.up.load(Relaxed),
            waiting: u64::try_from(self.backlog.lock().len()).unwrap_or(u64::MAX),
            written: condition.written.load(Relaxed),
            dropped: condition.dropped.load(Relaxed),
            refused: condition.refused.load(Relaxed),
        }
    }

    /// The same for readers of `/health/readiness/details`.
    pub(crate) fn condition(&self) -> Value {
        let totals = self.totals();
        json!({
            "answers": totals.up,
            "waiting": totals.waiting,
            "dropped": totals.dropped,
            "refused": totals.refused,
        })
    }
}

impl Gateway {
    /// LiteLLM's word for its database.
    pub(crate) fn database(&self) -> &'static str {
        match self.memory.get() {
            None => "Not connected",
            Some(memory) if memory.condition.up.load(Relaxed) => "connected",
            Some(_) => "disconnected",
        }
    }
}
