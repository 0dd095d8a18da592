//! How long a provider asks to be left alone, in whatever form it says so.
//!
//! Waits stand in headers (`retry-after-ms`, `Retry-After` with seconds, a fraction, one of three date forms or
//! an epoch), in the reset headers of the limit that is used up, in members of the body and in its prose. The
//! longest credible one counts, for a shorter one only earns the next refusal. A time that has passed is a wait
//! of zero, an absurd one is cut to the caller's cap and flagged, and what cannot be read is no wait at all.

use std::time::Duration;

use http::HeaderMap;

mod body;
mod duration;
mod headers;
mod prose;
#[cfg(test)]
mod tests;

pub use duration::parse_value;

/// A cap for callers without one of their own: the longest wait that providers are known to mean is a week.
pub const DEFAULT_CAP: Duration = Duration::from_secs(7 * 24 * 3600);

/// A wait that an answer states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// From now; at most the cap.
    pub length: Duration,
    /// Where it stood.
    pub origin: WaitOrigin,
    /// More than the cap was stated.
    pub clamped: bool,
}

/// Where a wait stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOrigin {
    /// `retry-after-ms`.
    RetryAfterMs,
    /// `Retry-After`.
    RetryAfter,
    /// The reset header of a limit whose remaining header is zero.
    Reset,
    /// A member of the body, such as `retryDelay`.
    BodyField,
    /// The words of a message, such as "try again in 20s".
    Message,
}

/// The wait that headers and body state together. `body` is the start of the answer's body, JSON or not.
/// `now_ms` is epoch milliseconds.
pub fn parse(headers: &HeaderMap, body: &[u8], now_ms: u64, cap: Duration) -> Option<Wait> {
    let value = serde_json::from_slice(body).ok();
    let text = if value.is_none() { String::from_utf8_lossy(body) } else { "".into() };
    parse_parts(headers, value.as_ref(), &text, now_ms, cap)
}

/// As [`parse`], for a body that is parsed already; `text` is prose outside JSON, or the messages found in it.
pub fn parse_parts(
    headers: &HeaderMap,
    body: Option<&serde_json::Value>,
    text: &str,
    now_ms: u64,
    cap: Duration,
) -> Option<Wait> {
    let stated = [
        headers::stated(headers, now_ms),
        body.and_then(|body| body::stated(body, now_ms)),
        prose::stated(text).map(|length| (length, WaitOrigin::Message)),
    ];
    let longest = stated.into_iter().flatten().reduce(longer);
    let longest = match (longest, headers::reset(headers, now_ms)) {
        // Both name the same moment and one is rounded: the provider's direct answer is the one to give back.
        (Some(direct), Some(reset)) if reset.abs_diff(direct.0) <= ROUNDING => Some(direct),
        (Some(direct), Some(reset)) => Some(longer(direct, (reset, WaitOrigin::Reset))),
        (None, reset) => reset.map(|reset| (reset, WaitOrigin::Reset)),
        (direct, None) => direct,
    };
    longest.map(|(length, origin)| Wait { length: length.min(cap), origin, clamped: length > cap })
}

/// As [`parse`], for headers alone.
pub fn from_headers(headers: &HeaderMap, now_ms: u64, cap: Duration) -> Option<Wait> {
    parse_parts(headers, None, "", now_ms, cap)
}

/// Two statements of one moment differ by less than this, because `Retry-After` has whole seconds.
const ROUNDING: Duration = Duration::from_secs(1);

/// A length and where it stood.
type Stated = (Duration, WaitOrigin);

/// The longer of two; the first when they are equal.
fn longer(first: Stated, second: Stated) -> Stated {
    if second.0 > first.0 { second } else { first }
}
