//! `multipart/form-data`, cut into parts that are slices of the body.
//!
//! A form is read to learn its small fields and to change or leave out one or two of them; a file in it is never
//! copied to be read. Parts that nobody changes keep their heads byte for byte.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use memchr::memmem;

#[cfg(test)]
mod tests;

/// Most parts that a form may have.
const MAX_PARTS: usize = 256;
/// Largest head of a part, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// Longest boundary (RFC 2046, section 5.1.1).
const MAX_BOUNDARY: usize = 70;

/// A form.
#[derive(Clone, Debug)]
pub struct Form {
    body: Bytes,
    boundary: String,
    parts: Vec<Part>,
}

/// One field of a form.
#[derive(Clone)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// The name of the file, if it is one.
    pub file_name: Option<String>,
    /// The bytes of the field.
    pub content: Bytes,
    head: Bytes,
}

impl fmt::Debug for Part {
    /// Names and sizes: contents are the caller's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("name", &self.name)
            .field("bytes", &self.content.len())
            .finish_non_exhaustive()
    }
}

/// What becomes of a part when a form is written anew.
#[derive(Clone, Debug)]
pub enum Edit {
    /// It stays as it is.
    Keep,
    /// It is left out.
    Drop,
    /// It keeps its head and gets this content.
    Replace(Bytes),
}

/// Why a body is no form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormError {
    /// The content type is not `multipart/form-data`.
    NotAForm,
    /// The content type names no legal boundary.
    NoBoundary,
    /// The first boundary is not in the body.
    NoParts,
    /// A part has no end: the body was cut, or its boundary is another.
    Unfinished,
    /// The head of a part cannot be read or names no field.
    BadHead,
    /// There are too many parts, or a head is too large.
    TooLarge,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAForm => "the content type is not multipart/form-data",
            Self::NoBoundary => "the content type names no boundary",
            Self::NoParts => "the boundary of the content type is not in the body",
            Self::Unfinished => "the last part has no end",
            Self::BadHead => "a part has no Content-Disposition with a name",
            Self::TooLarge => "there are too many parts, or the head of one is too large",
        })
    }
}

impl std::error::Error for FormError {}

impl Form {
    /// Whether a content type is that of a form.
    pub fn is_form(content_type: &str) -> bool {
        let kind = content_type.split(';').next().unwrap_or_default();
        kind.trim().eq_ignore_ascii_case("multipart/form-data")
    }

    /// Cuts `body` into parts.
    ///
    /// # Errors
    /// When it is no form, or one beyond the limits.
    pub fn parse(content_type: &str, body: &Bytes) -> Result<Self, FormError> {
        if !Self::is_form(content_type) {
            return Err(FormError::NotAForm);
        }
        let boundary = parameter(content_type, "boundary")
            .filter(|boundary| !boundary.is_empty() && boundary.len() <= MAX_BOUNDARY)
            .ok_or(FormError::NoBoundary)?;
        let first = format!("--{boundary}");
        let between = format!("\r\n--{boundary}");
        let mut at = if body.starts_with(first.as_bytes()) {
            first.len()
        } else {
            memmem::find(body, between.as_bytes()).ok_or(FormError::NoParts)? + between.len()
        };
        let finder = memmem::Finder::new(&between);
        let mut parts = Vec::new();
        loop {
            let rest = body.get(at..).ok_or(FormError::Unfinished)?;
            if rest.starts_with(b"--") {
                return Ok(Self { body: body.clone(), boundary, parts });
            }
            if parts.len() == MAX_PARTS {
                return Err(FormError::TooLarge);
            }
            // White space may follow a boundary on its line.
            let line = memmem::find(rest, b"\r\n").ok_or(FormError::Unfinished)?;
            if !rest.get(..line).is_some_and(|padding| padding.iter().all(|b| matches!(b, b' ' | b'\t'))) {
                return Err(FormError::Unfinished);
            }
            let head_at = at + line + 2;
            let (part, end) = part(body, head_at, &finder)?;
            parts.push(part);
            at = end + between.len();
        }
    }

    /// The fields, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The first field of this name that is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        let part = self.parts.iter().find(|part| part.name == name)?;
        std::str::from_utf8(&part.content).ok().map(str::trim)
    }

    /// The content type that goes with [`Self::written`].
    pub fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", quoted(&self.boundary))
    }

    /// The form as it came, but for what `edit` makes of each part. Nothing is copied when nothing changes.
    pub fn written(&self, mut edit: impl FnMut(&Part) -> Edit) -> Bytes {
        let edits: Vec<Edit> = self.parts.iter().map(&mut edit).collect();
        if edits.iter().all(|edit| matches!(edit, Edit::Keep)) {
            return self.body.clone();
        }
        let mut out = BytesMut::with_capacity(self.body.len() + 64);
        for (part, edit) in self.parts.iter().zip(&edits) {
            let content = match edit {
                Edit::Keep => &part.content,
                Edit::Replace(content) => content,
                Edit::Drop => continue,
            };
            out.put_slice(b"--");
            out.put_slice(self.boundary.as_bytes());
            out.put_slice(b"\r\n");
            out.put_slice(&part.head);
            out.put_slice(b"\r\n\r\n");
            out.put_slice(content);
            out.put_slice(b"\r\n");
        }
        out.put_slice(b"--");
        out.put_slice(self.boundary.as_bytes());
        out.put_slice(b"--\r\n");
        out.freeze()
    }
}

/// The part whose head begins at `at`, and where its content ends.
fn part(body: &Bytes, at: usize, boundary: &memmem::Finder<'_>) -> Result<(Part, usize), FormError> {
    let rest = body.get(at..).ok_or(FormError::Unfinished)?;
    let window = rest.get(..rest.len().min(MAX_HEAD)).unwrap_or(rest);
    let head_len = memmem::find(window, b"\r\n\r\n").ok_or(if rest.len() > MAX_HEAD {
        FormError::TooLarge
    } else {
        FormError::Unfinished
    })?;
    let from = at + head_len + 4;
    // The line end in front of the boundary may be the one that ends the head: an empty field.
    let search = body.get(from - 2..).ok_or(FormError::Unfinished)?;
    let found = boundary.find(search).ok_or(FormError::Unfinished)?;
    let end = from - 2 + found;
    let head = body.slice(at..at + head_len);
    let (name, file_name) = disposition(&head).ok_or(FormError::BadHead)?;
    let content = if end < from { Bytes::new() } else { body.slice(from..end) };
    Ok((Part { name, file_name, content, head }, end))
}

/// The names in a part's `Content-Disposition`.
fn disposition(head: &[u8]) -> Option<(String, Option<String>)> {
    let head = std::str::from_utf8(head).ok()?;
    let value = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    })?;
    let kind = value.split(';').next().unwrap_or_default();
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return None;
    }
    Some((parameter(value, "name")?, parameter(value, "filename")))
}

/// A parameter of a header's value, without quotes and escapes.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let mut rest = value.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (text, next) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = after.find(';').unwrap_or(after.len());
                let (text, next) = after.split_at_checked(end)?;
                (text.trim().to_owned(), next)
            }
        };
        if name.trim().eq_ignore_ascii_case(wanted) {
            return Some(text);
        }
        rest = next.trim_start().strip_prefix(';')?;
    }
}

/// A quoted string after its first quote, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((out, text.get(at + 1..)?)),
            // Browsers leave backslashes of file names alone: only a quote or a backslash is escaped.
            '\\' if text.get(at + 1..).is_some_and(|rest| rest.starts_with(['"', '\\'])) => {
                out.push(letters.next()?.1);
            }
            _ => out.push(letter),
        }
    }
    None
}

fn quoted(boundary: &str) -> String {
    let is_token = boundary.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    if is_token { boundary.to_owned() } else { format!("\"{boundary}\"") }
}
