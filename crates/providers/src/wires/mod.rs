//! The wires: how a client's body becomes the provider's, and the provider's answer the client's. One directory
//! each; this table is the only other place that knows them.

mod anthropic;
pub(crate) mod azure;
mod bedrock;
pub(crate) mod chat;
mod cohere;
mod dashscope;
mod deepgram;
mod elevenlabs;
pub(crate) mod follow;
pub(crate) mod gemini;
mod members;
mod ollama;
mod openai;
pub(crate) mod replicate;
mod rerank;
mod tei;
mod transcript;
mod vectors;
pub(crate) mod vertex;
pub(crate) mod video;
pub(crate) mod watsonx;

pub(crate) use members::text;

use haleway_wire::{Envelope, Form};

use crate::registry::Wire;
use crate::target::{Outgoing, Purpose, Target};
use crate::{CallOptions, Operation, Refusal, Reply};

/// One body to encode.
pub(crate) struct Encode<'a> {
    /// The deployment.
    pub(crate) target: &'a Target,
    /// What the client calls.
    pub(crate) operation: Operation,
    /// The client's body, or a probe's in the client's format: of a form, its fields.
    pub(crate) body: &'a Envelope<'a>,
    /// The form, when the body is one.
    pub(crate) form: Option<&'a Form>,
    /// The wire model, when it is not the deployment's own.
    pub(crate) model: Option<&'a str>,
    /// The caller's decisions.
    pub(crate) options: CallOptions,
    /// Why the call is built.
    pub(crate) purpose: Purpose<'a>,
}

/// Whether this version speaks `wire`.
pub(crate) const fn spoken(wire: Wire) -> bool {
    match wire {
        Wire::OpenAi
        | Wire::Azure
        | Wire::Anthropic
        | Wire::Bedrock
        | Wire::Cohere
        | Wire::Gemini
        | Wire::Ollama
        | Wire::Rerank
        | Wire::Tei
        | Wire::VoyageRerank
        | Wire::NimRerank
        | Wire::MistralOcr
        | Wire::Replicate
        | Wire::DashScope
        | Wire::Jobs
        | Wire::VertexAnthropic
        | Wire::VertexEmbed
        | Wire::VertexEmbedContent
        | Wire::Imagen
        | Wire::GoogleRank
        | Wire::Watsonx
        | Wire::Deepgram
        | Wire::ElevenLabs
        | Wire::Realtime
        | Wire::GeminiLive => true,
        Wire::Google => false,
    }
}

/// Whether `wire` has OpenAI's bodies.
pub(crate) const fn speaks_openai(wire: Wire) -> bool {
    matches!(wire, Wire::OpenAi | Wire::Azure)
}

/// The provider's body for a client's.
pub(crate) fn encode(wire: Wire, encode: &Encode<'_>) -> Result<Outgoing, Refusal> {
    let encoded = match wire {
        Wire::OpenAi | Wire::Azure | Wire::Rerank | Wire::MistralOcr => return Ok(openai::encode(encode)),
        Wire::Deepgram => return deepgram::encode(encode),
        Wire::ElevenLabs => return elevenlabs::encode(encode),
        Wire::Anthropic => anthropic::encode(encode),
        Wire::Bedrock => bedrock::encode(encode),
        Wire::Cohere => cohere::encode(encode),
        Wire::Gemini => gemini::encode(encode),
        Wire::Ollama => ollama::encode(encode),
        Wire::Tei => tei::encode(encode),
        Wire::VoyageRerank => rerank::voyage(encode),
        Wire::NimRerank => rerank::nim(encode),
        Wire::VertexAnthropic => vertex::claude(encode),
        Wire::VertexEmbed => vertex::embed(encode),
        Wire::VertexEmbedContent => vertex::embed_content(encode),
        Wire::Imagen => vertex::imagen(encode),
        Wire::GoogleRank => vertex::rank(encode),
        Wire::Watsonx => watsonx::encode(encode),
        Wire::Replicate => replicate::encode(encode),
        Wire::DashScope => dashscope::encode(encode),
        Wire::Realtime | Wire::GeminiLive | Wire::Google | Wire::Jobs => {
            Err(Refusal::unsupported(encode.target.provider.id, encode.operation))
        }
    };
    encoded.map(Outgoing::from)
}

/// How the answers to an operation on `wire` are read.
pub(crate) fn reply(wire: Wire, operation: Operation, created: u64) -> Reply {
    match (wire, operation) {
        (Wire::Anthropic | Wire::VertexAnthropic, Operation::Messages | Operation::CountTokens) => {
            Reply::Passthrough
        }
        (Wire::Anthropic | Wire::VertexAnthropic, _) => Reply::Translated(anthropic::translator(created)),
        (Wire::Bedrock, _) => Reply::Translated(bedrock::translator(operation, created)),
        (Wire::Cohere, _) => Reply::Translated(cohere::translator(operation, created)),
        (Wire::Gemini, _) => Reply::Translated(gemini::translator(operation, created)),
        (Wire::Ollama, _) => Reply::Translated(ollama::translator(operation, created)),
        (Wire::Replicate, _) => Reply::Translated(replicate::translator(operation, created)),
        (Wire::DashScope, _) => Reply::Translated(dashscope::translator(created)),
        (Wire::Tei, _) => Reply::Translated(tei::translator(operation)),
        (Wire::Deepgram, Operation::Transcriptions) => Reply::Translated(deepgram::translator()),
        (Wire::ElevenLabs, Operation::Transcriptions) => Reply::Translated(elevenlabs::translator()),
        (Wire::VertexEmbed | Wire::VertexEmbedContent | Wire::Imagen | Wire::GoogleRank, _) => {
            Reply::Translated(vertex::translator(wire, created))
        }
        (Wire::Watsonx, _) => Reply::Translated(watsonx::translator(operation, created)),
        (Wire::VoyageRerank | Wire::NimRerank, _) => Reply::Translated(rerank::translator(wire)),
        (_, _) => Reply::Passthrough,
    }
}

/// Where streams are asked for, when that is another URL than that of whole answers.
pub(crate) fn stream_url(wire: Wire, operation: Operation, whole: &str) -> Option<String> {
    match (wire, operation) {
        (Wire::Bedrock, Operation::Chat) => {
            let (path, query) = whole.split_at(whole.find('?').unwrap_or(whole.len()));
            path.ends_with("/converse").then(|| format!("{path}-stream{query}"))
        }
        (Wire::Gemini, Operation::Chat) => {
            let (path, query) = whole.split_once('?').unwrap_or((whole, ""));
            let path = path.strip_suffix(":generateContent")?;
            let separator = if query.is_empty() { "" } else { "&" };
            // Without `alt=sse` the stream is one JSON array.
            Some(format!("{path}:streamGenerateContent?alt=sse{separator}{query}"))
        }
        (Wire::VertexAnthropic | Wire::OpenAi, Operation::Chat | Operation::Messages) => {
            let (path, query) = whole.split_at(whole.find('?').unwrap_or(whole.len()));
            path.strip_suffix(":rawPredict").map(|path| format!("{path}:streamRawPredict{query}"))
        }
        (Wire::Watsonx, _) => watsonx::stream_url(whole),
        (_, _) => None,
    }
}
