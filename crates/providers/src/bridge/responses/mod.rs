//! OpenAI's responses over chat completions.

mod answer;
mod echo;
mod events;
mod input;
mod request;
mod stream;

use bytes::Bytes;

use crate::{Step, Translator, Untranslatable};

pub(super) use echo::Echo;
pub(super) use request::request;

/// Reads chat completions as responses.
#[derive(Debug)]
pub(super) struct Reader {
    created: u64,
    echo: Echo,
    stream: stream::State,
}

impl Reader {
    /// For answers to a request made at `created`, in seconds since the Unix epoch.
    pub(super) fn new(created: u64, echo: Echo) -> Self {
        Self { created, echo, stream: stream::State::default() }
    }
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        answer::response(body, self.created, &self.echo)
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.stream.chunk(data, self.created, &self.echo, chunks)
    }

    fn end(&mut self, chunks: &mut Vec<Bytes>) -> Step {
        self.stream.end(&self.echo, chunks)
    }
}
