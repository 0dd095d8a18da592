//! The free call: how it is sent, and what its answer says.
//!
//! A 2xx is a pass only when it is what the provider promises; an answer of another shape is no information, since
//! many servers answer 200 to anything (report A26). A path that is not served, or that the key may not ask for,
//! says nothing about the deployment either (report A25): only what the classifier would believe of traffic does.

use std::time::Duration;

use haleway_health::{Class, Effect, Proof};
use serde_json::Value;

use super::{CannotProbe, Expectation, Finding, Judgement, Probe, ProbeAnswer, fault};
use crate::catalogue::Prices;
use crate::registry::{KeyNeed, Proves};
use crate::resolve::free::FreeRoute;
use crate::target::Target;
use crate::{Call, Reply};

/// Longest time for a free call when the operator sets none.
const DEADLINE: Duration = Duration::from_secs(5);

impl Target {
    /// What the deployment's free call shows when it passes; `None` when there is none. Credit is shown by the answer
    /// only, see [`Expectation::proof`].
    pub fn free_proof(&self) -> Option<Proof> {
        self.free.as_ref().map(|route| proof(self, route.proves))
    }

    /// The call of this deployment that costs nothing.
    ///
    /// # Errors
    /// When its provider has none that can be sent.
    pub fn free_probe(&self) -> Result<Probe, CannotProbe> {
        let FreeRoute { method, uri, body, .. } = self.free.clone().ok_or_else(|| CannotProbe {
            code: "no_free_call",
            message: format!("{} has no call that costs nothing for {:?}", self.provider.id, self.full_model),
        })?;
        let call = Call {
            method,
            uri,
            headers: self.headers.clone(),
            body: body.into(),
            reply: Reply::Passthrough,
            strip_usage: false,
            signer: self.signer.clone(),
        };
        let expect = Expectation {
            mode: self.mode,
            free: true,
            stream: false,
            repaired: true,
            cap: None,
            dimensions: None,
            documents: 0,
            http: None,
            candidate: None,
        };
        Ok(Probe { call, expect, deadline: DEADLINE, prices: Prices::NONE })
    }
}

impl Expectation {
    /// What a healthy answer with this body shows, when this is a free call.
    pub fn proof(&self, target: &Target, body: &[u8]) -> Proof {
        let Some(route) = target.free.as_ref().filter(|_| self.free) else { return Proof::NOTHING };
        let credit = route.proves.contains(&Proves::Credit)
            && serde_json::from_slice::<Value>(body).is_ok_and(|value| has_credit(&value));
        Proof { credit, ..proof(target, route.proves) }
    }
}

/// What a pass shows of a deployment. Operators' own servers often let anybody list, so that a list shows nothing of
/// their keys.
fn proof(target: &Target, proves: &[Proves]) -> Proof {
    Proof {
        credential: proves.contains(&Proves::Auth) && target.provider.key == KeyNeed::Required,
        model: proves.contains(&Proves::ModelAccess) || proves.contains(&Proves::ModelReady),
        credit: false,
    }
}

/// Money that is left, as OpenRouter and ElevenLabs say it.
fn has_credit(value: &Value) -> bool {
    let data = value.get("data").unwrap_or(value);
    if let Some(left) = data.get("limit_remaining").and_then(Value::as_f64) {
        return left > 0.0;
    }
    let subscription = value.get("subscription").unwrap_or(value);
    let count = |name: &str| subscription.get(name).and_then(Value::as_f64);
    count("character_count").zip(count("character_limit")).is_some_and(|(used, limit)| used < limit)
}

/// What the answer to a free call says.
pub(super) fn judge(target: &Target, expect: &Expectation, answer: &ProbeAnswer<'_>) -> Judgement {
    let Some(route) = &target.free else { return unexpected(answer, "there is no free call") };
    if (200..300).contains(&answer.status) {
        return passed(target, expect, answer, route.proves);
    }
    let mut finding = fault::finding(target, expect.mode, answer);
    let path = route.uri.path();
    let no_such_path = matches!(answer.status, 405 | 501) || finding.class == Class::RouteNotFound;
    if no_such_path || (answer.status == 404 && !(route.names_model && finding.class == Class::ModelNotFound))
    {
        finding.reason = "probe_path_404";
        finding.message = format!("{} at {path}: the free call is not served there", answer.status);
        return Judgement::Unknown(finding);
    }
    match finding.class.effect() {
        // The right to list is not the right to generate.
        Effect::Config if finding.class == Class::Permission => {
            finding.reason = "free_call_forbidden";
            Judgement::Unknown(finding)
        }
        Effect::Alive | Effect::Neutral => {
            finding.reason = "probe_invalid";
            Judgement::Unknown(finding)
        }
        Effect::Ok | Effect::Hard | Effect::Soft | Effect::Config | Effect::Budget => {
            Judgement::Unhealthy(finding)
        }
    }
}

fn passed(target: &Target, expect: &Expectation, answer: &ProbeAnswer<'_>, proves: &[Proves]) -> Judgement {
    // The health path of an engine has no body to speak of.
    if proves.contains(&Proves::Engine) || answer.status == 204 {
        return Judgement::Healthy { degraded: None };
    }
    let Ok(value) = serde_json::from_slice::<Value>(answer.body) else {
        return unexpected(answer, "the answer is no JSON");
    };
    if value.get("error").is_some_and(|error| !error.is_null()) {
        return match fault::finding(target, expect.mode, answer) {
            finding if matches!(finding.class.effect(), Effect::Alive | Effect::Neutral | Effect::Ok) => {
                Judgement::Unknown(finding)
            }
            finding => Judgement::Unhealthy(finding),
        };
    }
    let ready = value.pointer("/state/ready").and_then(Value::as_str);
    if proves.contains(&Proves::ModelReady) && ready != Some("READY") {
        return unexpected(answer, "the endpoint does not say that it is ready");
    }
    match &value {
        Value::Array(_) => Judgement::Healthy { degraded: None },
        Value::Object(map) if !map.is_empty() => Judgement::Healthy { degraded: None },
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            unexpected(answer, "the answer holds nothing")
        }
    }
}

/// No information.
fn unexpected(answer: &ProbeAnswer<'_>, what: &str) -> Judgement {
    Judgement::Unknown(Finding {
        class: Class::MalformedResponse,
        scope: Class::MalformedResponse.default_scope(),
        reason: "free_call_unexpected",
        status: answer.status,
        retry_after: None,
        message: format!("{what}, so the free call says nothing"),
    })
}
