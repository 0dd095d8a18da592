//! Text Embeddings Inference against golden files (see `golden`): where it is, and what it cannot say.

use haleway_providers::{Judgement, Mode, Operation, ProbeAnswer, ProbeMemory, ProbeSettings, Target, judge};
use http::HeaderMap;
use serde_json::json;

use crate::common::{call, deployment, url};
use crate::golden::Golden;

fn target(model: &str, operation: Operation) -> Target {
    let mode = if operation == Operation::Rerank { "rerank" } else { "embedding" };
    let params = json!({"model": format!("huggingface/{model}"), "api_base": "http://tei.local:8080"});
    deployment(params, Some(mode), &[]).unwrap()
}

fn golden() -> Golden {
    Golden::new("tei", target)
}

#[test]
fn requests_are_translated() {
    golden().requests(4, |name, call| {
        let path = if name.starts_with("rerank") { "/rerank" } else { "/" };
        assert_eq!(call.uri.to_string(), format!("http://tei.local:8080{path}"), "{name}");
    });
}

#[test]
fn answers_are_translated() {
    golden().answers(4);
}

#[test]
fn a_server_is_found_below_what_operators_write() {
    for (base, root) in [
        ("http://tei.local", "http://tei.local"),
        ("http://tei.local/", "http://tei.local"),
        ("http://tei.local/v1", "http://tei.local"),
        ("http://tei.local/embed", "http://tei.local"),
        ("http://tei.local/rerank", "http://tei.local"),
        ("https://gate.example/tei", "https://gate.example/tei"),
    ] {
        for (mode, operation, path) in
            [("embedding", Operation::Embeddings, "/"), ("rerank", Operation::Rerank, "/rerank")]
        {
            let params = json!({"model": "huggingface/BAAI/bge-m3", "api_base": base, "api_key": "k"});
            let target = deployment(params, Some(mode), &[]).unwrap();
            assert_eq!(target.provider.id, "tei");
            let client = r#"{"input":"x","query":"q","documents":["d"]}"#;
            let found = call(&target, operation, client).unwrap().uri.to_string();
            assert_eq!(found, format!("{root}{path}"), "{base}");
        }
    }
    // Without a base it is Hugging Face's own; chat there stays OpenAI's.
    let params = json!({"model": "huggingface/BAAI/bge-m3", "api_key": "k"});
    let hosted = deployment(params, Some("embedding"), &[]).unwrap();
    let client = r#"{"input":"x"}"#;
    assert_eq!(
        call(&hosted, Operation::Embeddings, client).unwrap().uri,
        "https://router.huggingface.co/hf-inference/pipeline/feature-extraction/BAAI/bge-m3"
    );
    assert_eq!(
        url(&hosted, Operation::Chat).as_deref(),
        Some("https://router.huggingface.co/v1/chat/completions")
    );
    assert_eq!(hosted.mode, Mode::Embedding);
}

#[test]
fn d14_what_cannot_be_said_is_refused_at_once_with_its_place() {
    for (operation, request, code, param) in [
        (Operation::Embeddings, json!({}), "invalid_value", "input"),
        (Operation::Embeddings, json!({"input": []}), "invalid_value", "input"),
        (Operation::Embeddings, json!({"input": [[1, 2]]}), "untranslatable_request", "input"),
        (Operation::Rerank, json!({"documents": ["a"]}), "invalid_value", "query"),
        (Operation::Rerank, json!({"query": "q", "documents": []}), "invalid_value", "documents"),
        (
            Operation::Rerank,
            json!({"query": "q", "documents": [1]}),
            "untranslatable_request",
            "documents[0]",
        ),
        (Operation::Rerank, json!({"query": "q", "documents": ["a"], "top_n": -1}), "invalid_value", "top_n"),
    ] {
        let refusal = call(&target("m", operation), operation, &request.to_string()).unwrap_err();
        assert_eq!((refusal.code, refusal.param.as_deref()), (code, Some(param)), "{request}");
    }
}

#[test]
fn probes_are_judged() {
    for (operation, mode, body, healthy) in [
        (Operation::Embeddings, Mode::Embedding, "[[0.1,0.2]]", true),
        (Operation::Embeddings, Mode::Embedding, "[[0.0,0.0]]", false),
        (Operation::Embeddings, Mode::Embedding, "[]", false),
        (Operation::Embeddings, Mode::Embedding, "{\"embeddings\":[[0.1]]}", false),
        (Operation::Rerank, Mode::Rerank, "[{\"index\":0,\"score\":0.5}]", true),
        (Operation::Rerank, Mode::Rerank, "[{\"index\":4,\"score\":0.5}]", false),
        (Operation::Rerank, Mode::Rerank, "[]", false),
    ] {
        let target = target("m", operation);
        let mut memory = ProbeMemory::default();
        let probe = target.probe(mode, &ProbeSettings::default(), &memory, 1).unwrap();
        let headers = HeaderMap::new();
        let answer = ProbeAnswer { status: 200, headers: &headers, body: body.as_bytes(), now_ms: 0 };
        let verdict = judge(&target, &probe.expect, &answer, &mut memory);
        assert_eq!(matches!(verdict, Judgement::Healthy { degraded: None }), healthy, "{body}: {verdict:?}");
    }
}
