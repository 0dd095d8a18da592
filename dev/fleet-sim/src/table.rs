//! The same mishaps under four protocols, measured by what reaches the providers.

use std::fmt::Write as _;

use haleway_fleet::USE_WITHIN;

use crate::ledger::Ledger;
use crate::queue::Millis;
use crate::rivals::{self, Rival};
use crate::rng::Rng;
use crate::setup::{Blow, Fault, Ill, Point, Setup};
use crate::world::World;

const SECOND: Millis = 1_000;
const HOUR: Millis = 3_600 * SECOND;

/// What goes wrong in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// Nothing.
    None,
    /// Who probes dies in the middle of it.
    HolderDies,
    /// Who probes stands still in the middle of it for this long.
    HolderStops(Millis),
    /// The store is gone for this long.
    StoreDown(Millis),
    /// The pods are restarted one after the other.
    Rolling,
    /// A replica is promoted that lacks the latest writes.
    FailOver,
}

/// One row.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is called.
    pub name: &'static str,
    /// Pods.
    pub pods: usize,
    /// Deployments.
    pub deployments: usize,
    /// Time between probes, and the TTL of a shared result.
    pub period: Millis,
    /// How long it takes to probe everything.
    pub round: Millis,
    /// Whether a round probes one deployment after the other; otherwise all at once, and each takes that long.
    pub one_by_one: bool,
    /// Length of a run.
    pub length: Millis,
    /// What goes wrong.
    pub mishap: Mishap,
    /// When.
    pub mishaps_at: Vec<Millis>,
    /// How much a failover loses.
    pub lost: Millis,
}

impl Scenario {
    fn new(name: &'static str, round: Millis, mishap: Mishap, mishaps_at: &[Millis]) -> Self {
        Self {
            name,
            pods: 9,
            deployments: 28,
            period: 300 * SECOND,
            round: round * SECOND,
            one_by_one: false,
            length: 2 * HOUR,
            mishap,
            mishaps_at: mishaps_at.iter().map(|at| at * SECOND).collect(),
            lost: 10 * SECOND,
        }
    }

    /// Every row.
    pub fn all() -> Vec<Self> {
        let twice = [1_700, 3_900];
        vec![
            Self::new("calm", 12, Mishap::None, &[]),
            Self::new("one probe takes 60 s", 60, Mishap::None, &[]),
            Self::new("one probe takes 90 s", 90, Mishap::None, &[]),
            Self::new("holder dies mid-round (twice)", 12, Mishap::HolderDies, &twice),
            Self::new("holder stops 120 s (twice)", 12, Mishap::HolderStops(120 * SECOND), &twice),
            Self::new("store down 15 min", 12, Mishap::StoreDown(900 * SECOND), &[1_700]),
            Self::new("rolling restart", 12, Mishap::Rolling, &[1_700]),
            Self { one_by_one: true, ..Self::new("round of 110 s", 110, Mishap::None, &[]) },
            Self::new("failover mid-round, 10 s lost", 12, Mishap::FailOver, &twice),
        ]
    }

    /// The fleet of permits that this is.
    fn setup(&self, rng: &mut Rng) -> Setup {
        let each = if self.one_by_one { self.round / self.deployments as u64 } else { self.round };
        let mut setup = Setup {
            interval: self.period,
            suspect: 5 * SECOND,
            timeout: 120 * SECOND,
            answer: each,
            length: self.length,
            lag: if self.mishap == Mishap::FailOver { self.lost } else { 0 },
            ..Setup::small(self.pods, self.deployments)
        };
        for at in &self.mishaps_at {
            match self.mishap {
                Mishap::None => {}
                // Whichever pod holds permits then, every pod that gets one next is hit.
                Mishap::HolderDies => self.trap(&mut setup, rng, *at, Blow::Crash(30 * SECOND)),
                Mishap::HolderStops(span) => self.trap(&mut setup, rng, *at, Blow::Pause(span)),
                Mishap::StoreDown(span) => setup.faults.push((*at, Fault::Store(Ill::Gone, span))),
                Mishap::Rolling => {
                    let each = 30 * SECOND;
                    for pod in 0..self.pods {
                        setup.faults.push((at + each * pod as u64, Fault::Hit(pod, Blow::Crash(each))));
                    }
                }
                Mishap::FailOver => setup.faults.push((*at, Fault::Failover(0))),
            }
        }
        setup
    }

    fn trap(&self, setup: &mut Setup, rng: &mut Rng, at: Millis, blow: Blow) {
        let points = [Point::AfterGrant, Point::AfterSend, Point::BeforeCommit];
        let point = *rng.pick(&points).unwrap_or(&Point::AfterSend);
        setup.faults.extend((0..self.pods).map(|pod| (at, Fault::Trap(pod, point, blow))));
    }

    /// Runs it under permits.
    pub fn permits(&self, seed: u64) -> Cell {
        let setup = self.setup(&mut Rng::new(seed));
        let ledger = World::new(setup, seed, false).run().ledger;
        let mut cell = self.cell(&ledger);
        cell.violations = ledger.violations;
        cell
    }

    /// Runs it under another protocol.
    pub fn rival(&self, rival: Rival, seed: u64) -> Cell {
        self.cell(&rivals::run(rival, self, seed))
    }

    fn cell(&self, ledger: &Ledger) -> Cell {
        let ideal = self.deployments as u64 * self.length / self.period;
        // A permit may be used a moment after it was granted: by so much can two probes lie closer than their grants.
        let window = self.period - Millis::try_from(USE_WITHIN.as_millis()).unwrap_or_default();
        Cell {
            ratio: ledger.total() as f64 / ideal as f64,
            worst: ledger.worst(window),
            gap: ledger.longest_gap(self.length),
            violations: Vec::new(),
        }
    }
}

/// What a protocol did in a scenario.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Probes ÷ ideal.
    pub ratio: f64,
    /// The most probes of one deployment in one interval.
    pub worst: usize,
    /// The longest time without a result for one deployment.
    pub gap: Millis,
    /// What the oracle objects to.
    pub violations: Vec<String>,
}

impl Cell {
    /// The mean ratio and the worst of the rest.
    pub fn of(cells: &[Self]) -> Self {
        Self {
            ratio: cells.iter().map(|cell| cell.ratio).sum::<f64>() / cells.len().max(1) as f64,
            worst: cells.iter().map(|cell| cell.worst).max().unwrap_or_default(),
            gap: cells.iter().map(|cell| cell.gap).max().unwrap_or_default(),
            violations: cells.iter().flat_map(|cell| cell.violations.clone()).collect(),
        }
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2}× ; {} ; {}", self.ratio, self.worst, self.gap / SECOND)
    }
}

/// The table over `seeds` runs per cell, as Markdown; and what the oracle objects to under permits.
pub fn print(seeds: u64) -> (String, Vec<String>) {
    let mut text = String::from(
        "| scenario | PR #15380 | LiteLLM 1.110.2 | the fork | permits |\n|---|---|---|---|---|\n",
    );
    let mut violations = Vec::new();
    for scenario in Scenario::all() {
        let rival = |rival| {
            let cells: Vec<Cell> = (0..seeds).map(|seed| scenario.rival(rival, seed)).collect();
            Cell::of(&cells)
        };
        let (original, litellm, fork) = (rival(Rival::Original), rival(Rival::Litellm), rival(Rival::Fork));
        let permits: Vec<Cell> = (0..seeds).map(|seed| scenario.permits(seed)).collect();
        let permits = Cell::of(&permits);
        let name = scenario.name;
        // Writing to a string does not fail.
        let _written = writeln!(text, "| {name} | {original} | {litellm} | {fork} | {permits} |");
        violations.extend(permits.violations.iter().map(|what| format!("{name}: {what}")));
    }
    (text, violations)
}
