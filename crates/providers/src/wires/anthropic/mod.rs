//! Anthropic Messages: chat completions are translated both ways; a client's own message passes through.

mod answer;
mod blocks;
pub(super) mod family;
mod messages;
mod request;
mod stream;
mod tools;

use super::{Encode, chat, openai};
use crate::target::Encoded;
use crate::{Operation, Refusal, Reply, Translator, Untranslatable};

use answer::Reader;

/// The provider's body for a chat completion, or a message passed through.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    if matches!(encode.operation, Operation::Messages | Operation::CountTokens) {
        return Ok(openai::json(encode));
    }
    let request = request::translate(encode)?;
    let reader = Reader::new(encode.options.created, request.json_tool);
    Ok(Encoded {
        body: request.body,
        reply: Reply::Translated(Box::new(reader)),
        strip_usage: encode.options.stream && !chat::wants_usage(encode),
    })
}

/// Reads messages.
pub(super) fn translator(created: u64) -> Box<dyn Translator> {
    Box::new(Reader::new(created, false))
}

/// A body that is not Anthropic's.
fn wrong(error: &serde_json::Error) -> Untranslatable {
    Untranslatable(error.to_string())
}
