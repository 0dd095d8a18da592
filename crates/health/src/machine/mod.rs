//! The machine of one deployment: what evidence and time do to its state.
//!
//! One state, one machine, whatever the profile: hysteresis, isolation, trial and ramp of `resilient`, and the
//! counters and cooldowns of `litellm`, are numbers and one decision table on the same transitions. The order
//! of decision is: who may speak (fences), what the evidence says ([`Effect`](crate::Effect)), what the state
//! makes of it. The drawing, every default with its reason and the precedence of sources are in
//! `docs/health.md`.

mod control;
mod evidence;
mod explain;
mod findings;
mod isolation;
mod litellm;
mod load;
mod peer;
mod saved;
mod trial;
mod window;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use findings::Findings;
pub use saved::SavedMachine;
pub use window::Counts;

use self::litellm::Tally;
use self::window::Window;
use crate::seed::Spread;
use crate::transition::{History, Observation, Passage};
use crate::{
    Cause, Depth, Generation, Outcome, Params, Profile, Scope, Source, Standing, State, Tier, Timestamp,
    Transition, TrialLease,
};

/// What an isolation rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum By {
    /// Failures of traffic.
    Traffic,
    /// Failed probes of this depth.
    Probe(Depth),
}

/// Whether a pass at depth `passed` says anything about a failure at depth `failed`.
const fn proves(passed: Depth, failed: Depth) -> bool {
    matches!((passed, failed), (Depth::Generation, _) | (Depth::Free, Depth::Free))
}

/// The state machine of one deployment. Not thread-safe, and without a clock: every call says what time it is,
/// and times must not run backwards.
#[derive(Clone, Debug)]
pub struct Machine {
    params: Arc<Params>,
    spread: Spread,
    state: State,
    since: Timestamp,
    /// End of the state; zero = none known.
    until: Timestamp,
    cause: Cause,
    scope: Scope,
    source: Option<Source>,
    generation: Generation,
    /// The end was stated by the provider, not inferred.
    stated: bool,
    by: By,
    /// The state that a trial tests the end of.
    origin: State,
    /// Isolations in a row.
    step: u8,
    /// Re-tests of a configuration or budget fault in a row.
    retests: u8,
    /// Failed probes in a row.
    probe_run: u32,
    /// Depth of the latest failed probe.
    probe_depth: Depth,
    /// Hard failures of traffic in a row.
    traffic_run: u32,
    /// When the latest of them came.
    failed_at: Timestamp,
    /// Sightings of a configuration fault since the last good answer.
    sightings: u32,
    /// Good answers in a row towards a release or, in a trial, towards `rise`.
    passes: u32,
    ramp_ok: u32,
    ramp_bad: u32,
    wedged: bool,
    /// Fingerprint of a request that failed elsewhere too, since the last success.
    shared: Option<u64>,
    window: Window,
    slow_since: Option<Timestamp>,
    hold_until: Timestamp,
    hold_length: std::time::Duration,
    /// Next change of the share because of the hold; zero = none.
    hold_due: Timestamp,
    /// A hold ended, or will end, that no success sent after it has confirmed.
    hold_probation: bool,
    /// When a success ended the latest probation: the share rises from here.
    confirmed_at: Timestamp,
    /// The wait that the provider stated, when the hold is shorter than that.
    hold_clamped: Option<std::time::Duration>,
    decay_at: Timestamp,
    /// A success came since the last step of decay.
    fed: bool,
    trial: Option<TrialLease>,
    next_trial: Timestamp,
    granted: u32,
    lost: u32,
    latest: Option<Observation>,
    /// Until when evidence supports the state, less `stale_after`.
    supported: Timestamp,
    /// Age of the youngest evidence that an earlier process or another one of the fleet had.
    known_sent_at: Option<Timestamp>,
    last_probe: Option<Observation>,
    tally: Option<Box<Tally>>,
    history: Box<History>,
    note: Option<Arc<str>>,
}

impl Machine {
    /// A machine in [`State::Unknown`]. `seed` drives its jitter: equal seeds, equal jitter.
    pub fn new(params: impl Into<Arc<Params>>, seed: u64, now: Timestamp) -> Self {
        let params = params.into();
        Self {
            spread: Spread::new(seed),
            state: State::Unknown,
            since: now,
            until: Timestamp::default(),
            cause: Cause::Start,
            scope: Scope::Model,
            source: None,
            generation: Generation::default(),
            stated: false,
            by: By::Traffic,
            origin: State::Unknown,
            step: 0,
            retests: 0,
            probe_run: 0,
            probe_depth: Depth::Generation,
            traffic_run: 0,
            failed_at: now,
            sightings: 0,
            passes: 0,
            ramp_ok: 0,
            ramp_bad: 0,
            wedged: false,
            shared: None,
            window: Window::new(&params.window, now),
            slow_since: None,
            hold_until: Timestamp::default(),
            hold_length: std::time::Duration::ZERO,
            hold_due: Timestamp::default(),
            hold_probation: false,
            confirmed_at: Timestamp::default(),
            hold_clamped: None,
            decay_at: now + params.isolation.decay_every,
            fed: false,
            trial: None,
            next_trial: Timestamp::default(),
            granted: 0,
            lost: 0,
            latest: None,
            supported: now,
            known_sent_at: None,
            last_probe: None,
            tally: params.litellm.map(|_| Box::default()),
            history: Box::new(History::new()),
            note: None,
            params,
        }
    }

    /// Lets time act: the end of an isolation, a lost trial, the end of a ramp, stale evidence, decay, the end
    /// of an operator's command. One transition at most; call again while [`Self::next_deadline`] has passed.
    pub fn tick(&mut self, now: Timestamp) -> Option<Transition> {
        if now >= self.hold_due {
            self.hold_due = Timestamp::default();
        }
        if self.in_rotation() {
            self.reclaim(now);
        }
        match self.state {
            State::Isolated if now >= self.until => Some(self.isolation_over(now)),
            State::ConfigFault | State::Budget if now >= self.until => {
                Some(self.retry(now, Cause::Timer, None))
            }
            State::Trial => {
                self.reclaim(now);
                if now >= self.next_trial {
                    self.next_trial = Timestamp::default();
                }
                None
            }
            State::Ramping => self.ramp_over(now),
            State::Healthy | State::Suspect if now >= self.stale_at() => {
                self.forget_runs();
                self.wedged = false;
                Some(self.go(now, State::Unknown, Cause::Stale, Scope::Model, None))
            }
            State::Healthy => {
                self.decay(now);
                None
            }
            State::AdminDown | State::Draining | State::ForcedUp if self.ends() && now >= self.until => {
                Some(self.become_unknown(now, Cause::Operator))
            }
            State::Unknown
            | State::Suspect
            | State::Isolated
            | State::ConfigFault
            | State::Budget
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => None,
        }
    }

    /// When [`Self::tick`] or [`Self::standing`] will next answer differently without new evidence; `None` =
    /// never. A ramp's weight changes all the time and is not a deadline.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let own = match self.state {
            State::Isolated | State::ConfigFault | State::Budget => Some(self.until),
            State::Trial => self.trial.as_ref().map_or_else(
                || Some(self.next_trial).filter(|next| *next > Timestamp::default()),
                |lease| Some(lease.deadline),
            ),
            State::Ramping => Some(self.since + self.ramp_end()),
            State::Healthy if self.step > 0 => Some(self.stale_at().min(self.decay_at)),
            State::Healthy | State::Suspect => Some(self.stale_at()),
            State::AdminDown | State::Draining | State::ForcedUp => self.ends().then_some(self.until),
            State::Unknown => None,
        };
        let lease = self.trial.as_ref().filter(|_| self.in_rotation()).map(|lease| lease.deadline);
        let load = Some(self.hold_due).filter(|due| self.state.eligible() && *due > Timestamp::default());
        let load = load.or(lease);
        match (own, load) {
            (Some(own), Some(load)) => Some(own.min(load)),
            (own, load) => own.or(load),
        }
    }

    /// What routing may do with it now.
    pub fn standing(&self, now: Timestamp) -> Standing {
        let held = now < self.hold_until;
        let (tier, until) = match self.state {
            State::Unknown | State::Healthy | State::Suspect | State::Ramping if held => {
                (Tier::Held, Some(self.hold_until))
            }
            State::Unknown | State::Healthy | State::Suspect | State::Ramping if self.on_probation(now) => {
                (Tier::Held, self.trial_wait(now))
            }
            State::Unknown | State::Healthy | State::Suspect | State::Ramping | State::ForcedUp => {
                (Tier::In, None)
            }
            State::Isolated => (self.tier(), Some(self.until)),
            State::Trial => (self.tier(), self.trial_wait(now)),
            State::ConfigFault | State::Budget => (Tier::Never, Some(self.until)),
            State::AdminDown | State::Draining => (Tier::Never, self.ends().then_some(self.until)),
        };
        Standing {
            tier,
            weight: self.share(now),
            generation: self.generation,
            trial_open: self.tests(now) && self.trial_wait(now).is_none(),
            held_until: until,
        }
    }

    /// Whether a success of traffic could change nothing but counters, so that it may be counted without a
    /// lock and told later by [`Self::successes`]. A success whose first token was slow must still be observed.
    pub fn fast_path(&self) -> bool {
        self.state == State::Healthy
            && self.traffic_run == 0
            && self.sightings == 0
            && self.shared.is_none()
            && !self.wedged
            && self.slow_since.is_none()
            && !self.hold_probation
    }

    /// Runs what is due at `now`; the last transition, if any.
    fn settle(&mut self, now: Timestamp) -> Option<Transition> {
        let mut last = None;
        // Each transition of time leads closer to a state without a timer that has passed.
        for _ in 0..4 {
            match self.tick(now) {
                Some(moved) => last = Some(moved),
                None => break,
            }
        }
        last
    }

    /// Enters `to`. Everything that is kept per state starts anew.
    fn go(
        &mut self,
        now: Timestamp,
        to: State,
        cause: Cause,
        scope: Scope,
        evidence: Option<Observation>,
    ) -> Transition {
        let from = self.state;
        // Attempts that started in rotation still count after a change of opinion in rotation; attempts from
        // before an isolation, a trial, a return or an operator's command do not.
        let rotates = |state| matches!(state, State::Unknown | State::Healthy | State::Suspect);
        let same_epoch = rotates(to) && (rotates(from) || from == State::Ramping);
        if !same_epoch {
            self.generation = Generation(self.generation.0.wrapping_add(1));
        }
        if rotates(to) || to == State::Ramping || to == State::Trial {
            self.until = Timestamp::default();
        }
        if from.by_operator() && !to.by_operator() {
            self.note = None;
        }
        self.state = to;
        self.since = now;
        self.cause = cause;
        self.scope = scope;
        self.source = evidence.map(|evidence| evidence.source);
        self.passes = 0;
        self.ramp_ok = 0;
        self.ramp_bad = 0;
        if !same_epoch {
            self.trial = None;
        }
        let source = self.source;
        self.history.push(Passage { from, to, cause, scope, source, at: now });
        let (generation, step) = (self.generation, self.step);
        Transition {
            from,
            to,
            cause,
            scope,
            source,
            at: now,
            until: self.until(),
            generation,
            step,
            evidence,
        }
    }

    /// Into doubt, from a state of rotation; evidence against a deployment already in doubt adds nothing.
    fn suspect(&mut self, now: Timestamp, cause: Cause, outcome: Option<&Outcome>) -> Option<Transition> {
        let scope = outcome.map_or(Scope::Model, |outcome| outcome.scope);
        match self.state {
            State::Unknown | State::Healthy => {
                Some(self.go(now, State::Suspect, cause, scope, outcome.map(Observation::of)))
            }
            State::Suspect
            | State::Isolated
            | State::Trial
            | State::Ramping
            | State::ConfigFault
            | State::Budget
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => None,
        }
    }

    fn become_unknown(&mut self, now: Timestamp, cause: Cause) -> Transition {
        self.forget_runs();
        self.stated = false;
        self.window.clear();
        self.go(now, State::Unknown, cause, Scope::Model, None)
    }

    fn isolation_over(&mut self, now: Timestamp) -> Transition {
        self.stated = false;
        if self.params.isolation.trial {
            self.retry(now, Cause::Timer, None)
        } else {
            let cause = if self.by_probe() { Cause::Stale } else { Cause::Timer };
            self.become_unknown(now, cause)
        }
    }

    fn ramp_end(&self) -> std::time::Duration {
        let ramp = &self.params.ramp;
        if self.ramp_ok >= ramp.min_successes { ramp.length } else { ramp.cap.max(ramp.length) }
    }

    /// The ramp ends when its time is up and enough successes came; or at the cap, however few came.
    fn ramp_over(&mut self, now: Timestamp) -> Option<Transition> {
        if self.since.until(now) < self.ramp_end() {
            return None;
        }
        self.decay_at = now + self.params.isolation.decay_every;
        self.fed = false;
        Some(self.go(now, State::Healthy, Cause::Recovered, Scope::Model, None))
    }

    fn forget_runs(&mut self) {
        self.probe_run = 0;
        self.traffic_run = 0;
        self.slow_since = None;
        self.shared = None;
    }

    fn stale_at(&self) -> Timestamp {
        self.supported + self.params.stale_after
    }

    fn trial_wait(&self, now: Timestamp) -> Option<Timestamp> {
        match &self.trial {
            Some(lease) if lease.deadline > now => Some(lease.deadline),
            _ => Some(self.next_trial).filter(|next| self.state == State::Trial && *next > now),
        }
    }

    fn tier(&self) -> Tier {
        let stated_load = self.cause.class().is_some_and(|class| class.effect() == crate::Effect::Soft);
        if self.state == State::Trial && self.tests_hard_cause() {
            Tier::Never
        } else if self.by_probe() {
            Tier::ProbeFailed
        } else if self.state == State::Isolated && stated_load {
            Tier::Held
        } else {
            Tier::Cooling
        }
    }

    fn ends(&self) -> bool {
        self.until > Timestamp::default()
    }

    fn is_litellm(&self) -> bool {
        self.params.profile == Profile::Litellm
    }
}
