//! The top level of a JSON object, borrowed.
//!
//! A request body is read to learn a handful of members (`model`, `stream`, …) and to change one or two. Every
//! other member is carried as the slice of text it arrived in, so that nothing a caller sends is lost or spelt
//! anew. `RawValue` does not work under `flatten`, hence the visitor written by hand. A repeated key counts
//! once, with the last value in the first place, as Python's `dict` has it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

mod depth;
#[cfg(test)]
mod tests;

/// Deepest nesting of objects and arrays that is accepted, the outermost object included. This is the limit of
/// `serde_json`, so that a body that passes here can also be parsed into values later.
pub const MAX_DEPTH: usize = 127;

/// Up to this many members, repeated keys are found by comparing; beyond it, by hashing.
const FEW_MEMBERS: usize = 32;

/// A JSON object whose members are slices of the text it was parsed from.
#[derive(Clone, Debug)]
pub struct Envelope<'a> {
    members: Vec<Member<'a>>,
}

#[derive(Clone, Debug)]
struct Member<'a> {
    /// The key as written, with its quotes.
    raw_key: &'a str,
    /// The key decoded: borrowed unless it holds an escape.
    key: Cow<'a, str>,
    value: &'a RawValue,
}

/// One change that [`Envelope::patched`] makes.
#[derive(Clone, Debug)]
pub enum Change<'c> {
    /// Gives the member this value, which must be one JSON value; the member is appended if there is none.
    Set(&'c str, Cow<'c, [u8]>),
    /// Takes the member out; nothing happens if there is none.
    Remove(&'c str),
}

/// Why a body is not an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeError {
    /// What is wrong.
    pub kind: EnvelopeErrorKind,
}

/// What is wrong with a body that is not an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvelopeErrorKind {
    /// The bytes are not UTF-8; this many bytes from the start are.
    NotUtf8 {
        /// Length of the valid part, in bytes.
        valid: usize,
    },
    /// Valid JSON, but an array, a string, a number, a boolean or null.
    NotObject,
    /// Not JSON.
    Syntax {
        /// Line of the mistake, from 1.
        line: usize,
        /// Column of the mistake in bytes, from 1 (0 at the start of a line that ended too early).
        column: usize,
        /// Byte position of the mistake in the body, from 0.
        offset: usize,
        /// What was expected, without the place.
        message: String,
    },
    /// Objects and arrays are nested deeper than [`MAX_DEPTH`].
    TooDeep,
}

impl fmt::Display for EnvelopeError {
    /// Written in the words that LiteLLM puts after `Invalid JSON payload: `.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            EnvelopeErrorKind::NotUtf8 { valid } => write!(f, "invalid UTF-8 (byte {valid})"),
            EnvelopeErrorKind::NotObject => f.write_str("expected an object"),
            EnvelopeErrorKind::Syntax { line, column, offset, message } => {
                write!(f, "{message}: line {line} column {column} (char {offset})")
            }
            EnvelopeErrorKind::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} levels"),
        }
    }
}

impl std::error::Error for EnvelopeError {}

impl<'a> Envelope<'a> {
    /// Reads the top level of `bytes`.
    ///
    /// # Errors
    /// When the bytes are not UTF-8, not JSON, not an object, or nested too deep.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, EnvelopeError> {
        let text = std::str::from_utf8(bytes).map_err(|error| EnvelopeError {
            kind: EnvelopeErrorKind::NotUtf8 { valid: error.valid_up_to() },
        })?;
        if depth::exceeds(bytes, MAX_DEPTH) {
            return Err(EnvelopeError { kind: EnvelopeErrorKind::TooDeep });
        }
        let mut parser = serde_json::Deserializer::from_str(text);
        let members = parser.deserialize_map(MembersVisitor).and_then(|members| {
            parser.end()?;
            Ok(members)
        });
        match members {
            Ok(members) => Ok(Self { members: last_wins(members) }),
            Err(error) => Err(EnvelopeError { kind: explain(text, &error) }),
        }
    }

    /// The member's value as written.
    pub fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|member| member.key == key).map(|member| member.value)
    }

    /// The member's value if it is a string, decoded.
    pub fn str(&self, key: &str) -> Option<Cow<'a, str>> {
        decode_string(self.get(key)?.get())
    }

    /// The member's value if it is a boolean.
    pub fn bool(&self, key: &str) -> Option<bool> {
        match self.get(key)?.get() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The member's value if it is an integer from 0 to `u64::MAX`, written without fraction or exponent.
    pub fn u64(&self, key: &str) -> Option<u64> {
        self.get(key)?.get().parse().ok()
    }

    /// Whether the member exists and is not `null`.
    pub fn is_set(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.get() != "null")
    }

    /// Keys (decoded) and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.members.iter().map(|member| (&*member.key, member.value))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the object is `{}`.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The object written anew with `changes`. Members that no change names keep their bytes and their order;
    /// new members are appended in the order of the changes. Of several changes to one key the last counts.
    pub fn patched(&self, changes: &[Change<'_>]) -> Bytes {
        let kept: usize = self.members.iter().map(|m| m.raw_key.len() + m.value.get().len() + 2).sum();
        let set: usize = changes.iter().map(Change::capacity).sum();
        let mut out = BytesMut::with_capacity(kept + set + 2);
        out.put_u8(b'{');
        for member in &self.members {
            match changes.iter().rfind(|change| change.key() == member.key) {
                None => write_member(&mut out, member.raw_key.as_bytes(), member.value.get().as_bytes()),
                Some(Change::Set(_, value)) => write_member(&mut out, member.raw_key.as_bytes(), value),
                Some(Change::Remove(_)) => {}
            }
        }
        for (index, change) in changes.iter().enumerate() {
            let Change::Set(key, value) = change else { continue };
            let superseded = changes.iter().skip(index + 1).any(|later| later.key() == *key);
            if !superseded && self.get(key).is_none() {
                write_member(&mut out, json_string(key).as_bytes(), value);
            }
        }
        out.put_u8(b'}');
        out.freeze()
    }
}

impl<'c> Change<'c> {
    /// A change that sets a string, which it quotes.
    pub fn set_str(key: &'c str, value: &str) -> Self {
        Self::Set(key, Cow::Owned(json_string(value).into_bytes()))
    }

    /// A change that sets a JSON value given as text.
    pub fn set_raw(key: &'c str, value: &'c str) -> Self {
        Self::Set(key, Cow::Borrowed(value.as_bytes()))
    }

    /// The key that is changed.
    pub fn key(&self) -> &str {
        match self {
            Self::Set(key, _) | Self::Remove(key) => key,
        }
    }

    fn capacity(&self) -> usize {
        match self {
            Self::Set(key, value) => key.len() + value.len() + 4,
            Self::Remove(_) => 0,
        }
    }
}

fn write_member(out: &mut BytesMut, raw_key: &[u8], value: &[u8]) {
    if out.len() > 1 {
        out.put_u8(b',');
    }
    out.put_slice(raw_key);
    out.put_u8(b':');
    out.put_slice(value);
}

/// `text` as a JSON string, quoted and escaped.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The content of a JSON string given with its quotes; `None` when `raw` is not a string.
fn decode_string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
}

/// Repeated keys: the last value, in the first place.
fn last_wins(mut members: Vec<Member<'_>>) -> Vec<Member<'_>> {
    if members.len() <= FEW_MEMBERS {
        let mut kept = 0;
        for index in 0..members.len() {
            match (0..kept).find(|&earlier| members[earlier].key == members[index].key) {
                Some(earlier) => members[earlier].value = members[index].value,
                None => {
                    members.swap(kept, index);
                    kept += 1;
                }
            }
        }
        members.truncate(kept);
        return members;
    }
    let mut places: HashMap<Cow<'_, str>, usize> = HashMap::with_capacity(members.len());
    let mut kept: Vec<Member<'_>> = Vec::with_capacity(members.len());
    for member in members {
        match places.get(&member.key) {
            Some(&place) => kept[place].value = member.value,
            None => {
                places.insert(member.key.clone(), kept.len());
                kept.push(member);
            }
        }
    }
    kept
}

/// Turns the parser's error into ours: a legal value of another type is named as such, a place is added to
/// everything else.
fn explain(text: &str, error: &serde_json::Error) -> EnvelopeErrorKind {
    if error.is_data() && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return EnvelopeErrorKind::NotObject;
    }
    // A broken value of another type: say what is broken rather than that it is no object.
    let inner = serde_json::from_str::<serde::de::IgnoredAny>(text).err();
    let error = inner.as_ref().unwrap_or(error);
    let (line, column) = (error.line(), error.column());
    let whole = error.to_string();
    let message = whole.split_once(" at line ").map_or(whole.as_str(), |(message, _)| message).to_owned();
    let line_start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    EnvelopeErrorKind::Syntax { line, column, offset: (line_start + column).saturating_sub(1), message }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<Member<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(16);
        while let Some((key, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
            let raw_key = key.get();
            // A key that cannot be decoded (half of a surrogate pair) stands for itself.
            let key = decode_string(raw_key).unwrap_or(Cow::Borrowed(raw_key));
            members.push(Member { raw_key, key, value });
        }
        Ok(members)
    }
}
