//! The probes, as many at once as the configuration allows, and what they found.

use std::collections::HashMap;
use std::sync::Arc;

use haleway_config::Model;
use haleway_health::ProbePolicy;
use haleway_providers::catalogue::Usd;
use haleway_server::{Asked, Deployment, Gateway, OnDemand, Report, Verdict, probe_now};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::shown::{Table, dollars};
use crate::output;

/// What a probe found about one deployment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    id: String,
    model_group: String,
    mode: &'static str,
    /// `healthy`, `degraded`, `unhealthy`, `unknown` or `skipped`.
    verdict: &'static str,
    /// Class or reason; empty when all is well.
    cause: String,
    /// The provider's words, or ours.
    message: String,
    latency_ms: Option<u64>,
    /// `null` when the price is not known.
    price_usd: Option<Usd>,
}

/// What all probes found.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    probes: Vec<Row>,
    healthy: usize,
    unhealthy: usize,
    unknown: usize,
    skipped: usize,
    /// The sum of the prices that are known.
    total_usd: Usd,
    /// Probes whose price is not known.
    unpriced: usize,
}

/// Probes every deployment of `chosen`; a `named` one whatever its policy says.
pub(super) async fn all(gateway: &Arc<Gateway>, chosen: &[Arc<Deployment>], named: bool) -> Found {
    let limits = gateway.live.load().config.haleway.limits;
    let places = Arc::new(Semaphore::new(limits.concurrency.max(1) as usize));
    let mut hosts: HashMap<String, Arc<Semaphore>> = HashMap::new();
    let mut probes = JoinSet::new();
    let mut rows: Vec<Option<Row>> = chosen.iter().map(|_| None).collect();
    for (index, deployment) in chosen.iter().enumerate() {
        let asked = match asked(deployment, named) {
            Ok(asked) => asked,
            Err(reason) => {
                put(&mut rows, index, Row::without(deployment, "skipped", reason, String::new()));
                continue;
            }
        };
        let host = hosts
            .entry(deployment.target.endpoint.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(limits.per_host.max(1) as usize)));
        let (places, host) = (Arc::clone(&places), Arc::clone(host));
        let (gateway, deployment) = (Arc::clone(gateway), Arc::clone(deployment));
        probes.spawn(async move {
            // The host first: who waits for a slow one takes nobody's place.
            let _host = host.acquire_owned().await;
            let _place = places.acquire_owned().await;
            let ended = probe_now(&gateway, &deployment, asked).await;
            (index, Row::of(&gateway, &deployment, &ended))
        });
    }
    let mut progress = Progress::new(probes.len());
    while let Some(ended) = probes.join_next().await {
        if let Ok((index, row)) = ended {
            put(&mut rows, index, row);
        }
        progress.step();
    }
    progress.clear();
    Found::new(rows.into_iter().flatten().collect())
}

fn put(rows: &mut [Option<Row>], index: usize, row: Row) {
    if let Some(place) = rows.get_mut(index) {
        *place = Some(row);
    }
}

/// Whether and how a deployment is probed; `Err` with the reason why not.
fn asked(deployment: &Deployment, named: bool) -> Result<Asked, &'static str> {
    let Model { info, .. } = &deployment.model;
    let mode = deployment.target.mode;
    let never = deployment.model.probe_params_as(mode).policy == ProbePolicy::Never;
    match () {
        () if named => Ok(Asked::ByName),
        () if info.blocked => Err("blocked"),
        () if info.disable_background_health_check => Err("disabled"),
        () if never => Err("policy_never"),
        () if mode.is_costly() => Ok(Asked::ForAll),
        () => Ok(Asked::ByName),
    }
}

impl Row {
    fn without(
        deployment: &Deployment,
        verdict: &'static str,
        cause: impl Into<String>,
        message: String,
    ) -> Self {
        Self {
            id: deployment.id().to_string(),
            model_group: deployment.model.name.to_string(),
            mode: deployment.target.mode.as_str(),
            verdict,
            cause: cause.into(),
            message,
            latency_ms: None,
            price_usd: Some(Usd::ZERO),
        }
    }

    fn of(gateway: &Gateway, deployment: &Deployment, ended: &OnDemand) -> Self {
        match ended {
            OnDemand::Probed => match gateway.reports.latest(deployment.slot) {
                Some(report) => Self::reported(deployment, report),
                None => Self::without(deployment, "unknown", "no_report", String::new()),
            },
            OnDemand::TooSoon => Self::without(deployment, "unknown", "too_soon", String::new()),
            OnDemand::Impossible(cannot) => {
                Self::without(deployment, "unknown", cannot.code, cannot.message.clone())
            }
            OnDemand::OverBudget(_) => Self::without(deployment, "unknown", "over_budget", String::new()),
            OnDemand::Policy(policy) => Self::without(
                deployment,
                "skipped",
                *policy,
                format!("a real probe is costly: name it with --id {}", deployment.id()),
            ),
        }
    }

    fn reported(deployment: &Deployment, report: Report) -> Self {
        let (verdict, cause, message) = match report.verdict {
            Verdict::Healthy { degraded: None } => ("healthy", String::new(), String::new()),
            Verdict::Healthy { degraded: Some(what) } => ("degraded", what.to_owned(), String::new()),
            Verdict::Unhealthy(finding) if finding.reason.is_empty() => {
                ("unhealthy", finding.class.as_str().to_owned(), finding.message)
            }
            Verdict::Unhealthy(finding) => {
                ("unhealthy", format!("{}: {}", finding.class, finding.reason), finding.message)
            }
            Verdict::Unknown { code, message } => ("unknown", code.to_owned(), message),
        };
        Self {
            latency_ms: u64::try_from(report.latency.as_millis()).ok(),
            price_usd: report.price,
            ..Self::without(deployment, verdict, cause, message)
        }
    }
}

impl Found {
    fn new(probes: Vec<Row>) -> Self {
        let count = |words: &[&str]| probes.iter().filter(|row| words.contains(&row.verdict)).count();
        Self {
            healthy: count(&["healthy", "degraded"]),
            unhealthy: count(&["unhealthy"]),
            unknown: count(&["unknown"]),
            skipped: count(&["skipped"]),
            total_usd: probes.iter().filter_map(|row| row.price_usd).sum(),
            unpriced: probes.iter().filter(|row| row.price_usd.is_none()).count(),
            probes,
        }
    }

    /// Whether nothing that was probed is anything but healthy.
    pub(super) const fn all_healthy(&self) -> bool {
        self.unhealthy == 0 && self.unknown == 0
    }

    /// As JSON.
    pub(super) fn json(&self) -> String {
        super::shown::json(self)
    }

    /// As a table for people.
    pub(super) fn render(&self) -> String {
        let mut table = Table::new(&["deployment", "group", "mode", "verdict", "latency", "price", "cause"]);
        for row in &self.probes {
            let said = match (row.cause.as_str(), row.message.as_str()) {
                (cause, "") => cause.to_owned(),
                (cause, message) => format!("{cause} ({message})"),
            };
            table.row(vec![
                row.id.clone(),
                row.model_group.clone(),
                row.mode.to_owned(),
                row.verdict.to_owned(),
                row.latency_ms.map_or_else(|| "-".to_owned(), |millis| format!("{millis} ms")),
                dollars(row.price_usd),
                said,
            ]);
        }
        let skipped = if self.skipped > 0 { format!(", {} skipped", self.skipped) } else { String::new() };
        let unpriced = if self.unpriced > 0 {
            format!("; the price of {} is not known", self.unpriced)
        } else {
            String::new()
        };
        format!(
            "{}\n{} healthy, {} unhealthy, {} unknown{skipped}; together {}{unpriced}\n",
            table.render(),
            self.healthy,
            self.unhealthy,
            self.unknown,
            dollars(Some(self.total_usd)),
        )
    }
}

/// A line that says how far it is, for people.
struct Progress {
    done: usize,
    all: usize,
    shown: bool,
}

impl Progress {
    fn new(all: usize) -> Self {
        let progress = Self { done: 0, all, shown: output::stderr_is_terminal() };
        progress.show();
        progress
    }

    fn show(&self) {
        const WIDTH: usize = 30;
        if self.shown && self.all > 0 {
            let full = self.done * WIDTH / self.all;
            let bar = format!("{}{}", "#".repeat(full), ".".repeat(WIDTH - full));
            output::complain(&format!("\r[{bar}] {} of {} probed", self.done, self.all));
        }
    }

    fn step(&mut self) {
        self.done += 1;
        self.show();
    }

    fn clear(&self) {
        if self.shown {
            output::complain("\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(verdict: &'static str, cents: Option<u64>) -> Row {
        Row {
            id: format!("d-{verdict}"),
            model_group: "g".to_owned(),
            mode: "chat",
            verdict,
            cause: if verdict == "healthy" { String::new() } else { "auth".to_owned() },
            message: String::new(),
            latency_ms: Some(12),
            price_usd: cents.map(|cents| Usd::from_femtodollars(10_000_000_000_000).times(cents)),
        }
    }

    #[test]
    fn only_what_was_probed_counts_and_sums_are_of_what_is_known() {
        let fine = Found::new(vec![row("healthy", Some(2)), row("skipped", Some(0)), row("degraded", None)]);
        assert!(fine.all_healthy());
        assert_eq!((fine.healthy, fine.skipped, fine.unpriced), (2, 1, 1));
        assert_eq!(fine.total_usd.to_string(), "0.02");
        let text = fine.render();
        assert!(text.contains("2 healthy, 0 unhealthy, 0 unknown, 1 skipped; together $0.02"), "{text}");
        assert!(text.contains("the price of 1 is not known"), "{text}");
        for verdict in ["unhealthy", "unknown"] {
            assert!(!Found::new(vec![row("healthy", None), row(verdict, None)]).all_healthy(), "{verdict}");
        }
    }

    #[test]
    fn the_table_is_aligned_and_names_the_cause() {
        let text = Found::new(vec![row("healthy", Some(1)), row("unhealthy", Some(0))]).render();
        let lines: Vec<&str> = text.lines().collect();
        let at = |line: &str| line.find("chat");
        assert_eq!(at(lines[1]), at(lines[2]), "{text}");
        assert!(lines[2].ends_with("auth"), "{text}");
        assert!(lines[1].contains("$0.01") && lines[1].contains("12 ms"), "{text}");
    }

    #[test]
    fn the_json_has_numbers_and_null_for_what_is_not_known() {
        let json: serde_json::Value =
            serde_json::from_str(&Found::new(vec![row("healthy", None)]).json()).unwrap();
        assert_eq!(json["probes"][0]["price_usd"], serde_json::Value::Null);
        assert_eq!((json["healthy"].as_u64(), json["total_usd"].as_f64()), (Some(1), Some(0.0)));
    }
}
