//! Amazon Bedrock: chat by Converse and ConverseStream, embeddings and images by InvokeModel, rankings by the agent
//! runtime. Bodies differ per maker of the model only where Converse does not stand in between.

mod answer;
mod embed;
mod family;
mod image;
mod messages;
mod rank;
mod request;
mod stream;
mod tools;

use super::{Encode, chat};
use crate::target::Encoded;
use crate::{Operation, Refusal, Reply, Translator};

use answer::Reader;

/// How the wire is called in refusals.
const WIRE: &str = "Bedrock";

/// The provider's body for a client's.
pub(super) fn encode(encode: &Encode<'_>) -> Result<Encoded, Refusal> {
    match encode.operation {
        Operation::Chat => {
            let request = request::translate(encode)?;
            let reader = Reader::new(
                id(&request.body, encode.options.created),
                encode.options.created,
                model(encode),
                request.json_tool,
            );
            Ok(Encoded {
                body: request.body,
                reply: Reply::Translated(Box::new(reader)),
                strip_usage: encode.options.stream && !chat::wants_usage(encode),
            })
        }
        Operation::Embeddings => embed::encode(encode),
        Operation::Images => image::encode(encode),
        Operation::Rerank => rank::encode(encode),
        Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Speech
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime => Err(Refusal::unsupported(encode.target.provider.id, encode.operation)),
    }
}

/// Reads the answers to `operation`.
pub(super) fn translator(operation: Operation, created: u64) -> Box<dyn Translator> {
    match operation {
        Operation::Embeddings => Box::new(embed::Embedded::new(String::new(), false)),
        Operation::Images => Box::new(image::Pictures { created }),
        Operation::Rerank => Box::new(rank::Ranking),
        Operation::Chat
        | Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::CountTokens
        | Operation::Moderations
        | Operation::Speech
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime => Box::new(Reader::new(id(b"", created), created, "", false)),
    }
}

/// The model's id on the wire.
fn model<'a>(encode: &Encode<'a>) -> &'a str {
    encode.model.unwrap_or(&encode.target.wire_model)
}

/// Bedrock's answers carry no id: one is made of the request and its time (FNV-1a).
fn id(body: &[u8], created: u64) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in created.to_le_bytes().iter().chain(body) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("chatcmpl-{hash:016x}")
}
