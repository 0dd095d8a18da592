//! What does not come from this deployment's own evidence: operators, fault domains, reload.

use std::sync::Arc;

use super::Machine;
use super::window::Window;
use crate::{Cause, Class, Effect, Operator, Params, Scope, State, Timestamp, Transition};

impl Machine {
    /// Obeys an operator, until `until` or until the next command. `reason` is shown with the verdict.
    pub fn operator(
        &mut self,
        now: Timestamp,
        command: Operator,
        until: Option<Timestamp>,
        reason: &str,
    ) -> Option<Transition> {
        let to = match command {
            Operator::Drain => State::Draining,
            Operator::Disable => State::AdminDown,
            Operator::ForceUp => State::ForcedUp,
            Operator::Enable => {
                return self.state.by_operator().then(|| self.become_unknown(now, Cause::Operator));
            }
            Operator::Reset => return self.reset(now),
        };
        self.until = until.unwrap_or_default();
        self.note = (!reason.is_empty()).then(|| Arc::from(reason));
        if self.state == to {
            return None;
        }
        self.forget_runs();
        self.stated = false;
        Some(self.go(now, to, Cause::Operator, Scope::Model, None))
    }

    /// Forgets everything learnt.
    fn reset(&mut self, now: Timestamp) -> Option<Transition> {
        self.step = 0;
        self.retests = 0;
        self.sightings = 0;
        self.wedged = false;
        self.forget_hold();
        if let Some(tally) = &mut self.tally {
            **tally = super::Tally::default();
        }
        self.forget_runs();
        self.window.clear();
        match self.state {
            State::Unknown => None,
            // What only a change heals is not believed without a test.
            State::ConfigFault | State::Budget => Some(self.retry(now, Cause::Operator, None)),
            State::Trial if self.tests_hard_cause() => {
                self.trial = None;
                self.next_trial = Timestamp::default();
                None
            }
            State::Healthy
            | State::Suspect
            | State::Isolated
            | State::Trial
            | State::Ramping
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => Some(self.become_unknown(now, Cause::Operator)),
        }
    }

    /// A verdict on a whole fault domain of which this deployment is a part: a refused credential, an account
    /// without credit, a stated wait, an endpoint in doubt. `until` = when it ends, when that is known.
    pub fn impose(
        &mut self,
        now: Timestamp,
        class: Class,
        scope: Scope,
        until: Option<Timestamp>,
    ) -> Option<Transition> {
        if self.state.by_operator() {
            return None;
        }
        match class.effect() {
            Effect::Config if self.state == State::ConfigFault => self.later(until),
            Effect::Config => {
                self.sightings = 0;
                let wait = self.config_wait();
                self.until = until.unwrap_or(now + wait);
                Some(self.go(now, State::ConfigFault, Cause::Class(class), scope, None))
            }
            Effect::Budget if self.state == State::Budget => self.later(until),
            Effect::Budget if self.state == State::ConfigFault => None,
            Effect::Budget => {
                let wait = self.budget_wait();
                self.stated = false;
                self.until = until.unwrap_or(now + wait);
                Some(self.go(now, State::Budget, Cause::Class(class), scope, None))
            }
            Effect::Soft => {
                let end = until.unwrap_or(now + self.params.hold_default);
                let _counts = self.hold_until_at_least(now, end);
                None
            }
            Effect::Hard => match self.state {
                State::Unknown | State::Healthy => {
                    self.supported = now;
                    Some(self.go(now, State::Suspect, Cause::Domain(scope), scope, None))
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
            },
            Effect::Ok | Effect::Alive | Effect::Neutral => None,
        }
    }

    fn later(&mut self, until: Option<Timestamp>) -> Option<Transition> {
        self.until = self.until.max(until.unwrap_or_default());
        None
    }

    /// Another deployment of the same domain proved that the fault is gone: what was out for the whole
    /// domain's sake gets its trial now.
    pub fn release(&mut self, now: Timestamp) -> Option<Transition> {
        let wide = self.scope > Scope::Model;
        let out = matches!(self.state, State::ConfigFault | State::Budget);
        (wide && out).then(|| self.retry(now, Cause::Recovered, None))
    }

    /// Takes new numbers. What is learnt stays, and no end that was set moves.
    pub fn set_params(&mut self, params: impl Into<Arc<Params>>, now: Timestamp) {
        self.params = params.into();
        self.hold_probation &= !self.is_litellm();
        if !self.window.fits(&self.params.window) {
            self.window = Window::new(&self.params.window, now);
        }
        self.step = self.step.min(super::isolation::last_step(&self.params.isolation));
        self.decay_at = self.decay_at.min(now + self.params.isolation.decay_every);
    }

    /// The deployment's identity changed: another key or base. Old evidence says nothing about it; a known
    /// fault is put to the test, and what an operator said stays.
    pub fn config_changed(&mut self, now: Timestamp) -> Option<Transition> {
        self.step = 0;
        self.retests = 0;
        self.sightings = 0;
        self.wedged = false;
        self.forget_runs();
        match self.state {
            State::ConfigFault | State::Budget => Some(self.retry(now, Cause::ConfigChanged, None)),
            State::Trial => {
                self.trial = None;
                self.next_trial = Timestamp::default();
                None
            }
            State::Unknown => {
                self.forget_hold();
                None
            }
            State::Healthy | State::Suspect | State::Isolated | State::Ramping => {
                self.forget_hold();
                let mut moved = self.become_unknown(now, Cause::ConfigChanged);
                // In flight with the old identity: not evidence about the new one.
                self.generation = crate::Generation(self.generation.0.wrapping_add(1));
                moved.generation = self.generation;
                Some(moved)
            }
            State::AdminDown | State::Draining | State::ForcedUp => None,
        }
    }
}
