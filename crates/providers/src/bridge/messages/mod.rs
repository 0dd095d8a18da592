//! Anthropic's messages over chat completions.

mod answer;
mod blocks;
mod request;
mod stream;

use bytes::Bytes;

use crate::{Step, Translator, Untranslatable};

pub(super) use request::request;

/// Reads chat completions as messages.
#[derive(Debug, Default)]
pub(super) struct Reader {
    stream: stream::State,
}

impl Translator for Reader {
    fn answer(&mut self, body: &[u8]) -> Result<Bytes, Untranslatable> {
        answer::message(body)
    }

    fn event(&mut self, _event: Option<&str>, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        self.stream.chunk(data, chunks)
    }

    fn end(&mut self, chunks: &mut Vec<Bytes>) -> Step {
        self.stream.end(chunks)
    }
}
