//! The operator's wishes for a deployment's probe: LiteLLM's `model_info.health_check_*` keys and the
//! environment variables behind them.

use serde_json::{Map, Value};

/// What the operator set about a deployment's probe. The default sets nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeSettings {
    /// `health_check_model`: the model to probe instead of the deployment's, used verbatim.
    pub model: Option<String>,
    /// `health_check_params`: fields of the probe's body that outrank everything else.
    pub params: Map<String, Value>,
    /// `health_check_max_tokens`: the output cap, whatever the model.
    pub max_tokens: Option<u64>,
    /// `health_check_max_tokens_reasoning`: the output cap when the model reasons.
    pub max_tokens_reasoning: Option<u64>,
    /// `health_check_max_tokens_non_reasoning`: the output cap when the model does not.
    pub max_tokens_non_reasoning: Option<u64>,
    /// `BACKGROUND_HEALTH_CHECK_MAX_TOKENS`.
    pub env_max_tokens: Option<u64>,
    /// `BACKGROUND_HEALTH_CHECK_MAX_TOKENS_REASONING`.
    pub env_max_tokens_reasoning: Option<u64>,
    /// `health_check_reasoning_effort`.
    pub reasoning_effort: Option<String>,
    /// `health_check_supports_max_tokens`: `false` sends no cap, `true` sends one in every mode that generates.
    pub supports_max_tokens: Option<bool>,
    /// `health_check_voice`.
    pub voice: Option<String>,
    /// `haleway.probe.http`: what a service of mode `http` is asked.
    pub http: Option<super::HttpCheck>,
    /// The wall clock in milliseconds, by which a model that is retired does not stand for a wildcard; `None` = dates
    /// are not looked at.
    pub now_ms: Option<u64>,
    /// `DEFAULT_HEALTH_CHECK_PROMPT`: the text of probes that are not chat.
    pub prompt: Option<String>,
}
