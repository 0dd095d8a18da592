//! Anthropic Messages against golden files: `*.request.json` → `*.upstream.json`, `*.answer.json` → `*.out.json`,
//! `*.stream` → `*.out.stream`. A result that is missing is written and fails, to be read and kept.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use haleway_providers::{CallOptions, Operation, Reply, Step, Target, Translator};
use haleway_wire::{Envelope, sse};
use serde_json::{Value, json};

use crate::common::deployment;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/anthropic")
}

fn inputs(ending: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(ending) && !name.ends_with(".out.stream"))
        .map(|name| {
            (name.trim_end_matches(ending).to_owned(), std::fs::read_to_string(folder().join(&name)).unwrap())
        })
        .collect();
    found.sort();
    found
}

fn assert_golden(name: &str, found: &str) {
    let path = folder().join(name);
    let Ok(golden) = std::fs::read_to_string(&path) else {
        std::fs::write(&path, found).unwrap();
        panic!("{name} was missing: read it, and keep it if it is right");
    };
    assert_eq!(found, golden, "{name}");
}

fn pretty(body: &[u8]) -> String {
    let value: Value = serde_json::from_slice(body).unwrap();
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap())
}

fn target(model: &str) -> Target {
    deployment(json!({"model": format!("anthropic/{model}"), "api_key": "sk-canary-1"}), None, &[]).unwrap()
}

/// A request names its model, or stands for any.
fn target_of(request: &Value) -> Target {
    let model = request["model"].as_str().unwrap();
    target(if model == "group" { "claude-haiku-4-5" } else { model })
}

fn options(stream: bool) -> CallOptions {
    CallOptions { stream, created: 1_764_500_000, ..CallOptions::default() }
}

/// A reader of answers, as the call that asked for `format` has it.
fn reader(json_tool: bool) -> Box<dyn Translator> {
    let mut request = json!({"messages": [{"role": "user", "content": "x"}]});
    if json_tool {
        request["response_format"] = json!({"type": "json_object"});
    }
    let text = request.to_string();
    let call = target("claude-haiku-4-5")
        .call(Operation::Chat, &Envelope::parse(text.as_bytes()).unwrap(), None, options(false))
        .unwrap();
    match call.reply {
        Reply::Translated(reader) => reader,
        Reply::Passthrough => panic!("not translated"),
    }
}

#[test]
fn requests_are_translated() {
    let cases = inputs(".request.json");
    assert!(cases.len() >= 14);
    for (name, text) in cases {
        let request: Value = serde_json::from_str(&text).unwrap();
        let stream = request["stream"] == true;
        let call = target_of(&request)
            .call(Operation::Chat, &Envelope::parse(text.as_bytes()).unwrap(), None, options(stream))
            .unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        assert_eq!(call.uri, "https://api.anthropic.com/v1/messages");
        assert_eq!(call.headers["x-api-key"], "sk-canary-1");
        assert_eq!(call.headers["anthropic-version"], "2023-06-01");
        assert!(!call.strip_usage, "{name}");
        assert_golden(&format!("{name}.upstream.json"), &pretty(&call.body.to_bytes()));
    }
}

#[test]
fn answers_are_translated() {
    let cases = inputs(".answer.json");
    assert!(cases.len() >= 8);
    for (name, text) in cases {
        let out = reader(name.starts_with("json_tool")).answer(text.as_bytes()).unwrap();
        assert_golden(&format!("{name}.out.json"), &pretty(&out));
    }
}

/// Runs a stream through a reader: its chunks as the client gets them, and how it ended.
fn streamed(mut reader: Box<dyn Translator>, text: &str) -> (String, Step) {
    let mut decoder = sse::Decoder::default();
    decoder.push(text.as_bytes());
    let mut out = String::new();
    let mut last = Step::More;
    while let Some(event) = decoder.next_event().unwrap() {
        let mut chunks: Vec<Bytes> = Vec::new();
        last = reader.event(event.name(), &event.data, &mut chunks);
        for chunk in chunks {
            serde_json::from_slice::<Value>(&chunk).unwrap();
            out.push_str(&format!("data: {}\n\n", std::str::from_utf8(&chunk).unwrap()));
        }
    }
    if last == Step::Done {
        out.push_str("data: [DONE]\n\n");
    }
    (out, last)
}

#[test]
fn streams_are_translated_event_by_event() {
    let cases = inputs(".stream");
    assert!(cases.len() >= 5);
    for (name, text) in cases {
        let (out, last) = streamed(reader(name.starts_with("json_tool")), &text);
        assert_golden(&format!("{name}.out.stream"), &out);
        match last {
            Step::Done => assert!(name != "error"),
            Step::Failed(body) => {
                assert_eq!(name, "error");
                assert!(String::from_utf8_lossy(&body).contains("overloaded_error"));
            }
            Step::More | Step::Malformed(_) => panic!("{name}: {last:?}"),
        }
    }
}

#[test]
fn usage_is_hidden_from_clients_that_did_not_ask() {
    let text = br#"{"messages":[{"role":"user","content":"x"}],"stream":true}"#;
    let call = target("claude-haiku-4-5")
        .call(Operation::Chat, &Envelope::parse(text).unwrap(), None, options(true))
        .unwrap();
    assert!(call.strip_usage);
}

#[test]
fn d14_what_cannot_be_said_is_refused_at_once_with_its_place() {
    let ask = |request: Value| {
        let text = request.to_string();
        target("claude-haiku-4-5")
            .call(Operation::Chat, &Envelope::parse(text.as_bytes()).unwrap(), None, options(false))
            .map(|_| ())
            .unwrap_err()
    };
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let with = |key: &str, value: Value| {
        let mut request = user(json!("x"));
        request[key] = value;
        request
    };
    for (request, code, param) in [
        (json!({}), "invalid_value", "messages"),
        (json!({"messages": "x"}), "invalid_value", "messages"),
        (json!({"messages": [{"role": "system", "content": "x"}]}), "untranslatable_request", "messages"),
        (
            json!({"messages": [{"role": "function", "content": "x"}]}),
            "untranslatable_request",
            "messages[0].role",
        ),
        (user(json!(7)), "invalid_value", "messages[0].content"),
        (
            user(json!([{"type": "input_audio", "input_audio": {}}])),
            "untranslatable_request",
            "messages[0].content[0]",
        ),
        (
            user(json!([{"type": "image_url", "image_url": {"url": "data:image/tiff;base64,AA=="}}])),
            "untranslatable_request",
            "messages[0].content[0]",
        ),
        (
            json!({"messages": [{"role": "tool", "content": "x"}]}),
            "invalid_value",
            "messages[0].tool_call_id",
        ),
        (
            json!({"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{broken"}}]}]}),
            "untranslatable_request",
            "messages[0].tool_calls[0].function.arguments",
        ),
        (with("n", json!(2)), "untranslatable_request", "n"),
        (with("max_tokens", json!("many")), "invalid_value", "max_tokens"),
        (with("temperature", json!("hot")), "invalid_value", "temperature"),
        (
            with("tools", json!([{"type": "custom", "custom": {"name": "x"}}])),
            "untranslatable_request",
            "tools[0]",
        ),
        (with("response_format", json!({"type": "xml"})), "invalid_value", "response_format"),
        (with("reasoning_effort", json!("huge")), "invalid_value", "reasoning_effort"),
        (with("modalities", json!(["text", "audio"])), "untranslatable_request", "modalities"),
        (with("stop", json!(4)), "invalid_value", "stop"),
    ] {
        let refusal = ask(request.clone());
        assert_eq!(
            (refusal.status, refusal.code, refusal.param.as_deref()),
            (400, code, Some(param)),
            "{request}"
        );
    }
}

#[test]
fn a_clients_own_message_passes_through() {
    let client = br#"{"model":"g","max_tokens":5,"messages":[{"role":"user","content":"x"}],"thinking":{"type":"adaptive"},"metadata":{"user_id":"u"}}"#;
    let call = target("claude-haiku-4-5")
        .call(Operation::Messages, &Envelope::parse(client).unwrap(), None, options(false))
        .unwrap();
    let expected = String::from_utf8_lossy(client).replace("\"g\"", "\"claude-haiku-4-5\"");
    assert_eq!(String::from_utf8_lossy(&call.body.to_bytes()), expected);
    assert!(matches!(call.reply, Reply::Passthrough));
}

#[test]
fn defaults_of_the_deployment_are_translated_too() {
    let params = json!({"model": "anthropic/claude-3-5-haiku", "api_key": "k", "max_tokens": 77, "temperature": 0.5, "extra_body": {"betas": ["x"]}, "additional_drop_params": ["stop"]});
    let target = deployment(params, None, &[]).unwrap();
    let client = br#"{"messages":[{"role":"user","content":"x"}],"temperature":0,"stop":"END"}"#;
    let call = target.call(Operation::Chat, &Envelope::parse(client).unwrap(), None, options(false)).unwrap();
    let body: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
    assert_eq!(
        (&body["max_tokens"], &body["temperature"], &body["betas"], body.get("stop_sequences")),
        (&json!(77), &json!(0), &json!(["x"]), None)
    );
}

#[test]
fn an_answer_that_is_no_message_is_named_so() {
    for body in [&b"<html>"[..], b"", b"{}", b"[]", b"{\"content\":7}", b"\xff\xfe"] {
        assert!(reader(false).answer(body).is_err(), "{}", String::from_utf8_lossy(body));
    }
    let mut chunks = Vec::new();
    assert!(matches!(reader(false).event(None, b"nonsense", &mut chunks), Step::Malformed(_)));
    assert!(chunks.is_empty());
}

#[test]
fn a_stream_without_its_beginning_is_malformed_and_makes_no_broken_chunk() {
    for event in [
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        r#"{"type":"message_stop"}"#,
    ] {
        let target = crate::common::any("anthropic/claude-haiku-4-5", None).unwrap();
        let request = Envelope::parse(br#"{"messages":[{"role":"user","content":"x"}]}"#).unwrap();
        let call = target.call(Operation::Chat, &request, None, options(true)).unwrap();
        let Reply::Translated(mut reader) = call.reply else { panic!("not translated") };
        let mut chunks = Vec::new();
        let step = reader.event(None, event.as_bytes(), &mut chunks);
        assert!(matches!(step, Step::Malformed(_)) && chunks.is_empty(), "{event}: {step:?}");
    }
}
