//! What an answer means, with what only the call knows: whose model name it was.

use std::sync::Arc;

use haleway_health::Class;
use haleway_providers::Operation;
use haleway_providers::classify::{Answer, Fault, classify, first_event};
use haleway_wire::chat::{AnswerKind, StreamKind};
use http::HeaderMap;

use crate::call::failure::Failed;
use crate::deployment::Deployment;

/// How to read the answers of one attempt.
#[derive(Debug, Clone)]
pub(crate) struct Judge {
    pub(crate) deployment: Arc<Deployment>,
    /// The caller, not the configuration, named the model (a wildcard took it): a missing model is then the caller's
    /// mistake and says nothing about the deployment (report D15).
    pub(crate) callers_model: bool,
    /// Now, in milliseconds since the Unix epoch, for waits stated as dates.
    pub(crate) now_millis: u64,
}

impl Judge {
    /// An answer with an error status, or a success status whose body is an error.
    pub(crate) fn answer(&self, status: u16, headers: HeaderMap, body: &[u8]) -> Judged {
        let fault = classify(&self.read(status, &headers, body));
        self.judged(fault, headers)
    }

    /// An error inside a stream, or as its first event.
    pub(crate) fn error_event(&self, data: &[u8]) -> Judged {
        let headers = HeaderMap::new();
        let fault = first_event(&self.read(200, &headers, data));
        let fault =
            fault.unwrap_or_else(|| Fault::new(Class::ServerError, 0, "the stream reported a failure"));
        self.judged(fault, headers)
    }

    fn read<'a>(&self, status: u16, headers: &'a HeaderMap, body: &'a [u8]) -> Answer<'a> {
        let target = &self.deployment.target;
        Answer {
            provider: target.provider.id,
            mode: target.mode,
            status,
            headers,
            body,
            now_ms: self.now_millis,
        }
    }

    fn judged(&self, fault: Fault, headers: HeaderMap) -> Judged {
        if fault.class == Class::Ok {
            // Found wanting here and fine by the rules of errors (a body that is no UTF-8): no success all the same.
            let message = "the answer does not hold what it should";
            let failed = Failed::own(Class::MalformedResponse, "bad_answer", message);
            return Judged { unlisted: false, failed };
        }
        if fault.retry_after_clamped {
            let deployment = &self.deployment;
            tracing::warn!(deployment = %deployment.id(), status = fault.status, cut_to = ?fault.retry_after, "a stated wait is absurd and was cut");
        }
        let fault = self.deployment.target.statuses.read(fault);
        let mut fault = if self.callers_model { fault.for_callers_model() } else { fault };
        fault.message = self.deployment.target.without_own_secrets(fault.message);
        Judged { unlisted: fault.unlisted, failed: Failed::classified(fault, headers) }
    }
}

/// A failure, and whether the tables of errors lack something.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) failed: Failed,
    /// No rule knew the provider's code or status.
    pub(crate) unlisted: bool,
}

/// What the body of an operation's answer must hold; `None` when nothing is promised that can be looked at.
pub(crate) const fn answer_kind(operation: Operation) -> Option<AnswerKind> {
    match operation {
        Operation::Chat => Some(AnswerKind::Chat),
        Operation::Completions => Some(AnswerKind::Completion),
        Operation::Embeddings => Some(AnswerKind::Embedding),
        Operation::Responses => Some(AnswerKind::Responses),
        Operation::Messages => Some(AnswerKind::Messages),
        Operation::Rerank => Some(AnswerKind::Rerank),
        Operation::Moderations
        | Operation::CountTokens
        | Operation::Images
        | Operation::Speech
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime => None,
    }
}

/// The wire of an operation's stream, as the caller sees it.
pub(crate) const fn stream_kind(operation: Operation) -> StreamKind {
    match operation {
        Operation::Responses => StreamKind::Responses,
        Operation::Messages => StreamKind::Messages,
        Operation::Chat
        | Operation::Completions
        | Operation::Embeddings
        | Operation::Moderations
        | Operation::CountTokens
        | Operation::Rerank
        | Operation::Ocr
        | Operation::Files
        | Operation::Batches
        | Operation::Videos => StreamKind::Chat,
        Operation::Images
        | Operation::Speech
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::Realtime => StreamKind::Media,
    }
}
