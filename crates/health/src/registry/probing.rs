//! Which probes are due: what each deployment needs, and what a probe's end means for the next one.

use super::{PROBER, Registry, WATCH};
use crate::planner::{Need, ProbeEnd, ProbeJob, ProbeLimits, ProbeReason};
use crate::{
    Class, Depth, Effect, Generation, Outcome, ProbePolicy, Slot, Source, State, Timestamp, TrialLease,
};

/// Probes to be sent now, and when to ask again.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// To be sent now; each counts as in flight until its end is reported.
    pub jobs: Vec<ProbeJob>,
    /// When to ask again: never later than a second.
    pub next: Timestamp,
}

impl super::seat::Seat {
    /// Whether background probes may be sent for it.
    pub(super) fn probed(&self) -> bool {
        self.spec.probe.is_some_and(|probe| probe.policy != ProbePolicy::Never)
    }
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
            State::Trial if seat.machine.standing(now).trial_open => return Need::Trial,
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
        if self.planner.wants_confirmation(slot) && self.doubted(slot) {
            return self.job(slot, ProbeReason::Confirm, Depth::Free, None, now);
        }
        let reason = match need {
            Need::Nothing => return None,
            Need::Trial => {
                let Some(lease) = self.claim_trial(now, slot, PROBER) else {
                    self.planner.postpone(slot, now + WATCH);
                    return None;
                };
                return self.job(slot, ProbeReason::Trial, Depth::Generation, Some(lease), now);
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
        self.job(slot, reason, Depth::Generation, None, now)
    }

    fn job(
        &mut self,
        slot: Slot,
        reason: ProbeReason,
        depth: Depth,
        trial: Option<TrialLease>,
        now: Timestamp,
    ) -> Option<ProbeJob> {
        let generation = self.seat(slot)?.machine.generation();
        let (ticket, gap, timeout) = self.planner.start(slot, now)?;
        let free = matches!(reason, ProbeReason::Trial | ProbeReason::Confirm);
        let min_gap = if free { std::time::Duration::ZERO } else { gap };
        Some(ProbeJob { slot, reason, depth, trial, generation, timeout, min_gap, ticket })
    }

    /// Takes in how a probe job ended: every job ends exactly once.
    pub fn probe_finished(&mut self, now: Timestamp, job: &ProbeJob, end: &ProbeEnd) {
        let slot = job.slot;
        let was_out = self.need(slot, now) == Need::Out;
        let landed = self.planner.land(slot, job.ticket);
        match end {
            ProbeEnd::Verdict(outcome) => {
                self.report(now, slot, outcome);
                self.announce_probe(slot, outcome);
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
        if job.reason == ProbeReason::Confirm && self.doubted(slot) {
            // The call said nothing about the credential: ask again soon.
            let again = self.seat(slot).and_then(|seat| seat.spec.probe).map(|probe| probe.suspect_interval);
            self.planner.confirm(slot, now + again.unwrap_or(WATCH));
        }
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
