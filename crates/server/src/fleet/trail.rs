//! Probes paid ÷ probes due: what the fleet spends, measured by what it did.
//!
//! Between two probes of a deployment lies at least the interval that was in force for the later one. Their quotient says
//! how many intervals passed, so a sum above one per probe is what a fleet should show, and a ratio above 1 is an alarm:
//! somewhere a probe left without a permit, or a permit was granted too soon.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::Probe;

/// Room for the rounding of clocks to milliseconds.
const ROUNDING: f64 = 1.001;

/// Probes as they were told, by whichever pod.
#[derive(Debug, Default)]
pub(super) struct Trail {
    latest: HashMap<Arc<str>, Probe>,
    paid: u64,
    due: f64,
    soonest: Option<f64>,
}

/// The figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spent {
    /// Probes that were counted.
    pub(super) paid: u64,
    /// Intervals that passed between them.
    pub(super) due: f64,
    /// The shortest distance of two probes, in intervals.
    pub(super) soonest: Option<f64>,
}

impl Spent {
    /// Probes paid ÷ probes due; 0 before the second one.
    pub(super) fn ratio(&self) -> f64 {
        if self.due > 0.0 { self.paid as f64 / self.due } else { 0.0 }
    }

    /// Whether more was paid than was due.
    pub(super) fn alarm(&self) -> bool {
        self.ratio() > ROUNDING || self.soonest.is_some_and(|soonest| soonest * ROUNDING < 1.0)
    }
}

impl Trail {
    /// Takes in a probe of `deployment`. One that is told twice counts once.
    pub(super) fn note(&mut self, deployment: &Arc<str>, probe: &Probe) {
        let known = self.latest.get(deployment);
        if known.is_some_and(|known| known.seq >= probe.seq) {
            return;
        }
        // Two that follow one another; in a gap there may be some that were not told.
        if let Some(known) = known.filter(|known| known.seq + 1 == probe.seq && probe.interval_ms > 0) {
            let passed = known.at.until(probe.at).as_millis() as f64 / probe.interval_ms as f64;
            self.paid += 1;
            self.due += passed;
            self.soonest = Some(self.soonest.map_or(passed, |soonest| soonest.min(passed)));
        }
        self.latest.insert(Arc::clone(deployment), probe.clone());
    }

    pub(super) fn latest(&self, deployment: &str) -> Option<&Probe> {
        self.latest.get(deployment)
    }

    pub(super) const fn spent(&self) -> Spent {
        Spent { paid: self.paid, due: self.due, soonest: self.soonest }
    }

    /// Forgets deployments that are gone.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.latest.retain(|deployment, _| keep(deployment));
    }
}

#[cfg(test)]
mod tests {
    use haleway_health::Timestamp;

    use super::*;

    fn probe(seq: u64, at: u64) -> Probe {
        Probe { pod: "p".to_owned(), seq, at: Timestamp::from_millis(at), interval_ms: 1_000, passed: true }
    }

    #[test]
    fn a_probe_that_comes_too_soon_is_an_alarm() {
        let (mut trail, d) = (Trail::default(), Arc::from("d"));
        for (seq, at) in [(7, 10_000), (8, 11_000), (8, 11_000), (9, 13_000)] {
            trail.note(&d, &probe(seq, at));
        }
        let spent = trail.spent();
        assert_eq!((spent.paid, spent.due, spent.alarm()), (2, 3.0, false));
        trail.note(&d, &probe(10, 13_500));
        assert!(trail.spent().alarm(), "half an interval");
        trail.note(&d, &probe(12, 13_600));
        assert_eq!(trail.spent().paid, 3, "one between them was not told");
    }
}
