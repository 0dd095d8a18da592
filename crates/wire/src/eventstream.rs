//! AWS event streams (`application/vnd.amazon.eventstream`): frames with headers, a payload and two checksums.
//!
//! ```text
//! total length u32 | headers length u32 | CRC-32 of those 8 bytes | headers | payload | CRC-32 of all before
//! ```
//!
//! A frame whose checksum is wrong ends the stream: nothing after it can be trusted to begin where it seems to.
//! Layout and limits are those of the AWS SDKs (botocore `eventstream.py`).

use bytes::{Buf, BufMut, Bytes, BytesMut};

#[cfg(test)]
mod tests;

/// Length of the prelude with its checksum, in bytes.
const PRELUDE: usize = 12;
/// Length of the checksum at the end, in bytes.
const TRAILER: usize = 4;
/// Largest headers, in bytes.
const MAX_HEADERS: usize = 128 * 1024;
/// Largest payload, in bytes.
const MAX_PAYLOAD: usize = 24 * 1024 * 1024;

/// What a frame says: its kind, name and payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The whole frame.
    pub raw: Bytes,
    /// What kind of message it is.
    pub kind: Kind,
    /// `:event-type`, `:exception-type` or `:error-code`, by kind; empty when the header is missing.
    pub name: String,
    /// `:error-message` of a [`Kind::Error`].
    pub message: Option<String>,
    /// The payload.
    pub payload: Bytes,
}

/// `:message-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A part of the answer. Frames without the header are events, too.
    Event,
    /// An error of the service's model: its payload describes it.
    Exception,
    /// An error outside the service's model: its headers describe it.
    Error,
}

/// The stream is broken, and stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// A length that no frame can have.
    Length,
    /// The checksum of the lengths is wrong: this is no event stream.
    PreludeChecksum,
    /// The checksum of the frame is wrong.
    Checksum,
    /// The headers do not fit their length.
    Headers,
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Length => "a frame of the event stream states an impossible length",
            Self::PreludeChecksum => "this is no event stream: the checksum of a frame's lengths is wrong",
            Self::Checksum => "the checksum of a frame of the event stream is wrong",
            Self::Headers => "the headers of a frame of the event stream are broken",
        })
    }
}

impl std::error::Error for FrameError {}

/// Cuts a byte stream into frames. Feed with [`push`](Self::push), drain with
/// [`next_frame`](Self::next_frame).
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: BytesMut,
    broken: Option<FrameError>,
}

impl Decoder {
    /// Adds what was read from the connection, in pieces of any size.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Bytes that wait for the end of their frame. At the end of a stream there are none.
    pub fn pending(&self) -> usize {
        self.buffer.len()
    }

    /// The next complete frame, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// When a frame is broken; the decoder then gives the same error for ever.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if let Some(error) = self.broken {
            return Err(error);
        }
        let cut = self.cut();
        if let Err(error) = cut {
            self.broken = Some(error);
            self.buffer.clear();
        }
        cut
    }

    fn cut(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some(mut prelude) = self.buffer.get(..PRELUDE) else { return Ok(None) };
        let counted = crc32fast::hash(prelude.get(..8).unwrap_or_default());
        let (total, headers, stated) = (prelude.get_u32(), prelude.get_u32(), prelude.get_u32());
        if counted != stated {
            return Err(FrameError::PreludeChecksum);
        }
        let total = usize::try_from(total).map_err(|_| FrameError::Length)?;
        let headers = usize::try_from(headers).map_err(|_| FrameError::Length)?;
        let payload = total
            .checked_sub(PRELUDE + TRAILER)
            .and_then(|rest| rest.checked_sub(headers))
            .ok_or(FrameError::Length)?;
        if headers > MAX_HEADERS || payload > MAX_PAYLOAD {
            return Err(FrameError::Length);
        }
        if self.buffer.len() < total {
            return Ok(None);
        }
        let raw = self.buffer.split_to(total).freeze();
        let (before, mut trailer) = raw.split_at(total - TRAILER);
        if crc32fast::hash(before) != trailer.get_u32() {
            return Err(FrameError::Checksum);
        }
        let mut frame = Frame {
            kind: Kind::Event,
            name: String::new(),
            message: None,
            payload: raw.slice(PRELUDE + headers..total - TRAILER),
            raw: raw.clone(),
        };
        frame.read(raw.slice(PRELUDE..PRELUDE + headers))?;
        Ok(Some(frame))
    }
}

impl Frame {
    /// Reads the headers that matter; the others are only walked over.
    fn read(&mut self, mut headers: Bytes) -> Result<(), FrameError> {
        let mut names: [Option<Bytes>; 3] = [const { None }; 3];
        while headers.has_remaining() {
            let length = usize::from(headers.try_get_u8().map_err(|_| FrameError::Headers)?);
            let name = take(&mut headers, length)?;
            let kind = headers.try_get_u8().map_err(|_| FrameError::Headers)?;
            let value = match kind {
                0 | 1 => Bytes::new(),
                2 => take(&mut headers, 1)?,
                3 => take(&mut headers, 2)?,
                4 => take(&mut headers, 4)?,
                5 | 8 => take(&mut headers, 8)?,
                6 | 7 => {
                    let length = usize::from(headers.try_get_u16().map_err(|_| FrameError::Headers)?);
                    take(&mut headers, length)?
                }
                9 => take(&mut headers, 16)?,
                _ => return Err(FrameError::Headers),
            };
            if kind != STRING {
                continue;
            }
            match name.as_ref() {
                b":message-type" => {
                    self.kind = match value.as_ref() {
                        b"exception" => Kind::Exception,
                        b"error" => Kind::Error,
                        _ => Kind::Event,
                    }
                }
                b":event-type" => names[0] = Some(value),
                b":exception-type" => names[1] = Some(value),
                b":error-code" => names[2] = Some(value),
                b":error-message" => self.message = Some(text(&value)),
                _ => {}
            }
        }
        let [event, exception, error] = names;
        let name = match self.kind {
            Kind::Event => event,
            Kind::Exception => exception,
            Kind::Error => error,
        };
        self.name = name.as_deref().map(text).unwrap_or_default();
        Ok(())
    }
}

/// The type of a header whose value is a string.
const STRING: u8 = 7;

fn take(from: &mut Bytes, length: usize) -> Result<Bytes, FrameError> {
    if from.len() < length {
        return Err(FrameError::Headers);
    }
    Ok(from.split_to(length))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes one frame with string headers.
///
/// # Errors
/// When a name, a value or the whole is longer than a frame can say.
pub fn write_frame(out: &mut BytesMut, headers: &[(&str, &str)], payload: &[u8]) -> Result<(), FrameError> {
    let mut block = BytesMut::new();
    for (name, value) in headers {
        block.put_u8(u8::try_from(name.len()).map_err(|_| FrameError::Headers)?);
        block.put_slice(name.as_bytes());
        block.put_u8(STRING);
        block.put_u16(u16::try_from(value.len()).map_err(|_| FrameError::Headers)?);
        block.put_slice(value.as_bytes());
    }
    if block.len() > MAX_HEADERS || payload.len() > MAX_PAYLOAD {
        return Err(FrameError::Length);
    }
    let total = PRELUDE + block.len() + payload.len() + TRAILER;
    let mut frame = BytesMut::with_capacity(total);
    frame.put_u32(u32::try_from(total).map_err(|_| FrameError::Length)?);
    frame.put_u32(u32::try_from(block.len()).map_err(|_| FrameError::Length)?);
    frame.put_u32(crc32fast::hash(&frame));
    frame.put_slice(&block);
    frame.put_slice(payload);
    frame.put_u32(crc32fast::hash(&frame));
    out.put_slice(&frame);
    Ok(())
}
