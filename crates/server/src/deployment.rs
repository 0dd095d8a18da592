//! One deployment, ready to be called: where to, over which pool, within which deadlines, under which names.

use std::sync::Arc;
use std::time::Duration;

use haleway_config::Model;
use haleway_health::Slot;
use haleway_providers::catalogue::Usd;
use haleway_providers::credential::is_rejected;
use haleway_providers::{Probe, ProbeMemory, Target};
use haleway_telemetry::DeploymentMetrics;
use haleway_upstream::{CredentialFault, CredentialHandle, Deadlines, Lease, Upstream};
use http::{HeaderMap, HeaderValue};

/// One deployment of the running configuration.
#[derive(Debug)]
pub struct Deployment {
    /// Its place in the process's tables.
    pub slot: Slot,
    /// Its entry in the configuration.
    pub model: Model,
    /// Where its calls go.
    pub target: Target,
    /// Its pool of connections.
    pub upstream: Upstream,
    /// Its credential, when it is fetched.
    pub credential: Option<CredentialHandle>,
    /// Header values that name it in every response.
    pub names: Names,
    /// Its series.
    pub metrics: Arc<DeploymentMetrics>,
}

/// Header values that name a deployment, made once.
#[derive(Debug)]
pub struct Names {
    /// `x-litellm-model-id`
    pub id: HeaderValue,
    /// `x-litellm-model-name`
    pub model: HeaderValue,
    /// `x-litellm-model-api-base`
    pub api_base: HeaderValue,
}

impl Names {
    /// The names of `model`, resolved to `target`.
    pub fn new(model: &Model, target: &Target) -> Self {
        Self {
            id: header_value(&model.id),
            model: header_value(&target.full_model),
            api_base: header_value(&target.api_base),
        }
    }
}

/// A header value of `text`; what a header cannot carry becomes `?`.
pub(crate) fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| {
        let clean: String =
            text.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
        HeaderValue::from_str(&clean).unwrap_or(HeaderValue::from_static("?"))
    })
}

/// An amount in whole billionths of a dollar, rounded down.
pub(crate) fn nanodollars(usd: Usd) -> u64 {
    u64::try_from(usd.femtodollars() / 1_000_000).unwrap_or(u64::MAX)
}

/// Limits of one call that the router and the caller set.
#[derive(Debug, Clone, Copy)]
pub struct CallLimits {
    /// `router_settings.timeout` or `request_timeout`.
    pub timeout: Duration,
    /// `router_settings.stream_timeout`.
    pub stream_timeout: Option<Duration>,
    /// What the caller asked for in `x-litellm-timeout`.
    pub caller: Option<Duration>,
}

impl CallLimits {
    /// How long a call may take when its caller set no limit.
    pub(crate) fn of_call(&self, stream: bool) -> Duration {
        self.stream_timeout.filter(|_| stream).unwrap_or(self.timeout)
    }
}

/// The deadlines of one attempt, and whether the caller's own is the one that ends it.
#[derive(Debug, Clone, Copy)]
pub struct AttemptLimits {
    /// For the transport.
    pub deadlines: Deadlines,
    /// A timeout of the whole call is the caller's, so it says nothing about the deployment.
    pub by_caller: bool,
}

impl AttemptLimits {
    /// The limit that LiteLLM calls the timeout of a call: to the first output of a stream, else to the end.
    pub fn stated(&self) -> Duration {
        self.deadlines.first_token.or(self.deadlines.total).unwrap_or_default()
    }
}

impl Deployment {
    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.model.id
    }

    /// What its calls are authorised with now. Waits only when the credential is fetched and there is none.
    ///
    /// # Errors
    /// When none can be had: a fault of this process, not of the provider.
    pub async fn authorise(&self) -> Result<Lease, CredentialFault> {
        match &self.credential {
            None => Ok(Lease::configured()),
            Some(handle) => handle.current().await,
        }
    }

    /// Another credential than `used`, which the provider answered with `status` and `headers`; `None` when that was no
    /// refusal of the credential, or there is no other.
    pub async fn authorise_anew(&self, used: &Lease, status: u16, headers: &HeaderMap) -> Option<Lease> {
        let handle = self.credential.as_ref().filter(|_| is_rejected(status, headers))?;
        handle.renewed(used).await
    }

    /// What one real probe costs at most, as estimated from its request. `None` when the price is not known or no
    /// probe can be built.
    pub fn probe_price(&self) -> Option<Usd> {
        let settings = &self.model.info.probe;
        let probe = self.target.probe(self.target.mode, settings, &ProbeMemory::default(), 0).ok()?;
        self.estimate(&probe)
    }

    /// What `probe` costs at most, as estimated from its request; `None` when the price is not known.
    pub(crate) fn estimate(&self, probe: &Probe) -> Option<Usd> {
        if probe.is_free() {
            return Some(Usd::ZERO);
        }
        probe.prices.cost(&probe.expect.asks(&probe.call.body.to_bytes()))
    }

    /// The most tokens a request to it may have: its own limit, else the catalogue's.
    pub fn max_input_tokens(&self) -> Option<u64> {
        let listed = || self.target.known.as_ref()?.facts().max_input_tokens;
        self.model.info.max_input_tokens.or_else(listed)
    }

    /// The deadlines of an attempt that may take what is `left` of the call's time.
    pub fn limits(&self, stream: bool, limits: CallLimits, left: Option<Duration>) -> AttemptLimits {
        let params = &self.model.params;
        let own = params.timeout.unwrap_or(limits.timeout);
        let streamed = params.stream_timeout.or(limits.stream_timeout);
        let caller = match (limits.caller, left) {
            (Some(_), Some(left)) => Some(left),
            (caller, _) => caller,
        };
        let by_caller = caller.is_some_and(|caller| caller < own);
        let total = caller.map_or(own, |caller| caller.min(own));
        let (health, first_byte) = (&self.model.health.stream, self.model.timeouts.first_byte);
        let deadlines = if stream {
            Deadlines {
                first_token: Some(streamed.unwrap_or(health.first_token).min(total)),
                gap: Some(health.gap.min(streamed.unwrap_or(own))),
                total: by_caller.then_some(total),
                first_byte,
            }
        } else {
            Deadlines { first_byte, ..Deadlines::total(total) }
        };
        AttemptLimits { deadlines, by_caller }
    }
}
