//! Runs the simulated fleet: seeds by the thousand, one seed with its trace, or the table of protocols.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Parser;
use haleway_fleet_sim::ledger::Ledger;
use haleway_fleet_sim::{corpus, run, table};

#[derive(Debug, Parser)]
#[command(name = "fleet-sim", about = "A fleet of pods in simulated time, with the cost meter as oracle")]
struct Cli {
    /// How many seeds to run, after those of the corpus.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Run this seed only, and print its trace.
    #[arg(long, conflicts_with_all = ["seeds", "from", "table"])]
    seed: Option<u64>,
    /// Print the table of protocols, over so many seeds per cell.
    #[arg(long, num_args = 0..=1, default_missing_value = "12", conflicts_with_all = ["seeds", "from"])]
    table: Option<u64>,
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let violations = match (cli.seed, cli.table) {
        (Some(seed), _) => {
            let run = run(seed, true);
            say(&run.trace)?;
            run.ledger.violations
        }
        (None, Some(seeds)) => {
            let (text, violations) = table::print(seeds);
            say(&text)?;
            violations
        }
        (None, None) => {
            let mut seeds = corpus();
            seeds.extend(cli.from..cli.from.saturating_add(cli.seeds));
            many(&seeds)?
        }
    };
    for violation in &violations {
        say(&format!("VIOLATION {violation}\n"))?;
    }
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs `seeds` on all cores; what the oracle objects to, by seed.
fn many(seeds: &[u64]) -> anyhow::Result<Vec<String>> {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut found = Found::default();
        while let Some(seed) =
            seeds.get(usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap_or(usize::MAX))
        {
            found.add(*seed, &run(*seed, false).ledger);
        }
        found
    };
    let mut all = Found::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(found) => all.merge(found),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    all.violations.sort();
    say(&format!(
        "{} seeds, {} grants, {} probes, {} quarantines, {} violations\n",
        seeds.len(),
        all.grants,
        all.probes,
        all.quarantines,
        all.violations.len()
    ))?;
    Ok(all.violations)
}

#[derive(Default)]
struct Found {
    grants: usize,
    probes: usize,
    quarantines: u64,
    violations: Vec<String>,
}

impl Found {
    fn add(&mut self, seed: u64, ledger: &Ledger) {
        self.grants += ledger.grants();
        self.probes += ledger.total();
        self.quarantines += ledger.quarantines;
        self.violations.extend(ledger.violations.iter().map(|what| format!("seed {seed}: {what}")));
    }

    fn merge(&mut self, other: Self) {
        self.grants += other.grants;
        self.probes += other.probes;
        self.quarantines += other.quarantines;
        self.violations.extend(other.violations);
    }
}

fn say(text: &str) -> std::io::Result<()> {
    std::io::stdout().lock().write_all(text.as_bytes())
}
