//! The running gateway: what a request needs to be served, in one value.
//!
//! [`Live`] is everything that follows from the configuration; a request loads it once and keeps it, so that a
//! change of configuration never shows in the middle of a call. Everything else outlives configurations.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use haleway_config::Config;
use haleway_fleet::FleetHandle;
use haleway_health as health;
use haleway_health::{Hub, Slot, Snapshot};
use haleway_routing::{RetryShare, StatsTable, Table};
use haleway_telemetry::{GroupMetrics, Metrics};
use haleway_upstream::{Credentials, Network};
use tokio::sync::{Mutex, Notify};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::KeyCheck;
use crate::clock::Clock;
use crate::deployment::{CallLimits, Deployment};
use crate::fleet::Share;
use crate::memory::Memory;
use crate::prober::Reports;
use crate::prober::ledger::{Caps, Ledger};
use crate::reload::{Held, Origin};
use crate::stored::Stored;
use crate::view::HealthView;

/// Everything that follows from the configuration.
#[derive(Debug)]
pub struct Live {
    /// The configuration itself.
    pub config: Config,
    /// Which deployments may serve a call.
    pub table: Table,
    /// Deployments by slot; a removed one leaves a hole.
    pub deployments: Vec<Option<Arc<Deployment>>>,
    /// Their slots by id.
    pub slots: HashMap<Arc<str>, Slot>,
    /// The health core's number of each of routing's groups.
    pub health_groups: Vec<health::GroupIx>,
    /// `num_retries` of each of routing's groups, where one of its deployments says so.
    pub group_retries: Vec<Option<u32>>,
    /// The series of each of routing's groups.
    pub group_metrics: Vec<Arc<GroupMetrics>>,
    /// Whether a group waits for the soonest return instead of refusing.
    pub waits: Vec<bool>,
    /// Load and speed, shared with the configurations before and after.
    pub stats: StatsTable,
    /// Who may call.
    pub keys: KeyCheck,
    /// Time limits of calls.
    pub limits: CallLimits,
    /// Longest request body in bytes.
    pub max_body: usize,
    /// Requests served at once; `None` = no limit.
    pub max_parallel: Option<usize>,
}

impl Live {
    /// The deployment in `slot`.
    pub fn deployment(&self, slot: Slot) -> Option<&Arc<Deployment>> {
        self.deployments.get(slot.0 as usize)?.as_ref()
    }

    /// Every deployment, in the order of their slots.
    pub fn each(&self) -> impl Iterator<Item = &Arc<Deployment>> {
        self.deployments.iter().flatten()
    }

    /// `snapshot` as routing reads it.
    pub(crate) fn health_view<'a>(&'a self, snapshot: &'a Snapshot) -> HealthView<'a> {
        HealthView { snapshot, groups: &self.health_groups, waits: &self.waits }
    }

    /// What the probes of `deployment`, and all together, may use up in a UTC day.
    pub fn probe_caps(&self, deployment: &Deployment) -> Caps {
        let (budget, limits) = (deployment.model.budget, self.config.haleway.limits);
        Caps {
            probes: budget.probes_per_day,
            usd: budget.usd_per_day,
            total_probes: limits.total_probes_per_day,
            total_usd: limits.total_usd_per_day,
        }
    }

    /// What a day's probes of all deployments may use up.
    pub(crate) fn total_caps(&self) -> Caps {
        let limits = self.config.haleway.limits;
        Caps {
            total_probes: limits.total_probes_per_day,
            total_usd: limits.total_usd_per_day,
            ..Caps::default()
        }
    }

    /// The deployment with this id.
    pub fn find(&self, id: &str) -> Option<&Arc<Deployment>> {
        self.deployment(*self.slots.get(id)?)
    }
}

/// The running gateway.
#[derive(Debug)]
pub struct Gateway {
    /// What follows from the configuration.
    pub live: ArcSwap<Live>,
    /// Health of every deployment.
    pub hub: Hub,
    /// Who may probe now.
    pub fleet: FleetHandle,
    /// This process's part in a fleet that shares a store; `None` for a process alone.
    pub share: Option<Arc<Share>>,
    /// What probes found, for `/health`.
    pub reports: Reports,
    /// What probes used up.
    pub ledger: Ledger,
    /// What outlives the process; empty without a store.
    pub memory: OnceLock<Arc<Memory>>,
    /// Counts and gauges.
    pub metrics: Metrics,
    /// How connections are opened.
    pub network: Network,
    /// Credentials that are fetched, shared by the deployments that say the same.
    pub credentials: Credentials,
    /// The clock.
    pub clock: Clock,
    /// Model calls being served.
    pub in_flight: AtomicUsize,
    /// The share of all calls that may be retries, whatever the configuration: 20 %, and 10 per second.
    pub retries: RetryShare,
    /// Background tasks.
    pub tasks: TaskTracker,
    /// Begins shutdown.
    pub shutdown: CancellationToken,
    /// Realtime sessions.
    pub sessions: TaskTracker,
    /// Ends the sessions that still run.
    pub end_sessions: CancellationToken,
    /// Wakes the prober when something changed that it should know at once.
    pub wake_prober: Notify,
    /// Where the configuration came from, once somebody said.
    pub(crate) origin: OnceLock<Origin>,
    /// Models that live in the database.
    pub(crate) stored: Stored,
    /// Configurations that calls may still hold; locked while one takes the place of another.
    pub(crate) held: Arc<Mutex<Held>>,
}

impl Gateway {
    /// Waits until the realtime sessions have ended, for `patience` at most; then tells both sides of those that still
    /// run, and waits for their goodbyes.
    pub async fn drain_sessions(&self, patience: Duration) {
        self.sessions.close();
        if tokio::time::timeout(patience, self.sessions.wait()).await.is_err() {
            self.end_sessions.cancel();
            self.sessions.wait().await;
        }
    }
}
