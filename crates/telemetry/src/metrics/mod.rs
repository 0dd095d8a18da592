//! Metrics of one process: a registry, and handles that count without hashing a label.
//!
//! Series exist only for what the configuration names. A request for a name that it does not know counts under
//! `other`, so no caller can make series.

mod deployment;
mod families;
mod fleet;
mod group;
mod labels;
mod store;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

pub use deployment::{DeploymentLabels, DeploymentMetrics, ProbeRung, ProbeVerdict};
pub use fleet::FleetTotals;
pub use group::GroupMetrics;
pub use store::StoreTotals;

use families::Families;
use labels::Provider;

/// `Content-Type` of [`Metrics::encode`].
pub const METRICS_CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Label value of everything that the configuration does not name.
pub const OTHER: &str = "other";

/// Totals that the health core counts itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthTotals {
    /// Trials granted.
    pub trials_granted: u64,
    /// Trials whose verdict never came.
    pub trials_lost: u64,
    /// Results that were too late to move anything.
    pub late_verdicts: u64,
}

/// All metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    families: Arc<Families>,
    fleet: fleet::FleetFamilies,
    store: store::StoreFamilies,
    deployments: Mutex<HashMap<DeploymentLabels, Arc<DeploymentMetrics>>>,
    groups: Mutex<HashMap<Arc<str>, Arc<GroupMetrics>>>,
    other: Arc<GroupMetrics>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Empty metrics.
    pub fn new() -> Self {
        let families = Arc::new(Families::default());
        let mut registry = Registry::default();
        families.register(&mut registry);
        let fleet = fleet::FleetFamilies::default();
        fleet.register(&mut registry);
        let store = store::StoreFamilies::default();
        store.register(&mut registry);
        let other = Arc::new(GroupMetrics::new(&families, &Arc::from(OTHER)));
        Self {
            registry,
            families,
            fleet,
            store,
            deployments: Mutex::default(),
            groups: Mutex::default(),
            other,
        }
    }

    /// The handles of a configured deployment; the same ones for the same labels.
    pub fn deployment(&self, labels: &DeploymentLabels) -> Arc<DeploymentMetrics> {
        let mut deployments = self.deployments.lock();
        let made = || Arc::new(DeploymentMetrics::new(&self.families, labels));
        Arc::clone(deployments.entry(labels.clone()).or_insert_with(made))
    }

    /// The handles of a configured group; the same ones for the same name.
    pub fn group(&self, name: &Arc<str>) -> Arc<GroupMetrics> {
        let mut groups = self.groups.lock();
        let made = || Arc::new(GroupMetrics::new(&self.families, name));
        Arc::clone(groups.entry(Arc::clone(name)).or_insert_with(made))
    }

    /// The handles of the group that a caller named, or of `other`. Makes no series.
    pub fn named_by_caller(&self, name: &str) -> Arc<GroupMetrics> {
        Arc::clone(self.groups.lock().get(name).unwrap_or(&self.other))
    }

    /// The handles of everything that no configured group stands for.
    pub const fn other(&self) -> &Arc<GroupMetrics> {
        &self.other
    }

    /// Removes the series of deployments and groups that a reload took away. Fetch handles afterwards: those of a
    /// deployment whose labels changed are made anew.
    pub fn retain(&self, deployment: impl Fn(&DeploymentLabels) -> bool, group: impl Fn(&str) -> bool) {
        let mut kept = self.deployments.lock();
        let gone: Vec<_> = kept.extract_if(|labels, _| !deployment(labels)).collect();
        for (_, handles) in &gone {
            handles.remove();
        }
        // Two label sets of one deployment share series that name only its id: those of the kept one are made
        // anew where they were removed with the old one.
        for (labels, handles) in kept.iter_mut() {
            if gone.iter().any(|(old, _)| old.deployment == labels.deployment) {
                *handles = Arc::new(DeploymentMetrics::new(&self.families, labels));
            }
        }
        self.groups.lock().retain(|name, handles| {
            let keep = group(name);
            if !keep {
                handles.remove();
            }
            keep
        });
    }

    /// An error answer that no rule of the provider names. `provider` is a name of the provider table.
    pub fn unlisted_error(&self, provider: &'static str) {
        self.families.unlisted.get_or_create(&Provider { provider }).inc();
    }

    /// Takes over totals that the health core counts itself. They only grow.
    pub fn health_totals(&self, totals: &HealthTotals) {
        let raise = |counter: &Counter, total: u64| counter.inner().fetch_max(total, Relaxed);
        raise(&self.families.trials_granted, totals.trials_granted);
        raise(&self.families.trials_lost, totals.trials_lost);
        raise(&self.families.late_verdicts, totals.late_verdicts);
    }

    /// Takes over what became of what was to be remembered. Counts only grow.
    pub fn store_totals(&self, totals: &StoreTotals) {
        self.store.set(totals);
    }

    /// Takes over what this process knows of its fleet. Counts only grow.
    pub fn fleet_totals(&self, totals: &FleetTotals) {
        self.fleet.set(totals);
    }

    /// All series in the OpenMetrics text format.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail; were it to, half a page would be the honest answer.
        prometheus_client::encoding::text::encode(&mut text, &self.registry).unwrap_or_default();
        text
    }
}

#[cfg(test)]
mod tests;
