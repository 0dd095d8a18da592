//! Ollama against golden files (see `golden`), and what it cannot say.

use bytes::Bytes;
use haleway_providers::{
    CallOptions, EventReader, Framing, Judgement, Mode, Operation, ProbeAnswer, ProbeMemory, ProbeSettings,
    Refusal, Step, Target, judge,
};
use haleway_wire::Envelope;
use http::{HeaderMap, HeaderValue, header};
use serde_json::{Value, json};

use crate::common::{body, deployment};
use crate::golden::Golden;

fn target(model: &str, _operation: Operation) -> Target {
    let model = if model == "group" { "llama3.2" } else { model };
    deployment(json!({ "model": format!("ollama/{model}") }), None, &[]).unwrap()
}

fn golden() -> Golden {
    Golden::new("ollama", target)
}

#[test]
fn requests_are_translated() {
    golden().requests(16, |name, call| {
        assert!(call.headers.get("authorization").is_none());
        let path = match name {
            name if name.starts_with("embed") => "/api/embed",
            name if name.starts_with("complete") => "/api/generate",
            _ => "/api/chat",
        };
        assert_eq!(call.uri.to_string(), format!("http://localhost:11434{path}"), "{name}");
    });
}

#[test]
fn answers_are_translated() {
    golden().answers(9);
}

#[test]
fn streams_are_translated_line_by_line() {
    for (name, last) in golden().streams(9) {
        match name.as_str() {
            "error" => assert!(matches!(last, Step::Failed(_)), "{name}: {last:?}"),
            "malformed" => assert!(matches!(last, Step::Malformed(_)), "{name}: {last:?}"),
            "cut" => assert_eq!(last, Step::More, "{name}"),
            _ => assert_eq!(last, Step::Done, "{name}"),
        }
    }
}

#[test]
fn lines_are_the_same_however_the_network_cuts_them() {
    let text = "{\"a\":1}\r\n\n  {\"b\":\"é\"}\n{\"c\":3}";
    for size in 1..text.len() {
        let mut reader = EventReader::new(Framing::JsonLines);
        let (mut lines, mut raw) = (Vec::new(), Vec::new());
        for piece in text.as_bytes().chunks(size) {
            reader.push(piece);
            while let Some(event) = reader.next_event().unwrap() {
                raw.extend_from_slice(&event.raw);
                lines.push(event.data);
            }
        }
        let last = reader.finish().unwrap();
        raw.extend_from_slice(&last.raw);
        lines.push(last.data);
        assert_eq!(lines, ["{\"a\":1}", "", "{\"b\":\"é\"}", "{\"c\":3}"], "in pieces of {size}");
        assert_eq!(raw, text.as_bytes());
        assert!(reader.finish().is_none());
    }
}

#[test]
fn a_line_without_an_end_is_bounded() {
    let mut reader = EventReader::new(Framing::JsonLines);
    let piece = vec![b'x'; 1 << 20];
    let mut pushed = 0;
    loop {
        reader.push(&piece);
        pushed += piece.len();
        match reader.next_event() {
            Ok(event) => assert!(event.is_none() && pushed <= 16 << 20),
            Err(error) => break assert_eq!(error.code(), "event_too_large"),
        }
    }
}

#[test]
fn a_key_is_sent_where_one_is_configured() {
    let target = deployment(
        json!({"model": "ollama_chat/gpt-oss:120b", "api_base": "https://ollama.com", "api_key": "k-canary-1"}),
        None,
        &[],
    )
    .unwrap();
    let client = br#"{"messages":[{"role":"user","content":"x"}]}"#;
    let call = target
        .call(Operation::Chat, &Envelope::parse(client).unwrap(), None, CallOptions::default())
        .unwrap();
    assert_eq!(call.headers["authorization"], "Bearer k-canary-1");
    assert_eq!(call.uri, "https://ollama.com/api/chat");
}

fn ask(request: &Value, drop_params: bool) -> Result<Value, Refusal> {
    let text = request.to_string();
    let operation = if request.get("prompt").is_some() { Operation::Completions } else { Operation::Chat };
    let options = CallOptions { drop_params, ..CallOptions::default() };
    let call =
        target("group", operation).call(operation, &Envelope::parse(text.as_bytes()).unwrap(), None, options);
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
        (with("n", json!(2)), untranslatable, "n"),
        (with("tool_choice", json!("required")), untranslatable, "tool_choice"),
        (with("tools", json!([{"type": "browser"}])), untranslatable, "tools[0]"),
        (with("reasoning_effort", json!("huge")), invalid, "reasoning_effort"),
        (with("options", json!(7)), invalid, "options"),
        (
            user(json!([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}])),
            untranslatable,
            "messages[0].content",
        ),
        (user(json!([{"type": "file", "file": {"file_id": "f"}}])), untranslatable, "messages[0].content"),
        (json!({"prompt": ["a", "b"]}), untranslatable, "prompt"),
        (json!({"prompt": [1, 2]}), untranslatable, "prompt"),
        (json!({"prompt": "a", "best_of": 2}), untranslatable, "best_of"),
    ] {
        let refusal = ask(&request, false).unwrap_err();
        assert_eq!(
            (refusal.status, refusal.code, refusal.param.as_deref()),
            (400, code, Some(param)),
            "{request}"
        );
    }
    let dropped = ask(&with("tool_choice", json!("required")), true).unwrap();
    assert!(dropped.get("tool_choice").is_none());
}

#[test]
fn a_probe_asks_for_no_thoughts() {
    for (model, think) in [("qwen3", json!(false)), ("gpt-oss:20b", json!("low"))] {
        for mode in [Mode::Chat, Mode::Completion] {
            let target = target(model, Operation::Chat);
            let settings = ProbeSettings::default();
            let probe = target.probe(mode, &settings, &ProbeMemory::default(), 7).unwrap();
            let sent = body(&probe.call);
            assert_eq!(sent["think"], think, "{model} {mode}");
            assert_eq!(sent["options"]["num_predict"], json!(16));
            let memory = ProbeMemory { dropped: vec!["think".to_owned()], ..ProbeMemory::default() };
            let probe = target.probe(mode, &settings, &memory, 7).unwrap();
            assert!(body(&probe.call).get("think").is_none());
        }
    }
}

#[test]
fn a_streamed_probe_is_judged_by_its_lines() {
    let target = target("group", Operation::Chat);
    let mut memory = ProbeMemory { stream_only: true, ..ProbeMemory::default() };
    let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &memory, 7).unwrap();
    assert!(probe.expect.stream);
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    let mut verdict = |body: &[u8]| {
        let answer = ProbeAnswer { status: 200, headers: &headers, body, now_ms: 0 };
        judge(&target, &probe.expect, &answer, &mut memory)
    };
    let said = b"{\"message\":{\"content\":\"2\"},\"done\":false}\n";
    assert_eq!(verdict(said), Judgement::Healthy { degraded: None });
    assert!(probe.expect.enough(&target, said));
    let silent =
        b"{\"message\":{\"content\":\"\"},\"done\":false}\n{\"done\":true,\"done_reason\":\"stop\"}\n";
    assert!(matches!(verdict(silent), Judgement::Unhealthy(finding) if finding.reason == "blank_output"));
    assert!(!probe.expect.enough(&target, silent));
    assert!(matches!(verdict(b"{\"error\":\"no such model\"}\n"), Judgement::Unhealthy(_)));
}

#[test]
fn an_answer_that_is_not_ollamas_is_named_so() {
    for body in [&b"<html>"[..], b"", b"{}", br#"{"message":7}"#, b"[1]", b"\xff"] {
        let text = String::from_utf8_lossy(body);
        assert!(golden().reader("text", false).answer(body).is_err(), "{text}");
        assert!(golden().reader("complete_basic", false).answer(body).is_err(), "{text}");
        assert!(golden().reader("embed_one", false).answer(body).is_err(), "{text}");
    }
    let mut chunks: Vec<Bytes> = Vec::new();
    assert!(matches!(
        golden().reader("text", true).event(None, b"nonsense", &mut chunks),
        Step::Malformed(_)
    ));
    assert!(chunks.is_empty());
}
