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
    Translation,
    Images,
    Files,
    Batches,
    Videos,
    Ocr,
    Predictions,
    DeepgramListen,
    DeepgramSpeak,
    ElevenLabsSpeech,
    ElevenLabsText,
}

impl Operation {
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        const TAILS: [(&str, Operation); 19] = [
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
            ("/audio/translations", Operation::Translation),
            ("/images/generations", Operation::Images),
            ("/images/edits", Operation::Images),
            ("/images/variations", Operation::Images),
            ("/ocr", Operation::Ocr),
            ("/listen", Operation::DeepgramListen),
            ("/speak", Operation::DeepgramSpeak),
            ("/speech-to-text", Operation::ElevenLabsText),
        ];
        let path = path.trim_end_matches('/');
        // Resources: what follows them is an object's id and what to do with it.
        const KEPT: [(&str, Operation); 4] = [
            ("files", Operation::Files),
            ("batches", Operation::Batches),
            ("videos", Operation::Videos),
            ("predictions", Operation::Predictions),
        ];
        let kept = KEPT.into_iter().find(|(name, _)| path.split('/').any(|segment| segment == *name));
        if let Some((_, operation)) = kept {
            return Some(operation);
        }
        let found = TAILS.into_iter().find(|(tail, _)| path.ends_with(tail));
        let by_part = || {
            let parts = [("/models/", Self::Model), ("/text-to-speech/", Self::ElevenLabsSpeech)];
            parts.into_iter().find(|(part, _)| path.contains(part)).map(|(_, operation)| operation)
        };
        found.map(|(_, operation)| operation).or_else(by_part)
    }

    /// The file that a form must bring.
    pub(crate) const fn file(self) -> Option<&'static str> {
        match self {
            Self::Transcription | Self::Translation | Self::ElevenLabsText => Some("file"),
            Self::Chat
            | Self::Completions
            | Self::Embeddings
            | Self::Responses
            | Self::Messages
            | Self::CountTokens
            | Self::Rerank
            | Self::Moderations
            | Self::Models
            | Self::Model
            | Self::Speech
            | Self::Images
            | Self::Files
            | Self::Batches
            | Self::Videos
            | Self::Ocr
            | Self::Predictions
            | Self::DeepgramListen
            | Self::DeepgramSpeak
            | Self::ElevenLabsSpeech => None,
        }
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
            | Self::Files
            | Self::Batches
            | Self::Videos
            | Self::Ocr
            | Self::Predictions
            | Self::DeepgramListen
            | Self::DeepgramSpeak
            | Self::ElevenLabsSpeech
            | Self::ElevenLabsText => &[],
            Self::Speech => crate::media::SPEECH_FIELDS,
            Self::Transcription | Self::Translation => crate::media::TRANSCRIPTION_FIELDS,
            Self::Images => crate::media::IMAGE_FIELDS,
        }
    }
}

/// A call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) head: Parts,
    pub(crate) raw: Bytes,
    /// The body; of a form its fields, and what is to be known of its files. `Null` when it is neither JSON nor a form.
    pub(crate) body: Value,
    pub(crate) is_form: bool,
    pub(crate) connection: u64,
}

impl Call {
    pub(crate) fn path(&self) -> &str {
        self.head.uri.path()
    }

    pub(crate) fn operation(&self) -> Option<Operation> {
        Operation::of_path(self.path())
    }

    /// The model: of the body, else of the query, an Azure path or `/models/{id}`.
    pub(crate) fn model(&self) -> Option<&str> {
        let query = self.head.uri.query().unwrap_or_default();
        let asked = query.split('&').find_map(|pair| pair.strip_prefix("model="));
        let named = ["model", "model_id"].iter().find_map(|name| self.body.get(name)?.as_str());
        if let Some(model) = named.or(asked) {
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
    let schemes = ["Bearer ", "Token "];
    let bearer = text("authorization")
        .map(|value| schemes.iter().find_map(|scheme| value.strip_prefix(scheme)).unwrap_or(value));
    bearer
        .or_else(|| text("x-api-key"))
        .or_else(|| text("api-key"))
        .or_else(|| text("x-goog-api-key"))
        .or_else(|| text("xi-api-key"))
}
