//! Time per operation of the paths every request takes. `cargo bench -p haleway-wire` prints ns per operation.
//!
//! Each figure is the best of several short rounds, so that a busy machine disturbs it little.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a bench measures real time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use haleway_wire::{Change, Envelope, chat, error_body::ErrorBody, sse, wait};
use http::{HeaderMap, HeaderValue};

/// Rounds per figure, each of about this length.
const ROUNDS: u32 = 12;
const ROUND: Duration = Duration::from_millis(25);

/// A text chunk of the size most providers send: 206 bytes.
const CHUNK: &str = r#"{"id":"chatcmpl-q","object":"chat.completion.chunk","created":1796050800,"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"content":" hello"},"logprobs":null,"finish_reason":null}],"usage":null}"#;

fn main() {
    for (name, size, budget_ns) in [("envelope 2.8 KB", 2_800, 4_000), ("envelope 105 KB", 105_000, 100_000)]
    {
        let body = chat_body(size);
        report(&format!("{name}: parse, patch model, write"), budget_ns, || {
            let envelope =
                Envelope::parse(black_box(&body)).map(|e| e.patched(&[Change::set_str("model", "gpt-4o")]));
            black_box(envelope.map(|bytes| bytes.len()).unwrap_or_default());
        });
    }
    report("chat::inspect_chunk, 206 bytes", 1_000, || {
        black_box(chat::inspect_chunk(black_box(CHUNK.as_bytes())));
    });
    let stream = format!("data: {CHUNK}\n\n").repeat(50);
    let mut decoder = sse::Decoder::default();
    report("sse: 50 events of 206 bytes", 50_000, || {
        decoder.push(black_box(stream.as_bytes()));
        while let Ok(Some(event)) = decoder.next_event() {
            black_box(event.data.len());
        }
    });
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("20"));
    headers.insert("x-ratelimit-remaining-requests", HeaderValue::from_static("0"));
    headers.insert("x-ratelimit-reset-requests", HeaderValue::from_static("20s"));
    report("wait::from_headers", 5_000, || {
        black_box(wait::from_headers(black_box(&headers), 1_796_050_800_000, wait::DEFAULT_CAP));
    });
    let error = ErrorBody {
        message: "Rate limit reached",
        kind: "rate_limit_error",
        param: None,
        code: "429",
        extra: &[],
    };
    report("error_body::to_bytes", 1_000, || {
        black_box(black_box(&error).to_bytes());
    });
}

/// A chat request of about `size` bytes: a few parameters and turns of 500 characters.
fn chat_body(size: usize) -> Vec<u8> {
    let turn = format!(r#"{{"role":"user","content":"{}"}}"#, "Tell me more about it, and say \\\"please\\\" when you do; one line for each of the points above.\\n".repeat(5));
    let turns = vec![turn.clone(); (size / (turn.len() + 1)).max(1)].join(",");
    format!(r#"{{"model":"chat","messages":[{turns}],"temperature":0.2,"max_tokens":512,"stream":true}}"#)
        .into_bytes()
}

fn report(name: &str, budget_ns: u128, mut operation: impl FnMut()) {
    let mut best = u128::MAX;
    let mut per_round = 1u32;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut done = 0u32;
        while done == 0 || start.elapsed() < ROUND {
            for _ in 0..per_round {
                operation();
            }
            done += per_round;
        }
        let each = start.elapsed().as_nanos() / u128::from(done);
        best = best.min(each);
        per_round = u32::try_from((10_000 / each.max(1)).clamp(1, 1_000)).unwrap_or(1);
    }
    let verdict = if best <= budget_ns { "ok" } else { "OVER" };
    println!("{name:<44} {best:>8} ns/op   budget {budget_ns:>7}   {verdict}");
}
