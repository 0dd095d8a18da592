//! `haleway.store`: where health is remembered, and for how long; also in LiteLLM's words.

use std::time::Duration;

use secrecy::SecretString;

use super::field::Field;
use super::health::text;
use super::section::Reader;
use crate::diag::{Finding, codes, did_you_mean};
use crate::env::{self, Environment};
use crate::typed::Store;

const KEYS: [&str; 3] = ["url", "retention", "max_rows"];
const DEFAULT_FILE: &str = "sqlite:haleway.db";
const EMBEDDED_RETENTION: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const EMBEDDED_ROWS: u64 = 10_000_000;

/// The section as read.
#[derive(Default)]
pub(crate) struct Section {
    url: Option<String>,
    retention: Option<Duration>,
    max_rows: Option<u64>,
}

/// Reads the section.
pub(crate) fn read(section: Field<'_>) -> Section {
    let mut read = Section::default();
    for field in section.fields() {
        match field.name {
            "url" => read.url = url(field, &["sqlite:", "postgres://", "postgresql://"]),
            "retention" => read.retention = span(field),
            "max_rows" => read.max_rows = field.count(1),
            name => {
                let message = format!("haleway.store.{name} is not a known setting and has no effect");
                let hint = did_you_mean(name, KEYS);
                field.report.add(Finding::warning(codes::UNKNOWN_KEY, field.key, message).maybe_hint(hint));
            }
        }
    }
    read
}

/// The store to use: our own setting, else LiteLLM's, else its variable; none when nobody asks for one.
pub(crate) fn settle(
    section: Option<&Section>,
    general: Option<Reader<'_>>,
    env: &Environment<'_>,
) -> Option<Store> {
    let get = |name| general.and_then(|reader| reader.get(name));
    // Read whether or not it is used, so that a wrong value is found.
    let of_litellm = get("database_url").and_then(|field| url(field, &["postgres://", "postgresql://"]));
    let age = get("maximum_health_check_retention_period").and_then(span);
    let of_environment = env.text(env::DATABASE_URL).filter(|text| {
        let known = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if !known {
            env.unreadable(env::DATABASE_URL, "a postgres:// URL");
        }
        known
    });
    let own = section.and_then(|section| section.url.clone());
    let url = own.or(of_litellm).or(of_environment).or_else(|| section.map(|_| DEFAULT_FILE.to_owned()))?;
    // A shared database may hold rows that are LiteLLM's: nothing is deleted there unless somebody asks.
    let embedded = url.starts_with("sqlite:");
    Some(Store {
        retention: section
            .and_then(|section| section.retention)
            .or(age)
            .or(embedded.then_some(EMBEDDED_RETENTION)),
        max_rows: section.and_then(|section| section.max_rows).or(embedded.then_some(EMBEDDED_ROWS)),
        url: SecretString::from(url),
    })
}

/// A URL of one of `kinds`. Never shown: it may hold a password.
fn url(field: Field<'_>, kinds: &[&str]) -> Option<String> {
    let text = field.text()?;
    if kinds.iter().any(|kind| text.starts_with(kind)) {
        return Some(text);
    }
    let message = format!("{} must begin with {}", field.name, kinds.join(" or "));
    field.report.add(field.error(codes::BAD_VALUE, message));
    None
}

fn span(field: Field<'_>) -> Option<Duration> {
    let found = match field.value.as_str() {
        Some(text) => text::parse_duration(text),
        None => field.seconds(),
    };
    let found = found.filter(|span| *span >= Duration::from_secs(60));
    if found.is_none() {
        let message = format!("{} must be a time of at least a minute, not {}", field.name, field.shown());
        field.report.add(field.error(codes::BAD_VALUE, message).hint("write it as 30d"));
    }
    found
}
