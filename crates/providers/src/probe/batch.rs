//! Batch: the list of jobs, which costs nothing. A probe never creates a job.

use haleway_wire::Payload;
use serde_json::Value;

use super::verdict::Verdict;
use super::{CannotProbe, Expectation, Probe, ProbeSettings};
use crate::catalogue::Prices;
use crate::target::Target;
use crate::{Call, Mode, Reply};

/// The list call.
pub(super) fn probe(target: &Target, _settings: &ProbeSettings) -> Result<Probe, CannotProbe> {
    let uri = target.list_batches.clone().ok_or_else(|| CannotProbe {
        code: "unsupported_by_provider",
        message: format!(
            "{} has no list of batches: correct model_info.mode of {:?}",
            target.provider.id, target.full_model
        ),
    })?;
    let expect = Expectation {
        mode: Mode::Batch,
        free: false,
        stream: false,
        repaired: false,
        cap: None,
        dimensions: None,
        documents: 0,
        http: None,
        candidate: None,
    };
    let call = Call {
        method: http::Method::GET,
        uri,
        headers: target.headers.clone(),
        body: Payload::empty(),
        reply: Reply::Passthrough,
        strip_usage: false,
        signer: target.signer.clone(),
    };
    // A list costs nothing.
    Ok(Probe { call, expect, deadline: std::time::Duration::from_secs(5), prices: Prices::NONE })
}

/// Google's list has a name of its own, and is left out when it is empty.
pub(super) fn is_googles(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Map<String, Value>>(body).is_ok_and(|answer| {
        answer.is_empty() || answer.get("batchPredictionJobs").is_some_and(Value::is_array)
    })
}

/// A list under `data`.
pub(super) fn judge(value: &Value) -> Verdict {
    match value.get("data") {
        Some(Value::Array(_)) => Verdict::Usable,
        Some(_) | None => Verdict::Malformed("no data list".to_owned()),
    }
}
