//! A network in memory: host and port name a listener, a connection is a pipe. Deterministic under the paused clock.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

/// Bytes in flight per direction before the writer waits: as small as a busy socket's.
const PIPE: usize = 64 * 1024;

type Accept = Arc<dyn Fn(MemStream) + Send + Sync>;

#[derive(Clone, Default)]
struct Endpoint {
    accept: Option<Accept>,
    blackhole: bool,
}

/// The network. Clones are the same network.
#[derive(Clone, Default)]
pub struct MemNet {
    endpoints: Arc<Mutex<HashMap<(String, u16), Endpoint>>>,
}

impl MemNet {
    /// An empty network: every connection is refused.
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts connections to this host and port, in place of whoever did before.
    pub fn register(&self, host: &str, port: u16, accept: impl Fn(MemStream) + Send + Sync + 'static) {
        self.endpoints
            .lock()
            .insert((host.to_owned(), port), Endpoint { accept: Some(Arc::new(accept)), blackhole: false });
    }

    /// Refuses connections to this host and port from now on; open ones stay.
    pub fn refuse(&self, host: &str, port: u16) {
        self.endpoints.lock().remove(&(host.to_owned(), port));
    }

    /// Makes connections to this host and port wait for ever (`true`), or lets them through again.
    pub fn blackhole(&self, host: &str, port: u16, on: bool) {
        self.endpoints.lock().entry((host.to_owned(), port)).or_default().blackhole = on;
    }

    /// Connects.
    ///
    /// # Errors
    /// `ConnectionRefused` when nobody accepts there.
    pub async fn connect(&self, host: &str, port: u16) -> io::Result<MemStream> {
        let endpoint = self.endpoints.lock().get(&(host.to_owned(), port)).cloned().unwrap_or_default();
        if endpoint.blackhole {
            return std::future::pending().await;
        }
        let Some(accept) = endpoint.accept else {
            return Err(io::ErrorKind::ConnectionRefused.into());
        };
        let (near, far) = MemStream::pair();
        accept(far);
        Ok(near)
    }
}

impl fmt::Debug for MemNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemNet").finish_non_exhaustive()
    }
}

/// One end of a connection in memory: a pipe that can also be reset.
#[derive(Debug)]
pub struct MemStream {
    pipe: DuplexStream,
    reset: Arc<AtomicBool>,
}

impl MemStream {
    /// Both ends of a new connection.
    pub fn pair() -> (Self, Self) {
        let (near, far) = tokio::io::duplex(PIPE);
        let reset = Arc::new(AtomicBool::new(false));
        let near = Self { pipe: near, reset: Arc::clone(&reset) };
        (near, Self { pipe: far, reset })
    }

    /// From the moment this end is dropped the other end sees a reset instead of an end.
    pub(crate) fn reset_on_drop(&self) {
        self.reset.store(true, Ordering::Release);
    }

    fn is_reset(&self) -> bool {
        self.reset.load(Ordering::Acquire)
    }
}

impl AsyncRead for MemStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(cx, buf))?;
        let ended = buf.filled().len() == before && buf.remaining() > 0;
        if ended && self.is_reset() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for MemStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.pipe).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.pipe.is_write_vectored()
    }
}
