//! A fleet in simulated time.
//!
//! Pods run the production decisions of `haleway-health` and `haleway-fleet` unchanged. Around them everything is a
//! model: their clocks drift and they stand still, the store fails over and forgets, answers are lost, providers hang.
//! The cost meter of the providers is the oracle ([`ledger`]): who paid for a probe without a permit, or too early.
//!
//! One seed is one run with one trace. A seed that ever found a fault is kept in `corpus/seeds.txt` and runs first.

pub mod ledger;
pub mod process;
pub mod queue;
pub mod rivals;
pub mod rng;
pub mod setup;
pub mod store;
pub mod table;
pub mod world;

pub use setup::Setup;
pub use world::{Run, World};

/// Runs `seed`.
pub fn run(seed: u64, traced: bool) -> Run {
    World::new(Setup::random(seed), seed, traced).run()
}

/// Seeds that once found a fault.
pub fn corpus() -> Vec<u64> {
    let lines = include_str!("../corpus/seeds.txt").lines();
    lines.filter_map(|line| line.split('#').next()?.trim().parse().ok()).collect()
}

#[cfg(test)]
mod tests;
