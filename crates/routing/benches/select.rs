//! Cost of one selection, by strategy and size of the group, and of resolving a name.
//!
//! Prints nanoseconds per operation. Targets: 2 µs at 100 deployments, 50 µs at 5,000. Bounded: every case runs a
//! fixed number of rounds. An argument filters by name.
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]

use std::hint::black_box;
use std::time::Duration;

use haleway_health::{Slot, Timestamp};
use haleway_routing::{
    Admission, Call, CallPlan, Deployment, Facts, GroupIx, GroupRule, Health, Query, Reach, Sample, Settings,
    StatsTable, Step, Strategy, Table, TableBuilder, View, Why,
};

/// A snapshot like the real one: one compact entry per slot.
struct Snapshot(Vec<Admission>);

impl Health for Snapshot {
    fn admission(&self, slot: Slot) -> Admission {
        self.0.get(slot.0 as usize).copied().unwrap_or(Admission::IN)
    }
    fn group(&self, _: GroupIx) -> GroupRule {
        GroupRule::CALM
    }
    fn why(&self, _: Slot) -> Why {
        Why { code: "cooldown", cause: "", status: 0, until: None }
    }
}

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

struct Case {
    table: Table,
    health: Snapshot,
    stats: StatsTable,
}

fn case(strategy: Strategy, size: u32) -> Case {
    let mut builder = TableBuilder::new(Settings { strategy, ..Settings::default() });
    let stats = StatsTable::new(size as usize);
    let mut admissions = Vec::new();
    for n in 0..size {
        builder.deployment(Deployment {
            weight: Some(f64::from(n % 3 + 1)),
            rpm: Some(1_000_000),
            tpm: Some(1_000_000_000),
            price: Some(f64::from(n) * 1e-6),
            ..Deployment::new(Slot(n), &format!("d{n}"), "gpt-4o")
        });
        // One in ten is out, one in ten comes back slowly, all but one in seven are measured.
        let rank = if n % 10 == 0 { Admission::OUT } else { 0 };
        admissions.push(Admission { rank, trial: false, weight: if n % 10 == 1 { 0.3 } else { 1.0 } });
        if n % 7 != 0
            && let Some(running) = stats.begin(Slot(n), NOW)
        {
            let total = Duration::from_millis(u64::from(n % 400 + 100));
            running.served(NOW, &Sample { total, total_tokens: 500, ..Sample::default() });
        }
    }
    let table = builder.build().unwrap_or_else(|error| unreachable!("{error}"));
    Case { table, health: Snapshot(admissions), stats }
}

/// Best of seven rounds: the machine is shared, and only the fastest is about the code.
fn measure(name: &str, operations: u64, mut operation: impl FnMut(u64)) {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    if filter.is_some_and(|filter| !name.contains(&filter)) {
        return;
    }
    let mut best = f64::INFINITY;
    for round in 0..7 {
        #[expect(
            clippy::disallowed_methods,
            clippy::disallowed_types,
            reason = "a benchmark measures real time"
        )]
        let start = std::time::Instant::now();
        for n in 0..operations {
            operation((n ^ round).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / operations as f64);
    }
    println!("{name:<44} {best:>10.0} ns");
}

fn main() {
    let strategies = [
        Strategy::SimpleShuffle,
        Strategy::LeastBusy,
        Strategy::Latency { buffer: 0.1 },
        Strategy::UsageBased,
        Strategy::CostBased,
        Strategy::P2cEwma,
    ];
    for (size, operations) in [(100, 3_000), (5_000, 60)] {
        for strategy in strategies {
            let Case { table, health, stats } = case(strategy, size);
            measure(&format!("select/{}/{size}", strategy.as_str()), operations, |random| {
                let query = Query {
                    group: GroupIx(0),
                    only: None,
                    facts: Facts::default(),
                    tried: &[Slot(3)],
                    reach: Reach::LastResort,
                    trials: true,
                    now: NOW,
                    random,
                };
                black_box(table.select(black_box(&query), &health, &stats));
            });
        }
    }
    let Case { table, health, stats } = case(Strategy::SimpleShuffle, 3);
    measure("resolve/exact", 20_000, |_| {
        black_box(table.resolve(black_box("gpt-4o")).is_ok());
    });
    let view = View { table: &table, health: &health, stats: &stats, retries: None };
    measure("plan/first-attempt/3", 20_000, |random| {
        if let Ok(found) = table.resolve(black_box("gpt-4o")) {
            let mut plan = CallPlan::new(Call { model: "gpt-4o", ..Call::default() }, &found);
            black_box(matches!(plan.next(NOW, random, None, &view), Step::Try(_)));
        }
    });
}
