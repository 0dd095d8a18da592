//! What other processes of the fleet know of the same deployment, taken over.
//!
//! A decision of the fleet replaces the state here; evidence adds to what is known here. Neither makes anything look
//! younger than it is: ages only follow the youngest evidence that really was sent, and no wait that runs becomes
//! shorter. Windows and runs of traffic stay local, because they count requests that only this process saw;
//! what all processes counted together comes as one sum.

use std::time::Duration;

use super::{By, Counts, Machine, SavedMachine};
use crate::{Cause, Class, GroupFacts, Outcome, Source, State, Timestamp, Transition};

/// Ends of one hold that two processes know differ by no more than this.
const CLOCKS_DIFFER: Duration = Duration::from_millis(500);

impl Machine {
    /// Takes over the state that the fleet decided on, and the evidence with it. Stale evidence for a state that
    /// needs young evidence decides nothing.
    pub fn adopt(&mut self, now: Timestamp, saved: &SavedMachine) -> Option<Transition> {
        let needs_support = matches!(saved.state(), State::Healthy | State::Suspect);
        if needs_support && saved.supported() + self.params.stale_after <= now {
            self.hear(now, saved);
            return None;
        }
        if saved.state() == self.state {
            self.hear(now, saved);
            self.since = saved.since().min(now);
            return None;
        }
        let moved = self.enter(now, saved);
        self.hear(now, saved);
        Some(moved)
    }

    /// Whether another process can learn anything from this one.
    pub(crate) fn has_news(&self) -> bool {
        self.cause().is_some() || self.sightings > 0
    }

    /// Takes in another process's evidence, and leaves the decision alone.
    pub fn hear(&mut self, now: Timestamp, saved: &SavedMachine) {
        let sent_at = saved.sent_at().map(|sent| sent.min(now));
        if sent_at > self.sent_at() {
            // Processes take turns in probing: one sighting each is as many sightings. The verdict is left to whoever sees
            // the last one itself.
            self.sightings = saved.sightings().min(self.params.config_sightings.saturating_sub(1));
        }
        self.known_sent_at = self.known_sent_at.max(sent_at);
        self.supported = self.supported.max(saved.supported().min(now));
        let (hold_until, hold_length) = saved.hold();
        if self.hold_until_at_least(now, hold_until) {
            self.hold_length = hold_length.max(Duration::from_millis(1));
        }
        // The same hold, give or take what the clocks differ: somebody's request got through after it.
        let same = hold_until + CLOCKS_DIFFER >= self.hold_until;
        if saved.hold_probation() == Some(false) && same && self.on_probation(now) {
            self.end_probation(now);
        }
        if saved.state() != self.state {
            return;
        }
        self.probe_run = saved.probe_run();
        self.step = saved.step().min(super::isolation::last_step(&self.params.isolation));
        let out = matches!(self.state, State::Isolated | State::ConfigFault | State::Budget);
        if out && saved.end() > self.until {
            self.until = saved.end();
            self.stated |= saved.stated();
        }
    }

    /// Another process saw it fail. That is a reason to look, not a verdict: in rotation it becomes suspect.
    pub fn doubted(&mut self, now: Timestamp, class: Class) -> Option<Transition> {
        let moved = self.suspect(now, Cause::Class(class), None)?;
        self.source = Some(Source::Peer);
        self.supported = now;
        Some(Transition { source: self.source, ..moved })
    }

    /// Requests that were counted since the last call, for a rule over the requests of all processes. None where no
    /// such rule applies.
    pub fn take_counts_to_tell(&mut self) -> Counts {
        let counts = self.window.take_untold();
        let ruled = !self.is_litellm() && self.params.window.min_requests > 0;
        if ruled { counts } else { Counts::default() }
    }

    /// What the requests of all processes together met: too many failures isolate, although no process alone has
    /// seen enough. `class`: of the latest failure.
    pub fn met_everywhere(
        &mut self,
        now: Timestamp,
        counts: Counts,
        class: Class,
        facts: GroupFacts,
    ) -> Option<Transition> {
        let judged = self.in_rotation() && !self.is_litellm() && !self.spares(facts, By::Traffic);
        if !judged || !self.params.window.fails(counts) {
            return None;
        }
        let outcome = Outcome::new(class, Source::Peer, now, self.generation);
        self.isolate(now, Cause::FailureRatio, By::Traffic, &outcome)
    }

    fn enter(&mut self, now: Timestamp, saved: &SavedMachine) -> Transition {
        self.forget_runs();
        self.window.clear();
        self.wedged = false;
        self.take_counts(saved);
        self.decay_at = now + self.params.isolation.decay_every;
        self.fed = saved.state() == State::Ramping;
        self.until = saved.end();
        let mut moved = self.go(now, saved.state(), saved.cause_of_state(), saved.scope(), None);
        self.since = saved.since().min(now);
        self.source = saved.source().map(|_| Source::Peer);
        if saved.state().by_operator() {
            self.note = saved.note().map(std::sync::Arc::from);
        }
        moved.source = self.source;
        moved
    }
}
