//! A call as the mock reads it: which operation, which key, which model.

use bytes::Bytes;
use http::{HeaderMap, request::Parts};
use serde_json::Value;

/// What a path asks for. Prefixes (`/v1`, `/openai/deployments/x`) do not matter: providers differ in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Chat,
    Completions,
    Embeddings,
    Responses,
    Messages,
    CountTokens,
    Rerank,
    Moderations,
    Models,
    Model,
    Speech,
    Transcription,
    Images,
    Batches,
}

impl Operation {
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        const TAILS: [(&str, Operation); 14] = [
            ("/chat/completions", Operation::Chat),
            ("/completions", Operation::Completions),
            ("/embeddings", Operation::Embeddings),
            ("/responses", Operation::Responses),
            ("/messages/count_tokens", Operation::CountTokens),
            ("/messages", Operation::Messages),
            ("/rerank", Operation::Rerank),
            ("/moderations", Operation::Moderations),
            ("/models", Operation::Models),
            ("/audio/speech", Operation::Speech),
            ("/audio/transcriptions", Operation::Transcription),
            ("/images/generations", Operation::Images),
            ("/images/edits", Operation::Images),
            ("/batches", Operation::Batches),
        ];
        let path = path.trim_end_matches('/');
        let found = TAILS.into_iter().find(|(tail, _)| path.ends_with(tail));
        let of_model = || path.contains("/models/").then_some(Self::Model);
        found.map(|(_, operation)| operation).or_else(of_model)
    }

    /// Whether the caller speaks Anthropic's wire format.
    pub(crate) const fn is_anthropic(self) -> bool {
        matches!(self, Self::Messages | Self::CountTokens)
    }

    /// The fields of the body that are known, for strict scripts; empty: anything goes.
    pub(crate) const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Chat => crate::openai::CHAT_FIELDS,
            Self::Completions => crate::openai::COMPLETION_FIELDS,
            Self::Embeddings => &["model", "input", "encoding_format", "dimensions", "user"],
            Self::Responses => crate::openai::RESPONSES_FIELDS,
            Self::Messages | Self::CountTokens => crate::anthropic::FIELDS,
            Self::Rerank
            | Self::Moderations
            | Self::Models
            | Self::Model
            | Self::Speech
            | Self::Transcription
            | Self::Images
            | Self::Batches => &[],
        }
    }
}

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) head: Parts,
    pub(crate) raw: Bytes,
    /// The body; `Null` when it is not JSON.
    pub(crate) body: Value,
    pub(crate) connection: u64,
}

impl Call {
    pub(crate) fn path(&self) -> &str {
        self.head.uri.path()
    }

    pub(crate) fn operation(&self) -> Option<Operation> {
        Operation::of_path(self.path())
    }

    /// The model: of the body, else of an Azure path or of `/models/{id}`.
    pub(crate) fn model(&self) -> Option<&str> {
        if let Some(model) = self.body.get("model").and_then(Value::as_str) {
            return Some(model);
        }
        let after = |mark: &str| self.path().split_once(mark).map(|(_, rest)| rest);
        let azure = after("/deployments/").and_then(|rest| rest.split('/').next());
        azure.or_else(|| after("/models/"))
    }

    pub(crate) fn streams(&self) -> bool {
        self.body.get("stream").and_then(Value::as_bool).unwrap_or(false)
    }

    /// The caller's output limit and the field it is in.
    pub(crate) fn output_limit(&self) -> Option<(&'static str, u64)> {
        ["max_completion_tokens", "max_output_tokens", "max_tokens"]
            .into_iter()
            .find_map(|field| Some((field, self.body.get(field)?.as_u64()?)))
    }

    /// A rough count of what was asked: a quarter of its characters.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        let asked = ["messages", "input", "prompt", "query"];
        let length: usize = asked
            .into_iter()
            .filter_map(|field| self.body.get(field))
            .map(|asked| asked.to_string().len())
            .sum();
        (length as u64 / 4).max(1)
    }
}

/// The API key in any of the places where providers look for it.
pub(crate) fn key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text("authorization").map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
    bearer.or_else(|| text("x-api-key")).or_else(|| text("api-key")).or_else(|| text("x-goog-api-key"))
}
