//! A request's body on its way to a provider: bytes in one piece, or the pieces of a form.
//!
//! A form's files are slices of what the client sent. Keeping the pieces apart is what lets them go out again, to one
//! deployment after another, without being copied.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};

/// The body of a request. Cloning it copies no bytes.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    first: Bytes,
    rest: VecDeque<Bytes>,
}

impl Payload {
    /// No bytes.
    pub const fn empty() -> Self {
        Self { first: Bytes::new(), rest: VecDeque::new() }
    }

    /// The length of all pieces, in bytes.
    pub fn len(&self) -> usize {
        self.first.len() + self.rest.iter().map(Bytes::len).sum::<usize>()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole body; copied only when it has several pieces.
    pub fn to_bytes(&self) -> Bytes {
        if self.rest.is_empty() {
            return self.first.clone();
        }
        let mut whole = BytesMut::with_capacity(self.len());
        whole.extend_from_slice(&self.first);
        for piece in &self.rest {
            whole.extend_from_slice(piece);
        }
        whole.freeze()
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        while !self.is_empty() {
            let piece = std::mem::replace(&mut self.first, self.rest.pop_front().unwrap_or_default());
            if piece.has_remaining() {
                return Some(piece);
            }
        }
        None
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        Self { first: bytes, rest: VecDeque::new() }
    }
}

impl From<Vec<Bytes>> for Payload {
    fn from(pieces: Vec<Bytes>) -> Self {
        let mut rest = VecDeque::from(pieces);
        Self { first: rest.pop_front().unwrap_or_default(), rest }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.get_mut().pop().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len() as u64)
    }
}
