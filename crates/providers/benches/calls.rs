//! Time per operation of what every request takes here. `cargo bench -p haleway-providers` prints ns per operation
//! beside the budget. Each figure is the best of several short rounds, so that a busy machine disturbs it little.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a bench measures real time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use haleway_providers::catalogue::{Catalogue, Prices};
use haleway_providers::{CallOptions, DeploymentSource, Operation, Reply, Target, is_usage_chunk, resolve};
use haleway_wire::Envelope;
use secrecy::SecretString;
use serde_json::Map;

/// Rounds per figure, each of about this length.
const ROUNDS: u32 = 12;
const ROUND: Duration = Duration::from_millis(25);

const DELTA: &[u8] =
    br#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" hello there"}}"#;
const CHUNK: &[u8] = br#"{"id":"chatcmpl-q","object":"chat.completion.chunk","created":1796050800,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"content":" hello"},"logprobs":null,"finish_reason":null}],"usage":null}"#;

fn main() {
    let Some(openai) = target("openai/gpt-4o") else { return };
    let Some(anthropic) = target("anthropic/claude-haiku-4-5") else { return };
    let body = chat_body(3_000);
    let Ok(envelope) = Envelope::parse(&body) else { return };
    let plain = CallOptions::default();
    report("call, pass-through, 3 KB, parsed before", 2_000, || {
        black_box(openai.call(Operation::Chat, black_box(&envelope), None, plain).is_ok());
    });
    let stream = CallOptions { stream: true, ..plain };
    report("call, pass-through, stream", 2_000, || {
        black_box(openai.call(Operation::Chat, black_box(&envelope), None, stream).is_ok());
    });
    report("call, Anthropic, 3 KB", 15_000, || {
        black_box(anthropic.call(Operation::Chat, black_box(&envelope), None, plain).is_ok());
    });
    let Some(chat) = target("deepseek/chat") else { return };
    let message = message_body(3_000);
    let Ok(message) = Envelope::parse(&message) else { return };
    report("call, message over chat, 3 KB", 15_000, || {
        black_box(chat.call(Operation::Messages, black_box(&message), None, plain).is_ok());
    });
    report("is_usage_chunk, 206 bytes", 500, || {
        black_box(is_usage_chunk(black_box(CHUNK)));
    });
    let Ok(call) = anthropic.call(Operation::Chat, &envelope, None, stream) else { return };
    let Reply::Translated(mut reader) = call.reply else { return };
    let mut chunks: Vec<Bytes> = Vec::new();
    let start = br#"{"type":"message_start","message":{"id":"msg_1","model":"claude-haiku-4-5","usage":{}}}"#;
    reader.event(None, start, &mut chunks);
    report("stream event, Anthropic", 1_500, || {
        chunks.clear();
        black_box(reader.event(None, black_box(DELTA), &mut chunks));
    });
    let Ok(call) = chat.call(Operation::Messages, &message, None, stream) else { return };
    let Reply::Translated(mut reader) = call.reply else { return };
    report("stream event, message over chat", 1_500, || {
        chunks.clear();
        black_box(reader.event(None, black_box(CHUNK), &mut chunks));
    });
}

fn target(model: &str) -> Option<Target> {
    let resolved = resolve(&DeploymentSource {
        statuses: &haleway_providers::classify::StatusLists::default(),
        model,
        custom_llm_provider: None,
        api_base: None,
        api_key: Some(SecretString::from("sk-bench")),
        api_version: None,
        organization: None,
        mode: None,
        base_model: None,
        prices: &Prices::NONE,
        catalogue: &Catalogue::builtin(),
        extra_headers: &[],
        extra_body: None,
        params: &Map::new(),
        drop_params: false,
        additional_drop_params: &[],
        file: &|_| None,
        env: &|_| None,
    });
    resolved.ok()
}

/// A chat request of about `size` bytes with a system text, history and a tool.
fn chat_body(size: usize) -> Vec<u8> {
    let filler = "The quick brown fox jumps over the lazy dog. ".repeat(size / 150);
    format!(
        r#"{{"model":"group","messages":[{{"role":"system","content":"{filler}"}},{{"role":"user","content":"{filler}"}},{{"role":"assistant","content":"Yes."}},{{"role":"user","content":[{{"type":"text","text":"{filler}"}}]}}],"max_tokens":100,"temperature":0.2,"tools":[{{"type":"function","function":{{"name":"f","description":"d","parameters":{{"type":"object","properties":{{"a":{{"type":"string"}}}}}}}}}}]}}"#
    )
    .into_bytes()
}

/// A message request of about `size` bytes.
fn message_body(size: usize) -> Vec<u8> {
    let filler = "The quick brown fox jumps over the lazy dog. ".repeat(size / 150);
    format!(
        r#"{{"model":"group","max_tokens":100,"system":"{filler}","messages":[{{"role":"user","content":"{filler}"}},{{"role":"assistant","content":[{{"type":"text","text":"Yes."}}]}},{{"role":"user","content":[{{"type":"text","text":"{filler}"}}]}}],"temperature":0.2,"tools":[{{"name":"f","description":"d","input_schema":{{"type":"object","properties":{{"a":{{"type":"string"}}}}}}}}]}}"#
    )
    .into_bytes()
}

fn report(name: &str, budget_ns: u64, mut operation: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let mut times = 0_u32;
        while begin.elapsed() < ROUND {
            for _ in 0..16 {
                operation();
            }
            times += 16;
        }
        best = best.min(begin.elapsed().as_secs_f64() * 1e9 / f64::from(times));
    }
    let verdict = if best <= budget_ns as f64 { "" } else { "  OVER" };
    println!("{name:<44} {best:>9.0} ns   budget {budget_ns}{verdict}");
}
