//! Chat completions over responses, for deployments that serve nothing else (`openai/responses/…`).

mod answer;
mod input;
mod request;
mod stream;

use bytes::Bytes;

use crate::{Step, Translator, Untranslatable};

pub(super) use request::request;

/// Reads responses as chat completions.
#[derive(Debug)]
pub(super) struct Reader {
    stream: stream::State,
}

impl Reader {
    /// For answers to a request made at `created`, in seconds since the Unix epoch.
    pub(super) fn new(created: u64) -> Self {
        Self { stream: stream::State::new(created) }
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        answer::completion(body, self.stream.created())
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.stream.event(data, chunks)
    }
}
