//! A response body that follows a timetable: data, waits, silence, or a broken connection.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep};

use crate::meter::Ticket;

/// The connection ends here, by order of the script.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abort;

impl std::fmt::Display for Abort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the script ends the connection here")
    }
}

impl std::error::Error for Abort {}

/// One entry of the timetable.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Data(Bytes),
    Wait(Duration),
    /// Silence until the client leaves.
    Hang,
    /// The connection closes.
    Cut,
    /// The connection is reset.
    Reset,
}

/// The body, and with it everything that lasts as long as the call.
#[derive(Debug)]
pub(crate) struct Timed {
    pieces: VecDeque<Piece>,
    sleep: Option<Pin<Box<Sleep>>>,
    ticket: Option<Ticket>,
    /// The deployment's only place, where it serves one call at a time.
    place: Option<OwnedSemaphorePermit>,
    reset: Arc<AtomicBool>,
}

impl Timed {
    pub(crate) fn new(
        pieces: VecDeque<Piece>,
        ticket: Ticket,
        place: Option<OwnedSemaphorePermit>,
        reset: Arc<AtomicBool>,
    ) -> Self {
        let mut body = Self { pieces, sleep: None, ticket: Some(ticket), place, reset };
        body.finish_if_empty();
        body
    }

    /// A body without a meter, for the control calls.
    pub(crate) fn plain(data: Bytes) -> Self {
        Self {
            pieces: VecDeque::from([Piece::Data(data)]),
            sleep: None,
            ticket: None,
            place: None,
            reset: Arc::default(),
        }
    }

    /// No body and no meter.
    pub(crate) fn nothing() -> Self {
        Self { pieces: VecDeque::new(), sleep: None, ticket: None, place: None, reset: Arc::default() }
    }

    fn finish_if_empty(&mut self) {
        if self.pieces.is_empty() {
            if let Some(mut ticket) = self.ticket.take() {
                ticket.complete();
            }
            self.place = None;
        }
    }

    fn abort(&mut self) -> Abort {
        self.pieces.clear();
        if let Some(mut ticket) = self.ticket.take() {
            ticket.abort();
        }
        self.place = None;
        Abort
    }
}

impl Body for Timed {
    type Data = Bytes;
    type Error = Abort;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Abort>>> {
        let this = self.get_mut();
        loop {
            match this.pieces.front() {
                None => return Poll::Ready(None),
                Some(Piece::Hang) => return Poll::Pending,
                Some(Piece::Wait(wait)) => {
                    let until = *wait;
                    let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(until)));
                    ready!(sleep.as_mut().poll(cx));
                    this.sleep = None;
                    this.pieces.pop_front();
                    this.finish_if_empty();
                }
                Some(Piece::Cut) => return Poll::Ready(Some(Err(this.abort()))),
                Some(Piece::Reset) => {
                    this.reset.store(true, Ordering::Release);
                    return Poll::Ready(Some(Err(this.abort())));
                }
                Some(Piece::Data(data)) => {
                    let frame = Frame::data(data.clone());
                    this.pieces.pop_front();
                    this.finish_if_empty();
                    return Poll::Ready(Some(Ok(frame)));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Exact for a body in one piece only: streams go out chunked, as providers send them.
    fn size_hint(&self) -> SizeHint {
        if self.pieces.len() > 1 {
            return SizeHint::default();
        }
        match self.pieces.front() {
            None => SizeHint::with_exact(0),
            Some(Piece::Data(data)) => SizeHint::with_exact(data.len() as u64),
            Some(Piece::Wait(_) | Piece::Hang | Piece::Cut | Piece::Reset) => SizeHint::default(),
        }
    }
}

/// Milliseconds between two instants.
pub(crate) fn millis_between(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(u64::MAX)
}
