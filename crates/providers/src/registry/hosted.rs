//! Model hosts that speak OpenAI's API.

use super::types::{Auth, KeyNeed, Method, Proves, Provider, Wire, at, free};
use crate::Mode;

/// `mistral`.
pub(super) const MISTRAL: Provider = Provider {
    id: "mistral",
    prefixes: &["mistral", "codestral", "text-completion-codestral"],
    wire: Wire::OpenAi,
    base: Some("https://api.mistral.ai/v1"),
    base_env: &["MISTRAL_API_BASE", "MISTRAL_AZURE_API_BASE"],
    key_env: &["MISTRAL_API_KEY", "MISTRAL_AZURE_API_KEY", "CODESTRAL_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/fim/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::AudioTranscription, Method::PostForm, "/audio/transcriptions", Wire::OpenAi),
        at(Mode::AudioSpeech, Method::Post, "/audio/speech", Wire::OpenAi),
        at(Mode::Ocr, Method::Post, "/ocr", Wire::MistralOcr),
        at(Mode::Batch, Method::Get, "/batch/jobs", Wire::Jobs),
    ],
    free: &[
        free(Method::Get, "/models", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "/models/{model}", &[Proves::Reach, Proves::Auth, Proves::ModelListed]),
        free(Method::Get, "/batch/jobs?page_size=1", &[Proves::Reach, Proves::Auth]),
    ],
    refuses: &[
        "stream_options",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "user",
        "store",
        "metadata",
        "service_tier",
    ],
};

/// `groq`.
pub(super) const GROQ: Provider = Provider {
    id: "groq",
    prefixes: &["groq"],
    wire: Wire::OpenAi,
    base: Some("https://api.groq.com/openai/v1"),
    base_env: &["GROQ_API_BASE"],
    key_env: &["GROQ_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::AudioTranscription, Method::PostForm, "/audio/transcriptions", Wire::OpenAi),
        at(Mode::AudioSpeech, Method::Post, "/audio/speech", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
        at(Mode::Batch, Method::Get, "/batches", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `deepseek`.
pub(super) const DEEPSEEK: Provider = Provider {
    id: "deepseek",
    prefixes: &["deepseek"],
    wire: Wire::OpenAi,
    base: Some("https://api.deepseek.com/beta"),
    base_env: &["DEEPSEEK_API_BASE"],
    key_env: &["DEEPSEEK_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `together_ai`.
pub(super) const TOGETHER_AI: Provider = Provider {
    id: "together_ai",
    prefixes: &["together_ai"],
    wire: Wire::OpenAi,
    base: Some("https://api.together.ai/v1"),
    base_env: &["TOGETHER_AI_API_BASE"],
    key_env: &["TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::ImageGeneration, Method::Post, "/images/generations", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "/rerank", Wire::Rerank),
        at(Mode::AudioSpeech, Method::Post, "/audio/speech", Wire::OpenAi),
        at(Mode::AudioTranscription, Method::PostForm, "/audio/transcriptions", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `fireworks_ai`.
pub(super) const FIREWORKS_AI: Provider = Provider {
    id: "fireworks_ai",
    prefixes: &["fireworks_ai"],
    wire: Wire::OpenAi,
    base: Some("https://api.fireworks.ai/inference/v1"),
    base_env: &["FIREWORKS_API_BASE"],
    key_env: &["FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::AudioTranscription, Method::PostForm, "/audio/transcriptions", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "/rerank", Wire::Rerank),
        at(Mode::ImageGeneration, Method::Post, "/images/generations", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
    ],
    // The list is public.
    free: &[free(Method::Get, "/models", &[Proves::Reach])],
    refuses: &[],
};

/// `openrouter`.
pub(super) const OPENROUTER: Provider = Provider {
    id: "openrouter",
    prefixes: &["openrouter"],
    wire: Wire::OpenAi,
    base: Some("https://openrouter.ai/api/v1"),
    base_env: &["OPENROUTER_API_BASE"],
    key_env: &["OPENROUTER_API_KEY", "OR_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::ImageGeneration, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/key", &[Proves::Reach, Proves::Auth, Proves::Credit])],
    refuses: &[],
};

/// `xai`.
pub(super) const XAI: Provider = Provider {
    id: "xai",
    prefixes: &["xai"],
    wire: Wire::OpenAi,
    base: Some("https://api.x.ai/v1"),
    base_env: &["XAI_API_BASE"],
    key_env: &["XAI_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
        at(Mode::ImageGeneration, Method::Post, "/images/generations", Wire::OpenAi),
        at(Mode::VideoGeneration, Method::Post, "/videos/generations", Wire::OpenAi),
        at(Mode::AudioTranscription, Method::PostForm, "/stt", Wire::OpenAi),
        at(Mode::Realtime, Method::WebSocket, "wss:/realtime?model={model}", Wire::Realtime),
        at(Mode::Batch, Method::Get, "/batches?limit=1000", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `perplexity`.
pub(super) const PERPLEXITY: Provider = Provider {
    id: "perplexity",
    prefixes: &["perplexity"],
    wire: Wire::OpenAi,
    base: Some("https://api.perplexity.ai"),
    base_env: &["PERPLEXITY_API_BASE"],
    key_env: &["PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/v1/embeddings", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/v1/responses", Wire::OpenAi),
    ],
    free: &[],
    refuses: &[],
};

/// `cerebras`.
pub(super) const CEREBRAS: Provider = Provider {
    id: "cerebras",
    prefixes: &["cerebras"],
    wire: Wire::OpenAi,
    base: Some("https://api.cerebras.ai/v1"),
    base_env: &["CEREBRAS_API_BASE"],
    key_env: &["CEREBRAS_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `sambanova`.
pub(super) const SAMBANOVA: Provider = Provider {
    id: "sambanova",
    prefixes: &["sambanova"],
    wire: Wire::OpenAi,
    base: Some("https://api.sambanova.ai/v1"),
    base_env: &["SAMBANOVA_API_BASE"],
    key_env: &["SAMBANOVA_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `nvidia_nim`.
pub(super) const NVIDIA_NIM: Provider = Provider {
    id: "nvidia_nim",
    prefixes: &["nvidia_nim"],
    wire: Wire::OpenAi,
    base: Some("https://integrate.api.nvidia.com/v1"),
    base_env: &["NVIDIA_NIM_API_BASE"],
    key_env: &["NVIDIA_NIM_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(
            Mode::Rerank,
            Method::Post,
            "https://ai.api.nvidia.com/v1/retrieval/{model}/reranking",
            Wire::NimRerank,
        ),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};
