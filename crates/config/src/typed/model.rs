//! One entry of `model_list`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Params, ProbeParams, ProbePolicy, Slot};
use haleway_providers::catalogue::{Catalogue, Prices, Usd};
use haleway_providers::classify::StatusLists;
use haleway_providers::{DeploymentSource, Mode, ProbeSettings};
use haleway_routing as routing;
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::{Budget, PhaseTimeouts};
use crate::Origin;

/// Origins of the values that differ from their preset, by dotted key of the `haleway.health` section (or
/// LiteLLM's name where that is the only one).
pub type Origins = BTreeMap<&'static str, Origin>;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file, as it was named.
    pub file: Arc<Path>,
    /// The line, from 1.
    pub line: u32,
}

/// One deployment.
#[derive(Clone, Debug)]
pub struct Model {
    /// `model_name`: the model group it serves.
    pub name: Arc<str>,
    /// `model_info.id`, or 64 hexadecimal digits that stand for what decides where its calls go. Unique.
    pub id: Arc<str>,
    /// Where the entry begins.
    pub place: Place,
    /// It lives in the database, not in the file.
    pub stored: bool,
    /// `litellm_params`.
    pub params: LitellmParams,
    /// `model_info`.
    pub info: ModelInfo,
    /// The prices that the entry states, in `litellm_params` or `model_info`.
    pub prices: Prices,
    /// What is known about models: the same for every entry.
    pub catalogue: Catalogue,
    /// Numbers of its health machine.
    pub health: Params,
    /// How it is probed in the background; `None` = not at all.
    pub probe: Option<ProbeParams>,
    /// How it would be probed, whatever keeps it from being probed in the background.
    pub probe_params: ProbeParams,
    /// What its probes may use up in a day.
    pub budget: Budget,
    /// Statuses that are read otherwise than the tables do.
    pub statuses: StatusLists,
    /// Limits of single phases of its calls and probes.
    pub timeouts: PhaseTimeouts,
    /// `probe.policy` was said of it or of its group, not of everything.
    pub own_policy: bool,
    /// Deadline of a probe, also of one that somebody asks for: `health_check_timeout`, else the profile's.
    pub probe_timeout: Duration,
    /// Why it is not probed, when it is not: `background_health_checks_off`, `disabled`, `group_not_listed`,
    /// `policy_never`.
    pub skip_reason: Option<&'static str>,
    /// Where the health values came from.
    pub origins: Origins,
}

/// `litellm_params`.
#[derive(Clone, Default)]
pub struct LitellmParams {
    /// `model`, as written.
    pub model: String,
    /// `custom_llm_provider`.
    pub custom_llm_provider: Option<String>,
    /// `api_base`.
    pub api_base: Option<String>,
    /// `api_key`.
    pub api_key: Option<SecretString>,
    /// `api_version`; a date is kept as written.
    pub api_version: Option<String>,
    /// `organization`.
    pub organization: Option<String>,
    /// `rpm`: requests per minute.
    pub rpm: Option<u64>,
    /// `tpm`: tokens per minute.
    pub tpm: Option<u64>,
    /// `weight`.
    pub weight: Option<f64>,
    /// `order`.
    pub order: Option<i32>,
    /// `timeout`: of a whole call.
    pub timeout: Option<Duration>,
    /// `stream_timeout`: of a streamed call, to its first output.
    pub stream_timeout: Option<Duration>,
    /// `max_retries`: LiteLLM's name for retries inside its SDK; a synonym of `num_retries` here.
    pub max_retries: Option<u32>,
    /// `num_retries` of calls to this deployment.
    pub num_retries: Option<u32>,
    /// `max_parallel_requests`, or `router_settings.default_max_parallel_requests`.
    pub max_parallel_requests: Option<u32>,
    /// `tags`.
    pub tags: Vec<Arc<str>>,
    /// `drop_params`, or `litellm_settings.drop_params`.
    pub drop_params: bool,
    /// `additional_drop_params`.
    pub additional_drop_params: Vec<String>,
    /// `extra_headers`, in order. Values may be secret.
    pub extra_headers: Vec<(String, String)>,
    /// `extra_body`.
    pub extra_body: Option<Map<String, Value>>,
    /// Everything else: defaults of a call and settings of the provider, numbers as written. May hold secrets.
    pub rest: Map<String, Value>,
}

/// `model_info`.
#[derive(Clone, Debug, Default)]
pub struct ModelInfo {
    /// `mode`, as written.
    pub mode: Option<String>,
    /// `base_model`.
    pub base_model: Option<String>,
    /// `max_input_tokens`.
    pub max_input_tokens: Option<u64>,
    /// `blocked`: paused by an administrator; neither used nor probed.
    pub blocked: bool,
    /// `supports_assistant_prefill`: it goes on with a last message of the assistant; `None` = not said.
    pub supports_prefill: Option<bool>,
    /// `disable_background_health_check`.
    pub disable_background_health_check: bool,
    /// What the `health_check_*` keys, and the environment variables behind them, say about the probe's body.
    pub probe: ProbeSettings,
    /// The whole section as written, references resolved, without `haleway`: what `/v1/model/info` shows.
    pub shown: Map<String, Value>,
}

impl Model {
    /// How it is probed in the background when it serves `mode`; `None` = not at all. A mode whose real probes are
    /// costly is probed only while it is out, unless a policy was said of this deployment or its group: what is said
    /// of everything is not meant to buy pictures by the minute.
    pub fn probe_as(&self, mode: Mode) -> Option<ProbeParams> {
        self.probe.map(|_| self.probe_params_as(mode))
    }

    /// How it would be probed when it serves `mode`, whatever keeps it from being probed in the background.
    pub fn probe_params_as(&self, mode: Mode) -> ProbeParams {
        let probe = self.probe_params;
        let settled = self.own_policy || !mode.is_costly() || probe.policy == ProbePolicy::Never;
        ProbeParams { policy: if settled { probe.policy } else { ProbePolicy::OnlyWhenOut }, ..probe }
    }

    /// What the provider layer needs to decide where calls go. `env` is [`crate::Config::var`], `file`
    /// [`crate::Config::file`].
    pub fn source<'a>(
        &'a self,
        env: &'a dyn Fn(&str) -> Option<String>,
        file: &'a dyn Fn(&str) -> Option<String>,
    ) -> DeploymentSource<'a> {
        let params = &self.params;
        DeploymentSource {
            model: &params.model,
            custom_llm_provider: params.custom_llm_provider.as_deref(),
            statuses: &self.statuses,
            api_base: params.api_base.as_deref(),
            api_key: params.api_key.clone(),
            api_version: params.api_version.as_deref(),
            organization: params.organization.as_deref(),
            mode: self.info.mode.as_deref(),
            base_model: self.base_model(),
            prices: &self.prices,
            catalogue: &self.catalogue,
            extra_headers: &params.extra_headers,
            extra_body: params.extra_body.as_ref(),
            params: &params.rest,
            drop_params: params.drop_params,
            additional_drop_params: &params.additional_drop_params,
            env,
            file,
        }
    }

    /// `base_model`, of `model_info` or, as LiteLLM reads it too, of `litellm_params`.
    fn base_model(&self) -> Option<&str> {
        let own = || self.params.rest.get("base_model").and_then(Value::as_str);
        self.info.base_model.as_deref().or_else(own)
    }

    /// What the entry itself says to the router; limits and prices of the catalogue are not in it.
    pub fn routing(&self, slot: Slot) -> routing::Deployment {
        let params = &self.params;
        routing::Deployment {
            pattern: params.model.contains('*').then(|| params.model.as_str().into()),
            weight: params.weight,
            rpm: params.rpm,
            tpm: params.tpm,
            max_parallel: params.max_parallel_requests,
            order: params.order,
            tags: params.tags.clone(),
            max_input_tokens: self.info.max_input_tokens,
            price: self.prices.token_pair().map(Usd::dollars),
            // A service that is only watched serves no model.
            blocked: self.info.blocked || self.info.mode.as_deref() == Some(Mode::Http.as_str()),
            ..routing::Deployment::new(slot, &self.id, &self.name)
        }
    }
}

impl fmt::Debug for LitellmParams {
    /// Never header values, bodies or unnamed parameters: they may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LitellmParams")
            .field("model", &self.model)
            .field("custom_llm_provider", &self.custom_llm_provider)
            .field("api_base", &self.api_base)
            .field("api_key", &self.api_key)
            .field("rpm", &self.rpm)
            .field("tpm", &self.tpm)
            .field("weight", &self.weight)
            .field("order", &self.order)
            .field("timeout", &self.timeout)
            .field("rest", &self.rest.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
