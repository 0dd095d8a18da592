//! Everything there is to show of one deployment, as `GET /haleway/deployments` serves it.

use serde::Serialize;

use super::{Registry, seat::Seat};
use crate::{Findings, Passage, Slot, Timestamp};

/// Billionths of a dollar in a dollar.
const NANO: f64 = 1e9;

/// One deployment: verdict, evidence, history. Times are RFC 3339, in UTC.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Detail {
    /// Its id.
    pub id: String,
    /// Its model group.
    pub model_group: String,
    /// What it serves.
    pub mode: &'static str,
    /// State, in capitals.
    pub state: String,
    /// Since when.
    pub since: String,
    /// When the state ends by itself, when that is known.
    pub until: Option<String>,
    /// Why.
    pub cause: &'static str,
    /// What the cause applies to.
    pub scope: &'static str,
    /// How the deciding evidence came about.
    pub source: Option<&'static str>,
    /// Who saw it: `local` for this process, else a pod's name.
    pub observer: String,
    /// Age of the youngest evidence, counted from when its attempt was sent.
    pub age_seconds: Option<f64>,
    /// When that attempt was sent.
    pub sent_at: Option<String>,
    /// Share of its normal weight that routing uses now, 0 to 1.
    pub weight: f32,
    /// When it is probed next, as planned now; `None` while a probe is in flight or none is planned.
    pub next_probe_at: Option<String>,
    /// What the verdict rests on.
    pub evidence: EvidenceDetail,
    /// The latest transitions, oldest first, at most 20.
    pub transitions: Vec<TransitionDetail>,
    /// The verdict in one sentence.
    pub explanation: String,
}

/// Counts and the latest observations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvidenceDetail {
    /// How routing may use it, with the rules of its group.
    pub rank: &'static str,
    /// It would be out but for a rule of its group.
    pub spared: bool,
    /// The verdict rests on evidence that may be this pod's own fault.
    pub local_only: bool,
    /// Its credential was refused once and is being confirmed.
    pub credential_in_doubt: bool,
    /// Why it is not probed, when it is not.
    pub skip_reason: Option<&'static str>,
    /// Requests in flight.
    pub in_flight: u32,
    /// Requests are in flight without output for too long.
    pub wedged: bool,
    /// Failed probes in a row.
    pub failed_probes: u32,
    /// Hard failures of traffic in a row.
    pub failed_requests: u32,
    /// Sightings of a configuration fault since the last good answer.
    pub config_sightings: u32,
    /// Successes in the window.
    pub window_ok: u32,
    /// Failures in the window.
    pub window_failed: u32,
    /// Slow first tokens in the window.
    pub window_slow: u32,
    /// Isolations in a row.
    pub isolations: u8,
    /// A wait that a 429 or 529 asked for runs until then.
    pub held_until: Option<String>,
    /// A trial is out until then.
    pub trial_until: Option<String>,
    /// Trials granted.
    pub trials_granted: u32,
    /// Trials whose verdict never came.
    pub trials_lost: u32,
    /// Counts changes of state.
    pub generation: u32,
    /// The youngest observation.
    pub latest: Option<ObservationDetail>,
    /// The youngest observation of a probe.
    pub latest_probe: Option<ObservationDetail>,
}

/// One observation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservationDetail {
    /// Its class.
    pub class: &'static str,
    /// What the class applies to.
    pub scope: &'static str,
    /// How it came about.
    pub source: &'static str,
    /// How much of the road it travelled.
    pub depth: &'static str,
    /// HTTP status, 0 when there was none.
    pub status: u16,
    /// Phase or detail; empty when the class says it all.
    pub reason: &'static str,
    /// When it was sent.
    pub sent_at: String,
    /// What it cost.
    pub price_usd: f64,
}

/// One change of state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransitionDetail {
    /// The state left.
    pub from: String,
    /// The state entered.
    pub to: String,
    /// Why.
    pub cause: &'static str,
    /// What the cause applies to.
    pub scope: &'static str,
    /// How the deciding evidence came about.
    pub source: Option<&'static str>,
    /// When.
    pub at: String,
}

/// RFC 3339 in UTC; empty for a time no calendar has.
fn rfc3339(at: Timestamp) -> String {
    let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).map(|time| time.to_string()).unwrap_or_default()
}

/// A time that is known and will come.
fn bounded(at: Option<Timestamp>) -> Option<String> {
    at.filter(|&at| at < Timestamp::MAX).map(rfc3339)
}

/// The verdict in one sentence, and one more when a doubt about the credential keeps traffic away meanwhile.
fn explanation(seat: &Seat, now: Timestamp) -> String {
    let mut text = seat.machine.explain(now);
    if seat.in_doubt {
        text.push_str(" Its credential was refused once: no traffic until that is confirmed or refuted.");
    }
    text
}

impl Registry {
    /// Everything there is to show of `slot`; `None` for a hole.
    pub fn detail(&self, slot: Slot, now: Timestamp) -> Option<Detail> {
        let seat = self.seat(slot)?;
        let machine = &seat.machine;
        let findings = machine.findings(now);
        let sent_at = machine.sent_at();
        let (weight, evidence) = self.evidence_of(slot, seat, &findings);
        Some(Detail {
            id: seat.spec.id.to_string(),
            model_group: seat.spec.group.to_string(),
            mode: seat.spec.mode,
            state: findings.state.as_str().to_owned(),
            since: rfc3339(findings.since),
            until: bounded(findings.until),
            cause: findings.cause.as_str(),
            scope: findings.scope.as_str(),
            source: findings.source.map(crate::Source::as_str),
            observer: self.observer(seat).to_owned(),
            age_seconds: sent_at.map(|sent| sent.until(now).as_secs_f64()),
            sent_at: sent_at.map(rfc3339),
            weight,
            next_probe_at: bounded(self.next_probe(slot)),
            evidence,
            transitions: machine.history().map(TransitionDetail::from).collect(),
            explanation: explanation(seat, now),
        })
    }

    fn evidence_of(&self, slot: Slot, seat: &Seat, findings: &Findings) -> (f32, EvidenceDetail) {
        let entry = self.view.entry(slot);
        let weight = if entry.rank == crate::Rank::In { entry.weight } else { 0.0 };
        let detail = EvidenceDetail {
            rank: entry.rank.as_str(),
            spared: entry.spared(),
            local_only: seat.local_only || seat.share.is_private(),
            credential_in_doubt: seat.in_doubt,
            skip_reason: seat.spec.skip_reason,
            in_flight: seat.cell.in_flight(),
            wedged: findings.wedged,
            failed_probes: findings.probe_run,
            failed_requests: findings.traffic_run,
            config_sightings: findings.sightings,
            window_ok: findings.window.ok,
            window_failed: findings.window.bad,
            window_slow: findings.window.slow,
            isolations: findings.step,
            held_until: bounded(findings.held_until),
            trial_until: bounded(seat.machine.trial().map(|lease| lease.deadline)),
            trials_granted: findings.trials_granted,
            trials_lost: findings.trials_lost,
            generation: seat.machine.generation().0,
            latest: findings.latest.map(ObservationDetail::from),
            latest_probe: findings.last_probe.map(ObservationDetail::from),
        };
        (weight, detail)
    }
}

impl From<crate::Observation> for ObservationDetail {
    fn from(evidence: crate::Observation) -> Self {
        Self {
            class: evidence.class.as_str(),
            scope: evidence.scope.as_str(),
            source: evidence.source.as_str(),
            depth: evidence.depth.as_str(),
            status: evidence.status,
            reason: evidence.reason,
            sent_at: rfc3339(evidence.sent_at),
            price_usd: evidence.price_nanousd as f64 / NANO,
        }
    }
}

impl From<Passage> for TransitionDetail {
    fn from(line: Passage) -> Self {
        Self {
            from: line.from.as_str().to_owned(),
            to: line.to.as_str().to_owned(),
            cause: line.cause.as_str(),
            scope: line.scope.as_str(),
            source: line.source.map(crate::Source::as_str),
            at: rfc3339(line.at),
        }
    }
}
