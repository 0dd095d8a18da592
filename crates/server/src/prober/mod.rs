//! The prober: asks the planner which deployment is due, claims a permit, sends the probe down the road of traffic,
//! and commits the verdict.
//!
//! One task keeps time for the health core as well: it ticks the machines, so that isolations end and ramps rise
//! without traffic. Every probe runs in a task of its own, so that a hanging one delays no other.

mod climb;
pub mod ledger;
mod reports;
mod send;

use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Due, ProbeJob, ProbeLimits, Timestamp};

pub use reports::{Report, Reports, SHOWN_HEADERS, Verdict};
pub use send::{Asked, OnDemand, probe_now};

use crate::events::EventLog;
use crate::gateway::Gateway;

impl Gateway {
    /// Starts the background tasks.
    pub fn spawn(self: &Arc<Self>) {
        let gateway = Arc::clone(self);
        self.tasks.spawn(async move { keep_time(&gateway).await });
        self.spawn_fleet();
    }
}

/// Ticks, probes and tells, until shutdown.
async fn keep_time(gateway: &Arc<Gateway>) {
    let mut events = EventLog::new(gateway);
    announce(gateway);
    loop {
        let now = gateway.clock.now();
        let next_tick = gateway.hub.tick(now);
        let live = gateway.live.load();
        // Who only serves in its fleet leaves the probes to others.
        let probes = gateway.share.as_ref().is_none_or(|share| share.claims());
        let due = if probes {
            gateway.hub.due_probes(now, limits(&live.config))
        } else {
            Due { jobs: Vec::new(), next: next_tick }
        };
        for job in due.jobs {
            let gateway = Arc::clone(gateway);
            let tasks = gateway.tasks.clone();
            tasks.spawn(async move { run(&gateway, job).await });
        }
        events.tell(now);
        let wake = due.next.min(next_tick);
        tokio::select! {
            () = gateway.shutdown.cancelled() => break,
            () = gateway.wake_prober.notified() => {}
            () = tokio::time::sleep_until(gateway.clock.instant(wake)) => {}
        }
    }
}

fn limits(config: &haleway_config::Config) -> ProbeLimits {
    let limits = config.haleway.limits;
    ProbeLimits { concurrency: limits.concurrency, per_endpoint: limits.per_host }
}

fn announce(gateway: &Gateway) {
    let live = gateway.live.load();
    let probed = live.each().filter(|deployment| deployment.model.probe.is_some()).count();
    let general = &live.config.general;
    tracing::info!(
        interval_seconds = general.health_check_interval.as_secs(),
        deployments = probed,
        "background_health_check_loop_started"
    );
}

/// One planned probe, from permit to verdict.
async fn run(gateway: &Arc<Gateway>, job: ProbeJob) {
    let end = send::planned(gateway, &job).await;
    gateway.hub.probe_finished(gateway.clock.now(), &job, &end);
    // A place is free, and what was found may call for another probe.
    gateway.wake_prober.notify_one();
}

/// A wait that a permit asks for, never shorter than what keeps the loop from spinning.
fn not_before(now: Timestamp, until: Timestamp) -> Timestamp {
    until.max(now + Duration::from_millis(100))
}
