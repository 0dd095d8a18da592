//! One provider stream, read event by event: what goes to the caller, and what it says about the deployment.
//!
//! A stream of the caller's own wire passes as the bytes that came; its events are only looked at. A stream of
//! another wire is translated event by event, and what the caller's wire wants at the end is written even if the provider
//! leaves out its own end mark. Either way the reader knows three things that matter: whether
//! anything was said yet, whether the stream came to its proper end, and what went wrong if it did not.

use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use haleway_health::Class;
use haleway_providers::{EventReader, Reply, Step, Translator, is_usage_chunk};
use haleway_upstream as upstream;
use haleway_wire::chat::{ChunkFacts, StreamKind, Usage, inspect_event};
use haleway_wire::sse::{self, Event};

use crate::call::failure::Failed;
use crate::call::judge::Judge;

/// What came next.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Bytes for the caller; `said` when they hold output.
    Bytes { bytes: Bytes, said: bool },
    /// The stream ended as it should.
    End,
    /// It did not. Any bytes that came with the failure are for the caller all the same.
    Failed(Box<Failed>, Bytes),
}

/// A provider stream being read.
#[derive(Debug)]
pub(crate) struct StreamReader {
    upstream: upstream::Relay,
    decoder: EventReader,
    shape: Shape,
    kind: StreamKind,
    /// The usage chunk was not asked for by the caller.
    strip_usage: bool,
    judge: Judge,
    began: bool,
    said: bool,
    complete: bool,
    over: bool,
    usage: Option<Usage>,
}

#[derive(Debug)]
enum Shape {
    /// Bytes without events.
    Bytes,
    Passthrough,
    Translated {
        translator: Box<dyn Translator>,
        chunks: Vec<Bytes>,
    },
}

impl StreamReader {
    /// Reads `upstream`, whose answer becomes the caller's as `reply` says.
    pub(crate) fn new(
        upstream: upstream::Relay,
        reply: Reply,
        strip_usage: bool,
        kind: StreamKind,
        judge: Judge,
    ) -> Self {
        let decoder = EventReader::new(reply.framing());
        let shape = match reply {
            Reply::Passthrough => Shape::Passthrough,
            Reply::Translated(translator) => Shape::Translated { translator, chunks: Vec::new() },
        };
        Self {
            upstream,
            decoder,
            shape,
            kind,
            strip_usage,
            judge,
            began: false,
            said: false,
            complete: false,
            over: false,
            usage: None,
        }
    }

    /// Reads `upstream`, whose bytes are the caller's and output from the first on.
    pub(crate) fn of_bytes(upstream: upstream::Relay, judge: Judge) -> Self {
        let reader = Self::new(upstream, Reply::Passthrough, false, StreamKind::Media, judge);
        Self { shape: Shape::Bytes, ..reader }
    }

    /// Whether the stream is one of events.
    pub(crate) const fn is_events(&self) -> bool {
        !matches!(self.shape, Shape::Bytes)
    }

    /// Whether the end mark was seen, even if the connection is still open.
    pub(crate) const fn complete(&self) -> bool {
        self.complete
    }

    /// The caller's wire.
    pub(crate) const fn kind(&self) -> StreamKind {
        self.kind
    }

    /// Token counts, when the stream stated them.
    pub(crate) const fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// The next piece.
    pub(crate) async fn next(&mut self) -> Piece {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Like [`Self::next`], for callers that are polled themselves.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Piece> {
        if self.over {
            return Poll::Ready(Piece::End);
        }
        loop {
            let piece = match ready!(self.upstream.poll_next(cx)) {
                Some(Ok(bytes)) => self.take(bytes),
                None => Some(self.end()),
                // After the end mark the connection may end as it likes.
                Some(Err(_)) if self.complete => Some(self.finish(Piece::End)),
                Some(Err(fault)) => Some(
                    self.settle().unwrap_or_else(|| self.failed(Failed::transport(&fault), Bytes::new())),
                ),
            };
            if let Some(piece) = piece {
                return Poll::Ready(piece);
            }
        }
    }

    fn take(&mut self, bytes: Bytes) -> Option<Piece> {
        if !self.is_events() {
            let said = !bytes.is_empty();
            self.said |= said;
            self.upstream.output_seen();
            return said.then_some(Piece::Bytes { bytes, said });
        }
        // Events that came whole pass as they came, uncopied; those that the network cut in two are put together first, so
        // that the caller never gets a piece of what turns out to be an error.
        let whole = self.passes_unread() && self.decoder.pending().is_empty();
        self.decoder.push(&bytes);
        let mut out = BytesMut::new();
        let (mut passed, mut said) = (0, false);
        let failed = loop {
            match self.decoder.next_event() {
                Ok(Some(event)) => match self.look(&event, &mut out, !whole) {
                    Ok(output) => {
                        passed += event.raw.len();
                        said |= output;
                    }
                    Err(failed) => break Some(*failed),
                },
                Ok(None) => break None,
                Err(error) => {
                    break Some(Failed::own(Class::MalformedResponse, error.code(), error.to_string()));
                }
            }
        };
        let bytes = if whole { bytes.slice(..passed.min(bytes.len())) } else { out.freeze() };
        if let Some(failed) = failed {
            return Some(self.failed(failed, bytes));
        }
        if said {
            self.said = true;
            self.upstream.output_seen();
        }
        (!bytes.is_empty()).then_some(Piece::Bytes { bytes, said })
    }

    /// Whether events pass to the caller as they came.
    const fn passes_unread(&self) -> bool {
        matches!(self.shape, Shape::Passthrough) && !self.strip_usage
    }

    /// Whether anything but comments came: an event of the caller's wire that the caller may wait for.
    pub(crate) const fn began(&self) -> bool {
        self.began
    }

    /// Looks at one event; writes what the caller gets to `out`, unless it passes as it came and `copies` is false. Answers
    /// whether it says something.
    fn look(&mut self, event: &Event, out: &mut BytesMut, copies: bool) -> Result<bool, Box<Failed>> {
        self.began |= !event.is_blank();
        match &mut self.shape {
            Shape::Bytes => Ok(false),
            Shape::Passthrough => {
                if copies && !(self.strip_usage && is_usage_chunk(&event.data)) {
                    out.extend_from_slice(&event.raw);
                }
                if event.is_blank() {
                    return Ok(false);
                }
                self.note(&inspect_event(self.kind, &event.data), &event.data)
            }
            // A comment keeps the connection alive and says nothing on any wire.
            Shape::Translated { .. } if event.is_blank() => Ok(false),
            Shape::Translated { translator, chunks } => {
                chunks.clear();
                let step = translator.event(event.name(), &event.data, chunks);
                self.write(step, out)
            }
        }
    }

    /// Writes the events of a translator; answers whether they say something.
    fn write(&mut self, step: Step, out: &mut BytesMut) -> Result<bool, Box<Failed>> {
        let Shape::Translated { chunks, .. } = &mut self.shape else { return Ok(false) };
        let chunks = std::mem::take(chunks);
        let mut said = false;
        for chunk in &chunks {
            if !self.strip_usage || !is_usage_chunk(chunk) {
                sse::write_event(out, event_name(self.kind, chunk), chunk);
            }
            said |= self.note(&inspect_event(self.kind, chunk), chunk)?;
        }
        match step {
            Step::More => {}
            Step::Done => {
                if self.kind == StreamKind::Chat {
                    out.extend_from_slice(sse::DONE);
                }
                self.complete = true;
            }
            Step::Failed(body) => return Err(Box::new(self.judge.error_event(&body).failed)),
            Step::Malformed(message) => {
                return Err(Box::new(Failed::own(Class::MalformedResponse, "bad_event", message)));
            }
        }
        Ok(said)
    }

    /// The connection is over: what a translator still owes the caller of a stream that said all that matters.
    fn settle(&mut self) -> Option<Piece> {
        if self.complete {
            return None;
        }
        let Shape::Translated { translator, chunks } = &mut self.shape else { return None };
        chunks.clear();
        let step = translator.end(chunks);
        let mut out = BytesMut::new();
        match self.write(step, &mut out) {
            Ok(said) if self.complete => {
                self.said |= said;
                Some(Piece::Bytes { bytes: out.freeze(), said })
            }
            Ok(_) => None,
            Err(failed) => Some(self.failed(*failed, Bytes::new())),
        }
    }

    fn note(&mut self, facts: &ChunkFacts, data: &[u8]) -> Result<bool, Box<Failed>> {
        if let Some(usage) = facts.usage {
            self.usage = Some(usage);
        }
        if facts.error || facts.finish.is_some_and(|finish| finish.is_failure()) {
            return Err(Box::new(self.judge.error_event(data).failed));
        }
        if facts.malformed && !self.said {
            return Err(Box::new(Failed::own(
                Class::MalformedResponse,
                "bad_event",
                "the stream does not hold the promised events",
            )));
        }
        self.complete |= facts.is_done || facts.finish.is_some();
        Ok(facts.has_output)
    }

    fn end(&mut self) -> Piece {
        if let Some(event) = self.decoder.finish() {
            let mut out = BytesMut::new();
            let said = match self.look(&event, &mut out, true) {
                Ok(said) => said,
                Err(failed) => return self.failed(*failed, Bytes::new()),
            };
            self.said |= said;
            if !out.is_empty() {
                // The rest is for the caller; the end comes with the next call.
                return Piece::Bytes { bytes: out.freeze(), said };
            }
        }
        if let Some(piece) = self.settle() {
            return piece;
        }
        // Bytes have no end mark: their end is the transport's.
        self.complete |= self.said && !self.is_events();
        if self.complete {
            return self.finish(Piece::End);
        }
        let failed = if self.upstream.received() == 0 {
            Failed::own(Class::MalformedResponse, "empty_stream", "the stream was empty")
        } else if self.said {
            Failed::own(Class::Connection, "stream_cut", "the stream ended before it was complete")
        } else {
            Failed::own(Class::MalformedResponse, "no_output", "the stream ended without any output")
        };
        self.failed(failed, Bytes::new())
    }

    fn failed(&mut self, failed: Failed, rest: Bytes) -> Piece {
        self.finish(Piece::Failed(Box::new(failed), rest))
    }

    fn finish(&mut self, piece: Piece) -> Piece {
        self.over = true;
        piece
    }
}

/// The name of an event on the wires that name theirs: the type with which its JSON begins.
fn event_name(kind: StreamKind, data: &[u8]) -> Option<&str> {
    if kind == StreamKind::Chat {
        return None;
    }
    let rest = data.strip_prefix(b"{\"type\":\"")?;
    let name = rest.get(..rest.iter().position(|byte| *byte == b'"')?)?;
    std::str::from_utf8(name).ok()
}
