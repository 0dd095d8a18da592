//! Calls that cost nothing: where they go, what their answers say, and what real ones cost.

use haleway_health::Proof;
use haleway_providers::catalogue::{PriceKind, Prices, Usd};
use haleway_providers::registry::PROVIDERS;
use haleway_providers::{Judgement, ProbeAnswer, ProbeMemory, ProbePrice, ProbeSettings, Target, judge};
use http::{HeaderMap, HeaderValue, header};
use serde_json::json;

use crate::common::{any, deployment};

const KEY: Proof = Proof::CREDENTIAL;
const NOTHING: Proof = Proof::NOTHING;

#[test]
fn the_call_that_shows_most_is_the_one_that_is_made() {
    let model = Proof { model: true, ..KEY };
    for (name, mode, url, proof) in [
        ("openai/gpt-4o", None, "GET https://api.openai.com/v1/models/gpt-4o", KEY),
        ("openai/*", None, "GET https://api.openai.com/v1/models", KEY),
        ("anthropic/claude-x", None, "POST https://api.anthropic.com/v1/messages/count_tokens", KEY),
        (
            "gemini/gemini-2.5-flash",
            None,
            "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:countTokens",
            KEY,
        ),
        (
            "gemini/text-embedding-004",
            Some("embedding"),
            "GET https://generativelanguage.googleapis.com/v1beta/models/text-embedding-004",
            KEY,
        ),
        ("cohere/command-r", None, "GET https://api.cohere.com/v1/models/command-r", KEY),
        ("groq/llama-3.1-8b-instant", None, "GET https://api.groq.com/openai/v1/models", KEY),
        ("openrouter/a/b", None, "GET https://openrouter.ai/api/v1/key", KEY),
        ("fireworks_ai/m", None, "GET https://api.fireworks.ai/inference/v1/models", NOTHING),
        ("ollama/llama3", None, "GET http://localhost:11434/api/tags", NOTHING),
    ] {
        let target = any(name, mode).unwrap();
        let call = target.free_probe().unwrap().call;
        assert_eq!(format!("{} {}", call.method, call.uri), url, "{name}");
        assert_eq!(target.free_proof(), Some(proof), "{name}");
    }
    let own = |model: &str, base: &str| {
        deployment(json!({"model": model, "api_base": base, "api_key": "k"}), None, &[])
    };
    for (name, base, url, proof) in [
        ("openai/m", "http://own:8000/v1", "GET http://own:8000/v1/models", NOTHING),
        ("openai/m", "http://own:8000/v1?tenant=7", "GET http://own:8000/v1/models?tenant=7", NOTHING),
        ("hosted_vllm/m", "http://own:8000/v1", "GET http://own:8000/health", NOTHING),
        (
            "databricks/dbrx",
            "https://adb.example/serving-endpoints",
            "GET https://adb.example/api/2.0/serving-endpoints/dbrx",
            model,
        ),
        (
            "azure/dep",
            "https://res.openai.azure.com",
            "GET https://res.openai.azure.com/openai/models?api-version=2025-02-01-preview",
            KEY,
        ),
        (
            "azure/dep",
            "https://res.openai.azure.com/openai/v1",
            "GET https://res.openai.azure.com/openai/v1/models",
            KEY,
        ),
    ] {
        let target = own(name, base).unwrap();
        let call = target.free_probe().unwrap().call;
        assert_eq!(format!("{} {}", call.method, call.uri), url, "{name} at {base}");
        assert_eq!(target.free_proof(), Some(proof), "{name} at {base}");
    }
    let none = any("perplexity/sonar", None).unwrap();
    assert_eq!(none.free_proof(), None);
    assert_eq!(none.free_probe().unwrap_err().code, "no_free_call");
}

#[test]
fn a_free_call_carries_the_credential_of_traffic_to_no_other_host() {
    let mut sent = 0;
    for provider in &PROVIDERS {
        let prefix = provider.prefixes.first().unwrap_or(&"openai");
        let Ok(target) = any(&format!("{prefix}/some-model"), None) else { continue };
        let Ok(free) = target.free_probe() else { continue };
        let host = free.call.uri.host().unwrap();
        let own = host == target.endpoint.split("://").nth(1).unwrap().split(':').next().unwrap();
        assert!(own || host.starts_with("bedrock."), "{}: {}", provider.id, free.call.uri);
        assert!(!free.call.uri.to_string().contains('{'), "{}: {}", provider.id, free.call.uri);
        let real = target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 7);
        if let Ok(real) = real {
            let (mut real, mut free) = (real.call.headers, free.call.headers);
            real.remove(header::CACHE_CONTROL);
            // A clip or a form says so; a question has no body.
            real.remove(header::CONTENT_TYPE);
            free.remove(header::CONTENT_TYPE);
            assert_eq!(real, free, "{}", provider.id);
        }
        sent += 1;
    }
    assert!(sent >= 20, "{sent} providers");
}

fn answered(target: &Target, status: u16, body: &str) -> Judgement {
    let expect = target.free_probe().unwrap().expect;
    let answer =
        ProbeAnswer { status, headers: &HeaderMap::new(), body: body.as_bytes(), now_ms: 1_764_500_000_000 };
    judge(target, &expect, &answer, &mut ProbeMemory::default())
}

/// `healthy`, the class of an unhealthy answer, or the reason of one that says nothing.
fn word(judgement: &Judgement) -> &str {
    match judgement {
        Judgement::Healthy { .. } => "healthy",
        Judgement::Unhealthy(finding) => finding.class.as_str(),
        Judgement::Unknown(finding) => finding.reason,
        Judgement::Repair(lesson) => lesson,
    }
}

#[test]
fn answers_to_free_calls_are_judged() {
    let openai = any("openai/gpt-4o", None).unwrap();
    let groq = any("groq/m", None).unwrap();
    let missing = r#"{"error":{"message":"The model 'gpt-4o' does not exist","type":"invalid_request_error","code":"model_not_found"}}"#;
    let refused = r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#;
    let scope = r#"{"error":{"message":"You have insufficient permissions for this operation. Missing scopes: api.model.read.","type":"invalid_request_error"}}"#;
    for (target, status, body, wanted) in [
        (&openai, 200, r#"{"id":"gpt-4o","object":"model"}"#, "healthy"),
        (&groq, 200, r#"{"object":"list","data":[]}"#, "healthy"),
        (&groq, 200, "{}", "free_call_unexpected"),
        (&groq, 200, "<html>hello</html>", "free_call_unexpected"),
        (&groq, 200, r#"{"error":{"message":"boom","type":"server_error"}}"#, "server_error"),
        (&openai, 401, refused, "auth"),
        (&openai, 404, missing, "model_not_found"),
        (&groq, 404, missing, "probe_path_404"),
        (&groq, 404, "not found", "probe_path_404"),
        (&groq, 405, "", "probe_path_404"),
        (&openai, 403, scope, "free_call_forbidden"),
        (&groq, 500, "", "server_error"),
        (&groq, 429, "", "rate_limit"),
        (&groq, 400, r#"{"error":{"message":"bad"}}"#, "probe_invalid"),
    ] {
        let judgement = answered(target, status, body);
        assert_eq!(word(&judgement), wanted, "{status} {body}: {judgement:?}");
    }
    let vllm =
        deployment(json!({"model": "hosted_vllm/m", "api_base": "http://own:8000/v1"}), None, &[]).unwrap();
    assert_eq!(word(&answered(&vllm, 200, "")), "healthy", "an engine's health has no body");
    assert_ne!(word(&answered(&vllm, 503, "")), "healthy");
    let params = json!({"model": "databricks/m", "api_base": "https://adb.example", "api_key": "k"});
    let databricks = deployment(params, None, &[]).unwrap();
    assert_eq!(word(&answered(&databricks, 200, r#"{"state":{"ready":"READY"}}"#)), "healthy");
    assert_eq!(
        word(&answered(&databricks, 200, r#"{"state":{"ready":"NOT_READY"}}"#)),
        "free_call_unexpected"
    );
}

#[test]
fn credit_is_shown_by_the_answer_only() {
    let openrouter = any("openrouter/a/b", None).unwrap();
    let expect = openrouter.free_probe().unwrap().expect;
    let shows = |body: &str| expect.proof(&openrouter, body.as_bytes()).credit;
    assert!(shows(r#"{"data":{"limit_remaining":1.5}}"#));
    for body in [r#"{"data":{"limit_remaining":0}}"#, r#"{"data":{"limit_remaining":null}}"#, "{}", "no"] {
        assert!(!shows(body), "{body}");
    }
}

fn price(target: &Target, prices: &Prices, status: u16, body: &str) -> ProbePrice {
    let probe = target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 7).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let answer = ProbeAnswer { status, headers: &headers, body: body.as_bytes(), now_ms: 0 };
    let asks = probe.expect.asks(&probe.call.body.to_bytes());
    probe.expect.price(target, prices, &asks, Some(&answer))
}

fn at(kind: PriceKind, dollars: &str) -> Prices {
    let mut prices = Prices::NONE;
    prices.set(kind, Some(Usd::parse(dollars).unwrap()));
    prices
}

#[test]
fn what_an_answer_states_is_what_a_probe_costs_on_every_wire() {
    let mut prices = at(PriceKind::InputToken, "0.01");
    prices.set(PriceKind::OutputToken, Some(Usd::parse("0.1").unwrap()));
    for (model, body) in [
        ("openai/gpt-4o", r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}"#),
        (
            "anthropic/claude-x",
            r#"{"id":"a","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"2"}],"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":2}}"#,
        ),
        (
            "gemini/gemini-2.5-flash",
            r#"{"candidates":[{"content":{"parts":[{"text":"2"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":2,"totalTokenCount":9}}"#,
        ),
    ] {
        let found = price(&any(model, None).unwrap(), &prices, 200, body);
        assert_eq!(found.usd.map(|usd| usd.to_string()).as_deref(), Some("0.27"), "{model}");
        assert_eq!((found.estimated, found.tokens), (false, 9), "{model}");
    }
}

#[test]
fn what_no_answer_states_is_estimated_from_the_request() {
    let estimate = |model: &str, mode: &str, prices: &Prices| {
        let found = price(&any(model, Some(mode)).unwrap(), prices, 200, "{}");
        assert!(found.estimated, "{model}");
        found.usd.map(|usd| usd.to_string())
    };
    let dollars = |text: &str| Some(text.to_owned());
    assert_eq!(estimate("openai/tts-1", "audio_speech", &at(PriceKind::InputCharacter, "0.5")), dollars("1"));
    assert_eq!(
        estimate("openai/dall-e-2", "image_generation", &at(PriceKind::OutputImage, "0.04")),
        dollars("0.04")
    );
    assert_eq!(
        estimate("openai/dall-e-2", "image_generation", &at(PriceKind::OutputPixel, "0.001")),
        dollars("65.536"),
        "256 x 256"
    );
    assert_eq!(estimate("cohere/rerank-v3.5", "rerank", &at(PriceKind::Query, "0.002")), dollars("0.002"));
    let capped = estimate("openai/gpt-4o", "chat", &at(PriceKind::OutputToken, "1"));
    assert_eq!(capped, dollars("16"), "the cap");
}

#[test]
fn errors_and_lists_cost_nothing_and_an_unknown_price_is_not_zero() {
    let openai = any("openai/gpt-4o", None).unwrap();
    assert_eq!(price(&openai, &at(PriceKind::InputToken, "1"), 500, "{}"), ProbePrice::NOTHING);
    assert_eq!(price(&openai, &Prices::NONE, 200, "{}").usd, None);
    let batch = any("openai/gpt-4o", Some("batch")).unwrap();
    assert_eq!(price(&batch, &at(PriceKind::Request, "1"), 200, r#"{"data":[]}"#), ProbePrice::NOTHING);
}
