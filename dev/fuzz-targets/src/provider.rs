//! Answers of providers, whole and streamed, and requests that are said over another API.

use std::sync::OnceLock;

use bytes::Bytes;
use haleway_providers::catalogue::{Catalogue, Prices};
use haleway_providers::classify::{Answer, StatusLists, classify};
use haleway_providers::{
    CallOptions, DeploymentSource, EventReader, Mode, Operation, ProbeAnswer, ProbeMemory, ProbeSettings,
    Reply, Step, Target, judge, resolve,
};
use haleway_wire::Envelope;
use http::HeaderMap;
use secrecy::SecretString;
use serde_json::Map;

use crate::steered;

/// One model per wire.
const MODELS: [(&str, Mode); 14] = [
    ("openai/gpt-5", Mode::Chat),
    ("anthropic/claude-haiku-4-5", Mode::Chat),
    ("gemini/gemini-2.5-flash", Mode::Chat),
    ("cohere/command-a", Mode::Chat),
    ("ollama/llama3", Mode::Chat),
    ("bedrock/anthropic.claude-3-haiku", Mode::Chat),
    ("bedrock/amazon.titan-embed-text-v2:0", Mode::Embedding),
    ("voyage/v", Mode::Rerank),
    ("gemini/gemini-2.5-flash-preview-tts", Mode::AudioSpeech),
    ("deepgram/nova-3", Mode::AudioTranscription),
    ("elevenlabs/scribe_v1", Mode::AudioTranscription),
    ("dashscope/qwen-image", Mode::ImageGeneration),
    ("replicate/owner/model", Mode::Chat),
    ("mistral/mistral-ocr-latest", Mode::Ocr),
];

fn targets() -> &'static [Target] {
    static TARGETS: OnceLock<Vec<Target>> = OnceLock::new();
    TARGETS.get_or_init(|| MODELS.iter().map(|(model, mode)| target(model, *mode)).collect())
}

fn target(model: &str, mode: Mode) -> Target {
    let made = resolve(&DeploymentSource {
        model,
        custom_llm_provider: None,
        statuses: &StatusLists::default(),
        api_base: None,
        api_key: Some(SecretString::from("sk-canary-1")),
        api_version: None,
        organization: None,
        mode: Some(mode.as_str()),
        base_model: None,
        prices: &Prices::NONE,
        catalogue: &Catalogue::builtin(),
        extra_headers: &[],
        extra_body: None,
        params: &Map::new(),
        drop_params: false,
        additional_drop_params: &[],
        env: &|name| (name == "OLLAMA_API_BASE").then(|| "http://own.example".to_owned()),
        file: &|_| None,
    });
    made.unwrap_or_else(|error| panic!("{model}: {error}"))
}

fn chosen(number: usize) -> &'static Target {
    let targets = targets();
    targets.get(number % targets.len()).expect("a number below the length")
}

/// A whole answer: classified, judged as a probe's, and translated or refused. No key is in any word of it.
pub fn answer(data: &[u8]) {
    let ([which, low, high], body) = steered::<3>(data);
    let target = chosen(which);
    let status = u16::try_from(100 + (low + 256 * high) % 500).expect("below 600");
    let headers = HeaderMap::new();
    let fault = classify(&Answer {
        provider: target.provider.id,
        mode: target.mode,
        status,
        headers: &headers,
        body,
        now_ms: 1_764_500_000_000,
    });
    assert!(!target.without_own_secrets(fault.message).contains("sk-canary-1"), "a key is quoted");
    let mut memory = ProbeMemory::default();
    if let Ok(probe) = target.probe(target.mode, &ProbeSettings::default(), &memory, 1) {
        let answer = ProbeAnswer { status, headers: &headers, body, now_ms: 0 };
        judge(target, &probe.expect, &answer, &mut memory);
        probe.expect.enough(target, body);
        if let Reply::Translated(mut reader) = probe.call.reply {
            drop(reader.progress(body));
        }
    }
}

/// A streamed answer, in pieces of any size, up to its last word.
pub fn stream(data: &[u8]) {
    let ([which, step], body) = steered::<2>(data);
    let target = chosen(which);
    let request = br#"{"messages":[{"role":"user","content":"x"}],"stream":true}"#;
    let request = Envelope::parse(request).expect("a request");
    let options = CallOptions { stream: true, ..CallOptions::default() };
    let Ok(call) = target.call(Operation::Chat, &request, None, options) else { return };
    let mut reader = EventReader::new(call.reply.framing());
    let Reply::Translated(mut translator) = call.reply else { return };
    let mut chunks: Vec<Bytes> = Vec::new();
    for piece in body.chunks(step + 1) {
        reader.push(piece);
        while let Ok(Some(event)) = reader.next_event() {
            let step = translator.event(event.name(), &event.data, &mut chunks);
            if step != Step::More {
                return;
            }
        }
    }
    translator.end(&mut chunks);
    for chunk in &chunks {
        assert!(
            serde_json::from_slice::<serde_json::Value>(chunk).is_ok(),
            "a chunk of {} that is no JSON: {:?}",
            target.full_model,
            String::from_utf8_lossy(chunk)
        );
    }
}

/// A request of one API that is said over another: refused with a word, or a body that is JSON.
pub fn bridge(data: &[u8]) {
    const OPERATIONS: [Operation; 3] = [Operation::Chat, Operation::Messages, Operation::Responses];
    let ([which, operation], body) = steered::<2>(data);
    let target = chosen(which);
    let Ok(envelope) = Envelope::parse(body) else { return };
    let operation = OPERATIONS.get(operation % OPERATIONS.len()).copied().unwrap_or(Operation::Chat);
    match target.call(operation, &envelope, None, CallOptions::default()) {
        Ok(call) => {
            let sent = call.body.to_bytes();
            assert!(serde_json::from_slice::<serde_json::Value>(&sent).is_ok(), "a body that is no JSON");
        }
        Err(refusal) => assert!(!refusal.message.is_empty(), "refused without a word"),
    }
}
