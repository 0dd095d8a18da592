//! What a client calls. An operation is a client's path; a mode is a deployment's nature; one chat deployment
//! serves several operations, and each has its own path on every wire.

use std::fmt;

use crate::Mode;

/// A client's call, named after OpenAI's path unless said otherwise. Of files, batches and videos, see
/// [`crate::Action`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `/chat/completions`.
    Chat,
    /// `/completions`.
    Completions,
    /// `/embeddings`.
    Embeddings,
    /// `/responses`.
    Responses,
    /// Anthropic's `/v1/messages`.
    Messages,
    /// Anthropic's `/v1/messages/count_tokens`: what a message would cost, without an answer.
    CountTokens,
    /// `/moderations`.
    Moderations,
    /// `/images/generations`.
    Images,
    /// `/audio/speech`.
    Speech,
    /// `/rerank`, in the shape of Cohere.
    Rerank,
    /// `/ocr`, in the shape of Mistral.
    Ocr,
    /// `/files`: uploads, and what batches read and write.
    Files,
    /// `/batches`: jobs of many requests.
    Batches,
    /// `/videos`: jobs that make one video.
    Videos,
    /// `/audio/transcriptions`: a form with a file.
    Transcriptions,
    /// `/audio/translations`: a form with a file.
    Translations,
    /// `/images/edits`: a form with images.
    ImageEdits,
    /// `/images/variations`: a form with an image.
    ImageVariations,
    /// `/realtime`: a session over a WebSocket. See [`crate::Target::session`].
    Realtime,
}

impl Operation {
    /// Every operation, in the order of declaration.
    pub const ALL: [Self; 19] = [
        Self::Chat,
        Self::Completions,
        Self::Embeddings,
        Self::Responses,
        Self::Messages,
        Self::CountTokens,
        Self::Moderations,
        Self::Images,
        Self::Speech,
        Self::Rerank,
        Self::Ocr,
        Self::Files,
        Self::Batches,
        Self::Videos,
        Self::Transcriptions,
        Self::Translations,
        Self::ImageEdits,
        Self::ImageVariations,
        Self::Realtime,
    ];

    /// The client's path below `/v1`.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Completions => "/completions",
            Self::Embeddings => "/embeddings",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
            Self::CountTokens => "/messages/count_tokens",
            Self::Moderations => "/moderations",
            Self::Images => "/images/generations",
            Self::Speech => "/audio/speech",
            Self::Rerank => "/rerank",
            Self::Ocr => "/ocr",
            Self::Files => "/files",
            Self::Batches => "/batches",
            Self::Videos => "/videos",
            Self::Transcriptions => "/audio/transcriptions",
            Self::Translations => "/audio/translations",
            Self::ImageEdits => "/images/edits",
            Self::ImageVariations => "/images/variations",
            Self::Realtime => "/realtime",
        }
    }

    /// The mode of a deployment that is made for this operation.
    pub const fn mode(self) -> Mode {
        match self {
            Self::Chat | Self::Moderations => Mode::Chat,
            Self::Completions => Mode::Completion,
            Self::Embeddings => Mode::Embedding,
            Self::Responses => Mode::Responses,
            Self::Messages | Self::CountTokens => Mode::AnthropicMessages,
            Self::Images => Mode::ImageGeneration,
            Self::Speech => Mode::AudioSpeech,
            Self::Rerank => Mode::Rerank,
            Self::Ocr => Mode::Ocr,
            Self::Files | Self::Batches => Mode::Batch,
            Self::Videos => Mode::VideoGeneration,
            Self::Transcriptions | Self::Translations => Mode::AudioTranscription,
            Self::ImageEdits | Self::ImageVariations => Mode::ImageEdit,
            Self::Realtime => Mode::Realtime,
        }
    }

    /// The file that a call's form must bring; `None` when the body is JSON.
    pub const fn file(self) -> Option<&'static str> {
        match self {
            Self::Transcriptions | Self::Translations => Some("file"),
            Self::ImageEdits | Self::ImageVariations => Some("image"),
            Self::Chat
            | Self::Completions
            | Self::Embeddings
            | Self::Responses
            | Self::Messages
            | Self::CountTokens
            | Self::Moderations
            | Self::Images
            | Self::Speech
            | Self::Rerank
            | Self::Ocr
            | Self::Files
            | Self::Batches
            | Self::Videos
            | Self::Realtime => None,
        }
    }

    /// Whether the call is about objects that a deployment keeps: made once, looked at later, and nowhere else.
    pub const fn keeps_objects(self) -> bool {
        matches!(self, Self::Files | Self::Batches | Self::Videos)
    }

    /// The place in a table of one entry per operation.
    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path())
    }
}
