//! What kind of model a deployment is. The mode decides which probe is sent and how its answer is judged.
//!
//! A mode is resolved once per deployment, from the first of: the operator's `model_info.mode`, what the model
//! string itself implies (`azure/responses/…`), what the provider only serves (a rerank-only provider), the
//! catalogue, for models that it does not know the few naming habits that leave no doubt, and chat. Where it came
//! from is kept, so that an explanation can say why a deployment is probed as it is.

use std::fmt;

/// The operation a deployment serves, by LiteLLM's names of `model_info.mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Chat completions.
    Chat,
    /// Text completions.
    Completion,
    /// Embedding vectors.
    Embedding,
    /// Text to speech.
    AudioSpeech,
    /// Speech to text.
    AudioTranscription,
    /// Images from text.
    ImageGeneration,
    /// Images from images and text.
    ImageEdit,
    /// Videos from text.
    VideoGeneration,
    /// Ordering documents by relevance.
    Rerank,
    /// A session over a WebSocket.
    Realtime,
    /// Jobs of many requests.
    Batch,
    /// OpenAI's Responses API.
    Responses,
    /// Text from pages.
    Ocr,
    /// Anthropic's Messages API, spoken natively.
    AnthropicMessages,
    /// Any HTTP service: a path, an expected status.
    Http,
}

impl Mode {
    /// Every mode, in the order of declaration.
    pub const ALL: [Self; 15] = [
        Self::Chat,
        Self::Completion,
        Self::Embedding,
        Self::AudioSpeech,
        Self::AudioTranscription,
        Self::ImageGeneration,
        Self::ImageEdit,
        Self::VideoGeneration,
        Self::Rerank,
        Self::Realtime,
        Self::Batch,
        Self::Responses,
        Self::Ocr,
        Self::AnthropicMessages,
        Self::Http,
    ];

    /// The stable machine name, as written in `model_info.mode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completion => "completion",
            Self::Embedding => "embedding",
            Self::AudioSpeech => "audio_speech",
            Self::AudioTranscription => "audio_transcription",
            Self::ImageGeneration => "image_generation",
            Self::ImageEdit => "image_edit",
            Self::VideoGeneration => "video_generation",
            Self::Rerank => "rerank",
            Self::Realtime => "realtime",
            Self::Batch => "batch",
            Self::Responses => "responses",
            Self::Ocr => "ocr",
            Self::AnthropicMessages => "anthropic_messages",
            Self::Http => "http",
        }
    }

    /// Whether one real call costs so much that it is not made as a matter of routine.
    pub const fn is_costly(self) -> bool {
        match self {
            Self::AudioSpeech
            | Self::AudioTranscription
            | Self::ImageGeneration
            | Self::ImageEdit
            | Self::VideoGeneration
            | Self::Ocr => true,
            Self::Chat
            | Self::Completion
            | Self::Embedding
            | Self::Rerank
            | Self::Realtime
            | Self::Batch
            | Self::Responses
            | Self::AnthropicMessages
            | Self::Http => false,
        }
    }

    /// Whether the probe of this mode is a call that costs nothing by itself.
    pub const fn is_free(self) -> bool {
        matches!(self, Self::Batch | Self::Realtime | Self::Http)
    }

    /// The mode with this machine name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a deployment's mode came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeOrigin {
    /// `model_info.mode`.
    Configured,
    /// `model_info.mode` holds a name that is no mode; the deployment serves as chat and is not probed.
    ConfiguredUnknown,
    /// A segment of the model string, such as `responses/`.
    ModelString,
    /// The provider's prefix or its only operation.
    Provider,
    /// The catalogue.
    Catalogue,
    /// The catalogue says that the model serves something that no mode stands for (`moderation`, `search`); the
    /// deployment serves as chat and is not probed.
    CatalogueUnknown,
    /// A naming habit that leaves no doubt, such as `text-embedding-…`.
    Name,
    /// Nothing said otherwise.
    Default,
}

impl ModeOrigin {
    /// What to call it in a sentence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configured | Self::ConfiguredUnknown => "model_info.mode",
            Self::ModelString => "the model string",
            Self::Provider => "the provider",
            Self::Catalogue | Self::CatalogueUnknown => "the catalogue",
            Self::Name => "the model's name",
            Self::Default => "the default",
        }
    }
}

/// The mode that a model's name alone implies, for the few habits that leave no doubt.
///
/// Looked at in lower case, after the last slash, so that `openai/org/bge-reranker` counts.
pub fn mode_of_name(model: &str) -> Option<Mode> {
    let lower = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let starts = |prefix: &str| lower.starts_with(prefix);
    if lower.contains("rerank") {
        Some(Mode::Rerank)
    } else if lower.contains("embed") {
        Some(Mode::Embedding)
    } else if starts("whisper") || lower.ends_with("-transcribe") {
        Some(Mode::AudioTranscription)
    } else if starts("tts-") || lower.ends_with("-tts") {
        Some(Mode::AudioSpeech)
    } else if starts("dall-e") || starts("gpt-image") || starts("chatgpt-image") {
        Some(Mode::ImageGeneration)
    } else if starts("sora-") {
        Some(Mode::VideoGeneration)
    } else if starts("gpt-realtime") || lower.contains("-realtime-preview") {
        Some(Mode::Realtime)
    } else {
        None
    }
}
