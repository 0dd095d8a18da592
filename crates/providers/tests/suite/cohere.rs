//! Cohere v2 against golden files (see `golden`), rerank, and what it cannot say.

use bytes::Bytes;
use haleway_providers::{
    CallOptions, Mode, Operation, ProbeMemory, ProbeSettings, Refusal, Reply, Step, Target,
};
use haleway_wire::Envelope;
use serde_json::{Value, json};

use crate::common::{any, body, call, deployment};
use crate::golden::Golden;

fn target(model: &str, _operation: Operation) -> Target {
    let model = if model == "group" { "command-a-03-2025" } else { model };
    deployment(json!({ "model": format!("cohere/{model}"), "api_key": "k-canary-1" }), None, &[]).unwrap()
}

fn golden() -> Golden {
    Golden::new("cohere", target)
}

#[test]
fn requests_are_translated() {
    golden().requests(17, |name, call| {
        assert_eq!(call.headers["authorization"], "Bearer k-canary-1");
        let path = if name.starts_with("embed") { "/v2/embed" } else { "/v2/chat" };
        assert_eq!(call.uri.to_string(), format!("https://api.cohere.com{path}"), "{name}");
    });
}

#[test]
fn answers_are_translated() {
    golden().answers(11);
}

#[test]
fn streams_are_translated_event_by_event() {
    for (name, last) in golden().streams(8) {
        match name.as_str() {
            "error" | "error_bare" => assert!(matches!(last, Step::Failed(_)), "{name}: {last:?}"),
            "cut" => assert_eq!(last, Step::More, "{name}"),
            _ => assert_eq!(last, Step::Done, "{name}"),
        }
    }
}

fn ask(request: &Value, drop_params: bool) -> Result<Value, Refusal> {
    let text = request.to_string();
    let operation = if request.get("documents").is_some() {
        Operation::Rerank
    } else if request.get("input").is_some() {
        Operation::Embeddings
    } else {
        Operation::Chat
    };
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
    let tool = json!({"type": "function", "function": {"name": "now"}});
    let mut unknown_tool = with("tools", json!([tool]));
    unknown_tool["tool_choice"] = json!({"type": "function", "function": {"name": "other"}});
    let (untranslatable, invalid) = ("untranslatable_request", "invalid_value");
    for (request, code, param) in [
        (with("n", json!(2)), untranslatable, "n"),
        (with("logprobs", json!(true)), untranslatable, "logprobs"),
        (with("web_search_options", json!({})), untranslatable, "web_search_options"),
        (with("tools", json!([{"type": "browser"}])), untranslatable, "tools[0]"),
        (unknown_tool, invalid, "tool_choice"),
        (with("reasoning_effort", json!("huge")), invalid, "reasoning_effort"),
        (
            user(json!([{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}])),
            untranslatable,
            "messages[0].content",
        ),
        (
            json!({"messages": [{"role": "system", "content": [{"type": "image_url", "image_url": "data:image/png;base64,AA=="}]}]}),
            untranslatable,
            "messages[0].content",
        ),
        (json!({"input": "x", "embedding_types": ["int8"]}), untranslatable, "embedding_types"),
        (json!({"query": "q", "documents": "d"}), invalid, "documents"),
        (json!({"query": "q", "documents": ["d", {"title": "t"}]}), untranslatable, "documents[1]"),
    ] {
        let refusal = ask(&request, false).unwrap_err();
        assert_eq!(
            (refusal.status, refusal.code, refusal.param.as_deref()),
            (400, code, Some(param)),
            "{request}"
        );
    }
    let dropped = ask(&with("n", json!(2)), true).unwrap();
    assert!(dropped.get("n").is_none());
}

#[test]
fn rerank_passes_through_but_for_documents_that_are_objects() {
    let target = any("cohere/rerank-v3.5", Some("rerank")).unwrap();
    let ranked = |request: Value| call(&target, Operation::Rerank, &request.to_string()).unwrap();
    let plain = ranked(
        json!({"model": "g", "query": "q", "documents": ["a", "b"], "top_n": 1, "max_tokens_per_doc": 9}),
    );
    assert_eq!(plain.uri, "https://api.cohere.com/v2/rerank");
    assert_eq!(
        body(&plain),
        json!({"model": "rerank-v3.5", "query": "q", "documents": ["a", "b"], "top_n": 1, "max_tokens_per_doc": 9})
    );
    assert!(matches!(plain.reply, Reply::Passthrough));
    let objects = ranked(
        json!({"model": "g", "query": "q", "documents": [{"text": "a"}, "b"], "return_documents": true}),
    );
    assert_eq!(body(&objects), json!({"model": "rerank-v3.5", "query": "q", "documents": ["a", "b"]}));
    let Reply::Translated(mut reader) = objects.reply else { panic!("the documents are not put back") };
    let out = reader.answer(br#"{"id":"q","results":[{"index":1,"relevance_score":0.5},{"index":7,"relevance_score":0.1}],"meta":{}}"#);
    let out: Value = serde_json::from_slice(&out.unwrap()).unwrap();
    assert_eq!(out["results"][0]["document"], json!({"text": "b"}));
    assert!(out["results"][1].get("document").is_none());
}

#[test]
fn a_probe_asks_for_no_thoughts_where_the_model_has_them() {
    for (model, thinking) in
        [("command-a-reasoning-08-2025", json!({"type": "disabled"})), ("command-r-08-2024", Value::Null)]
    {
        let target = target(model, Operation::Chat);
        let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &ProbeMemory::default(), 7).unwrap();
        assert_eq!(body(&probe.call)["thinking"], thinking, "{model}");
    }
}

#[test]
fn an_answer_that_is_not_coheres_is_named_so() {
    for body in [&b"<html>"[..], b"", b"{}", br#"{"message":7}"#, br#"{"message":{"content":[7]}}"#, b"\xff"]
    {
        assert!(golden().reader("text", false).answer(body).is_err(), "{}", String::from_utf8_lossy(body));
    }
    for body in [&b"{}"[..], br#"{"embeddings":{"int8":[[1]]}}"#, br#"{"embeddings":[7]}"#] {
        let read = golden().reader("embed_one", false).answer(body);
        assert!(read.is_err(), "{}", String::from_utf8_lossy(body));
    }
    let mut chunks: Vec<Bytes> = Vec::new();
    assert!(matches!(
        golden().reader("text", true).event(None, b"nonsense", &mut chunks),
        Step::Malformed(_)
    ));
    assert!(chunks.is_empty());
}
