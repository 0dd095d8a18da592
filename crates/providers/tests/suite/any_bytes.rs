//! Any bytes: model strings lead to their provider or nowhere, answers end as a judgement, streams as a step.

use bytes::Bytes;
use haleway_providers::{
    CallOptions, Mode, Operation, ProbeAnswer, ProbeMemory, ProbeSettings, Reply, judge,
};
use haleway_wire::Envelope;
use http::HeaderMap;
use proptest::prelude::*;
use serde_json::json;

use crate::common::{any, deployment};

/// Text that looks like what providers send, broken in places.
fn answer() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"choices\"",
        "\"message\"",
        "\"content\"",
        "\"error\"",
        "\"data\"",
        "\"embedding\"",
        "\"output\"",
        "\"type\"",
        "\"text\"",
        "\"finish_reason\"",
        "\"length\"",
        "null",
        "1e999",
        "-0",
        "data: ",
        "\n\n",
        "event: x\n",
        "<html>",
        "\"results\"",
        "\"index\"",
        "max_tokens must be at least ",
        "16",
        "\"message_start\"",
        "'x'",
        "voice [",
        "é",
        "\\u00",
        "\"candidates\"",
        "\"parts\"",
        "\"functionCall\"",
        "\"name\"",
        "\"finishReason\"",
        "\"embeddings\"",
        "\"done\"",
        "\"output\":{\"message\":{\"content\":[",
        "\"toolUse\"",
        "\"stopReason\"",
        "\"delta\"",
    ]);
    prop_oneof![
        prop::collection::vec(any_byte(), 0..200),
        prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat().into_bytes()),
    ]
}

fn any_byte() -> impl Strategy<Value = u8> {
    proptest::prelude::any::<u8>()
}

proptest! {
    #[test]
    fn any_answer_is_judged(body in answer(), status in 100_u16..600, mode in 0_usize..15, stream in proptest::prelude::any::<bool>()) {
        let mode = Mode::ALL[mode];
        for model in ["openai/gpt-5", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash", "cohere/command-a", "ollama/llama3", "bedrock/amazon.titan-x", "voyage/v"] {
            let target = any(model, Some("chat").filter(|_| !model.starts_with("voyage"))).unwrap();
            let mut memory = ProbeMemory { stream_only: stream, ..ProbeMemory::default() };
            if let Ok(probe) = target.probe(mode, &ProbeSettings::default(), &memory, 1) {
                let headers = HeaderMap::new();
                let answer = ProbeAnswer { status, headers: &headers, body: &body, now_ms: 0 };
                judge(&target, &probe.expect, &answer, &mut memory);
                probe.expect.enough(&target, &body);
            }
        }
    }

    #[test]
    fn any_event_is_a_step(events in prop::collection::vec(answer(), 0..6)) {
        for model in ["anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash", "cohere/command-a", "ollama/llama3", "bedrock/anthropic.claude-3-haiku"] {
            let target = any(model, None).unwrap();
            let request = br#"{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object"}}"#;
            let call = target.call(Operation::Chat, &Envelope::parse(request).unwrap(), None, CallOptions::default()).unwrap();
            let Reply::Translated(mut reader) = call.reply else { panic!("not translated") };
            let mut chunks: Vec<Bytes> = Vec::new();
            for event in &events {
                for name in ["x", "contentBlockStart", "contentBlockDelta", "messageStop", "metadata", "exception"] {
                    reader.event(Some(name), event, &mut chunks);
                }
                // An answer that cannot be read is an error, never a panic.
                assert!(reader.answer(event).is_err() || !event.is_empty());
            }
        }
    }

    #[test]
    fn a_key_never_leaves_for_another_providers_host(
        prefix in "[a-z_]{2,14}",
        known in prop::option::of(prop::sample::select(vec!["openai", "groq", "mistral", "anthropic", "xai", "deepseek", "nvidia_nim", "dashscope", "gemini", "cohere", "bedrock"])),
        id in "[ -~]{0,20}",
        base in prop::option::of("https://[a-z]{1,8}\\.example(/[a-z0-9]{1,5})?"),
        mode in prop::sample::select(vec!["chat", "embedding", "rerank", "responses"]),
    ) {
        let model = format!("{}/{id}", known.map_or(prefix.as_str(), |known| known));
        let mut params = json!({"model": model, "api_key": "sk-canary-1"});
        if let Some(base) = &base {
            params["api_base"] = json!(base);
        }
        let Ok(target) = deployment(params, Some(mode), &[]) else { return Ok(()) };
        let own = target.endpoint.clone();
        for operation in Operation::ALL {
            let body = br#"{"messages":[{"role":"user","content":"x"}],"query":"q","documents":["d"]}"#;
            if let Ok(call) = target.call(operation, &Envelope::parse(body).unwrap(), None, CallOptions::default()) {
                let reached = format!("{}://{}:443", call.uri.scheme_str().unwrap(), call.uri.host().unwrap());
                // NIM's hosted ranking and Bedrock's are at a second host of the provider's own.
                let second = match call.uri.host() {
                    Some("ai.api.nvidia.com") => true,
                    Some(host) => host.starts_with("bedrock-agent-runtime.") && host.ends_with(".amazonaws.com"),
                    None => false,
                };
                prop_assert!(reached == own || (base.is_none() && second), "{reached} {own}");
            }
        }
    }
}
