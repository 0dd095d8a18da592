//! OpenAI, any server that speaks its API at the operator's base, and Azure's two forms of it.

use super::types::{Auth, KeyNeed, Method, Proves, Provider, Wire, at, free};
use crate::Mode;

/// `openai`.
pub(super) const OPENAI: Provider = Provider {
    id: "openai",
    prefixes: &["openai", "text-completion-openai"],
    wire: Wire::OpenAi,
    base: Some("https://api.openai.com/v1"),
    base_env: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    key_env: &["OPENAI_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::AudioSpeech, Method::Post, "/audio/speech", Wire::OpenAi),
        at(Mode::AudioTranscription, Method::PostForm, "/audio/transcriptions", Wire::OpenAi),
        at(Mode::ImageGeneration, Method::Post, "/images/generations", Wire::OpenAi),
        at(Mode::ImageEdit, Method::PostForm, "/images/edits", Wire::OpenAi),
        at(Mode::VideoGeneration, Method::PostForm, "/videos", Wire::OpenAi),
        at(Mode::Realtime, Method::WebSocket, "wss:/realtime?model={model}", Wire::Realtime),
        at(Mode::Batch, Method::Get, "/batches", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
    ],
    free: &[
        free(Method::Get, "/models", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "/models/{model}", &[Proves::Reach, Proves::Auth, Proves::ModelListed]),
        free(Method::Get, "/batches?limit=1", &[Proves::Reach, Proves::Auth, Proves::BatchScope]),
    ],
    refuses: &[],
};

/// `openai_compatible`.
pub(super) const OPENAI_COMPATIBLE: Provider = Provider {
    id: "openai_compatible",
    prefixes: &["custom_openai"],
    wire: Wire::OpenAi,
    base: None,
    base_env: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    key_env: &["OPENAI_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Optional,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Completion, Method::Post, "/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::AudioSpeech, Method::Post, "/audio/speech", Wire::OpenAi),
        at(Mode::AudioTranscription, Method::PostForm, "/audio/transcriptions", Wire::OpenAi),
        at(Mode::ImageGeneration, Method::Post, "/images/generations", Wire::OpenAi),
        at(Mode::ImageEdit, Method::PostForm, "/images/edits", Wire::OpenAi),
        at(Mode::VideoGeneration, Method::PostForm, "/videos", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
        at(Mode::Realtime, Method::WebSocket, "wss:/realtime?model={model}", Wire::Realtime),
        at(Mode::Batch, Method::Get, "/batches", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `azure`.
pub(super) const AZURE: Provider = Provider {
    id: "azure",
    prefixes: &["azure", "azure_text"],
    wire: Wire::Azure,
    base: None,
    base_env: &["AZURE_API_BASE"],
    key_env: &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_AD_TOKEN"],
    auth: Auth::Azure,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(
            Mode::Chat,
            Method::Post,
            "/openai/deployments/{model}/chat/completions?api-version={v}",
            Wire::Azure,
        ),
        at(
            Mode::Completion,
            Method::Post,
            "/openai/deployments/{model}/completions?api-version={v}",
            Wire::Azure,
        ),
        at(
            Mode::Embedding,
            Method::Post,
            "/openai/deployments/{model}/embeddings?api-version={v}",
            Wire::Azure,
        ),
        at(
            Mode::AudioSpeech,
            Method::Post,
            "/openai/deployments/{model}/audio/speech?api-version={v}",
            Wire::Azure,
        ),
        at(
            Mode::AudioTranscription,
            Method::PostForm,
            "/openai/deployments/{model}/audio/transcriptions?api-version={v}",
            Wire::Azure,
        ),
        at(
            Mode::ImageGeneration,
            Method::Post,
            "/openai/deployments/{model}/images/generations?api-version={v}",
            Wire::Azure,
        ),
        at(
            Mode::ImageEdit,
            Method::PostForm,
            "/openai/deployments/{model}/images/edits?api-version={v}",
            Wire::Azure,
        ),
        at(Mode::VideoGeneration, Method::PostForm, "/openai/v1/videos?api-version={v}", Wire::Azure),
        at(Mode::Realtime, Method::WebSocket, "wss:/openai/v1/realtime?model={model}", Wire::Realtime),
        at(Mode::Batch, Method::Get, "/openai/batches?api-version={v}", Wire::Azure),
        at(Mode::Responses, Method::Post, "/openai/responses?api-version={v}", Wire::Azure),
    ],
    free: &[
        free(Method::Get, "/openai/models?api-version={v}", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "/openai/v1/models", &[Proves::Reach, Proves::Auth]),
    ],
    refuses: &[],
};

/// `azure_ai`.
pub(super) const AZURE_AI: Provider = Provider {
    id: "azure_ai",
    prefixes: &["azure_ai"],
    wire: Wire::OpenAi,
    base: None,
    base_env: &["AZURE_AI_API_BASE"],
    key_env: &["AZURE_AI_API_KEY"],
    auth: Auth::AzureAi,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/models/chat/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/models/embeddings", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "/v1/rerank", Wire::Rerank),
        at(
            Mode::ImageGeneration,
            Method::Post,
            "/openai/deployments/{model}/images/generations?api-version={v}",
            Wire::OpenAi,
        ),
        at(
            Mode::ImageEdit,
            Method::PostForm,
            "/openai/deployments/{model}/images/edits?api-version={v}",
            Wire::OpenAi,
        ),
        at(Mode::Responses, Method::Post, "/openai/v1/responses", Wire::OpenAi),
        at(Mode::Ocr, Method::Post, "/providers/mistral/azure/ocr", Wire::MistralOcr),
        at(Mode::Batch, Method::Get, "/openai/batches?api-version={v}", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models/info", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};
