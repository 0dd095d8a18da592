//! How deep a JSON text is nested, without parsing it.
//!
//! The parser carries members as text and skips over them without recursion, so it would accept any depth; the
//! next reader of the same member would not, and this check gives the error a name and a place early. Bodies with
//! few brackets are done after one count. For the others all brackets are followed at the speed of a vector scan,
//! those in strings included; only a text that looks deep that way is walked exactly. Closing brackets in strings
//! can hide depth from the quick look, which costs no more than the name: the next reader has the same limit.

use memchr::{memchr, memchr2_iter};

/// Whether objects and arrays are nested deeper than `limit`. For text that is not JSON the answer is about its
/// brackets outside strings.
pub(super) fn exceeds(bytes: &[u8], limit: usize) -> bool {
    memchr2_iter(b'{', b'[', bytes).take(limit + 1).count() > limit
        && looks_deep(bytes, limit)
        && is_deep(bytes, limit)
}

/// Follows all brackets, in strings or not.
fn looks_deep(bytes: &[u8], limit: usize) -> bool {
    let mut closing = memchr2_iter(b'}', b']', bytes).peekable();
    let mut depth = 0usize;
    memchr2_iter(b'{', b'[', bytes).any(|opening| {
        while closing.next_if(|at| *at < opening).is_some() {
            depth = depth.saturating_sub(1);
        }
        depth += 1;
        depth > limit
    })
}

/// Follows the brackets outside strings.
fn is_deep(bytes: &[u8], limit: usize) -> bool {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// The position after the quote that ends the string whose content begins at `start`: the first quote before
/// which the backslashes are even in number.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr(b'"', rest)) {
        let quote = at + found;
        let content = bytes.get(start..quote).unwrap_or_default();
        let slashes = content.iter().rev().take_while(|byte| **byte == b'\\').count();
        at = quote + 1;
        if slashes % 2 == 0 {
            return at;
        }
    }
    bytes.len()
}
