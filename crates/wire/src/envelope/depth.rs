//! How deep a JSON text is nested, without parsing it.
//!
//! The parser carries members as text and skips over them without recursion, so it would accept any depth; the
//! next reader of the same member would not. Most bodies have fewer brackets than the limit and are done after
//! one count; only the others are walked.

use memchr::{memchr2, memchr2_iter};

/// Whether objects and arrays are nested deeper than `limit`. For text that is not JSON the answer is about its
/// brackets outside strings.
pub(super) fn exceeds(bytes: &[u8], limit: usize) -> bool {
    if memchr2_iter(b'{', b'[', bytes).take(limit + 1).count() <= limit {
        return false;
    }
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

/// The position after the quote that ends the string whose content begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return at;
        }
        at += 1;
    }
    bytes.len()
}
