//! The events of a stream, however the provider frames them: server-sent events, the frames of an AWS event
//! stream, or lines of JSON. All become events of the same kind.

use bytes::{Bytes, BytesMut};
use haleway_wire::eventstream::{self, Frame, FrameError, Kind};
use haleway_wire::sse::{self, Event, EventTooLarge};
use memchr::memchr;
use serde_json::json;

use crate::Reply;

/// How the events of a stream are set apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    #[default]
    Sse,
    /// AWS event stream frames.
    AwsEventStream,
    /// One JSON value per line (Ollama).
    JsonLines,
}

impl Reply {
    /// How the events of a streamed answer are set apart.
    pub fn framing(&self) -> Framing {
        match self {
            Self::Passthrough => Framing::Sse,
            Self::Translated(translator) => translator.framing(),
        }
    }
}

/// Cuts a stream into events. Feed with [`push`](Self::push), drain with [`next_event`](Self::next_event), and
/// take what is left with [`finish`](Self::finish).
#[derive(Debug)]
pub struct EventReader(Inner);

#[derive(Debug)]
enum Inner {
    Sse(sse::Decoder),
    Aws(eventstream::Decoder),
    Lines(Lines),
}

/// The stream cannot be cut into events any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// An event is too large.
    #[error(transparent)]
    TooLarge(#[from] EventTooLarge),
    /// A frame is broken.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

impl EventError {
    /// The stable machine name.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge(_) => "event_too_large",
            Self::Frame(_) => "bad_frame",
        }
    }
}

impl EventReader {
    /// A reader of events (and lines) of up to [`sse::DEFAULT_LIMIT`] bytes; AWS frames have their own limit.
    pub fn new(framing: Framing) -> Self {
        Self(match framing {
            Framing::Sse => Inner::Sse(sse::Decoder::default()),
            Framing::AwsEventStream => Inner::Aws(eventstream::Decoder::default()),
            Framing::JsonLines => Inner::Lines(Lines::default()),
        })
    }

    /// Adds what was read from the connection, in pieces of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Inner::Sse(decoder) => decoder.push(bytes),
            Inner::Aws(decoder) => decoder.push(bytes),
            Inner::Lines(lines) => lines.buffer.extend_from_slice(bytes),
        }
    }

    /// The next complete event, or `None` when more bytes are needed. The name of an AWS frame's event is its
    /// event type; an exception has the name `exception` and OpenAI's shape of an error.
    ///
    /// # Errors
    /// When the stream is broken; the reader then gives the same error for ever.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventError> {
        match &mut self.0 {
            Inner::Sse(decoder) => Ok(decoder.next_event()?),
            Inner::Aws(decoder) => Ok(decoder.next_frame()?.map(event)),
            Inner::Lines(lines) => Ok(lines.next_line()?),
        }
    }

    /// The bytes that wait for the end of their event, where events pass as they came.
    pub fn pending(&self) -> &[u8] {
        match &self.0 {
            Inner::Sse(decoder) => decoder.pending(),
            Inner::Aws(_) | Inner::Lines(_) => &[],
        }
    }

    /// What is left when the stream has ended: the last event if its blank line (or its line end) is missing. A frame
    /// that was cut off is no event.
    pub fn finish(&mut self) -> Option<Event> {
        match &mut self.0 {
            Inner::Sse(decoder) => decoder.finish(),
            Inner::Aws(_) => None,
            Inner::Lines(lines) => (!lines.buffer.is_empty()).then(|| lines.cut(lines.buffer.len())),
        }
    }
}

/// Cuts a stream into lines.
#[derive(Debug, Default)]
struct Lines {
    buffer: BytesMut,
    /// Bytes that are known to hold no line end.
    scanned: usize,
}

impl Lines {
    fn next_line(&mut self) -> Result<Option<Event>, EventTooLarge> {
        let found = self.buffer.get(self.scanned..).and_then(|rest| memchr(b'\n', rest));
        let end = found.map_or(self.buffer.len(), |found| self.scanned + found);
        if end > sse::DEFAULT_LIMIT {
            return Err(EventTooLarge { limit: sse::DEFAULT_LIMIT });
        }
        self.scanned = end;
        Ok(found.map(|_| self.cut(end + 1)))
    }

    fn cut(&mut self, length: usize) -> Event {
        let raw = self.buffer.split_to(length).freeze();
        self.scanned = 0;
        let data = raw.slice_ref(raw.trim_ascii());
        Event { raw, event: None, data }
    }
}

/// The name of an event that stands for a frame of an exception.
pub(crate) const EXCEPTION: &str = "exception";

fn event(frame: Frame) -> Event {
    let (name, data) = match frame.kind {
        Kind::Event => (Bytes::from(frame.name), frame.payload),
        Kind::Exception | Kind::Error => {
            let said: Option<serde_json::Value> = serde_json::from_slice(&frame.payload).ok();
            let said =
                said.as_ref().and_then(|said| said.get("message").or_else(|| said.get("Message"))?.as_str());
            let message = said.map(str::to_owned).or(frame.message);
            let message = message.unwrap_or_else(|| String::from_utf8_lossy(&frame.payload).into_owned());
            let body = json!({ "error": { "type": frame.name, "message": message } });
            (Bytes::from_static(EXCEPTION.as_bytes()), Bytes::from(body.to_string()))
        }
    };
    Event { raw: frame.raw, event: Some(name), data }
}
