//! Waits in the members of a JSON body.

use std::time::Duration;

use serde_json::Value;

use super::duration::{from_number, parse_value};
use super::{Stated, WaitOrigin};

/// How deep and how wide a body is searched; an error body is small.
const MAX_DEPTH: usize = 6;
const MAX_MEMBERS: usize = 64;

/// The longest wait among the members whose names mean one, wherever they stand.
pub(super) fn stated(body: &Value, now_ms: u64) -> Option<Stated> {
    search(body, now_ms, MAX_DEPTH).map(|length| (length, WaitOrigin::BodyField))
}

fn search(value: &Value, now_ms: u64, depth: usize) -> Option<Duration> {
    if depth == 0 {
        return None;
    }
    match value {
        Value::Object(members) => {
            let own = members.iter().take(MAX_MEMBERS).filter_map(|(key, value)| member(key, value, now_ms));
            let inner =
                members.values().take(MAX_MEMBERS).filter_map(|value| search(value, now_ms, depth - 1));
            own.chain(inner).max()
        }
        Value::Array(items) => {
            items.iter().take(MAX_MEMBERS).filter_map(|item| search(item, now_ms, depth - 1)).max()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The wait that one member states, by its name.
fn member(key: &str, value: &Value, now_ms: u64) -> Option<Duration> {
    let folded: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match folded.as_str() {
        "retrydelay" | "retryafter" | "retryafterseconds" | "retryafters" | "retryin" | "estimatedtime"
        | "resetsinseconds" | "resetafter" | "resetafterseconds" | "secondsuntilreset" | "waitseconds" => {
            length(value, now_ms)
        }
        "retryafterms" | "retrydelayms" | "resetafterms" => {
            scalar(value).and_then(|millis| from_number(millis / 1000.0, now_ms))
        }
        "resetsat" | "resetat" | "resettime" | "retryat" | "quotaresettimestamp" => moment(value, now_ms),
        _ => None,
    }
}

/// Seconds, a duration or a date; or a protobuf duration written out (`{"seconds":38,"nanos":0}`).
fn length(value: &Value, now_ms: u64) -> Option<Duration> {
    match value {
        Value::Number(number) => from_number(number.as_f64()?, now_ms),
        Value::String(text) => parse_value(text, now_ms),
        Value::Object(parts) => {
            let seconds = parts.get("seconds").and_then(scalar)?;
            let nanos = parts.get("nanos").and_then(scalar).unwrap_or(0.0);
            from_number(seconds + nanos / 1e9, now_ms)
        }
        Value::Null | Value::Bool(_) | Value::Array(_) => None,
    }
}

/// A date or an epoch; a small number here is not a wait but something else.
fn moment(value: &Value, now_ms: u64) -> Option<Duration> {
    match value {
        Value::Number(number) => {
            number.as_f64().filter(|at| *at >= 1e9).and_then(|at| from_number(at, now_ms))
        }
        Value::String(text) => parse_value(text, now_ms),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn scalar(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}
