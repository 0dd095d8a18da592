//! One attempt's evidence: every way out of an attempt reports exactly one outcome.
//!
//! A guard that is dropped without a verdict is a caller who left. That blames nobody, except when nothing at all
//! had come for longer than `hang_after`: patient providers that never answer would otherwise never be learnt
//! from impatient callers (report D10).

use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Class, Effect, Generation, InFlight, Outcome, Source, Timestamp, TrialLease};
use haleway_routing::{Running, Sample};
use haleway_wire::chat::Usage;

use crate::call::failure::Failed;
use crate::call::realtime::Talk;
use crate::deployment::Deployment;
use crate::gateway::{Gateway, Live};

/// An attempt that has not ended.
#[derive(Debug)]
pub(crate) struct Attempt {
    gateway: Arc<Gateway>,
    deployment: Arc<Deployment>,
    generation: Generation,
    trial: Option<TrialLease>,
    sent_at: Timestamp,
    first_token: Option<Duration>,
    heard: bool,
    in_flight: Option<InFlight>,
    running: Option<Running>,
    open: bool,
}

impl Attempt {
    /// Begins an attempt.
    pub(crate) fn begin(
        gateway: &Arc<Gateway>,
        live: &Live,
        deployment: &Arc<Deployment>,
        generation: Generation,
        trial: Option<TrialLease>,
    ) -> Self {
        let now = gateway.clock.now();
        Self {
            gateway: Arc::clone(gateway),
            deployment: Arc::clone(deployment),
            generation: trial.as_ref().map_or(generation, |lease| lease.generation),
            trial,
            sent_at: now,
            first_token: None,
            heard: false,
            in_flight: gateway.hub.begin(now, deployment.slot),
            running: live.stats.begin(deployment.slot, now),
            open: true,
        }
    }

    /// The deployment that is tried.
    pub(crate) fn deployment(&self) -> &Arc<Deployment> {
        &self.deployment
    }

    /// The gateway.
    pub(crate) fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Notes that the head of an answer came: whatever follows, this was no hang.
    pub(crate) const fn heard(&mut self) {
        self.heard = true;
    }

    /// Notes output: the first is the latency that callers feel, later ones show that the stream lives.
    pub(crate) fn output(&mut self) {
        let now = self.gateway.clock.now();
        if let Some(in_flight) = &self.in_flight {
            in_flight.output(now);
        }
        if self.first_token.is_none() {
            let latency = now.since(self.sent_at);
            self.first_token = Some(latency);
            if let Some(running) = &self.running {
                running.first_token(now, latency);
            }
        }
    }

    /// The attempt served its request.
    pub(crate) fn succeed(mut self, usage: Option<Usage>) {
        self.open = false;
        let now = self.gateway.clock.now();
        let latency = now.since(self.sent_at);
        if let Some(running) = self.running.take() {
            running.served(
                now,
                &Sample {
                    total: latency,
                    first_token: self.first_token,
                    completion_tokens: usage.map_or(0, |usage| usage.completion_tokens),
                    total_tokens: usage.map_or(0, |usage| usage.total_tokens),
                },
            );
        }
        self.report_success(now, latency);
    }

    /// The attempt began a session: a success, now. The session stays in flight for the choice of deployments; its
    /// silences are the caller's as well and no hang.
    pub(crate) fn open(mut self) -> Talk {
        self.open = false;
        self.in_flight = None;
        let now = self.gateway.clock.now();
        let latency = self.first_token.unwrap_or_else(|| now.since(self.sent_at));
        self.report_success(now, latency);
        Talk {
            gateway: Arc::clone(&self.gateway),
            deployment: Arc::clone(&self.deployment),
            generation: self.generation,
            running: self.running.take(),
            latency,
            heard_at: now,
        }
    }

    fn report_success(&self, now: Timestamp, latency: Duration) {
        let slot = self.deployment.slot;
        if self.trial.is_some() {
            self.gateway.hub.report(now, slot, &self.outcome(Class::Ok, latency));
        } else {
            self.gateway.hub.succeeded(now, slot, self.sent_at, latency, self.first_token);
        }
        self.deployment.metrics.served();
    }

    /// The attempt served a request that proves nothing of the model, such as a count of tokens: no verdict of health.
    pub(crate) fn finish_unjudged(mut self) {
        self.open = false;
        if self.trial.is_some() {
            let now = self.gateway.clock.now();
            let mut outcome = self.outcome(Class::Cancelled, now.since(self.sent_at));
            outcome.reason = "proves_nothing";
            self.gateway.hub.report(now, self.deployment.slot, &outcome);
        }
        self.deployment.metrics.served();
    }

    /// The attempt failed. The evidence is the caller's to report, because what a 500 means depends on how the
    /// same request fares elsewhere.
    #[must_use = "evidence must be reported"]
    pub(crate) fn fail(mut self, failed: &Failed) -> Evidence {
        self.open = false;
        let now = self.gateway.clock.now();
        let latency = now.since(self.sent_at);
        let class = if failed.neutral { Class::Cancelled } else { failed.class };
        if let Some(running) = self.running.take() {
            match class.effect() {
                Effect::Hard | Effect::Soft => running.failed(now, latency),
                Effect::Ok | Effect::Alive | Effect::Neutral | Effect::Config | Effect::Budget => {
                    drop(running)
                }
            }
        }
        let mut outcome = self.outcome(class, latency);
        outcome.scope = failed.scope;
        outcome.reason = failed.reason;
        outcome.status = failed.litellm_status();
        outcome.retry_after = failed.retry_after;
        let blamed = !matches!(class.effect(), Effect::Neutral | Effect::Alive);
        self.deployment.metrics.failed(failed.class, failed.litellm_status(), blamed);
        Evidence {
            gateway: Arc::clone(&self.gateway),
            deployment: Arc::clone(&self.deployment),
            outcome: Some(outcome),
        }
    }

    /// The caller left.
    fn abandon(&mut self) {
        let now = self.gateway.clock.now();
        let waited = now.since(self.sent_at);
        let silent = !self.heard && waited >= self.deployment.model.health.stream.hang_after;
        let mut outcome = self.outcome(if silent { Class::Timeout } else { Class::Cancelled }, waited);
        outcome.reason = if silent { "hang" } else { "caller_left" };
        outcome.status = if silent { 408 } else { 0 };
        self.deployment.metrics.failed(outcome.class, outcome.status, silent);
        self.gateway.hub.report(now, self.deployment.slot, &outcome);
    }

    fn outcome(&self, class: Class, latency: Duration) -> Outcome {
        let source = if self.trial.is_some() { Source::Trial } else { Source::Traffic };
        let mut outcome = Outcome::new(class, source, self.sent_at, self.generation);
        outcome.latency = latency;
        outcome.first_token = self.first_token;
        outcome.trial = self.trial.as_ref().map(|lease| lease.id);
        outcome
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.open {
            self.abandon();
        }
    }
}

/// The evidence of a failed attempt. Reported when dropped, at the latest.
#[derive(Debug)]
pub(crate) struct Evidence {
    gateway: Arc<Gateway>,
    deployment: Arc<Deployment>,
    outcome: Option<Outcome>,
}

impl Evidence {
    /// Whether the request itself may be what is broken: a plain 500 says no more than that something failed, while
    /// 502 to 504 speak of the path. A trial's verdict never waits.
    pub(crate) fn may_be_the_requests_fault(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| {
            outcome.class == Class::ServerError && outcome.status == 500 && outcome.trial.is_none()
        })
    }

    /// The deployment that failed.
    pub(crate) fn deployment(&self) -> &Arc<Deployment> {
        &self.deployment
    }

    /// The same request failed elsewhere too.
    pub(crate) fn shared(mut self, fingerprint: u64) {
        if let Some(outcome) = &mut self.outcome {
            outcome.shared_failure = Some(fingerprint);
        }
    }

    /// Reports now.
    pub(crate) fn report(self) {}
}

impl Drop for Evidence {
    fn drop(&mut self) {
        if let Some(outcome) = self.outcome.take() {
            self.gateway.hub.report(self.gateway.clock.now(), self.deployment.slot, &outcome);
        }
    }
}
