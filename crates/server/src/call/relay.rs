//! A committed stream on its way to the caller.
//!
//! What was held back goes first, then every piece as it comes. If the provider fails now, the caller gets an error
//! event and no end mark, so that a cut answer cannot be taken for a whole one; where there are no events, the caller's
//! connection breaks. Dropping the relay closes the provider's connection at once.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use haleway_wire::chat::StreamKind;
use haleway_wire::sse;
use http_body::Frame;

use crate::call::failure::Failed;
use crate::call::guard::Attempt;
use crate::call::place::Place;
use crate::call::stream::{Piece, StreamReader};
use crate::call::trace::Trace;
use crate::error::ErrorShape;

/// The provider broke off bytes that have no way to say so.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the provider broke off its answer")]
pub(crate) struct Broken;

/// A committed stream.
#[derive(Debug)]
pub struct Relay {
    held: VecDeque<Bytes>,
    reader: StreamReader,
    attempt: Option<Attempt>,
    /// How the call was routed, until the caller is told.
    trace: Option<Box<Trace>>,
    _place: Place,
}

impl Relay {
    /// Goes on with `reader` after the pieces `held` back before commitment.
    pub(crate) fn new(held: VecDeque<Bytes>, reader: StreamReader, attempt: Attempt, place: Place) -> Self {
        Self { held, reader, attempt: Some(attempt), trace: None, _place: place }
    }

    /// Tells the caller at the end how the call was routed.
    pub(crate) fn tell(&mut self, trace: Trace) {
        self.trace = Some(Box::new(trace));
    }

    /// A piece for the caller.
    fn pass(&mut self, bytes: Bytes) -> Bytes {
        let Some(trace) = &mut self.trace else { return bytes };
        let (bytes, told) = trace.weave(self.reader.kind(), bytes);
        if told {
            self.trace = None;
        }
        bytes
    }

    /// Whether the stream is one of events.
    pub(crate) const fn is_events(&self) -> bool {
        self.reader.is_events()
    }

    pub(crate) fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        if let Some(bytes) = self.held.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(self.pass(bytes)))));
        }
        if self.attempt.is_none() {
            return Poll::Ready(None);
        }
        match self.reader.poll_next(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Piece::Bytes { bytes, said }) => {
                if said && let Some(attempt) = &mut self.attempt {
                    attempt.output();
                }
                Poll::Ready(Some(Ok(Frame::data(self.pass(bytes)))))
            }
            Poll::Ready(Piece::End) => {
                self.succeed();
                let rest = self.trace.take().map(|trace| trace.event(self.reader.kind()));
                Poll::Ready(rest.filter(|rest| !rest.is_empty()).map(|rest| Ok(Frame::data(rest))))
            }
            Poll::Ready(Piece::Failed(failed, rest)) => {
                self.fail(&failed);
                if !self.is_events() {
                    return Poll::Ready(Some(Err(Broken)));
                }
                let error = error_event(&failed, self.reader.kind(), self.trace.take());
                let last = if rest.is_empty() { error } else { Bytes::from([rest, error].concat()) };
                Poll::Ready(Some(Ok(Frame::data(last))))
            }
        }
    }

    fn succeed(&mut self) {
        if let Some(attempt) = self.attempt.take() {
            attempt.succeed(self.reader.usage());
        }
    }

    fn fail(&mut self, failed: &Failed) {
        if let Some(attempt) = self.attempt.take() {
            tracing::info!(deployment = %attempt.deployment().id(), class = %failed.class, reason = failed.reason, "stream broke after commitment");
            attempt.fail(failed).report();
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Callers close as soon as they have read the end mark: the answer was whole.
        if self.reader.complete() {
            self.succeed();
        }
    }
}

/// The event that tells the caller, as the caller's wire has it.
fn error_event(failed: &Failed, kind: StreamKind, trace: Option<Box<Trace>>) -> Bytes {
    let mut out = BytesMut::new();
    let (name, shape) = match kind {
        StreamKind::Chat | StreamKind::Media => (None, ErrorShape::OpenAi),
        StreamKind::Responses => (Some("error"), ErrorShape::ResponseEvent),
        StreamKind::Messages => (Some("error"), ErrorShape::Anthropic),
    };
    let mut error = failed.to_error(shape);
    if let Some(trace) = trace {
        error.add_detail(trace.into_object());
    }
    sse::write_event(&mut out, name, &error.to_json(shape));
    out.freeze()
}
