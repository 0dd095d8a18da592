//! What a row of the registry says.

use crate::Mode;

/// A provider, as LiteLLM's model strings name it.
#[derive(Debug, PartialEq, Eq)]
pub struct Provider {
    /// The stable name, used in classification rules, metrics and explanations.
    pub id: &'static str,
    /// The model prefixes that mean this provider, without the slash; the first is the usual one.
    pub prefixes: &'static [&'static str],
    /// The wire its chat is spoken on.
    pub wire: Wire,
    /// The default base URL; `None` when the operator must give `api_base`.
    pub base: Option<&'static str>,
    /// Environment variables that hold a base URL, in the order looked at.
    pub base_env: &'static [&'static str],
    /// Environment variables that hold the key, in the order looked at.
    pub key_env: &'static [&'static str],
    /// How the key is presented.
    pub auth: Auth,
    /// Whether a call without a key makes sense.
    pub key: KeyNeed,
    /// Headers of every call, beside the credential.
    pub headers: &'static [(&'static str, &'static str)],
    /// Where each mode is served.
    pub endpoints: &'static [Endpoint],
    /// Calls that cost nothing, the preferred one first.
    pub free: &'static [FreeCall],
    /// Body fields the provider refuses; left out when `drop_params` is on.
    pub refuses: &'static [&'static str],
}

impl Provider {
    /// Where `mode` is served, if it is.
    pub fn endpoint(&self, mode: Mode) -> Option<&'static Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.mode == mode)
    }
}

/// A format of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wire {
    /// OpenAI's, which the gateway's clients speak too.
    OpenAi,
    /// OpenAI's bodies behind Azure's URLs.
    Azure,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini `generateContent` with an API key.
    Gemini,
    /// Bedrock Converse and InvokeModel.
    Bedrock,
    /// Cohere v2.
    Cohere,
    /// Rerank in Cohere's shape, which the gateway's clients speak too.
    Rerank,
    /// Rerank as Voyage says it.
    VoyageRerank,
    /// Rerank as NVIDIA NIM says it.
    NimRerank,
    /// Ollama's own.
    Ollama,
    /// Text Embeddings Inference, and Hugging Face's inference API.
    Tei,
    /// IBM watsonx.
    Watsonx,
    /// Replicate predictions.
    Replicate,
    /// Deepgram.
    Deepgram,
    /// ElevenLabs.
    ElevenLabs,
    /// DashScope's own.
    DashScope,
    /// Mistral's OCR.
    MistralOcr,
    /// OpenAI Realtime events over a WebSocket.
    Realtime,
    /// Gemini's live sessions over a WebSocket.
    GeminiLive,
    /// Anthropic Messages behind Vertex AI's `rawPredict`.
    VertexAnthropic,
    /// Embeddings by Vertex AI's `predict`.
    VertexEmbed,
    /// Embeddings by Vertex AI's `embedContent`.
    VertexEmbedContent,
    /// Pictures by Google's `predict`.
    Imagen,
    /// Google's ranking service.
    GoogleRank,
    /// Google's video service, and its jobs.
    Google,
    /// A job list of the provider's own shape.
    Jobs,
}

impl Wire {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
            Self::Cohere => "cohere",
            Self::Rerank => "rerank",
            Self::VoyageRerank => "voyage_rerank",
            Self::NimRerank => "nim_rerank",
            Self::Ollama => "ollama",
            Self::Tei => "tei",
            Self::Watsonx => "watsonx",
            Self::Replicate => "replicate",
            Self::Deepgram => "deepgram",
            Self::ElevenLabs => "elevenlabs",
            Self::DashScope => "dashscope",
            Self::MistralOcr => "mistral_ocr",
            Self::Realtime => "realtime",
            Self::GeminiLive => "gemini_live",
            Self::VertexAnthropic => "vertex_anthropic",
            Self::VertexEmbed => "vertex_embed",
            Self::VertexEmbedContent => "vertex_embed_content",
            Self::Imagen => "imagen",
            Self::GoogleRank => "google_rank",
            Self::Google => "google",
            Self::Jobs => "jobs",
        }
    }
}

/// How a key is presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `Authorization: Bearer {key}`.
    Bearer,
    /// `Authorization: Token {key}`.
    Token,
    /// A header of its own holds the bare key.
    Header(&'static str),
    /// Azure: `api-key`, or a bearer token on the v1 face and for Entra.
    Azure,
    /// Azure AI: `api-key` on `*.services.ai.azure.com`, a bearer token elsewhere.
    AzureAi,
    /// Anthropic: `x-api-key`, or a bearer token for `sk-ant-oat…` and gateway tokens.
    Anthropic,
    /// AWS Signature Version 4, or a Bedrock API key as bearer.
    Aws,
    /// A Google OAuth token.
    GoogleOauth,
    /// An IBM IAM token.
    IbmIam,
}

/// Whether a call without a key makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyNeed {
    /// A deployment without a key is refused at load.
    Required,
    /// The operator's own servers often take none.
    Optional,
}

/// An HTTP method, or a WebSocket handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET`.
    Get,
    /// `POST` with a JSON body.
    Post,
    /// `POST` with a multipart body.
    PostForm,
    /// A WebSocket handshake.
    WebSocket,
}

/// Where one mode of a provider is served.
#[derive(Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The mode.
    pub mode: Mode,
    /// How it is called.
    pub method: Method,
    /// The path below the base, or an absolute URL where the host differs. `{model}` and `{v}` are filled in.
    pub path: &'static str,
    /// The wire it is spoken on.
    pub wire: Wire,
}

/// A call that costs nothing.
#[derive(Debug, PartialEq, Eq)]
pub struct FreeCall {
    /// How it is called.
    pub method: Method,
    /// The path below the base, or an absolute URL; `{root}` is the base without its path.
    pub path: &'static str,
    /// What a 2xx proves.
    pub proves: &'static [Proves],
}

/// What a free call's 2xx proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proves {
    /// TCP, TLS and the route.
    Reach,
    /// The key is accepted.
    Auth,
    /// The key may see the model.
    ModelListed,
    /// The key may use the model.
    ModelAccess,
    /// The model's endpoint is ready.
    ModelReady,
    /// The model is in memory.
    ModelLoaded,
    /// The inference engine runs.
    Engine,
    /// There is credit left.
    Credit,
    /// The key may list batches.
    BatchScope,
    /// The body's shape is right.
    RequestShape,
    /// What the model can do.
    Capabilities,
}

impl Proves {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reach => "reach",
            Self::Auth => "auth",
            Self::ModelListed => "model_listed",
            Self::ModelAccess => "model_access",
            Self::ModelReady => "model_ready",
            Self::ModelLoaded => "model_loaded",
            Self::Engine => "engine",
            Self::Credit => "credit",
            Self::BatchScope => "batch_scope",
            Self::RequestShape => "request_shape",
            Self::Capabilities => "capabilities",
        }
    }
}

/// An endpoint, written on one line.
pub(super) const fn at(mode: Mode, method: Method, path: &'static str, wire: Wire) -> Endpoint {
    Endpoint { mode, method, path, wire }
}

/// A free call, written on one line.
pub(super) const fn free(method: Method, path: &'static str, proves: &'static [Proves]) -> FreeCall {
    FreeCall { method, path, proves }
}
