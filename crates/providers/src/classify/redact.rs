//! Keys out of text that is passed on.
//!
//! Providers quote the key they refuse, wholly or in part, and proxies quote whole headers. What looks like a
//! secret is replaced before the text goes into a log, an event or an answer to a client, who is not the owner
//! of the gateway's key.

use std::borrow::Cow;

const REPLACEMENT: &str = "[redacted]";

/// Beginnings of the keys that providers hand out.
const PREFIXES: [&str; 24] = [
    "sk-",
    "sk_",
    "pk-",
    "rk-",
    "AIza",
    "gsk_",
    "xai-",
    "hf_",
    "r8_",
    "pplx-",
    "nvapi-",
    "AKIA",
    "ASIA",
    "ya29.",
    "eyJ",
    "csk-",
    "fw_",
    "tgp_",
    "dapi",
    "jina_",
    "ghp_",
    "github_pat_",
    "xoxb-",
    "co_",
];

/// A key has at least this many characters after its beginning.
const MIN_TAIL: usize = 6;
/// Letters of both cases and digits, this long, are a key and no word.
const MIN_RANDOM: usize = 32;

/// Words after which the next token is a secret.
const CUES: [&str; 10] = [
    "bearer",
    "basic",
    "api_key",
    "api-key",
    "apikey",
    "x-api-key",
    "access_token",
    "token",
    "key",
    "password",
];

/// `text` without anything that looks like a key.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut cue = false;
    for (start, end) in tokens(text) {
        let token = text.get(start..end).unwrap_or_default();
        if is_secret(token) || (cue && token.len() >= 8 && token.bytes().any(|byte| byte.is_ascii_digit())) {
            let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
            out.push_str(text.get(copied..start).unwrap_or_default());
            out.push_str(REPLACEMENT);
            copied = end;
        }
        cue = CUES.iter().any(|word| token.eq_ignore_ascii_case(word));
    }
    match out {
        Some(mut out) => {
            out.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(out)
        }
        None => Cow::Borrowed(text),
    }
}

/// A secret that is shorter than this may be a part of any word.
const MIN_PART: usize = 8;

/// `text` without `secret`, wherever it stands; a short one only where it is a word of its own.
pub(crate) fn without(text: String, secret: &str) -> String {
    if secret.is_empty() || !text.contains(secret) {
        return text;
    }
    if secret.len() >= MIN_PART {
        return text.replace(secret, REPLACEMENT);
    }
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once(secret) {
        out.push_str(before);
        let inside = is_part(out.chars().next_back()) || is_part(after.chars().next());
        out.push_str(if inside { secret } else { REPLACEMENT });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Start and end of each run of characters that keys are made of; a full stop that ends a sentence is none.
fn tokens(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*' | b'.' | b'+');
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + bytes.get(at..)?.iter().position(|byte| is_part(*byte))?;
        let length =
            bytes.get(start..)?.iter().position(|byte| !is_part(*byte)).unwrap_or(bytes.len() - start);
        at = start + length;
        let token = text.get(start..at)?;
        Some((start, start + token.trim_end_matches('.').len()))
    })
}

fn is_secret(token: &str) -> bool {
    if token.contains("***") {
        return true;
    }
    let has_prefix = PREFIXES.iter().any(|prefix| {
        token.strip_prefix(prefix).is_some_and(|tail| {
            tail.len() >= MIN_TAIL
                && tail.bytes().any(|byte| byte.is_ascii_digit() || byte == b'*' || byte.is_ascii_uppercase())
        })
    });
    let has = |test: fn(&u8) -> bool| token.as_bytes().iter().any(test);
    has_prefix
        || (token.len() >= MIN_RANDOM
            && !token.contains('.')
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase))
}
