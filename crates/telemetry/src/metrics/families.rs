//! Every metric family of the process, by name, with its help text: the one place where names are written.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::labels::{
    AttemptClass, Group, Info, Litellm, LitellmStatus, Probe, Provider, Request, Rung, Stated, Transition,
};

pub(super) type Dollars = Counter<f64, AtomicU64>;

#[derive(Debug, Default)]
pub(super) struct Families {
    pub(super) state: Family<Stated, Gauge>,
    pub(super) info: Family<Info, Gauge>,
    pub(super) transitions: Family<Transition, Counter>,
    pub(super) probes: Family<Probe, Counter>,
    pub(super) probe_requests: Family<Rung, Counter>,
    pub(super) probe_cost: Family<Rung, Dollars>,
    pub(super) attempts: Family<AttemptClass, Counter>,
    pub(super) requests: Family<Request, Counter>,
    pub(super) panic: Family<Group, Gauge>,
    pub(super) unlisted: Family<Provider, Counter>,
    pub(super) trials_granted: Counter,
    pub(super) trials_lost: Counter,
    pub(super) late_verdicts: Counter,
    pub(super) litellm_state: Family<Litellm, Gauge>,
    pub(super) litellm_cooled: Family<LitellmStatus, Counter>,
    pub(super) litellm_success: Family<Litellm, Counter>,
    pub(super) litellm_failure: Family<LitellmStatus, Counter>,
    pub(super) litellm_total: Family<Litellm, Counter>,
}

impl Families {
    /// Registers every family. The encoder adds `_total` to counters.
    pub(super) fn register(&self, registry: &mut Registry) {
        self.register_deployments(registry);
        self.register_traffic(registry);
        self.register_litellm(registry);
    }

    fn register_deployments(&self, registry: &mut Registry) {
        registry.register(
            "haleway_deployment_state",
            "State of a deployment, as the number in the manual's table of states",
            self.state.clone(),
        );
        registry.register(
            "haleway_deployment_info",
            "What may change of a deployment: model, provider, base URL; always 1",
            self.info.clone(),
        );
        registry.register(
            "haleway_transitions",
            "Changes of a deployment's state, by new state and cause",
            self.transitions.clone(),
        );
        registry.register("haleway_probes", "Probes sent, by verdict", self.probes.clone());
        registry.register(
            "haleway_probe_requests",
            "Requests that probes sent, repairs and free ones included, by what they were for",
            self.probe_requests.clone(),
        );
        registry.register(
            "haleway_probe_cost_usd",
            "Price of probes in US dollars, by what they were for; estimates where answers state no usage",
            self.probe_cost.clone(),
        );
        registry.register("haleway_trials_granted", "Trials granted", self.trials_granted.clone());
        registry.register(
            "haleway_trials_lost",
            "Trials without a verdict in time",
            self.trials_lost.clone(),
        );
        registry.register(
            "haleway_late_verdicts",
            "Results that came after the state they belong to had ended, and moved nothing",
            self.late_verdicts.clone(),
        );
    }

    fn register_traffic(&self, registry: &mut Registry) {
        registry.register(
            "haleway_requests",
            "Requests answered, by class of status; callers who left are 'cancelled'",
            self.requests.clone(),
        );
        registry.register("haleway_attempts", "Attempts on a deployment, by result", self.attempts.clone());
        registry.register(
            "haleway_panic",
            "1 while a model group sends traffic to deployments believed to be out",
            self.panic.clone(),
        );
        registry.register(
            "haleway_unlisted_errors",
            "Error answers that no rule of the provider names",
            self.unlisted.clone(),
        );
    }

    fn register_litellm(&self, registry: &mut Registry) {
        registry.register(
            "litellm_deployment_state",
            "0 healthy, 1 partial outage, 2 complete outage; LiteLLM's name",
            self.litellm_state.clone(),
        );
        registry.register(
            "litellm_deployment_cooled_down",
            "Times a deployment left rotation, by status; LiteLLM's name",
            self.litellm_cooled.clone(),
        );
        registry.register(
            "litellm_deployment_success_responses",
            "Attempts that a deployment served; LiteLLM's name",
            self.litellm_success.clone(),
        );
        registry.register(
            "litellm_deployment_failure_responses",
            "Attempts that a deployment failed, by status; LiteLLM's name",
            self.litellm_failure.clone(),
        );
        registry.register(
            "litellm_deployment_total_requests",
            "Attempts on a deployment; LiteLLM's name",
            self.litellm_total.clone(),
        );
    }
}
