//! `general_settings`, and what else of `litellm_settings` has an effect.

use std::time::Duration;

use secrecy::SecretString;

/// `general_settings`.
#[derive(Clone, Debug)]
pub struct General {
    /// `master_key`, else `LITELLM_MASTER_KEY`.
    pub master_key: Option<SecretString>,
    /// `litellm_key_header_name`: one more header that may carry the caller's key.
    pub key_header: Option<String>,
    /// `forward_client_headers_to_llm_api`: a caller's own headers reach the provider.
    pub forward_client_headers: bool,
    /// Whether deployments are probed in the background. See the book on `background_health_checks`: any
    /// true-ish value does; without the key, only `haleway.profile` or a `haleway.health` key turns it on.
    pub background_health_checks: bool,
    /// `health_check_interval`, the period of probes, before overrides of groups and deployments.
    pub health_check_interval: Duration,
    /// `use_shared_health_check`, whether or not there is a Redis.
    pub use_shared_health_check: bool,
    /// `health_check_details`: whether `/health` shows more than model and mode.
    pub health_check_details: bool,
    /// `enable_health_check_routing`.
    pub enable_health_check_routing: bool,
    /// `model_list_healthy_only`: model lists hide groups with no healthy deployment.
    pub model_list_healthy_only: bool,
    /// `max_parallel_requests` of the whole process (the smaller of it and `global_max_parallel_requests`).
    pub max_parallel_requests: Option<u32>,
    /// `max_request_size_mb`, in bytes.
    pub max_request_bytes: Option<u64>,
    /// `allow_public_health_readiness_details`: literal true only.
    pub public_readiness_details: bool,
    /// `store_model_in_db`, or `STORE_MODEL_IN_DB`: models can be added while it runs, and live in the database.
    pub store_models: bool,
    /// What secrets of stored models are sealed with, and may have been: `HALEWAY_SALT_KEY`, `LITELLM_SALT_KEY`, the
    /// master key. The first seals.
    pub salt_keys: Vec<SecretString>,
}

/// What else of `litellm_settings` has an effect.
#[derive(Clone, Debug, Default)]
pub struct Litellm {
    /// `json_logs`, or `JSON_LOGS`: logs as JSON lines.
    pub json_logs: bool,
    /// `set_verbose`: logs at level debug.
    pub set_verbose: bool,
}
