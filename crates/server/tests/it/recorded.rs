//! What a LiteLLM 1.110.2 proxy answered, asked again: status, `type`, `code` and headers are as recorded, but for the
//! differences that are meant and listed here.

use std::collections::BTreeMap;

use haleway_testkit::{Answer, Behaviour, Script, World};
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::files;

#[derive(Debug, Deserialize)]
struct Recorded {
    name: String,
    config: String,
    upstream: String,
    request: Request,
    status: u16,
    error: Option<Value>,
    detail: Option<String>,
    #[serde(default)]
    anthropic: bool,
    upstream_calls: Option<u64>,
    headers: Vec<String>,
    /// Headers whose values were the same in every run.
    #[serde(default)]
    values: BTreeMap<String, String>,
    /// The members of a successful body.
    #[serde(default)]
    members: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Request {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    body: Option<String>,
}

/// Differences that are meant: name → status, `type`, `code`, and why.
const MEANT: [(&str, u16, &str, &str, &str); 13] = [
    ("err_bad_key", 401, "auth_error", "401", "a wrong key is always 401"),
    ("err_bad_key_nosk", 401, "auth_error", "401", "a wrong key is always 401"),
    ("err_messages_bad_key", 401, "authentication_error", "", "a wrong key is always 401"),
    ("err_upstream_408", 408, "timeout_error", "408", "a timeout is no invalid request"),
    ("err_upstream_hang", 408, "timeout_error", "408", "a timeout is no invalid request"),
    ("err_upstream_stream_408", 408, "timeout_error", "408", "a timeout is no invalid request"),
    ("err_upstream_stream_hang", 408, "timeout_error", "408", "a timeout is no invalid request"),
    ("err_upstream_422", 422, "invalid_request_error", "422", "no success with the body null"),
    ("err_upstream_empty", 500, "internal_server_error", "500", "empty choices are a failure"),
    ("err_upstream_stream_malformed", 500, "internal_server_error", "500", "garbage is no empty stream"),
    ("err_upstream_stream_midbreak", 200, "", "", "a broken stream ends with an error, without [DONE]"),
    ("err_upstream_stream_miderr", 200, "", "", "a broken stream ends with an error, without [DONE]"),
    ("err_upstream_stream_midhang", 200, "", "", "a broken stream ends with an error, without [DONE]"),
];

/// What the recorded provider did, by the recorder's word for it.
fn upstream(word: &str) -> Script {
    let openai = |status: u16, code: &str, message: &str| {
        Behaviour::status(status).body(json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": code}}))
    };
    match word {
        "ok" => Behaviour::ok(),
        "429" => Behaviour::rate_limited("7"),
        "503" => Behaviour::status(503).header("retry-after", "3"),
        "400ctx" => openai(400, "context_length_exceeded", "This model's maximum context length is 4096 tokens."),
        "400policy" => openai(400, "content_policy_violation", "Your request was rejected as a result of our safety system."),
        "429quota" => openai(429, "insufficient_quota", "You exceeded your current quota."),
        "hang" => Behaviour::hang(),
        "reset" => serde_json::from_value(json!({"do": "reset"})).unwrap(),
        "malformed" => serde_json::from_value(json!({"do": "malformed"})).unwrap(),
        "html200" => serde_json::from_value(json!({"do": "html"})).unwrap(),
        "emptybody" => serde_json::from_value(json!({"do": "empty"})).unwrap(),
        "err200" => Behaviour::status(200).body(json!({"error": {"message": "backend exploded", "type": "server_error", "code": null}})),
        "empty" => Behaviour::status(200).body(json!({
            "id": "chatcmpl-empty", "object": "chat.completion", "created": 1, "model": "gpt-fake", "choices": [],
            "usage": {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3},
        })),
        "nullcontent" => Behaviour::status(200).body(json!({
            "id": "chatcmpl-null", "object": "chat.completion", "created": 1, "model": "gpt-fake",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": null}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3},
        })),
        "midbreak" => Behaviour::cut(3),
        "miderr" => Behaviour::error_event(3, 500),
        "midhang" => Behaviour::stall(3),
        status => Behaviour::status(status.parse().unwrap_or_else(|_| panic!("what is {status}?"))),
    }
    .into()
}

async fn replay(recorded: &Recorded) -> (World, Answer) {
    let mut world = files::world(&recorded.config, upstream(&recorded.upstream)).await;
    world.key = None;
    let mut headers: Vec<(&str, &str)> =
        recorded.request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.push(("content-type", "application/json"));
    let method: Method = recorded.request.method.parse().unwrap();
    let body = recorded.request.body.clone().unwrap_or_default();
    let answer = world.call(method, &recorded.request.path, &headers, body).await;
    (world, answer)
}

fn expected(recorded: &Recorded) -> (u16, Option<(String, String)>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match MEANT.iter().find(|meant| meant.0 == recorded.name) {
        Some((_, status, "", _, _)) => (*status, None),
        Some((_, status, kind, code, _)) => (*status, Some(((*kind).to_owned(), (*code).to_owned()))),
        None => (
            recorded.status,
            recorded.error.as_ref().map(|error| (text(&error["type"]), text(&error["code"]))),
        ),
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_as_recorded() {
    let all: Vec<Recorded> = serde_json::from_str(include_str!("../fixtures/recorded.json")).unwrap();
    assert!(MEANT.iter().all(|meant| all.iter().any(|recorded| recorded.name == meant.0)));
    let mut faults = Vec::new();
    for recorded in &all {
        let (world, answer) = replay(recorded).await;
        let mut wrong = |what: &str, is: &dyn std::fmt::Debug, was: &dyn std::fmt::Debug| {
            faults.push(format!("{}: {what} is {is:?}, recorded {was:?}: {}", recorded.name, answer.text()));
        };
        let (status, error) = expected(recorded);
        if answer.status != status {
            wrong("status", &answer.status, &status);
            continue;
        }
        if let Some((kind, code)) = error {
            let is = (answer.error("type"), answer.error("code"));
            let is =
                (is.0.as_str().unwrap_or_default().to_owned(), is.1.as_str().unwrap_or_default().to_owned());
            if is != (kind.clone(), code.clone()) {
                wrong("type and code", &is, &(kind, code));
            }
            let param = recorded.error.as_ref().map_or(&Value::Null, |error| &error["param"]);
            if !param.is_null() && answer.error("param") != *param {
                wrong("param", &answer.error("param"), param);
            }
        }
        if recorded.anthropic != (answer.status >= 400 && answer.json()["type"] == "error") {
            wrong("the shape", &answer.text(), &recorded.anthropic);
        }
        if let Some(detail) = &recorded.detail
            && answer.json()["detail"] != **detail
        {
            wrong("detail", &answer.text(), detail);
        }
        if let Some(calls) = recorded.upstream_calls {
            let made = world.requests("any");
            // Several calls were the SDK's hidden retries.
            if made != calls.min(1) {
                wrong("upstream calls", &made, &calls.min(1));
            }
        }
        if MEANT.iter().all(|meant| meant.0 != recorded.name) {
            let local = recorded.upstream_calls == Some(0);
            let lacks = |name: &&String| !absent(name, local) && !answer.headers.contains_key(*name);
            let missing: Vec<_> = recorded.headers.iter().filter(lacks).collect();
            if !missing.is_empty() {
                wrong("headers lack", &missing, &recorded.headers);
            }
            for (name, value) in recorded.values.iter().filter(|(name, _)| !absent(name, local)) {
                if answer.header(name) != value {
                    wrong(name, &answer.header(name), value);
                }
            }
            let lacks = |name: &&String| answer.json().get(name.as_str()).is_none();
            let missing: Vec<_> = recorded.members.iter().filter(lacks).collect();
            if !missing.is_empty() {
                wrong("the body lacks", &missing, &recorded.members);
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Headers that are LiteLLM's own business: callbacks, prices by its map, the limits of the recorded provider, and the
/// name of a deployment that was chosen for a call and never called (`local`).
fn absent(name: &str, local: bool) -> bool {
    let of_deployment = matches!(name, "x-litellm-model-id" | "x-litellm-model-name" | "x-litellm-timeout");
    (local && of_deployment)
        || name.starts_with("x-litellm-response-cost-")
        || name.starts_with("x-ratelimit-")
        || matches!(name, "x-litellm-callback-duration-ms" | "x-litellm-overhead-duration-ms")
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_after_output_ends_with_an_error_event_and_no_end_mark() {
    let all: Vec<Recorded> = serde_json::from_str(include_str!("../fixtures/recorded.json")).unwrap();
    for recorded in all.iter().filter(|recorded| recorded.name.contains("stream_mid")) {
        let (_world, answer) = replay(recorded).await;
        let events = answer.events();
        assert!(
            events.len() > 1 && !events.iter().any(|event| event == "[DONE]"),
            "{}: {events:?}",
            recorded.name
        );
        let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
        assert!(last["error"]["message"].is_string(), "{}: {last}", recorded.name);
        assert_eq!(last["error"]["code"], expected_code(&recorded.upstream), "{}: {last}", recorded.name);
        assert!(last["error"]["class"].is_string(), "{}: {last}", recorded.name);
    }
}

fn expected_code(fault: &str) -> Value {
    if fault == "midhang" { json!("408") } else { json!("500") }
}

#[tokio::test(start_paused = true)]
async fn no_answer_names_a_credential_another_group_or_the_version_of_a_server() {
    let all: Vec<Recorded> = serde_json::from_str(include_str!("../fixtures/recorded.json")).unwrap();
    for recorded in all.iter().filter(|recorded| recorded.status >= 400) {
        let (_world, answer) = replay(recorded).await;
        let whole = format!("{:?} {}", answer.headers, answer.text());
        for secret in ["sk-up", "sk-master", "duo-fb", "backup"] {
            assert!(!whole.contains(secret), "{}: {secret} in {whole}", recorded.name);
        }
    }
}
