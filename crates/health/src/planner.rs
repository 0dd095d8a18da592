//! When to probe which deployment: a timetable, bounded queues, and spacing that follows the state.
//!
//! - **Stagger**: the first probe of a deployment falls at a phase of its interval that is a hash of its id
//!   under the process's seed; later ones get ±10 % jitter. Never all at once, different per process. A permit names
//!   the spacing without jitter, so that no interval sees two probes.
//! - **Spacing** is from start to start: interval while healthy (the idle interval after a long time without
//!   traffic), the suspect interval while in doubt, and while out a spacing that doubles with every failed
//!   probe from the interval up to `backoff_max` and falls back on success.
//! - **Bounds**: one probe in flight per deployment, a limit in all, a limit per endpoint. A deployment whose
//!   endpoint is full waits in that endpoint's queue, so that one slow host does not hold up the others.
//! - **Traffic postpones**: proof of life by traffic moves the next paid probe away, where that is set.
//!
//! The planner knows no states: the registry tells it what a deployment needs now.

mod job;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

pub use job::{ProbeEnd, ProbeJob, ProbeLimits, ProbeReason};

use crate::seed::{Spread, hash};
use crate::{ProbeParams, ProbePolicy, Slot, Timestamp};

/// Share by which regular intervals are spread.
const JITTER: f64 = 0.1;
/// How long after its deadline a probe that was never finished is given up.
const GRACE: Duration = Duration::from_secs(30);

/// What a deployment needs of the planner now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// No probe: policy, operator, or a state that only its own timer ends.
    Nothing,
    /// Regular care.
    Interval,
    /// Quick care.
    Suspect,
    /// Growing spacing.
    Out,
    /// A trial probe at once.
    Trial,
    /// Another member of its endpoint is probed for it.
    Represented,
    /// It is probed for all members of its endpoint.
    Representative,
}

/// A probe in flight.
#[derive(Clone, Copy, Debug)]
struct Flight {
    ticket: u64,
    /// When it is given up.
    until: Timestamp,
}

/// The timetable of one deployment.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) params: Option<ProbeParams>,
    endpoint: u32,
    /// The one heap entry that counts.
    due: Option<Timestamp>,
    flight: Option<Flight>,
    /// When the latest probe was started.
    started: Option<Timestamp>,
    /// When the deployment came under the planner's care.
    born: Timestamp,
    /// When traffic last proved it alive.
    alive: Option<Timestamp>,
    /// The next spacing while out.
    backoff: Duration,
    /// The spacing in force for the next probe, without the jitter with which it was planned.
    gap: Duration,
    /// Whether it sits in a queue.
    queued: bool,
    /// Whether a confirmation is wanted.
    confirm: bool,
    /// The budget for real probes is used up until then.
    unpaid_until: Option<Timestamp>,
}

/// Probes in flight and waiting at one endpoint.
#[derive(Debug, Default)]
struct Lane {
    in_flight: u32,
    limit: Option<u16>,
    waiting: VecDeque<Slot>,
}

/// The timetable of all deployments.
#[derive(Debug)]
pub(crate) struct Planner {
    seed: u64,
    spread: Spread,
    plans: Vec<Plan>,
    lanes: Vec<Lane>,
    heap: BinaryHeap<Reverse<(Timestamp, Slot)>>,
    ready: VecDeque<Slot>,
    in_flight: u32,
    tickets: u64,
    lost: u64,
}

impl Planner {
    /// An empty timetable whose stagger and jitter follow `seed`.
    pub(crate) const fn new(seed: u64) -> Self {
        Self {
            seed,
            spread: Spread::new(seed),
            plans: Vec::new(),
            lanes: Vec::new(),
            heap: BinaryHeap::new(),
            ready: VecDeque::new(),
            in_flight: 0,
            tickets: 0,
            lost: 0,
        }
    }

    /// Probes that were started and never finished.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Probes in flight.
    pub(crate) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(crate) fn plan(&self, slot: Slot) -> Option<&Plan> {
        self.plans.get(slot.0 as usize)
    }

    /// When `slot` is probed next, as planned now.
    pub(crate) fn next_probe(&self, slot: Slot) -> Option<Timestamp> {
        self.plan(slot).filter(|plan| plan.flight.is_none()).and_then(|plan| plan.due)
    }

    /// Sets how `slot` is probed. A new slot (the next index) gets its phase; a known one keeps its times.
    pub(crate) fn place(
        &mut self,
        slot: Slot,
        id: &str,
        endpoint: u32,
        params: Option<ProbeParams>,
        now: Timestamp,
    ) {
        while self.lanes.len() <= endpoint as usize {
            self.lanes.push(Lane::default());
        }
        if let Some(plan) = self.plans.get_mut(slot.0 as usize) {
            let changed = plan.params.map(|p| p.interval) != params.map(|p| p.interval);
            plan.params = params;
            plan.backoff = params.map_or(Duration::ZERO, |p| p.interval);
            plan.unpaid_until = None;
            if plan.flight.is_none() {
                plan.endpoint = endpoint;
            }
            if changed {
                self.phase(slot, id, now);
            }
            return;
        }
        self.plans.push(Plan {
            params,
            endpoint,
            due: None,
            flight: None,
            started: None,
            born: now,
            alive: None,
            backoff: params.map_or(Duration::ZERO, |p| p.interval),
            gap: Duration::ZERO,
            queued: false,
            confirm: false,
            unpaid_until: None,
        });
        self.phase(slot, id, now);
    }

    /// Sets the limit of an endpoint; the tightest of its deployments' counts.
    pub(crate) fn limit_endpoint(&mut self, endpoint: u32, limit: Option<u16>) {
        if let Some(lane) = self.lanes.get_mut(endpoint as usize) {
            lane.limit = limit;
        }
    }

    /// Takes `slot` out of the timetable: its deployment is gone.
    pub(crate) fn remove(&mut self, slot: Slot) {
        if let Some(plan) = self.plans.get_mut(slot.0 as usize) {
            plan.params = None;
            plan.due = None;
            plan.confirm = false;
        }
    }

    fn phase(&mut self, slot: Slot, id: &str, now: Timestamp) {
        let Some(plan) = self.plans.get_mut(slot.0 as usize) else { return };
        let Some(params) = plan.params else { return };
        let interval = u64::try_from(params.interval.as_millis()).unwrap_or(u64::MAX).max(1);
        let phase = Duration::from_millis(hash(id.as_bytes(), self.seed) % interval);
        plan.gap = params.interval;
        self.set_due(slot, now + phase);
    }

    fn set_due(&mut self, slot: Slot, due: Timestamp) {
        if let Some(plan) = self.plans.get_mut(slot.0 as usize)
            && plan.due != Some(due)
        {
            plan.due = Some(due);
            self.heap.push(Reverse((due, slot)));
            self.compact();
        }
    }

    /// Drops superseded heap entries when they are the many.
    fn compact(&mut self) {
        if self.heap.len() > 4 * self.plans.len() + 64 {
            let plans = &self.plans;
            self.heap
                .retain(|Reverse((at, slot))| plans.get(slot.0 as usize).is_some_and(|p| p.due == Some(*at)));
        }
    }

    /// Notes that traffic sent at `sent_at` proved `slot` alive. The timetable follows when the probe is due.
    pub(crate) fn alive(&mut self, slot: Slot, sent_at: Timestamp) {
        if let Some(plan) = self.plans.get_mut(slot.0 as usize) {
            plan.alive = plan.alive.max(Some(sent_at));
        }
    }

    /// Asks for one free call that confirms or refutes a dead credential.
    pub(crate) fn confirm(&mut self, slot: Slot, now: Timestamp) {
        if let Some(plan) = self.plans.get_mut(slot.0 as usize) {
            plan.confirm = true;
        }
        self.set_due(slot, now);
    }

    /// Withdraws the wish for a confirmation.
    pub(crate) fn unconfirm(&mut self, slot: Slot) {
        if let Some(plan) = self.plans.get_mut(slot.0 as usize) {
            plan.confirm = false;
        }
    }

    /// Plans the next probe of `slot` after what it needs changed. Never before `now`, never sooner after
    /// the last start than the spacing of the need.
    pub(crate) fn wake(&mut self, slot: Slot, need: Need, now: Timestamp) {
        let Some(plan) = self.plans.get(slot.0 as usize) else { return };
        if plan.flight.is_some() || plan.params.is_none() {
            return;
        }
        if plan.confirm || need == Need::Trial {
            self.set_due(slot, now);
            return;
        }
        let Some((gap, spread)) = self.spacing(slot, need, now) else { return };
        let Some(plan) = self.plans.get_mut(slot.0 as usize) else { return };
        plan.gap = gap;
        let due = (plan.started.unwrap_or(plan.born) + spread).max(now);
        self.set_due(slot, due);
    }

    /// The spacing that `need` calls for, as it is in force and as it is planned; `None` when nothing is to be planned.
    fn spacing(&mut self, slot: Slot, need: Need, now: Timestamp) -> Option<(Duration, Duration)> {
        let plan = self.plans.get(slot.0 as usize)?;
        let params = plan.params?;
        let seen = plan.alive.unwrap_or(plan.born);
        let idle = params.traffic_postpones && seen.until(now) >= params.idle_interval;
        let gap = match need {
            Need::Nothing | Need::Trial => return None,
            Need::Suspect | Need::Representative => {
                let gap = params.suspect_interval.min(params.interval);
                return Some((gap, gap));
            }
            Need::Out => return Some((plan.backoff, plan.backoff)),
            Need::Represented => params.interval.max(params.backoff_max),
            Need::Interval if idle => params.interval.max(params.idle_interval),
            Need::Interval => params.interval,
        };
        Some((gap, gap.mul_f64(self.spread.factor(JITTER))))
    }

    /// Takes the next deployment whose time has come and for which there is room. It is the caller's to
    /// `start`, `wake` or leave it.
    pub(crate) fn pop(&mut self, now: Timestamp, limits: ProbeLimits) -> Option<Slot> {
        self.collect(now);
        while self.in_flight < limits.concurrency {
            let slot = self.ready.pop_front()?;
            let Some(plan) = self.plans.get_mut(slot.0 as usize) else { continue };
            let Some(lane) = self.lanes.get_mut(plan.endpoint as usize) else { continue };
            if lane.in_flight >= lane.limit.map_or(limits.per_endpoint, u32::from).max(1) {
                lane.waiting.push_back(slot);
                continue;
            }
            // Whoever waits behind this one is looked at next: this one may turn out to need no probe.
            if let Some(next) = lane.waiting.pop_front() {
                self.ready.push_back(next);
            }
            plan.queued = false;
            if plan.params.is_some() && plan.flight.is_none() {
                return Some(slot);
            }
        }
        None
    }

    /// Moves what is due from the heap into the queue, and gives up probes that never ended.
    fn collect(&mut self, now: Timestamp) {
        while let Some(&Reverse((at, slot))) = self.heap.peek() {
            if at > now {
                break;
            }
            self.heap.pop();
            let Some(plan) = self.plans.get_mut(slot.0 as usize) else { continue };
            if plan.due != Some(at) {
                continue;
            }
            plan.due = None;
            match plan.flight {
                Some(flight) if flight.until > now => {
                    let until = flight.until;
                    self.set_due(slot, until);
                    continue;
                }
                Some(flight) => {
                    self.lost += 1;
                    self.land(slot, flight.ticket);
                }
                None => {}
            }
            if let Some(plan) = self.plans.get_mut(slot.0 as usize)
                && !plan.queued
            {
                plan.queued = true;
                self.ready.push_back(slot);
            }
        }
    }

    /// Whether regular probes of `slot` wait because traffic proved it alive; then until when.
    pub(crate) fn postponed(&self, slot: Slot, need: Need, now: Timestamp) -> Option<Timestamp> {
        let plan = self.plan(slot)?;
        let params = plan.params?;
        let heeds = params.traffic_postpones || params.policy == ProbePolicy::WhenIdle;
        let until = plan.alive? + params.interval;
        (heeds && !plan.confirm && need == Need::Interval && until > now).then_some(until)
    }

    /// Stops real probes of `slot` until `until`.
    pub(crate) fn stop_paying(&mut self, slot: Slot, until: Timestamp) {
        if let Some(plan) = self.plans.get_mut(slot.0 as usize) {
            plan.unpaid_until = Some(until);
        }
    }

    /// Until when real probes of `slot` are stopped, if they are.
    pub(crate) fn unpaid_until(&self, slot: Slot, now: Timestamp) -> Option<Timestamp> {
        self.plan(slot)?.unpaid_until.filter(|until| *until > now)
    }

    /// Whether traffic sent within the last interval proved `slot` alive.
    pub(crate) fn served_lately(&self, slot: Slot, now: Timestamp) -> bool {
        let lately = |plan: &Plan| Some(plan.alive? + plan.params?.interval > now);
        self.plan(slot).and_then(lately).unwrap_or(false)
    }

    /// Leaves the probe of `slot` for `until`.
    pub(crate) fn postpone(&mut self, slot: Slot, until: Timestamp) {
        self.set_due(slot, until);
    }

    /// Starts the probe of `slot`: it counts against the bounds until it lands. Returns its ticket, the
    /// spacing it was planned with, and its deadline.
    pub(crate) fn start(&mut self, slot: Slot, now: Timestamp) -> Option<(u64, Duration, Duration)> {
        let plan = self.plans.get_mut(slot.0 as usize)?;
        let timeout = plan.params?.timeout;
        self.tickets += 1;
        let until = now + timeout + GRACE;
        plan.flight = Some(Flight { ticket: self.tickets, until });
        plan.started = Some(now);
        plan.confirm = false;
        let gap = plan.gap;
        self.in_flight += 1;
        if let Some(lane) = self.lanes.get_mut(plan.endpoint as usize) {
            lane.in_flight += 1;
        }
        self.set_due(slot, until);
        Some((self.tickets, gap, timeout))
    }

    /// Whether a confirmation of `slot` is wanted.
    pub(crate) fn wants_confirmation(&self, slot: Slot) -> bool {
        self.plan(slot).is_some_and(|plan| plan.confirm)
    }

    /// Frees the place of a probe; answers whether `ticket` was in flight. A probe that was given up lands
    /// nowhere.
    pub(crate) fn land(&mut self, slot: Slot, ticket: u64) -> bool {
        let Some(plan) = self.plans.get_mut(slot.0 as usize) else { return false };
        if plan.flight.is_none_or(|flight| flight.ticket != ticket) {
            return false;
        }
        plan.flight = None;
        plan.due = None;
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(lane) = self.lanes.get_mut(plan.endpoint as usize) {
            lane.in_flight = lane.in_flight.saturating_sub(1);
            if let Some(next) = lane.waiting.pop_front() {
                self.ready.push_front(next);
            }
        }
        true
    }

    /// Notes that a probe was never sent, so that its start does not space the next one.
    pub(crate) fn unsent(&mut self, slot: Slot) {
        if let Some(plan) = self.plans.get_mut(slot.0 as usize) {
            plan.started = None;
        }
    }

    /// Notes that another process sent a probe at `sent_at`: it spaces the next one like an own.
    pub(crate) fn probed_elsewhere(&mut self, slot: Slot, sent_at: Timestamp) {
        if let Some(plan) = self.plans.get_mut(slot.0 as usize) {
            plan.started = plan.started.max(Some(sent_at));
        }
    }

    /// Lets the spacing while out grow after a failed probe, or fall back after a passed one.
    pub(crate) fn paced(&mut self, slot: Slot, passed: bool, out: bool) {
        let Some(plan) = self.plans.get_mut(slot.0 as usize) else { return };
        let Some(params) = plan.params else { return };
        let ceiling = params.backoff_max.max(params.interval);
        if passed || !out {
            plan.backoff = params.interval;
        } else {
            plan.backoff = (plan.backoff * 2).min(ceiling);
        }
    }

    /// When `pop` may next have something, given room; `None` = only after a change.
    pub(crate) fn next_wakeup(&mut self, now: Timestamp, limits: ProbeLimits) -> Option<Timestamp> {
        if !self.ready.is_empty() && self.in_flight < limits.concurrency {
            return Some(now);
        }
        while let Some(&Reverse((at, slot))) = self.heap.peek() {
            if self.plan(slot).is_some_and(|plan| plan.due == Some(at)) {
                return Some(at);
            }
            self.heap.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests;
