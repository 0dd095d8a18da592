//! Anthropic and the clouds whose wires or credentials are their own.

use super::types::{Auth, KeyNeed, Method, Proves, Provider, Wire, at, free};
use crate::Mode;

/// `anthropic`.
pub(super) const ANTHROPIC: Provider = Provider {
    id: "anthropic",
    prefixes: &["anthropic"],
    wire: Wire::Anthropic,
    base: Some("https://api.anthropic.com"),
    base_env: &["ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"],
    key_env: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    auth: Auth::Anthropic,
    key: KeyNeed::Required,
    headers: &[("anthropic-version", "2023-06-01")],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/v1/messages", Wire::Anthropic),
        at(Mode::Completion, Method::Post, "/v1/messages", Wire::Anthropic),
        at(Mode::Responses, Method::Post, "/v1/messages", Wire::Anthropic),
        at(Mode::Batch, Method::Get, "/v1/messages/batches", Wire::Anthropic),
    ],
    free: &[
        free(Method::Get, "/v1/models", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "/v1/models/{model}", &[Proves::Reach, Proves::Auth, Proves::ModelListed]),
        free(
            Method::Post,
            "/v1/messages/count_tokens",
            &[Proves::Reach, Proves::Auth, Proves::ModelListed, Proves::RequestShape],
        ),
        free(Method::Get, "/v1/messages/batches?limit=1", &[Proves::Reach, Proves::Auth]),
    ],
    refuses: &[],
};

/// `bedrock`.
pub(super) const BEDROCK: Provider = Provider {
    id: "bedrock",
    prefixes: &["bedrock", "bedrock_converse"],
    wire: Wire::Bedrock,
    base: Some("https://bedrock-runtime.{region}.amazonaws.com"),
    base_env: &["AWS_BEDROCK_RUNTIME_ENDPOINT"],
    key_env: &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"],
    auth: Auth::Aws,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/model/{modelId}/converse", Wire::Bedrock),
        at(Mode::Embedding, Method::Post, "/model/{modelId}/invoke", Wire::Bedrock),
        at(Mode::ImageGeneration, Method::Post, "/model/{modelId}/invoke", Wire::Bedrock),
        at(
            Mode::Rerank,
            Method::Post,
            "https://bedrock-agent-runtime.{region}.amazonaws.com/rerank",
            Wire::Bedrock,
        ),
        at(Mode::Responses, Method::Post, "/model/{modelId}/converse", Wire::Bedrock),
        at(Mode::Realtime, Method::Post, "/model/{modelId}/invoke-with-bidirectional-stream", Wire::Bedrock),
        at(Mode::VideoGeneration, Method::Post, "/async-invoke", Wire::Bedrock),
        at(
            Mode::Batch,
            Method::Get,
            "https://bedrock.{region}.amazonaws.com/model-invocation-jobs",
            Wire::Bedrock,
        ),
    ],
    free: &[
        free(
            Method::Get,
            "https://bedrock.{region}.amazonaws.com/foundation-models",
            &[Proves::Reach, Proves::Auth],
        ),
        free(
            Method::Post,
            "/model/{modelId}/count-tokens",
            &[Proves::Reach, Proves::Auth, Proves::ModelAccess],
        ),
    ],
    refuses: &[],
};

/// `bedrock_mantle`.
pub(super) const BEDROCK_MANTLE: Provider = Provider {
    id: "bedrock_mantle",
    prefixes: &["bedrock_mantle"],
    wire: Wire::OpenAi,
    base: Some("https://bedrock-mantle.{region}.api.aws"),
    base_env: &[],
    key_env: &["AWS_BEARER_TOKEN_BEDROCK"],
    auth: Auth::Aws,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/v1/chat/completions", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/v1/responses", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/v1/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `vertex_ai`. What stands here holds for Gemini; the model's name may say otherwise (`wires::vertex`).
pub(super) const VERTEX_AI: Provider = Provider {
    id: "vertex_ai",
    prefixes: &["vertex_ai", "vertex_ai_beta"],
    wire: Wire::Gemini,
    base: Some("https://{location}-aiplatform.googleapis.com"),
    base_env: &["VERTEX_API_BASE"],
    key_env: &["GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS"],
    auth: Auth::GoogleOauth,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(
            Mode::Chat,
            Method::Post,
            "/v1/projects/{project}/locations/{location}/publishers/google/models/{model}:generateContent",
            Wire::Gemini,
        ),
        at(Mode::Embedding, Method::Post, "...publishers/google/models/{model}:predict", Wire::VertexEmbed),
        at(Mode::ImageGeneration, Method::Post, "...publishers/google/models/{model}:predict", Wire::Imagen),
        at(
            Mode::AnthropicMessages,
            Method::Post,
            "...publishers/anthropic/models/{model}:rawPredict",
            Wire::VertexAnthropic,
        ),
        at(Mode::VideoGeneration, Method::Post, "...:predictLongRunning", Wire::Google),
        at(
            Mode::AudioSpeech,
            Method::Post,
            "...publishers/google/models/{model}:generateContent",
            Wire::Gemini,
        ),
        at(
            Mode::AudioTranscription,
            Method::Post,
            "...publishers/google/models/{model}:generateContent",
            Wire::Gemini,
        ),
        at(
            Mode::Rerank,
            Method::Post,
            "https://discoveryengine.googleapis.com/v1/projects/{project}/locations/global/rankingConfigs/default_ranking_config:rank",
            Wire::GoogleRank,
        ),
        at(Mode::Ocr, Method::Post, "...publishers/mistralai/models/{model}:rawPredict", Wire::MistralOcr),
        at(
            Mode::Realtime,
            Method::WebSocket,
            "wss:/ws/google.cloud.aiplatform.v1.LlmBidiService/BidiGenerateContent",
            Wire::GeminiLive,
        ),
        at(
            Mode::Batch,
            Method::Get,
            "/v1/projects/{project}/locations/{location}/batchPredictionJobs",
            Wire::Google,
        ),
        at(Mode::Responses, Method::Post, ":generateContent", Wire::Gemini),
    ],
    free: &[
        free(
            Method::Post,
            "...publishers/google/models/{model}:countTokens",
            &[Proves::Reach, Proves::Auth, Proves::ModelListed],
        ),
        free(
            Method::Get,
            "/v1/publishers/google/models/{model}",
            &[Proves::Reach, Proves::Auth, Proves::ModelListed],
        ),
    ],
    refuses: &[],
};

/// `gemini`.
pub(super) const GEMINI: Provider = Provider {
    id: "gemini",
    prefixes: &["gemini"],
    wire: Wire::Gemini,
    base: Some("https://generativelanguage.googleapis.com/v1beta"),
    base_env: &["GEMINI_API_BASE"],
    key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    auth: Auth::Header("x-goog-api-key"),
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/models/{model}:generateContent", Wire::Gemini),
        at(Mode::Embedding, Method::Post, "/models/{model}:batchEmbedContents", Wire::Gemini),
        at(Mode::ImageGeneration, Method::Post, "/models/{model}:predict", Wire::Imagen),
        at(Mode::VideoGeneration, Method::Post, "/models/{model}:predictLongRunning", Wire::Gemini),
        at(Mode::AudioSpeech, Method::Post, "/models/{model}:generateContent", Wire::Gemini),
        at(Mode::AudioTranscription, Method::Post, "/models/{model}:generateContent", Wire::Gemini),
        at(
            Mode::Realtime,
            Method::WebSocket,
            "wss:/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
            Wire::GeminiLive,
        ),
        at(Mode::Batch, Method::Get, "/batches", Wire::Google),
        at(Mode::Responses, Method::Post, "/models/{model}:generateContent", Wire::Google),
    ],
    free: &[
        free(Method::Get, "/models?pageSize=1", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "/models/{model}", &[Proves::Reach, Proves::Auth, Proves::ModelListed]),
        free(
            Method::Post,
            "/models/{model}:countTokens",
            &[Proves::Reach, Proves::Auth, Proves::ModelListed, Proves::RequestShape],
        ),
    ],
    refuses: &[],
};

/// `cohere`.
pub(super) const COHERE: Provider = Provider {
    id: "cohere",
    prefixes: &["cohere", "cohere_chat"],
    wire: Wire::Cohere,
    base: Some("https://api.cohere.com"),
    base_env: &["COHERE_API_BASE"],
    key_env: &["COHERE_API_KEY", "CO_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/v2/chat", Wire::Cohere),
        at(Mode::Completion, Method::Post, "/v2/chat", Wire::Cohere),
        at(Mode::Embedding, Method::Post, "/v2/embed", Wire::Cohere),
        at(Mode::Rerank, Method::Post, "/v2/rerank", Wire::Cohere),
        at(Mode::Ocr, Method::Post, "/v2/parse", Wire::Cohere),
    ],
    free: &[
        free(Method::Get, "/v1/models?page_size=1", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "/v1/models/{model}", &[Proves::Reach, Proves::Auth, Proves::ModelListed]),
        free(Method::Post, "/v1/check-api-key", &[Proves::Reach, Proves::Auth]),
        free(Method::Post, "/v1/tokenize", &[Proves::Reach, Proves::Auth, Proves::ModelListed]),
    ],
    refuses: &[],
};

/// `watsonx`.
pub(super) const WATSONX: Provider = Provider {
    id: "watsonx",
    prefixes: &["watsonx", "watsonx_text"],
    wire: Wire::Watsonx,
    base: Some("https://us-south.ml.cloud.ibm.com"),
    base_env: &["WATSONX_API_BASE", "WATSONX_URL", "WX_URL", "WML_URL"],
    key_env: &["WATSONX_APIKEY", "WATSONX_API_KEY", "WX_API_KEY", "WATSONX_ZENAPIKEY", "WATSONX_TOKEN"],
    auth: Auth::IbmIam,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/ml/v1/text/chat?version=2024-03-13", Wire::Watsonx),
        at(Mode::Completion, Method::Post, "/ml/v1/text/generation?version=2024-03-13", Wire::Watsonx),
        at(Mode::Embedding, Method::Post, "/ml/v1/text/embeddings?version=2024-03-13", Wire::Watsonx),
        at(Mode::Rerank, Method::Post, "/ml/v1/text/rerank?version=2024-03-13", Wire::Watsonx),
        at(
            Mode::AudioTranscription,
            Method::PostForm,
            "/ml/v1/audio/transcriptions?version=2024-03-13",
            Wire::Watsonx,
        ),
    ],
    free: &[
        free(Method::Get, "/ml/v1/foundation_model_specs?version=2024-03-13&limit=1", &[Proves::Reach]),
        free(Method::Post, "https://iam.cloud.ibm.com/identity/token", &[Proves::Auth]),
    ],
    refuses: &[],
};

/// `databricks`.
pub(super) const DATABRICKS: Provider = Provider {
    id: "databricks",
    prefixes: &["databricks"],
    wire: Wire::OpenAi,
    base: None,
    base_env: &["DATABRICKS_API_BASE", "DATABRICKS_HOST"],
    key_env: &["DATABRICKS_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
    ],
    free: &[free(
        Method::Get,
        "{root}/api/2.0/serving-endpoints/{model}",
        &[Proves::Reach, Proves::Auth, Proves::ModelReady],
    )],
    refuses: &[],
};
