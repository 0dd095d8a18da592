//! Which probes are due: what each deployment needs, and what a probe's end means for the next one.

use super::{PROBER, Registry, WATCH};
use crate::planner::{Need, ProbeEnd, ProbeJob, ProbeLimits, ProbeReason};
use crate::{
    Class, Depth, Effect, Generation, Outcome, ProbeDepth, ProbePolicy, Slot, Source, State, Timestamp,
    TrialLease,
};

/// Probes to be sent now, and when to ask again.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// To be sent now; each counts as in flight until its end is reported.
    pub jobs: Vec<ProbeJob>,
    /// When to ask again: never later than a second.
    pub next: Timestamp,
}

/// What a probe consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    /// The free call.
    Free,
    /// The free call, and a real one unless that failed.
    FreeFirst,
    /// A real call.
    Real,
}

impl Registry {
    /// What `slot` needs of the planner.
    pub(super) fn need(&self, slot: Slot, now: Timestamp) -> Need {
        let Some(seat) = self.seat(slot) else { return Need::Nothing };
        let Some(params) = seat.spec.probe.filter(|probe| probe.policy != ProbePolicy::Never) else {
            return Need::Nothing;
        };
        let only_out = params.policy == ProbePolicy::OnlyWhenOut;
        let need = match seat.machine.state() {
            State::AdminDown | State::Draining => return Need::Nothing,
            State::Trial if seat.machine.standing(now).trial_open && self.decides_trials(slot, now) => {
                return Need::Trial;
            }
            // A trial that is out, or spaced by a stated wait: its own rules bring the next one.
            State::Trial => return Need::Nothing,
            // An empty account is re-tested by the machine's own growing timer, as a trial.
            State::Budget => return Need::Nothing,
            // A refused key costs nothing to try, and a probe that passes is how its repair is noticed (F02): the
            // machine's timer, which grows to minutes, is for deployments that nobody probes.
            State::Isolated | State::ConfigFault => Need::Out,
            State::Suspect if !only_out => Need::Suspect,
            State::Unknown | State::Healthy | State::Ramping | State::ForcedUp if !only_out => Need::Interval,
            State::Suspect | State::Unknown | State::Healthy | State::Ramping | State::ForcedUp => {
                return Need::Nothing;
            }
        };
        let endpoint = self.tree.place_of(slot).and_then(|place| self.tree.get(place.endpoint));
        match endpoint
            .filter(|domain| domain.suspect_since.is_some())
            .and_then(|domain| domain.representative)
        {
            Some(representative) if representative == slot => Need::Representative,
            Some(_) => Need::Represented,
            None => need,
        }
    }

    /// Whether probes decide the trials of `slot` now: it is probed, and with real calls.
    pub(super) fn decides_trials(&self, slot: Slot, now: Timestamp) -> bool {
        let probe = self.seat(slot).and_then(|seat| seat.spec.probe);
        let real =
            |probe: crate::ProbeParams| probe.policy != ProbePolicy::Never && probe.depth != ProbeDepth::Free;
        probe.is_some_and(real) && self.planner.unpaid_until(slot, now).is_none()
    }

    /// How far a probe of `slot` climbs: as far as its depth allows and its need asks. `None` when nothing may be
    /// sent.
    fn rung(&self, slot: Slot, need: Need, now: Timestamp) -> Option<Rung> {
        let spec = &self.seat(slot)?.spec;
        let free = spec.free_call.map(|_| Rung::Free);
        let depth = spec.probe?.depth;
        if depth == ProbeDepth::Free || self.planner.unpaid_until(slot, now).is_some() {
            return free;
        }
        let out = matches!(need, Need::Out | Need::Trial | Need::Represented | Need::Representative);
        Some(match free {
            Some(free) if depth == ProbeDepth::Auto && spec.costly => {
                if out {
                    Rung::FreeFirst
                } else {
                    free
                }
            }
            Some(_) | None => Rung::Real,
        })
    }

    /// The rung that confirms or refutes a dead credential.
    fn confirming(&self, slot: Slot, now: Timestamp) -> Option<Rung> {
        let spec = &self.seat(slot)?.spec;
        let only_free = spec.probe?.depth == ProbeDepth::Free;
        // A refusal confirms whatever a pass would show.
        if spec.free_call.is_some_and(|proof| only_free || proof.credential) {
            return Some(Rung::Free);
        }
        if only_free {
            return None;
        }
        self.planner.unpaid_until(slot, now).is_none().then_some(Rung::Real)
    }

    /// The probes that are due at `now`, within `limits`.
    pub fn due_probes(&mut self, now: Timestamp, limits: ProbeLimits) -> Due {
        let mut jobs = Vec::new();
        while let Some(slot) = self.planner.pop(now, limits) {
            self.settle(now, slot);
            if let Some(job) = self.admit(slot, now) {
                jobs.push(job);
            }
        }
        let next = self.planner.next_wakeup(now, limits).map_or(now + WATCH, |at| at.min(now + WATCH));
        Due { jobs, next }
    }

    fn admit(&mut self, slot: Slot, now: Timestamp) -> Option<ProbeJob> {
        let need = self.need(slot, now);
        if self.planner.wants_confirmation(slot)
            && self.doubted(slot)
            && let Some(rung) = self.confirming(slot, now)
        {
            return self.job(slot, ProbeReason::Confirm, rung, None, now);
        }
        let unpaid_until = self.planner.unpaid_until(slot, now);
        let Some(rung) = self.rung(slot, need, now) else {
            if let Some(until) = unpaid_until {
                self.planner.postpone(slot, until);
            }
            return None;
        };
        let reason = match need {
            Need::Nothing => {
                if let Some(until) = unpaid_until {
                    self.planner.postpone(slot, until);
                }
                return None;
            }
            Need::Trial => {
                let Some(lease) = self.claim_trial(now, slot, PROBER) else {
                    self.planner.postpone(slot, now + WATCH);
                    return None;
                };
                return self.job(slot, ProbeReason::Trial, rung, Some(lease), now);
            }
            Need::Interval => ProbeReason::Interval,
            Need::Suspect => ProbeReason::Suspect,
            Need::Out | Need::Represented => ProbeReason::Out,
            Need::Representative => ProbeReason::Representative,
        };
        // A doubted credential answers nothing but its confirmation.
        let postponed = self.planner.postponed(slot, need, now);
        if let Some(until) = postponed.or_else(|| self.doubted(slot).then_some(now + WATCH)) {
            self.planner.postpone(slot, until);
            return None;
        }
        self.job(slot, reason, rung, None, now)
    }

    fn job(
        &mut self,
        slot: Slot,
        reason: ProbeReason,
        rung: Rung,
        trial: Option<TrialLease>,
        now: Timestamp,
    ) -> Option<ProbeJob> {
        let depth = if rung == Rung::Free { Depth::Free } else { Depth::Generation };
        let free_first = rung == Rung::FreeFirst;
        let generation = self.seat(slot)?.machine.generation();
        let (ticket, gap, timeout) = self.planner.start(slot, now)?;
        let spaced = !matches!(reason, ProbeReason::Trial | ProbeReason::Confirm);
        let min_gap = if spaced { gap } else { std::time::Duration::ZERO };
        Some(ProbeJob { slot, reason, depth, free_first, trial, generation, timeout, min_gap, ticket })
    }

    /// Takes in how a probe job ended: every job ends exactly once.
    pub fn probe_finished(&mut self, now: Timestamp, job: &ProbeJob, end: &ProbeEnd) {
        let slot = job.slot;
        let was_out = self.need(slot, now) == Need::Out;
        let landed = self.planner.land(slot, job.ticket);
        match end {
            ProbeEnd::Verdict(outcome) => {
                if !self.outranked(slot, outcome, now) {
                    self.report(now, slot, outcome);
                    self.announce_probe(slot, outcome);
                }
                let passed = matches!(outcome.class.effect(), Effect::Ok | Effect::Alive);
                let failed = matches!(outcome.class.effect(), Effect::Hard | Effect::Config | Effect::Budget);
                if passed || failed {
                    self.planner.paced(slot, passed, was_out && self.need(slot, now) == Need::Out);
                }
            }
            ProbeEnd::NoEvidence => self.give_back(now, job),
            ProbeEnd::Postponed(_) => {
                self.give_back(now, job);
                self.planner.unsent(slot);
            }
            ProbeEnd::OverBudget(until) => {
                self.planner.stop_paying(slot, *until);
                self.give_back(now, job);
                self.planner.unsent(slot);
                // A trial is open to requests from now on.
                self.touch(slot, now);
            }
        }
        if !landed {
            return;
        }
        let need = self.need(slot, now);
        if let ProbeEnd::Postponed(until) = end {
            self.planner.postpone(slot, (*until).max(now + std::time::Duration::from_millis(1)));
            return;
        }
        self.planner.wake(slot, need, now);
        if let ProbeEnd::OverBudget(until) = end
            && self.rung(slot, need, now).is_none_or(|_| need == Need::Nothing)
        {
            self.planner.postpone(slot, *until);
        }
        if job.reason == ProbeReason::Confirm && self.doubted(slot) {
            // The call said nothing about the credential: ask again soon.
            let again = self.seat(slot).and_then(|seat| seat.spec.probe).map(|probe| probe.suspect_interval);
            self.planner.confirm(slot, now + again.unwrap_or(WATCH));
        }
    }

    /// Whether traffic outranks `outcome`: a free call that was too slow or failed says little about a deployment
    /// that serves.
    fn outranked(&self, slot: Slot, outcome: &Outcome, now: Timestamp) -> bool {
        outcome.depth == Depth::Free
            && outcome.trial.is_none()
            && outcome.class.effect() == Effect::Hard
            && self.planner.served_lately(slot, now)
    }

    /// Gives a trial place back that no verdict came of.
    fn give_back(&mut self, now: Timestamp, job: &ProbeJob) {
        if let Some(lease) = &job.trial {
            let mut neutral = Outcome::new(Class::Local, Source::Trial, now, job.generation);
            neutral.trial = Some(lease.id);
            self.report(now, job.slot, &neutral);
        }
    }

    /// When `slot` is probed next, as planned now.
    pub fn next_probe(&self, slot: Slot) -> Option<Timestamp> {
        self.planner.next_probe(slot)
    }

    /// The generation of `slot`; that of a hole is 0.
    pub fn generation(&self, slot: Slot) -> Generation {
        self.seat(slot).map_or(Generation(0), |seat| seat.machine.generation())
    }
}
