//! One probe, from the question whether it may be sent to its evidence: budget, permit, requests, verdict.

use std::sync::Arc;
use std::time::Duration;

use haleway_config::Config;
use haleway_fleet::{Ask, Claim, Fleet, Grant, share_of};
use haleway_health::{
    Depth, ProbeDepth, ProbeEnd, ProbeJob, ProbePolicy, ProbeReason, Slot, Source, Timestamp,
};
use haleway_providers::catalogue::Usd;
use haleway_providers::{CannotProbe, Judgement};
use haleway_telemetry::{ProbeRung, ProbeVerdict};

use super::climb::{Climb, Found, NotReady, Ready, Unsent};
use super::ledger::{Caps, Stop};
use super::not_before;
use super::reports::{Report, Verdict};
use crate::deployment::Deployment;
use crate::fleet::{Reserved, Within};
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
    let gap = spacing(gateway, deployment, job);
    let (permit, reserved) = match claim(gateway, deployment, ready.budget(), gap, job.timeout).await {
        Within::Claim(Claim::Granted(permit), reserved) => (permit, reserved),
        Within::Claim(Claim::Wait(until), _) => {
            return ProbeEnd::Postponed(not_before(gateway.clock.now(), until));
        }
        Within::Stop(stop) => return ProbeEnd::OverBudget(used_up(deployment, stop)),
    };
    if !may_probe(gateway).await {
        settle(gateway, reserved, UNSENT).await;
        return ProbeEnd::Postponed(gateway.clock.now() + FOREIGN_WAIT);
    }
    let sent = Box::pin(ready.send(permit, job.timeout)).await;
    settle(gateway, reserved, paid(&sent)).await;
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
        tracing::warn!(
            cap = stop.cap.as_str(),
            "the day's budget for all probes is used up: until midnight UTC health comes from traffic and free calls"
        );
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
    let (permit, reserved) = match claim(gateway, deployment, ready.budget(), ON_DEMAND_GAP, timeout).await {
        Within::Claim(Claim::Granted(permit), reserved) => (permit, reserved),
        Within::Claim(Claim::Wait(_), _) => return OnDemand::TooSoon,
        Within::Stop(stop) => return OnDemand::OverBudget(used_up(deployment, stop)),
    };
    let sent = Box::pin(ready.send(permit, timeout)).await;
    settle(gateway, reserved, paid(&sent)).await;
    match sent {
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
            Some(free) if costly => {
                if out {
                    Climb::FreeFirst
                } else {
                    free
                }
            }
            Some(_) | None => Climb::Real,
        }),
    }
}

/// A permit for a probe of this price, within the budget of the fleet.
async fn claim(
    gateway: &Gateway,
    deployment: &Deployment,
    (caps, price): (Caps, Option<Usd>),
    gap: Duration,
    timeout: Duration,
) -> Within {
    let ask = Ask { deployment: deployment.id(), interval: gap, hold: timeout + Duration::from_secs(5) };
    match &gateway.share {
        Some(share) => share.claim_within(gateway, &ask, &caps, price).await,
        None => Within::Claim(gateway.fleet.claim(gateway.clock.now(), &ask).await, None),
    }
}

/// Paid requests of a probe, and their price, where it is known.
type Paid = (u32, Option<Usd>);
const UNSENT: Paid = (0, Some(Usd::ZERO));

fn paid(sent: &Result<(Found, Grant), Unsent>) -> Paid {
    sent.as_ref().map_or(UNSENT, |(found, _)| (found.paid_requests, found.price))
}

/// Writes down in the fleet's book what came of a reservation.
async fn settle(gateway: &Gateway, reserved: Option<Reserved>, (requests, price): Paid) {
    if let Some(share) = &gateway.share {
        share.settle(reserved, requests, price).await;
    }
}

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
        let report = Report {
            price: found.price,
            ..Report::new(verdict, found.sent_at, found.latency, &found.headers)
        };
        self.reports.put(deployment.slot, report.clone());
        report
    }
}
