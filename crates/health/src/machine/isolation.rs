//! How long a deployment is out: growth, cap, jitter, decay, and the rule that the latest end asked for wins.

use std::time::Duration;

use super::{By, Machine};
use crate::{Cause, IsolationParams, Observation, Outcome, Scope, Source, State, Timestamp, Transition};

/// First re-test of a configuration fault; it doubles up to [`CONFIG_RETEST_MAX`].
const CONFIG_RETEST: Duration = Duration::from_secs(60);
/// Longest time between re-tests of a configuration fault.
const CONFIG_RETEST_MAX: Duration = Duration::from_secs(15 * 60);
/// First re-test of an account without credit that stated no reset; it doubles up to `budget_hold`.
const BUDGET_RETEST: Duration = Duration::from_secs(5 * 60);

/// Length of the `step`-th isolation in a row, without jitter.
pub(super) fn length(params: &IsolationParams, step: u8) -> Duration {
    let growth = f64::from(params.multiplier.max(1.0)).powi(i32::from(step.max(1)) - 1);
    let most = params.max.max(params.base);
    let seconds = params.base.as_secs_f64() * growth;
    if seconds >= most.as_secs_f64() { most } else { Duration::from_secs_f64(seconds) }
}

/// The step from which on an isolation is as long as it gets. Steps beyond it would only have to decay.
pub(super) fn last_step(params: &IsolationParams) -> u8 {
    let most = params.max.max(params.base);
    (1..32).find(|&step| length(params, step) >= most || params.multiplier <= 1.0).unwrap_or(32)
}

fn doubled(first: Duration, times: u8, most: Duration) -> Duration {
    first.saturating_mul(1 << u32::from(times.min(16))).min(most.max(first))
}

impl Machine {
    /// `span` made longer by up to twice the jitter share, never shorter: what a provider stated is a lower
    /// bound.
    pub(super) fn upward(&mut self, span: Duration) -> Duration {
        let share = f64::from(self.params.isolation.jitter.clamp(0.0, 1.0));
        if share == 0.0 {
            return span;
        }
        span.mul_f64(self.spread.factor(share) + share)
    }

    /// `span` give or take the jitter share.
    pub(super) fn around(&mut self, span: Duration) -> Duration {
        let share = f64::from(self.params.isolation.jitter.clamp(0.0, 1.0));
        if share == 0.0 {
            return span;
        }
        span.mul_f64(self.spread.factor(share))
    }

    /// The stated wait of `outcome`, bounded, spread upward.
    pub(super) fn stated(&mut self, outcome: &Outcome) -> Option<Duration> {
        let wait = outcome.retry_after?.min(self.params.hold_max);
        (!wait.is_zero()).then(|| self.upward(wait))
    }

    /// Isolates, one step longer than the last time. Where isolation is turned off the deployment becomes
    /// suspect instead: tracked and shown, not acted on.
    pub(super) fn isolate(
        &mut self,
        now: Timestamp,
        cause: Cause,
        by: By,
        outcome: &Outcome,
    ) -> Option<Transition> {
        if self.params.isolation.base.is_zero() {
            return self.suspect(now, cause, Some(outcome));
        }
        self.step = self.step.saturating_add(1).min(last_step(&self.params.isolation));
        let span = length(&self.params.isolation, self.step);
        let end = now + self.around(span);
        Some(self.out(now, end, cause, by, outcome))
    }

    /// Puts into isolation until `end`, or until the stated wait of `outcome` when that is later.
    pub(super) fn out(
        &mut self,
        now: Timestamp,
        end: Timestamp,
        cause: Cause,
        by: By,
        outcome: &Outcome,
    ) -> Transition {
        let stated = self.stated(outcome).map(|wait| now + wait).filter(|&stated| stated >= end);
        self.by = by;
        self.stated = stated.is_some();
        self.forget_runs();
        self.window.clear();
        self.until = stated.unwrap_or(end);
        self.go(now, State::Isolated, cause, outcome.scope, Some(Observation::of(outcome)))
    }

    /// A failure while out asks for no longer isolation, unless it carries a longer stated wait.
    pub(super) fn extend(&mut self, now: Timestamp, outcome: &Outcome) {
        if let Some(end) = self.stated(outcome).map(|wait| now + wait)
            && end > self.until
        {
            self.until = end;
            self.stated = true;
        }
    }

    /// Out until the configuration changes, with a re-test from time to time in case it did unseen.
    pub(super) fn config_fault(&mut self, now: Timestamp, cause: Cause, outcome: &Outcome) -> Transition {
        self.sightings = 0;
        let wait = self.config_wait();
        self.until = now + self.upward(wait);
        self.go(now, State::ConfigFault, cause, outcome.scope, Some(Observation::of(outcome)))
    }

    /// How long until the next re-test of a configuration fault. Counts it.
    pub(super) fn config_wait(&mut self) -> Duration {
        let first = self.params.litellm.filter(|_| self.is_litellm()).map_or(CONFIG_RETEST, |rules| {
            // LiteLLM tries again after every cooldown; so does the first re-test.
            rules.cooldown_time.max(Duration::from_secs(1))
        });
        let wait = doubled(first, self.retests, CONFIG_RETEST_MAX);
        self.retests = self.retests.saturating_add(1);
        wait
    }

    /// Out until the account is good for it again: the stated reset, else a wait that grows when it repeats.
    pub(super) fn broke(&mut self, now: Timestamp, cause: Cause, outcome: &Outcome) -> Transition {
        self.until = self.budget_end(now, outcome);
        self.go(now, State::Budget, cause, outcome.scope, Some(Observation::of(outcome)))
    }

    fn budget_end(&mut self, now: Timestamp, outcome: &Outcome) -> Timestamp {
        let reset = outcome.retry_after.filter(|wait| !wait.is_zero());
        self.stated = reset.is_some();
        let wait = self.budget_wait();
        now + self.upward(reset.unwrap_or(wait))
    }

    /// How long until the next re-test of an account. Counts it.
    pub(super) fn budget_wait(&mut self) -> Duration {
        let cooldown = self.params.litellm.filter(|_| self.is_litellm()).map(|rules| rules.cooldown_time);
        let first = cooldown.map_or(BUDGET_RETEST, |cooldown| cooldown.max(Duration::from_secs(60)));
        let wait = doubled(first.min(self.params.budget_hold), self.retests, self.params.budget_hold);
        self.retests = self.retests.saturating_add(1);
        wait
    }

    /// A second billing answer only counts when it states a later reset.
    pub(super) fn extend_budget(&mut self, now: Timestamp, outcome: &Outcome) {
        if let Some(reset) = outcome.retry_after {
            let end = now + self.upward(reset);
            if end > self.until {
                self.until = end;
                self.stated = true;
            }
        }
    }

    /// A passed probe while isolated: enough of them in a row end an inferred isolation early. A stated wait
    /// is never cut short, and a call that costs nothing proves no more than what failed at its own depth.
    pub(super) fn early(&mut self, now: Timestamp, outcome: &Outcome) -> Option<Transition> {
        let params = &self.params;
        if outcome.source != Source::Probe || self.stated || params.early_release == 0 {
            return None;
        }
        let proves = match self.by {
            By::Traffic => params.probe_can_restore && outcome.depth == crate::Depth::Generation,
            By::Probe(failed) => super::proves(outcome.depth, failed),
        };
        if !proves {
            return None;
        }
        self.passes = self.passes.saturating_add(1);
        (self.passes >= self.params.early_release).then(|| self.proven(now, outcome))
    }

    /// Recovery is proven: one trial, where this deployment's isolations end through one; else back at once.
    pub(super) fn proven(&mut self, now: Timestamp, outcome: &Outcome) -> Transition {
        if self.params.isolation.trial {
            self.retry(now, Cause::Recovered, Some(Observation::of(outcome)))
        } else {
            self.back(now, outcome)
        }
    }

    /// Opens the trial.
    pub(super) fn retry(
        &mut self,
        now: Timestamp,
        cause: Cause,
        evidence: Option<Observation>,
    ) -> Transition {
        self.origin = self.state;
        self.next_trial = Timestamp::default();
        let scope = self.scope;
        self.go(now, State::Trial, cause, scope, evidence)
    }

    /// Back in service: through the ramp, where there is one.
    pub(super) fn back(&mut self, now: Timestamp, outcome: &Outcome) -> Transition {
        self.retests = 0;
        self.sightings = 0;
        self.stated = false;
        if now >= self.hold_until {
            self.hold_probation = false;
        }
        self.forget_runs();
        self.window.clear();
        self.decay_at = now + self.params.isolation.decay_every;
        self.fed = true;
        let to = if self.params.ramp.length.is_zero() { State::Healthy } else { State::Ramping };
        self.go(now, to, Cause::Recovered, Scope::Model, Some(Observation::of(outcome)))
    }

    /// One step of growth is forgotten per period with a success in it. Runs at the end of each period.
    pub(super) fn decay(&mut self, now: Timestamp) {
        if self.step == 0 || now < self.decay_at {
            return;
        }
        if self.fed {
            self.step -= 1;
        }
        self.fed = false;
        self.decay_at = now + self.params.isolation.decay_every;
    }
}
