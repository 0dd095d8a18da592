//! The lines of a batch: each is a request, and names a model by the caller's name for it.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};
use haleway_wire::{Change, Envelope};
use memchr::memchr_iter;

/// The lines with `name` as the model of a request replaced by `model`, a JSON string. `None` when no line has it.
pub(super) fn renamed(lines: &Bytes, name: &str, model: &[u8]) -> Option<Bytes> {
    let mut out: Option<BytesMut> = None;
    let mut from = 0;
    let ends = memchr_iter(b'\n', lines).map(|end| end + 1).chain([lines.len()]);
    for end in ends {
        let line = lines.get(from..end)?;
        let changed = request(line, name, model);
        if let (Some(_), None) = (&changed, &out) {
            let mut begun = BytesMut::with_capacity(lines.len() + 1024);
            begun.put_slice(lines.get(..from)?);
            out = Some(begun);
        }
        if let Some(out) = &mut out {
            match changed {
                Some(changed) => {
                    out.put_slice(&changed);
                    out.put_slice(line.get(line.trim_ascii_end().len()..)?);
                }
                None => out.put_slice(line),
            }
        }
        from = end;
    }
    out.map(BytesMut::freeze)
}

fn request(line: &[u8], name: &str, model: &[u8]) -> Option<Bytes> {
    let line = Envelope::parse(line.trim_ascii()).ok()?;
    let body = Envelope::parse(line.get("body")?.get().as_bytes()).ok()?;
    if body.str("model")? != name {
        return None;
    }
    let body = body.patched(&[Change::Set("model", Cow::Borrowed(model))]);
    Some(line.patched(&[Change::Set("body", Cow::Borrowed(&body))]))
}
