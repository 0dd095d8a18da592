//! What the fleet knows of one deployment, as it is written into the store: the latest probe, the decision, what the
//! probe found. Times are on the store's clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Class, Saved, Scope, Timestamp};
use haleway_providers::Finding;
use serde::{Deserialize, Serialize};

use crate::prober::{Report, SHOWN_HEADERS, Verdict};

/// Everything known of one deployment.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The pod that decided.
    pub(super) observer: String,
    pub(super) probe: Option<Probe>,
    pub(super) machine: Option<Saved>,
    pub(super) report: Option<Found>,
}

/// The latest probe whose verdict was committed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Probe {
    pub(super) pod: String,
    pub(super) seq: u64,
    /// When its permit was granted.
    pub(super) at: Timestamp,
    /// The interval in force for it.
    pub(super) interval_ms: u64,
    pub(super) passed: bool,
}

impl Probe {
    pub(super) const fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_ms)
    }
}

/// A report of a probe: the same allow-list as [`Report`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Found {
    verdict: Word,
    sent_at: Timestamp,
    latency_ms: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    word: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
    class: Option<Class>,
    scope: Option<Scope>,
    #[serde(default)]
    status: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Healthy,
    Unhealthy,
    Unknown,
}

/// The fixed words of a report that pages tell apart. Other ones are shown as one.
const WORDS: [&str; 8] =
    ["total", "connect", "first_token", "gap", "blank_output", "output_budget", "stream_cut", "loading"];
const OTHER_WORD: &str = "reported_by_another_pod";

fn known(word: &str) -> &'static str {
    WORDS.into_iter().find(|known| *known == word).unwrap_or(OTHER_WORD)
}

impl Found {
    /// `report` with its time moved by `millis`.
    pub(super) fn of(report: &Report, millis: i64) -> Self {
        let mut found = Self {
            verdict: Word::Healthy,
            sent_at: report.sent_at.shifted(millis),
            latency_ms: u64::try_from(report.latency.as_millis()).unwrap_or(u64::MAX),
            headers: report.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            word: String::new(),
            message: String::new(),
            class: None,
            scope: None,
            status: 0,
        };
        match &report.verdict {
            Verdict::Healthy { degraded } => found.word = degraded.unwrap_or_default().to_owned(),
            Verdict::Unhealthy(finding) => {
                found.verdict = Word::Unhealthy;
                found.word = finding.reason.to_owned();
                found.message.clone_from(&finding.message);
                (found.class, found.scope) = (Some(finding.class), Some(finding.scope));
                found.status = finding.status;
            }
            Verdict::Unknown { code, message } => {
                found.verdict = Word::Unknown;
                found.word = (*code).to_owned();
                found.message.clone_from(message);
            }
        }
        found
    }

    /// The same as a report of this process, with its time moved by `millis`. `by`: the pod that probed.
    pub(super) fn report(&self, millis: i64, by: &str) -> Report {
        let message = self.message.clone();
        let verdict = match self.verdict {
            Word::Healthy => {
                Verdict::Healthy { degraded: (!self.word.is_empty()).then(|| known(&self.word)) }
            }
            Word::Unhealthy => Verdict::Unhealthy(Finding {
                class: self.class.unwrap_or(Class::ServerError),
                scope: self.scope.unwrap_or(Scope::Model),
                reason: if self.word.is_empty() { "" } else { known(&self.word) },
                status: self.status,
                retry_after: None,
                message,
            }),
            Word::Unknown => Verdict::Unknown { code: known(&self.word), message },
        };
        let headers =
            SHOWN_HEADERS.iter().filter_map(|name| Some((*name, self.headers.get(*name)?.clone()))).collect();
        Report {
            verdict,
            sent_at: self.sent_at.shifted(millis),
            latency: Duration::from_millis(self.latency_ms),
            // It is in that pod's ledger.
            price: None,
            headers,
            by: Some(Arc::from(by)),
        }
    }
}

/// What a pod says of itself with every heartbeat.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Says {
    pub(super) role: String,
    /// It has heard of grants that are older than their interval.
    pub(super) informed: bool,
    pub(super) version: String,
    /// On the store's clock.
    pub(super) started: Timestamp,
    pub(super) last_claim: Option<Timestamp>,
    /// Permits used since it started.
    pub(super) probes: u64,
    /// What speaks against it as a judge, 0 (nothing) to 7.
    pub(super) self_health: u8,
}

/// What a pod says of a failure that it saw.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) pod: String,
    pub(super) class: Class,
    /// It may be the pod's own fault.
    pub(super) unwell: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_comes_back_as_it_was_with_its_own_age() {
        let failed = Finding {
            class: Class::Timeout,
            scope: Scope::Model,
            reason: "total",
            status: 408,
            retry_after: None,
            message: "no answer".to_owned(),
        };
        let verdicts = [
            Verdict::Healthy { degraded: None },
            Verdict::Healthy { degraded: Some("output_budget") },
            Verdict::Unhealthy(failed),
            Verdict::Unknown { code: OTHER_WORD, message: "no probe".to_owned() },
        ];
        for verdict in verdicts {
            let report = Report {
                verdict,
                sent_at: Timestamp::from_millis(50_000),
                latency: Duration::from_millis(7),
                price: None,
                headers: vec![("x-ms-region", "West".to_owned())],
                by: Some("other".into()),
            };
            let text = serde_json::to_string(&Found::of(&report, 1_000)).unwrap();
            let found: Found = serde_json::from_str(&text).unwrap();
            assert_eq!(found.report(-1_000, "other"), report);
        }
    }
}
