//! `multipart/form-data` (RFC 7578): how a client uploads a file beside its fields.
//!
//! A form is cut where its boundary stands and nowhere else: a part is two slices of the body, its head and its content.
//! So a form goes on as it came, parts in their order and with the headers they had, and what the gateway changes is
//! exchanged between them. The boundary stays the client's: it is known to stand in none of the parts.

mod head;
#[cfg(test)]
mod tests;

use bytes::{Bytes, BytesMut};
use memchr::memmem;

use crate::Payload;

/// The most parts that a form may have.
pub const MAX_PARTS: usize = 256;
/// The longest head of a part, in bytes.
pub const MAX_HEAD: usize = 8 * 1024;
/// The longest boundary, in bytes (RFC 2046).
pub const MAX_BOUNDARY: usize = 70;
/// Contents up to this size, in bytes, are copied beside their heads: a piece of its own costs more.
const COPIED: usize = 4 * 1024;

/// A form: its parts in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    boundary: String,
    /// The boundary is not the one that the parts came with.
    renewed: bool,
    parts: Vec<Part>,
}

/// One field or file of a form.
#[derive(Clone, PartialEq, Eq)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// The file's name; `None` for a field.
    pub file_name: Option<String>,
    /// The part's own content type, as written.
    pub content_type: Option<String>,
    /// The bytes of the field or file.
    pub content: Bytes,
    /// The header lines as they came, with the blank line that ends them.
    head: Bytes,
}

/// What becomes of a part when a form is written anew.
#[derive(Clone, Debug)]
pub enum Edit {
    /// It stays as it is.
    Keep,
    /// It is left out.
    Drop,
    /// It keeps its head and gets this content, which must not hold the form's boundary.
    Replace(Bytes),
}

/// Why a body is no form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormError {
    /// The content type is another one, or missing.
    NotAForm,
    /// The content type names no boundary, or an illegal one.
    NoBoundary,
    /// The boundary stands nowhere in the body.
    NoParts,
    /// The body ends before the closing boundary.
    Unfinished,
    /// The head of a part cannot be read, is too long, or names no field.
    BadHead {
        /// The part's number, from 1.
        part: usize,
    },
    /// There are more parts than [`MAX_PARTS`].
    TooManyParts,
}

impl std::fmt::Display for FormError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAForm => f.write_str("the content type must be multipart/form-data"),
            Self::NoBoundary => f.write_str("the content type multipart/form-data names no usable boundary"),
            Self::NoParts => f.write_str("the boundary of the content type stands nowhere in the body"),
            Self::Unfinished => f.write_str("the form ends before its closing boundary"),
            Self::BadHead { part } => {
                write!(f, "the head of part {part} is no form-data disposition with a name")
            }
            Self::TooManyParts => write!(f, "the form has more than {MAX_PARTS} parts"),
        }
    }
}

impl std::error::Error for FormError {}

impl Form {
    /// Whether a content type is that of a form.
    pub fn is_form(content_type: &str) -> bool {
        head::is_form(content_type)
    }

    /// Reads a body by its `content-type`.
    ///
    /// # Errors
    /// When the type is another one, or the body is not built as it says.
    pub fn parse(content_type: &str, body: &Bytes) -> Result<Self, FormError> {
        let boundary = head::boundary(content_type)?;
        let mut parts = Vec::new();
        let mut cutter = Cutter::new(&boundary, body)?;
        while let Some((from, to)) = cutter.next_part()? {
            if parts.len() == MAX_PARTS {
                return Err(FormError::TooManyParts);
            }
            let number = parts.len() + 1;
            let part = Part::read(body, from, to).ok_or(FormError::BadHead { part: number })?;
            parts.push(part);
        }
        Ok(Self { boundary, renewed: false, parts })
    }

    /// A form without parts. The boundary must be legal: up to [`MAX_BOUNDARY`] letters, digits and dashes.
    pub fn new(boundary: impl Into<String>) -> Self {
        Self { boundary: boundary.into(), renewed: false, parts: Vec::new() }
    }

    /// A form without parts whose boundary stands in none of this one's.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { boundary: self.boundary.clone(), renewed: self.renewed, parts: Vec::new() }
    }

    /// The parts in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The first file under `name`, written with or without the brackets of a list.
    pub fn file(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.file_name.is_some() && part.key() == name)
    }

    /// Whether there is a part under `name`, written with or without the brackets of a list.
    pub fn has(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.key() == name)
    }

    /// The first field of this name, without white space around it.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.parts.iter().find(|part| part.name == name)?.text().map(str::trim)
    }

    /// The form as it is sent after `edit` has had its say on each part.
    pub fn written(&self, mut edit: impl FnMut(&Part) -> Edit) -> Payload {
        let edited = self.parts.iter().filter_map(|part| match edit(part) {
            Edit::Keep => Some(part.clone()),
            Edit::Drop => None,
            Edit::Replace(content) => Some(Part { content, ..part.clone() }),
        });
        Self { parts: edited.collect(), ..self.emptied() }.payload()
    }

    /// Appends a part of the form that this one is made of, as it is.
    pub fn push(&mut self, part: Part) {
        if self.renewed {
            self.keep_apart(&part.content);
        }
        self.parts.push(part);
    }

    /// Appends a field.
    pub fn push_text(&mut self, name: &str, value: &str) {
        let body = Bytes::copy_from_slice(value.as_bytes());
        self.keep_apart(&body);
        self.parts.push(Part::field(name, body));
    }

    /// Appends a file.
    pub fn push_file(&mut self, name: &str, file_name: &str, content_type: &str, body: Bytes) {
        self.keep_apart(&body);
        self.parts.push(Part::of_file(name, file_name, content_type, body));
    }

    /// The value of the `content-type` header.
    pub fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", head::quoted(&self.boundary))
    }

    /// The form as it is sent. Large contents are not copied.
    pub fn payload(&self) -> Payload {
        let mut pieces = Vec::new();
        let mut out = BytesMut::new();
        for part in &self.parts {
            out.extend_from_slice(b"--");
            out.extend_from_slice(self.boundary.as_bytes());
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(&part.head);
            if part.content.len() > COPIED {
                pieces.push(out.split().freeze());
                pieces.push(part.content.clone());
            } else {
                out.extend_from_slice(&part.content);
            }
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"--");
        out.extend_from_slice(self.boundary.as_bytes());
        out.extend_from_slice(b"--\r\n");
        pieces.push(out.freeze());
        Payload::from(pieces)
    }

    /// Chooses another boundary when `content`, which did not come in this form, holds the present one.
    fn keep_apart(&mut self, content: &[u8]) {
        let holds = |content: &[u8], boundary: &str| {
            memmem::find(content, format!("--{boundary}").as_bytes()).is_some()
        };
        if !holds(content, &self.boundary) {
            return;
        }
        for number in 0_u32.. {
            let candidate = format!("haleway-form-{number}");
            if !holds(content, &candidate) && !self.parts.iter().any(|part| holds(&part.content, &candidate))
            {
                self.boundary = candidate;
                self.renewed = true;
                return;
            }
        }
    }
}

impl Part {
    /// The part between two boundaries.
    fn read(body: &Bytes, from: usize, to: usize) -> Option<Self> {
        // The line end in front of the boundary may be the one that ends the head: an empty field.
        let whole = body.get(from..to + 2)?;
        let end = memmem::find(whole.get(..whole.len().min(MAX_HEAD))?, b"\r\n\r\n")? + 4;
        let facts = head::read(whole.get(..end)?)?;
        Some(Self {
            name: facts.name,
            file_name: facts.file_name,
            content_type: facts.content_type,
            head: body.slice(from..from + end),
            content: body.slice((from + end).min(to)..to),
        })
    }

    fn field(name: &str, content: Bytes) -> Self {
        let head = format!("Content-Disposition: form-data; name=\"{}\"\r\n\r\n", head::escaped(name));
        Self { name: name.to_owned(), file_name: None, content_type: None, head: head.into(), content }
    }

    fn of_file(name: &str, file_name: &str, content_type: &str, content: Bytes) -> Self {
        let head = format!(
            "Content-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\nContent-Type: {content_type}\r\n\r\n",
            head::escaped(name),
            head::escaped(file_name)
        );
        Self {
            name: name.to_owned(),
            file_name: Some(file_name.to_owned()),
            content_type: Some(content_type.to_owned()),
            head: head.into(),
            content,
        }
    }

    /// The name without the brackets that mark a list.
    pub fn key(&self) -> &str {
        self.name.strip_suffix("[]").unwrap_or(&self.name)
    }

    /// Whether the name has the brackets that mark a list.
    pub fn is_listed(&self) -> bool {
        self.name.ends_with("[]")
    }

    /// The content of a field; `None` for files and what is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        if self.file_name.is_some() { None } else { std::str::from_utf8(&self.content).ok() }
    }

    /// This part under another name.
    #[must_use]
    pub fn renamed(&self, name: &str) -> Self {
        match &self.file_name {
            None => Self::field(name, self.content.clone()),
            Some(file_name) => {
                let kind = self.content_type.as_deref().unwrap_or("application/octet-stream");
                Self::of_file(name, file_name, kind, self.content.clone())
            }
        }
    }
}

impl std::fmt::Debug for Part {
    /// Name and size: contents are the client's.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part")
            .field("name", &self.name)
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}

/// Walks from boundary to boundary.
struct Cutter<'a> {
    body: &'a [u8],
    /// `CRLF--boundary`: what stands before every part but perhaps the first.
    delimiter: Vec<u8>,
    /// Where the present part begins; `None` after the closing boundary.
    at: Option<usize>,
}

impl<'a> Cutter<'a> {
    fn new(boundary: &str, body: &'a [u8]) -> Result<Self, FormError> {
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        let mut cutter = Self { body, delimiter, at: None };
        let opening = cutter.delimiter.get(2..).unwrap_or_default();
        // Text before the first boundary is for mail readers of old.
        let after = if body.starts_with(opening) {
            cutter.after(opening.len())
        } else {
            let mut from = 0;
            loop {
                let Some((_, end)) = cutter.find(from) else { break None };
                match cutter.after(end) {
                    None => from = end,
                    found => break found,
                }
            }
        };
        cutter.at = match after {
            Some(Next::Part(at)) => Some(at),
            Some(Next::End) => None,
            None => return Err(FormError::NoParts),
        };
        Ok(cutter)
    }

    /// The next delimiter from `from` on: where it begins and ends.
    fn find(&self, from: usize) -> Option<(usize, usize)> {
        let rest = self.body.get(from..)?;
        let found = from + memmem::find(rest, &self.delimiter)?;
        Some((found, found + self.delimiter.len()))
    }

    /// What follows a delimiter that ends at `end`; `None` when it was not one after all.
    fn after(&self, end: usize) -> Option<Next> {
        let rest = self.body.get(end..)?;
        if rest.starts_with(b"--") {
            return Some(Next::End);
        }
        let padding = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        rest.get(padding..)?.starts_with(b"\r\n").then_some(Next::Part(end + padding + 2))
    }

    /// Begin and end of the present part; moves on to the next one.
    fn next_part(&mut self) -> Result<Option<(usize, usize)>, FormError> {
        let Some(begin) = self.at else { return Ok(None) };
        let mut from = begin;
        while let Some((found, end)) = self.find(from) {
            match self.after(end) {
                Some(Next::Part(next)) => {
                    self.at = Some(next);
                    return Ok(Some((begin, found)));
                }
                Some(Next::End) => {
                    self.at = None;
                    return Ok(Some((begin, found)));
                }
                None => from = end,
            }
        }
        Err(FormError::Unfinished)
    }
}

/// What follows a boundary.
enum Next {
    /// A part, from here on.
    Part(usize),
    /// Nothing: it was the closing one.
    End,
}
