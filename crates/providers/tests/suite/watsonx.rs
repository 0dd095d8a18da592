//! IBM watsonx against golden files (see `golden`), where it is called, and what it needs.

use haleway_providers::{Mode, Operation, ProbeMemory, ProbeSettings, Step, Target};
use serde_json::json;

use crate::common::{call, deployment, headers, url};
use crate::golden::Golden;

fn target(model: &str, operation: Operation) -> Target {
    let model = if model == "group" { "ibm/granite-3-8b-instruct" } else { model };
    let mode = match operation {
        Operation::Embeddings => Some("embedding"),
        Operation::Rerank => Some("rerank"),
        Operation::Chat
        | Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::Moderations
        | Operation::Images
        | Operation::Speech
        | Operation::Ocr
        | Operation::Transcriptions
        | Operation::Translations
        | Operation::ImageEdits
        | Operation::ImageVariations
        | Operation::CountTokens
        | Operation::Realtime
        | Operation::Files
        | Operation::Batches
        | Operation::Videos => None,
    };
    let params =
        json!({ "model": format!("watsonx/{model}"), "api_key": "k-canary-1", "project_id": "proj" });
    deployment(params, mode, &[]).unwrap()
}

fn golden() -> Golden {
    Golden::new("watsonx", target)
}

#[test]
fn requests_are_translated() {
    golden().requests(7, |name, call| {
        assert!(call.headers.get("authorization").is_none(), "{name}: the token comes when the call is sent");
        assert!(!String::from_utf8_lossy(&call.body.to_bytes()).contains("canary"), "{name}");
        let path = match name {
            "chat" => "text/chat",
            "chat_stream" => "text/chat_stream",
            "chat_deployed" => "deployments/1234-abcd/text/chat",
            "complete" => "text/generation",
            "complete_stream" => "text/generation_stream",
            "embed" => "text/embeddings",
            "rerank" => "text/rerank",
            name => panic!("{name}"),
        };
        let expected = format!("https://us-south.ml.cloud.ibm.com/ml/v1/{path}?version=2024-03-13");
        assert_eq!(call.uri.to_string(), expected, "{name}");
    });
}

#[test]
fn answers_are_translated() {
    golden().answers(5);
}

#[test]
fn streams_are_translated_event_by_event() {
    for (name, last) in golden().streams(4) {
        match name.as_str() {
            "error" => assert!(matches!(last, Step::Failed(_)), "{name}: {last:?}"),
            _ => assert_eq!(last, Step::Done, "{name}"),
        }
    }
}

#[test]
fn place_version_and_project_are_the_operators() {
    let params = json!({"model": "watsonx/m", "api_key": "k", "watsonx_region_name": "eu-de", "api_version": "2025-01-01"});
    let env = [("WATSONX_PROJECT_ID", "p-env")];
    let target = deployment(params.clone(), None, &env).unwrap();
    assert_eq!(
        url(&target, Operation::Chat).unwrap(),
        "https://eu-de.ml.cloud.ibm.com/ml/v1/text/chat?version=2025-01-01"
    );
    let body = r#"{"model":"g","messages":[{"role":"user","content":"x"}]}"#;
    let sent = call(&target, Operation::Chat, body).unwrap();
    assert_eq!(crate::common::body(&sent)["project_id"], "p-env");
    let nowhere = deployment(params, None, &[]).unwrap();
    let refusal = call(&nowhere, Operation::Chat, body).unwrap_err();
    assert_eq!(refusal.param.as_deref(), Some("project_id"));
}

/// A key is exchanged; a token and a Zen key are sent as they are.
#[test]
fn credentials_have_an_order() {
    let of = |more: serde_json::Value, env: &[(&str, &str)]| {
        let mut params = json!({"model": "watsonx/m", "space_id": "s"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        deployment(params, None, env).unwrap()
    };
    let header = |target: &Target| headers(target)["authorization"].to_str().unwrap().to_owned();
    assert_eq!(header(&of(json!({"zen_api_key": "z", "token": "t"}), &[])), "ZenApiKey z");
    assert_eq!(header(&of(json!({"token": "t"}), &[])), "Bearer t");
    assert_eq!(header(&of(json!({}), &[("WATSONX_TOKEN", "t"), ("WATSONX_APIKEY", "k")])), "Bearer t");
    let exchanged = of(json!({"api_key": "k"}), &[("WATSONX_TOKEN", "t")]);
    assert_eq!(exchanged.credential_kind(), "ibm_iam");
    assert!(headers(&exchanged).get("authorization").is_none());
    assert_eq!(deployment(json!({"model": "watsonx/m"}), None, &[]).unwrap_err().code(), "missing_api_key");
}

#[test]
fn every_mode_has_a_probe() {
    for mode in [Mode::Chat, Mode::Completion, Mode::Embedding, Mode::Rerank] {
        let params = json!({"model": "watsonx/m", "api_key": "k", "project_id": "p"});
        let target = deployment(params, Some(mode.as_str()), &[]).unwrap();
        let probe = target.probe(mode, &ProbeSettings::default(), &ProbeMemory::default(), 1);
        assert!(probe.is_ok(), "{mode}: {probe:?}");
    }
}
