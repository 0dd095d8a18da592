//! How one piece of evidence is read: who may speak, what it says, and what each state makes of it.

use super::{By, Counts, Machine, proves};
use crate::transition::Observation;
use crate::{Cause, Class, Depth, Effect, GroupFacts, Outcome, Scope, Source, State, Timestamp, Transition};

/// Word of an [`Outcome`]'s reason for a server that says it is still loading its model.
const LOADING: &str = "loading";

/// What `outcome` does to the deployment. What was wrong with the caller's own request, key or model name
/// proves only that the provider answers.
const fn effect(outcome: &Outcome) -> Effect {
    match (outcome.class.effect(), outcome.scope) {
        (Effect::Config | Effect::Budget, Scope::Request) => Effect::Alive,
        (Effect::Hard | Effect::Soft, Scope::Request) => Effect::Neutral,
        (effect, _) => effect,
    }
}

impl Machine {
    /// Takes in the result of one attempt, after what is due at `now`. Returns the last transition of both; who
    /// wants to see each calls [`Self::tick`] first.
    pub fn observe(&mut self, now: Timestamp, outcome: &Outcome, facts: GroupFacts) -> Option<Transition> {
        let due = self.settle(now);
        self.apply(now, outcome, facts).or(due)
    }

    fn apply(&mut self, now: Timestamp, outcome: &Outcome, facts: GroupFacts) -> Option<Transition> {
        let leased = outcome.source == Source::Trial || outcome.trial.is_some();
        if leased {
            // Late, repeated or foreign: changes nothing.
            if !self.redeem(outcome) {
                return None;
            }
        } else if self.is_late(now, outcome) {
            return None;
        }
        let trial = leased && self.state == State::Trial;
        let effect = effect(outcome);
        if effect == Effect::Neutral {
            return None;
        }
        self.remember(now, outcome);
        if self.state.by_operator() {
            return None;
        }
        if self.ignored(outcome) {
            return self.ignore(now);
        }
        match effect {
            // A free call that passes leaves the question of the trial open.
            Effect::Ok | Effect::Alive if trial && outcome.depth == Depth::Free => None,
            // That the provider answers does not prove that it has the model or that the account pays.
            Effect::Alive if trial && self.tests_hard_cause() => None,
            Effect::Ok | Effect::Alive if trial => self.passed(now, outcome),
            Effect::Alive if self.in_rotation() && self.names_request(outcome) => {
                self.tripped(now, outcome, facts).or_else(|| self.good(now, outcome, effect))
            }
            Effect::Ok | Effect::Alive => self.good(now, outcome, effect),
            Effect::Soft => self.soft(now, outcome, facts, trial),
            Effect::Hard if self.blames_request(outcome) => None,
            Effect::Hard if trial => self.failed(now, outcome),
            Effect::Hard => self.hard(now, outcome, facts),
            Effect::Config if trial => Some(self.config_fault(now, Cause::Class(outcome.class), outcome)),
            Effect::Config => self.config(now, outcome, facts),
            Effect::Budget if trial => Some(self.broke(now, Cause::Class(outcome.class), outcome)),
            Effect::Budget => self.budget(now, outcome, facts),
            Effect::Neutral => None,
        }
    }

    /// Successes of traffic that were counted elsewhere; the latest of them was sent at `last_sent`.
    pub fn successes(&mut self, now: Timestamp, n: u32, last_sent: Timestamp) -> Option<Transition> {
        if n == 0 || self.state.by_operator() || !(self.state.eligible()) {
            return None;
        }
        if self.state == State::Ramping && last_sent < self.since {
            return None;
        }
        let mut outcome = Outcome::new(Class::Ok, Source::Traffic, last_sent, self.generation);
        outcome.status = 200;
        self.remember(last_sent, &outcome);
        if n > 1 {
            self.window.add(now, Counts { ok: n - 1, ..Counts::default() });
            self.ramp_ok = self.ramp_ok.saturating_add(n - 1);
        }
        self.good(now, &outcome, Effect::Ok)
    }

    /// The oldest silence of the requests in flight. Longer than the gap: suspect, whatever probes say, until
    /// traffic proves otherwise.
    pub fn wedged(&mut self, now: Timestamp, silence: std::time::Duration) -> Option<Transition> {
        if silence <= self.params.stream.gap || !self.state.eligible() || self.state.by_operator() {
            return None;
        }
        self.wedged = true;
        self.supported = now;
        self.suspect(now, Cause::Wedged, None)
    }

    /// Observation that started before the present epoch began. Peers count generations of their own, so theirs
    /// is judged by time alone.
    fn is_late(&self, now: Timestamp, outcome: &Outcome) -> bool {
        let fenced = match self.state {
            State::Isolated | State::Trial | State::Ramping | State::ConfigFault | State::Budget => true,
            State::Unknown
            | State::Healthy
            | State::Suspect
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => false,
        };
        let older = outcome.source != Source::Peer && outcome.generation < self.generation;
        // A probe's or a peer's news that is older than a verdict may be is none.
        let stale = outcome.source != Source::Traffic && outcome.sent_at + self.params.stale_after <= now;
        older || stale || (fenced && outcome.sent_at < self.since)
    }

    /// Keeps the youngest evidence, by the time it was sent. A long request that ends now supports the verdict
    /// from now on, although its age, which is what is shown, counts from its start.
    fn remember(&mut self, now: Timestamp, outcome: &Outcome) {
        let supports = if outcome.source == Source::Traffic { now } else { outcome.sent_at };
        self.supported = self.supported.max(supports);
        let evidence = Observation::of(outcome);
        if self.latest.is_none_or(|latest| evidence.sent_at >= latest.sent_at) {
            self.latest = Some(evidence);
        }
        let probe = outcome.source == Source::Probe;
        if probe && self.last_probe.is_none_or(|latest| evidence.sent_at >= latest.sent_at) {
            self.last_probe = Some(evidence);
        }
    }

    /// Whether the request is to blame: the same one failed elsewhere too, and no second one did since the last
    /// success.
    fn blames_request(&mut self, outcome: &Outcome) -> bool {
        let Some(fingerprint) = outcome.shared_failure else { return false };
        *self.shared.get_or_insert(fingerprint) == fingerprint
    }

    fn good(&mut self, now: Timestamp, outcome: &Outcome, effect: Effect) -> Option<Transition> {
        if outcome.proves_credential() {
            self.sightings = 0;
        }
        if effect == Effect::Ok {
            self.shared = None;
        }
        match self.state {
            State::Isolated => self.early(now, outcome),
            State::ConfigFault if effect == Effect::Ok => self.cured(now, outcome),
            State::Budget if effect == Effect::Ok => self.paid(now, outcome),
            State::ConfigFault
            | State::Budget
            | State::Trial
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => None,
            State::Unknown | State::Healthy | State::Suspect | State::Ramping => {
                self.good_in_rotation(now, outcome, effect)
            }
        }
    }

    fn good_in_rotation(&mut self, now: Timestamp, outcome: &Outcome, effect: Effect) -> Option<Transition> {
        self.fed = true;
        self.confirm_hold(now, outcome);
        self.end_run(outcome);
        let counts = self.count_good(now, outcome, effect);
        if self.state == State::Ramping {
            self.ramp_ok = self.ramp_ok.saturating_add(1);
            return self.ramp_over(now);
        }
        if self.state == State::Unknown || (self.state == State::Suspect && self.clear(now, outcome)) {
            return Some(self.recover(now, outcome));
        }
        self.judge_slow(now, outcome, counts)
    }

    fn recover(&mut self, now: Timestamp, outcome: &Outcome) -> Transition {
        if self.state == State::Unknown || self.decay_at <= now {
            self.decay_at = now + self.params.isolation.decay_every;
        }
        self.go(now, State::Healthy, Cause::Recovered, Scope::Model, Some(Observation::of(outcome)))
    }

    /// Runs of probes and of traffic are apart: neither source ends the other's.
    fn end_run(&mut self, outcome: &Outcome) {
        match outcome.source {
            Source::Probe => {
                if proves(outcome.depth, self.probe_depth) {
                    self.probe_run = 0;
                }
            }
            Source::Traffic | Source::Peer | Source::Trial => {
                self.traffic_run = 0;
                self.wedged = false;
            }
        }
    }

    /// A proof of life is no success: only successes of traffic count in the window.
    fn count_good(&mut self, now: Timestamp, outcome: &Outcome, effect: Effect) -> Counts {
        if effect != Effect::Ok || outcome.source == Source::Probe {
            return self.window.counts(now);
        }
        let slow = u32::from(self.slow_start(outcome));
        self.window.add(now, Counts { ok: 1, bad: 0, slow })
    }

    /// Whether `outcome` leaves nothing that speaks against it. A real probe that passes ends the doubt about
    /// failures of traffic, or an idle deployment would be probed at the pace of doubt for ever; their run goes
    /// on counting. What nothing has confirmed for as long as evidence lasts lapses.
    fn clear(&mut self, now: Timestamp, outcome: &Outcome) -> bool {
        let lasts = self.params.stale_after;
        if self.last_probe.is_none_or(|probe| probe.sent_at + lasts <= now) {
            self.probe_run = 0;
        }
        let real_probe = outcome.source == Source::Probe && outcome.depth == Depth::Generation;
        let traffic = self.traffic_run == 0 || real_probe || self.failed_at + lasts <= now;
        self.probe_run == 0 && traffic && !self.wedged
    }

    fn judge_slow(&mut self, now: Timestamp, outcome: &Outcome, counts: Counts) -> Option<Transition> {
        if counts.slow == 0 && self.slow_since.is_none() {
            return None;
        }
        self.too_slow(now, counts)
            .then(|| self.isolate(now, Cause::SlowFirstToken, By::Traffic, outcome))
            .flatten()
    }

    fn soft(
        &mut self,
        now: Timestamp,
        outcome: &Outcome,
        facts: GroupFacts,
        trial: bool,
    ) -> Option<Transition> {
        let loading = self.state == State::Unknown && outcome.reason == LOADING;
        if self.is_litellm() && !trial && !loading && self.in_rotation() {
            return self.litellm_failure(now, outcome, facts);
        }
        if self.state == State::Isolated {
            self.extend(now, outcome);
            return None;
        }
        let again = self.still_overloaded(outcome);
        self.hold(now, outcome);
        if trial {
            self.postponed(now);
            return None;
        }
        if self.in_rotation() && self.names(outcome) {
            return self.tripped(now, outcome, facts);
        }
        if again && !loading && outcome.source != Source::Probe {
            return self.overloaded_again(now, outcome, facts);
        }
        let counts = self.params.soft_in_window && self.in_rotation() && outcome.source != Source::Probe;
        if !counts || loading {
            return None;
        }
        self.judge_window(now, outcome, facts)
    }

    /// Overloaded after one more hold: counts in the run as a failure does, once per hold.
    fn overloaded_again(
        &mut self,
        now: Timestamp,
        outcome: &Outcome,
        facts: GroupFacts,
    ) -> Option<Transition> {
        self.traffic_run = self.traffic_run.saturating_add(1);
        self.failed_at = now;
        let limit = self.params.consecutive_failures;
        let over = limit > 0 && self.traffic_run >= limit && !self.spares(facts, By::Traffic);
        if over {
            return self.isolate(now, Cause::ConsecutiveFailures, By::Traffic, outcome);
        }
        self.suspect(now, Cause::Class(outcome.class), Some(outcome))
    }

    fn hard(&mut self, now: Timestamp, outcome: &Outcome, facts: GroupFacts) -> Option<Transition> {
        match self.state {
            State::Isolated => {
                self.hard_while_out(now, outcome);
                None
            }
            State::Unknown | State::Healthy | State::Suspect | State::Ramping => {
                // What fails otherwise is not held by a limit. Whoever has nowhere else to go is tried as before.
                if self.on_probation(now) && self.spares(facts, By::Traffic) {
                    self.end_probation(now);
                }
                let moved = if self.is_litellm() {
                    self.litellm_failure(now, outcome, facts)
                } else {
                    self.resilient_failure(now, outcome, facts)
                };
                if outcome.retry_after.is_some() && self.in_rotation() && !self.is_litellm() {
                    self.hold(now, outcome);
                }
                moved
            }
            State::Trial
            | State::ConfigFault
            | State::Budget
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => None,
        }
    }

    /// Out already: a failed probe outranks what traffic inferred, and a stated wait may be longer.
    fn hard_while_out(&mut self, now: Timestamp, outcome: &Outcome) {
        self.extend(now, outcome);
        if outcome.source != Source::Probe {
            return;
        }
        self.passes = 0;
        self.probe_run = self.probe_run.saturating_add(1);
        if self.filters_probes() && self.probe_run >= self.params.fall {
            self.by = By::Probe(outcome.depth);
            if !self.params.isolation.trial {
                // Without a trial a probe's verdict stands for as long as its evidence is young.
                self.until = self.until.max(outcome.sent_at + self.params.stale_after);
            }
        }
    }

    fn resilient_failure(
        &mut self,
        now: Timestamp,
        outcome: &Outcome,
        facts: GroupFacts,
    ) -> Option<Transition> {
        let probe = outcome.source == Source::Probe;
        let by = if probe { By::Probe(outcome.depth) } else { By::Traffic };
        if let Some(moved) = self.tripped(now, outcome, facts) {
            return Some(moved);
        }
        if self.state == State::Ramping {
            self.ramp_bad = self.ramp_bad.saturating_add(1);
            if self.ramp_bad >= self.params.ramp.fall && !self.spares(facts, by) {
                return self.isolate(now, Cause::RampFailure, by, outcome);
            }
        }
        if probe {
            self.probe_run = self.probe_run.saturating_add(1);
            self.probe_depth = outcome.depth;
            if self.params.probe_routing && self.probe_run >= self.params.fall {
                return self.probe_failed(now, outcome);
            }
            return self.suspect(now, Cause::Class(outcome.class), Some(outcome));
        }
        self.traffic_run = self.traffic_run.saturating_add(1);
        self.failed_at = now;
        let limit = self.params.consecutive_failures;
        if limit > 0 && self.traffic_run >= limit && !self.spares(facts, By::Traffic) {
            return self.isolate(now, Cause::ConsecutiveFailures, By::Traffic, outcome);
        }
        self.judge_window(now, outcome, facts)
            .or_else(|| self.suspect(now, Cause::Class(outcome.class), Some(outcome)))
    }

    /// Counts a failure of traffic in the window, and isolates when too many are.
    pub(super) fn judge_window(
        &mut self,
        now: Timestamp,
        outcome: &Outcome,
        facts: GroupFacts,
    ) -> Option<Transition> {
        let counts = self.window.add(now, Counts { bad: 1, ..Counts::default() });
        let params = &self.params.window;
        let over = params.min_requests > 0 && counts.exceeds(params.failure_ratio, params.min_requests);
        if over && !self.spares(facts, By::Traffic) {
            return self.isolate(now, Cause::FailureRatio, By::Traffic, outcome);
        }
        None
    }

    /// Too many failed probes.
    pub(super) fn probe_failed(&mut self, now: Timestamp, outcome: &Outcome) -> Option<Transition> {
        let by = By::Probe(outcome.depth);
        if self.params.isolation.trial {
            return self.isolate(now, Cause::ProbeFailures, by, outcome);
        }
        let end = outcome.sent_at + self.params.stale_after;
        if end <= now {
            return self.suspect(now, Cause::ProbeFailures, Some(outcome));
        }
        Some(self.out(now, end, Cause::ProbeFailures, by, outcome))
    }

    /// Nowhere else to go: what traffic suggests is not acted on.
    pub(super) fn spares(&self, facts: GroupFacts, by: By) -> bool {
        by == By::Traffic && facts.lone() && !self.params.isolate_lone
    }

    fn config(&mut self, now: Timestamp, outcome: &Outcome, facts: GroupFacts) -> Option<Transition> {
        if self.state == State::ConfigFault {
            return None;
        }
        if self.is_litellm() && self.in_rotation() {
            return self.litellm_failure(now, outcome, facts);
        }
        if self.in_rotation() && self.names(outcome) {
            return self.tripped(now, outcome, facts);
        }
        self.sightings = self.sightings.saturating_add(1);
        if self.sightings < self.params.config_sightings {
            return None;
        }
        Some(self.config_fault(now, Cause::Class(outcome.class), outcome))
    }

    fn budget(&mut self, now: Timestamp, outcome: &Outcome, facts: GroupFacts) -> Option<Transition> {
        if self.state == State::Budget {
            self.extend_budget(now, outcome);
            return None;
        }
        if self.is_litellm() && self.in_rotation() {
            return self.litellm_failure(now, outcome, facts);
        }
        Some(self.broke(now, Cause::Class(outcome.class), outcome))
    }

    /// A passed probe in a configuration fault: a real call disproves every one, a free one what it shows.
    fn cured(&mut self, now: Timestamp, outcome: &Outcome) -> Option<Transition> {
        (outcome.source == Source::Probe && outcome.disproves(self.cause.class()))
            .then(|| self.retry(now, Cause::Recovered, Some(Observation::of(outcome))))
    }

    /// A passed probe that shows money while the account was thought empty. A stated reset is waited for.
    fn paid(&mut self, now: Timestamp, outcome: &Outcome) -> Option<Transition> {
        let proven = outcome.source == Source::Probe && outcome.proves_credit() && !self.stated;
        proven.then(|| self.retry(now, Cause::Recovered, Some(Observation::of(outcome))))
    }

    /// A mistake of the caller counts only where a policy names its class.
    fn names_request(&self, outcome: &Outcome) -> bool {
        matches!(outcome.class, Class::BadRequest | Class::ContextWindow | Class::ContentPolicy)
            && self.names(outcome)
    }

    pub(super) const fn in_rotation(&self) -> bool {
        matches!(self.state, State::Unknown | State::Healthy | State::Suspect | State::Ramping)
    }
}
