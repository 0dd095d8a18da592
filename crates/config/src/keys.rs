//! Every key of LiteLLM's file that is known, by section, and what it does here: data, read by the checks and by
//! the generated reference.
//!
//! A key is either read by this version, or accepted without effect and said so with the reason, or unknown.

use haleway_providers::catalogue::PriceKind;

use Support::{Inert, Works};

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It has its effect.
    Works,
    /// It is accepted and has no effect, for this reason.
    Inert(&'static str),
}

/// A key of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub support: Support,
    /// Whether it is about health or cooldown: a file that sets one is run with `profile: litellm`.
    pub health: bool,
}

/// The sections of LiteLLM's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// The file itself.
    Top,
    /// An entry of `model_list`.
    Entry,
    /// `litellm_params`.
    Params,
    /// `model_info`.
    Info,
    /// `router_settings`.
    Router,
    /// `litellm_settings`.
    Litellm,
    /// `general_settings`.
    General,
}

impl Section {
    /// Every section, outermost first.
    pub const ALL: [Self; 7] =
        [Self::Top, Self::Entry, Self::Params, Self::Info, Self::Router, Self::Litellm, Self::General];

    /// How the section is called in a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Top => "top level",
            Self::Entry => "model_list",
            Self::Params => "litellm_params",
            Self::Info => "model_info",
            Self::Router => "router_settings",
            Self::Litellm => "litellm_settings",
            Self::General => "general_settings",
        }
    }

    const fn groups(self) -> &'static [Group] {
        match self {
            Self::Top => TOP,
            Self::Entry => ENTRY,
            Self::Params => PARAMS,
            Self::Info => INFO,
            Self::Router => ROUTER,
            Self::Litellm => LITELLM,
            Self::General => GENERAL,
        }
    }

    /// Its keys.
    pub fn keys(self) -> impl Iterator<Item = Key> {
        let key = |group: &'static Group| {
            let Group { support, health, names } = group;
            names.iter().map(|name| Key { name, support: *support, health: *health })
        };
        self.groups().iter().flat_map(key)
    }

    /// The key of this name.
    pub fn key(self, name: &str) -> Option<Key> {
        self.keys().find(|key| key.name == name)
    }
}

/// Keys that share what is said of them.
#[derive(Clone, Copy, Debug)]
struct Group {
    support: Support,
    health: bool,
    names: &'static [&'static str],
}

const fn works(names: &'static [&'static str]) -> Group {
    Group { support: Works, health: false, names }
}

const fn health(names: &'static [&'static str]) -> Group {
    Group { support: Works, health: true, names }
}

const fn inert(why: &'static str, names: &'static [&'static str]) -> Group {
    Group { support: Inert(why), health: false, names }
}

const TOP: &[Group] = &[
    works(&[
        "model_list",
        "router_settings",
        "litellm_settings",
        "general_settings",
        "environment_variables",
        "include",
        "credential_list",
        "haleway",
    ]),
    inert("guardrails are not part of this version", &["guardrails", "policies", "policy_attachments"]),
    inert(
        "only model calls are served by this version",
        &[
            "mcp_servers",
            "mcp_tools",
            "search_tools",
            "vector_store_registry",
            "assistant_settings",
            "finetune_settings",
            "files_settings",
            "agent_list",
            "prompts",
            "callback_settings",
            "a2a_agents",
        ],
    ),
    inert("give each deployment its own credentials", &["default_vertex_config"]),
    inert(
        "there are no per-call budgets or hooks in this version",
        &["router_budget_config", "litellm_budget_config"],
    ),
];

const ENTRY: &[Group] = &[
    works(&["model_name", "litellm_params", "model_info"]),
    inert("there are no teams in this version", &["team_id"]),
];

const PARAMS: &[Group] = &[
    works(&[
        "model",
        "custom_llm_provider",
        "api_base",
        "base_url",
        "api_key",
        "api_version",
        "organization",
        "rpm",
        "tpm",
        "weight",
        "order",
        "timeout",
        "stream_timeout",
        "max_retries",
        "num_retries",
        "max_parallel_requests",
        "tags",
        "drop_params",
        "additional_drop_params",
        "extra_headers",
        "extra_body",
        "litellm_credential_name",
    ]),
    works(PriceKind::KEYS),
    health(&["cooldown_time"]),
    inert(
        "limits by input, output or day are not enforced in this version",
        &[
            "itpm",
            "otpm",
            "tpd",
            "rpd",
            "daily_reset_time",
            "default_api_key_tpm_limit",
            "default_api_key_rpm_limit",
        ],
    ),
    inert("tags are compared as text in this version", &["tag_regex"]),
    inert("there are no budgets in this version", &["max_budget", "budget_duration"]),
    inert(
        "there are no callbacks, caches or mocks in this version",
        &[
            "mock_response",
            "mock_timeout",
            "caching",
            "cache",
            "guardrails",
            "litellm_trace_id",
            "use_in_pass_through",
            "use_xai_oauth",
            "allow_client_keepalive_override",
            "use_litellm_proxy",
            "merge_reasoning_content_in_choices",
            "configurable_clientside_auth_params",
            "auto_router_config",
            "auto_router_config_path",
            "auto_router_default_model",
            "auto_router_embedding_model",
            "complexity_router_config",
            "s3_bucket_name",
            "gcs_bucket_name",
            "litellm_metadata",
        ],
    ),
];

/// Fields of the providers' own calls and settings that people put into `litellm_params`: passed on, never a
/// finding.
pub const CALL_PARAMS: &[&str] = &[
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "n",
    "stream",
    "stream_options",
    "stop",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "logit_bias",
    "user",
    "seed",
    "response_format",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "logprobs",
    "top_logprobs",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "service_tier",
    "modalities",
    "audio",
    "prediction",
    "store",
    "metadata",
    "verbosity",
    "web_search_options",
    "safety_settings",
    "messages",
    "dimensions",
    "encoding_format",
    "input_type",
    "truncate",
    "voice",
    "speed",
    "language",
    "size",
    "quality",
    "style",
    "background",
    "keep_alive",
    "num_ctx",
    "num_predict",
    "mirostat",
    "think",
    "options",
    "format",
    "chat_template_kwargs",
    "guided_json",
    "guided_regex",
    "best_of",
    "provider",
    "transforms",
    "route",
    "models",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_region_name",
    "aws_profile_name",
    "aws_session_name",
    "aws_role_name",
    "aws_web_identity_token",
    "aws_sts_endpoint",
    "aws_external_id",
    "aws_bedrock_runtime_endpoint",
    "vertex_project",
    "vertex_location",
    "vertex_credentials",
    "region_name",
    "watsonx_region_name",
    "project_id",
    "project",
    "space_id",
    "deployment_id",
    "tenant_id",
    "client_id",
    "client_secret",
    "azure_username",
    "azure_password",
    "azure_scope",
    "azure_ad_token",
    "headers",
    "ssl_verify",
    "instructions",
    "cache_control_injection_points",
    "allowed_openai_params",
    "hf_model_name",
    "supports_system_message",
    "model_id",
    "base_model",
    "prompt_id",
    "prompt_variables",
    "litellm_system_prompt",
];

const INFO: &[Group] = &[
    works(&[
        "id",
        "mode",
        "base_model",
        "max_input_tokens",
        "blocked",
        "supports_assistant_prefill",
        "haleway",
    ]),
    works(PriceKind::KEYS),
    health(&[
        "disable_background_health_check",
        "health_check_timeout",
        "health_check_model",
        "health_check_params",
        "health_check_max_tokens",
        "health_check_max_tokens_reasoning",
        "health_check_max_tokens_non_reasoning",
        "health_check_supports_max_tokens",
        "health_check_reasoning_effort",
        "health_check_voice",
        "allowed_fails",
        "allowed_fails_policy",
        "cooldown_time",
    ]),
    inert(
        "there are no keys, teams or access groups in this version",
        &["team_id", "team_public_model_name", "access_groups", "access_via_team_ids", "direct_access"],
    ),
];

/// Facts that people write into `model_info`: shown by `/v1/model/info`, never a finding.
pub const SHOWN_INFO: &[&str] = &[
    "max_tokens",
    "max_output_tokens",
    "litellm_provider",
    "description",
    "supports_function_calling",
    "supports_vision",
    "supports_reasoning",
    "supports_prompt_caching",
    "supports_tool_choice",
    "supports_response_schema",
    "supports_audio_input",
    "supports_audio_output",
    "supports_web_search",
    "supports_pdf_input",
    "supports_parallel_function_calling",
    "supports_system_messages",
    "supports_native_streaming",
    "supports_embedding_image_input",
    "supported_openai_params",
    "version",
    "key",
    "output_vector_size",
    "supported_environments",
    "tier",
    "created_at",
    "updated_at",
    "created_by",
    "updated_by",
    "db_model",
    "model_version",
    "tags",
    "metadata",
    "order",
    "weight",
];

const ROUTER: &[Group] = &[
    works(&[
        "routing_strategy",
        "routing_strategy_args",
        "num_retries",
        "retry_after",
        "retry_policy",
        "model_group_retry_policy",
        "timeout",
        "stream_timeout",
        "fallbacks",
        "default_fallbacks",
        "context_window_fallbacks",
        "content_policy_fallbacks",
        "max_fallbacks",
        "model_group_alias",
        "enable_pre_call_checks",
        "optional_pre_call_checks",
        "enable_tag_filtering",
        "tag_filtering_match_any",
        "default_max_parallel_requests",
        "default_litellm_params",
    ]),
    health(&[
        "allowed_fails",
        "allowed_fails_policy",
        "cooldown_time",
        "disable_cooldowns",
        "enable_health_check_routing",
        "health_check_staleness_threshold",
        "health_check_ignore_transient_errors",
        "background_health_check_model_groups",
    ]),
    works(&[
        "redis_host",
        "redis_url",
        "redis_port",
        "redis_password",
        "redis_db",
        "redis_username",
        "redis_startup_nodes",
    ]),
    inert("answers are not cached in this version", &["cache_kwargs", "cache_responses", "cache_config"]),
    inert(
        "priorities between groups are not part of this version",
        &["routing_groups", "default_priority", "polling_interval"],
    ),
    inert("there are no budgets in this version", &["provider_budget_config"]),
    inert(
        "a call fails over by the rules of retries and fallbacks",
        &[
            "enable_weighted_failover",
            "enable_mid_stream_fallback_continuation",
            "model_group_affinity_config",
            "deployment_affinity_ttl_seconds",
        ],
    ),
    inert(
        "it belongs to LiteLLM's own machinery",
        &[
            "set_verbose",
            "debug_level",
            "client_ttl",
            "caching_groups",
            "router_general_settings",
            "assistants_config",
            "search_tools",
            "guardrail_list",
            "alerting_config",
            "ignore_invalid_deployments",
            "deployment_credentials_ttl",
            "cache_ttl",
            "custom_callbacks",
            "enable_loadbalancing_on_batch_endpoints",
        ],
    ),
];

const LITELLM: &[Group] = &[
    works(&[
        "enable_azure_ad_token_refresh",
        "drop_params",
        "num_retries",
        "request_timeout",
        "fallbacks",
        "default_fallbacks",
        "context_window_fallbacks",
        "content_policy_fallbacks",
        "json_logs",
        "set_verbose",
    ]),
    // Answers are not cached; the Redis of the cache is the one that processes share.
    works(&["cache", "cache_params"]),
    inert("LiteLLM ignores it here too; write it under router_settings", &["allowed_fails"]),
    inert(
        "there are no callbacks in this version; metrics are at /metrics",
        &[
            "callbacks",
            "success_callback",
            "failure_callback",
            "service_callback",
            "audit_log_callbacks",
            "callback_settings",
            "turn_off_message_logging",
            "redact_user_api_key_info",
            "langfuse_default_tags",
            "prometheus_metrics_config",
            "custom_prometheus_tags",
            "custom_prometheus_metadata_labels",
            "prometheus_initialize_budget_metrics",
            "s3_callback_params",
            "datadog_params",
            "enable_preview_features",
            "require_auth_for_metrics_endpoint",
            "log_raw_request_response",
            "prometheus_emit_stream_label",
            "store_audit_logs",
            "email",
            "extra_spend_tag_headers",
        ],
    ),
    inert(
        "there are no keys, users, teams or budgets in this version",
        &[
            "default_team_settings",
            "max_budget",
            "budget_duration",
            "max_end_user_budget",
            "max_end_user_budget_id",
            "upperbound_key_generate_params",
            "default_key_generate_params",
            "default_internal_user_params",
            "default_team_params",
            "max_internal_user_budget",
            "internal_user_budget_duration",
            "key_generation_settings",
            "default_max_internal_user_budget",
            "max_ui_session_budget",
            "tag_budget_config",
            "cost_discount_config",
            "cost_margin_config",
            "credential_list",
            "public_model_groups",
            "public_model_groups_links",
        ],
    ),
    inert(
        "requests pass through as they are; there is nothing to switch",
        &[
            "modify_params",
            "add_function_to_prompt",
            "ssl_verify",
            "ssl_certificate",
            "force_ipv4",
            "return_response_headers",
            "enable_json_schema_validation",
            "disable_copilot_system_to_assistant",
            "disable_add_transform_inline_image_block",
            "disable_hf_tokenizer_download",
            "use_aiohttp_transport",
            "disable_aiohttp_transport",
            "aiohttp_trust_env",
            "telemetry",
            "suppress_debug_info",
            "disable_stop_sequence_limit",
            "disable_token_counter",
            "include_cost_in_streaming_usage",
            "generic_logger_headers",
            "model_alias_map",
            "guardrails",
            "reasoning_auto_summary",
            "forward_traceparent_to_llm_provider",
            "image_generation_model",
            "max_fallbacks",
            "network_mock",
            "request_timeout_seconds",
            "user_url_validation",
            "priority_reservation",
            "priority_reservation_settings",
            "mcp_aliases",
            "add_user_information_to_llm_headers",
        ],
    ),
];

const GENERAL: &[Group] = &[
    works(&[
        "master_key",
        "dangerously_permit_weak_or_unset_master_key",
        "litellm_key_header_name",
        "forward_client_headers_to_llm_api",
        "max_parallel_requests",
        "global_max_parallel_requests",
        "max_request_size_mb",
        "allow_public_health_readiness_details",
        "model_list_healthy_only",
    ]),
    works(&["coordination_redis"]),
    health(&[
        "background_health_checks",
        "health_check_interval",
        "health_check_concurrency",
        "health_check_details",
        "use_shared_health_check",
        "enable_health_check_routing",
        "health_check_staleness_threshold",
        "health_check_ignore_transient_errors",
        "background_health_check_model_groups",
    ]),
    Group {
        support: Inert("a live /health always leaves out what is disabled, unless it names a deployment"),
        health: true,
        names: &["health_check_skip_disabled_background_models"],
    },
    works(&["database_url", "maximum_health_check_retention_period", "store_model_in_db"]),
    inert("no request needs the database", &["allow_requests_on_db_unavailable"]),
    inert(
        "this version keeps only stored models and the history of health in a database",
        &[
            "database_connection_pool_limit",
            "database_connection_timeout",
            "store_prompts_in_spend_logs",
            "supported_db_objects",
            "proxy_batch_write_at",
            "disable_spend_logs",
            "disable_reset_budget",
            "disable_master_key_return",
            "maximum_spend_logs_retention_period",
            "maximum_spend_logs_retention_interval",
            "disable_prisma_schema_update",
            "disable_adding_master_key_hash_to_db",
            "disable_error_logs",
            "use_redis_transaction_buffer",
            "proxy_budget_rescheduler_min_time",
            "proxy_budget_rescheduler_max_time",
            "token_rate_limit_type",
        ],
    ),
    inert(
        "the master key is the only credential in this version",
        &[
            "custom_auth",
            "allowed_routes",
            "public_routes",
            "admin_only_routes",
            "enable_jwt_auth",
            "litellm_jwtauth",
            "enable_oauth2_auth",
            "enable_oauth2_proxy_auth",
            "oauth2_config_mappings",
            "user_header_name",
            "user_header_mappings",
            "enforce_user_param",
            "enforced_params",
            "custom_key_generate",
            "custom_sso",
            "custom_ui_sso_sign_in_handler",
            "ui_access_mode",
            "role_mappings",
            "service_account_settings",
            "default_team_disabled",
            "use_client_credentials_pass_through_routes",
            "control_plane_url",
            "key_management_system",
            "key_management_settings",
            "use_google_kms",
            "use_azure_key_vault",
            "allowed_ips",
            "use_x_forwarded_for",
            "mcp_internal_ip_ranges",
            "reject_clientside_metadata_tags",
        ],
    ),
    inert(
        "there is no alerting in this version",
        &[
            "alerting",
            "alerting_threshold",
            "alert_types",
            "alert_to_webhook_url",
            "alerting_args",
            "spend_report_frequency",
        ],
    ),
    inert(
        "only model calls are served by this version",
        &[
            "pass_through_endpoints",
            "completion_model",
            "infer_model_from_keys",
            "embedding_model",
            "image_generation_model",
            "moderation_model",
            "auto_redirect_ui_login_to_sso",
            "pass_through_request_timeout",
            "mcp_client_side_auth_header_name",
        ],
    ),
    inert(
        "a caller's credentials and organisation are the gateway's affair and never forwarded",
        &["forward_openai_org_id", "forward_llm_provider_auth_headers"],
    ),
    inert("a caller that leaves always ends the upstream call", &["cancel_on_disconnect"]),
    inert("stopping drains by itself: send SIGTERM", &["enable_drain_endpoint", "drain_endpoint_token"]),
    inert(
        "it is not part of this version",
        &[
            "max_response_size_mb",
            "always_include_stream_usage",
            "otel",
            "user_mcp_management_mode",
            "enable_health_app",
            "health_check_app_port",
            "proxy_config_reload_interval",
        ],
    ),
];

/// Fields of `allowed_fails_policy`.
pub const POLICY_FIELDS: [&str; 9] = [
    "BadRequestErrorAllowedFails",
    "AuthenticationErrorAllowedFails",
    "TimeoutErrorAllowedFails",
    "RateLimitErrorAllowedFails",
    "ContentPolicyViolationErrorAllowedFails",
    "InternalServerErrorAllowedFails",
    "ServiceUnavailableErrorAllowedFails",
    "BadGatewayErrorAllowedFails",
    "NotFoundErrorAllowedFails",
];
