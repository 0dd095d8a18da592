//! Configurations that were replaced and that calls may still hold.
//!
//! A call chooses among the deployments of the configuration that it began with, so the health core knows the deployments of
//! all of them until those calls have had time to choose; none finds its own gone. What only an old configuration has is
//! neither called anew nor probed nor shown in the meantime.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use haleway_config::Config;
use haleway_health::{GroupSpec, Hub, Spec, Timestamp};
use haleway_routing::Table;
use tokio::time::Instant;

use crate::build;
use crate::deployment::Deployment;
use crate::gateway::{Gateway, Live};

/// A call has chosen its deployment for good by then, or it waits and finds another.
const CHOOSING: Duration = Duration::from_secs(10);
/// How often it is looked whether calls still hold an old configuration.
const LOOK: Duration = Duration::from_millis(100);

/// Old configurations, the newest last. Held locked while one configuration takes the place of another.
#[derive(Debug, Default)]
pub(crate) struct Held {
    old: Vec<(Arc<Live>, Instant)>,
    /// A task looks when they can be let go.
    watched: bool,
}

impl Held {
    pub(super) fn keep(&mut self, live: &Arc<Live>) {
        self.old.push((Arc::clone(live), Instant::now() + CHOOSING));
    }

    /// Whether a task is to be started that lets them go.
    pub(super) const fn begins_to_let_go(&mut self) -> bool {
        let begins = !self.watched && !self.old.is_empty();
        self.watched |= begins;
        begins
    }

    /// Forgets those that nobody can be choosing by any more; whether there were any.
    fn forget(&mut self) -> bool {
        let (before, now) = (self.old.len(), Instant::now());
        self.old.retain(|(live, until)| Arc::strong_count(live) > 1 && now < *until);
        self.old.len() < before
    }

    /// Tells the health core of a configuration, and of what only older ones have.
    pub(super) fn fit(
        &self,
        hub: &Hub,
        config: &Config,
        table: &Table,
        deployments: &[Arc<Deployment>],
        now: Timestamp,
    ) {
        let mut specs: Vec<Spec> = deployments.iter().map(|deployment| build::spec(deployment)).collect();
        let mut groups: Vec<GroupSpec> = build::group_specs(config, table);
        let mut ids: HashSet<Arc<str>> = specs.iter().map(|spec| Arc::clone(&spec.id)).collect();
        let mut names: HashSet<Arc<str>> = groups.iter().map(|group| Arc::clone(&group.name)).collect();
        for (live, _) in self.old.iter().rev() {
            for deployment in live.each().filter(|deployment| ids.insert(Arc::clone(deployment.id()))) {
                specs.push(build::spec(deployment));
            }
            let older = build::group_specs(&live.config, &live.table);
            groups.extend(older.into_iter().filter(|group| names.insert(Arc::clone(&group.name))));
        }
        hub.rebuild(specs, groups, now);
    }

    fn knows(&self, id: &str) -> bool {
        self.old.iter().any(|(live, _)| live.find(id).is_some())
    }
}

impl Gateway {
    /// Lets old configurations go, one after the other, until none is left.
    pub(super) async fn let_go(self: &Arc<Self>) {
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let mut held = Arc::clone(&self.held).lock_owned().await;
            if !held.forget() {
                continue;
            }
            let gateway = Arc::clone(self);
            let fitted = self.tasks.spawn_blocking(move || {
                gateway.forget_but(&held);
                held.watched = !held.old.is_empty();
                held.watched
            });
            if !fitted.await.unwrap_or(false) {
                return;
            }
        }
    }

    /// Forgets every deployment that neither the present configuration has nor one that is held.
    fn forget_but(&self, held: &Held) {
        let live = self.live.load();
        let deployments: Vec<_> = live.each().cloned().collect();
        held.fit(&self.hub, &live.config, &live.table, &deployments, self.clock.now());
        let known = |id: &str| live.find(id).is_some() || held.knows(id);
        match &self.share {
            Some(share) => share.retain(known),
            None => self.fleet.retain(known),
        }
        self.wake_prober.notify_one();
    }
}
