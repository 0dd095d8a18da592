//! The body of every response: bytes at hand, a relayed stream, or an administrative page.
//!
//! One enum instead of a boxed trait object: the common answer, bytes at hand, costs no allocation.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::call::download::Download;
use crate::call::relay::Relay;

/// A response body.
#[derive(Debug)]
pub enum Body {
    /// Bytes at hand.
    Full(Option<Bytes>),
    /// A stream relayed from a provider.
    Relay(Box<Relay>),
    /// An object's bytes, relayed from a provider.
    Download(Box<Download>),
    /// An answer of an administrative route.
    Page(axum::body::Body),
}

impl Body {
    /// No bytes.
    pub const fn empty() -> Self {
        Self::Full(None)
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(Bytes::from(bytes))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Full((!bytes.is_empty()).then_some(bytes))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Relay(relay) => {
                Pin::new(relay.as_mut()).poll_frame(cx).map_err(|broken| BodyError(axum::Error::new(broken)))
            }
            Self::Download(download) => {
                download.poll_frame(cx).map_err(|fault| BodyError(axum::Error::new(fault)))
            }
            Self::Page(page) => Pin::new(page).poll_frame(cx).map_err(BodyError),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
            Self::Relay(_) | Self::Download(_) => false,
            Self::Page(page) => page.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Relay(_) => SizeHint::default(),
            Self::Download(download) => download.size_hint(),
            Self::Page(page) => page.size_hint(),
        }
    }
}

/// The rest of a body could not be produced.
#[derive(Debug, thiserror::Error)]
#[error("the body could not be produced")]
pub struct BodyError(#[source] axum::Error);
