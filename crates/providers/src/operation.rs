//! What a client calls. An operation is a client's path; a mode is a deployment's nature; one chat deployment
//! serves several operations, and each has its own path on every wire.

use std::fmt;

use crate::Mode;

/// A client's call with a JSON body, named after OpenAI's path unless said otherwise.
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
    /// `/moderations`.
    Moderations,
    /// `/images/generations`.
    Images,
    /// `/audio/speech`.
    Speech,
    /// `/rerank`, in the shape of Cohere.
    Rerank,
}

impl Operation {
    /// Every operation, in the order of declaration.
    pub const ALL: [Self; 9] = [
        Self::Chat,
        Self::Completions,
        Self::Embeddings,
        Self::Responses,
        Self::Messages,
        Self::Moderations,
        Self::Images,
        Self::Speech,
        Self::Rerank,
    ];

    /// The client's path below `/v1`.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Completions => "/completions",
            Self::Embeddings => "/embeddings",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
            Self::Moderations => "/moderations",
            Self::Images => "/images/generations",
            Self::Speech => "/audio/speech",
            Self::Rerank => "/rerank",
        }
    }

    /// The mode of a deployment that is made for this operation.
    pub const fn mode(self) -> Mode {
        match self {
            Self::Chat | Self::Moderations => Mode::Chat,
            Self::Completions => Mode::Completion,
            Self::Embeddings => Mode::Embedding,
            Self::Responses => Mode::Responses,
            Self::Messages => Mode::AnthropicMessages,
            Self::Images => Mode::ImageGeneration,
            Self::Speech => Mode::AudioSpeech,
            Self::Rerank => Mode::Rerank,
        }
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
