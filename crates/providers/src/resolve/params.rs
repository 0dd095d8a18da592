//! Which of a deployment's parameters go into a body, and which are the gateway's own.

use serde_json::{Map, Value};

use super::{DeploymentSource, DropPath, Habits, ModelName, ResolveError};
use crate::Operation;
use crate::target::{Defaults, json_string};
use crate::wires::watsonx;

/// The defaults of a deployment's calls.
pub(super) fn defaults(
    source: &DeploymentSource<'_>,
    name: &ModelName,
    habits: Habits,
) -> Result<Defaults, ResolveError> {
    let mut params: Vec<(String, Vec<u8>)> =
        members(source.params).filter(|(param, _)| !is_gateway_field(param)).collect();
    if name.provider.id == "watsonx" {
        watsonx::settle(source, &mut params);
    }
    let mut dropped_paths = Vec::new();
    for text in source.additional_drop_params {
        let path = DropPath::parse(text).map_err(|path| ResolveError::InvalidDropPath { path })?;
        dropped_paths.extend(path);
    }
    Ok(Defaults {
        model: json_string(&name.id),
        params,
        extra: source.extra_body.into_iter().flat_map(members).collect(),
        dropped: source.additional_drop_params.to_vec(),
        dropped_paths,
        drop_params: source.drop_params,
        stream: source.params.get("stream").and_then(Value::as_bool).unwrap_or(false),
        habits,
    })
}

fn members(map: &Map<String, Value>) -> impl Iterator<Item = (String, Vec<u8>)> {
    map.iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), value.to_string().into_bytes()))
}

/// Fields that steer the gateway and are never a provider's: LiteLLM's own, in a deployment's parameters or in a
/// client's body.
pub(crate) fn is_gateway_field(name: &str) -> bool {
    matches!(
        name,
        "model"
            | "stream"
            | "api_key"
            | "api_base"
            | "base_url"
            | "api_version"
            | "organization"
            | "custom_llm_provider"
            | "extra_headers"
            | "extra_body"
            | "headers"
            | "drop_params"
            | "additional_drop_params"
            | "allowed_openai_params"
            | "rpm"
            | "tpm"
            | "itpm"
            | "otpm"
            | "tpd"
            | "rpd"
            | "daily_reset_time"
            | "weight"
            | "order"
            | "timeout"
            | "stream_timeout"
            | "max_retries"
            | "num_retries"
            | "cooldown_time"
            | "max_parallel_requests"
            | "tags"
            | "tag_regex"
            | "region_name"
            | "max_budget"
            | "budget_duration"
            | "use_in_pass_through"
            | "merge_reasoning_content_in_choices"
            | "use_litellm_proxy"
            | "configurable_clientside_auth_params"
            | "model_info"
            | "mock_response"
            | "mock_timeout"
            | "mock_testing_fallbacks"
            | "mock_testing_context_fallbacks"
            | "mock_testing_content_policy_fallbacks"
            | "fallbacks"
            | "context_window_fallbacks"
            | "content_policy_fallbacks"
            | "context_window_fallback_dict"
            | "disable_fallbacks"
            | "guardrails"
            | "guardrail_config"
            | "cache"
            | "caching"
            | "ttl"
            | "no-log"
            | "proxy_server_request"
            | "secret_fields"
            | "user_continue_message"
            | "base_model"
            | "litellm_credential_name"
            | "tenant_id"
            | "client_id"
            | "client_secret"
            | "enable_azure_ad_token_refresh"
            | "default_api_key_tpm_limit"
            | "default_api_key_rpm_limit"
    ) || ["litellm_", "aws_", "azure_", "vertex_", "watsonx_", "s3_", "health_check_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || is_price(name)
}

/// LiteLLM has more words for prices than are known here; none is ever a provider's.
fn is_price(name: &str) -> bool {
    name.starts_with("input_cost_per_")
        || name.starts_with("output_cost_per_")
        || name.ends_with("_cost_per_token")
        || name.ends_with("_token_cost")
        || name.ends_with("_cost_per_page")
}

/// Whether a deployment's default has a meaning in bodies of `operation`: a chat cap in an embedding's body would
/// only make a strict server refuse it.
pub(crate) fn applies(name: &str, operation: Operation) -> bool {
    let generates = matches!(name, "temperature" | "top_p" | "stop" | "seed" | "max_tokens" | "logit_bias")
        || matches!(name, "presence_penalty" | "frequency_penalty" | "logprobs" | "top_logprobs" | "n");
    let chats =
        matches!(
            name,
            "max_completion_tokens"
                | "tools"
                | "tool_choice"
                | "parallel_tool_calls"
                | "response_format"
                | "functions"
        ) || matches!(
            name,
            "function_call" | "modalities" | "audio" | "prediction" | "verbosity" | "web_search_options"
        ) || matches!(name, "reasoning_effort" | "thinking" | "stream_options" | "store" | "reasoning");
    match operation {
        Operation::Chat => true,
        Operation::Completions => !chats || name == "stream_options",
        Operation::Responses | Operation::Messages => {
            matches!(
                name,
                "temperature"
                    | "top_p"
                    | "tool_choice"
                    | "parallel_tool_calls"
                    | "store"
                    | "reasoning"
                    | "thinking"
            ) || !(generates || chats)
                || (name == "max_tokens" && operation == Operation::Messages)
        }
        Operation::Images | Operation::ImageEdits | Operation::ImageVariations => {
            !(generates || chats) || name == "n"
        }
        Operation::Transcriptions | Operation::Translations => {
            !(generates || chats) || matches!(name, "temperature" | "response_format")
        }
        Operation::Embeddings
        | Operation::Moderations
        | Operation::Speech
        | Operation::Rerank
        | Operation::Ocr
        | Operation::Videos => !(generates || chats),
        // Only what the prompt is made of counts.
        Operation::CountTokens => name == "thinking" || !(generates || chats),
        // What is kept, and what a session says, is the caller's as it came.
        Operation::Files | Operation::Batches | Operation::Realtime => false,
    }
}

/// Parameters that sample. A probe sends none: reasoning models refuse them, and they prove nothing.
pub(crate) fn samples(name: &str) -> bool {
    matches!(
        name,
        "temperature"
            | "top_p"
            | "top_k"
            | "min_p"
            | "presence_penalty"
            | "frequency_penalty"
            | "repetition_penalty"
    ) || matches!(name, "logit_bias" | "logprobs" | "top_logprobs" | "n" | "seed" | "best_of")
}
