use std::collections::BTreeSet;

use super::ledger::End;
use super::rng::Rng;
use super::setup::{Behaviour, Blow, Fault, Ill, Point};
use super::table::Scenario;
use super::*;

fn assert_clean(seed: u64, run: &Run) {
    assert!(run.ledger.violations.is_empty(), "seed {seed}: {:#?}", run.ledger.violations);
}

fn all_clean(seeds: impl IntoIterator<Item = u64>) {
    for seed in seeds {
        assert_clean(seed, &run(seed, false));
    }
}

/// Runs with faults that `plan` chooses at random times after the first rounds; several per run, so that some of them
/// hit the moment that counts.
fn directed(seeds: u64, plan: impl Fn(&mut Setup, &mut Rng) -> Fault) -> Vec<Run> {
    (0..seeds)
        .map(|seed| {
            let mut rng = Rng::new(seed);
            let mut setup = Setup::small(2 + usize::try_from(seed % 3).unwrap(), 2);
            setup.answer = *rng.pick(&[50, 3_000]).unwrap();
            let mut at = 60_000;
            while at < 160_000 {
                at += rng.below(30_000);
                let fault = plan(&mut setup, &mut rng);
                setup.faults.push((at, fault));
            }
            let run = World::new(setup, seed, false).run();
            assert_clean(seed, &run);
            run
        })
        .collect()
}

fn ended(runs: &[Run], end: End) -> usize {
    runs.iter().map(|run| run.ledger.count(Some(end))).sum()
}

#[test]
fn one_seed_is_one_trace() {
    for seed in 0..10 {
        let (first, second) = (run(seed, true).trace, run(seed, true).trace);
        assert!(first.lines().count() > 30, "{first}");
        assert!(first == second, "seed {seed}");
    }
}

#[test]
fn seeds_that_once_found_a_fault_find_none() {
    assert!(corpus().len() >= 4, "the corpus is read");
    all_clean(corpus());
}

#[test]
fn random_seeds_0() {
    all_clean(0..150);
}

#[test]
fn random_seeds_1() {
    all_clean(150..300);
}

#[test]
fn random_seeds_2() {
    all_clean(300..450);
}

#[test]
fn random_seeds_3() {
    all_clean(450..600);
}

#[test]
fn random_seeds_meet_every_fault_and_every_end() {
    let runs: Vec<Run> = (0..150).map(|seed| run(seed, false)).collect();
    let faults: BTreeSet<&str> = runs.iter().flat_map(|run| run.ledger.faults.keys().copied()).collect();
    assert_eq!(faults.len(), 21, "{faults:?}");
    for end in [End::Committed, End::Stale, End::Dropped, End::Lost] {
        assert!(ended(&runs, end) > 0, "{end:?}");
    }
    // Every grant ends as something, but for those under way at the very end of a run.
    for run in &runs {
        assert!(run.ledger.count(None) <= 3, "{}", run.ledger.count(None));
    }
}

#[test]
fn a_failover_that_lost_grants_costs_no_probe() {
    let runs = directed(30, |setup, _| {
        setup.lag = 10_000;
        Fault::Failover(0)
    });
    assert!(runs.iter().map(|run| run.ledger.quarantines).sum::<u64>() > 30);
}

#[test]
fn a_replaced_primary_that_goes_on_writing_costs_no_probe() {
    directed(30, |setup, rng| {
        let split = rng.between(2_000, 10_000);
        setup.split_brain = 10_000;
        Fault::Failover(split)
    });
}

#[test]
fn a_wiped_store_costs_no_probe() {
    directed(30, |_, _| Fault::Wipe);
}

#[test]
fn a_holder_that_stood_still_sends_nothing() {
    let runs = directed(30, |setup, rng| {
        let pod = usize::try_from(rng.below(setup.pods as u64)).unwrap();
        Fault::Trap(pod, Point::AfterGrant, Blow::Pause(rng.between(1_000, 40_000)))
    });
    assert!(ended(&runs, End::Dropped) > 10);
}

#[test]
fn a_verdict_that_comes_late_changes_nothing() {
    let runs = directed(30, |setup, rng| {
        let pod = usize::try_from(rng.below(setup.pods as u64)).unwrap();
        Fault::Trap(pod, Point::BeforeCommit, Blow::Pause(rng.between(20_000, 40_000)))
    });
    assert!(ended(&runs, End::Stale) > 10);
}

#[test]
fn answers_that_are_lost_cost_samples_and_no_probe() {
    let runs = directed(20, |_, rng| match rng.below(3) {
        0 => Fault::LoseAnswers(60, 20_000),
        1 => Fault::Store(Ill::Frozen, 15_000),
        _ => Fault::Store(Ill::Slow, 15_000),
    });
    assert!(ended(&runs, End::Lost) > 10);
}

#[test]
fn deployments_in_doubt_on_all_pods_are_probed_once() {
    directed(20, |_, rng| {
        let ways = [Behaviour::Failing, Behaviour::Hanging, Behaviour::Flaky, Behaviour::Refusing];
        Fault::Provider(None, *rng.pick(&ways).unwrap(), 20_000)
    });
}

#[test]
fn a_pod_with_a_broken_network_isolates_for_nobody_else_and_broken_providers_are_isolated() {
    let mut setup = Setup::small(4, 3);
    setup.faults.push((60_000, Fault::CutProviders(1, 100_000)));
    let run = World::new(setup, 1, false).run();
    assert_clean(1, &run);
    // The pod itself may take them out: it does not reach them.
    assert_eq!([run.isolations[0], run.isolations[2], run.isolations[3]], [0, 0, 0]);
    let mut setup = Setup::small(4, 3);
    setup.faults.push((60_000, Fault::Provider(None, Behaviour::Failing, 60_000)));
    let run = World::new(setup, 1, false).run();
    assert_clean(1, &run);
    assert!(run.isolations.iter().all(|times| *times >= 3), "{:?}", run.isolations);
}

/// What a row shows: probes ÷ ideal and the worst interval, under permits and for LiteLLM.
fn row(name: &str) -> (table::Cell, table::Cell) {
    let scenario = Scenario::all().into_iter().find(|scenario| scenario.name == name).unwrap();
    let permits = scenario.permits(1);
    assert!(permits.violations.is_empty(), "{:#?}", permits.violations);
    assert_eq!(permits.worst, 1, "{name}: {permits}");
    assert!(permits.ratio <= 1.0 && permits.ratio > 0.8, "{name}: {permits}");
    (permits, scenario.rival(rivals::Rival::Litellm, 1))
}

#[test]
fn table_calm() {
    let (permits, _) = row("calm");
    assert!(permits.gap < 320_000, "{permits}");
}

#[test]
fn table_slow_probes() {
    row("one probe takes 60 s");
}

#[test]
fn table_slower_probes() {
    assert!(row("one probe takes 90 s").1.worst > 1);
}

#[test]
fn table_holder_dies() {
    assert!(row("holder dies mid-round (twice)").1.worst > 1);
}

#[test]
fn table_holder_stops() {
    assert!(row("holder stops 120 s (twice)").1.worst > 1);
}

#[test]
fn table_store_down() {
    assert!(row("store down 15 min").1.worst > 1);
}

#[test]
fn table_rolling_restart() {
    row("rolling restart");
}

#[test]
fn table_long_round() {
    assert!(row("round of 110 s").1.worst > 1);
}

#[test]
fn table_failover() {
    assert!(row("failover mid-round, 10 s lost").1.worst > 1);
}
