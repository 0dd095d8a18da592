//! The classifier against recorded and written answers of providers: every case names what must come out.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken fixture ends the test")]

use haleway_health::{Effect, Scope};
use haleway_providers::Mode;
use haleway_providers::classify::{Answer, Fault, Transport, classify, classify_transport};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// 2026-11-30T15:00:00Z: the reset times in the cases are relative to it.
const NOW_MS: u64 = 1_796_050_800_000;

fn read(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn headers(case: &Value) -> HeaderMap {
    let pairs = case["headers"].as_object().into_iter().flatten();
    pairs
        .map(|(name, value)| {
            let value = HeaderValue::from_str(value.as_str().unwrap()).unwrap();
            (HeaderName::try_from(name.as_str()).unwrap(), value)
        })
        .collect()
}

fn run(case: &Value) -> Fault {
    if let Some(transport) = case.get("transport").and_then(Value::as_str) {
        let transport = Transport::ALL.into_iter().find(|t| t.as_str() == transport).unwrap();
        return classify_transport(transport);
    }
    let body = match &case["body"] {
        Value::String(text) => text.clone().into_bytes(),
        Value::Null => Vec::new(),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            serde_json::to_vec(value).unwrap()
        }
    };
    let headers = headers(case);
    let mode = case.get("mode").and_then(Value::as_str).unwrap_or("chat");
    classify(&Answer {
        provider: case["provider"].as_str().unwrap(),
        mode: Mode::from_name(mode).unwrap(),
        status: u16::try_from(case["status"].as_u64().unwrap()).unwrap(),
        headers: &headers,
        body: &body,
        now_ms: NOW_MS,
    })
}

/// The scope that a case means by its word; `None` where nothing is taken out.
fn scope(word: &str) -> Option<Scope> {
    match word {
        "deployment" => Some(Scope::Model),
        "credential" => Some(Scope::Credential),
        "account" => Some(Scope::Account),
        "endpoint" => Some(Scope::Endpoint),
        "none" | "threshold" => None,
        other => panic!("no scope {other}"),
    }
}

fn differences(case: &Value) -> Vec<String> {
    let fault = run(case);
    let expect = &case["expect"];
    let mut wrong = Vec::new();
    let mut check = |name: &str, got: Value| {
        if got != expect[name] {
            wrong.push(format!("{name}: {got} instead of {}", expect[name]));
        }
    };
    check("class", fault.class.as_str().into());
    check("client_status", fault.client_status.into());
    let kind = if fault.client_type.is_empty() { Value::Null } else { fault.client_type.into() };
    check("openai_type", kind);
    check("retry_same", fault.retry_same.as_str().into());
    check("retry_other", fault.retry_other.as_str().into());
    check("retry_after_ms", fault.retry_after.map(|wait| wait.as_millis() as u64).into());
    let word = expect["cooldown"]["scope"].as_str().unwrap();
    match scope(word) {
        Some(scope) if scope != fault.scope => {
            wrong.push(format!("scope: {} instead of {word}", fault.scope.as_str()))
        }
        None if word == "none" && !matches!(fault.class.effect(), Effect::Alive | Effect::Neutral) => {
            wrong.push(format!("{} takes something out", fault.class));
        }
        Some(_) | None => {}
    }
    let cooldown = fault.cooldown.as_millis() as u64;
    if expect["cooldown"]["ms"] != cooldown {
        wrong.push(format!("cooldown: {cooldown} instead of {}", expect["cooldown"]["ms"]));
    }
    if expect.get("daily").is_some() != fault.daily {
        wrong.push(format!("daily: {}", fault.daily));
    }
    if expect.get("config").is_some() != fault.misconfigured {
        wrong.push(format!("misconfigured: {}", fault.misconfigured));
    }
    wrong
}

#[test]
fn every_error_case_has_its_class_and_consequence() {
    let cases = read("error-cases.json");
    let cases = cases["cases"].as_array().unwrap();
    assert!(cases.len() >= 243, "only {} cases", cases.len());
    let wrong: Vec<String> = cases
        .iter()
        .flat_map(|case| differences(case).into_iter().map(|text| format!("{}: {text}", case["id"])))
        .collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn other_words_shapes_and_places_have_the_same_classes() {
    let cases = read("error-variations.json");
    let cases = cases["cases"].as_array().unwrap();
    assert!(cases.len() >= 60, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let named = serde_json::json!({
            "provider": case[0], "mode": case[1], "status": case[2], "headers": case[3], "body": case[4],
        });
        let fault = run(&named);
        if case[5] != fault.class.as_str() {
            wrong.push(format!("{} instead of {case}", fault.class));
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// The statuses of a user's report, with what the manual promises for each: who is blamed, is it counted, does
/// another deployment get the request.
#[test]
fn d23_statuses_that_nobody_listed_follow_the_documented_default() {
    for (status, failed_over, blamed) in [
        (424, true, true),
        (498, true, true),
        (520, true, true),
        (522, true, true),
        (524, true, true),
        (530, true, true),
        (418, false, false),
        (451, false, false),
        (599, true, true),
        (555, true, true),
        (444, false, false),
    ] {
        let case = serde_json::json!({"provider": "x", "mode": "chat", "status": status, "body": null});
        let fault = run(&case);
        let upstream = matches!(fault.class.effect(), Effect::Hard | Effect::Soft);
        assert_eq!(upstream, blamed, "{status} is {}", fault.class);
        assert_eq!(fault.retry_other.as_str() == "yes", failed_over, "{status} is {}", fault.class);
    }
}
