//! The providers as data: one row each. A new provider on a wire we speak is one row; nothing else in the
//! gateway knows a provider's name.

mod asia;
mod clouds;
mod hosted;
mod openai;
mod own;
mod special;
mod types;

pub use types::{Auth, Endpoint, FreeCall, KeyNeed, Method, Proves, Provider, Wire};

/// Every provider, in the order of the reference page.
pub static PROVIDERS: [Provider; 41] = [
    openai::OPENAI,
    openai::OPENAI_COMPATIBLE,
    openai::AZURE,
    openai::AZURE_AI,
    clouds::ANTHROPIC,
    clouds::BEDROCK,
    clouds::BEDROCK_MANTLE,
    clouds::VERTEX_AI,
    clouds::GEMINI,
    clouds::COHERE,
    clouds::WATSONX,
    clouds::DATABRICKS,
    hosted::MISTRAL,
    hosted::GROQ,
    hosted::DEEPSEEK,
    hosted::TOGETHER_AI,
    hosted::FIREWORKS_AI,
    hosted::OPENROUTER,
    hosted::XAI,
    hosted::PERPLEXITY,
    hosted::CEREBRAS,
    hosted::SAMBANOVA,
    hosted::NVIDIA_NIM,
    asia::MOONSHOT,
    asia::ZAI,
    asia::BIGMODEL,
    asia::VOLCENGINE,
    asia::DASHSCOPE,
    asia::MINIMAX,
    own::HOSTED_VLLM,
    own::LM_STUDIO,
    own::XINFERENCE,
    own::INFINITY,
    own::TEI,
    own::HUGGINGFACE,
    own::OLLAMA,
    special::JINA_AI,
    special::VOYAGE,
    special::REPLICATE,
    special::DEEPGRAM,
    special::ELEVENLABS,
];

/// The provider with this stable name.
pub fn provider(id: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.id == id)
}

/// The provider that a model prefix (or `custom_llm_provider`) names.
pub fn provider_of_prefix(prefix: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.prefixes.contains(&prefix))
}

/// The provider whose default base is at `host`, for telling whose door a base is.
pub fn owner_of_host(host: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| {
        provider.base.and_then(|base| base.split("://").nth(1)).is_some_and(|rest| {
            let own = rest.split(['/', ':']).next().unwrap_or(rest);
            // A self-hosted server's default address belongs to nobody.
            !own.starts_with("localhost") && !own.starts_with("127.") && own.eq_ignore_ascii_case(host)
        })
    })
}
