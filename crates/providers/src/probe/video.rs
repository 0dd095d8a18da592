//! Video generation: the list of jobs where there is one, else the provider's cheapest question about the model. A
//! probe never makes a video: one costs more than a day of any other probing.

use http::Method;
use serde_json::Value;

use super::verdict::Verdict;
use super::{CannotProbe, Expectation, Probe};
use crate::catalogue::Prices;
use crate::objects::{Action, Errand, Posted};
use crate::registry;
use crate::route::encoded;
use crate::target::{Purpose, Target};
use crate::{Call, CallOptions, Mode, Operation};

/// The free call.
pub(super) fn probe(target: &Target, model: Option<&str>) -> Result<Probe, CannotProbe> {
    let call = list(target).or_else(|| about(target, model.unwrap_or(&target.wire_model)));
    let call = call.ok_or_else(|| CannotProbe {
        code: "unsupported_by_provider",
        message: format!(
            "{} has no free call that tells about videos: the health of {:?} comes from traffic",
            target.provider.id, target.full_model
        ),
    })?;
    let expect = Expectation {
        candidate: None,
        mode: Mode::VideoGeneration,
        free: false,
        stream: false,
        repaired: false,
        cap: None,
        dimensions: None,
        documents: 0,
        http: None,
    };
    Ok(Probe { call, expect, deadline: std::time::Duration::from_secs(5), prices: Prices::NONE })
}

fn list(target: &Target) -> Option<Call> {
    // The one that counts in pages.
    let limit = if target.provider.id == "volcengine" { "page_size" } else { "limit" };
    let query = [(limit.to_owned(), "1".to_owned())];
    let errand = Errand {
        operation: Operation::Videos,
        action: Action::List,
        query: &query,
        body: Posted::Nothing,
        asked: None,
    };
    target.build_errand(&errand, None, CallOptions::default(), Purpose::Probe { omit: &[] }).ok()
}

/// The registry's free call that says most about the model.
fn about(target: &Target, model: &str) -> Option<Call> {
    target.route_uri(Operation::Videos, None).ok()??;
    let mut calls = target.provider.free.iter().filter(|call| call.method == registry::Method::Get);
    let first = calls.clone().next();
    let call = calls.find(|call| call.path.contains("{model}")).or(first)?;
    let path = call.path.strip_prefix('/')?.replace("{model}", &encoded(model));
    let uri = format!("{}/{path}", target.api_base).parse().ok()?;
    Some(target.bare(Method::GET, uri))
}

/// A list, or something with a name: a job, a task, an operation, a model.
pub(super) fn judge(value: &Value) -> Verdict {
    if let Some(data) = value.get("data").or_else(|| value.get("items")) {
        return if data.is_array() { Verdict::Usable } else { Verdict::Malformed("no data list".to_owned()) };
    }
    let name = ["/id", "/name", "/output/task_id"].iter().find_map(|place| value.pointer(place)?.as_str());
    match name {
        Some(name) if !name.is_empty() => Verdict::Usable,
        Some(_) | None => Verdict::Malformed("neither a list nor a job".to_owned()),
    }
}
