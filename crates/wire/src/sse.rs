//! Server-sent events that keep their bytes.
//!
//! A gateway that does not translate passes an event on exactly as it came; it only looks. So the decoder cuts
//! the byte stream into events, hands out each one's raw bytes beside its meaning, and the raw bytes of all
//! events, joined, are the stream. Providers end lines with CR, LF or CRLF, send comments and blank lines to
//! keep a connection alive, and some forget the last blank line.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::{memchr, memchr2};

#[cfg(test)]
mod tests;

/// The event that ends an OpenAI stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// Largest event a [`Decoder`] accepts by default, in bytes: an image in base64 fits.
pub const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

/// One event, or one stretch of comments and blank lines, as it came and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The bytes of the event, with its line ends and the blank line that closes it.
    pub raw: Bytes,
    /// The `event` field, if there is one.
    pub event: Option<Bytes>,
    /// The `data` lines joined by LF; empty for comments and blank lines.
    pub data: Bytes,
}

impl Event {
    /// Whether there is nothing to act on: a comment, a blank line or an event without data.
    pub fn is_blank(&self) -> bool {
        self.data.is_empty()
    }

    /// Whether this is OpenAI's end mark.
    pub fn is_done(&self) -> bool {
        self.data.trim_ascii() == b"[DONE]"
    }

    /// The `event` field as text; `None` when there is none or it is not UTF-8.
    pub fn name(&self) -> Option<&str> {
        std::str::from_utf8(self.event.as_ref()?).ok()
    }
}

/// An event grew beyond the decoder's limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTooLarge {
    /// The limit, in bytes.
    pub limit: usize,
}

impl fmt::Display for EventTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream event is larger than {} bytes", self.limit)
    }
}

impl std::error::Error for EventTooLarge {}

/// Cuts a byte stream into events. Feed with [`push`](Self::push), drain with
/// [`next_event`](Self::next_event), and take what is left with [`finish`](Self::finish).
#[derive(Debug)]
pub struct Decoder {
    buffer: BytesMut,
    /// Start of the line that is not complete yet.
    line: usize,
    /// Bytes from the start of the buffer in which no line end needs to be looked for again.
    scanned: usize,
    /// The last line ended with CR: an LF that follows at once belongs to it.
    skip_lf: bool,
    /// Nothing was cut off yet: a byte order mark may stand here.
    at_start: bool,
    limit: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT)
    }
}

impl Decoder {
    /// A decoder whose events may have `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), line: 0, scanned: 0, skip_lf: false, at_start: true, limit }
    }

    /// Adds what was read from the connection, in pieces of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The bytes that wait for the end of their event.
    pub fn pending(&self) -> &[u8] {
        &self.buffer
    }

    /// The next complete event, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// When an event is larger than the limit; the decoder then gives the same error for ever.
    pub fn next_event(&mut self) -> Result<Option<Event>, EventTooLarge> {
        loop {
            let found = self.buffer.get(self.scanned..).and_then(|rest| memchr2(b'\r', b'\n', rest));
            let end = found.map_or(self.buffer.len(), |found| self.scanned + found);
            if end > self.limit {
                return Err(EventTooLarge { limit: self.limit });
            }
            self.scanned = end;
            if found.is_none() {
                return Ok(None);
            }
            let is_cr = self.buffer.get(end) == Some(&b'\r');
            let starts_here = end == self.line;
            self.line = end + 1;
            self.scanned = self.line;
            if starts_here && !is_cr && self.skip_lf {
                self.skip_lf = false;
                continue;
            }
            self.skip_lf = is_cr;
            if !starts_here {
                continue;
            }
            if is_cr && self.buffer.get(self.line) == Some(&b'\n') {
                self.line += 1;
                self.skip_lf = false;
            }
            return Ok(Some(self.cut(self.line)));
        }
    }

    /// What is left when the stream has ended: the last event if its blank line is missing.
    pub fn finish(&mut self) -> Option<Event> {
        if self.buffer.is_empty() { None } else { Some(self.cut(self.buffer.len())) }
    }

    fn cut(&mut self, length: usize) -> Event {
        let raw = self.buffer.split_to(length).freeze();
        self.line = 0;
        self.scanned = 0;
        let text = if self.at_start && raw.starts_with(BYTE_ORDER_MARK) {
            raw.slice(BYTE_ORDER_MARK.len()..)
        } else {
            raw.clone()
        };
        self.at_start = false;
        let (event, data) = fields(&text);
        Event { raw, event, data }
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The `event` and `data` fields of one event's text. One data line is a slice; several are joined.
fn fields(text: &Bytes) -> (Option<Bytes>, Bytes) {
    let mut event = None;
    let mut single: Option<Bytes> = None;
    let mut joined: Option<BytesMut> = None;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        let line = text.slice(at..at + length);
        at += length + 1;
        let (name, value) = field(&line);
        match name {
            b"event" => event = Some(value),
            b"data" => match (&mut joined, single.take()) {
                (Some(joined), _) => {
                    joined.put_u8(b'\n');
                    joined.put_slice(&value);
                }
                (None, Some(first)) => {
                    let mut both = BytesMut::with_capacity(first.len() + value.len() + 1);
                    both.put_slice(&first);
                    both.put_u8(b'\n');
                    both.put_slice(&value);
                    joined = Some(both);
                }
                (None, None) => single = Some(value),
            },
            _ => {}
        }
    }
    (event, joined.map(BytesMut::freeze).or(single).unwrap_or_default())
}

/// Splits a line at its first colon; one space after it is not part of the value. A comment has no name.
fn field(line: &Bytes) -> (&[u8], Bytes) {
    let Some(colon) = memchr(b':', line) else { return (line, Bytes::new()) };
    let start = colon + if line.get(colon + 1) == Some(&b' ') { 2 } else { 1 };
    (line.get(..colon).unwrap_or_default(), line.slice(start..))
}

/// Appends one event: `data` is split into as many data lines as it has lines.
pub fn write_event(out: &mut BytesMut, event: Option<&str>, data: &[u8]) {
    out.reserve(data.len() + event.map_or(0, |name| name.len() + 8) + 8);
    if let Some(name) = event {
        out.put_slice(b"event: ");
        out.put_slice(name.as_bytes());
        out.put_u8(b'\n');
    }
    let mut rest = data;
    loop {
        let end = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        let (line, tail) = rest.split_at(end);
        out.put_slice(b"data: ");
        out.put_slice(line);
        out.put_u8(b'\n');
        match tail {
            [b'\r', b'\n', tail @ ..] | [_, tail @ ..] => rest = tail,
            [] => break,
        }
    }
    out.put_u8(b'\n');
}
