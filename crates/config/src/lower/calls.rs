//! `haleway.retry`, `haleway.stream` and `haleway.trace`: how calls are made, and what is told of them.

use super::field::Field;
use crate::diag::{Finding, codes, did_you_mean};
use crate::origin::Origin;
use crate::typed::{Calls, Origins, TraceLevel};

/// Values of [`TraceLevel`] by name.
pub(crate) const TRACE: &[(&str, TraceLevel)] =
    &[("never", TraceLevel::Never), ("on_request", TraceLevel::OnRequest), ("always", TraceLevel::Always)];
/// The most times that one stream may be continued.
pub(crate) const RESUMPTIONS_MAX: u8 = 3;

/// The keys as read.
#[derive(Default)]
pub(crate) struct Section {
    calls: Calls,
    resume: bool,
    resumptions: Option<u8>,
    origins: Vec<(&'static str, Origin)>,
}

impl Section {
    pub(crate) fn trace(&mut self, field: Field<'_>) {
        if let Some(level) = field.one_of(codes::BAD_VALUE, TRACE) {
            self.calls.trace = level;
            self.origins.push(("trace", field.origin()));
        }
    }

    pub(crate) fn retry(&mut self, section: Field<'_>) {
        for field in section.fields() {
            match field.name {
                "share" => {
                    if let Some(share) = share(field) {
                        self.calls.retry_share = share;
                        self.origins.push(("retry.share", field.origin()));
                    }
                }
                "reserve" => {
                    if let Some(reserve) = field.count32(0) {
                        self.calls.retry_reserve = reserve;
                        self.origins.push(("retry.reserve", field.origin()));
                    }
                }
                _ => unknown("retry", field, &["share", "reserve"]),
            }
        }
    }

    pub(crate) fn stream(&mut self, section: Field<'_>) {
        for field in section.fields() {
            match field.name {
                "resume" => {
                    self.resume = field.truth();
                    self.origins.push(("stream.resume", field.origin()));
                }
                "resumptions" => {
                    self.resumptions = resumptions(field);
                    self.origins.push(("stream.resumptions", field.origin()));
                }
                _ => unknown("stream", field, &["resume", "resumptions"]),
            }
        }
    }

    /// What was decided; where it came from goes to `origins`.
    pub(crate) fn settle(&self, origins: &mut Origins) -> Calls {
        for (key, origin) in &self.origins {
            origins.insert(key, origin.clone());
        }
        let resumptions = if self.resume { self.resumptions.unwrap_or(1) } else { 0 };
        Calls { resumptions, ..self.calls }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a share needs no double precision")]
fn share(field: Field<'_>) -> Option<f32> {
    let share = field.number().filter(|share| (0.0..=1.0).contains(share));
    if share.is_none() {
        let message = format!("retry.share must be from 0 to 1, not {}", field.shown());
        field.report.add(field.error(codes::BAD_VALUE, message));
    }
    share.map(|share| share as f32)
}

fn resumptions(field: Field<'_>) -> Option<u8> {
    let count = field.count(1)?;
    let count = u8::try_from(count).ok().filter(|count| *count <= RESUMPTIONS_MAX);
    if count.is_none() {
        let message =
            format!("stream.resumptions must be from 1 to {RESUMPTIONS_MAX}, not {}", field.shown());
        field.report.add(field.error(codes::BAD_VALUE, message));
    }
    count
}

fn unknown(section: &str, field: Field<'_>, known: &[&str]) {
    let message = format!("haleway.{section}.{} is not a known setting and has no effect", field.name);
    let hint = did_you_mean(field.name, known.iter().copied());
    field.report.add(Finding::warning(codes::UNKNOWN_KEY, field.key, message).maybe_hint(hint));
}
