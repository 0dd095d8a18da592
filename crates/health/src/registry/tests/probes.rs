//! The planner together with the machines.

use super::*;
use crate::{Depth, ProbeReason};

#[test]
fn b10_a_dead_deployment_is_probed_ever_more_seldom_and_comes_back_within_one_ceiling() {
    let mut spec = probed("d1", 1);
    spec.params.fall = 1;
    spec.params.isolation.trial = false;
    spec.params.isolation.base = Duration::from_secs(3_600);
    spec.params.isolation.max = Duration::from_secs(3_600);
    spec.params.early_release = 1;
    if let Some(probe) = &mut spec.probe {
        probe.backoff_max = Duration::from_secs(16);
    }
    let mut world = World::new(vec![spec, unprobed("d2")], group(PanicParams::resilient()));
    let sent = world.probing(90 * S, |_, _| Class::ServerError);
    let gaps: Vec<_> = sent.windows(2).map(|pair| (pair[1].0 - pair[0].0).div_ceil(S)).collect();
    assert_eq!(gaps[..6], [1, 2, 4, 8, 16, 16]);
    assert!(sent.iter().skip(1).all(|(_, job)| job.reason == ProbeReason::Out));
    let sent = world.probing(17 * S, |_, _| Class::Ok);
    assert!(!sent.is_empty());
    assert_eq!(world.rank("d1"), Rank::In);
    let sent = world.probing(10 * S, |_, _| Class::Ok);
    assert!(sent.len() >= 8, "spacing fell back");
}

#[test]
fn f02_a_repaired_key_is_noticed_by_the_next_probe_not_by_the_timer() {
    let mut spec = probed("d1", 1);
    if let Some(probe) = &mut spec.probe {
        probe.backoff_max = Duration::from_secs(1);
    }
    let mut world = World::new(vec![spec, unprobed("d2")], group(PanicParams::resilient()));
    world.probing(20 * S, |_, _| Class::Auth);
    assert_eq!(world.state("d1"), State::ConfigFault);
    world.probing(3 * S, |_, _| Class::Ok);
    assert!(world.state("d1").eligible(), "{}", world.state("d1"));
}

#[test]
fn a19_cheap_passes_do_not_bring_back_what_traffic_took_out() {
    let mut world = World::new(vec![probed("d1", 60), unprobed("d2")], group(PanicParams::resilient()));
    for _ in 0..5 {
        world.traffic("d1", Class::Timeout);
    }
    assert_eq!(world.rank("d1"), Rank::Cooling);
    for _ in 0..10 {
        let mut shallow = world.outcome("d1", Class::Ok, Source::Probe);
        shallow.depth = Depth::Free;
        world.report("d1", &shallow);
        world.pass(S);
    }
    assert_eq!(world.state("d1"), State::Isolated, "stays out for ten cheap passes");
    let generation = world.outcome("d1", Class::Ok, Source::Probe);
    world.report("d1", &generation);
    let generation = world.outcome("d1", Class::Ok, Source::Probe);
    world.report("d1", &generation);
    assert_eq!(world.state("d1"), State::Trial, "a generation success brings it back, through a trial");
}

#[test]
fn a_failed_probe_is_followed_up_quickly() {
    let mut world = World::new(vec![probed("d1", 60), unprobed("d2")], group(PanicParams::resilient()));
    let sent = world.probing(90 * S, |_, _| Class::ServerError);
    let first_three: Vec<_> = sent.iter().take(3).map(|(time, _)| *time).collect();
    assert!(
        first_three[2] - first_three[0] <= 10_200,
        "fall 3 costs 10 s, not two intervals: {first_three:?}"
    );
    assert_eq!(world.moves("d1")[..2], [(State::Unknown, State::Suspect), (State::Suspect, State::Isolated)]);
}

#[test]
fn traffic_is_a_free_probe() {
    let mut world = World::new(vec![probed("d1", 10)], group(PanicParams::resilient()));
    let mut sent = 0;
    for _ in 0..120 {
        world.traffic("d1", Class::Ok);
        sent += world.probing(S, |_, _| Class::Ok).len();
    }
    assert!(sent <= 1, "{sent} paid probes beside traffic");
    let idle = world.probing(60 * S, |_, _| Class::Ok).len();
    assert!(idle >= 4, "{idle} probes without traffic");
}

#[test]
fn successes_of_the_hot_path_postpone_probes_too() {
    let mut world = World::new(vec![probed("d1", 10)], group(PanicParams::resilient()));
    world.traffic("d1", Class::Ok);
    world.probing(10 * S, |_, _| Class::Ok);
    let mut sent = 0;
    for _ in 0..60 {
        let snapshot = world.registry.view().clone();
        snapshot.layout.cells[0].succeed(at(world.now));
        snapshot.layout.board.mark(Slot(0));
        sent += world.probing(S, |_, _| Class::Ok).len();
    }
    assert_eq!(sent, 0);
}

#[test]
fn k04_nothing_is_looked_at_while_nothing_changes() {
    let specs: Vec<_> = (0..5_000).map(|n| probed(&format!("d{n}"), 60)).collect();
    let mut world = World::new(specs, group(PanicParams::resilient()));
    world.registry.publish(at(world.now));
    let limits = ProbeLimits { concurrency: 10_000, per_endpoint: 10 };
    let mut jobs = 0;
    for _ in 0..60 {
        world.now += S;
        world.registry.tick(at(world.now));
        for job in world.registry.due_probes(at(world.now), limits).jobs {
            jobs += 1;
            world.registry.probe_finished(at(world.now), &job, &ProbeEnd::NoEvidence);
        }
    }
    assert!(jobs >= 5_000, "each within one interval: {jobs}");
    assert!(jobs <= 6_000, "and hardly more: {jobs}");
    assert!(world.registry.timers.len() <= 5_000 * 4 + 64);
    assert!(world.registry.publish(at(world.now)).is_none(), "nothing changed, nothing is published");
}

#[test]
fn requests_in_flight_without_output_make_a_deployment_suspect_whatever_its_probe_says() {
    let mut world = World::of(2, PanicParams::resilient());
    world.traffic("d1", Class::Ok);
    let cell = Arc::clone(&world.registry.view().layout.cells[0]);
    let request = crate::InFlight::begin(&cell, at(world.now));
    world.registry.view().layout.board.mark(Slot(0));
    world.pass(20 * S);
    request.output(at(world.now));
    world.pass(29 * S);
    world.probe("d1", Class::Ok);
    assert_eq!(world.state("d1"), State::Healthy, "silent for 29 s");
    world.pass(3 * S);
    assert_eq!(world.state("d1"), State::Suspect);
    let cause = world.registry.view().verdict(Slot(0)).cause;
    assert_eq!(cause, Some(Cause::Wedged));
    drop(request);
}
