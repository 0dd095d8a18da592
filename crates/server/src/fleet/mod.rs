//! This process as one of several that share a Redis: what it tells, what it takes over, what it shows.
//!
//! The request path never comes here. Two tasks do all of it: one takes in what other pods push, one keeps the link
//! to the store and does everything that is done from time to time (`sync`). When the store is lost, requests are served
//! with the last snapshot and its age, and no probe leaves, because no permit can be had; when it returns, this process
//! first pulls and then publishes.

mod budget;
mod disk;
mod entry;
mod known;
mod litellm;
mod page;
mod setup;
mod sync;
mod traffic;
mod trail;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use haleway_config::Config;
use haleway_fleet::pod::traffic::Traffic;
use haleway_fleet::pod::{Role, Trouble, Witnesses};
use haleway_fleet::redis::{Heartbeat, RedisFleet};
use haleway_fleet::{Grant, PodId};
use haleway_health::{Class, Timestamp};
use parking_lot::Mutex;

pub(crate) use budget::{Reserved, Within};
pub(crate) use page::{Status, fleet_page, shared_status};
pub use setup::handle;

use self::entry::{Found, Probe};
use self::known::Table;
use self::litellm::LitellmShare;
use self::trail::Trail;
use crate::gateway::Gateway;
use crate::prober::Report;

/// Failures that two pods saw within this much of one another are one fault, at least.
const WITNESS_WINDOW: Duration = Duration::from_secs(60);

/// This process's part in the fleet.
#[derive(Debug)]
pub struct Share {
    /// The store.
    redis: Arc<RedisFleet>,
    me: PodId,
    role: Role,
    namespace: String,
    started: Timestamp,
    table: Mutex<Table>,
    trail: Mutex<Trail>,
    witnesses: Mutex<Witnesses>,
    traffic: Mutex<Traffic>,
    budget: Mutex<budget::Heard>,
    /// Isolations that were not told to the fleet because others' requests succeed, until when that is asked again.
    contradicted: Mutex<HashMap<Arc<str>, Timestamp>>,
    /// Heartbeats as they were last read, and when.
    pods: Mutex<(Timestamp, Vec<Heartbeat>)>,
    state: Mutex<LinkState>,
    litellm: Option<LitellmShare>,
    /// Deployments that nobody has probed for three intervals: times that was told.
    unwatched: AtomicU64,
    trials: Mutex<HashMap<Arc<str>, Timestamp>>,
}

/// How the link to the store is, for pages.
#[derive(Clone, Copy, Debug, Default)]
struct LinkState {
    up: bool,
    since: Timestamp,
    trouble: Option<&'static str>,
}

impl Share {
    /// The part of this process in the fleet over `redis`.
    pub(crate) fn new(redis: Arc<RedisFleet>, config: &Config, now: Timestamp) -> Self {
        let fleet = &config.haleway.fleet;
        let me = redis.pod().id().clone();
        let longest = config.models.iter().filter_map(|model| Some(model.probe?.interval)).max();
        let window = WITNESS_WINDOW.max(longest.unwrap_or_default() * 2);
        Self {
            role: role(config),
            namespace: fleet.redis.as_ref().map(|redis| redis.namespace.clone()).unwrap_or_default(),
            started: now,
            table: Mutex::default(),
            trail: Mutex::default(),
            witnesses: Mutex::new(Witnesses::new(window)),
            traffic: Mutex::new(Traffic::new(me.clone(), traffic::longest(config))),
            contradicted: Mutex::default(),
            budget: Mutex::default(),
            pods: Mutex::default(),
            state: Mutex::new(LinkState { since: now, ..LinkState::default() }),
            litellm: LitellmShare::new(fleet),
            unwatched: AtomicU64::new(0),
            trials: Mutex::default(),
            me,
            redis,
        }
    }

    /// Whether this process sends probes at all.
    pub(crate) const fn claims(&self) -> bool {
        self.role.claims()
    }

    pub(crate) fn name(&self) -> Arc<str> {
        Arc::from(self.me.as_str())
    }

    /// Keeps what a committed probe found until it is told to the others.
    pub(crate) fn probed(&self, deployment: &Arc<str>, grant: &Grant, report: &Report, passed: bool) {
        let ahead = self.redis.clock_offset();
        let interval = self.redis.interval_of(deployment).unwrap_or_default();
        let probe = Probe {
            pod: self.me.to_string(),
            seq: grant.seq(),
            at: self.redis.granted_at(deployment).unwrap_or(grant.granted_at().shifted(ahead)),
            interval_ms: u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
            passed,
        };
        self.table.lock().probed(deployment, probe, Some(Found::of(report, ahead)));
    }

    /// Marks LiteLLM's lock as held while probes are in flight. `false`: a pod of LiteLLM holds it, and this process has
    /// to wait.
    pub(crate) async fn may_probe(&self) -> bool {
        match &self.litellm {
            Some(litellm) => litellm.begin(&self.redis, &self.me).await,
            None => true,
        }
    }

    /// The end of what [`Self::may_probe`] began.
    pub(crate) async fn probe_over(&self) {
        if let Some(litellm) = &self.litellm {
            litellm.end(&self.redis).await;
        }
    }

    /// Notes that this process saw a deployment fail, for those who ask whether anybody else did.
    fn saw_failure(&self, now: Timestamp, deployment: &Arc<str>, pod: &PodId, unwell: bool) {
        self.witnesses.lock().failed(deployment, pod, now, unwell);
    }

    /// Tells the other pods that stored models changed.
    pub(crate) async fn tell_models(&self) -> Result<(), Trouble> {
        self.redis.tell_models().await
    }

    /// Forgets deployments that are gone, after a reload.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.table.lock().retain(&keep);
        self.trail.lock().retain(&keep);
        self.witnesses.lock().retain(&keep);
        self.budget.lock().retain(&keep);
        self.contradicted.lock().retain(|deployment, _| keep(deployment));
        self.traffic.lock().retain(self.redis.store_now(), &keep);
        self.redis.retain(keep);
    }

    /// For metrics.
    pub(crate) fn totals(&self, now: Timestamp) -> haleway_telemetry::FleetTotals {
        let tally = self.redis.tally();
        let pod = self.redis.pod();
        haleway_telemetry::FleetTotals {
            up: self.state.lock().up,
            pods: pod.members().live(now).count() as u64,
            self_health: pod.fitness().score(now).into(),
            claims: tally.claims,
            grants: tally.grants,
            dropped: tally.dropped,
            commits: tally.commits,
            stale: tally.stale,
            quarantines: tally.quarantines,
            calls: tally.calls,
            failures: tally.failures,
            unwatched: self.unwatched.load(std::sync::atomic::Ordering::Relaxed),
            probe_ratio: self.trail.lock().spent().ratio(),
        }
    }
}

/// What a configuration makes of this process.
pub(crate) const fn role(config: &Config) -> Role {
    match config.haleway.fleet.role {
        haleway_config::FleetRole::All => Role::All,
        haleway_config::FleetRole::Gateway => Role::Gateway,
        haleway_config::FleetRole::Prober => Role::Prober,
    }
}

/// Whether a class of failure is one that only inference makes a fault of the deployment.
const fn is_inferred(class: Class) -> bool {
    matches!(class.effect(), haleway_health::Effect::Hard)
}

impl Gateway {
    /// Takes over what the process before this one kept on disk (`haleway.fleet.snapshot`), if it did. Before
    /// [`Gateway::spawn`].
    pub async fn warm(&self) {
        let file = self.live.load().config.haleway.fleet.snapshot.clone();
        if let Some(file) = file {
            disk::load(self, &file).await;
        }
    }

    /// Keeps a copy of what is known on disk, until shutdown.
    fn spawn_copies(self: &Arc<Self>) {
        let Some(file) = self.live.load().config.haleway.fleet.snapshot.clone() else { return };
        let gateway = Arc::clone(self);
        self.tasks.spawn(async move {
            let (mut failed, mut over) = (false, false);
            while !over {
                over = tokio::time::timeout(disk::EVERY, gateway.shutdown.cancelled()).await.is_ok();
                let saved = disk::save(&gateway, &file).await;
                if let (Err(error), false) = (&saved, failed) {
                    tracing::warn!(file = %file.display(), %error, "what is known cannot be kept on disk");
                }
                failed = saved.is_err();
            }
        });
    }

    /// Starts the tasks of the fleet, if this process is in one.
    pub(crate) fn spawn_fleet(self: &Arc<Self>) {
        self.spawn_copies();
        let Some(share) = &self.share else { return };
        self.hub.join_fleet(self.clock.now(), &share.name());
        tracing::info!(pod = %share.me, role = share.role.as_str(), namespace = share.namespace, "fleet");
        if share.litellm.is_some() {
            tracing::info!("Initialized shared health check manager");
        }
        for task in [sync::Task::Link, sync::Task::Messages] {
            let (gateway, share) = (Arc::clone(self), Arc::clone(share));
            self.tasks.spawn(async move { sync::run(&gateway, &share, task).await });
        }
    }
}
