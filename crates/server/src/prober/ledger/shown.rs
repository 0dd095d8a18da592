//! The ledger as the pages show it.

use haleway_health::Timestamp;
use haleway_telemetry::ProbeRung as Rung;
use serde::Serialize;
use serde_json::{Map, Value};

use super::book::{Account, Caps, day_of, midnight};
use super::{Cap, Line};
use crate::routes::rfc3339;

/// What probes used up on one UTC day: of one deployment, or of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeCost {
    /// The UTC day, such as `2026-11-30`.
    pub day: String,
    /// Everything.
    #[serde(flatten)]
    pub sum: RungCost,
    /// By what the requests were for: `free`, `generation`, `repair`, `trial`, `on_demand`. Only what occurred.
    pub rungs: Map<String, Value>,
    /// The caps, and which one is reached.
    pub budget: Value,
}

/// What some requests of probes came to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RungCost {
    /// Requests.
    pub requests: u64,
    /// Price in US dollars.
    pub usd: f64,
    /// Tokens, read and made.
    pub tokens: u64,
    /// Requests whose price is an estimate: the answer stated no usage.
    pub estimated_requests: u64,
    /// Requests whose price is not known.
    pub unpriced_requests: u64,
}

impl From<Line> for RungCost {
    fn from(line: Line) -> Self {
        Self {
            requests: line.requests,
            usd: line.usd.dollars(),
            tokens: line.tokens,
            estimated_requests: line.estimated,
            unpriced_requests: line.unpriced,
        }
    }
}

impl ProbeCost {
    /// The day of `now` of one deployment.
    pub(crate) fn of_deployment(account: &Account, caps: &Caps, now: Timestamp) -> Self {
        let budget = serde_json::json!({
            "probes_per_day": caps.probes,
            "usd_per_day": caps.usd,
        });
        Self::of(account, budget, account.stopped(), now)
    }

    /// The day of `now` of all deployments.
    pub(crate) fn of_all(account: &Account, caps: &Caps, now: Timestamp) -> Self {
        let budget = serde_json::json!({
            "total_probes_per_day": caps.total_probes,
            "total_usd_per_day": caps.total_usd,
        });
        Self::of(account, budget, account.stopped(), now)
    }

    fn of(account: &Account, mut budget: Value, stopped: Option<Cap>, now: Timestamp) -> Self {
        if let Some(budget) = budget.as_object_mut() {
            budget.insert("used_up".to_owned(), stopped.map(Cap::as_str).into());
            budget.insert("resumes_at".to_owned(), stopped.map(|_| rfc3339(midnight(now))).into());
        }
        let occurred = Rung::ALL.into_iter().filter(|rung| account.line(*rung).requests > 0);
        let rungs = occurred
            .filter_map(|rung| {
                let cost = serde_json::to_value(RungCost::from(account.line(rung))).ok()?;
                Some((rung.as_str().to_owned(), cost))
            })
            .collect();
        Self { day: day(now), sum: account.sum().into(), rungs, budget }
    }
}

fn day(now: Timestamp) -> String {
    let midnight = Timestamp::from_millis(day_of(now) * 24 * 60 * 60 * 1000);
    rfc3339(midnight).split('T').next().unwrap_or_default().to_owned()
}
