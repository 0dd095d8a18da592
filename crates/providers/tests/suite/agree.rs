//! A probe reaches exactly what traffic reaches: the same URL, host, credential and model, for any model string.

use haleway_providers::{CallOptions, Mode, Operation, ProbeMemory, ProbeSettings, Target};
use haleway_wire::Envelope;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{any, deployment};

/// What a call reaches.
fn reach(target: &Target, mode: Mode, operation: Operation) -> Option<[(String, Vec<u8>, Value); 2]> {
    let probe = target.probe(mode, &ProbeSettings::default(), &ProbeMemory::default(), 3).ok()?.call;
    let client = r#"{"model":"group","messages":[{"role":"user","content":"x"}],"input":"x","prompt":"x","query":"q","documents":["d"]}"#;
    let body = Envelope::parse(client.as_bytes()).unwrap();
    let traffic = target.call(operation, &body, None, CallOptions::default()).ok()?;
    Some([probe, traffic].map(|call| {
        let mut auth = Vec::new();
        for name in ["authorization", "api-key", "x-api-key", "x-goog-api-key", "x-sub"] {
            auth.extend_from_slice(call.headers.get(name).map_or(&b"-"[..], |value| value.as_bytes()));
        }
        let body: Value = serde_json::from_slice(&call.body.to_bytes()).unwrap();
        (call.uri.to_string(), auth, body["model"].clone())
    }))
}

const MODES: [(Mode, Operation); 5] = [
    (Mode::Chat, Operation::Chat),
    (Mode::Completion, Operation::Completions),
    (Mode::Embedding, Operation::Embeddings),
    (Mode::Responses, Operation::Responses),
    (Mode::Rerank, Operation::Rerank),
];

fn assert_agreement(target: &Target) -> usize {
    let mut compared = 0;
    for (mode, operation) in MODES {
        if let Some([probe, traffic]) = reach(target, mode, operation) {
            assert_eq!(probe, traffic, "{} {mode}", target.full_model);
            compared += 1;
        }
    }
    compared
}

#[test]
fn a12_the_named_model_strings_agree() {
    for model in [
        "azure/x",
        "openai/org/x",
        "hosted_vllm/a/b",
        "azure/responses/x",
        "anthropic/claude-haiku-4-5",
        "groq/openai/x",
        "gemini/gemini-2.5-flash",
        "cohere_chat/command-a-03-2025",
        "ollama_chat/llama3.2",
        "bedrock/us-west-2/anthropic.claude-3-haiku-20240307-v1:0",
        "bedrock/global.amazon.titan-embed-text-v2:0",
        "bedrock/arn:aws:bedrock:us-west-2::foundation-model/amazon.rerank-v1:0",
    ] {
        assert!(assert_agreement(&any(model, None).unwrap()) > 0, "{model}");
    }
    // Regions stay out of the id and in the name.
    for model in ["bedrock/global.x", "bedrock/us-west-2/x"] {
        let name = haleway_providers::split_model(model, None, None).unwrap();
        assert_eq!(name.id, model.rsplit('/').next().unwrap());
    }
}

proptest! {
    #[test]
    fn a12_probe_and_traffic_agree_for_any_model_string(
        prefix in prop::sample::select(vec![
            "openai", "azure", "hosted_vllm", "groq", "anthropic", "together_ai", "fireworks_ai", "openrouter", "azure_ai",
            "voyage", "jina_ai", "nvidia_nim", "mistral", "deepseek", "huggingface", "lm_studio", "azure/o_series",
            "azure/responses", "openai/responses", "text-completion-openai", "custom_openai", "gemini", "cohere", "ollama", "bedrock", "bedrock/us-west-2", "bedrock/eu-west-1/anthropic.claude", "bedrock/titan",
        ]),
        id in "[a-zA-Z0-9][a-zA-Z0-9._:@-]{0,12}(/[a-zA-Z0-9._:-]{1,8}){0,2}",
        base in prop::option::of(prop::sample::select(vec![
            "http://own.local:9/v1", "https://r.openai.azure.com", "https://r.services.ai.azure.com/", "https://own.example/openai/v1",
        ])),
        version in prop::option::of(prop::sample::select(vec!["2024-06-01", "v1", "preview"])),
    ) {
        let mut params = json!({"model": format!("{prefix}/{id}"), "api_key": "sk-canary-1", "extra_headers": {"x-sub": "s"}});
        if let Some(base) = base {
            params["api_base"] = json!(base);
        }
        if let Some(version) = version {
            params["api_version"] = json!(version);
        }
        if let Ok(target) = deployment(params, None, &[]) {
            assert_agreement(&target);
            let shown = format!("{:?}", target);
            prop_assert!(!shown.contains("canary"));
        }
    }
}
