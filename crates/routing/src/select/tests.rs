use std::collections::BTreeMap;

use haleway_health::{Slot, Timestamp};

use super::*;
use crate::testing::{World, at, ms, table as simple};
use crate::{Deployment, NoStats, Sample, Settings, StatsTable, TableBuilder, Why};

fn query(tried: &[Slot], random: u64) -> Query<'_> {
    Query {
        group: GroupIx(0),
        only: None,
        facts: Facts::default(),
        tried,
        reach: Reach::LastResort,
        trials: true,
        now: at(0),
        random,
    }
}

/// One group of deployments with these options.
fn group(settings: Settings, options: &[fn(&mut Deployment)]) -> Table {
    let mut builder = TableBuilder::new(settings);
    for (slot, option) in (0..).zip(options) {
        let mut deployment = Deployment::new(Slot(slot), &format!("d{}", slot + 1), "g");
        option(&mut deployment);
        builder.deployment(deployment);
    }
    builder.build().unwrap()
}

fn with(strategy: Strategy) -> Settings {
    Settings { strategy, ..Settings::default() }
}

const ALL: [Strategy; 6] = [
    Strategy::SimpleShuffle,
    Strategy::LeastBusy,
    Strategy::Latency { buffer: 0.0 },
    Strategy::UsageBased,
    Strategy::CostBased,
    Strategy::P2cEwma,
];

/// Share of picks per slot, in percent, over many random numbers.
fn shares(table: &Table, world: &World, stats: &impl Stats, now: Timestamp) -> BTreeMap<u32, f64> {
    const PICKS: u32 = 20_000;
    let mut seed = 1_u64;
    let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
    for _ in 0..PICKS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let choice = table.select(&Query { now, ..query(&[], seed) }, world, stats).unwrap();
        *counts.entry(choice.slot.0).or_default() += 100.0 / f64::from(PICKS);
    }
    counts
}

#[track_caller]
fn near(shares: &BTreeMap<u32, f64>, expected: &[f64]) {
    for (slot, expected) in (0..).zip(expected) {
        let share = shares.get(&slot).copied().unwrap_or(0.0);
        assert!((share - expected).abs() <= 2.0, "slot {slot}: {share} instead of {expected} in {shares:?}");
    }
}

#[test]
fn simple_shuffle_follows_the_first_share_that_anyone_has() {
    let shares = |options: &[fn(&mut Deployment)]| {
        shares(&group(Settings::default(), options), &World::default(), &NoStats, at(0))
    };
    near(&shares(&[|d| d.weight = Some(3.0), |d| d.weight = Some(1.0)]), &[75.0, 25.0]);
    near(&shares(&[|d| d.rpm = Some(900), |d| d.rpm = Some(100)]), &[90.0, 10.0]);
    near(&shares(&[|d| d.tpm = Some(100), |d| d.tpm = Some(300)]), &[25.0, 75.0]);
    near(&shares(&[|d| d.weight = Some(1.0), |d| (d.weight, d.rpm) = (Some(1.0), Some(900))]), &[50.0, 50.0]);
    near(&shares(&[|_| {}, |_| {}, |_| {}, |_| {}]), &[25.0; 4]);
    near(&shares(&[|d| d.weight = Some(1.0), |_| {}, |_| {}]), &[100.0, 0.0, 0.0]);
}

#[test]
fn simple_shuffle_turns_to_the_next_share_when_those_that_have_the_first_are_gone() {
    let table = group(Settings::default(), &[|d| d.weight = Some(1.0), |_| {}, |_| {}]);
    let choice = table.select(&query(&[Slot(0)], 7), &World::default(), &NoStats).unwrap();
    assert_ne!(choice.slot, Slot(0));
}

#[test]
fn p2c_keeps_configured_shares_among_equals() {
    let table = group(with(Strategy::P2cEwma), &[|d| d.weight = Some(3.0), |d| d.weight = Some(1.0)]);
    near(&shares(&table, &World::default(), &NoStats, at(0)), &[75.0, 25.0]);
}

#[test]
fn e12_the_lowest_order_takes_everything_while_it_is_in() {
    for strategy in ALL {
        let table = group(with(strategy), &[|d| d.order = Some(1), |d| d.order = Some(2), |_| {}]);
        let mut world = World::default();
        near(&shares(&table, &world, &NoStats, at(0)), &[100.0]);
        world.out(0, "cooldown", None);
        near(&shares(&table, &world, &NoStats, at(0)), &[0.0, 100.0]);
        world.out(1, "cooldown", None);
        near(&shares(&table, &world, &NoStats, at(0)), &[0.0, 0.0, 100.0]);
    }
}

#[test]
fn a_better_rank_outweighs_order_and_a_last_resort_is_graded() {
    let table =
        group(Settings::default(), &[|d| d.order = Some(1), |d| d.order = Some(2), |d| d.order = Some(3)]);
    let mut world = World::default();
    let pick = |world: &World, reach| table.select(&Query { reach, ..query(&[], 1) }, world, &NoStats);
    world.set(0, 2, 1.0);
    world.set(1, 1, 1.0);
    assert_eq!(pick(&world, Reach::LastResort).unwrap().slot, Slot(2));
    world.out(2, "auth", None);
    let choice = pick(&world, Reach::LastResort).unwrap();
    assert_eq!((choice.slot, choice.rank), (Slot(1), 1));
    assert_eq!(pick(&world, Reach::InRotation), None);
    world.out(0, "auth", None);
    world.out(1, "billing", None);
    assert_eq!(pick(&world, Reach::LastResort), None, "never one that is out for a known cause");
}

#[test]
fn a_named_deployment_is_the_only_candidate() {
    let table = simple(Settings::default(), &[("g", 3)], &[]);
    let only = Query { only: Some(Slot(1)), ..query(&[], 3) };
    assert_eq!(table.select(&only, &World::default(), &NoStats).unwrap().slot, Slot(1));
    let mut world = World::default();
    world.out(1, "operator", None);
    assert_eq!(table.select(&only, &world, &NoStats), None);
}

#[test]
fn f14_every_strategy_lets_the_share_rise_with_the_health_weight() {
    for strategy in ALL {
        let table = group(with(strategy), &[|_| {}, |_| {}]);
        let mut before = 0.0;
        for weight in [0.1, 0.25, 0.5, 0.75, 1.0] {
            let mut world = World::default();
            world.set(0, 0, weight);
            let share = shares(&table, &world, &NoStats, at(0)).get(&0).copied().unwrap_or(0.0);
            assert!(share > before + 2.0, "{}: {share} at {weight}, {before} before", strategy.as_str());
            before = share;
        }
        assert!((before - 50.0).abs() < 2.0, "{}: {before}", strategy.as_str());
    }
}

#[test]
fn a_group_of_light_weights_still_serves() {
    for strategy in ALL {
        let table = group(with(strategy), &[|_| {}, |_| {}]);
        let mut world = World::default();
        world.set(0, 0, 0.0);
        world.set(1, 0, 0.0);
        near(&shares(&table, &world, &NoStats, at(0)), &[50.0, 50.0]);
    }
}

fn serve(stats: &StatsTable, slot: u32, now: u64, total: u64) {
    let sample = Sample { total: ms(total), ..Sample::default() };
    stats.begin(Slot(slot), at(now)).unwrap().served(at(now), &sample);
}

#[test]
fn least_busy_takes_the_fewest_in_flight() {
    let table = group(with(Strategy::LeastBusy), &[|_| {}, |_| {}, |_| {}]);
    let stats = StatsTable::new(3);
    let _busy: Vec<_> = [0, 0, 1].map(|slot| stats.begin(Slot(slot), at(0))).into();
    near(&shares(&table, &World::default(), &stats, at(0)), &[0.0, 0.0, 100.0]);
}

#[test]
fn latency_routing_tries_the_unmeasured_once_then_takes_the_fastest() {
    let table = group(with(Strategy::Latency { buffer: 0.0 }), &[|_| {}, |_| {}, |_| {}]);
    let stats = StatsTable::new(3);
    serve(&stats, 0, 1_000, 100);
    serve(&stats, 1, 1_000, 300);
    near(&shares(&table, &World::default(), &stats, at(1_000)), &[0.0, 0.0, 100.0]);
    let sent = stats.begin(Slot(2), at(1_000));
    near(&shares(&table, &World::default(), &stats, at(1_000)), &[100.0]);
    drop(sent);
    let buffered = group(with(Strategy::Latency { buffer: 0.5 }), &[|_| {}, |_| {}, |_| {}]);
    serve(&stats, 2, 1_000, 140);
    near(&shares(&buffered, &World::default(), &stats, at(1_000)), &[50.0, 0.0, 50.0]);
}

#[test]
fn usage_routing_takes_the_fewest_tokens_within_the_limits() {
    let table = group(with(Strategy::UsageBased), &[|d| d.tpm = Some(1_000), |d| d.rpm = Some(2)]);
    let stats = StatsTable::new(2);
    let use_tokens = |slot: u32, tokens| {
        let sample = Sample { total_tokens: tokens, ..Sample::default() };
        stats.begin(Slot(slot), at(0)).unwrap().served(at(0), &sample);
    };
    use_tokens(0, 500);
    use_tokens(1, 900);
    near(&shares(&table, &World::default(), &stats, at(0)), &[100.0, 0.0]);
    use_tokens(0, 500);
    near(&shares(&table, &World::default(), &stats, at(0)), &[0.0, 100.0]);
    use_tokens(1, 0);
    assert_eq!(table.select(&query(&[], 1), &World::default(), &stats), None, "both limits reached");
    assert!(table.select(&Query { now: at(60_000), ..query(&[], 1) }, &World::default(), &stats).is_some());
    let long = Facts { input_tokens: Some(1_001), ..Facts::default() };
    let next = Query { now: at(60_000), facts: long, ..query(&[Slot(1)], 1) };
    assert_eq!(table.select(&next, &World::default(), &stats), None, "the prompt alone exceeds the limit");
}

#[test]
fn cost_routing_takes_the_cheapest_and_assumes_the_worst_of_unknown_prices() {
    let table =
        group(with(Strategy::CostBased), &[|_| {}, |d| d.price = Some(3e-6), |d| d.price = Some(2e-6)]);
    near(&shares(&table, &World::default(), &NoStats, at(0)), &[0.0, 0.0, 100.0]);
    let free = group(with(Strategy::CostBased), &[|d| d.price = Some(0.0), |d| d.price = Some(2e-6)]);
    near(&shares(&free, &World::default(), &NoStats, at(0)), &[100.0]);
}

#[test]
fn p2c_prefers_the_faster_and_the_less_loaded_of_two() {
    let table = group(with(Strategy::P2cEwma), &[|_| {}, |_| {}]);
    let stats = StatsTable::new(2);
    serve(&stats, 0, 1_000, 100);
    serve(&stats, 1, 1_000, 250);
    near(&shares(&table, &World::default(), &stats, at(1_000)), &[100.0, 0.0]);
    let _busy: Vec<_> = (0..2).map(|_| stats.begin(Slot(0), at(1_000))).collect();
    near(&shares(&table, &World::default(), &stats, at(1_000)), &[0.0, 100.0]);
}

#[test]
fn p2c_draws_its_pair_evenly_from_many() {
    let table = simple(with(Strategy::P2cEwma), &[("g", 10)], &[]);
    near(&shares(&table, &World::default(), &NoStats, at(0)), &[10.0; 10]);
}

#[test]
fn e21_failing_fast_is_never_rewarded() {
    for strategy in
        [Strategy::Latency { buffer: 0.0 }, Strategy::LeastBusy, Strategy::P2cEwma, Strategy::UsageBased]
    {
        let table = group(with(strategy), &[|_| {}, |_| {}]);
        let stats = StatsTable::new(2);
        let (mut now, mut failing, mut sent) = (0, 0, 0);
        for call in 0..300_u64 {
            let choice = table
                .select(&Query { now: at(now), ..query(&[], call << 33) }, &World::default(), &stats)
                .unwrap();
            if choice.slot == Slot(0) {
                sent += 1;
                failing += 1;
            }
            if choice.slot == Slot(0) && failing % 3 == 0 {
                stats.begin(Slot(0), at(now)).unwrap().failed(at(now + 2), ms(2));
                now += 2;
            } else {
                serve(&stats, choice.slot.0, now + 150, 150);
                now += 150;
            }
        }
        assert!(sent <= 150, "{}: {sent} of 300 to the one that fails", strategy.as_str());
    }
}

#[test]
fn f15_back_from_an_outage_it_gets_its_part_within_half_a_minute() {
    let table = group(with(Strategy::P2cEwma), &[|_| {}, |_| {}]);
    let stats = StatsTable::new(2);
    for n in 0..30 {
        stats.begin(Slot(0), at(n * 6_000)).unwrap().failed(at(n * 6_000), ms(5_000));
        serve(&stats, 1, n * 6_000, 150);
    }
    stats.restart(Slot(0));
    let mut own = 0;
    for call in 0..300_u64 {
        let now = 180_000 + call * 100;
        let choice = table
            .select(&Query { now: at(now), ..query(&[], call << 33) }, &World::default(), &stats)
            .unwrap();
        own += u32::from(choice.slot == Slot(0));
        serve(&stats, choice.slot.0, now, 150);
    }
    assert!(own >= 60, "at least 40 % of an equal share of 150: {own}");
}

#[test]
fn k01_no_amount_of_missing_data_leaves_a_call_without_a_deployment() {
    for strategy in ALL.into_iter().chain([Strategy::Latency { buffer: 0.3 }]) {
        let table = simple(with(strategy), &[("g", 5)], &[]);
        let stats = StatsTable::new(5);
        let ok = |now| {
            (0..50).all(|n: u64| {
                table
                    .select(&Query { now: at(now), ..query(&[], n << 50) }, &World::default(), &stats)
                    .is_some()
            })
        };
        assert!(ok(0));
        serve(&stats, 2, 10, 100);
        assert!(ok(10));
        for slot in 0..5 {
            serve(&stats, slot, 20, 0);
            stats.begin(Slot(slot), at(20)).unwrap().failed(at(20), ms(0));
        }
        assert!(ok(20) && ok(10_000_000));
    }
}

#[test]
fn a_trial_is_taken_by_the_next_call_unless_a_better_order_works() {
    let table =
        group(Settings::default(), &[|d| d.order = Some(1), |d| d.order = Some(2), |d| d.order = Some(2)]);
    let mut world = World::default();
    let trial = Admission { rank: 2, trial: true, weight: 0.0 };
    world.admissions.insert(Slot(1), trial);
    let pick = |world: &World, query: Query<'_>| table.select(&query, world, &NoStats).unwrap();
    assert_eq!(pick(&world, query(&[], 1)), Choice { slot: Slot(0), rank: 0, trial: false });
    world.out(0, "cooldown", None);
    assert_eq!(pick(&world, query(&[], 1)), Choice { slot: Slot(1), rank: 0, trial: true });
    let no_trials = Query { trials: false, ..query(&[], 1) };
    assert_eq!(pick(&world, no_trials), Choice { slot: Slot(2), rank: 0, trial: false });
    world.admissions.insert(Slot(0), trial);
    assert_eq!(pick(&world, query(&[], 1)).slot, Slot(0), "the best order first");
    assert!(!pick(&world, query(&[Slot(0), Slot(1)], 1)).trial);
}

#[test]
fn a_trial_is_the_only_way_in_when_nobody_is_in_rotation() {
    let table = simple(Settings::default(), &[("g", 2)], &[]);
    let mut world = World::default();
    world.out(0, "auth", None);
    world.admissions.insert(Slot(1), Admission { rank: Admission::OUT, trial: true, weight: 0.0 });
    let choice =
        table.select(&Query { reach: Reach::InRotation, ..query(&[], 1) }, &world, &NoStats).unwrap();
    assert_eq!(choice, Choice { slot: Slot(1), rank: 0, trial: true });
}

#[test]
fn tags_choose_and_default_catches_the_rest() {
    let settings = Settings { tag_filtering: true, ..Settings::default() };
    let options: &[fn(&mut Deployment)] =
        &[|d| d.tags = vec!["paid".into(), "eu".into()], |d| d.tags = vec!["default".into()], |_| {}];
    let any = group(settings.clone(), options);
    let all = group(Settings { tags_match_any: false, ..settings.clone() }, options);
    let pick = |table: &Table, tags: &[&str]| {
        let facts = Facts { tags, input_tokens: None };
        table
            .select(&Query { facts, ..query(&[], 5) }, &World::default(), &NoStats)
            .map(|choice| choice.slot.0)
    };
    assert_eq!(pick(&any, &["paid", "us"]), Some(0));
    assert_eq!(pick(&all, &["paid", "us"]), Some(1), "no one has both: default");
    assert_eq!(pick(&all, &["eu", "paid"]), Some(0));
    assert_eq!(pick(&any, &["free"]), Some(1));
    assert_eq!(pick(&any, &[]), Some(1));
    let none = group(settings, &[|d| d.tags = vec!["paid".into()], |_| {}]);
    assert_eq!(pick(&none, &["free"]), None);
    assert!(pick(&none, &[]).is_some());
}

#[test]
fn what_the_configuration_or_a_limit_keeps_out_is_named() {
    let settings = Settings { pre_call_checks: true, enforce_limits: true, ..Settings::default() };
    let table = group(
        settings,
        &[
            |d| d.blocked = true,
            |d| d.max_input_tokens = Some(10),
            |d| d.rpm = Some(1),
            |d| d.max_parallel = Some(1),
            |_| {},
            |_| {},
            |_| {},
        ],
    );
    let stats = StatsTable::new(7);
    let _sent = [stats.begin(Slot(2), at(1_000)), stats.begin(Slot(3), at(1_000))];
    let mut world = World::default();
    world.set(4, 2, 1.0);
    world
        .whys
        .insert(Slot(4), Why { code: "cooldown", cause: "rate_limit", status: 429, until: Some(at(13_000)) });
    let facts = Facts { input_tokens: Some(11), ..Facts::default() };
    let tried = [Slot(5)];
    let query = Query { facts, now: at(1_000), ..query(&tried, 1) };
    let choice = table.select(&query, &world, &stats).unwrap();
    assert_eq!(choice.slot, Slot(6));
    let texts: Vec<String> = table
        .explain_skips(&query, Some(choice.slot), &world, &stats)
        .iter()
        .map(|skip| format!("{} {}", skip.id, skip.reason.text(query.now)))
        .collect();
    assert_eq!(
        texts,
        [
            "d1 blocked",
            "d2 context_window",
            "d3 rpm_used_up(59s)",
            "d4 max_parallel_requests",
            "d5 cooldown(429, 12s)",
            "d6 tried",
        ]
    );
}

#[test]
fn simple_shuffle_takes_rpm_as_a_share_only() {
    let table = group(Settings::default(), &[|d| d.rpm = Some(2)]);
    let stats = StatsTable::new(1);
    for _ in 0..6 {
        serve(&stats, 0, 0, 1);
    }
    assert!(table.select(&query(&[], 1), &World::default(), &stats).is_some());
}

#[test]
fn names_of_strategies_are_litellms() {
    for name in Strategy::NAMES {
        assert!(Strategy::from_name(name, 0.0).is_some(), "{name}");
    }
    assert_eq!(Strategy::from_name("fastest", 0.0), None);
    assert_eq!(Strategy::from_name("latency-based-routing", 0.2), Some(Strategy::Latency { buffer: 0.2 }));
}
