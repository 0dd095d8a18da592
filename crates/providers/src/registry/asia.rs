//! Chinese model hosts, most of which speak OpenAI's API.

use super::types::{Auth, KeyNeed, Method, Proves, Provider, Wire, at, free};
use crate::Mode;

/// `moonshot`.
pub(super) const MOONSHOT: Provider = Provider {
    id: "moonshot",
    prefixes: &["moonshot"],
    wire: Wire::OpenAi,
    base: Some("https://api.moonshot.ai/v1"),
    base_env: &["MOONSHOT_API_BASE"],
    key_env: &["MOONSHOT_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi)],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `zai`.
pub(super) const ZAI: Provider = Provider {
    id: "zai",
    prefixes: &["zai"],
    wire: Wire::OpenAi,
    base: Some("https://api.z.ai/api/paas/v4"),
    base_env: &["ZAI_API_BASE"],
    key_env: &["ZAI_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi)],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `bigmodel`.
pub(super) const BIGMODEL: Provider = Provider {
    id: "bigmodel",
    prefixes: &["bigmodel"],
    wire: Wire::OpenAi,
    base: Some("https://open.bigmodel.cn/api/paas/v4"),
    base_env: &["BIGMODEL_API_BASE"],
    key_env: &["BIGMODEL_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "{root}/api/v1/responses", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `volcengine`.
pub(super) const VOLCENGINE: Provider = Provider {
    id: "volcengine",
    prefixes: &["volcengine"],
    wire: Wire::OpenAi,
    base: Some("https://ark.cn-beijing.volces.com/api/v3"),
    base_env: &["VOLCENGINE_API_BASE", "ARK_API_BASE"],
    key_env: &["ARK_API_KEY", "VOLCENGINE_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Responses, Method::Post, "/responses", Wire::OpenAi),
        at(Mode::VideoGeneration, Method::Post, "/contents/generations/tasks", Wire::Jobs),
        at(Mode::ImageGeneration, Method::Post, "/images/generations", Wire::OpenAi),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `dashscope`.
pub(super) const DASHSCOPE: Provider = Provider {
    id: "dashscope",
    prefixes: &["dashscope", "qwencloud", "qwen_ai_platform"],
    wire: Wire::OpenAi,
    base: Some("https://dashscope.aliyuncs.com/compatible-mode/v1"),
    base_env: &["DASHSCOPE_API_BASE"],
    key_env: &["DASHSCOPE_API_KEY", "QWENCLOUD_API_KEY", "QWEN_AI_PLATFORM_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[
        at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi),
        at(Mode::Embedding, Method::Post, "/embeddings", Wire::OpenAi),
        at(Mode::Rerank, Method::Post, "{root}/compatible-api/v1/reranks", Wire::Rerank),
        at(
            Mode::ImageGeneration,
            Method::Post,
            "{root}/api/v1/services/aigc/multimodal-generation/generation",
            Wire::DashScope,
        ),
        at(
            Mode::VideoGeneration,
            Method::Post,
            "{root}/api/v1/services/aigc/video-generation/video-synthesis",
            Wire::DashScope,
        ),
        at(
            Mode::AudioSpeech,
            Method::Post,
            "{root}/api/v1/services/aigc/multimodal-generation/generation",
            Wire::DashScope,
        ),
    ],
    free: &[free(Method::Get, "/models", &[Proves::Reach, Proves::Auth])],
    refuses: &[],
};

/// `minimax`.
pub(super) const MINIMAX: Provider = Provider {
    id: "minimax",
    prefixes: &["minimax"],
    wire: Wire::OpenAi,
    base: Some("https://api.minimax.io/v1"),
    base_env: &["MINIMAX_API_BASE"],
    key_env: &["MINIMAX_API_KEY"],
    auth: Auth::Bearer,
    key: KeyNeed::Required,
    headers: &[],
    endpoints: &[at(Mode::Chat, Method::Post, "/chat/completions", Wire::OpenAi)],
    free: &[],
    refuses: &[],
};
