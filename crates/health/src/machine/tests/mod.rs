//! Tests of the machine: directed scenarios, users' reports by number, LiteLLM's tables, the matrix of states
//! and outcomes, and random runs against a model.

mod documented;
mod holds;
mod litellm_tables;
mod matrix;
mod model;
mod random;
mod reports;
mod scenarios;
mod unit;

use std::time::Duration;

use crate::{
    Class, Depth, GroupFacts, Machine, Operator, Outcome, Params, Source, State, Timestamp, Transition,
    TrialLease,
};

pub(super) const T0: u64 = 1_700_000_000_000;
pub(super) const PAIR: GroupFacts = GroupFacts { single: false, has_fallback: false };
pub(super) const LONE: GroupFacts = GroupFacts { single: true, has_fallback: false };
pub(super) const SINGLE_WITH_FALLBACK: GroupFacts = GroupFacts { single: true, has_fallback: true };

pub(super) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The resilient preset without jitter, so that ends are exact.
pub(super) fn exact() -> Params {
    let mut params = Params::resilient();
    params.isolation.jitter = 0.0;
    params
}

/// A machine with a clock.
#[derive(Clone, Debug)]
pub(super) struct Rig {
    pub(super) machine: Machine,
    pub(super) now: Timestamp,
    pub(super) facts: GroupFacts,
}

impl Rig {
    pub(super) fn new(params: Params) -> Self {
        Self::seeded(params, 7)
    }

    pub(super) fn seeded(params: Params, seed: u64) -> Self {
        let now = Timestamp::from_millis(T0);
        Self { machine: Machine::new(params, seed, now), now, facts: PAIR }
    }

    pub(super) fn in_group(mut self, facts: GroupFacts) -> Self {
        self.facts = facts;
        self
    }

    /// Seconds since the start.
    pub(super) fn clock(&self) -> f64 {
        Timestamp::from_millis(T0).until(self.now).as_secs_f64()
    }

    /// Moves the clock to `seconds` after the start and lets time act.
    pub(super) fn at(&mut self, seconds: f64) -> Option<Transition> {
        self.now = Timestamp::from_millis(T0) + Duration::from_secs_f64(seconds);
        self.settle()
    }

    /// Moves the clock on and lets time act; the last transition.
    pub(super) fn pass(&mut self, seconds: f64) -> Option<Transition> {
        self.now = self.now + Duration::from_secs_f64(seconds);
        self.settle()
    }

    fn settle(&mut self) -> Option<Transition> {
        let mut last = None;
        while let Some(moved) = self.machine.tick(self.now) {
            last = Some(moved);
        }
        last
    }

    pub(super) fn outcome(&self, source: Source, class: Class) -> Outcome {
        Outcome::new(class, source, self.now, self.machine.generation())
    }

    pub(super) fn give(&mut self, outcome: &Outcome) -> Option<Transition> {
        self.machine.observe(self.now, outcome, self.facts)
    }

    pub(super) fn traffic(&mut self, class: Class) -> Option<Transition> {
        let outcome = self.outcome(Source::Traffic, class);
        self.give(&outcome)
    }

    pub(super) fn probe(&mut self, class: Class) -> Option<Transition> {
        let outcome = self.outcome(Source::Probe, class);
        self.give(&outcome)
    }

    pub(super) fn free_probe(&mut self, class: Class) -> Option<Transition> {
        let mut outcome = self.outcome(Source::Probe, class);
        outcome.depth = Depth::Free;
        self.give(&outcome)
    }

    pub(super) fn traffic_times(&mut self, n: u32, class: Class) {
        for _ in 0..n {
            self.traffic(class);
        }
    }

    pub(super) fn lease(&mut self) -> TrialLease {
        self.machine.grant_trial(self.now, 1).expect("the trial is open")
    }

    pub(super) fn verdict(&self, lease: &TrialLease, class: Class) -> Outcome {
        let mut outcome = self.outcome(Source::Trial, class);
        outcome.trial = Some(lease.id);
        outcome
    }

    pub(super) fn trial(&mut self, class: Class) -> Option<Transition> {
        let lease = self.lease();
        let outcome = self.verdict(&lease, class);
        self.give(&outcome)
    }

    pub(super) fn state(&self) -> State {
        self.machine.state()
    }

    /// Seconds until the state ends.
    pub(super) fn left(&self) -> f64 {
        self.machine.until().map_or(f64::INFINITY, |until| self.now.until(until).as_secs_f64())
    }

    pub(super) fn weight(&self) -> f32 {
        self.machine.standing(self.now).weight
    }

    pub(super) fn isolated_by_traffic(params: Params) -> Self {
        let mut rig = Self::new(params);
        rig.traffic_times(5, Class::ServerError);
        assert_eq!(rig.state(), State::Isolated);
        rig
    }

    pub(super) fn isolated_by_probes(params: Params) -> Self {
        let mut rig = Self::new(params);
        for _ in 0..3 {
            rig.probe(Class::ServerError);
        }
        assert_eq!(rig.state(), State::Isolated);
        rig
    }

    pub(super) fn in_trial(params: Params) -> Self {
        let mut rig = Self::isolated_by_traffic(params);
        rig.pass(rig.left());
        assert_eq!(rig.state(), State::Trial);
        rig
    }

    pub(super) fn ramping(params: Params) -> Self {
        let mut rig = Self::in_trial(params);
        rig.trial(Class::Ok);
        assert_eq!(rig.state(), State::Ramping);
        rig
    }

    /// A machine in `state`, as it gets there in practice.
    pub(super) fn in_state(params: Params, state: State) -> Self {
        let mut rig = match state {
            State::Isolated => Self::isolated_by_traffic(params),
            State::Trial => Self::in_trial(params),
            State::Ramping => Self::ramping(params),
            State::Unknown
            | State::Healthy
            | State::Suspect
            | State::ConfigFault
            | State::Budget
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => Self::new(params),
        };
        let now = rig.now;
        match state {
            State::Healthy => drop(rig.traffic(Class::Ok)),
            State::Suspect => drop(rig.traffic(Class::ServerError)),
            State::ConfigFault => {
                rig.traffic(Class::Auth);
                rig.traffic(Class::Auth);
            }
            State::Budget => drop(rig.traffic(Class::Billing)),
            State::AdminDown => drop(rig.machine.operator(now, Operator::Disable, None, "")),
            State::Draining => drop(rig.machine.operator(now, Operator::Drain, None, "")),
            State::ForcedUp => drop(rig.machine.operator(now, Operator::ForceUp, None, "")),
            State::Unknown | State::Isolated | State::Trial | State::Ramping => {}
        }
        assert_eq!(rig.state(), state);
        rig.pass(1.0);
        rig
    }
}
