//! What the latest probe of each deployment found, as `/health` shows it, and what probes have learnt.
//!
//! Built from an allow-list: the verdict, its words as the classifier bounded and cleaned them, and three headers.
//! No request, no other header and no parameter is kept, so none can leak (report J01).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Slot, Timestamp};
use haleway_providers::catalogue::Usd;
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
    /// What its requests cost; `None` when the model's price is not known, or another pod paid.
    pub price: Option<Usd>,
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
        Self { verdict, sent_at, latency, price: Some(Usd::ZERO), headers, by: None }
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
}

impl Reports {
    /// The latest report of `slot`.
    pub fn latest(&self, slot: Slot) -> Option<Report> {
        self.kept.lock().get(&slot)?.report.clone()
    }

    /// What probes of `slot` have learnt.
    pub fn memory(&self, slot: Slot) -> ProbeMemory {
        self.kept.lock().get(&slot).map(|kept| kept.memory.clone()).unwrap_or_default()
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
        self.put(slot, Report::new(verdict, now, Duration::ZERO, &HeaderMap::new()));
    }
}
