//! What a model's id says about whose it is. Converse is one format; what a model takes beside it is not.

use crate::wires::anthropic::family::Generation;

/// Whose model it is, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Anthropic's.
    Claude(Generation),
    /// Amazon's first Nova models.
    Nova,
    /// Amazon's second, which reason.
    Nova2,
    /// Mistral's.
    Mistral,
    /// OpenAI's open models.
    GptOss,
    /// Any other, and those behind ARNs that do not name them.
    Other,
}

impl Family {
    pub(super) fn of(model: &str) -> Self {
        match Generation::of(model) {
            Some(generation) => Self::Claude(generation),
            None if model.contains("amazon.nova-2") => Self::Nova2,
            None if model.contains("amazon.nova") => Self::Nova,
            None if model.contains("mistral.") => Self::Mistral,
            None if model.contains("gpt-oss") => Self::GptOss,
            None => Self::Other,
        }
    }

    /// Can be told to call a tool. Others refuse a choice.
    pub(super) const fn can_be_forced(self) -> bool {
        match self {
            Self::Claude(_) | Self::Nova | Self::Nova2 | Self::Mistral => true,
            Self::GptOss | Self::Other => false,
        }
    }

    /// Takes a schema for its answer.
    pub(super) fn has_output_format(self) -> bool {
        match self {
            Self::Claude(generation) => generation.has_output_format(),
            Self::Nova | Self::Nova2 | Self::Mistral | Self::GptOss | Self::Other => false,
        }
    }
}
