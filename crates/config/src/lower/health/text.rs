//! Times and policies as people write them.

use std::time::Duration;

use haleway_health::AllowedFails;

use crate::keys::POLICY_FIELDS;

const UNITS: [(&str, f64); 5] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];

/// `500ms`, `60s`, `5m`, `1h`, `30d`; `1m30s` too.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).filter(|at| *at > 0)?;
        let number: f64 = rest.get(..digits)?.parse().ok()?;
        let after = rest.get(digits..)?;
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let unit = after.get(..letters)?;
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = after.get(letters..)?;
    }
    Some(total)
}

/// A time in the largest unit that keeps it whole; the inverse of [`parse_duration`].
pub(crate) fn duration(span: Duration) -> String {
    let millis = span.as_millis();
    if !millis.is_multiple_of(1000) {
        return format!("{millis}ms");
    }
    let seconds = span.as_secs();
    match seconds {
        0 => "0s".to_owned(),
        _ if seconds.is_multiple_of(86_400) => format!("{}d", seconds / 86_400),
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) && seconds >= 600 => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// The fields of a policy by LiteLLM's names, in the order of [`POLICY_FIELDS`].
pub(crate) fn policy_field<'p>(policy: &'p mut AllowedFails, name: &str) -> Option<&'p mut Option<u32>> {
    let fields = [
        &mut policy.bad_request,
        &mut policy.authentication,
        &mut policy.timeout,
        &mut policy.rate_limit,
        &mut policy.content_policy,
        &mut policy.internal_server,
        &mut policy.service_unavailable,
        &mut policy.bad_gateway,
        &mut policy.not_found,
    ];
    POLICY_FIELDS.iter().zip(fields).find(|(field, _)| **field == name).map(|(_, field)| field)
}

/// `AuthenticationError 1, TimeoutError 3`.
pub(crate) fn policy(policy: &AllowedFails) -> String {
    let mut policy = *policy;
    let set: Vec<String> = POLICY_FIELDS
        .iter()
        .filter_map(|name| {
            let count = (*policy_field(&mut policy, name)?)?;
            Some(format!("{} {count}", name.trim_end_matches("AllowedFails")))
        })
        .collect();
    set.join(", ")
}
