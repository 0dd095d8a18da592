//! What a process shows of its memory. Nothing is counted without one.

use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What became of what was to be remembered, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreTotals {
    /// The database answers.
    pub up: bool,
    /// Writes that wait for it.
    pub waiting: u64,
    /// Writes that it has.
    pub written: u64,
    /// Intermediate states that were dropped because too many waited.
    pub dropped: u64,
    /// Writes that it will never take.
    pub refused: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct StoreFamilies {
    up: Gauge,
    waiting: Gauge,
    writes: Family<Outcome, Counter>,
}

impl StoreFamilies {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("haleway_store_up", "1 while the database of the history answers", self.up.clone());
        registry.register("haleway_store_waiting", "Writes that wait for the database", self.waiting.clone());
        registry.register("haleway_store_writes", "Writes, by what became of them", self.writes.clone());
    }

    pub(super) fn set(&self, totals: &StoreTotals) {
        self.up.set(totals.up.into());
        self.waiting.set(i64::try_from(totals.waiting).unwrap_or(i64::MAX));
        for (outcome, total) in
            [("written", totals.written), ("dropped", totals.dropped), ("refused", totals.refused)]
        {
            self.writes.get_or_create(&Outcome { outcome }).inner().fetch_max(total, Relaxed);
        }
    }
}
