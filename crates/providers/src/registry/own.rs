//! Servers that operators run themselves, and Hugging Face.

use super::types::{Auth, KeyNeed, Method, Proves, Provider, Wire, at, free};
use crate::Mode;

/// `hosted_vllm`.
pub(super) const HOSTED_VLLM: Provider = Provider {
    id: "hosted_vllm",
    prefixes: &["hosted_vllm"],
    wire: Wire::OpenAi,
    base: None,
    base_env: &["HOSTED_VLLM_API_BASE"],
    key_env: &["HOSTED_VLLM_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Optional,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "/rerank", Wire::Rerank),
        at(Mode::AudioTranscription, Method::PostForm, "/audio/transcriptions", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
        at(Mode::Batch, Method::Get, "/batches", Wire::OpenAi),
    ],
    free: &[
        free(Method::Get, "{root}/health", &[Proves::Reach, Proves::Engine]),
        free(Method::Get, "/models", &[Proves::Reach, Proves::Auth]),
    ],
    refuses: &[],
};

/// `lm_studio`.
pub(super) const LM_STUDIO: Provider = Provider {
    id: "lm_studio",
    prefixes: &["lm_studio"],
    wire: Wire::OpenAi,
    base: None,
    base_env: &["LM_STUDIO_API_BASE"],
    key_env: &["LM_STUDIO_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Optional,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `xinference`.
pub(super) const XINFERENCE: Provider = Provider {
    id: "xinference",
    prefixes: &["xinference"],
    wire: Wire::OpenAi,
    base: Some("http://127.0.0.1:9997/v1"),
    base_env: &["XINFERENCE_API_BASE"],
    key_env: &["XINFERENCE_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Optional,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::ImageGeneration, Method::Post, "/images/generations", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "/rerank", Wire::Rerank),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `infinity`.
pub(super) const INFINITY: Provider = Provider {
    id: "infinity",
    prefixes: &["infinity"],
    wire: Wire::OpenAi,
    base: None,
    base_env: &["INFINITY_API_BASE"],
    key_env: &["INFINITY_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Optional,
    headers: &[],
    endpoints: &[
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "/rerank", Wire::Rerank),
    ],
    free: &[
        free(Method::Get, "/health", &[Proves::Reach, Proves::Engine]),
        free(Method::Get, "/models", &[Proves::Reach, Proves::Auth]),
    ],
    refuses: &[],
};

/// `tei`.
pub(super) const TEI: Provider = Provider {
    id: "tei",
    prefixes: &[],
    wire: Wire::Tei,
    base: None,
    base_env: &["HF_API_BASE", "HUGGINGFACE_API_BASE"],
    key_env: &["HUGGINGFACE_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Optional,
    headers: &[],
    endpoints: &[
        at(Mode::Embedding, Method::Post, "/", Wire::Tei),
        at(Mode::Rerank, Method::Post, "/rerank", Wire::Tei),
    ],
    free: &[
        free(Method::Get, "/health", &[Proves::Reach, Proves::Engine]),
        free(Method::Get, "/info", &[Proves::Reach, Proves::ModelListed]),
    ],
    refuses: &[],
};

/// `huggingface`.
pub(super) const HUGGINGFACE: Provider = Provider {
    id: "huggingface",
    prefixes: &["huggingface"],
    wire: Wire::OpenAi,
    base: Some("https://router.huggingface.co/v1"),
    base_env: &["HF_API_BASE"],
    key_env: &["HUGGINGFACE_API_KEY", "HF_TOKEN"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(
            Mode::Embedding,
            Method::Post,
            "https://router.huggingface.co/hf-inference/pipeline/feature-extraction/{model}",
            Wire::Tei,
        ),
    ],
    free: &[
        free(Method::Get, "/models", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "https://huggingface.co/api/whoami-v2", &[Proves::Reach, Proves::Auth]),
    ],
    refuses: &[],
};

/// `ollama`.
pub(super) const OLLAMA: Provider = Provider {
    id: "ollama",
    prefixes: &["ollama", "ollama_chat"],
    wire: Wire::Ollama,
    base: Some("http://localhost:11434"),
    base_env: &["OLLAMA_API_BASE"],
    key_env: &["OLLAMA_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Optional,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/api/chat", Wire::Ollama),
        at(Mode::Completion, Method::Post, "/api/generate", Wire::Ollama),
        at(Mode::Embedding, Method::Post, "/api/embed", Wire::Ollama),
    ],
    free: &[
        free(Method::Get, "/api/version", &[Proves::Reach]),
        free(Method::Get, "/api/tags", &[Proves::Reach, Proves::ModelListed]),
        free(Method::Get, "/api/ps", &[Proves::Reach, Proves::ModelLoaded]),
        free(Method::Post, "/api/show", &[Proves::Reach, Proves::ModelListed, Proves::Capabilities]),
    ],
    refuses: &[],
};
