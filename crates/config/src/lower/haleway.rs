//! The `haleway` section, and the choice of the profile.

use std::net::SocketAddr;

use haleway_health::Profile;

use super::calls;
use super::field::{Field, fields_of};
use super::fleet;
use super::health::Draft;
use super::health::fields::Reach;
use super::health::scope::{self, flag};
use super::section::Reader;
use super::store;
use crate::diag::{Finding, Report, codes, did_you_mean};
use crate::typed::ProfileChoice;
use crate::yaml::Map;

/// Keys of the section.
const KEYS: [&str; 13] = [
    "strict",
    "profile",
    "health",
    "groups",
    "catalogue",
    "admin_listen",
    "errors",
    "retry",
    "stream",
    "trace",
    "fleet",
    "store",
    "events",
];
const PROFILES: &[(&str, Profile)] = &[("litellm", Profile::Litellm), ("resilient", Profile::Resilient)];

/// The section as read, health values still as they are written.
#[derive(Default)]
pub(crate) struct Section<'a> {
    pub(crate) profile: Option<(Profile, Field<'a>)>,
    /// `strict`: warnings forbid to serve the file.
    pub(crate) strict: bool,
    pub(crate) health: Option<&'a Map>,
    pub(crate) groups: Vec<(Field<'a>, &'a Map)>,
    pub(crate) catalogue: Option<Field<'a>>,
    pub(crate) admin_listen: Option<SocketAddr>,
    pub(crate) all_out_status: Option<u16>,
    pub(crate) calls: calls::Section,
    /// `fleet`, when the file has it.
    pub(crate) fleet: Option<fleet::Section>,
    /// `store`, when the file has it.
    pub(crate) store: Option<store::Section>,
}

/// Reads the section.
pub(crate) fn read<'a>(top: Reader<'a>) -> Section<'a> {
    let mut section = Section::default();
    let Some(fields) = top.get("haleway").and_then(|field| Some(fields_of(field.map()?, field.report)))
    else {
        return section;
    };
    for field in fields {
        match field.name {
            "profile" => {
                section.profile = field.one_of(codes::BAD_VALUE, PROFILES).map(|profile| (profile, field))
            }
            "strict" => section.strict = flag(field).unwrap_or_default(),
            "health" => section.health = field.map(),
            "groups" => {
                let groups = field.fields();
                section.groups = groups.into_iter().filter_map(|group| Some((group, group.map()?))).collect();
            }
            "catalogue" => section.catalogue = Some(field),
            "admin_listen" => section.admin_listen = address(field),
            "errors" => section.all_out_status = errors(field),
            "retry" => section.calls.retry(field),
            "stream" => section.calls.stream(field),
            "trace" => section.calls.trace(field),
            "fleet" => section.fleet = Some(fleet::read(field)),
            "store" => section.store = Some(store::read(field)),
            "events" => {
                let message = format!("haleway.{} has no effect", field.name);
                let finding = Finding::warning(codes::NO_EFFECT, field.key, message);
                field.report.add(finding.hint("it is not part of this version: state lives in this process"));
            }
            name => {
                let message = format!("haleway.{name} is not a known setting and has no effect");
                let hint = did_you_mean(name, KEYS);
                field.report.add(Finding::warning(codes::UNKNOWN_KEY, field.key, message).maybe_hint(hint));
            }
        }
    }
    section
}

/// The health keys below a mapping: directly, or under `health`.
pub(crate) fn apply(map: &Map, reach: Reach, draft: &mut Draft, report: &Report) {
    match map.get("health").and_then(|entry| entry.value.as_map()) {
        Some(inner) => {
            scope::apply(inner, reach, draft, report);
            let rest = map.entries.iter().filter(|entry| entry.name != "health").cloned().collect();
            scope::apply(&Map { entries: rest }, reach, draft, report);
        }
        None => scope::apply(map, reach, draft, report),
    }
}

fn address(field: Field<'_>) -> Option<SocketAddr> {
    let text = field.text()?;
    // A port alone, or `:9090`, is every address.
    let full = match text.strip_prefix(':').unwrap_or(&text).parse::<u16>() {
        Ok(port) => format!("0.0.0.0:{port}"),
        Err(_) => text.replace("localhost", "127.0.0.1"),
    };
    let address = full.parse().ok();
    if address.is_none() {
        let message = format!("{} is no address to listen on", field.shown());
        field
            .report
            .add(field.error(codes::BAD_VALUE, message).hint("write it as 127.0.0.1:4001 or [::1]:4001"));
    }
    address
}

fn errors(field: Field<'_>) -> Option<u16> {
    let mut status = None;
    for field in field.fields() {
        if field.name != "all_out_status" {
            let message = format!("haleway.errors.{} is not a known setting and has no effect", field.name);
            let hint = did_you_mean(field.name, ["all_out_status"]);
            field.report.add(Finding::warning(codes::UNKNOWN_KEY, field.key, message).maybe_hint(hint));
            continue;
        }
        status = field
            .count(0)
            .and_then(|number| u16::try_from(number).ok())
            .filter(|code| (400..600).contains(code));
        if status.is_none() {
            let message = format!("all_out_status must be from 400 to 599, not {}", field.shown());
            field.report.add(field.error(codes::BAD_VALUE, message));
        }
    }
    status
}

/// The preset: as asked for, else LiteLLM's when the file speaks of health in LiteLLM's words, else ours.
pub(crate) fn profile(section: &Section<'_>, litellm_key: Option<&(String, Field<'_>)>) -> ProfileChoice {
    if let Some((profile, field)) = &section.profile {
        let place = field.origin();
        return ProfileChoice { profile: *profile, reason: format!("haleway.profile at {place}") };
    }
    match litellm_key {
        Some((name, field)) => {
            let reason = format!("{name} at {} is a health or cooldown key of LiteLLM's", field.origin());
            ProfileChoice { profile: Profile::Litellm, reason }
        }
        None => ProfileChoice {
            profile: Profile::Resilient,
            reason: "the file sets no health or cooldown key of LiteLLM's".to_owned(),
        },
    }
}
