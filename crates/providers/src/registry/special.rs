//! Providers of one trade: embeddings, speech, predictions.

use super::types::{Auth, KeyNeed, Method, Proves, Provider, Wire, at, free};
use crate::Mode;

/// `jina_ai`.
pub(super) const JINA_AI: Provider = Provider {
    id: "jina_ai",
    prefixes: &["jina_ai"],
    wire: Wire::OpenAi,
    base: Some("https://api.jina.ai/v1"),
    base_env: &["JINA_AI_API_BASE"],
    key_env: &["JINA_AI_API_KEY", "JINA_API_KEY", "JINA_AI_TOKEN"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "/rerank", Wire::Rerank),
    ],
    free: &[],
    refuses: &[],
};

/// `voyage`.
pub(super) const VOYAGE: Provider = Provider {
    id: "voyage",
    prefixes: &["voyage"],
    wire: Wire::OpenAi,
    base: Some("https://api.voyageai.com/v1"),
    base_env: &[],
    key_env: &["VOYAGE_API_KEY", "VOYAGE_AI_API_KEY", "VOYAGE_AI_TOKEN"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "/rerank", Wire::VoyageRerank),
    ],
    free: &[],
    refuses: &[],
};

/// `replicate`.
pub(super) const REPLICATE: Provider = Provider {
    id: "replicate",
    prefixes: &["replicate"],
    wire: Wire::Replicate,
    base: Some("https://api.replicate.com/v1"),
    base_env: &["REPLICATE_API_BASE"],
    key_env: &["REPLICATE_API_KEY", "REPLICATE_API_TOKEN"],
    auth: Auth::Token,
    key: KeyNeed::Required,
    // As long as Replicate keeps a connection, in seconds.
    headers: &[("prefer", "wait=60")],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/models/{model}/predictions", Wire::Replicate),
        at(Mode::Completion, Method::Post, "/models/{model}/predictions", Wire::Replicate),
        at(Mode::ImageGeneration, Method::Post, "/models/{model}/predictions", Wire::Replicate),
    ],
    free: &[
        free(Method::Get, "/account", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "/models/{model}", &[Proves::Reach, Proves::Auth, Proves::ModelListed]),
    ],
    refuses: &[],
};

/// `deepgram`.
pub(super) const DEEPGRAM: Provider = Provider {
    id: "deepgram",
    prefixes: &["deepgram"],
    wire: Wire::Deepgram,
    base: Some("https://api.deepgram.com/v1"),
    base_env: &["DEEPGRAM_API_BASE"],
    key_env: &["DEEPGRAM_API_KEY"],
    auth: Auth::Token,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::AudioTranscription, Method::Post, "/listen?model={model}", Wire::Deepgram),
        at(Mode::AudioSpeech, Method::Post, "/speak?model={model}", Wire::Deepgram),
    ],
    free: &[
        free(Method::Get, "/projects", &[Proves::Reach, Proves::Auth]),
        free(Method::Get, "/auth/token", &[Proves::Reach, Proves::Auth]),
    ],
    refuses: &[],
};

/// `elevenlabs`.
pub(super) const ELEVENLABS: Provider = Provider {
    id: "elevenlabs",
    prefixes: &["elevenlabs"],
    wire: Wire::ElevenLabs,
    base: Some("https://api.elevenlabs.io"),
    base_env: &["ELEVENLABS_API_BASE"],
    key_env: &["ELEVENLABS_API_KEY"],
    auth: Auth::Header("xi-api-key"),
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::AudioSpeech, Method::Post, "/v1/text-to-speech/{voice_id}", Wire::ElevenLabs),
        at(Mode::AudioTranscription, Method::PostForm, "/v1/speech-to-text", Wire::ElevenLabs),
    ],
    free: &[
        free(Method::Get, "/v1/user", &[Proves::Reach, Proves::Auth, Proves::Credit]),
        free(Method::Get, "/v1/models", &[Proves::Reach, Proves::Auth, Proves::ModelListed]),
    ],
    refuses: &[],
};
