//! All machines of a process, and everything that one deployment's evidence means for another.
//!
//! A machine judges its deployment alone. The registry puts machines into groups (panic, lone deployment,
//! ejection cap) and fault domains (credential, account, endpoint, provider, this pod), keeps their timers in
//! one heap so that a quiet fleet costs nothing, plans their probes, and composes the snapshot that requests
//! read. It is pure and single-threaded: [`crate::Hub`] is its thread-safe front.

mod counts;
mod detail;
mod events;
mod persist;
mod probing;
mod publish;
mod reload;
mod scopes;
mod seat;
mod share;
mod tick;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

pub use counts::Met;
pub use detail::{Detail, EvidenceDetail, ObservationDetail, TransitionDetail};
pub use events::{Drained, Event, EventKind};
pub use persist::{Export, Saved};
pub use probing::Due;
pub use share::{Bulletin, News, Peer};

use crate::domains::{DomainIx, Tree};
use crate::inflight::Board;
use crate::pages::Pages;
use crate::planner::Planner;
use crate::snapshot::{Layout, Snapshot};
use crate::{
    Cause, Class, Depth, Effect, GroupIx, GroupSpec, Machine, Operator, Outcome, Slot, Source, Spec, State,
    Timestamp, Transition, TrialLease,
};
use events::Ring;
use seat::{Group, Seat};

/// How often requests in flight and successes are looked at while there are any. No tick is further away.
pub(crate) const WATCH: Duration = Duration::from_secs(1);
/// How long a probed deployment leaves its trial to the probe before a caller's request may decide it.
const GRACE_FOR_PROBER: Duration = Duration::from_secs(30);
/// Names the prober as owner of a trial.
const PROBER: u64 = u64::MAX;

/// Counts since the start of the process, for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Trials granted.
    pub trials_granted: u64,
    /// Trials whose verdict never came.
    pub trials_lost: u64,
    /// Verdicts that came too late to move anything: of an older generation, or of another trial.
    pub late_verdicts: u64,
    /// Transitions out of rotation, by cause.
    pub isolations: BTreeMap<&'static str, u64>,
    /// Groups that are in panic or all out now.
    pub panic_groups: u64,
    /// Probes that were started and never finished.
    pub probes_lost: u64,
    /// Probes in flight now.
    pub probes_in_flight: u64,
}

/// All machines of a process.
#[derive(Debug)]
pub struct Registry {
    seed: u64,
    seats: Vec<Option<Seat>>,
    by_id: HashMap<Arc<str>, Slot>,
    departed: reload::Departed,
    groups: Vec<Group>,
    group_index: HashMap<Arc<str>, GroupIx>,
    tree: Tree,
    /// Credentials in doubt.
    doubts: Vec<DomainIx>,
    /// Endpoints in doubt.
    suspects: Vec<DomainIx>,
    planner: Planner,
    timers: BinaryHeap<Reverse<(Timestamp, Slot)>>,
    ring: Ring,
    counters: Counters,
    view: Snapshot,
    /// Whether `view` differs from what was published last.
    changed: bool,
    fleet: share::Outbox,
    /// Deployments whose requests are to be told to the fleet.
    met: Vec<Slot>,
}

impl Registry {
    /// A registry of `specs` in `groups`, all unknown. A group that no [`GroupSpec`] names gets the rules of
    /// `profile: resilient`. `seed` decides stagger and jitter: different per process.
    pub fn new(specs: Vec<Spec>, groups: Vec<GroupSpec>, seed: u64, now: Timestamp) -> Self {
        let layout = Layout {
            groups: Box::default(),
            group_of: Box::default(),
            by_group: HashMap::new(),
            by_id: HashMap::new(),
            cells: Box::default(),
            slow_ms: Box::default(),
            board: Arc::new(Board::new(0)),
        };
        let mut registry = Self {
            seed,
            seats: Vec::new(),
            by_id: HashMap::new(),
            departed: reload::Departed::default(),
            groups: Vec::new(),
            group_index: HashMap::new(),
            tree: Tree::default(),
            doubts: Vec::new(),
            suspects: Vec::new(),
            planner: Planner::new(seed),
            timers: BinaryHeap::new(),
            ring: Ring::default(),
            counters: Counters::default(),
            view: Snapshot {
                version: 0,
                at: now,
                pod_suspect: false,
                layout: Arc::new(layout),
                entries: Pages::empty(),
                verdicts: Pages::empty(),
                groups: Pages::empty(),
            },
            changed: true,
            fleet: share::Outbox::default(),
            met: Vec::new(),
        };
        registry.rebuild(specs, groups, now);
        registry
    }

    fn seat(&self, slot: Slot) -> Option<&Seat> {
        self.seats.get(slot.0 as usize)?.as_ref()
    }

    fn seat_mut(&mut self, slot: Slot) -> Option<&mut Seat> {
        self.seats.get_mut(slot.0 as usize)?.as_mut()
    }

    /// Every deployment's slot, in order, without holes.
    pub fn slots(&self) -> Vec<Slot> {
        (0_u32..).zip(&self.seats).filter(|(_, seat)| seat.is_some()).map(|(index, _)| Slot(index)).collect()
    }

    /// The deployment with this id.
    pub fn find(&self, id: &str) -> Option<Slot> {
        self.by_id.get(id).copied()
    }

    /// The machine of `slot`.
    pub fn machine(&self, slot: Slot) -> Option<&Machine> {
        self.seat(slot).map(|seat| &seat.machine)
    }

    /// What was published last, with what changed since.
    pub const fn view(&self) -> &Snapshot {
        &self.view
    }

    /// Counts for metrics.
    pub fn counters(&self) -> Counters {
        Counters {
            probes_lost: self.planner.lost(),
            probes_in_flight: u64::from(self.planner.in_flight()),
            ..self.counters.clone()
        }
    }

    /// The events from `seq` on.
    pub fn events(&self, seq: u64) -> Drained {
        self.ring.since(seq)
    }

    /// Takes in the result of one attempt on `slot`.
    pub fn report(&mut self, now: Timestamp, slot: Slot, outcome: &Outcome) {
        self.drain(now, slot);
        self.ripen(now, slot);
        self.observe(now, slot, outcome);
        self.touch(slot, now);
    }

    fn observe(&mut self, now: Timestamp, slot: Slot, outcome: &Outcome) {
        let Some(group) = self.seat(slot).map(|seat| seat.group) else { return };
        let Some(facts) = self.groups.get(group.0 as usize).map(Group::facts) else { return };
        let Some(seat) = self.seat_mut(slot) else { return };
        let before = seat.machine.generation();
        let ours = seat.trial.as_ref().map(|lease| lease.id);
        let trial_over = outcome.trial.is_some() && outcome.trial == ours;
        let late = outcome.generation < before || (outcome.source == Source::Trial && !trial_over);
        if trial_over {
            seat.trial = None;
        }
        let transition = seat.machine.observe(now, outcome, facts);
        if outcome.source != Source::Probe && matches!(outcome.class.effect(), Effect::Ok | Effect::Alive) {
            self.planner.alive(slot, outcome.sent_at);
        }
        self.met_outcome(slot, outcome);
        self.counters.late_verdicts += u64::from(late);
        if trial_over {
            let state = self.machine(slot).map(Machine::state);
            let returned = matches!(state, Some(State::Ramping | State::Healthy | State::Unknown));
            self.tree.trial_ended(slot, returned, now);
        }
        let to = transition.as_ref().map(|transition| transition.to);
        if let Some(transition) = transition {
            self.moved(now, slot, transition);
        }
        self.spread_outcome(now, slot, outcome, to);
    }

    /// Tells the machine of `slot` the successes that the hot path counted.
    fn drain(&mut self, now: Timestamp, slot: Slot) {
        let Some(seat) = self.seat_mut(slot) else { return };
        let Some(drained) = seat.cell.drain() else { return };
        let transition = seat.machine.successes(now, drained.count, drained.last_sent);
        self.planner.alive(slot, drained.last_sent);
        self.met_success(slot, drained.last_sent);
        self.note_successes(now, slot, drained);
        if let Some(transition) = transition {
            self.moved(now, slot, transition);
        }
    }

    /// Takes in a success of the hot path that its machine must see at once.
    pub fn succeeded(
        &mut self,
        now: Timestamp,
        slot: Slot,
        sent_at: Timestamp,
        latency: Duration,
        first: Option<Duration>,
    ) {
        let Some(machine) = self.machine(slot) else { return };
        let generation = machine.generation();
        let mut outcome = Outcome::new(Class::Ok, Source::Traffic, sent_at, generation);
        outcome.latency = latency;
        outcome.first_token = first;
        outcome.depth = Depth::Generation;
        outcome.status = 200;
        self.report(now, slot, &outcome);
    }

    /// Claims the one trial of `slot` for `owner`. At most one is out per deployment, and one per fault domain
    /// that is in doubt.
    pub fn claim_trial(&mut self, now: Timestamp, slot: Slot, owner: u64) -> Option<TrialLease> {
        self.settle(now, slot);
        let seat = self.seat(slot)?;
        let licensed = owner == PROBER || self.trial_licensed(seat, now);
        if seat.in_doubt || !licensed || !self.tree.trial_free(slot, now) {
            return None;
        }
        let seat = self.seat_mut(slot)?;
        seat.share.spend_licence();
        let lease = seat.machine.grant_trial(now, owner)?;
        seat.trial = Some(lease.clone());
        self.tree.trial_began(slot, lease.deadline, now);
        self.counters.trials_granted += 1;
        self.touch(slot, now);
        Some(lease)
    }

    /// Obeys an operator: until `until`, or for good.
    pub fn operator(
        &mut self,
        now: Timestamp,
        slot: Slot,
        command: Operator,
        until: Option<Timestamp>,
        reason: &str,
    ) {
        self.settle(now, slot);
        let Some(seat) = self.seat_mut(slot) else { return };
        if let Some(transition) = seat.machine.operator(now, command, until, reason) {
            self.moved(now, slot, transition);
        }
        self.announce(slot, News::Decision);
        self.touch(slot, now);
    }

    /// Lets `slot` see the time.
    fn settle(&mut self, now: Timestamp, slot: Slot) {
        self.drain(now, slot);
        self.ripen(now, slot);
        self.touch(slot, now);
    }

    /// Lets the machine of `slot` and its trial act on the time.
    fn ripen(&mut self, now: Timestamp, slot: Slot) {
        let Some(seat) = self.seat_mut(slot) else { return };
        if seat.trial.take_if(|lease| lease.deadline <= now).is_some() {
            self.counters.trials_lost += 1;
            self.tree.trial_ended(slot, false, now);
        }
        // Each transition of time leads closer to a state whose timer has not passed.
        for _ in 0..4 {
            let Some(seat) = self.seat_mut(slot) else { return };
            let Some(transition) = seat.machine.tick(now) else { break };
            self.moved(now, slot, transition);
        }
    }

    /// Records a transition of `slot` and draws its consequences for the timetable and the domains.
    fn moved(&mut self, now: Timestamp, slot: Slot, transition: Transition) {
        let suspect = self.tree.pod_suspect();
        let Some(seat) = self.seat_mut(slot) else { return };
        let out = matches!(transition.to, State::Isolated | State::ConfigFault | State::Budget);
        match transition.to {
            State::Isolated => seat.local_only |= suspect && inferred(transition.cause),
            State::Trial => {}
            State::Unknown
            | State::Healthy
            | State::Suspect
            | State::Ramping
            | State::ConfigFault
            | State::Budget
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => seat.local_only = false,
        }
        if seat.machine.trial().is_none() {
            seat.trial = None;
        }
        let local_only = seat.local_only || seat.share.is_private();
        let (id, group, mode) = (Arc::clone(&seat.spec.id), Arc::clone(&seat.spec.group), seat.spec.mode);
        if out {
            *self.counters.isolations.entry(transition.cause.as_str()).or_default() += 1;
        }
        self.announce_move(slot, &transition);
        self.count_anew(now, slot, &transition);
        self.ring.push(now, EventKind::Moved { slot, id, group, mode, transition, local_only });
        let need = self.need(slot, now);
        self.planner.wake(slot, need, now);
    }
}

/// Whether a cause of isolation is inferred from failures rather than known or stated.
fn inferred(cause: Cause) -> bool {
    cause.class().map_or(!cause.is_hard(), |class| class.effect() == Effect::Hard)
}
