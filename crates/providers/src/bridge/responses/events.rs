//! The events of a response's stream: each begins with its type and has its number.

use std::io::Write as _;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Numbers events.
#[derive(Debug, Default)]
pub(super) struct Numbers(u64);

impl Numbers {
    /// The event `kind` with these members.
    pub(super) fn event(&mut self, kind: &str, members: Value, out: &mut Vec<Bytes>) {
        let mut event = Map::new();
        event.insert("type".to_owned(), kind.into());
        event.insert("sequence_number".to_owned(), self.next().into());
        if let Value::Object(members) = members {
            event.extend(members);
        }
        out.push(Value::Object(event).to_string().into());
    }

    /// A piece of text, which is a JSON string already: the event of every token, so it is written in one go.
    /// `place` are its other members, as written, between commas.
    pub(super) fn piece(&mut self, kind: &str, place: &str, piece: &RawValue, out: &mut Vec<Bytes>) {
        let mut event = Vec::with_capacity(kind.len() + place.len() + piece.get().len() + 64);
        // A vector takes every write.
        let _always = write!(
            event,
            r#"{{"type":"{kind}","sequence_number":{},{place},"delta":{}}}"#,
            self.next(),
            piece.get()
        );
        out.push(event.into());
    }

    const fn next(&mut self) -> u64 {
        let number = self.0;
        self.0 += 1;
        number
    }
}
