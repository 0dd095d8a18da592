//! What a process shows of its fleet. All are zero for a process alone.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// What this process knows of its fleet at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FleetTotals {
    /// The store answers.
    pub up: bool,
    /// Pods that are there, this one included.
    pub pods: u64,
    /// What speaks against this process as a judge of others, 0 to 7.
    pub self_health: u64,
    /// Permits claimed.
    pub claims: u64,
    /// Permits granted.
    pub grants: u64,
    /// Permits that came too late to be used.
    pub dropped: u64,
    /// Verdicts that counted.
    pub commits: u64,
    /// Verdicts that did not.
    pub stale: u64,
    /// Claims that met a store that had failed over.
    pub quarantines: u64,
    /// Calls to the store.
    pub calls: u64,
    /// Calls that failed.
    pub failures: u64,
    /// Times that a deployment was found unwatched for three intervals.
    pub unwatched: u64,
    /// Probes paid ÷ probes due, of the whole fleet as seen from here.
    pub probe_ratio: f64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct FleetFamilies {
    up: Gauge,
    pods: Gauge,
    self_health: Gauge,
    permits: Family<Outcome, Counter>,
    calls: Family<Outcome, Counter>,
    unwatched: Counter,
    probe_ratio: Gauge<f64, AtomicU64>,
}

impl FleetFamilies {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register("haleway_fleet_store_up", "1 while the shared store answers", self.up.clone());
        registry.register("haleway_fleet_pods", "Pods of the fleet that are there", self.pods.clone());
        registry.register(
            "haleway_fleet_self_health",
            "What speaks against this process as a judge of others, 0 to 7; from 4 on it sends no probe",
            self.self_health.clone(),
        );
        registry.register(
            "haleway_fleet_permits",
            "Permits for probes, by what became of them",
            self.permits.clone(),
        );
        registry.register(
            "haleway_fleet_store_calls",
            "Calls to the shared store, by how they ended",
            self.calls.clone(),
        );
        registry.register(
            "haleway_fleet_unwatched",
            "Times that no probe of a deployment was completed for three intervals",
            self.unwatched.clone(),
        );
        registry.register(
            "haleway_fleet_probe_ratio",
            "Probes paid divided by probes due in the whole fleet; above 1 is an alarm",
            self.probe_ratio.clone(),
        );
    }

    pub(super) fn set(&self, totals: &FleetTotals) {
        self.up.set(totals.up.into());
        self.pods.set(i64::try_from(totals.pods).unwrap_or(i64::MAX));
        self.self_health.set(i64::try_from(totals.self_health).unwrap_or(i64::MAX));
        let raise = |family: &Family<Outcome, Counter>, outcome, total: u64| {
            family.get_or_create(&Outcome { outcome }).inner().fetch_max(total, Relaxed);
        };
        for (outcome, total) in [
            ("claimed", totals.claims),
            ("granted", totals.grants),
            ("dropped", totals.dropped),
            ("committed", totals.commits),
            ("stale", totals.stale),
            ("quarantined", totals.quarantines),
        ] {
            raise(&self.permits, outcome, total);
        }
        raise(&self.calls, "answered", totals.calls.saturating_sub(totals.failures));
        raise(&self.calls, "failed", totals.failures);
        self.unwatched.inner().fetch_max(totals.unwatched, Relaxed);
        self.probe_ratio.set(totals.probe_ratio);
    }
}
