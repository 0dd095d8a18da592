//! `model_info.haleway.probe.http`: what a service of mode `http` is asked.

use haleway_providers::HttpCheck;
use http::Method;

use super::field::{Field, fields_of};
use super::health::scope::time;
use crate::diag::{Finding, codes, did_you_mean};

const KEYS: [&str; 4] = ["path", "method", "status", "max_latency"];

/// Methods that a probe may use: none of them is meant to change anything.
const METHODS: [(&str, &str); 4] =
    [("GET", "GET"), ("HEAD", "HEAD"), ("OPTIONS", "OPTIONS"), ("POST", "POST")];

/// The check in a deployment's `haleway` section, if there is one.
pub(crate) fn check(haleway: Field<'_>) -> Option<HttpCheck> {
    let http = health_of(haleway).into_iter().find_map(|section| {
        named(section, "probe.http").or_else(|| named(named(section, "probe")?, "http"))
    })?;
    let mut check = HttpCheck::default();
    for field in http.fields() {
        match field.name {
            "path" => check.path = path(field)?,
            "method" => {
                let name = field.one_of(codes::BAD_VALUE, &METHODS)?;
                check.method = Method::from_bytes(name.as_bytes()).ok()?;
            }
            "status" => check.status = Some(status(field)?),
            "max_latency" => check.max_latency = Some(time(field, false)?),
            other => {
                let message = format!("{other} is no key of an http probe and has no effect");
                let finding = Finding::warning(codes::UNKNOWN_KEY, field.key, message);
                field.report.add(finding.maybe_hint(did_you_mean(other, KEYS)));
            }
        }
    }
    Some(check)
}

/// The sections in which a deployment's health settings stand: below `health`, or beside it.
fn health_of(haleway: Field<'_>) -> Vec<Field<'_>> {
    named(haleway, "health").into_iter().chain([haleway]).collect()
}

fn named<'a>(section: Field<'a>, name: &str) -> Option<Field<'a>> {
    fields_of(section.value.as_map()?, section.report).into_iter().find(|field| field.name == name)
}

fn path(field: Field<'_>) -> Option<String> {
    let path = field.text()?;
    let is_path = path.starts_with('/') && path.parse::<http::uri::PathAndQuery>().is_ok();
    if !is_path {
        let message = format!("path must be a path that begins with a slash, not {}", field.shown());
        field.report.add(field.error(codes::BAD_VALUE, message));
        return None;
    }
    Some(path)
}

fn status(field: Field<'_>) -> Option<u16> {
    let status = u16::try_from(field.count(100)?).ok().filter(|status| *status < 600);
    if status.is_none() {
        let message = format!("status must be from 100 to 599, not {}", field.shown());
        field.report.add(field.error(codes::BAD_VALUE, message));
    }
    status
}
