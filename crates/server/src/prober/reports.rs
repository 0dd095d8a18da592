//! What the latest probe of each deployment found, as `/health` shows it, and what probes have learnt.
//!
//! Built from an allow-list: the verdict, its words as the classifier bounded and cleaned them, and three headers.
//! No request, no other header and no parameter is kept, so none can leak (report J01).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Slot, Timestamp};
use haleway_providers::{CannotProbe, Finding, ProbeMemory};
use http::HeaderMap;
use parking_lot::Mutex;

/// Headers that LiteLLM's `/health` shows.
pub const SHOWN_HEADERS: [&str; 3] =
    ["x-ratelimit-remaining-requests", "x-ratelimit-remaining-tokens", "x-ms-region"];

/// What a probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// A usable answer.
    Healthy {
        /// A warning to show.
        degraded: Option<&'static str>,
    },
    /// None.
    Unhealthy(Finding),
    /// Nothing that speaks for or against the deployment.
    Unknown {
        /// The stable word for why.
        code: &'static str,
        /// One sentence.
        message: String,
    },
}

/// The result of one probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// What was found.
    pub verdict: Verdict,
    /// When the probe was sent.
    pub sent_at: Timestamp,
    /// How long it took.
    pub latency: Duration,
    /// Those of [`SHOWN_HEADERS`] that came.
    pub headers: Vec<(&'static str, String)>,
    /// The pod that probed, in a fleet; `None` = this process.
    pub by: Option<Arc<str>>,
}

impl Report {
    /// The result of a probe that was answered with `headers`.
    pub fn new(verdict: Verdict, sent_at: Timestamp, latency: Duration, headers: &HeaderMap) -> Self {
        let headers = SHOWN_HEADERS
            .iter()
            .filter_map(|name| Some((*name, headers.get(*name)?.to_str().ok()?.to_owned())))
            .collect();
        Self { verdict, sent_at, latency, headers, by: None }
    }
}

/// The latest report of every deployment, and what its probes have learnt.
#[derive(Debug, Default)]
pub struct Reports {
    kept: Mutex<HashMap<Slot, Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    report: Option<Report>,
    memory: ProbeMemory,
    sent: Sent,
}

/// Probes sent on one UTC day.
#[derive(Debug, Default)]
struct Sent {
    day: u64,
    probes: u32,
}

const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;

impl Reports {
    /// The latest report of `slot`.
    pub fn latest(&self, slot: Slot) -> Option<Report> {
        self.kept.lock().get(&slot)?.report.clone()
    }

    /// What probes of `slot` have learnt.
    pub fn memory(&self, slot: Slot) -> ProbeMemory {
        self.kept.lock().get(&slot).map(|kept| kept.memory.clone()).unwrap_or_default()
    }

    /// When the next probe of `slot` may be sent, if `limit` probes were sent on this UTC day already.
    pub(super) fn spent(&self, slot: Slot, limit: u32, now: Timestamp) -> Option<Timestamp> {
        let day = now.as_millis() / DAY_MILLIS;
        let kept = self.kept.lock();
        let sent = kept.get(&slot).map_or(0, |kept| if kept.sent.day == day { kept.sent.probes } else { 0 });
        (sent >= limit).then(|| Timestamp::from_millis((day + 1) * DAY_MILLIS))
    }

    /// Counts a request that a probe of `slot` sends.
    pub(super) fn count(&self, slot: Slot, now: Timestamp) {
        let day = now.as_millis() / DAY_MILLIS;
        let mut kept = self.kept.lock();
        let sent = &mut kept.entry(slot).or_default().sent;
        if sent.day != day {
            *sent = Sent { day, probes: 0 };
        }
        sent.probes = sent.probes.saturating_add(1);
    }

    pub(super) fn put(&self, slot: Slot, report: Report) {
        self.kept.lock().entry(slot).or_default().report = Some(report);
    }

    /// Takes in what another pod's probe found, if it is younger than what is known.
    pub(crate) fn hear(&self, slot: Slot, report: Report) {
        let mut kept = self.kept.lock();
        let known = &mut kept.entry(slot).or_default().report;
        if known.as_ref().is_none_or(|known| known.sent_at < report.sent_at) {
            *known = Some(report);
        }
    }

    pub(super) fn remember(&self, slot: Slot, memory: ProbeMemory) {
        self.kept.lock().entry(slot).or_default().memory = memory;
    }

    /// Notes that no probe can be built.
    pub(super) fn cannot(&self, slot: Slot, now: Timestamp, cannot: &CannotProbe) {
        let verdict = Verdict::Unknown { code: cannot.code, message: cannot.message.clone() };
        self.put(
            slot,
            Report { verdict, sent_at: now, latency: Duration::ZERO, headers: Vec::new(), by: None },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daily_budget_ends_probing_until_midnight() {
        let (reports, slot) = (Reports::default(), Slot(0));
        let noon = Timestamp::from_millis(10 * DAY_MILLIS + DAY_MILLIS / 2);
        for _ in 0..3 {
            assert_eq!(reports.spent(slot, 3, noon), None);
            reports.count(slot, noon);
        }
        let midnight = Timestamp::from_millis(11 * DAY_MILLIS);
        assert_eq!(reports.spent(slot, 3, noon), Some(midnight));
        assert_eq!(reports.spent(slot, 3, midnight), None, "a new day");
        assert_eq!(reports.spent(Slot(1), 3, noon), None, "another deployment has its own");
    }
}
