//! Waits in headers.

use std::time::Duration;

use http::HeaderMap;

use super::duration::parse_value;
use super::{Stated, WaitOrigin, longer};

/// The longest of the headers that state a wait directly.
pub(super) fn stated(headers: &HeaderMap, now_ms: u64) -> Option<Stated> {
    let exact = values(headers, "retry-after-ms").filter_map(milliseconds).max();
    let whole = values(headers, "retry-after").filter_map(|text| parse_value(text, now_ms)).max();
    match (exact, whole) {
        // The header in seconds is the other one rounded up.
        (Some(exact), Some(whole)) if whole.abs_diff(exact) < Duration::from_secs(1) => {
            Some((exact, WaitOrigin::RetryAfterMs))
        }
        (exact, whole) => exact
            .map(|length| (length, WaitOrigin::RetryAfterMs))
            .into_iter()
            .chain(whole.map(|length| (length, WaitOrigin::RetryAfter)))
            .reduce(longer),
    }
}

/// The longest reset of the limits of which nothing is left.
///
/// A limit is named by three headers, `…limit…`, `…remaining…` and `…reset…`, that differ in this word only:
/// `x-ratelimit-remaining-tokens`, `anthropic-ratelimit-input-tokens-remaining`, `ratelimit-remaining`.
pub(super) fn reset(headers: &HeaderMap, now_ms: u64) -> Option<Duration> {
    let mut longest = None;
    for (name, value) in headers {
        let name = name.as_str();
        if !name.contains("ratelimit") && !name.contains("rate-limit") {
            continue;
        }
        let Some(reset) = sibling(name) else { continue };
        if !value.to_str().is_ok_and(is_zero) {
            continue;
        }
        longest = longest.max(values(headers, &reset).filter_map(|text| parse_value(text, now_ms)).max());
    }
    longest
}

/// The name of the reset header for a `remaining` header.
fn sibling(name: &str) -> Option<String> {
    name.contains("remaining").then(|| name.replacen("remaining", "reset", 1))
}

/// Nothing is left: `0`, `0.0`, and `-1` as some proxies count.
fn is_zero(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok_and(|left| left <= 0.0)
}

fn milliseconds(text: &str) -> Option<Duration> {
    let millis = text.trim().parse::<f64>().ok().filter(|millis| *millis >= 0.0)?;
    Duration::try_from_secs_f64(millis / 1000.0).ok()
}

fn values<'h>(headers: &'h HeaderMap, name: &str) -> impl Iterator<Item = &'h str> {
    headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok())
}
