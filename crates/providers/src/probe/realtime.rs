//! Realtime: the request of a client's session, and the first event it is answered with. A handshake that succeeds
//! proves nothing: OpenAI accepts one with a bad key, and says so in the first event.

use serde_json::Value;

use super::verdict::Verdict;
use super::{CannotProbe, Expectation, Probe, ProbeSettings};
use crate::resolve::model::id_for;
use crate::target::Target;
use crate::{Call, Mode, wires};

/// First events of a session that is ready.
const READY: [&str; 3] = ["session.created", "transcription_session.created", "conversation.created"];

/// The request that begins a session.
pub(super) fn probe(target: &Target, settings: &ProbeSettings) -> Result<Probe, CannotProbe> {
    let call = call(target, settings)?;
    let expect = Expectation {
        candidate: None,
        mode: Mode::Realtime,
        free: false,
        stream: false,
        repaired: false,
        cap: None,
        dimensions: None,
        documents: 0,
        http: None,
    };
    Ok(Probe { call, expect, deadline: std::time::Duration::from_secs(5), prices: target.prices })
}

fn call(target: &Target, settings: &ProbeSettings) -> Result<Call, CannotProbe> {
    let named = settings.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
    if target.wildcard && named.is_none() {
        return Err(CannotProbe {
            code: "no_probe_model",
            message: format!(
                "{:?} serves many models: name the one to probe in model_info.health_check_model",
                target.full_model
            ),
        });
    }
    let model = named.map(|model| id_for(target.provider, &target.provider_name, model));
    target.session_of(model.as_deref(), None).map_err(|refusal| CannotProbe {
        code: "unsupported_by_provider",
        message: format!("{}: correct model_info.mode of {:?}", refusal.message, target.full_model),
    })
}

/// The first event of a session, or the words with which it was closed. `live`: on Gemini's wire.
pub(super) fn judge(event: &[u8], live: bool) -> Verdict {
    let Ok(value) = serde_json::from_slice::<Value>(event) else {
        return Verdict::Malformed("the first event is no JSON".to_owned());
    };
    if value.get("error").is_some_and(Value::is_object) {
        return Verdict::Error;
    }
    if live {
        return if wires::gemini::live::is_ready(&value) {
            Verdict::Usable
        } else {
            Verdict::Malformed("the first message is no setupComplete".to_owned())
        };
    }
    match value.get("type").and_then(Value::as_str) {
        Some(kind) if READY.contains(&kind) => Verdict::Usable,
        Some("error") => Verdict::Error,
        Some(kind) => Verdict::Malformed(format!("the first event is {kind:?}")),
        None => Verdict::Malformed("the first event has no type".to_owned()),
    }
}
