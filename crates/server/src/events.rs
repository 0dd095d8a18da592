//! What the health core did, told to logs and metrics.
//!
//! State is logged when it changes, never per request. The texts that operators of LiteLLM look for (seed 003's
//! troubleshooting list) are kept word for word.

use std::sync::Arc;

use haleway_health::{
    Cause, Event, EventKind, GroupReason, PanicState, Rank, Slot, State, Tier, Timestamp, Transition,
};

use crate::gateway::Gateway;

/// Reads the health core's events from where it left off.
#[derive(Debug)]
pub(crate) struct EventLog {
    gateway: Arc<Gateway>,
    next: u64,
    round_ends: Timestamp,
}

impl EventLog {
    pub(crate) fn new(gateway: &Arc<Gateway>) -> Self {
        let now = gateway.clock.now();
        let log = Self { gateway: Arc::clone(gateway), next: 0, round_ends: now };
        for deployment in gateway.live.load().each() {
            deployment.metrics.state(State::Unknown.number().into());
        }
        log
    }

    /// Tells what happened since the last call.
    pub(crate) fn tell(&mut self, now: Timestamp) {
        let drained = self.gateway.hub.events(self.next);
        self.next = drained.next;
        if drained.missed > 0 {
            tracing::warn!(missed = drained.missed, "more events than could be told");
        }
        let changed = !drained.events.is_empty();
        for event in drained.events {
            self.tell_one(&event);
        }
        if changed || now >= self.round_ends {
            self.round(now);
        }
    }

    /// LiteLLM's line after each cycle of checks.
    fn round(&mut self, now: Timestamp) {
        let live = self.gateway.live.load();
        let general = &live.config.general;
        self.round_ends = now + general.health_check_interval;
        if !general.background_health_checks {
            return;
        }
        let snapshot = self.gateway.hub.snapshot();
        let (mut healthy, mut unhealthy) = (0, 0);
        for deployment in live.each() {
            if snapshot.verdict(deployment.slot).state.eligible() { healthy += 1 } else { unhealthy += 1 }
        }
        tracing::debug!("health_check_routing_state_updated healthy={healthy} unhealthy={unhealthy}");
    }

    fn tell_one(&self, event: &Event) {
        match &event.kind {
            EventKind::Moved { slot, id, group, transition, local_only, .. } => {
                self.moved(*slot, id, group, transition, *local_only);
            }
            EventKind::Panic { group: _, name, from, to, reason } => self.panic(name, *from, *to, *reason),
            EventKind::Pod { suspect: true } => tracing::warn!(
                "several unrelated providers stopped answering at once: this process suspects itself, its verdicts stay local"
            ),
            EventKind::Pod { suspect: false } => tracing::info!("this process no longer suspects itself"),
        }
    }

    fn moved(&self, slot: Slot, id: &str, group: &str, transition: &Transition, local_only: bool) {
        let live = self.gateway.live.load();
        let Some(deployment) = live.deployment(slot) else { return };
        deployment.metrics.state(transition.to.number().into());
        deployment.metrics.transition(transition.to.as_str(), transition.cause.as_str());
        let (from, to, cause) = (transition.from.as_str(), transition.to.as_str(), transition.cause.as_str());
        if transition.from.eligible() && !transition.to.eligible() {
            if matches!(transition.cause, Cause::Policy(_)) {
                tracing::debug!("checks 'should_run_cooldown_logic'");
                tracing::debug!("Attempting to add {id} to cooldown list");
            }
            deployment.metrics.cooled_down(transition.evidence.map_or(0, |evidence| evidence.status));
            let explanation = self.gateway.hub.detail(slot, transition.at).map(|detail| detail.explanation);
            tracing::warn!(
                deployment = id,
                model_group = group,
                from,
                to,
                cause,
                local_only,
                "out of rotation: {}",
                explanation.unwrap_or_default()
            );
        } else if !transition.from.eligible() && transition.to.eligible() {
            deployment.metrics.returned();
            // Old scores must not starve a deployment that is back.
            live.stats.restart(slot);
            tracing::info!(deployment = id, model_group = group, from, to, cause, "back in rotation");
        } else {
            tracing::debug!(deployment = id, model_group = group, from, to, cause, "state changed");
        }
    }

    fn panic(&self, name: &str, from: PanicState, to: PanicState, reason: GroupReason) {
        self.gateway.metrics.named_by_caller(name).panic(to != PanicState::Calm);
        if to == PanicState::Calm {
            tracing::info!(model_group = name, from = from.as_str(), "enough deployments are in again");
            return;
        }
        if reason == GroupReason::NoneLeft && self.is_bypassed(name) {
            if self.only_probes_failed(name) {
                tracing::warn!("All deployments marked unhealthy by health checks, bypassing health filter");
            } else {
                tracing::warn!(
                    "All deployments in cooldown via health-check routing, bypassing cooldown filter"
                );
            }
        }
        tracing::warn!(
            model_group = name,
            from = from.as_str(),
            to = to.as_str(),
            reason = reason.as_str(),
            "too few deployments are in"
        );
    }

    /// Whether probes route, and traffic goes on to a group that has no member in rotation.
    fn is_bypassed(&self, name: &str) -> bool {
        let live = self.gateway.live.load();
        let snapshot = self.gateway.hub.snapshot();
        let Some(group) = snapshot.find_group(name).and_then(|ix| snapshot.group(ix)) else { return false };
        live.config.general.enable_health_check_routing
            && group.slots.iter().any(|slot| snapshot.entry(*slot).tier != Tier::Never)
    }

    /// Whether the group is out by failed probes alone.
    fn only_probes_failed(&self, name: &str) -> bool {
        let snapshot = self.gateway.hub.snapshot();
        let Some(group) = snapshot.find_group(name).and_then(|ix| snapshot.group(ix)) else { return false };
        group.slots.iter().all(|slot| snapshot.entry(*slot).tier == Tier::ProbeFailed)
            || group.slots.iter().all(|slot| snapshot.entry(*slot).rank == Rank::ProbeFailed)
    }
}
