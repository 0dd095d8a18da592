//! The trial: one attempt at a time, fenced by a lease, whose verdict decides.
//!
//! A lease has a deadline and an owner; what comes after the deadline, or with another id, changes nothing.
//! However an attempt ends, the place is free again: by its verdict, by a neutral outcome, or by the deadline. The first
//! attempt after a hold goes out under the same lease, but its answer counts as any other of traffic.

use std::time::Duration;

use super::{By, Machine};
use crate::{Cause, Observation, Outcome, State, Timestamp, Transition, TrialId, TrialLease};

impl Machine {
    /// Claims the trial for `owner`. `None` while another one is out, before its time, or in another state.
    pub fn grant_trial(&mut self, now: Timestamp, owner: u64) -> Option<TrialLease> {
        self.settle(now);
        if !self.tests(now) || self.trial.is_some() || self.trial_wait(now).is_some() {
            return None;
        }
        self.granted = self.granted.wrapping_add(1);
        let lease = TrialLease {
            id: TrialId(u64::from(self.generation.0) << 32 | u64::from(self.granted)),
            deadline: now + self.params.trial_hold.max(Duration::from_millis(1)),
            owner,
            generation: self.generation,
        };
        self.trial = Some(lease.clone());
        Some(lease)
    }

    /// Takes the lease back when `outcome` is its verdict.
    pub(super) fn redeem(&mut self, outcome: &Outcome) -> bool {
        self.trial.take_if(|lease| Some(lease.id) == outcome.trial).is_some()
    }

    /// A lease whose deadline has come is lost: counted once, and its place is free.
    pub(super) fn reclaim(&mut self, now: Timestamp) {
        if self.trial.take_if(|lease| lease.deadline <= now).is_some() {
            self.lost = self.lost.wrapping_add(1);
            if self.state == State::Trial {
                self.cause = Cause::LostTrial;
            }
        }
    }

    /// A passed trial.
    pub(super) fn passed(&mut self, now: Timestamp, outcome: &Outcome) -> Option<Transition> {
        self.passes = self.passes.saturating_add(1);
        (self.passes >= self.params.rise).then(|| self.back(now, outcome))
    }

    /// A failed trial isolates again, longer.
    pub(super) fn failed(&mut self, now: Timestamp, outcome: &Outcome) -> Option<Transition> {
        let by = if self.tests_hard_cause() { By::Traffic } else { self.by };
        if self.params.isolation.base.is_zero() {
            // With isolation turned off there is nothing to be out for.
            let evidence = Some(Observation::of(outcome));
            return Some(self.go(now, State::Suspect, Cause::FailedTrial, outcome.scope, evidence));
        }
        self.isolate(now, Cause::FailedTrial, by, outcome)
    }

    /// A trial that met a limit says nothing about death: the next one waits.
    pub(super) fn postponed(&mut self, now: Timestamp) {
        self.next_trial = (now + self.params.isolation.base).max(self.hold_until);
    }

    /// Whether the fault that the trial tests is a known one.
    pub(super) const fn tests_hard_cause(&self) -> bool {
        matches!(self.origin, State::ConfigFault | State::Budget)
    }

    /// What the isolation rested on, as the tier of a deployment that is out.
    pub(super) const fn by_probe(&self) -> bool {
        matches!(self.by, By::Probe(_))
    }
}
