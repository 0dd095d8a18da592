//! Time per look-up in the catalogue. `cargo bench -p haleway-providers --bench catalogue` prints ns per operation
//! beside the budget. Each figure is the best of several short rounds, so that a busy machine disturbs it little.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a bench measures real time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use haleway_providers::catalogue::{Catalogue, Usage};

/// Rounds per figure, each of about this length.
const ROUNDS: u32 = 8;
const ROUND: Duration = Duration::from_millis(20);

fn main() {
    let catalogue = Catalogue::builtin();
    for (provider, model) in [
        ("openai", "gpt-4o"),
        ("openai", "openai/gpt-4o-2031-01-31"),
        ("bedrock", "bedrock/us-west-2/us.anthropic.claude-haiku-4-5-20251001-v1:0"),
        ("hosted_vllm", "no-such-model"),
    ] {
        report(&format!("find {provider} {model}"), 1_000, || {
            black_box(catalogue.find(black_box(provider), black_box(model)));
        });
    }
    let prices = catalogue.find("openai", "gpt-4o").map(|facts| facts.prices).unwrap_or_default();
    let usage = Usage { input_tokens: 900, cache_read_tokens: 128, output_tokens: 250, ..Usage::default() };
    report("cost of a usage", 100, || {
        black_box(prices.cost(black_box(&usage)));
    });
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
    println!("{name:<78} {best:>7.0} ns   budget {budget_ns}{verdict}");
}
