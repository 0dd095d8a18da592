//! What the registry costs: outcomes, the reads of a selection, a quiet fleet, memory per deployment.
//!
//! Prints nanoseconds per operation (the best of several runs, since everything else on the machine only adds)
//! and allocations. A line that misses its target says so, and the benchmark then ends with an error.
//! The first argument that is no flag filters by name.

#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::alloc::System;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

use haleway_health::{
    Class, GroupSpec, Hub, Outcome, PanicParams, Params, ProbeEnd, ProbeLimits, ProbeParams, Rank, Slot,
    Source, Spec, Timestamp,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Runs of which the best counts: many and short, so that some fit into one time slice of a busy machine.
const RUNS: u32 = 60;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Results against their targets.
struct Report {
    filter: Option<String>,
    missed: bool,
}

impl Report {
    fn wanted(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
    }

    fn line(&mut self, name: &str, value: f64, unit: &str, target: f64) {
        let verdict = if value <= target { "" } else { "  MISSED" };
        self.missed |= value > target;
        println!("{name:<58} {value:>10.1} {unit:<16} target {target}{verdict}");
    }

    /// Times `work`, which does `count` operations, and counts its allocations.
    fn time(&mut self, name: &str, count: u32, target_ns: f64, mut work: impl FnMut(u64)) {
        if !self.wanted(name) {
            return;
        }
        // Warm up: heaps and pages reach their size.
        work(0);
        let mut best = Duration::MAX;
        let region = Region::new(ALLOCATOR);
        for run in 1..=RUNS {
            let start = now();
            work(u64::from(run));
            best = best.min(now() - start);
        }
        let allocations = region.change().allocations as f64 / f64::from(RUNS) / f64::from(count);
        self.line(name, best.as_secs_f64() * 1e9 / f64::from(count), "ns/op", target_ns);
        // Publishing a snapshot allocates; everything else must not.
        let allowed = if name.contains("publishes") { 4.0 } else { 0.01 };
        self.line(&format!("{name}: allocations"), allocations, "per op", allowed);
    }
}

/// Monotonic time since the first call.
#[expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark measures real time")]
fn now() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

/// `count` deployments in groups of `per_group`, probed every minute.
fn specs(count: usize, per_group: usize) -> Vec<Spec> {
    let spec = |n: usize| {
        let probe = Some(ProbeParams::resilient());
        let mut spec = Spec {
            probe,
            ..Spec::new(&format!("deployment-{n}"), &format!("group-{}", n / per_group), Params::resilient())
        };
        spec.endpoint = format!("https://host-{}:443", n % 50).into();
        spec.provider = format!("provider-{}", n % 10).into();
        spec
    };
    (0..count).map(spec).collect()
}

fn hub(count: usize, per_group: usize) -> Hub {
    let specs = specs(count, per_group);
    let groups = (0..count.div_ceil(per_group))
        .map(|n| GroupSpec::new(&format!("group-{n}"), PanicParams::resilient()));
    Hub::new(specs, groups.collect(), 7, at(0))
}

fn outcomes(report: &mut Report) {
    const OPS: u32 = 5_000;
    let hub = hub(1_000, 10);
    for n in 0..1_000 {
        hub.succeeded(at(1), Slot(n), at(1), Duration::ZERO, None);
    }
    report.time("success, lock-free", OPS, 100.0, |run| {
        for n in 0..OPS {
            hub.succeeded(at(run * 100), Slot(n % 1_000), at(run * 100), Duration::ZERO, None);
        }
    });
    hub.tick(at(9_000));
    let mut ok = Outcome::new(Class::Ok, Source::Traffic, at(9_000), hub.generation(Slot(0)));
    report.time("success, reported", OPS, 200.0, |run| {
        ok.sent_at = at(10_000 + run * 100);
        for n in 0..OPS {
            hub.report(ok.sent_at, Slot(n % 1_000), &ok);
        }
    });
    let mut bad = ok.clone();
    bad.class = Class::BadRequest;
    report.time("caller's mistake, reported", OPS, 200.0, |run| {
        bad.sent_at = at(20_000 + run * 100);
        for n in 0..OPS {
            hub.report(bad.sent_at, Slot(n % 1_000), &bad);
        }
    });
    // One failure in ten keeps deployments moving between healthy and suspect: evidence that changes verdicts.
    report.time("mixed, one failure in ten (publishes)", OPS, 2_000.0, |run| {
        let now = at(30_000 + run * 40_000);
        for n in 0..OPS {
            let class = if n % 10 == 0 { Class::ServerError } else { Class::Ok };
            let slot = Slot(n / 10 % 1_000);
            let outcome = Outcome::new(class, Source::Traffic, now, hub.generation(slot));
            hub.report(now, slot, &outcome);
        }
    });
}

fn in_flight(report: &mut Report) {
    const OPS: u32 = 5_000;
    let hub = hub(100, 100);
    report.time("in-flight guard: begin, 10 outputs, end", OPS, 300.0, |run| {
        for n in 0..OPS {
            if let Some(guard) = hub.begin(at(run), Slot(n % 100)) {
                for _ in 0..10 {
                    guard.output(black_box(at(run)));
                }
            }
        }
    });
}

fn selection(report: &mut Report) {
    const OPS: u32 = 1_000;
    let hub = hub(100, 100);
    report.time("snapshot read for a selection over 100", OPS, 1_000.0, |_| {
        for _ in 0..OPS {
            let snapshot = hub.snapshot();
            let group = snapshot.find_group("group-0").and_then(|group| snapshot.group(group));
            let mut sum = 0.0;
            for &slot in group.map_or(&[][..], |group| group.slots) {
                let entry = snapshot.entry(slot);
                if entry.rank == Rank::In {
                    sum += entry.weight;
                }
            }
            black_box(sum);
        }
    });
}

fn fleet(report: &mut Report) {
    const COUNT: u32 = 10_000;
    let before = Region::new(ALLOCATOR);
    let hub = hub(COUNT as usize, 10);
    let used = before.change();
    if report.wanted("memory") {
        let bytes = used.bytes_allocated.saturating_sub(used.bytes_deallocated) as f64 / f64::from(COUNT);
        report.line("memory per deployment, 10,000 of them", bytes, "bytes", 20_000.0);
    }
    // A minute of a quiet fleet: a tick and a look for probes each second, every probe answered.
    if report.wanted("quiet") {
        let limits = ProbeLimits { concurrency: 1_000, per_endpoint: 1_000 };
        let mut busy = Duration::ZERO;
        for second in 1..=120_u64 {
            let time = at(second * 1_000);
            let start = now();
            hub.tick(time);
            for job in hub.due_probes(time, limits).jobs {
                let outcome = Outcome::new(Class::Ok, Source::Probe, time, job.generation);
                hub.probe_finished(time, &job, &ProbeEnd::Verdict(outcome));
            }
            if second > 60 {
                busy += now() - start;
            }
        }
        let share = busy.as_secs_f64() / 60.0 * 100.0;
        report.line("quiet fleet of 10,000, probed every 60 s", share, "% of a core", 2.0);
    }
    report.time("tick over 10,000 with nothing to do", 100, 20_000.0, |_| {
        for _ in 0..100 {
            black_box(hub.tick(at(121_000)));
        }
    });
}

fn main() -> ExitCode {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let mut report = Report { filter, missed: false };
    outcomes(&mut report);
    in_flight(&mut report);
    selection(&mut report);
    fleet(&mut report);
    if report.missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
