//! One probe: permit, request, judgement, evidence. No other code sends a probe.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use haleway_config::Config;
use haleway_fleet::{Ask, Claim, Fleet, Grant, Permit, share_of};
use haleway_health::{Class, Depth, Outcome, ProbeEnd, ProbeJob, ProbeReason, Source, Timestamp};
use haleway_providers::{CannotProbe, Judgement, Mode, Probe, ProbeAnswer, ProbeMemory, judge};
use haleway_telemetry::ProbeVerdict;
use haleway_upstream::{Connection, Deadlines, Fault, Lease, Opened};
use haleway_wire::Payload;
use http::HeaderMap;
use tokio::time::Instant;

use super::not_before;
use super::reports::{Report, Verdict};
use crate::call::failure::Failed;
use crate::deployment::Deployment;
use crate::gateway::Gateway;

/// Largest answer of a probe that is read, in bytes.
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;
/// Every n-th probe opens a connection of its own, so that it sees what a new client would.
const FRESH_EVERY: u64 = 5;
/// Between two on-demand probes of one deployment lies at least this much.
const ON_DEMAND_GAP: Duration = Duration::from_secs(1);

/// How often a deployment that another process probes is looked at again.
const OTHERS_WAIT: Duration = Duration::from_secs(60);
/// How long this process waits while a pod of LiteLLM probes.
const FOREIGN_WAIT: Duration = Duration::from_secs(2);

/// How an on-demand probe ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnDemand {
    /// It was sent; the report is the latest.
    Probed,
    /// A probe was sent so recently that no permit is to be had; the report of that one is the latest.
    TooSoon,
    /// No probe can be built.
    Impossible(CannotProbe),
}

/// What a probe showed.
struct Found {
    sent_at: Timestamp,
    latency: Duration,
    judgement: Judgement,
    headers: HeaderMap,
}

/// Runs a planned probe.
pub(super) async fn planned(gateway: &Arc<Gateway>, job: &ProbeJob) -> ProbeEnd {
    let live = gateway.live.load_full();
    let Some(deployment) = live.deployment(job.slot) else { return ProbeEnd::NoEvidence };
    if let Some(until) = over_budget(gateway, &live.config, deployment) {
        return ProbeEnd::Postponed(until);
    }
    if !is_ours(gateway, &live.config, deployment) {
        return ProbeEnd::Postponed(gateway.clock.now() + OTHERS_WAIT);
    }
    let permit = match claim(gateway, deployment, spacing(gateway, deployment, job), job.timeout).await {
        Claim::Granted(permit) => permit,
        Claim::Wait(until) => return ProbeEnd::Postponed(not_before(gateway.clock.now(), until)),
    };
    if !may_probe(gateway).await {
        return ProbeEnd::Postponed(gateway.clock.now() + FOREIGN_WAIT);
    }
    let sent = send(gateway, deployment, permit, job.timeout).await;
    let end = match sent {
        Ok((found, grant)) => {
            let now = gateway.clock.now();
            let verdict = found.verdict();
            let outcome = found.outcome(job);
            let report = gateway.note(deployment, found);
            match (gateway.fleet.commit(now, &grant).await, outcome) {
                (Ok(()), outcome) => {
                    tell(gateway, deployment, &grant, &report, verdict);
                    match outcome {
                        Some(outcome) => {
                            deployment.metrics.probed(verdict, 0);
                            ProbeEnd::Verdict(outcome)
                        }
                        None => ProbeEnd::NoEvidence,
                    }
                }
                (Err(stale), _) => {
                    tracing::debug!(deployment = %deployment.id(), error = %stale, "verdict dropped");
                    ProbeEnd::NoEvidence
                }
            }
        }
        Err(Unsent::Impossible(cannot)) => {
            gateway.reports.cannot(job.slot, gateway.clock.now(), &cannot);
            ProbeEnd::NoEvidence
        }
        Err(Unsent::TooLate) => ProbeEnd::NoEvidence,
    };
    probe_over(gateway).await;
    end
}

/// Whether this process probes a deployment at all: without a store, processes may divide them up.
fn is_ours(gateway: &Gateway, config: &Config, deployment: &Deployment) -> bool {
    match config.haleway.fleet.share {
        Some((index, count)) if gateway.share.is_none() => share_of(deployment.id(), count) == index,
        Some(_) | None => true,
    }
}

/// The distance to the probe before. In a fleet regular probes keep the whole interval, whoever sends them: every process
/// spreads its own plan, and the earliest of many would come too early.
fn spacing(gateway: &Gateway, deployment: &Deployment, job: &ProbeJob) -> Duration {
    let interval = deployment.model.probe.map(|probe| probe.interval);
    match interval {
        Some(interval) if gateway.share.is_some() && job.reason == ProbeReason::Interval => interval,
        Some(_) | None => job.min_gap,
    }
}

async fn may_probe(gateway: &Gateway) -> bool {
    match &gateway.share {
        Some(share) => share.may_probe().await,
        None => true,
    }
}

async fn probe_over(gateway: &Gateway) {
    if let Some(share) = &gateway.share {
        share.probe_over().await;
    }
}

/// Tells the fleet what a committed probe found.
fn tell(gateway: &Gateway, deployment: &Deployment, grant: &Grant, report: &Report, verdict: ProbeVerdict) {
    if let Some(share) = &gateway.share {
        share.probed(deployment.id(), grant, report, verdict != ProbeVerdict::Unhealthy);
    }
}

/// When probing may go on, if the day's probes of a deployment are used up (`haleway.health.budget.probes_per_day`).
fn over_budget(gateway: &Gateway, config: &Config, deployment: &Deployment) -> Option<Timestamp> {
    let limit = config.haleway.limits.probes_per_day?;
    let until = gateway.reports.spent(deployment.slot, limit, gateway.clock.now())?;
    tracing::warn!(deployment = %deployment.id(), limit, "the day's probes are used up: health comes from traffic until midnight UTC");
    Some(until)
}

/// Probes one deployment now, for an operator or a live `/health`.
pub async fn probe_now(gateway: &Arc<Gateway>, deployment: &Arc<Deployment>) -> OnDemand {
    let timeout = deployment.model.probe_timeout;
    let generation = gateway.hub.generation(deployment.slot);
    let Claim::Granted(permit) = claim(gateway, deployment, ON_DEMAND_GAP, timeout).await else {
        return OnDemand::TooSoon;
    };
    match send(gateway, deployment, permit, timeout).await {
        Ok((found, grant)) => {
            let now = gateway.clock.now();
            let outcome = found.evidence(Source::Probe, generation);
            let verdict = found.verdict();
            deployment.metrics.probed(verdict, 0);
            let report = gateway.note(deployment, found);
            if gateway.fleet.commit(now, &grant).await.is_ok() {
                tell(gateway, deployment, &grant, &report, verdict);
                if let Some(outcome) = outcome {
                    gateway.hub.report(now, deployment.slot, &outcome);
                }
            }
            OnDemand::Probed
        }
        Err(Unsent::Impossible(cannot)) => {
            gateway.reports.cannot(deployment.slot, gateway.clock.now(), &cannot);
            OnDemand::Impossible(cannot)
        }
        Err(Unsent::TooLate) => OnDemand::TooSoon,
    }
}

async fn claim(gateway: &Gateway, deployment: &Deployment, gap: Duration, timeout: Duration) -> Claim {
    let ask = Ask { deployment: deployment.id(), interval: gap, hold: timeout + Duration::from_secs(5) };
    gateway.fleet.claim(gateway.clock.now(), &ask).await
}

enum Unsent {
    Impossible(CannotProbe),
    TooLate,
}

/// Uses up `permit`: at most one request, and one more when the first taught how to ask.
async fn send(
    gateway: &Gateway,
    deployment: &Deployment,
    permit: Permit,
    timeout: Duration,
) -> Result<(Found, Grant), Unsent> {
    let mut memory = gateway.reports.memory(deployment.slot);
    let probe = build(deployment, &memory).map_err(Unsent::Impossible)?;
    let sent_at = gateway.clock.now();
    let grant = permit.redeem(sent_at).map_err(|_| Unsent::TooLate)?;
    let connection =
        if grant.seq().is_multiple_of(FRESH_EVERY) { Connection::Fresh } else { Connection::Pooled };
    let until = Instant::now() + timeout;
    let mut found = exchange(gateway, deployment, probe, connection, until, &mut memory).await;
    if let Judgement::Repair(lesson) = found.judgement {
        tracing::debug!(deployment = %deployment.id(), lesson, "probe repaired");
        let repaired = build(deployment, &memory).map_err(Unsent::Impossible)?.repaired();
        found = exchange(gateway, deployment, repaired, Connection::Pooled, until, &mut memory).await;
    }
    gateway.reports.remember(deployment.slot, memory);
    Ok((found, grant))
}

fn build(deployment: &Deployment, memory: &ProbeMemory) -> Result<Probe, CannotProbe> {
    let target = &deployment.target;
    target.probe(target.mode, &deployment.model.info.probe, memory, fastrand::u64(..))
}

async fn exchange(
    gateway: &Gateway,
    deployment: &Deployment,
    probe: Probe,
    connection: Connection,
    until: Instant,
    memory: &mut ProbeMemory,
) -> Found {
    let sent_at = gateway.clock.now();
    gateway.reports.count(deployment.slot, sent_at);
    let expect = probe.expect;
    let (unsigned, _, _) = probe.call.into_parts();
    let unanswered = |fault: Fault| Failed::transport(&fault);
    // A service that answers later than it may is as good as silent.
    let limit = expect.http.as_ref().and_then(|check| check.max_latency);
    let answer = async {
        let lease = match tokio::time::timeout_at(until, deployment.authorise()).await {
            Ok(lease) => lease.map_err(|fault| Failed::without_credential(&fault))?,
            Err(_elapsed) => return Err(Failed::credential_late(deployment.target.credential_kind())),
        };
        let left = || until.saturating_duration_since(Instant::now());
        if expect.mode == Mode::Realtime {
            let begin = async |lease: &Lease| {
                let request = unsigned.request(sent_at.as_millis(), &lease.credential);
                first_event(deployment, request, left()).await
            };
            let first = begin(&lease).await.map_err(unanswered)?;
            return match deployment.authorise_anew(&lease, first.0, &first.1).await {
                Some(fresh) => begin(&fresh).await.map_err(unanswered),
                None => Ok(first),
            };
        }
        let send = async |lease: &Lease| {
            let request = unsigned.request(sent_at.as_millis(), &lease.credential);
            let left = limit.map_or(left(), |limit| left().min(limit));
            deployment.upstream.send(request, Deadlines::total(left), connection).await
        };
        let mut reply = send(&lease).await.map_err(unanswered)?;
        if let Some(fresh) = deployment.authorise_anew(&lease, reply.status.as_u16(), &reply.headers).await {
            // Not a verdict on the deployment: the token had ended, and the same question is asked with a new one.
            gateway.reports.count(deployment.slot, sent_at);
            reply = send(&fresh).await.map_err(unanswered)?;
        }
        let (status, headers, mut body) = reply.into_relay();
        let mut read = BytesMut::new();
        while let Some(bytes) = body.next().await.transpose().map_err(unanswered)? {
            read.extend_from_slice(&bytes);
            if expect.enough(&deployment.target, &read) || read.len() > ANSWER_LIMIT {
                break;
            }
        }
        Ok((status.as_u16(), headers, read.freeze()))
    };
    let result: Result<(u16, HeaderMap, Bytes), Failed> = answer.await;
    let now = gateway.clock.now();
    let latency = now.since(sent_at);
    match result {
        Ok((status, headers, body)) => {
            let answer = ProbeAnswer { status, headers: &headers, body: &body, now_ms: now.as_millis() };
            let judgement = judge(&deployment.target, &expect, &answer, memory);
            Found { sent_at, latency, judgement, headers }
        }
        Err(failed) => {
            Found { sent_at, latency, judgement: failed.into_judgement(), headers: HeaderMap::new() }
        }
    }
}

/// The first event of a session, in place of a body, or the answer that refused the handshake. An accepted session is
/// closed in order before it is judged.
async fn first_event(
    deployment: &Deployment,
    request: http::Request<Payload>,
    left: Duration,
) -> Result<(u16, HeaderMap, Bytes), Fault> {
    let mut session = match deployment.upstream.open(request, Deadlines::total(left)).await? {
        Opened::Session(session) => session,
        Opened::Refused(answer) => {
            let (status, headers) = (answer.status.as_u16(), answer.headers.clone());
            return Ok((status, headers, answer.read_all(ANSWER_LIMIT).await?));
        }
    };
    let first = session.first().await?.into_data();
    let headers = session.headers().clone();
    session.close().await;
    Ok((101, headers, first))
}

impl Found {
    fn verdict(&self) -> ProbeVerdict {
        match &self.judgement {
            Judgement::Healthy { degraded: None } => ProbeVerdict::Healthy,
            Judgement::Healthy { degraded: Some(_) } => ProbeVerdict::Degraded,
            Judgement::Unhealthy(_) => ProbeVerdict::Unhealthy,
            Judgement::Repair(_) | Judgement::Unknown(_) => ProbeVerdict::Unknown,
        }
    }

    fn outcome(&self, job: &ProbeJob) -> Option<Outcome> {
        let source = if job.trial.is_some() { Source::Trial } else { Source::Probe };
        let generation = job.trial.as_ref().map_or(job.generation, |lease| lease.generation);
        let mut outcome = self.evidence(source, generation)?;
        outcome.trial = job.trial.as_ref().map(|lease| lease.id);
        Some(outcome)
    }

    fn evidence(&self, source: Source, generation: haleway_health::Generation) -> Option<Outcome> {
        let mut outcome = Outcome::new(Class::Ok, source, self.sent_at, generation);
        outcome.depth = Depth::Generation;
        outcome.latency = self.latency;
        match &self.judgement {
            Judgement::Healthy { .. } => outcome.status = 200,
            Judgement::Unhealthy(finding) => {
                outcome.class = finding.class;
                outcome.scope = finding.scope;
                outcome.reason = finding.reason;
                outcome.status = finding.status;
                outcome.retry_after = finding.retry_after;
            }
            // A second repair is not made; what it would have shown is not known.
            Judgement::Repair(_) | Judgement::Unknown(_) => return None,
        }
        Some(outcome)
    }
}

impl Gateway {
    /// Keeps what a probe showed, for `/health`.
    fn note(&self, deployment: &Deployment, found: Found) -> Report {
        let verdict = match found.judgement {
            Judgement::Healthy { degraded } => Verdict::Healthy { degraded },
            Judgement::Unhealthy(finding) => Verdict::Unhealthy(finding),
            Judgement::Unknown(finding) => {
                Verdict::Unknown { code: finding.class.as_str(), message: finding.message }
            }
            Judgement::Repair(lesson) => Verdict::Unknown { code: lesson, message: String::new() },
        };
        let report = Report::new(verdict, found.sent_at, found.latency, &found.headers);
        self.reports.put(deployment.slot, report.clone());
        report
    }
}
