//! A connection that knows whether it was alive: tells "kept alive and found dead" from "died while answering".
//!
//! Providers and their load balancers close idle connections without asking. If the close crosses our next request,
//! hyper sees an exchange that failed; but no byte of an answer came, the connection had served before, and the end
//! came at once: the provider never saw the request. Only this place sees all three facts, so it marks the error
//! with [`Stale`] and the client sends again on a new connection.
//!
//! A connection beyond its age is treated the same way before anything is written on it, so that a name that moved is
//! followed although the old server still answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// A connection that ends later than this after the request was written had the request: sending it again could run
/// it twice. One round trip around the earth, with room.
const STALE_WINDOW: Duration = Duration::from_secs(1);

/// The connection was dead before the request: nothing was answered on it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a kept-alive connection could not be used again")]
pub(crate) struct Stale;

/// A connection under watch.
pub(crate) struct Watched<T> {
    io: T,
    retire_at: Option<Instant>,
    /// At least one answer came over it.
    served: bool,
    /// Bytes came since the last request began.
    answered: bool,
    asked_at: Instant,
}

impl<T> Watched<T> {
    /// Watches a new connection; from `max_age` on it is not kept after its current exchange.
    pub(crate) fn new(io: T, max_age: Option<Duration>) -> Self {
        let now = Instant::now();
        Self {
            io,
            retire_at: max_age.and_then(|age| now.checked_add(age)),
            served: false,
            answered: true,
            asked_at: now,
        }
    }

    /// The first write after an answer begins an exchange, unless the connection is too old for another.
    fn asking(&mut self) -> io::Result<()> {
        if !self.answered {
            return Ok(());
        }
        self.answered = false;
        self.asked_at = Instant::now();
        if self.served && self.retire_at.is_some_and(|at| at <= self.asked_at) {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, Stale));
        }
        Ok(())
    }

    /// Whether an end of the connection, now, means that it had been dead all along. A kernel that gives up
    /// retransmitting (`timed_out`) says the same, only later.
    fn stale(&self, timed_out: bool) -> bool {
        self.served
            && !self.answered
            && (timed_out || Instant::now().duration_since(self.asked_at) < STALE_WINDOW)
    }

    fn marked(&self, error: io::Error) -> io::Error {
        if self.stale(error.kind() == io::ErrorKind::TimedOut) {
            return io::Error::new(error.kind(), Stale);
        }
        error
    }
}

impl<T: Connection> Connection for Watched<T> {
    fn connected(&self) -> Connected {
        self.io.connected()
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let result = ready!(Pin::new(&mut this.io).poll_read(cx, buf));
        Poll::Ready(match result {
            Ok(()) if buf.filled().len() > before => {
                this.served = true;
                this.answered = true;
                Ok(())
            }
            Ok(()) if buf.remaining() > 0 && this.stale(false) => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, Stale))
            }
            Ok(()) => Ok(()),
            Err(error) => Err(this.marked(error)),
        })
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.asking()?;
        Pin::new(&mut this.io).poll_write(cx, buf).map_err(|error| this.marked(error))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        Pin::new(&mut this.io).poll_flush(cx).map_err(|error| this.marked(error))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.asking()?;
        Pin::new(&mut this.io).poll_write_vectored(cx, bufs).map_err(|error| this.marked(error))
    }
}
