//! Reading a `haleway.health` mapping (global, of a group or of a deployment) into a draft, by the table of keys.

use haleway_providers::catalogue::Usd;

use crate::diag::{Finding, Report, codes, did_you_mean};
use crate::lower::field::{Field, fields_of};
use crate::yaml::{Kind, Map, Node, Value};

use super::draft::Draft;
use super::fields::{self, ALL_OUT, DEPTHS, HealthKey, KEYS, PANIC_MODES, POLICIES, Reach, Slot};
use super::text;

/// Applies every key of `map` to the draft. `scope` is where the mapping stands.
pub(crate) fn apply(map: &Map, scope: Reach, draft: &mut Draft, report: &Report) {
    for field in fields_of(map, report) {
        match &field.value.kind {
            Kind::Map(inner) if is_prefix(field.name) => {
                for inner in fields_of(inner, report) {
                    one(&format!("{}.{}", field.name, inner.name), inner, scope, draft);
                }
            }
            Kind::Map(_) | Kind::Seq(_) | Kind::Scalar(_) => one(field.name, field, scope, draft),
        }
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}

fn is_prefix(name: &str) -> bool {
    names().any(|key| key.split_once('.').is_some_and(|(first, _)| first == name))
}

fn one(name: &str, field: Field<'_>, scope: Reach, draft: &mut Draft) {
    let report = field.report;
    // Read with the deployment's other probe settings (`lower::http`).
    if name == "probe.http" && scope == Reach::Deployment {
        return;
    }
    let Some(key) = fields::find(name) else {
        if is_prefix(name) {
            field.wrong("a mapping");
            return;
        }
        let message = format!("{name} is not a health setting and has no effect");
        let hint = did_you_mean(name, names().chain(prefixes()));
        report.add(Finding::warning(codes::UNKNOWN_KEY, field.key, message).maybe_hint(hint));
        return;
    };
    if key.reach < scope {
        let place = match key.reach {
            Reach::Global => "under haleway.health",
            Reach::Group => "under haleway.health or haleway.groups",
            Reach::Deployment => "anywhere",
        };
        let message = format!("{name} cannot be set here");
        report.add(
            Finding::warning(codes::MISPLACED_KEY, field.key, message).hint(format!("it belongs {place}")),
        );
        return;
    }
    if set(key, field, draft).is_some() {
        draft.note(key.name, field.origin());
        draft.own_policy |= key.name == "probe.policy" && scope > Reach::Global;
    }
}

fn prefixes() -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter_map(|key| key.name.split_once('.').map(|(first, _)| first))
}

/// Reads the value into its place; `None` when it is reported as wrong.
fn set(key: &HealthKey, field: Field<'_>, draft: &mut Draft) -> Option<()> {
    match key.slot {
        Slot::Time(get, zero) => *get(draft) = time(field, zero)?,
        Slot::OptionalTime(get) => *get(draft) = Some(time(field, false)?),
        Slot::Count(get, least, most) => *get(draft) = count(field, least, most)?,
        Slot::OptionalCount(get) => *get(draft) = Some(count(field, 0, u32::MAX)?),
        Slot::OptionalUsd(get) => *get(draft) = Some(usd(field)?),
        Slot::Small(get, least, most) => {
            *get(draft) = u8::try_from(count(field, u32::from(least), u32::from(most))?).ok()?;
        }
        Slot::Real(get, least, most) => *get(draft) = real(field, least, most)?,
        Slot::OptionalReal(get) => *get(draft) = Some(real(field, 0.0, 1.0)?),
        Slot::Flag(get) => *get(draft) = flag(field)?,
        Slot::Policy(get) => *get(draft) = field.one_of(codes::BAD_VALUE, POLICIES)?,
        Slot::Depth(get) => *get(draft) = field.one_of(codes::BAD_VALUE, DEPTHS)?,
        // `off` is a boolean in YAML 1.1, and means what it says here.
        Slot::Panic(get) => *get(draft) = field.one_of(codes::BAD_VALUE, PANIC_MODES)?,
        Slot::Statuses(get) => *get(draft) = statuses(field)?,
        Slot::AllOut(get) => *get(draft) = field.one_of(codes::BAD_VALUE, ALL_OUT)?,
    }
    Some(())
}

/// A list of HTTP statuses from 400 to 599.
fn statuses(field: Field<'_>) -> Option<Vec<u16>> {
    let Kind::Seq(items) = &field.value.kind else {
        field.wrong("a list of statuses");
        return None;
    };
    let status = |item: &Node| match item.as_scalar().map(|scalar| scalar.value) {
        Some(Value::Int(number)) => u16::try_from(number).ok().filter(|status| (400..600).contains(status)),
        Some(Value::Null | Value::Bool(_) | Value::Float(_) | Value::Date | Value::Str) | None => None,
    };
    let found: Option<Vec<u16>> = items.iter().map(status).collect();
    if found.is_none() {
        field.wrong("a list of statuses from 400 to 599");
    }
    found
}

/// True or false, and nothing that Python takes for one.
pub(crate) fn flag(field: Field<'_>) -> Option<bool> {
    match field.value.as_scalar().map(|scalar| scalar.value) {
        Some(Value::Bool(flag)) => Some(flag),
        Some(Value::Null | Value::Int(_) | Value::Float(_) | Value::Date | Value::Str) | None => {
            field.wrong("true or false");
            None
        }
    }
}

fn count(field: Field<'_>, least: u32, most: u32) -> Option<u32> {
    let Some(Value::Int(number)) = field.value.as_scalar().map(|scalar| scalar.value) else {
        field.wrong("a whole number");
        return None;
    };
    let found = u32::try_from(number).ok().filter(|count| (least..=most).contains(count));
    if found.is_none() {
        out_of_range(field, &least.to_string(), &most.to_string());
    }
    found
}

fn usd(field: Field<'_>) -> Option<Usd> {
    let number = field.number()?;
    match Usd::from_dollars(number) {
        Ok(usd) => Some(usd),
        Err(error) => {
            let message = format!("{} must be an amount of US dollars, not {}", field.name, field.shown());
            field.report.add(field.error(codes::BAD_VALUE, message).hint(error.to_string()));
            None
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "shares and factors need no double precision")]
fn real(field: Field<'_>, least: f32, most: f32) -> Option<f32> {
    let number = field.number()?;
    in_range(field, number, f64::from(least), f64::from(most)).then_some(number as f32)
}

fn in_range(field: Field<'_>, number: f64, least: f64, most: f64) -> bool {
    let inside = (least..=most).contains(&number);
    if !inside {
        out_of_range(field, &least.to_string(), &most.to_string());
    }
    inside
}

fn out_of_range(field: Field<'_>, least: &str, most: &str) {
    let message = format!("{} must be from {least} to {most}, not {}", field.name, field.shown());
    field.report.add(field.error(codes::BAD_VALUE, message));
}

/// A time: `60s`, `500ms`, `5m`, or a plain number of seconds.
pub(crate) fn time(field: Field<'_>, zero: bool) -> Option<std::time::Duration> {
    let span = match field.value.as_scalar().map(|scalar| scalar.value) {
        Some(Value::Str) => field.value.as_str().and_then(text::parse_duration),
        #[expect(clippy::cast_precision_loss, reason = "seconds of a setting are few")]
        Some(Value::Int(seconds)) => std::time::Duration::try_from_secs_f64(seconds as f64).ok(),
        Some(Value::Float(seconds)) => std::time::Duration::try_from_secs_f64(seconds).ok(),
        Some(Value::Null | Value::Bool(_) | Value::Date) | None => None,
    };
    let Some(span) = span else {
        let message =
            format!("{} must be a time such as 30s, 500ms or 5m, not {}", field.name, field.shown());
        field.report.add(field.error(codes::WRONG_TYPE, message));
        return None;
    };
    if span.is_zero() && !zero {
        field
            .report
            .add(field.error(codes::BAD_VALUE, format!("{} must be longer than nothing", field.name)));
        return None;
    }
    Some(span)
}
