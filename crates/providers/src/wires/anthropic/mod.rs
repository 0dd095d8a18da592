//! Anthropic Messages.

use super::Encode;
use crate::target::Encoded;
use crate::{Refusal, Translator};

/// The provider's body for a chat completion, or a message passed through.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    Err(Refusal::unsupported(encode.target.provider.id, encode.operation))
}

/// Reads messages.
pub(super) fn translator(_created: u64) -> Box<dyn Translator> {
    super::rerank::translator(crate::registry::Wire::NimRerank)
}
