//! A pod's judgement of itself.
//!
//! A prober whose scheduler lags or whose network is ill sees failures that are its own. The score counts what speaks
//! against the pod, 0 (well) to 7; each point stretches the pod's intervals by one, so that healthier pods get there
//! first, and at [`ABSTAIN`] it claims nothing and its failures count for itself only. A verdict that another pod
//! confirms takes a point away. So does a minute without a strike: a pod that claims nothing gets no verdicts, and would
//! abstain for ever.

use std::time::Duration;

use haleway_health::Timestamp;

const MAX: u8 = 7;
/// From this score on a pod claims nothing.
const ABSTAIN: u8 = 4;
const LAG_LIMIT: Duration = Duration::from_millis(250);
const CLAIM_LIMIT: Duration = Duration::from_secs(1);
const CALM: Duration = Duration::from_secs(60);
/// One cause that shows many times at once is one strike.
const ONE_STRIKE: Duration = Duration::from_secs(1);

/// What speaks against this pod as a judge of others.
#[derive(Clone, Debug, Default)]
pub struct Fitness {
    points: u8,
    /// When the points were last true: they fall from here on.
    since: Timestamp,
    struck: Option<Timestamp>,
}

impl Fitness {
    /// Well.
    pub fn new() -> Self {
        Self::default()
    }

    /// What speaks against the pod, 0 to 7.
    pub fn score(&self, now: Timestamp) -> u8 {
        let calm = self.since.until(now).as_secs() / CALM.as_secs();
        self.points.saturating_sub(u8::try_from(calm).unwrap_or(u8::MAX))
    }

    /// Whether the pod claims nothing, and its failures count for itself only.
    pub fn abstains(&self, now: Timestamp) -> bool {
        self.score(now) >= ABSTAIN
    }

    /// Notes by how much a timer fired late.
    pub fn lagged(&mut self, now: Timestamp, lag: Duration) {
        if lag > LAG_LIMIT {
            self.strike(now);
        }
    }

    /// Notes how long a claim took.
    pub fn claimed(&mut self, now: Timestamp, took: Duration) {
        if took > CLAIM_LIMIT {
            self.strike(now);
        }
    }

    /// Notes that another pod found well what this one found failing.
    pub fn contradicted(&mut self, now: Timestamp) {
        self.strike(now);
    }

    /// Notes that another pod found the same.
    pub fn agreed(&mut self, now: Timestamp) {
        self.points = self.score(now).saturating_sub(1);
        self.since = now;
    }

    fn strike(&mut self, now: Timestamp) {
        if self.struck.is_some_and(|at| at.until(now) < ONE_STRIKE) {
            return;
        }
        self.points = self.score(now).saturating_add(1).min(MAX);
        self.since = now;
        self.struck = Some(now);
    }
}
