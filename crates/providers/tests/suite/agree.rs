//! A probe reaches exactly what traffic reaches: the same URL, host, credential and model, for any model string.

use haleway_providers::{
    Call, CallOptions, Mode, Operation, ProbeMemory, ProbeSettings, Refusal, ResolveError, Target,
};
use haleway_wire::{Envelope, Form};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{any, deployment};

/// Where a call arrives, with which credential and for which model.
#[derive(Debug, PartialEq)]
struct Reached {
    url: String,
    credential: Vec<(String, Vec<u8>)>,
    model: Value,
}

/// Every header that may hold a credential, of any provider.
fn reached(call: &Call) -> Reached {
    let secret = |name: &str| {
        name.contains("auth") || name.contains("key") || name.contains("token") || name == "x-sub"
    };
    let mut credential: Vec<_> = call
        .headers
        .iter()
        .filter(|(name, value)| secret(name.as_str()) || value.is_sensitive())
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    credential.sort();
    let bytes = call.body.to_bytes();
    let kind = call.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap());
    let model = if let Ok(form) = Form::parse(kind, &bytes) {
        form.parts().iter().find(|part| part.name == "model").and_then(|part| part.text()).map(Value::from)
    } else {
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        ["model", "model_id"].iter().find_map(|name| body.get(name).cloned())
    };
    // How the sound is wanted is the caller's choice, as the cap of a chat is.
    let url = call.uri.to_string().replace("?output_format=mp3_22050_32", "");
    Reached { url, credential, model: model.unwrap_or_default() }
}

/// A caller's call that is served as the operation wants it.
fn traffic(target: &Target, operation: Operation) -> Result<Call, Refusal> {
    if operation == Operation::Realtime {
        return target.session(None, None);
    }
    if operation.file().is_some() {
        let fields = if operation == Operation::ImageEdits { json!({"prompt": "x"}) } else { json!({}) };
        return crate::media::upload(target, operation, &fields);
    }
    let text = said(operation).to_string();
    target.call(operation, &Envelope::parse(text.as_bytes()).unwrap(), None, CallOptions::default())
}

/// The least that a caller says.
fn said(operation: Operation) -> Value {
    let messages = json!([{"role": "user", "content": "x"}]);
    let document = json!({"type": "document_url", "document_url": "https://own.example/a.pdf"});
    let table = [
        (Operation::Chat, json!({"messages": messages})),
        (Operation::Messages, json!({"messages": messages, "max_tokens": 9})),
        (Operation::Completions, json!({"prompt": "x"})),
        (Operation::Images, json!({"prompt": "x"})),
        (Operation::Rerank, json!({"query": "q", "documents": ["d"]})),
        (Operation::Speech, json!({"input": "x", "voice": "alloy"})),
        (Operation::Ocr, json!({"document": document})),
    ];
    let own = table.into_iter().find(|(known, _)| *known == operation);
    own.map_or_else(|| json!({"input": "x"}), |(_, body)| body)
}

/// Every mode that is probed with the request that traffic sends. Batches and videos are probed by a free call: nothing is
/// made for a probe.
const MODES: [(Mode, Operation); 12] = [
    (Mode::Chat, Operation::Chat),
    (Mode::Completion, Operation::Completions),
    (Mode::Embedding, Operation::Embeddings),
    (Mode::Responses, Operation::Responses),
    (Mode::Rerank, Operation::Rerank),
    (Mode::AnthropicMessages, Operation::Messages),
    (Mode::AudioSpeech, Operation::Speech),
    (Mode::AudioTranscription, Operation::Transcriptions),
    (Mode::ImageGeneration, Operation::Images),
    (Mode::ImageEdit, Operation::ImageEdits),
    (Mode::Ocr, Operation::Ocr),
    (Mode::Realtime, Operation::Realtime),
];

/// What a probe and a call reach, where both can be made.
fn reach(target: &Target, mode: Mode, operation: Operation) -> Option<[Reached; 2]> {
    let probe = target.probe(mode, &ProbeSettings::default(), &ProbeMemory::default(), 3).ok()?.call;
    let traffic = traffic(target, operation).ok()?;
    Some([reached(&probe), reached(&traffic)])
}

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

/// Every provider in every mode that it serves: what is probed is what is called, and both can be made.
#[test]
fn a12_every_provider_agrees_in_every_mode_it_serves() {
    let file: Value = serde_json::from_str(include_str!("../fixtures/providers.json")).unwrap();
    let providers = file.as_object().unwrap();
    let (mut compared, mut wrong, mut silent) = (0, Vec::new(), Vec::new());
    for provider in providers.keys() {
        let before = compared;
        let prefix = if provider == "openai_compatible" { "openai" } else { provider.as_str() };
        for (mode, operation) in MODES {
            let id = match (prefix, mode) {
                ("bedrock", Mode::Embedding) => "amazon.titan-embed-text-v2:0",
                ("bedrock", Mode::Rerank) => "arn:aws:bedrock:us-west-2::foundation-model/amazon.rerank-v1:0",
                ("bedrock", Mode::ImageGeneration) => "amazon.nova-canvas-v1:0",
                ("bedrock", _) => "anthropic.claude-3-haiku-20240307-v1:0",
                ("replicate", _) => "owner/model",
                _ => "some-model",
            };
            let params = json!({
                "model": format!("{prefix}/{id}"), "api_key": "sk-canary-1", "vertex_project": "p", "project_id": "p",
                "api_version": "2024-10-21",
                "api_base": (provider == "openai_compatible").then_some("https://own.example/v1"),
            });
            let mut params = params;
            if params["api_base"].is_null() {
                params.as_object_mut().unwrap().remove("api_base");
            }
            let made = deployment(params.clone(), Some(mode.as_str()), &[]);
            let target = match made {
                Err(ResolveError::MissingBase { .. }) => {
                    params["api_base"] = json!("https://own.example");
                    deployment(params, Some(mode.as_str()), &[])
                }
                other => other,
            };
            let Ok(target) = target else { continue };
            match reach(&target, mode, operation) {
                Some([probe, traffic]) if probe != traffic => {
                    wrong.push(format!("{provider} {mode}:\n  {probe:?}\n  {traffic:?}"));
                }
                Some(_) => compared += 1,
                None => {
                    let (probe, call) = (
                        target.probe(mode, &ProbeSettings::default(), &ProbeMemory::default(), 3).err(),
                        traffic(&target, operation).err(),
                    );
                    if probe.is_some() != call.is_some() {
                        wrong.push(format!("{provider} {mode}: only one can be made: {probe:?} {call:?}"));
                    }
                }
            }
        }
        if compared == before {
            silent.push(provider.as_str());
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(providers.len(), 41);
    // `huggingface/` with a base of its own is a TEI server; it has no prefix.
    assert_eq!(silent, ["tei"], "providers of which nothing was compared");
    assert!(compared >= 120, "only {compared} pairs were compared");
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
            "vertex_ai", "vertex_ai/claude-", "vertex_ai/openai", "watsonx", "replicate", "replicate/deployments", "deepgram",
            "elevenlabs", "dashscope", "xai", "perplexity", "cerebras", "vertex_ai_beta",
        ]),
        id in "[a-zA-Z0-9][a-zA-Z0-9._:@-]{0,12}(/[a-zA-Z0-9._:-]{1,8}){0,2}",
        base in prop::option::of(prop::sample::select(vec![
            "http://own.local:9/v1", "https://r.openai.azure.com", "https://r.services.ai.azure.com/", "https://own.example/openai/v1",
        ])),
        version in prop::option::of(prop::sample::select(vec!["2024-06-01", "v1", "preview"])),
    ) {
        let mut params = json!({"model": format!("{prefix}/{id}"), "api_key": "sk-canary-1", "extra_headers": {"x-sub": "s"}, "vertex_project": "p", "project_id": "p"});
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
