//! `haleway.fleet`: what LiteLLM has no words for in sharing.

use std::path::PathBuf;
use std::time::Duration;

use super::field::Field;
use super::health::text;
use crate::diag::{Finding, Report, Severity, codes, did_you_mean};
use crate::env::{self, Environment};
use crate::typed::{FleetRole, LitellmKeys};
use crate::yaml::Span;

const KEYS: [&str; 7] =
    ["namespace", "role", "litellm_keys", "full_sync", "snapshot", "owner_index", "owner_count"];
const ROLES: &[(&str, FleetRole)] =
    &[("all", FleetRole::All), ("gateway", FleetRole::Gateway), ("prober", FleetRole::Prober)];
const LITELLM_KEYS: &[(&str, LitellmKeys)] =
    &[("publish", LitellmKeys::Publish), ("join", LitellmKeys::Join), ("off", LitellmKeys::Off)];
const FULL_SYNC: Duration = Duration::from_secs(30);

/// The section as read.
pub(crate) struct Section {
    pub(crate) namespace: Option<String>,
    pub(crate) role: FleetRole,
    pub(crate) litellm_keys: LitellmKeys,
    pub(crate) full_sync: Duration,
    pub(crate) snapshot: Option<PathBuf>,
    pub(crate) share: Option<(u32, u32)>,
    /// Its key in the file.
    pub(crate) place: Option<Span>,
}

impl Default for Section {
    fn default() -> Self {
        Self {
            namespace: None,
            role: FleetRole::default(),
            litellm_keys: LitellmKeys::default(),
            full_sync: FULL_SYNC,
            snapshot: None,
            share: None,
            place: None,
        }
    }
}

/// Reads the section.
pub(crate) fn read(section: Field<'_>) -> Section {
    let mut read = Section { place: Some(section.key), ..Section::default() };
    let (mut index, mut count) = (None, None);
    for field in section.fields() {
        match field.name {
            "namespace" => read.namespace = namespace(field),
            "role" => read.role = field.one_of(codes::BAD_VALUE, ROLES).unwrap_or_default(),
            "litellm_keys" => {
                // `off` without quotes is a boolean to YAML 1.1.
                let off =
                    field.value.as_scalar().is_some_and(|scalar| scalar.text.eq_ignore_ascii_case("off"));
                read.litellm_keys = if off {
                    LitellmKeys::Off
                } else {
                    field.one_of(codes::BAD_VALUE, LITELLM_KEYS).unwrap_or_default()
                };
            }
            "full_sync" => read.full_sync = span(field).unwrap_or(FULL_SYNC),
            "snapshot" => read.snapshot = field.text().map(PathBuf::from),
            "owner_index" => index = field.count32(0),
            "owner_count" => count = field.count32(1),
            name => {
                let message = format!("haleway.fleet.{name} is not a known setting and has no effect");
                let hint = did_you_mean(name, KEYS);
                field.report.add(Finding::warning(codes::UNKNOWN_KEY, field.key, message).maybe_hint(hint));
            }
        }
    }
    read.share = share(section, index, count);
    read
}

/// A prefix of keys. Braces would move keys to other slots of a cluster.
fn namespace(field: Field<'_>) -> Option<String> {
    let name = field.text()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    if name.is_empty() || !name.chars().all(plain) {
        let message = format!("namespace cannot be {}", field.shown());
        field.report.add(
            field
                .error(codes::BAD_VALUE, message)
                .hint("letters, digits and - _ . : / make a prefix of keys"),
        );
        return None;
    }
    Some(name)
}

fn span(field: Field<'_>) -> Option<Duration> {
    let found = match field.value.as_str() {
        Some(text) => text::parse_duration(text),
        None => field.seconds(),
    };
    let found = found.filter(|span| *span >= Duration::from_secs(1));
    if found.is_none() {
        let message = format!("{} must be a time of at least a second, not {}", field.name, field.shown());
        field.report.add(field.error(codes::BAD_VALUE, message).hint("write it as 30s"));
    }
    found
}

fn share(section: Field<'_>, index: Option<u32>, count: Option<u32>) -> Option<(u32, u32)> {
    match (index, count) {
        (Some(index), Some(count)) if index < count => Some((index, count)),
        (None, None) => None,
        (Some(_), Some(_)) | (Some(_), None) | (None, Some(_)) => {
            let finding = Finding::error(
                codes::BAD_VALUE,
                section.key,
                "owner_index and owner_count do not name a share",
            );
            section
                .report
                .add(finding.hint("both are needed, and owner_index counts from 0 up to owner_count - 1"));
            None
        }
    }
}

/// A share that the environment states: that of a pod of a Kubernetes `StatefulSet` is its index.
pub(crate) fn share_of_environment(env: &Environment<'_>) -> Option<(u32, u32)> {
    let (index, count) = (env.text(env::HALEWAY_OWNER_INDEX), env.count(env::HALEWAY_OWNER_COUNT));
    if index.is_none() && count.is_none() {
        return None;
    }
    let number = |text: String| text.trim().parse::<u32>().ok();
    let share = index.and_then(number).zip(count.and_then(|count| u32::try_from(count).ok()));
    let share = share.filter(|(index, count)| index < count);
    if share.is_none() {
        env.unreadable(env::HALEWAY_OWNER_INDEX, "a whole number from 0 up to HALEWAY_OWNER_COUNT - 1");
    }
    share
}

/// Several processes that know nothing of one another each probe, and pay for, everything.
pub(crate) fn warn_replicas(env: &Environment<'_>, report: &Report) {
    let Some(count) = env.count(env::HALEWAY_REPLICAS).filter(|count| *count > 1) else { return };
    let message = format!(
        "{count} processes (HALEWAY_REPLICAS) have no Redis to share in: each probes every deployment and learns alone"
    );
    let finding = Finding::placeless(Severity::Warning, codes::REPLICAS_WITHOUT_REDIS, message);
    report.add(finding.hint(
        "set general_settings.coordination_redis, or HALEWAY_OWNER_INDEX and HALEWAY_OWNER_COUNT to divide the probes",
    ));
}
