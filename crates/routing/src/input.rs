//! What a table is built from: plain values, lowered from the configuration by whoever owns it.
//!
//! Routing lies below the configuration, so it names what it needs here and knows nothing of files, origins or
//! secrets.

use std::collections::BTreeMap;
use std::sync::Arc;

use haleway_health::Slot;

use crate::retry::RetryPolicy;

/// One deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Its place in the process's tables.
    pub slot: Slot,
    /// Its id, unique in the table. A request may name it instead of a group.
    pub id: Arc<str>,
    /// The name callers ask for (`model_name`). A `*` in it makes the group a wildcard.
    pub group: Arc<str>,
    /// The model on the wire when it holds a `*` that the caller's text replaces; `None` when it is fixed.
    pub pattern: Option<Arc<str>>,
    /// `weight`.
    pub weight: Option<f64>,
    /// `rpm`: requests per minute; a share for simple-shuffle, a limit where limits are enforced.
    pub rpm: Option<u64>,
    /// `tpm`: tokens per minute; likewise.
    pub tpm: Option<u64>,
    /// `max_parallel_requests`: always a limit.
    pub max_parallel: Option<u32>,
    /// `order`: the lowest present takes all traffic. `None` comes after every number.
    pub order: Option<i32>,
    /// `tags`.
    pub tags: Vec<Arc<str>>,
    /// `max_input_tokens`, for pre-call checks.
    pub max_input_tokens: Option<u64>,
    /// Price of one input token plus one output token, in US dollars.
    pub price: Option<f64>,
    /// `blocked`: never used, whatever its health.
    pub blocked: bool,
}

impl Deployment {
    /// A deployment of `group` without any option.
    pub fn new(slot: Slot, id: &str, group: &str) -> Self {
        Self {
            slot,
            id: id.into(),
            group: group.into(),
            pattern: None,
            weight: None,
            rpm: None,
            tpm: None,
            max_parallel: None,
            order: None,
            tags: Vec::new(),
            max_input_tokens: None,
            price: None,
            blocked: false,
        }
    }
}

/// Another name of a group (`model_group_alias`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The name callers ask for.
    pub name: Arc<str>,
    /// The group it stands for; may itself be served by a wildcard.
    pub target: Arc<str>,
    /// Whether model listings leave it out.
    pub hidden: bool,
}

/// Where calls of a group go when the group cannot serve them. The name `*` stands for every group that has no
/// entry of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fallbacks {
    /// `fallbacks`, for every cause without a chain of its own.
    pub general: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// `context_window_fallbacks`.
    pub context_window: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// `content_policy_fallbacks`.
    pub content_policy: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// `default_fallbacks`: the general chain of every group that has none.
    pub default: Vec<Arc<str>>,
}

/// How one of several admissible deployments is picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// Random by share: the first of `weight`, `rpm`, `tpm` that any candidate has, else even.
    SimpleShuffle,
    /// The fewest requests in flight.
    LeastBusy,
    /// The lowest recent latency.
    Latency {
        /// Those slower than the fastest by at most this share are as good (`lowest_latency_buffer`).
        buffer: f32,
    },
    /// The fewest tokens this minute, within `rpm` and `tpm`.
    UsageBased,
    /// The lowest price, within `rpm` and `tpm`.
    CostBased,
    /// The better of two random ones by latency to the first token, decayed from its peak, times load.
    P2cEwma,
}

impl Strategy {
    /// Names that a configuration may use, in LiteLLM's spelling, then ours.
    pub const NAMES: [&'static str; 7] = [
        "simple-shuffle",
        "least-busy",
        "latency-based-routing",
        "usage-based-routing",
        "usage-based-routing-v2",
        "cost-based-routing",
        "p2c-ewma",
    ];

    /// The strategy with this name; `latency_buffer` is `routing_strategy_args.lowest_latency_buffer` (0).
    pub fn from_name(name: &str, latency_buffer: f32) -> Option<Self> {
        match name {
            "simple-shuffle" => Some(Self::SimpleShuffle),
            "least-busy" => Some(Self::LeastBusy),
            "latency-based-routing" => Some(Self::Latency { buffer: latency_buffer.max(0.0) }),
            "usage-based-routing" | "usage-based-routing-v2" => Some(Self::UsageBased),
            "cost-based-routing" => Some(Self::CostBased),
            "p2c-ewma" => Some(Self::P2cEwma),
            _ => None,
        }
    }

    /// The name it is shown by.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SimpleShuffle => "simple-shuffle",
            Self::LeastBusy => "least-busy",
            Self::Latency { .. } => "latency-based-routing",
            Self::UsageBased => "usage-based-routing-v2",
            Self::CostBased => "cost-based-routing",
            Self::P2cEwma => "p2c-ewma",
        }
    }

    /// Whether LiteLLM's strategy of this name keeps to `rpm` and `tpm` by itself.
    pub const fn enforces_limits(self) -> bool {
        match self {
            Self::Latency { .. } | Self::UsageBased | Self::CostBased => true,
            Self::SimpleShuffle | Self::LeastBusy | Self::P2cEwma => false,
        }
    }
}

/// Settings of the router as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How a deployment is picked.
    pub strategy: Strategy,
    /// `num_retries`; `None` is LiteLLM's default of [`DEFAULT_NUM_RETRIES`].
    pub num_retries: Option<u32>,
    /// `retry_after`: the shortest wait before the same deployment is tried again.
    pub retry_after: std::time::Duration,
    /// `retry_policy` of the router.
    pub retry_policy: RetryPolicy,
    /// `model_group_retry_policy`.
    pub group_retry_policy: BTreeMap<Arc<str>, RetryPolicy>,
    /// `max_fallbacks`: fallback groups one call may enter.
    pub max_fallbacks: u32,
    /// `rpm` and `tpm` are limits whatever the strategy.
    pub enforce_limits: bool,
    /// `enable_pre_call_checks`: leave out deployments whose context is too small for the prompt.
    pub pre_call_checks: bool,
    /// `enable_tag_filtering`.
    pub tag_filtering: bool,
    /// `tag_filtering_match_any`: one common tag is enough; otherwise all of the call's tags must match.
    pub tags_match_any: bool,
}

/// Retries of a call when the configuration names no number: LiteLLM's router takes the OpenAI client's
/// default, which is 2.
pub const DEFAULT_NUM_RETRIES: u32 = 2;

/// Fallback groups that one call may enter when the configuration names no number (LiteLLM's default).
pub const DEFAULT_MAX_FALLBACKS: u32 = 5;

impl Settings {
    /// Whether `rpm` and `tpm` are limits.
    pub const fn limits(&self) -> bool {
        self.enforce_limits || self.strategy.enforces_limits()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            strategy: Strategy::SimpleShuffle,
            num_retries: None,
            retry_after: std::time::Duration::ZERO,
            retry_policy: RetryPolicy::default(),
            group_retry_policy: BTreeMap::new(),
            max_fallbacks: DEFAULT_MAX_FALLBACKS,
            enforce_limits: false,
            pre_call_checks: false,
            tag_filtering: false,
            tags_match_any: true,
        }
    }
}
