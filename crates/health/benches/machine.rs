//! What one machine costs: an outcome in each steady state, a reading of its standing, a sentence.
//!
//! Prints nanoseconds per operation (best of several runs) and allocations per operation, and ends with an
//! error when a target is missed. `cargo xtask bench machine --instructions` counts instructions under
//! callgrind instead; an argument that is no flag filters by name, and then only that line is counted.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::alloc::System;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use haleway_health::{Class, GroupFacts, Machine, Outcome, Params, Source, Timestamp};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Operations per run.
const COUNT: u64 = 20_000;
/// Runs of which the best counts.
const RUNS: u32 = 7;
/// Most nanoseconds per outcome.
const TARGET_NS: f64 = 200.0;

const FACTS: GroupFacts = GroupFacts { single: false, has_fallback: false };

/// Monotonic time since the first call.
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark measures real time")]
fn now() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// Feeds outcomes of `class`, a millisecond apart, each the `every`-th one a success.
fn feed(machine: &mut Machine, start: u64, class: Class, every: u64) {
    for n in 0..COUNT {
        let at = Timestamp::from_millis(start + n);
        let class = if n % every == 0 { Class::Ok } else { class };
        let outcome = Outcome::new(class, Source::Traffic, at, machine.generation());
        black_box(machine.observe(at, black_box(&outcome), FACTS));
    }
}

struct Report {
    filter: Option<String>,
    missed: bool,
}

impl Report {
    fn time(&mut self, name: &str, params: Params, mut work: impl FnMut(&mut Machine, u64)) {
        if self.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            return;
        }
        let mut machine = Machine::new(params, 7, Timestamp::default());
        work(&mut machine, 0);
        let mut best = Duration::MAX;
        let region = Region::new(ALLOCATOR);
        for run in 1..=RUNS {
            let start = now();
            work(&mut machine, u64::from(run) * COUNT);
            best = best.min(now() - start);
        }
        let allocations = region.change().allocations;
        let ns = best.as_secs_f64() * 1e9 / COUNT as f64;
        let missed = ns > TARGET_NS || allocations > 0;
        self.missed |= missed;
        let verdict = if missed { "  MISSED" } else { "" };
        println!(
            "{name:<44} {ns:>8.1} ns/op {allocations:>4} allocations (target {TARGET_NS} ns, 0){verdict}"
        );
    }
}

fn main() -> ExitCode {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut report = Report { filter, missed: false };
    let policy = || {
        let mut params = Params::litellm();
        if let Some(rules) = &mut params.litellm {
            rules.allowed_fails = Some(1_000_000);
        }
        params
    };
    report.time("success, healthy", Params::resilient(), |machine, start| feed(machine, start, Class::Ok, 1));
    report.time("every other one fails", Params::resilient(), |machine, start| {
        feed(machine, start, Class::ServerError, 2);
    });
    report.time("failures while isolated", Params::resilient(), |machine, start| {
        feed(machine, start, Class::ServerError, COUNT);
    });
    report.time("limits", Params::resilient(), |machine, start| feed(machine, start, Class::RateLimit, 2));
    report.time("counters of profile litellm", policy(), |machine, start| {
        feed(machine, start, Class::ServerError, 2);
    });
    report.time("standing and next deadline", Params::resilient(), |machine, start| {
        for n in 0..COUNT {
            let at = Timestamp::from_millis(start + n);
            black_box((machine.standing(at), machine.next_deadline(), machine.fast_path()));
        }
    });
    println!("size of a machine without its heap: {} bytes", size_of::<Machine>());
    if report.missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
