//! An object's bytes on their way to the caller.
//!
//! They are relayed as they come and never gathered: a video may be larger than what a gateway should hold. If the
//! provider fails now, the caller's connection is cut, so that a part is not taken for the whole.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use haleway_upstream::{Fault, Relay};
use http_body::{Body, Frame, SizeHint};

use crate::call::failure::Failed;
use crate::call::guard::Attempt;
use crate::call::place::Place;

/// A committed download.
#[derive(Debug)]
pub struct Download {
    relay: Relay,
    attempt: Option<Attempt>,
    _place: Place,
}

impl Download {
    pub(crate) fn new(relay: Relay, attempt: Attempt, place: Place) -> Self {
        Self { relay, attempt: Some(attempt), _place: place }
    }

    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        match ready!(self.relay.poll_next(cx)) {
            Some(Ok(bytes)) => {
                self.relay.output_seen();
                if let Some(attempt) = &mut self.attempt {
                    attempt.output();
                }
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Some(Err(fault)) => {
                if let Some(attempt) = self.attempt.take() {
                    attempt.fail(&Failed::transport(&fault)).report();
                }
                Poll::Ready(Some(Err(fault)))
            }
            None => {
                if let Some(attempt) = self.attempt.take() {
                    attempt.succeed(None);
                }
                Poll::Ready(None)
            }
        }
    }

    /// As much as the provider said is to come.
    pub(crate) fn size_hint(&self) -> SizeHint {
        Body::size_hint(&self.relay)
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // The caller stops asking when it has read what was announced.
        if Pin::new(&self.relay).is_end_stream()
            && let Some(attempt) = self.attempt.take()
        {
            attempt.succeed(None);
        }
    }
}
