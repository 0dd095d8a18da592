//! The grammar of one stated wait: a number, an epoch, a Go duration, a date.

use std::time::Duration;

use jiff::fmt::strtime;
use jiff::{Timestamp, civil};

/// From this value a bare number is epoch milliseconds.
const EPOCH_MS_FROM: f64 = 1e11;
/// From this value a bare number is epoch seconds: as a wait it would be more than thirty years.
const EPOCH_S_FROM: f64 = 1e9;
/// Longer values than any form needs are not looked at.
const LONGEST: usize = 64;

/// Reads one value: seconds with or without a fraction, epoch seconds, epoch milliseconds, a Go-style duration
/// (`1h2m3.5s`, `250ms`), an RFC 3339 time or one of the three HTTP date forms. A moment becomes the wait from
/// `now_ms` (epoch milliseconds), zero if it has passed. `None` for anything else, negative numbers included.
pub fn parse_value(text: &str, now_ms: u64) -> Option<Duration> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    if let Some(number) = number(text) {
        return from_number(number, now_ms);
    }
    if let Some(length) = go_duration(text) {
        return Some(length);
    }
    moment(text).map(|at_ms| until(at_ms, now_ms))
}

/// A number as seconds from now, or as a moment when it is too large to be a wait.
pub(super) fn from_number(number: f64, now_ms: u64) -> Option<Duration> {
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    if number < EPOCH_S_FROM {
        return Duration::try_from_secs_f64(number).ok().map(whole_millis);
    }
    let at_ms = if number < EPOCH_MS_FROM { number * 1000.0 } else { number };
    let now = Duration::from_millis(now_ms);
    let at = Duration::try_from_secs_f64(at_ms / 1000.0).ok()?;
    Some(whole_millis(at.saturating_sub(now)))
}

/// Waits are told in milliseconds; a fraction of one is rounded to the nearest.
fn whole_millis(length: Duration) -> Duration {
    let millis = (length + Duration::from_micros(500)).as_millis();
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// A plain decimal number: no sign but `+`, no exponent, no `inf`.
fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let plain = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if plain { digits.parse().ok() } else { None }
}

/// A sequence of numbers with units, as Go writes durations and as people write them without spaces.
pub(super) fn go_duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (value, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        total = total.checked_add(scaled(value.parse().ok()?, unit)?)?;
        rest = tail;
    }
    if text.is_empty() { None } else { Some(whole_millis(total)) }
}

/// `value` units; `None` for a unit nobody uses.
pub(super) fn scaled(value: f64, unit: &str) -> Option<Duration> {
    let seconds = match unit {
        "ns" => 1e-9,
        "us" | "µs" | "μs" => 1e-6,
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => 1e-3,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
        "d" | "day" | "days" => 86_400.0,
        "w" | "week" | "weeks" => 604_800.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(value * seconds).ok()
}

fn until(at_ms: i64, now_ms: u64) -> Duration {
    let at = u64::try_from(at_ms).unwrap_or(0);
    Duration::from_millis(at.saturating_sub(now_ms))
}

/// A date in epoch milliseconds.
fn moment(text: &str) -> Option<i64> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at.as_millisecond());
    }
    http_date(text).map(Timestamp::as_millisecond)
}

/// IMF-fixdate, RFC 850 or asctime. The name of the day is not compared with the date: a provider that gets it
/// wrong still means the date.
fn http_date(text: &str) -> Option<Timestamp> {
    let (_, date) = text.split_once([',', ' '])?;
    let date = date.trim();
    let date = date.strip_suffix("GMT").or_else(|| date.strip_suffix("UTC")).unwrap_or(date).trim_end();
    for format in ["%d %b %Y %H:%M:%S", "%d-%b-%y %H:%M:%S", "%b %e %H:%M:%S %Y"] {
        let parsed = strtime::parse(format, date).and_then(|parsed| parsed.to_datetime());
        if let Ok(datetime) = parsed {
            return in_utc(datetime);
        }
    }
    None
}

fn in_utc(datetime: civil::DateTime) -> Option<Timestamp> {
    jiff::tz::Offset::UTC.to_timestamp(datetime).ok()
}
