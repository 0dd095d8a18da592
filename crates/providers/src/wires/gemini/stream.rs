//! A stream of `GenerateContentResponse`s as chat chunks: each event holds new parts, the last one of a candidate
//! its finish reason, and usage grows from event to event.

use bytes::Bytes;
use serde_json::json;

use super::answer::{Candidate, Parts, Reader, Response, Usage, finish_reason};
use crate::Step;
use crate::wires::chat::Chunks;

/// What is known of a stream so far.
#[derive(Debug, Default)]
pub(super) struct State {
    chunks: Chunks,
    choices: Vec<Choice>,
    usage: Usage,
    over: bool,
}

/// One choice.
#[derive(Debug)]
struct Choice {
    index: u64,
    /// What the ids of its calls begin with.
    id: String,
    /// Something usable of it has come.
    usable: bool,
    /// Tool calls that have come.
    calls: usize,
    finished: bool,
}

impl Reader {
    /// One event's chunks.
    pub(super) fn streamed(&mut self, data: &[u8], chunks: &mut Vec<Bytes>) -> Step {
        // Google has no end mark: what follows the last finish reason says nothing more. Neither do comments.
        if self.state.over || data.is_empty() {
            return Step::More;
        }
        let response = match Response::read(data) {
            Ok(response) => response,
            Err(error) => return Step::Malformed(error.0),
        };
        if response.error.is_some() {
            return Step::Failed(Bytes::copy_from_slice(data));
        }
        if !self.state.chunks.begun() {
            self.state.chunks.begin(&response.id(self.created), self.created, &response.model_version);
        }
        if let Some(usage) = response.usage_metadata {
            self.state.usage = usage;
        }
        for (place, candidate) in response.candidates.iter().enumerate() {
            let index = candidate.index.unwrap_or(u64::try_from(place).unwrap_or(0));
            let id = response.call_id(self.created, index);
            if let Err(step) = self.state.candidate(candidate, index, id, chunks) {
                return step;
            }
        }
        if response.candidates.is_empty() && response.is_blocked() && self.state.choices.is_empty() {
            chunks.push(self.state.chunks.role(0));
            chunks.push(self.state.chunks.delta(0, &json!({}), Some("content_filter")));
            return self.end(chunks);
        }
        if self.state.choices.iter().filter(|choice| choice.finished).count() >= self.choices {
            return self.end(chunks);
        }
        Step::More
    }

    fn end(&mut self, chunks: &mut Vec<Bytes>) -> Step {
        self.state.over = true;
        chunks.push(self.state.chunks.usage(&self.state.usage.counts()));
        Step::Done
    }
}

impl State {
    fn candidate(
        &mut self,
        candidate: &Candidate,
        index: u64,
        id: String,
        chunks: &mut Vec<Bytes>,
    ) -> Result<(), Step> {
        if !self.choices.iter().any(|choice| choice.index == index) {
            chunks.push(self.chunks.role(index));
            self.choices.push(Choice { index, id, usable: false, calls: 0, finished: false });
        }
        let Some(choice) = self.choices.iter_mut().find(|choice| choice.index == index) else {
            return Ok(());
        };
        let mut parts = Parts::default();
        parts.take(candidate, &choice.id, Some(choice.calls));
        if !parts.thought.is_empty() {
            chunks.push(self.chunks.delta(index, &json!({ "reasoning_content": parts.thought }), None));
        }
        if !parts.text.is_empty() {
            chunks.push(self.chunks.delta(index, &json!({ "content": parts.text }), None));
        }
        if !parts.images.is_empty() {
            chunks.push(self.chunks.delta(index, &json!({ "images": parts.images }), None));
        }
        if !parts.calls.is_empty() {
            chunks.push(self.chunks.delta(index, &json!({ "tool_calls": parts.calls }), None));
        }
        choice.usable |= parts.usable();
        choice.calls += parts.calls.len();
        if let Some(reason) = candidate.finish_reason.as_deref().filter(|_| !choice.finished) {
            let finish = finish_reason(Some(reason), choice.usable, choice.calls > 0);
            let finish = finish.map_err(|error| Step::Malformed(error.0))?;
            choice.finished = true;
            chunks.push(self.chunks.delta(index, &json!({}), Some(finish)));
        }
        Ok(())
    }
}
