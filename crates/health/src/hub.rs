//! The thread-safe front of the registry: one lock for decisions, none for requests.
//!
//! A request loads the snapshot, begins an [`InFlight`] and, when all is well, adds one to a counter; all of
//! that is lock-free. The lock is taken for failures, for successes that may change something, and by the
//! background tasks that tick and probe. Whoever holds it publishes what changed before letting go, so that
//! the next decision anywhere in the process sees it.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;

use crate::inflight::InFlight;
use crate::planner::{ProbeEnd, ProbeJob, ProbeLimits};
use crate::registry::{Bulletin, Counters, Detail, Drained, Due, Export, Met, News, Peer, Registry, Saved};
use crate::{
    Class, Counts, Generation, GroupSpec, Operator, Outcome, Slot, Snapshot, Spec, Timestamp, TrialLease,
};

/// The health of everything this process may call.
#[derive(Debug)]
pub struct Hub {
    registry: Mutex<Registry>,
    snapshot: ArcSwap<Snapshot>,
}

impl Hub {
    /// All deployments unknown. `seed` decides stagger and jitter: different per process.
    pub fn new(specs: Vec<Spec>, groups: Vec<GroupSpec>, seed: u64, now: Timestamp) -> Self {
        let mut registry = Registry::new(specs, groups, seed, now);
        let first = registry.publish(now).unwrap_or_else(|| registry.view().clone());
        Self { registry: Mutex::new(registry), snapshot: ArcSwap::from_pointee(first) }
    }

    /// Runs `decide` under the lock and publishes what it changed.
    fn locked<T>(&self, now: Timestamp, decide: impl FnOnce(&mut Registry) -> T) -> T {
        let mut registry = self.registry.lock();
        let answer = decide(&mut registry);
        if let Some(snapshot) = registry.publish(now) {
            self.snapshot.store(Arc::new(snapshot));
        }
        answer
    }

    /// What requests read. One load; hold it for one decision, not across an await.
    pub fn snapshot(&self) -> Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    /// The generation of `slot`, to be carried by an outcome.
    pub fn generation(&self, slot: Slot) -> Generation {
        self.snapshot.load().generation(slot)
    }

    /// Begins a request on `slot`; `None` for a slot that does not exist. Lock-free.
    pub fn begin(&self, now: Timestamp, slot: Slot) -> Option<InFlight> {
        let snapshot = self.snapshot.load();
        let cell = snapshot.layout.cells.get(slot.0 as usize)?;
        let guard = InFlight::begin(cell, now);
        snapshot.layout.board.mark(slot);
        Some(guard)
    }

    /// Takes in the result of an attempt.
    pub fn report(&self, now: Timestamp, slot: Slot, outcome: &Outcome) {
        self.locked(now, |registry| registry.report(now, slot, outcome));
    }

    /// Takes in a success of a caller's request that was no trial. Lock-free while the deployment is plainly
    /// healthy and the first token was not slow.
    pub fn succeeded(
        &self,
        now: Timestamp,
        slot: Slot,
        sent_at: Timestamp,
        latency: Duration,
        first_token: Option<Duration>,
    ) {
        let snapshot = self.snapshot.load();
        let slow = first_token.is_some_and(|first| {
            let limit = snapshot.layout.slow_ms.get(slot.0 as usize).copied().unwrap_or(u64::MAX);
            first.as_millis() >= u128::from(limit)
        });
        if !slow
            && snapshot.entry(slot).fast()
            && let Some(cell) = snapshot.layout.cells.get(slot.0 as usize)
        {
            cell.succeed(sent_at);
            snapshot.layout.board.mark(slot);
            return;
        }
        drop(snapshot);
        self.locked(now, |registry| registry.succeeded(now, slot, sent_at, latency, first_token));
    }

    /// Claims the one trial of `slot` for `owner`. Its outcome carries the lease's id and [`crate::Source::Trial`].
    pub fn claim_trial(&self, now: Timestamp, slot: Slot, owner: u64) -> Option<TrialLease> {
        self.locked(now, |registry| registry.claim_trial(now, slot, owner))
    }

    /// Lets time pass and answers when to be called next: never later than a second.
    pub fn tick(&self, now: Timestamp) -> Timestamp {
        self.locked(now, |registry| registry.tick(now))
    }

    /// Obeys an operator: until `until`, or for good.
    pub fn operator(
        &self,
        now: Timestamp,
        slot: Slot,
        command: Operator,
        until: Option<Timestamp>,
        reason: &str,
    ) {
        self.locked(now, |registry| registry.operator(now, slot, command, until, reason));
    }

    /// The probes that are due, within `limits`, and when to ask again. Each job counts as in flight until
    /// [`Self::probe_finished`].
    pub fn due_probes(&self, now: Timestamp, limits: ProbeLimits) -> Due {
        self.locked(now, |registry| registry.due_probes(now, limits))
    }

    /// Takes in how a probe job ended: every job ends exactly once.
    pub fn probe_finished(&self, now: Timestamp, job: &ProbeJob, end: &ProbeEnd) {
        self.locked(now, |registry| registry.probe_finished(now, job, end));
    }

    /// The slots that [`Self::rebuild`] will give to deployments, named by id and mode.
    pub fn slots_for<'a>(&self, deployments: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Slot> {
        self.registry.lock().slots_for(deployments)
    }

    /// Replaces the configuration; what is known survives, keyed by deployment identity.
    pub fn rebuild(&self, specs: Vec<Spec>, groups: Vec<GroupSpec>, now: Timestamp) {
        self.locked(now, |registry| registry.rebuild(specs, groups, now));
    }

    /// The order that held for a deployment when a configuration without it came has been ended elsewhere: it begins as
    /// any other, should it come back.
    pub fn forget_departed(&self, id: &str) {
        self.registry.lock().forget_departed(id);
    }

    /// The events from `seq` on.
    pub fn events(&self, seq: u64) -> Drained {
        self.registry.lock().events(seq)
    }

    /// Everything there is to show of `slot`.
    pub fn detail(&self, slot: Slot, now: Timestamp) -> Option<Detail> {
        self.registry.lock().detail(slot, now)
    }

    /// Everything there is to show of every deployment, in the order of their slots.
    pub fn details(&self, now: Timestamp) -> Vec<Detail> {
        let slots = self.registry.lock().slots();
        // The lock is let go between two of them: a page for a person must not hold up decisions.
        slots.into_iter().filter_map(|slot| self.detail(slot, now)).collect()
    }

    /// Counts for metrics.
    pub fn counters(&self) -> Counters {
        self.registry.lock().counters()
    }

    /// Everything learnt, for a restart.
    pub fn export(&self, now: Timestamp) -> Export {
        self.locked(now, |registry| registry.export(now))
    }

    /// Makes this process part of a fleet, under the name `pod`: what happens here is told to others from now on.
    pub fn join_fleet(&self, now: Timestamp, pod: &Arc<str>) {
        self.locked(now, |registry| registry.join_fleet(pod));
    }

    /// What is to be told to the fleet since the last call.
    pub fn bulletins(&self, now: Timestamp) -> Vec<Bulletin> {
        self.locked(now, |registry| registry.bulletins(now))
    }

    /// Puts `news` of `slot` back on the list of what is to be told: it could not be delivered.
    pub fn retell(&self, slot: Slot, news: News) {
        self.registry.lock().retell(slot, news);
    }

    /// What is known of `slot`, as it is told to the fleet. `None` when nothing is, or when it is this process's own
    /// view that the fleet does not share.
    pub fn shared(&self, slot: Slot) -> Option<Saved> {
        self.registry.lock().shared(slot)
    }

    /// Takes in what another process of the fleet knows. Answers which deployment it was about; `None` for one that
    /// is not configured here, or differently.
    pub fn adopt(&self, now: Timestamp, peer: &Peer<'_>) -> Option<Slot> {
        self.locked(now, |registry| registry.adopt(now, peer))
    }

    /// Another process saw `slot` fail with `class`.
    pub fn seen_failing_elsewhere(&self, now: Timestamp, slot: Slot, class: Class) {
        self.locked(now, |registry| registry.seen_failing_elsewhere(now, slot, class));
    }

    /// Enough of the fleet saw what this process saw: its view of `slot` is the fleet's.
    pub fn witnessed(&self, now: Timestamp, slot: Slot) {
        self.locked(now, |registry| registry.witnessed(now, slot));
    }

    /// What requests met since the last call, for the sum of all processes.
    pub fn take_met(&self, now: Timestamp) -> Vec<Met> {
        self.locked(now, |registry| registry.take_met(now))
    }

    /// The moment from which requests of `slot` count towards its present state.
    pub fn counts_from(&self, slot: Slot) -> Option<Timestamp> {
        self.registry.lock().counts_from(slot)
    }

    /// What the requests of all processes met, several of which saw failures, the latest of class `class`.
    pub fn met_everywhere(&self, now: Timestamp, slot: Slot, counts: Counts, class: Class) {
        self.locked(now, |registry| registry.met_everywhere(now, slot, counts, class));
    }

    /// Deployments whose trial a caller's request could make here, if the fleet let it.
    pub fn trials_wanted(&self, now: Timestamp) -> Vec<Slot> {
        self.locked(now, |registry| registry.trials_wanted(now))
    }

    /// Lets one caller's request make the trial of `slot`, until `until`.
    pub fn license_trial(&self, now: Timestamp, slot: Slot, until: Timestamp) {
        self.locked(now, |registry| registry.license_trial(now, slot, until));
    }

    /// Says whether trials by callers' requests need a licence of the fleet: not while the fleet cannot be reached.
    pub fn trials_need_licence(&self, now: Timestamp, need: bool) {
        self.locked(now, |registry| registry.trials_need_licence(now, need));
    }

    /// Takes in what an earlier process learnt; answers how many deployments it fitted.
    pub fn import(&self, now: Timestamp, export: &Export) -> usize {
        self.locked(now, |registry| registry.import(now, export))
    }
}

#[cfg(test)]
mod tests;
