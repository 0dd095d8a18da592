//! One probe, from the question whether it may be sent to its evidence: budget, permit, requests, verdict.

use std::sync::Arc;
use std::time::Duration;

use haleway_config::Config;
<<<<<<< HEAD
use haleway_fleet::{Ask, Claim, Fleet, Grant, Permit, share_of};
use haleway_health::{Class, Depth, Outcome, ProbeEnd, ProbeJob, ProbeReason, Source, Timestamp};
use haleway_providers::{CannotProbe, Judgement, Mode, Probe, ProbeAnswer, ProbeMemory, judge};
use haleway_telemetry::ProbeVerdict;
use haleway_upstream::{Connection, Deadlines, Fault, Lease, Opened};
use haleway_wire::Payload;
use http::HeaderMap;
use tokio::time::Instant;
=======
use haleway_fleet::{Ask, Claim, Fleet, Grant, share_of};
use haleway_health::{
    Depth, ProbeDepth, ProbeEnd, ProbeJob, ProbePolicy, ProbeReason, Slot, Source, Timestamp,
};
use haleway_providers::{CannotProbe, Judgement};
use haleway_telemetry::{ProbeRung, ProbeVerdict};
>>>>>>> ca25118 (Probes have a price, budgets and a ladder: free calls first where real ones are costly)

use super::climb::{Climb, Found, NotReady, Ready, Unsent};
use super::ledger::Stop;
use super::not_before;
use super::reports::{Report, Verdict};
use crate::deployment::Deployment;
use crate::gateway::Gateway;

/// Between two on-demand probes of one deployment lies at least this much.
const ON_DEMAND_GAP: Duration = Duration::from_secs(1);

/// How often a deployment that another process probes is looked at again.
const OTHERS_WAIT: Duration = Duration::from_secs(60);
/// How long this process waits while a pod of LiteLLM probes.
const FOREIGN_WAIT: Duration = Duration::from_secs(2);

/// Who asks for a probe now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Somebody named the deployment: a real call, whatever its policy.
    ByName,
    /// Somebody asked for everything: nothing is paid for that the policy does not allow.
    ForAll,
}

/// How an on-demand probe ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnDemand {
    /// It was sent; the report is the latest.
    Probed,
    /// A probe was sent so recently that no permit is to be had; the report of that one is the latest.
    TooSoon,
    /// No probe can be built.
    Impossible(CannotProbe),
    /// The budget for real probes is used up until then.
    OverBudget(Timestamp),
    /// The policy of the deployment allows none now; the fixed word says which one.
    Policy(&'static str),
}

/// Runs a planned probe.
pub(super) async fn planned(gateway: &Arc<Gateway>, job: &ProbeJob) -> ProbeEnd {
    let live = gateway.live.load_full();
    let Some(deployment) = live.deployment(job.slot) else { return ProbeEnd::NoEvidence };
    if !is_ours(gateway, &live.config, deployment) {
        return ProbeEnd::Postponed(gateway.clock.now() + OTHERS_WAIT);
    }
    let rung = if job.trial.is_some() { ProbeRung::Trial } else { ProbeRung::Generation };
    let ready = match Ready::new(gateway, deployment, live.probe_caps(deployment), Climb::of(job), rung) {
        Ok(ready) => ready,
        Err(NotReady::OverBudget(stop)) => return ProbeEnd::OverBudget(used_up(deployment, stop)),
        Err(NotReady::Impossible(cannot)) => return gateway.cannot(job.slot, &cannot),
    };
    let permit = match claim(gateway, deployment, spacing(gateway, deployment, job), job.timeout).await {
        Claim::Granted(permit) => permit,
        Claim::Wait(until) => return ProbeEnd::Postponed(not_before(gateway.clock.now(), until)),
    };
    if !may_probe(gateway).await {
        return ProbeEnd::Postponed(gateway.clock.now() + FOREIGN_WAIT);
    }
    let end = match ready.send(permit, job.timeout).await {
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
                            deployment.metrics.probed(verdict);
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
        Err(Unsent::Impossible(cannot)) => gateway.cannot(job.slot, &cannot),
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

/// Says once a day that a budget is used up; until when.
fn used_up(deployment: &Deployment, stop: Stop) -> Timestamp {
    if stop.news && stop.cap.is_total() {
        tracing::warn!(cap = stop.cap.as_str(), "the day's budget for all probes is used up: until midnight UTC health comes from traffic and free calls");
    } else if stop.news {
        tracing::warn!(deployment = %deployment.id(), cap = stop.cap.as_str(), "the day's budget for probes is used up: until midnight UTC health comes from traffic and free calls");
    }
    stop.until
}

/// Probes one deployment now, for an operator or a live `/health`.
pub async fn probe_now(gateway: &Arc<Gateway>, deployment: &Arc<Deployment>, asked: Asked) -> OnDemand {
    let climb = match on_demand(gateway, deployment, asked) {
        Ok(climb) => climb,
        Err(policy) => return OnDemand::Policy(policy),
    };
    let caps = gateway.live.load().probe_caps(deployment);
    let ready = match Ready::new(gateway, deployment, caps, climb, ProbeRung::OnDemand) {
        Ok(ready) => ready,
        Err(NotReady::OverBudget(stop)) => return OnDemand::OverBudget(used_up(deployment, stop)),
        Err(NotReady::Impossible(cannot)) => return gateway.impossible(deployment, cannot),
    };
    let timeout = deployment.model.probe_timeout;
    let generation = gateway.hub.generation(deployment.slot);
    let Claim::Granted(permit) = claim(gateway, deployment, ON_DEMAND_GAP, timeout).await else {
        return OnDemand::TooSoon;
    };
    match ready.send(permit, timeout).await {
        Ok((found, grant)) => {
            let now = gateway.clock.now();
            let outcome = found.evidence(Source::Probe, generation);
            let verdict = found.verdict();
            deployment.metrics.probed(verdict);
            let report = gateway.note(deployment, found);
            if gateway.fleet.commit(now, &grant).await.is_ok() {
                tell(gateway, deployment, &grant, &report, verdict);
                if let Some(outcome) = outcome {
                    gateway.hub.report(now, deployment.slot, &outcome);
                }
            }
            OnDemand::Probed
        }
        Err(Unsent::Impossible(cannot)) => gateway.impossible(deployment, cannot),
        Err(Unsent::TooLate) => OnDemand::TooSoon,
    }
}

/// How far a probe climbs that somebody asks for; `Err` with the policy that forbids it.
fn on_demand(gateway: &Gateway, deployment: &Deployment, asked: Asked) -> Result<Climb, &'static str> {
    let mode = deployment.target.mode;
    let how = deployment.model.probe_params_as(mode);
    let free = deployment.target.free_proof().map(|_| Climb::Free);
    if asked == Asked::ByName {
        return Ok(if how.depth == ProbeDepth::Free { free.unwrap_or(Climb::Real) } else { Climb::Real });
    }
    let out = !gateway.hub.snapshot().verdict(deployment.slot).state.eligible();
    let costly = mode.is_costly() && how.depth == ProbeDepth::Auto;
    match how.policy {
        ProbePolicy::Never => Err("policy_never"),
        _ if how.depth == ProbeDepth::Free => free.ok_or("no_free_call"),
        ProbePolicy::OnlyWhenOut if !out => free.ok_or("only_when_out"),
        ProbePolicy::Always | ProbePolicy::WhenIdle | ProbePolicy::OnlyWhenOut => Ok(match free {
            Some(free) if costly => if out { Climb::FreeFirst } else { free },
            Some(_) | None => Climb::Real,
        }),
    }
}

async fn claim(gateway: &Gateway, deployment: &Deployment, gap: Duration, timeout: Duration) -> Claim {
    let ask = Ask { deployment: deployment.id(), interval: gap, hold: timeout + Duration::from_secs(5) };
    gateway.fleet.claim(gateway.clock.now(), &ask).await
}

<<<<<<< HEAD
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

=======
>>>>>>> ca25118 (Probes have a price, budgets and a ladder: free calls first where real ones are costly)
impl Gateway {
    fn cannot(&self, slot: Slot, cannot: &CannotProbe) -> ProbeEnd {
        self.reports.cannot(slot, self.clock.now(), cannot);
        ProbeEnd::NoEvidence
    }

    fn impossible(&self, deployment: &Deployment, cannot: CannotProbe) -> OnDemand {
        self.reports.cannot(deployment.slot, self.clock.now(), &cannot);
        OnDemand::Impossible(cannot)
    }

    /// Keeps what a probe showed, for `/health`.
    fn note(&self, deployment: &Deployment, found: Found) -> Report {
        let verdict = match found.judgement {
            Judgement::Healthy { degraded } => Verdict::Healthy { degraded },
            Judgement::Unhealthy(finding) => Verdict::Unhealthy(finding),
            Judgement::Unknown(finding) if found.depth == Depth::Free && !finding.reason.is_empty() => {
                Verdict::Unknown { code: finding.reason, message: finding.message }
            }
            Judgement::Unknown(finding) => {
                Verdict::Unknown { code: finding.class.as_str(), message: finding.message }
            }
            Judgement::Repair(lesson) => Verdict::Unknown { code: lesson, message: String::new() },
        };
        let report =
            Report { price: found.price, ..Report::new(verdict, found.sent_at, found.latency, &found.headers) };
        self.reports.put(deployment.slot, report.clone());
        report
    }
}
