//! Gemini `generateContent` against golden files (see `golden`), and what it cannot say.

use bytes::Bytes;
use haleway_providers::{CallOptions, Mode, Operation, ProbeMemory, ProbeSettings, Refusal, Step, Target};
use haleway_wire::Envelope;
use serde_json::{Value, json};

use crate::common::{body, deployment};
use crate::golden::Golden;

fn target(model: &str, _operation: Operation) -> Target {
    let model = if model == "group" { "gemini-2.5-flash" } else { model };
    let params = json!({ "model": format!("gemini/{model}"), "api_key": "k-canary-1" });
    deployment(params, None, &[]).unwrap()
}

fn golden() -> Golden {
    Golden::new("gemini", target)
}

#[test]
fn requests_are_translated() {
    golden().requests(24, |name, call| {
        assert_eq!(call.headers["x-goog-api-key"], "k-canary-1");
        let url = call.uri.to_string();
        let path = url.strip_prefix("https://generativelanguage.googleapis.com/v1beta/models/").unwrap();
        let (_, method) = path.split_once(':').unwrap();
        let expected = match name {
            "own" => "streamGenerateContent?alt=sse",
            name if name.starts_with("embed") => "batchEmbedContents",
            _ => "generateContent",
        };
        assert_eq!(method, expected, "{name}");
    });
}

#[test]
fn answers_are_translated() {
    golden().answers(14);
}

#[test]
fn streams_are_translated_event_by_event() {
    for (name, last) in golden().streams(10) {
        match name.as_str() {
            "error" | "error_first" => assert!(matches!(last, Step::Failed(_)), "{name}: {last:?}"),
            "malformed" => assert!(matches!(last, Step::Malformed(_)), "{name}: {last:?}"),
            "cut" => assert_eq!(last, Step::More, "{name}"),
            _ => assert_eq!(last, Step::Done, "{name}"),
        }
    }
}

fn ask(model: &str, request: &Value, drop_params: bool) -> Result<Value, Refusal> {
    let text = request.to_string();
    let operation = if request.get("input").is_some() { Operation::Embeddings } else { Operation::Chat };
    let options = CallOptions { drop_params, ..CallOptions::default() };
    let call =
        target(model, operation).call(operation, &Envelope::parse(text.as_bytes()).unwrap(), None, options);
    call.map(|call| body(&call))
}

#[test]
fn d14_what_cannot_be_said_is_refused_at_once_with_its_place() {
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let with = |key: &str, value: Value| {
        let mut request = user(json!("x"));
        request[key] = value;
        request
    };
    let (untranslatable, invalid) = ("untranslatable_request", "invalid_value");
    for (request, code, param) in [
        (json!({}), invalid, "messages"),
        (json!({"messages": []}), untranslatable, "messages"),
        (json!({"messages": [{"role": "function", "content": "x"}]}), untranslatable, "messages[0].role"),
        (user(json!(7)), invalid, "messages[0].content"),
        (user(json!([{"type": "image_url"}])), invalid, "messages[0].content[0]"),
        (user(json!([{"type": "video"}])), untranslatable, "messages[0].content[0]"),
        (
            user(json!([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}])),
            untranslatable,
            "messages[0].content",
        ),
        (json!({"messages": [{"role": "tool", "content": "x"}]}), invalid, "messages[0].tool_call_id"),
        (
            json!({"messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]}),
            untranslatable,
            "messages[0].tool_call_id",
        ),
        (
            json!({"messages": [{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{broken"}}]}]}),
            untranslatable,
            "messages[0].tool_calls[0].function.arguments",
        ),
        (with("functions", json!([])), untranslatable, "functions"),
        (with("logit_bias", json!({"5": 1})), untranslatable, "logit_bias"),
        (with("modalities", json!(["audio"])), untranslatable, "modalities"),
        (with("max_tokens", json!("many")), invalid, "max_tokens"),
        (with("temperature", json!("hot")), invalid, "temperature"),
        (with("stop", json!(["1", "2", "3", "4", "5", "6"])), untranslatable, "stop"),
        (with("tools", json!([{"type": "custom", "custom": {"name": "x"}}])), untranslatable, "tools[0]"),
        (with("tools", json!([{"type": "function"}])), invalid, "tools[0]"),
        (with("tool_choice", json!("maybe")), invalid, "tool_choice"),
        (with("response_format", json!({"type": "xml"})), invalid, "response_format"),
        (with("reasoning_effort", json!("huge")), invalid, "reasoning_effort"),
        (with("generationConfig", json!(1)), invalid, "generationConfig"),
        (json!({"input": [1, 2]}), untranslatable, "input"),
        (json!({"input": []}), invalid, "input"),
    ] {
        let refusal = ask("group", &request, false).unwrap_err();
        assert_eq!(
            (refusal.status, refusal.code, refusal.param.as_deref()),
            (400, code, Some(param)),
            "{request}"
        );
    }
    assert_eq!(
        ask("gemini-2.0-flash", &with("reasoning_effort", json!("low")), false).unwrap_err().param.as_deref(),
        Some("reasoning_effort")
    );
}

#[test]
fn drop_params_leaves_out_what_cannot_be_said() {
    let request = json!({"messages": [{"role": "user", "content": "x"}], "logit_bias": {"5": 1}, "stop": ["1", "2", "3", "4", "5", "6"], "reasoning_effort": "low"});
    let sent = ask("gemini-2.0-flash", &request, true).unwrap();
    assert_eq!(sent["generationConfig"], json!({"stopSequences": ["1", "2", "3", "4", "5"]}));
}

#[test]
fn defaults_of_the_deployment_are_translated_too() {
    let params = json!({"model": "gemini/gemini-2.5-flash", "api_key": "k", "max_tokens": 77, "temperature": 0.5, "extra_body": {"labels": {"a": "b"}}, "additional_drop_params": ["stop"]});
    let target = deployment(params, None, &[]).unwrap();
    let client = br#"{"messages":[{"role":"user","content":"x"}],"temperature":0,"stop":"END"}"#;
    let call = target
        .call(Operation::Chat, &Envelope::parse(client).unwrap(), None, CallOptions::default())
        .unwrap();
    let sent = body(&call);
    assert_eq!(sent["generationConfig"], json!({"maxOutputTokens": 77, "temperature": 0}));
    assert_eq!(sent["labels"], json!({"a": "b"}));
}

#[test]
fn a_wildcard_puts_the_model_into_the_url_of_streams_too() {
    let target = deployment(json!({"model": "gemini/*", "api_key": "k"}), None, &[]).unwrap();
    let client = br#"{"messages":[{"role":"user","content":"x"}]}"#;
    let options = CallOptions { stream: true, ..CallOptions::default() };
    let call = target
        .call(Operation::Chat, &Envelope::parse(client).unwrap(), Some("gemini-2.5-pro"), options)
        .unwrap();
    assert!(call.uri.path().ends_with("/models/gemini-2.5-pro:streamGenerateContent"), "{}", call.uri);
    assert!(call.strip_usage);
}

#[test]
fn a_probe_asks_for_no_thoughts_where_the_model_takes_that() {
    for (model, thinking) in [
        ("gemini-2.5-flash", json!({"thinkingBudget": 0})),
        ("gemini-3-flash-preview", json!({"thinkingLevel": "minimal"})),
        ("gemini-2.5-pro", Value::Null),
        ("gemini-2.0-flash", Value::Null),
        ("gemini-2.5-flash-image", Value::Null),
    ] {
        let target = target(model, Operation::Chat);
        let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &ProbeMemory::default(), 7).unwrap();
        assert_eq!(body(&probe.call)["generationConfig"]["thinkingConfig"], thinking, "{model}");
    }
}

#[test]
fn an_answer_that_is_not_geminis_is_named_so() {
    for body in [
        &b"<html>"[..],
        b"",
        b"{}",
        b"[]",
        b"[7]",
        br#"{"candidates":7}"#,
        br#"{"candidates":[]}"#,
        br#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#,
        b"\xff\xfe",
    ] {
        assert!(golden().reader("text", false).answer(body).is_err(), "{}", String::from_utf8_lossy(body));
    }
    for body in [&b"{}"[..], br#"{"embeddings":[7]}"#, br#"{"embeddings":[{"values":["x"]}]}"#, b"x"] {
        let read = golden().reader("embed_many", false).answer(body);
        assert!(read.is_err(), "{}", String::from_utf8_lossy(body));
    }
    let mut chunks: Vec<Bytes> = Vec::new();
    assert!(matches!(
        golden().reader("text", true).event(None, b"nonsense", &mut chunks),
        Step::Malformed(_)
    ));
    assert!(chunks.is_empty());
}
