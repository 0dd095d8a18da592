//! Trials, ramps, reloads and restarts, seen from outside.

use super::*;

#[test]
fn f04_half_open_lets_one_in() {
    let mut world = World::of(2, PanicParams::resilient());
    world.traffic("d2", Class::Ok);
    world.kill("d1");
    world.pass(31 * S);
    let slot = world.slot("d1");
    assert!(world.registry.view().entry(slot).trial_open());
    let lease = world.registry.claim_trial(at(world.now), slot, 1).unwrap();
    assert!(!world.registry.view().entry(slot).trial_open(), "the snapshot says so at once");
    for _ in 0..200 {
        assert!(world.registry.claim_trial(at(world.now), slot, 2).is_none());
    }
    assert_eq!(world.choose(), Some(world.slot("d2")), "others are served without waiting");
    world.pass(26 * S);
    assert_eq!(world.registry.counters().trials_lost, 1);
    let mut late = world.outcome("d1", Class::Ok, Source::Trial);
    late.trial = Some(lease.id);
    world.report("d1", &late);
    assert_eq!(world.state("d1"), State::Trial, "a verdict of a lost lease changes nothing");
    assert_eq!(world.registry.counters().late_verdicts, 1);
    assert!(world.registry.claim_trial(at(world.now), slot, 2).is_some(), "and its place is free");
    assert_eq!(world.registry.counters().trials_granted, 2);
}

#[test]
fn e10_without_probes_the_end_of_isolation_opens_a_trial_for_traffic() {
    let mut world = World::of(2, PanicParams::resilient());
    world.kill("d1");
    world.pass(29 * S);
    assert!(!world.registry.view().entry(Slot(0)).trial_open());
    world.pass(2 * S);
    assert!(world.registry.view().entry(Slot(0)).trial_open());
}

#[test]
fn a_probed_deployment_leaves_its_trial_to_the_probe_but_not_for_ever() {
    let mut world = World::new(vec![probed("d1", 60), unprobed("d2")], group(PanicParams::resilient()));
    world.kill("d1");
    world.pass(31 * S);
    assert_eq!(world.state("d1"), State::Trial);
    assert!(!world.registry.view().entry(Slot(0)).trial_open());
    world.pass(30 * S);
    assert!(
        world.registry.view().entry(Slot(0)).trial_open(),
        "the prober is away: a real request may decide"
    );
}

#[test]
fn a_trial_probe_is_due_at_once_and_returns_its_lease_when_it_was_not_sent() {
    let mut world = World::new(vec![probed("d1", 60), unprobed("d2")], group(PanicParams::resilient()));
    world.kill("d1");
    world.pass(31 * S);
    let job = world.due().into_iter().find(|job| job.trial.is_some()).expect("due");
    let until = at(world.now + 2 * S);
    world.registry.probe_finished(at(world.now), &job, &ProbeEnd::Postponed(until));
    assert!(world.due().is_empty());
    world.pass(2 * S);
    let job = world.due().into_iter().find(|job| job.trial.is_some()).expect("the place was given back");
    world.finish(&job, Class::Ok);
    assert_eq!(world.state("d1"), State::Ramping);
}

#[test]
fn f14_weight_ramps_monotonically_from_a_floor_on_every_return() {
    let mut world = World::of(2, PanicParams::resilient());
    for round in 0..2 {
        world.kill("d1");
        let lease = loop {
            world.pass(S);
            if let Some(lease) = world.registry.claim_trial(at(world.now), Slot(0), 1) {
                break lease;
            }
        };
        let mut passed = world.outcome("d1", Class::Ok, Source::Trial);
        passed.trial = Some(lease.id);
        world.report("d1", &passed);
        let mut weights = vec![world.weight("d1")];
        for _ in 0..20 {
            for _ in 0..2 {
                world.traffic("d1", Class::Ok);
            }
            world.pass(3 * S);
            weights.push(world.weight("d1"));
        }
        assert!((0.09..0.11).contains(&weights[0]), "round {round}: {weights:?}");
        assert!(weights.is_sorted() && weights[10] > 0.4 && weights[10] < 0.6, "round {round}: {weights:?}");
        assert_eq!((weights[20], world.state("d1")), (1.0, State::Healthy), "round {round}");
    }
}

#[test]
fn f12_any_isolation_ends_without_an_operator() {
    for class in [Class::ServerError, Class::Auth, Class::Billing, Class::ModelNotFound, Class::RateLimit] {
        for probes in [false, true] {
            let first = if probes { probed("d1", 60) } else { unprobed("d1") };
            let mut world = World::new(vec![first, unprobed("d2")], group(PanicParams::resilient()));
            for _ in 0..5 {
                world.traffic("d1", class);
            }
            assert_ne!(world.rank("d1"), Rank::In, "{class} {probes}");
            for _ in 0..720 {
                world.pass(S);
                if let Some(lease) =
                    (!probes).then(|| world.registry.claim_trial(at(world.now), Slot(0), 1)).flatten()
                {
                    let mut passed = world.outcome("d1", Class::Ok, Source::Trial);
                    passed.trial = Some(lease.id);
                    world.report("d1", &passed);
                }
                for job in world.due() {
                    world.finish(&job, Class::Ok);
                }
            }
            assert_eq!(world.rank("d1"), Rank::In, "{class}, probes {probes}: {}", world.state("d1"));
        }
    }
}

#[test]
fn f13_an_unrelated_reload_changes_nothing() {
    let mut world = World::of(2, PanicParams::resilient());
    world.kill("d1");
    let before = world.registry.view().verdict(Slot(0));
    world.pass(10 * S);
    let specs = vec![unprobed("d9"), unprobed("d1"), unprobed("d2")];
    world.registry.rebuild(specs, group(PanicParams::resilient()), at(world.now));
    assert_eq!(world.slot("d1"), Slot(0), "places are stable");
    assert_eq!(world.registry.view().verdict(Slot(0)), before, "still out, with the same end");
    assert_eq!(world.slot("d9"), Slot(2));
    let members: Vec<_> = world.registry.view().group(GroupIx(0)).unwrap().slots.to_vec();
    assert_eq!(members, [Slot(0), Slot(1), Slot(2)]);
}

#[test]
fn a_removed_deployment_is_a_hole_that_is_never_used_or_probed_again() {
    let mut world = World::new(vec![probed("d1", 10), probed("d2", 10)], group(PanicParams::resilient()));
    world.registry.rebuild(vec![probed("d2", 10)], group(PanicParams::resilient()), at(world.now));
    assert_eq!(world.registry.view().entry(Slot(0)).rank, Rank::Out);
    assert!(world.registry.find("d1").is_none());
    world.registry.report(
        at(world.now),
        Slot(0),
        &Outcome::new(Class::Ok, Source::Traffic, at(world.now), crate::Generation(0)),
    );
    assert!(world.registry.claim_trial(at(world.now), Slot(0), 1).is_none());
    let sent = world.probing(60 * S, |_, _| Class::Ok);
    assert!(!sent.is_empty() && sent.iter().all(|(_, job)| job.slot == Slot(1)));
    assert_eq!(world.registry.view().group(GroupIx(0)).unwrap().slots, [Slot(1)]);
    world.registry.rebuild(
        vec![probed("d1", 10), probed("d2", 10)],
        group(PanicParams::resilient()),
        at(world.now),
    );
    assert_eq!(world.slot("d1"), Slot(2), "its place is not given to another");
}

#[test]
fn a_changed_key_heals_a_configuration_fault() {
    let mut world = World::of(2, PanicParams::resilient());
    for _ in 0..2 {
        world.traffic("d1", Class::Auth);
    }
    assert_eq!(world.state("d1"), State::ConfigFault);
    let specs = vec![Spec { identity: 1, credential: 5, ..unprobed("d1") }, unprobed("d2")];
    world.registry.rebuild(specs, group(PanicParams::resilient()), at(world.now));
    assert!(matches!(world.state("d1"), State::Trial | State::Unknown), "{}", world.state("d1"));
}

#[test]
fn c06_a_restart_honours_the_remainder() {
    let mut world = World::of(2, PanicParams::resilient());
    world.kill("d1");
    world.traffic("d2", Class::Ok);
    let until = world.registry.view().verdict(Slot(0)).until;
    world.pass(10 * S);
    let export = world.registry.export(at(world.now));
    let text = serde_json::to_string(&export).unwrap();
    let export: Export = serde_json::from_str(&text).unwrap();

    let specs = vec![unprobed("d2"), unprobed("d1"), unprobed("new")];
    let mut fresh = World::new(specs, group(PanicParams::resilient()));
    fresh.now = world.now + 2 * S;
    assert_eq!(fresh.registry.import(at(fresh.now), &export), 2);
    assert_eq!(fresh.registry.view().verdict(fresh.slot("d1")).until, until);
    assert_eq!(fresh.ranks(), [Rank::In, Rank::Cooling, Rank::In]);
    fresh.pass(19 * S);
    assert_eq!(fresh.state("d1"), State::Trial, "no earlier and not much later than its end");
}

#[test]
fn f03_operator_states_survive_probes_success_reload_and_restart() {
    let mut world = World::of(2, PanicParams::resilient());
    let slot = world.slot("d1");
    world.registry.operator(at(world.now), slot, Operator::Disable, None, "maintenance");
    for _ in 0..10 {
        world.probe("d1", Class::Ok);
        world.traffic("d1", Class::Ok);
    }
    world.registry.rebuild(
        vec![unprobed("d1"), unprobed("d2")],
        group(PanicParams::resilient()),
        at(world.now),
    );
    assert_eq!((world.state("d1"), world.rank("d1")), (State::AdminDown, Rank::Out));
    let export = world.registry.export(at(world.now));
    let mut fresh = World::of(2, PanicParams::resilient());
    fresh.registry.import(at(fresh.now), &export);
    assert_eq!((fresh.state("d1"), fresh.rank("d1")), (State::AdminDown, Rank::Out));
    fresh.registry.operator(at(fresh.now), slot, Operator::Enable, None, "");
    assert_eq!(fresh.rank("d1"), Rank::In);
}

#[test]
fn f03_an_operators_order_outlives_a_deployment_that_a_reload_takes_away_and_brings_back() {
    let mut world = World::of(3, PanicParams::resilient());
    let (now, until) = (at(world.now), at(world.now + 60 * S));
    let (forever, ending) = (world.slot("d1"), world.slot("d2"));
    world.registry.operator(now, forever, Operator::Drain, None, "upgrade");
    world.registry.operator(now, ending, Operator::Disable, Some(until), "");
    world.kill("d3");
    let rules = || group(PanicParams::resilient());
    world.registry.rebuild(vec![unprobed("other")], rules(), now);
    let all = || vec![unprobed("other"), unprobed("d1"), unprobed("d2"), unprobed("d3")];
    world.registry.rebuild(all(), rules(), now);
    assert_eq!((world.state("d1"), world.state("d2")), (State::Draining, State::AdminDown));
    assert_eq!(world.state("d3"), State::Unknown, "what was only learnt is learnt anew");
    world.pass(61 * S);
    assert_ne!(world.state("d2"), State::AdminDown, "its order had an end");
    let as_embeddings = vec![Spec { mode: "embedding", ..unprobed("d1") }, unprobed("other")];
    world.registry.rebuild(as_embeddings, rules(), at(world.now));
    assert_eq!(world.state("d1"), State::Draining, "another mode is no operator");
    world.registry.rebuild(vec![unprobed("other")], rules(), at(world.now));
    world.registry.forget_departed("d1");
    world.registry.rebuild(all(), rules(), at(world.now));
    assert_eq!(world.state("d1"), State::Unknown, "ended elsewhere while it was away");
}
