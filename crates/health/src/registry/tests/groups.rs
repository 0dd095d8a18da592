//! Panic, all out, caps and nets, from evidence to ranks.

use super::*;
use crate::LastResort;

#[test]
fn e01_a_lone_deployment_is_isolated_only_when_there_is_somewhere_else_to_go() {
    let mut lone = World::of(1, PanicParams::resilient());
    for _ in 0..50 {
        lone.traffic("d1", Class::ServerError);
    }
    assert_eq!(lone.rank("d1"), Rank::In, "never refused locally for inferred failures");
    for _ in 0..3 {
        lone.probe("d1", Class::ServerError);
    }
    assert_eq!(lone.state("d1"), State::Isolated, "its probe failed, and everybody can see it");
    assert_eq!(
        (lone.rank("d1"), lone.weight("d1")),
        (Rank::In, 1.0),
        "and still there is nothing better to offer"
    );
    assert!(lone.registry.view().entry(Slot(0)).spared());

    let with_fallback = GroupSpec { has_fallback: true, ..GroupSpec::new("g", PanicParams::resilient()) };
    let mut world = World::new(vec![unprobed("d1")], vec![with_fallback]);
    world.kill("d1");
    assert_eq!(world.panic(), PanicState::AllOut);
    assert_eq!(world.registry.view().group(GroupIx(0)).unwrap().last_resort, LastResort::AfterFallback);
    assert_eq!(world.rank("d1"), Rank::Cooling);
}

#[test]
fn e01_a_dead_primary_with_a_fallback_is_tried_at_most_six_times_a_minute() {
    let with_fallback = GroupSpec { has_fallback: true, ..GroupSpec::new("g", PanicParams::resilient()) };
    let mut world = World::new(vec![unprobed("d1")], vec![with_fallback]);
    let slot = world.slot("d1");
    let mut attempts = 0;
    for _ in 0..15 {
        let entry = world.registry.view().entry(slot);
        if entry.rank == Rank::In {
            attempts += 1;
            world.traffic("d1", Class::ServerError);
        } else if entry.trial_open() {
            attempts += 1;
            let lease = world.registry.claim_trial(at(world.now), slot, 1).unwrap();
            let mut outcome = world.outcome("d1", Class::ServerError, Source::Trial);
            outcome.trial = Some(lease.id);
            world.report("d1", &outcome);
        }
        world.pass(4 * S);
    }
    assert!(attempts <= 6, "{attempts} attempts");
    assert!(attempts >= 5, "it was tried at all");
}

#[test]
fn e02_all_out_by_choice_of_the_group() {
    let state = |all_out| {
        let panic = PanicParams { all_out, ..PanicParams::resilient() };
        let mut world = World::of(2, panic);
        let mut limited = world.outcome("d1", Class::RateLimit, Source::Traffic);
        limited.retry_after = Some(Duration::from_secs(2));
        world.report("d1", &limited);
        let mut broke = world.outcome("d2", Class::Billing, Source::Traffic);
        broke.retry_after = Some(Duration::from_secs(600));
        world.report("d2", &broke);
        world
    };
    let world = state(AllOut::TryBest);
    assert_eq!(world.ranks(), [Rank::Held, Rank::Out], "the least bad by cause, never one out for billing");
    for all_out in [AllOut::Wait, AllOut::Fail] {
        let mut world = state(all_out);
        assert_eq!((world.panic(), world.ranks()), (PanicState::AllOut, vec![Rank::Out, Rank::Out]));
        assert_eq!(world.returns(), Some(world.now + 2 * S), "Retry-After: 2");
        world.pass(2 * S);
        assert!(world.registry.view().entry(Slot(0)).trial_open(), "one request may try it at 2 s");
        assert!(world.returns() <= Some(world.now), "whoever waits may ask again");
        assert!(world.serve("d1", Class::Ok));
        assert_eq!(world.ranks(), [Rank::In, Rank::Out]);
        assert_eq!(world.panic(), PanicState::Calm);
    }
}

#[test]
fn e15_e16_the_ejection_cap_follows_isolations_and_returns() {
    let panic = PanicParams { ejection_cap: Some(0.34), ..off() };
    let mut world = World::of(3, panic);
    world.kill("d1");
    world.pass(S);
    world.kill("d2");
    assert_eq!(world.ranks(), [Rank::Cooling, Rank::In, Rank::In], "one of three may go");
    assert!(world.registry.view().entry(Slot(1)).spared());
    world.traffic("d3", Class::Auth);
    world.traffic("d3", Class::Auth);
    assert_eq!(world.rank("d3"), Rank::Out, "a known cause is exempt");

    let mut world = World::of(3, PanicParams { ejection_cap: Some(0.34), ..off() });
    world.kill("d1");
    for _ in 0..3 {
        world.probe("d2", Class::ServerError);
    }
    assert_eq!(world.ranks(), [Rank::Cooling, Rank::ProbeFailed, Rank::In], "both out, reasons differ");
}

#[test]
fn e17_panic_is_counted_told_and_ends() {
    let panic = PanicParams { threshold: 0.5, ..PanicParams::resilient() };
    let mut world = World::of(4, panic);
    for id in ["d1", "d2", "d3", "d4"] {
        world.traffic(id, Class::Ok);
    }
    world.kill("d1");
    for _ in 0..2 {
        world.traffic("d3", Class::Auth);
    }
    assert_eq!(
        (world.panic(), world.registry.counters().panic_groups),
        (PanicState::Calm, 0),
        "2 of 4 are not below"
    );
    world.kill("d2");
    assert_eq!(world.panic(), PanicState::Spread);
    assert_eq!(world.ranks(), [Rank::In, Rank::In, Rank::Out, Rank::In]);
    assert_eq!(world.registry.counters().panic_groups, 1);
    let told: Vec<_> = world
        .registry
        .events(0)
        .events
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::Panic { from, to, .. } => Some((from, to)),
            EventKind::Moved { .. } | EventKind::Pod { .. } => None,
        })
        .collect();
    assert_eq!(told, [(PanicState::Calm, PanicState::Spread)]);
    let slot = world.slot("d1");
    world.registry.operator(at(world.now), slot, Operator::Reset, None, "");
    world.traffic("d1", Class::Ok);
    assert_eq!((world.panic(), world.registry.counters().panic_groups), (PanicState::Calm, 0));
}

#[test]
fn e18_members_added_by_reload_do_not_trip_panic() {
    let panic = PanicParams { threshold: 0.5, mode: PanicMode::Refuse, ..PanicParams::resilient() };
    let mut world = World::of(2, panic);
    world.traffic("d1", Class::Ok);
    world.traffic("d2", Class::Ok);
    let specs = (1..=8).map(|n| unprobed(&format!("d{n}"))).collect();
    world.registry.rebuild(specs, group(panic), at(world.now));
    assert_eq!((world.panic(), world.ranks()), (PanicState::Calm, vec![Rank::In; 8]));
    assert_eq!(world.registry.counters().panic_groups, 0);
}

#[test]
fn e23_a_group_that_fails_when_all_are_out_answers_locally_and_says_until_when() {
    let panic = PanicParams { all_out: AllOut::Fail, ..PanicParams::resilient() };
    let mut world = World::of(1, panic);
    let mut hits = 0;
    for _ in 0..60 {
        // Thirty callers, every second.
        for _ in 0..30 {
            hits += u32::from(world.serve("d1", Class::Overloaded));
        }
        assert!(world.returns() > Some(world.now));
        world.pass(S);
    }
    assert!((3..=10).contains(&hits), "{hits} of 1800 reached the overloaded provider");
}

/// E23: the verdict of the one attempt is still out; everybody else who waited is answered locally.
#[test]
fn e23_a_herd_that_waited_for_the_end_of_a_hold_does_not_go_at_once() {
    let panic = PanicParams { all_out: AllOut::Fail, ..PanicParams::resilient() };
    let mut world = World::of(1, panic);
    world.traffic("d1", Class::RateLimit);
    world.pass(6 * S);
    let slot = world.slot("d1");
    let granted = (0..500).filter(|&owner| world.registry.claim_trial(at(world.now), slot, owner).is_some());
    assert_eq!(granted.count(), 1);
    assert_eq!((world.choose(), world.panic()), (None, PanicState::AllOut));
    world.pass(25 * S);
    assert_eq!(world.registry.counters().trials_lost, 1);
    assert!(world.serve("d1", Class::Ok), "a verdict that never came blocks nobody for good");
    assert_eq!(world.choose(), Some(slot));
}

#[test]
fn e26_until_something_is_known_every_deployment_may_be_tried() {
    let world = World::of(2, PanicParams::resilient());
    assert_eq!(world.ranks(), [Rank::In, Rank::In]);
    assert_eq!(world.state("d1"), State::Unknown);
    assert!(world.weight("d1") > 0.0 && world.weight("d1") == world.weight("d2"));
}

#[test]
fn e27_a_failed_probe_is_what_routing_reads() {
    let mut world = World::new(vec![probed("d1", 10), probed("d2", 10)], group(PanicParams::resilient()));
    let mut out_at = None;
    world.probing(60 * S, |_, job| if job.slot == Slot(0) { Class::ServerError } else { Class::Ok });
    for event in world.registry.events(0).events {
        if let EventKind::Moved { slot: Slot(0), transition, .. } = event.kind
            && transition.to == State::Isolated
        {
            out_at = out_at.or(Some(event.at));
        }
    }
    assert!(out_at.is_some());
    assert_eq!(world.rank("d1"), Rank::ProbeFailed);
    assert_eq!(world.choose(), Some(world.slot("d2")));
}

#[test]
fn e28_a_verdict_whose_prober_stopped_is_never_the_reason_for_total_refusal() {
    let mut params = resilient();
    params.isolation.trial = false;
    params.isolation.base = Duration::from_secs(60);
    let specs = vec![Spec::new("d1", "g", params)];
    let panic = PanicParams { all_out: AllOut::Fail, ..PanicParams::resilient() };
    let with_fallback = GroupSpec { has_fallback: true, ..GroupSpec::new("g", panic) };
    let mut world = World::new(specs, vec![with_fallback]);
    for _ in 0..3 {
        world.probe("d1", Class::ServerError);
    }
    assert_eq!(world.rank("d1"), Rank::Out);
    world.pass(700 * S);
    assert_eq!((world.state("d1"), world.rank("d1")), (State::Unknown, Rank::In));
}

#[test]
fn an_entry_is_small() {
    assert!(size_of::<crate::Entry>() <= 16);
}
