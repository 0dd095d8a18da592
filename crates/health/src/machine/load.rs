//! Load: what a 429 or 529, slowness and the ramp do to a deployment's share without calling it dead.

use std::time::Duration;

use super::{Counts, Machine};
use crate::{Class, Depth, Outcome, State, Timestamp};

/// Share left to a deployment that asked to wait, right after the wait.
const HELD_SHARE: f32 = 0.25;
/// Share left to a deployment whose first tokens are slow.
const SLOW_SHARE: f32 = 0.5;
/// Share of slow first tokens, in the window's successes, above which a deployment is slow.
pub(super) const SLOW_RATIO: f32 = 0.5;
/// Share of a deployment that is unknown or suspect, where states have weights.
const DOUBT_SHARE: f32 = 0.5;
/// The weight is back in full this long after the hold at the latest.
const RECOVERY_MAX: Duration = Duration::from_secs(60);
/// The hold of a provider that states a wait of zero, or a moment that has passed: such waits are whole seconds, so
/// zero means less than one.
const LEAST_HOLD: Duration = Duration::from_secs(1);

impl Machine {
    /// Holds traffic for the stated wait, or the default one. Holds never shorten.
    pub(super) fn hold(&mut self, now: Timestamp, outcome: &Outcome) {
        let wait = match (self.stated(outcome), outcome.retry_after) {
            (Some(wait), _) => wait,
            (None, Some(_)) if !self.is_litellm() => self.upward(LEAST_HOLD.min(self.params.hold_max)),
            (None, _) => self.around(self.unstated_wait(outcome.sent_at).min(self.params.hold_max)),
        };
        if self.hold_until_at_least(now, now + wait) {
            self.hold_clamped = outcome.retry_after.filter(|stated| *stated > self.params.hold_max);
        }
    }

    /// Whether `outcome` meets the overload again that an earlier hold was to let pass. Overload is no sign of death,
    /// however many requests meet it at once; that every attempt after every hold meets it is one.
    pub(super) fn still_overloaded(&self, outcome: &Outcome) -> bool {
        outcome.class == Class::Overloaded && self.hold_probation && outcome.sent_at >= self.hold_until
    }

    /// Whether a hold is over that no success has confirmed: one attempt at a time finds out, not everybody who waited.
    pub(super) fn on_probation(&self, now: Timestamp) -> bool {
        self.hold_probation && now >= self.hold_until && self.in_rotation() && !self.is_litellm()
    }

    /// Whether the next attempt is a test of what ended: an isolation, a known fault, a hold.
    pub(super) fn tests(&self, now: Timestamp) -> bool {
        self.state == State::Trial || self.on_probation(now)
    }

    /// A real answer to a request that was sent after the hold: the limit is not met any more.
    pub(super) fn confirm_hold(&mut self, now: Timestamp, outcome: &Outcome) {
        if self.on_probation(now) && outcome.depth == Depth::Generation && outcome.sent_at >= self.hold_until
        {
            self.end_probation(now);
        }
    }

    pub(super) fn end_probation(&mut self, now: Timestamp) {
        self.hold_probation = false;
        self.hold_clamped = None;
        self.confirmed_at = now;
        self.trial = None;
    }

    /// Forgets every hold.
    pub(super) fn forget_hold(&mut self) {
        self.hold_until = Timestamp::default();
        self.hold_length = Duration::ZERO;
        self.hold_due = Timestamp::default();
        self.hold_probation = false;
        self.hold_clamped = None;
    }

    /// The default wait; twice the last one, at most a minute, when a request that went out right after it found that
    /// it was too short (report E23).
    fn unstated_wait(&self, sent_at: Timestamp) -> Duration {
        let too_short = sent_at >= self.hold_until && sent_at < self.load_recovered();
        if too_short && !self.is_litellm() {
            return self.params.hold_default.max((self.hold_length * 2).min(RECOVERY_MAX));
        }
        self.params.hold_default
    }

    /// Holds traffic until `end`, unless it is held longer already; answers whether this hold is the one that counts.
    pub(super) fn hold_until_at_least(&mut self, now: Timestamp, end: Timestamp) -> bool {
        let counts = end > self.hold_until && end > now;
        if counts {
            self.hold_until = end;
            self.hold_due = end;
            self.hold_length = now.until(end).min(RECOVERY_MAX);
            self.hold_clamped = None;
            self.hold_probation = !self.is_litellm();
        }
        counts
    }

    /// The factor of load: a quarter right after a hold, rising to all of it over as long as the hold was.
    fn load(&self, now: Timestamp) -> f32 {
        if now < self.hold_until {
            return HELD_SHARE;
        }
        if self.on_probation(now) {
            return HELD_SHARE;
        }
        let since = self.rises_from().until(now);
        if since >= self.hold_length {
            return 1.0;
        }
        HELD_SHARE + (1.0 - HELD_SHARE) * since.div_duration_f32(self.hold_length)
    }

    /// When the share is in full again after a hold.
    pub(super) fn load_recovered(&self) -> Timestamp {
        self.rises_from() + self.hold_length
    }

    /// From when the share rises again after a hold.
    fn rises_from(&self) -> Timestamp {
        self.hold_until.max(self.confirmed_at)
    }

    /// The ramp: linear from the least share to all of it.
    fn ramp(&self, now: Timestamp) -> f32 {
        let params = &self.params.ramp;
        let least = params.min_share.clamp(0.001, 1.0);
        let passed = self.since.until(now);
        if passed >= params.length {
            return 1.0;
        }
        least + (1.0 - least) * passed.div_duration_f32(params.length)
    }

    /// The share of its normal weight.
    pub(super) fn share(&self, now: Timestamp) -> f32 {
        let state = match self.state {
            State::Healthy => 1.0,
            State::ForcedUp => return 1.0,
            // LiteLLM knows no shares by state.
            State::Unknown | State::Suspect => {
                if self.is_litellm() {
                    1.0
                } else {
                    DOUBT_SHARE
                }
            }
            State::Ramping => self.ramp(now),
            State::Isolated
            | State::Trial
            | State::ConfigFault
            | State::Budget
            | State::AdminDown
            | State::Draining => return 0.0,
        };
        let slow = if self.is_slow(self.window.counts(now)) { SLOW_SHARE } else { 1.0 };
        state * self.load(now) * slow
    }

    /// Whether most of the successes in the window were slow to begin.
    pub(super) fn is_slow(&self, counts: Counts) -> bool {
        let min = self.params.window.min_requests;
        min > 0 && counts.slower(SLOW_RATIO, min)
    }

    /// Whether slowness has lasted long enough to isolate: more than the failure ratio of the successes slow,
    /// and slow for a whole window already.
    pub(super) fn too_slow(&mut self, now: Timestamp, counts: Counts) -> bool {
        if !self.is_slow(counts) {
            self.slow_since = None;
            return false;
        }
        let since = *self.slow_since.get_or_insert(now);
        let window = &self.params.window;
        since.until(now) >= window.length && counts.slower(window.failure_ratio, window.min_requests)
    }

    /// Whether the first output of `outcome` came late.
    pub(super) fn slow_start(&self, outcome: &Outcome) -> bool {
        outcome.first_token.is_some_and(|first| first > self.params.stream.slow_first_token)
    }
}
