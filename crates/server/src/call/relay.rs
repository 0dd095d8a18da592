//! A committed stream on its way to the caller.
//!
//! What was held back goes first, then every piece as it comes. If the provider fails now, the caller gets an error
//! event and no end mark, so that a cut answer cannot be taken for a whole one; where there are no events, the caller's
//! connection breaks. Where that was asked for, a chat that breaks is gone on with by another deployment first. Dropping the relay closes the provider's connection at once.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use haleway_wire::chat::StreamKind;
use haleway_wire::sse;
use http_body::Frame;

use crate::call::failure::Failed;
use crate::call::guard::Attempt;
use crate::call::place::Place;
use crate::call::resume::{Continued, Resume, Search};
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
    resume: Option<Box<Resume>>,
    /// The search for a deployment that goes on, and why there is one.
    search: Option<(Search, Box<Failed>)>,
    /// Comes before the next piece.
    note: Option<Bytes>,
    _place: Place,
}

impl Relay {
    /// Goes on with `reader` after the pieces `held` back before commitment.
    pub(crate) fn new(held: VecDeque<Bytes>, reader: StreamReader, attempt: Attempt, place: Place) -> Self {
        Self {
            held,
            reader,
            attempt: Some(attempt),
            trace: None,
            resume: None,
            search: None,
            note: None,
            _place: place,
        }
    }

    /// Tells the caller at the end how the call was routed.
    pub(crate) fn tell(&mut self, trace: Trace) {
        self.trace = Some(Box::new(trace));
    }

    /// A piece for the caller.
    fn pass(&mut self, bytes: Bytes) -> Bytes {
        let bytes = match &mut self.resume {
            Some(resume) => resume.story.take(bytes),
            None => bytes,
        };
        let bytes = match self.note.take() {
            Some(note) => Bytes::from([note, bytes].concat()),
            None => bytes,
        };
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

    /// Goes on elsewhere when the stream breaks, if that can be.
    pub(crate) fn resume(&mut self, resume: Option<Box<Resume>>) {
        self.resume = resume;
    }

    pub(crate) fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        loop {
            if let Some(bytes) = self.held.pop_front() {
                let bytes = self.pass(bytes);
                if bytes.is_empty() {
                    continue;
                }
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if let Some((search, _)) = &mut self.search {
                let found = ready!(search.poll(cx));
                let Some((_, failed)) = self.search.take() else { return Poll::Ready(None) };
                match found {
                    Some(continued) => self.go_on(continued, &failed),
                    None => return Poll::Ready(Some(Ok(Frame::data(self.error(&failed))))),
                }
                continue;
            }
            if self.attempt.is_none() {
                return Poll::Ready(None);
            }
            match ready!(self.reader.poll_next(cx)) {
                Piece::Bytes { bytes, said } => {
                    if said && let Some(attempt) = &mut self.attempt {
                        attempt.output();
                    }
                    self.held.push_back(bytes);
                }
                Piece::End => {
                    self.succeed();
                    let rest = self.trace.take().map(|trace| trace.event(self.reader.kind()));
                    return Poll::Ready(
                        rest.filter(|rest| !rest.is_empty()).map(|rest| Ok(Frame::data(rest))),
                    );
                }
                Piece::Failed(failed, rest) => {
                    self.fail(&failed);
                    if !self.is_events() {
                        return Poll::Ready(Some(Err(Broken)));
                    }
                    let rest = self.pass(rest);
                    match self.resume.as_mut().and_then(|resume| resume.search(&failed)) {
                        Some(search) => {
                            self.search = Some((search, failed));
                            if !rest.is_empty() {
                                return Poll::Ready(Some(Ok(Frame::data(rest))));
                            }
                        }
                        None => {
                            let error = self.error(&failed);
                            let last =
                                if rest.is_empty() { error } else { Bytes::from([rest, error].concat()) };
                            return Poll::Ready(Some(Ok(Frame::data(last))));
                        }
                    }
                }
            }
        }
    }

    /// Another deployment goes on with the stream that `failed`; a comment says so.
    fn go_on(&mut self, continued: Continued, failed: &Failed) {
        let Continued { held, reader, attempt } = continued;
        let deployment = Arc::clone(attempt.deployment());
        let Some(resume) = &mut self.resume else { return };
        let after = resume.story.length();
        resume.goes_on(&deployment);
        tracing::info!(deployment = %deployment.id(), after, "a broken stream goes on");
        if let Some(trace) = &mut self.trace {
            trace.resumed(&deployment, failed, after);
        }
        let note = format!(": resumed by {} after {}\n\n", deployment.id(), failed.word());
        self.note = Some(note.into());
        (self.held, self.reader, self.attempt) = (held, *reader, Some(attempt));
    }

    /// The event that ends a broken stream.
    fn error(&mut self, failed: &Failed) -> Bytes {
        error_event(failed, self.reader.kind(), self.trace.take())
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
