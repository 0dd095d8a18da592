//! The requests of one probe: the free call where it goes first, the real one, and one more when that one taught how to
//! ask. No other code sends a probe.
//!
//! A free call that fails ends the climb, and its answer is the evidence. One that passes, or that says nothing, leaves
//! the question to the real call.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use haleway_fleet::{Grant, Permit};
use haleway_health::{Class, Depth, Generation, Outcome, ProbeJob, Proof, Source, Timestamp};
use haleway_providers::catalogue::{Usage, Usd};
use haleway_providers::{
    CannotProbe, Expectation, Judgement, Mode, Probe, ProbeAnswer, ProbeMemory, ProbePrice, ProbeSettings,
    UnsignedCall, judge,
};
use haleway_telemetry::{ProbeRung as Rung, ProbeVerdict};
use haleway_upstream::{Connection, Deadlines, Fault, FaultKind, Lease, Opened};
use haleway_wire::Payload;
use http::HeaderMap;
use tokio::time::Instant;

use super::ledger::{Caps, Charge, Reservation, Stop};
use crate::call::failure::Failed;
use crate::call::realtime::said;
use crate::deployment::{Deployment, nanodollars};
use crate::gateway::Gateway;

/// Largest answer of a probe that is read, in bytes.
const ANSWER_LIMIT: usize = 8 * 1024 * 1024;
/// Every n-th probe opens a connection of its own, so that it sees what a new client would.
const FRESH_EVERY: u64 = 5;

/// Which requests a probe may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Climb {
    /// The free call.
    Free,
    /// The free call, and the real one unless that failed.
    FreeFirst,
    /// The real call.
    Real,
}

impl Climb {
    /// What a planned probe asks for.
    pub(super) const fn of(job: &ProbeJob) -> Self {
        match (job.depth, job.free_first) {
            (Depth::Free, _) => Self::Free,
            (Depth::Generation, true) => Self::FreeFirst,
            (Depth::Generation, false) => Self::Real,
        }
    }
}

/// Why nothing was sent.
pub(super) enum Unsent {
    /// No probe can be built.
    Impossible(CannotProbe),
    /// The permit was held for too long.
    TooLate,
}

/// What a probe showed.
pub(super) struct Found {
    pub(super) sent_at: Timestamp,
    pub(super) latency: Duration,
    pub(super) judgement: Judgement,
    pub(super) headers: HeaderMap,
    pub(super) depth: Depth,
    /// What all requests of the probe came to; `None` when the price of one is not known.
    pub(super) price: Option<Usd>,
    /// Requests of the probe that a budget counts.
    pub(super) paid_requests: u32,
    proof: Proof,
}

/// A probe, built and paid for in advance.
pub(super) struct Ready<'a> {
    gateway: &'a Gateway,
    deployment: &'a Deployment,
    caps: Caps,
    rung: Rung,
    free: Option<Probe>,
    real: Option<(Probe, Option<Reservation<'a>>)>,
    memory: ProbeMemory,
}

/// Why a probe is not ready.
pub(super) enum NotReady {
    /// No probe can be built.
    Impossible(CannotProbe),
    /// A budget is used up.
    OverBudget(Stop),
}

impl<'a> Ready<'a> {
    /// Builds the requests that `climb` allows and reserves the price of the real one, which counts as `rung`.
    pub(super) fn new(
        gateway: &'a Gateway,
        deployment: &'a Deployment,
        caps: Caps,
        climb: Climb,
        rung: Rung,
    ) -> Result<Self, NotReady> {
        let memory = gateway.reports.memory(deployment.slot);
        let free = match climb {
            Climb::Free => Some(deployment.target.free_probe().map_err(NotReady::Impossible)?),
            Climb::FreeFirst => deployment.target.free_probe().ok(),
            Climb::Real => None,
        };
        let real = match climb {
            Climb::Free => None,
            Climb::FreeFirst | Climb::Real => {
                let probe = build(gateway, deployment, &memory).map_err(NotReady::Impossible)?;
                let reserved = reserve(gateway, deployment, &caps, &probe).map_err(NotReady::OverBudget)?;
                Some((probe, reserved))
            }
        };
        Ok(Self { gateway, deployment, caps, rung, free, real, memory })
    }

    /// What a day may use up, and what the real request may cost: `None` without one, nothing where no price is known.
    pub(super) fn budget(&self) -> (Caps, Option<Usd>) {
        let paid = self.real.as_ref().filter(|(_, reserved)| reserved.is_some());
        (self.caps, paid.map(|(probe, _)| self.deployment.estimate(probe).unwrap_or_default()))
    }

    /// Uses up `permit`.
    pub(super) async fn send(self, permit: Permit, timeout: Duration) -> Result<(Found, Grant), Unsent> {
        let Self { gateway, deployment, caps, rung, free, real, memory } = self;
        let grant = permit.redeem(gateway.clock.now()).map_err(|_| Unsent::TooLate)?;
        let connection =
            if grant.seq().is_multiple_of(FRESH_EVERY) { Connection::Fresh } else { Connection::Pooled };
        let until = Instant::now() + timeout;
        let mut sending =
            Sending { gateway, deployment, until, memory, price: Some(Usd::ZERO), paid_requests: 0 };
        let mut found = None;
        if let Some(probe) = free {
            found = Some(sending.exchange(probe, None, Rung::Free, connection).await);
        }
        let failed = found.as_ref().is_some_and(|found| matches!(found.judgement, Judgement::Unhealthy(_)));
        if let Some((probe, reserved)) = real.filter(|_| !failed) {
            found = Some(sending.pay(probe, reserved, &caps, rung, connection).await?);
        }
        let (price, paid_requests) = (sending.price, sending.paid_requests);
        gateway.reports.remember(deployment.slot, sending.memory);
        found.map(|found| (Found { price, paid_requests, ..found }, grant)).ok_or(Unsent::TooLate)
    }
}

fn build(gateway: &Gateway, deployment: &Deployment, memory: &ProbeMemory) -> Result<Probe, CannotProbe> {
    let target = &deployment.target;
    let now_ms = Some(gateway.clock.now().as_millis());
    let settings = ProbeSettings { now_ms, ..deployment.model.info.probe.clone() };
    target.probe(target.mode, &settings, memory, fastrand::u64(..))
}

/// Reserves what `probe` may cost; nothing for a call that costs nothing.
fn reserve<'a>(
    gateway: &'a Gateway,
    deployment: &Deployment,
    caps: &Caps,
    probe: &Probe,
) -> Result<Option<Reservation<'a>>, Stop> {
    if probe.is_free() {
        return Ok(None);
    }
    let price = deployment.estimate(probe);
    gateway.ledger.reserve(deployment.id(), caps, price, gateway.clock.now()).map(Some)
}

/// A probe on its way.
struct Sending<'a> {
    gateway: &'a Gateway,
    deployment: &'a Deployment,
    until: Instant,
    memory: ProbeMemory,
    price: Option<Usd>,
    paid_requests: u32,
}

/// One answer, or none.
struct Answered {
    judgement: Judgement,
    headers: HeaderMap,
    price: ProbePrice,
    proof: Proof,
}

impl<'a> Sending<'a> {
    /// The real call, and one more when the first taught how to ask and there is budget for it.
    async fn pay(
        &mut self,
        probe: Probe,
        reserved: Option<Reservation<'a>>,
        caps: &Caps,
        rung: Rung,
        connection: Connection,
    ) -> Result<Found, Unsent> {
        let found = self.exchange(probe, reserved, rung, connection).await;
        let Judgement::Repair(lesson) = found.judgement else { return Ok(found) };
        tracing::debug!(deployment = %self.deployment.id(), lesson, "probe repaired");
        let repaired =
            build(self.gateway, self.deployment, &self.memory).map_err(Unsent::Impossible)?.repaired();
        let Ok(reserved) = reserve(self.gateway, self.deployment, caps, &repaired) else { return Ok(found) };
        Ok(self.exchange(repaired, reserved, Rung::Repair, Connection::Pooled).await)
    }

    /// One request, written into the ledger as `rung`.
    async fn exchange(
        &mut self,
        probe: Probe,
        reserved: Option<Reservation<'a>>,
        rung: Rung,
        connection: Connection,
    ) -> Found {
        let sent_at = self.gateway.clock.now();
        let expect = probe.expect.clone();
        let depth = if expect.free { Depth::Free } else { Depth::Generation };
        let asks = expect.asks(&probe.call.body.to_bytes());
        let answered = self.answer(probe, &expect, &asks, connection).await;
        let now = self.gateway.clock.now();
        let Answered { judgement, headers, price, proof } = answered;
        self.price = self.price.zip(price.usd).map(|(sum, usd)| sum + usd);
        let charge = Charge { usd: price.usd, estimated: price.estimated, tokens: price.tokens };
        let rung = match reserved {
            Some(reservation) => {
                reservation.settle(rung, &charge, now);
                self.paid_requests += 1;
                rung
            }
            None => {
                self.gateway.ledger.free(self.deployment.id(), now);
                Rung::Free
            }
        };
        self.deployment.metrics.paid(rung, price.usd.unwrap_or_default().dollars());
        Found {
            sent_at,
            latency: now.since(sent_at),
            judgement,
            headers,
            depth,
            price: price.usd,
            paid_requests: self.paid_requests,
            proof,
        }
    }

    async fn answer(
        &mut self,
        probe: Probe,
        expect: &Expectation,
        asks: &Usage,
        connection: Connection,
    ) -> Answered {
        let Deployment { target, .. } = self.deployment;
        let prices = &probe.prices.clone();
        let mut left = self.until.saturating_duration_since(Instant::now());
        if expect.free {
            left = left.min(probe.deadline);
        }
        let (unsigned, _, _) = probe.call.into_parts();
        let answer = self.ask(&unsigned, expect, Instant::now() + left, connection).await;
        match answer {
            Ok((status, headers, body)) => {
                let now_ms = self.gateway.clock.now().as_millis();
                let answer = ProbeAnswer { status, headers: &headers, body: &body, now_ms };
                let judgement = judge(target, expect, &answer, &mut self.memory);
                let price = expect.price(target, prices, asks, Some(&answer));
                let proof = expect.proof(target, &body);
                Answered { judgement, headers, price, proof }
            }
            Err(Unanswered { failed, worked }) => {
                let price =
                    if worked { expect.price(target, prices, asks, None) } else { ProbePrice::NOTHING };
                let judgement = failed.into_judgement();
                Answered { judgement, headers: HeaderMap::new(), price, proof: Proof::NOTHING }
            }
        }
    }

    /// Status, headers and as much of the body as it takes, before `until`.
    async fn ask(
        &self,
        unsigned: &UnsignedCall,
        expect: &Expectation,
        until: Instant,
        connection: Connection,
    ) -> Result<(u16, HeaderMap, Bytes), Unanswered> {
        let (gateway, deployment) = (self.gateway, self.deployment);
        let sent_at = gateway.clock.now();
        let lease = match tokio::time::timeout_at(until, deployment.authorise()).await {
            Ok(lease) => lease.map_err(|fault| Failed::without_credential(&fault))?,
            Err(_elapsed) => return Err(Failed::credential_late(deployment.target.credential_kind()).into()),
        };
        if expect.mode == Mode::Realtime {
            let begin = async |lease: &Lease| {
                let request = unsigned.request(sent_at.as_millis(), &lease.credential);
                first_event(deployment, request, until.saturating_duration_since(Instant::now())).await
            };
            let first = begin(&lease).await?;
            return match deployment.authorise_anew(&lease, first.0, &first.1).await {
                Some(fresh) => Ok(begin(&fresh).await?),
                None => Ok(first),
            };
        }
        // A service that answers later than it may is as good as silent.
        let limit = expect.http.as_ref().and_then(|check| check.max_latency);
        let send = async |lease: &Lease| {
            let request = unsigned.request(sent_at.as_millis(), &lease.credential);
            let left = until.saturating_duration_since(Instant::now());
            let left = limit.map_or(left, |limit| left.min(limit));
            deployment.upstream.send(request, deadlines(deployment, left), connection).await
        };
        let mut reply = send(&lease).await?;
        if let Some(fresh) = deployment.authorise_anew(&lease, reply.status.as_u16(), &reply.headers).await {
            // Not a verdict on the deployment: the token had ended, and the same question is asked with a new one.
            // The refusal cost nothing.
            gateway.ledger.free(deployment.id(), sent_at);
            deployment.metrics.paid(Rung::Free, 0.0);
            reply = send(&fresh).await?;
        }
        let (status, headers, mut body) = reply.into_relay();
        let mut read = BytesMut::new();
        while let Some(bytes) = body.next().await.transpose()? {
            read.extend_from_slice(&bytes);
            if expect.enough(&deployment.target, &read) || read.len() > ANSWER_LIMIT {
                break;
            }
        }
        Ok((status.as_u16(), headers, read.freeze()))
    }
}

/// The first event of a session, in place of a body, or the answer that refused the handshake. An accepted session is
/// closed in order before it is judged.
async fn first_event(
    deployment: &Deployment,
    request: http::Request<Payload>,
    left: Duration,
) -> Result<(u16, HeaderMap, Bytes), Fault> {
    let mut session = match deployment.upstream.open(request, deadlines(deployment, left)).await? {
        Opened::Session(session) => session,
        Opened::Refused(answer) => {
            let (status, headers) = (answer.status.as_u16(), answer.headers.clone());
            return Ok((status, headers, answer.read_all(ANSWER_LIMIT).await?));
        }
    };
    let first = said(session.first().await?);
    let headers = session.headers().clone();
    session.close().await;
    Ok((101, headers, first))
}

/// No answer.
struct Unanswered {
    failed: Failed,
    /// The provider may have worked on it: it was broken off, not refused or reset.
    worked: bool,
}

impl From<Failed> for Unanswered {
    fn from(failed: Failed) -> Self {
        Self { failed, worked: false }
    }
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        let broken = matches!(fault.kind(), FaultKind::Timeout(_) | FaultKind::Cut | FaultKind::TooLarge);
        Self { failed: Failed::transport(&fault), worked: broken && fault.sent() }
    }
}

impl Found {
    /// How it counts in metrics.
    pub(super) fn verdict(&self) -> ProbeVerdict {
        match &self.judgement {
            Judgement::Healthy { degraded: None } => ProbeVerdict::Healthy,
            Judgement::Healthy { degraded: Some(_) } => ProbeVerdict::Degraded,
            Judgement::Unhealthy(_) => ProbeVerdict::Unhealthy,
            Judgement::Repair(_) | Judgement::Unknown(_) => ProbeVerdict::Unknown,
        }
    }

    /// The evidence for the job that asked for it.
    pub(super) fn outcome(&self, job: &ProbeJob) -> Option<Outcome> {
        let source = if job.trial.is_some() { Source::Trial } else { Source::Probe };
        let generation = job.trial.as_ref().map_or(job.generation, |lease| lease.generation);
        let mut outcome = self.evidence(source, generation)?;
        outcome.trial = job.trial.as_ref().map(|lease| lease.id);
        Some(outcome)
    }

    /// The evidence, if there is any.
    pub(super) fn evidence(&self, source: Source, generation: Generation) -> Option<Outcome> {
        let mut outcome = Outcome::new(Class::Ok, source, self.sent_at, generation);
        outcome.depth = self.depth;
        outcome.proof = self.proof;
        outcome.latency = self.latency;
        outcome.price_nanousd = self.price.map_or(0, nanodollars);
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

/// The limits of one request of a probe: in all what is `left`, and in its phases those of the deployment's calls.
fn deadlines(deployment: &Deployment, left: Duration) -> Deadlines {
    Deadlines { first_byte: deployment.model.timeouts.first_byte, ..Deadlines::total(left) }
}
