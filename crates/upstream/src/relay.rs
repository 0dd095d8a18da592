//! The body on its way to the caller: frame by frame under the stream's deadlines, or whole under a cap.
//!
//! Nothing is buffered here: the next frame is read when the caller asks for it, so a slow reader slows the upstream
//! down instead of filling memory. For the same reason only the time in which the caller *waits* counts as silence:
//! the upstream is not blamed for a client that does not read.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::deadline::{Deadlines, Phase, due, earliest};
use crate::fault::Fault;

/// A body under the deadlines of a stream. Dropping it closes the exchange.
///
/// Until [`Relay::output_seen`] is first called the first-token deadline runs, then the gap deadline, counted anew at
/// each call. Also an [`http_body::Body`] whose error is the [`Fault`].
#[derive(Debug)]
pub struct Relay {
    body: Incoming,
    first_token: Option<(Instant, Phase)>,
    gap: Option<Duration>,
    total: Option<(Instant, Phase)>,
    output_seen: bool,
    /// Time waited for the upstream since the last output.
    silence: Duration,
    waiting_since: Option<Instant>,
    received: u64,
    /// Made at the first wait, re-armed only when it fires: frames that come in time cost no timer.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl Relay {
    pub(crate) fn new(body: Incoming, started: Instant, deadlines: &Deadlines) -> Self {
        Self {
            body,
            first_token: due(started, deadlines.first_token, Phase::FirstToken),
            gap: deadlines.gap,
            total: due(started, deadlines.total, Phase::Total),
            output_seen: false,
            silence: Duration::ZERO,
            waiting_since: None,
            received: 0,
            alarm: None,
        }
    }

    /// Says that what was received carries output (or is another sign of progress the caller accepts).
    pub fn output_seen(&mut self) {
        self.output_seen = true;
        self.silence = Duration::ZERO;
    }

    /// Bytes of the body received so far.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// The next piece of the body, `None` at its proper end. Cancel safe.
    ///
    /// # Errors
    /// [`FaultKind::Cut`](crate::FaultKind::Cut) when the body ends early, a timeout of the first token, the gap or the total.
    pub async fn next(&mut self) -> Option<Result<Bytes, Fault>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Like [`Relay::next`], for callers that are polled themselves.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Fault>>> {
        loop {
            let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) else {
                return self.poll_deadline(cx).map(|phase| Some(Err(Fault::timeout(phase))));
            };
            self.end_wait();
            match frame {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(Fault::cut(&error)))),
                Some(Ok(frame)) => {
                    // Trailers carry nothing that a client of a model could use.
                    let Ok(data) = frame.into_data() else { continue };
                    self.received += data.len() as u64;
                    return Poll::Ready(Some(Ok(data)));
                }
            }
        }
    }

    fn end_wait(&mut self) {
        if self.gap.is_some()
            && let Some(since) = self.waiting_since.take()
        {
            self.silence += Instant::now().duration_since(since);
        }
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<Phase> {
        let gap = match self.gap {
            Some(gap) if self.output_seen => {
                let since = *self.waiting_since.get_or_insert_with(Instant::now);
                due(since, Some(gap.saturating_sub(self.silence)), Phase::Gap)
            }
            _ => None,
        };
        let first_token = if self.output_seen { None } else { self.first_token };
        let Some((at, phase)) = earliest([first_token, gap, self.total]) else {
            return Poll::Pending;
        };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        // An alarm set for an earlier deadline stays: when it fires, it is set anew. A later one must move.
        if alarm.deadline() > at {
            alarm.as_mut().reset(at);
        }
        loop {
            ready!(alarm.as_mut().poll(cx));
            if alarm.deadline() >= at {
                return Poll::Ready(phase);
            }
            alarm.as_mut().reset(at);
        }
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = Fault;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Fault>>> {
        self.get_mut().poll_next(cx).map_ok(Frame::data)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Reads a whole body of at most `cap` bytes, until `deadline`. A body of one frame, the usual case, is not copied.
///
/// # Errors
/// [`FaultKind::TooLarge`](crate::FaultKind::TooLarge), [`FaultKind::Cut`](crate::FaultKind::Cut), or a timeout of the total.
pub async fn read_all(body: Incoming, cap: usize, deadline: Option<Instant>) -> Result<Bytes, Fault> {
    if body.size_hint().lower() > cap as u64 {
        return Err(Fault::too_large(cap));
    }
    let reading = gather(body, cap);
    match deadline {
        None => reading.await,
        Some(at) => match tokio::time::timeout_at(at, reading).await {
            Ok(result) => result,
            Err(_elapsed) => Err(Fault::timeout(Phase::Total)),
        },
    }
}

async fn gather(mut body: Incoming, cap: usize) -> Result<Bytes, Fault> {
    let Some(first) = next_data(&mut body).await? else {
        return Ok(Bytes::new());
    };
    if first.len() > cap {
        return Err(Fault::too_large(cap));
    }
    let Some(second) = next_data(&mut body).await? else {
        return Ok(first);
    };
    let left = usize::try_from(body.size_hint().lower()).unwrap_or(cap).min(cap);
    let mut whole = BytesMut::with_capacity(first.len() + second.len() + left);
    whole.extend_from_slice(&first);
    let mut next = Some(second);
    while let Some(data) = next {
        if whole.len() + data.len() > cap {
            return Err(Fault::too_large(cap));
        }
        whole.extend_from_slice(&data);
        next = next_data(&mut body).await?;
    }
    Ok(whole.freeze())
}

/// The next data frame; trailers are skipped.
async fn next_data(body: &mut Incoming) -> Result<Option<Bytes>, Fault> {
    loop {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            None => return Ok(None),
            Some(Err(error)) => return Err(Fault::cut(&error)),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
