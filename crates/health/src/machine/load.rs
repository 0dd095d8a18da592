//! Load: what a 429 or 529, slowness and the ramp do to a deployment's share without calling it dead.

use std::time::Duration;

use super::{Counts, Machine};
use crate::{Outcome, State, Timestamp};

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

impl Machine {
    /// Holds traffic for the stated wait, or the default one. Holds never shorten.
    pub(super) fn hold(&mut self, now: Timestamp, outcome: &Outcome) {
        let wait = match self.stated(outcome) {
            Some(wait) => wait,
            None => self.around(self.unstated_wait(outcome.sent_at).min(self.params.hold_max)),
        };
        self.hold_until_at_least(now, now + wait);
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

    /// Holds traffic until `end`, unless it is held longer already.
    pub(super) fn hold_until_at_least(&mut self, now: Timestamp, end: Timestamp) {
        if end > self.hold_until && end > now {
            self.hold_until = end;
            self.hold_due = end;
            self.hold_length = now.until(end).min(RECOVERY_MAX);
        }
    }

    /// The factor of load: a quarter right after a hold, rising to all of it over as long as the hold was.
    fn load(&self, now: Timestamp) -> f32 {
        if now < self.hold_until {
            return HELD_SHARE;
        }
        let since = self.hold_until.until(now);
        if since >= self.hold_length {
            return 1.0;
        }
        HELD_SHARE + (1.0 - HELD_SHARE) * since.div_duration_f32(self.hold_length)
    }

    /// When the share is in full again after a hold.
    pub(super) fn load_recovered(&self) -> Timestamp {
        self.hold_until + self.hold_length
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
