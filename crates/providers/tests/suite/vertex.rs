//! Vertex AI against golden files (see `golden`), where each model is called, and for whom.

use haleway_providers::{Mode, Operation, ProbeMemory, ProbeSettings, Step, Target};
use serde_json::{Value, json};

use crate::common::{call, deployment, url};
use crate::golden::Golden;

fn mode(operation: Operation) -> Option<&'static str> {
    match operation {
        Operation::Embeddings => Some("embedding"),
        Operation::Images => Some("image_generation"),
        Operation::Rerank => Some("rerank"),
        Operation::Chat
        | Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::Moderations
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
    }
}

fn target(model: &str, operation: Operation) -> Target {
    let model = if model == "group" { "gemini-2.5-flash" } else { model };
    let params = json!({ "model": format!("vertex_ai/{model}"), "vertex_project": "proj", "vertex_location": "europe-west4" });
    deployment(params, mode(operation), &[]).unwrap()
}

fn golden() -> Golden {
    Golden::new("vertex", target)
}

#[test]
fn requests_are_translated_and_called_where_their_model_is() {
    golden().requests(11, |name, call| {
        assert!(call.headers.get("authorization").is_none(), "{name}: the token comes when the call is sent");
        let url = call.uri.to_string();
        let host = "https://europe-west4-aiplatform.googleapis.com/v1/projects/proj/locations/europe-west4";
        let path = match name {
            "text" => "publishers/google/models/gemini-2.5-flash:generateContent",
            "claude" => "publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict",
            "claude_stream" => "publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict",
            "embed_predict" => "publishers/google/models/text-embedding-005:predict",
            "embed_content" => "publishers/google/models/gemini-embedding-2-preview:embedContent",
            "embed_multimodal" => "publishers/google/models/multimodalembedding@001:predict",
            "picture_imagen" => "publishers/google/models/imagen-4.0-generate-001:predict",
            "picture_gemini" => "publishers/google/models/gemini-2.5-flash-image:generateContent",
            "maas" => "endpoints/openapi/chat/completions",
            "mistral" => "publishers/mistralai/models/mistral-small-2503:streamRawPredict",
            "rerank" => {
                assert_eq!(url, "https://discoveryengine.googleapis.com/v1/projects/proj/locations/global/rankingConfigs/default_ranking_config:rank");
                return;
            }
            name => panic!("{name}"),
        };
        assert_eq!(url, format!("{host}/{path}"), "{name}");
    });
}

#[test]
fn answers_are_translated() {
    golden().answers(8);
}

#[test]
fn streams_are_translated_event_by_event() {
    for (name, last) in golden().streams(2) {
        assert_eq!(last, Step::Done, "{name}");
    }
}

/// Global, whole continents, the operator's own host, and a base that names the model.
#[test]
fn the_host_follows_the_location_and_the_base() {
    let at = |more: Value| {
        let mut params = json!({"model": "vertex_ai/gemini-2.5-flash", "vertex_project": "p"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        url(&deployment(params, None, &[("VERTEXAI_LOCATION", "asia-east1")]).unwrap(), Operation::Chat)
            .unwrap()
    };
    let tail = "publishers/google/models/gemini-2.5-flash:generateContent";
    for (more, begins) in [
        (json!({}), "https://asia-east1-aiplatform.googleapis.com/v1/projects/p/locations/asia-east1/"),
        (
            json!({"vertex_location": "global"}),
            "https://aiplatform.googleapis.com/v1/projects/p/locations/global/",
        ),
        (
            json!({"vertex_ai_location": "eu"}),
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/",
        ),
        (json!({"api_base": "http://gw.local:9"}), "http://gw.local:9/v1/projects/p/locations/asia-east1/"),
        (
            json!({"api_base": "http://gw.local:9/v1beta1/"}),
            "http://gw.local:9/v1beta1/projects/p/locations/asia-east1/",
        ),
    ] {
        assert_eq!(at(more), format!("{begins}{tail}"));
    }
    let whole = at(json!({"api_base": "https://psc.local/v1/projects/x/locations/y/endpoints/7"}));
    assert_eq!(whole, "https://psc.local/v1/projects/x/locations/y/endpoints/7:generateContent");
    for (model, path) in [
        ("4965075652664360960", "endpoints/4965075652664360960:generateContent"),
        ("gemini/4965075652664360960", "endpoints/4965075652664360960:generateContent"),
        ("openai/5464397967697903616", "endpoints/5464397967697903616/chat/completions"),
        ("openai/gpt-oss-120b-maas", "endpoints/openapi/chat/completions"),
        ("jamba-1.5-mini", "publishers/ai21/models/jamba-1.5-mini:rawPredict"),
    ] {
        let found = url(&target(model, Operation::Chat), Operation::Chat).unwrap();
        assert!(found.ends_with(path), "{model}: {found}");
    }
}

#[test]
fn the_project_is_the_deployments_the_environments_or_the_credentials() {
    let key =
        json!({"type": "service_account", "client_email": "a@b", "private_key": "k", "project_id": "of-key"});
    let project = |params: Value, env: &[(&str, &str)]| {
        let mut whole = json!({"model": "vertex_ai/gemini-2.5-flash"});
        whole.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        deployment(whole, None, env).map(|target| url(&target, Operation::Chat).unwrap())
    };
    let inline = json!({"vertex_credentials": key.to_string()});
    assert!(project(inline.clone(), &[]).unwrap().contains("/projects/of-key/"));
    assert!(project(json!({"vertex_credentials": key}), &[]).unwrap().contains("/projects/of-key/"));
    assert!(project(inline, &[("VERTEXAI_PROJECT", "env")]).unwrap().contains("/projects/env/"));
    assert_eq!(project(json!({}), &[]).unwrap_err().code(), "missing_project");
    let broken = project(json!({"vertex_credentials": "{\"type\":\"canary\"}"}), &[]).unwrap_err();
    assert_eq!(broken.code(), "invalid_credential");
    let express =
        deployment(json!({"model": "vertex_ai/gemini-2.5-flash", "api_key": "k-canary-1"}), None, &[])
            .unwrap();
    let sent = call(&express, Operation::Chat, r#"{"messages":[{"role":"user","content":"x"}]}"#).unwrap();
    assert_eq!(sent.headers["x-goog-api-key"], "k-canary-1");
    assert!(sent.uri.path().starts_with("/v1/publishers/google/models/"), "{}", sent.uri);
    assert!(express.credential_source.is_none());
}

#[test]
fn claude_takes_a_clients_own_message_too() {
    let target = target("claude-sonnet-4-5@20250929", Operation::Messages);
    let message =
        r#"{"model":"group","max_tokens":9,"messages":[{"role":"user","content":"x"}],"stream":true}"#;
    let sent = call(&target, Operation::Messages, message).unwrap();
    let body: Value = serde_json::from_slice(&sent.body.to_bytes()).unwrap();
    assert_eq!(
        body,
        json!({"max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "stream": true, "anthropic_version": "vertex-2023-10-16"})
    );
}

#[test]
fn every_mode_has_a_probe_on_the_road_of_its_traffic() {
    for (model, mode) in [
        ("gemini-2.5-flash", Mode::Chat),
        ("claude-haiku-4-5@20251001", Mode::Chat),
        ("claude-haiku-4-5@20251001", Mode::AnthropicMessages),
        ("meta/llama-4-scout-17b-16e-instruct-maas", Mode::Chat),
        ("text-embedding-005", Mode::Embedding),
        ("imagen-4.0-generate-001", Mode::ImageGeneration),
        ("semantic-ranker-default-004", Mode::Rerank),
        ("gemini-2.5-flash", Mode::Batch),
    ] {
        let params = json!({"model": format!("vertex_ai/{model}"), "vertex_project": "proj"});
        let target = deployment(params, Some(mode.as_str()), &[]).unwrap();
        let probe = target.probe(mode, &ProbeSettings::default(), &ProbeMemory::default(), 1);
        assert!(probe.is_ok(), "{model} {mode}: {probe:?}");
    }
}
