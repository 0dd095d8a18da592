//! What requests met, counted for the fleet, and what the sum of all processes' counts decides.
//!
//! A process tells what its window counted: requests of callers, as far as they say something of the deployment. The sum
//! decides for everybody at once, unlike the inference of one process, because several saw the failures.

use super::Registry;
use crate::{Class, Counts, Effect, Outcome, Slot, Source, State, Timestamp, Transition};

/// What this process's requests of a deployment met since it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The deployment.
    pub slot: Slot,
    /// Successes and failures.
    pub counts: Counts,
    /// When the latest request that succeeded was sent; zero when none did.
    pub answered_at: Timestamp,
    /// The class of the latest failure.
    pub failed: Option<Class>,
}

/// What is to be told of one deployment's requests.
#[derive(Debug, Default)]
pub(crate) struct Untold {
    listed: bool,
    answered_at: Timestamp,
    failed: Option<Class>,
    /// Requests that ended before then are of an earlier life of the deployment.
    from: Timestamp,
}

const fn in_rotation(state: State) -> bool {
    matches!(state, State::Unknown | State::Healthy | State::Suspect | State::Ramping)
}

impl Registry {
    /// Notes that requests of `slot` succeeded, the latest sent at `sent_at`.
    pub(super) fn met_success(&mut self, slot: Slot, sent_at: Timestamp) {
        if let Some(seat) = self.seat_mut(slot) {
            seat.untold.answered_at = seat.untold.answered_at.max(sent_at);
        }
        self.list(slot);
    }

    /// Notes a request of `slot`.
    pub(super) fn met_outcome(&mut self, slot: Slot, outcome: &Outcome) {
        if outcome.source != Source::Traffic {
            return;
        }
        match outcome.class.effect() {
            Effect::Ok => self.met_success(slot, outcome.sent_at),
            Effect::Hard | Effect::Soft => {
                if let Some(seat) = self.seat_mut(slot) {
                    seat.untold.failed = Some(outcome.class);
                }
                self.list(slot);
            }
            Effect::Alive | Effect::Config | Effect::Budget | Effect::Neutral => {}
        }
    }

    fn list(&mut self, slot: Slot) {
        if self.fleet.is_none() {
            return;
        }
        if let Some(seat) = self.seat_mut(slot)
            && !std::mem::replace(&mut seat.untold.listed, true)
        {
            self.met.push(slot);
        }
    }

    /// A deployment that comes back, or goes out, is counted anew.
    pub(super) fn count_anew(&mut self, now: Timestamp, slot: Slot, transition: &Transition) {
        if in_rotation(transition.from) && in_rotation(transition.to) {
            return;
        }
        if let Some(seat) = self.seat_mut(slot) {
            seat.untold.from = now;
        }
    }

    pub(crate) fn take_met(&mut self, now: Timestamp) -> Vec<Met> {
        let listed = std::mem::take(&mut self.met);
        let mut met = Vec::with_capacity(listed.len());
        for slot in listed {
            self.drain(now, slot);
            let Some(seat) = self.seat_mut(slot) else { continue };
            let Untold { answered_at, failed, from, .. } = std::mem::take(&mut seat.untold);
            seat.untold.from = from;
            let counts = seat.machine.take_counts_to_tell();
            if counts.total() > 0 {
                met.push(Met { slot, counts, answered_at, failed });
            }
        }
        met
    }

    pub(crate) fn counts_from(&self, slot: Slot) -> Option<Timestamp> {
        self.seat(slot).map(|seat| seat.untold.from)
    }

    pub(crate) fn met_everywhere(&mut self, now: Timestamp, slot: Slot, counts: Counts, class: Class) {
        self.settle(now, slot);
        let Some(facts) = self.seat(slot).and_then(|seat| self.groups.get(seat.group.0 as usize)) else {
            return;
        };
        let facts = facts.facts();
        let Some(seat) = self.seat_mut(slot) else { return };
        let Some(transition) = seat.machine.met_everywhere(now, counts, class, facts) else { return };
        self.moved(now, slot, transition);
        // Several processes saw it, which is what makes it everybody's.
        self.witnessed(now, slot);
        self.touch(slot, now);
    }
}
