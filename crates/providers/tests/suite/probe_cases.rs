//! Every recorded answer to a probe gets its verdict, through the probe that is really built.

use base64::Engine as _;
use haleway_health::Class;
use haleway_providers::{
    Judgement, ModeOrigin, ProbeAnswer, ProbeMemory, ProbeSettings, ResolveError, Target, judge,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

fn target(case: &Value) -> Result<Target, ResolveError> {
    let mode = case["mode"].as_str();
    let mut params = json!({ "model": case["model"], "api_key": "sk-canary-1" });
    if case["provider"] == "vertex_ai" {
        params["vertex_project"] = json!("proj");
    }
    if let Some(dimensions) = case["expect"].get("dimensions") {
        params["dimensions"] = dimensions.clone();
    }
    let compatible = case["provider"] == "openai_compatible";
    let at_its_own = crate::common::deployment(params.clone(), mode, &[]);
    if (at_its_own.is_ok() && compatible) || matches!(at_its_own, Err(ResolveError::MissingBase { .. })) {
        params["api_base"] = json!("https://own.example/v1");
        return crate::common::deployment(params, mode, &[]);
    }
    at_its_own
}

fn headers(attempt: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in attempt["headers"].as_object().into_iter().flatten() {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.insert(name, HeaderValue::from_str(value.as_str().unwrap()).unwrap());
    }
    headers
}

fn body(attempt: &Value) -> Vec<u8> {
    if let Some(text) = attempt["body_b64"].as_str() {
        return base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    }
    // A session is answered by its first event.
    let body = attempt["events"].get(0).unwrap_or(&attempt["body"]);
    if body.is_null() {
        return Vec::new();
    }
    body.as_str().map_or_else(|| body.to_string(), str::to_owned).into_bytes()
}

/// The check as the prober runs it: a probe, and once more after a repair.
fn check(target: &Target, attempts: &[Value]) -> (Judgement, usize) {
    let settings = ProbeSettings::default();
    let mut memory = ProbeMemory::default();
    let mut sent = 0;
    loop {
        let mut probe = target.probe(target.mode, &settings, &memory, 7).unwrap();
        if sent > 0 {
            probe = probe.repaired();
        }
        let attempt = attempts.get(sent).or(attempts.last()).unwrap();
        let (headers, body) = (headers(attempt), body(attempt));
        let status = u16::try_from(attempt["status"].as_u64().unwrap()).unwrap();
        let answer = ProbeAnswer { status, headers: &headers, body: &body, now_ms: 1_764_500_000_000 };
        sent += 1;
        let verdict = judge(target, &probe.expect, &answer, &mut memory);
        if !matches!(verdict, Judgement::Repair(_)) {
            return (verdict, sent);
        }
        assert_eq!(sent, 1, "a second repair");
    }
}

/// What the case wants, in the words of the judgement.
fn fits(expect: &Value, verdict: &Judgement) -> bool {
    let class = expect["class"].as_str().unwrap();
    let healthy = expect["verdict"] == "healthy";
    let degraded = expect["degraded"].as_bool().unwrap_or(false);
    let keeps = expect["keeps_previous"].as_bool().unwrap_or(false);
    match verdict {
        Judgement::Healthy { degraded: found } => {
            healthy
                && found.is_some() == degraded
                && found.is_none_or(|found| class == "ok" || found == class)
        }
        Judgement::Unhealthy(finding) => {
            let found =
                if finding.reason == "blank_output" { "blank_output" } else { finding.class.as_str() };
            !healthy && !keeps && found == class
        }
        Judgement::Unknown(finding) => !healthy && keeps && Class::from_name(class) == Some(finding.class),
        Judgement::Repair(_) => false,
    }
}

#[test]
fn every_case_on_a_spoken_wire_gets_its_verdict() {
    let file: Value = serde_json::from_str(include_str!("../fixtures/probe-cases.json")).unwrap();
    let (mut judged, mut wrong) = (0, Vec::new());
    for case in file["cases"].as_array().unwrap() {
        let target = match target(case) {
            Ok(target) => target,
            Err(ResolveError::WireNotSupported { .. }) => continue,
            Err(error) => panic!("{}: {error}", case["id"]),
        };
        assert_eq!(target.mode_origin, ModeOrigin::Configured);
        if target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 7).is_err() {
            wrong.push(format!("{}: no probe", case["id"]));
            continue;
        }
        judged += 1;
        let (verdict, sent) = check(&target, case["attempts"].as_array().unwrap());
        let attempts = case["attempts"].as_array().unwrap().len();
        if !fits(&case["expect"], &verdict) || sent < attempts {
            wrong.push(format!("{}: {} after {sent}: {verdict:?}", case["id"], case["expect"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {judged} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(judged >= 60, "only {judged} cases were judged");
}
