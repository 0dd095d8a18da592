//! How far probes climb: free calls first where real ones are costly, free calls only where so asked, and no real call
//! beyond a budget.

use super::*;
use crate::{Depth, ProbeDepth, ProbePolicy, ProbeReason, Proof};

/// A deployment like those for pictures: a real probe is costly, and there is a free call.
fn costly(policy: ProbePolicy) -> Spec {
    let mut spec = probed("d1", 10);
    if let Some(probe) = &mut spec.probe {
        probe.policy = policy;
        probe.backoff_max = Duration::from_secs(10);
    }
    Spec { costly: true, free_call: Some(Proof::CREDENTIAL), ..spec }
}

fn with_depth(mut spec: Spec, depth: ProbeDepth) -> Spec {
    if let Some(probe) = &mut spec.probe {
        probe.depth = depth;
    }
    spec
}

fn world(spec: Spec) -> World {
    World::new(vec![spec, unprobed("d2")], group(PanicParams::resilient()))
}

/// Whether a caller's request may decide the trial.
fn is_open(world: &World, id: &str) -> bool {
    world.registry.view().entry(world.slot(id)).trial_open()
}

fn is_free(job: &ProbeJob) -> bool {
    job.depth == Depth::Free
}

#[test]
fn a_costly_deployment_in_rotation_is_asked_for_free_only() {
    let mut world = world(costly(ProbePolicy::Always));
    let sent = world.probing(60 * S, |_, _| Class::Ok);
    assert!(sent.len() >= 4, "{}", sent.len());
    assert!(sent.iter().all(|(_, job)| is_free(job) && !job.free_first));
}

#[test]
fn a_costly_deployment_that_is_out_climbs_from_the_free_call_to_a_real_one() {
    let mut world = world(costly(ProbePolicy::OnlyWhenOut));
    assert!(world.probing(60 * S, |_, _| Class::Ok).is_empty(), "nothing while it is in");
    world.kill("d1");
    let sent = world.probing(60 * S, |_, _| Class::Ok);
    assert!(sent.iter().all(|(_, job)| job.depth == Depth::Generation && job.free_first));
    assert!(world.state("d1").eligible(), "{}", world.state("d1"));
}

#[test]
fn depth_generation_pays_every_time_also_where_it_is_costly() {
    let mut world = world(with_depth(costly(ProbePolicy::Always), ProbeDepth::Generation));
    let sent = world.probing(60 * S, |_, _| Class::Ok);
    assert!(sent.len() >= 4);
    assert!(sent.iter().all(|(_, job)| job.depth == Depth::Generation && !job.free_first));
}

#[test]
fn depth_free_never_pays_and_leaves_the_trial_to_a_request() {
    let cheap = Spec { free_call: Some(Proof::CREDENTIAL), ..probed("d1", 10) };
    let mut world = world(with_depth(cheap, ProbeDepth::Free));
    world.kill("d1");
    let sent = world.probing(40 * S, |_, _| Class::Ok);
    assert!(!sent.is_empty() && sent.iter().all(|(_, job)| is_free(job)));
    assert_eq!(world.state("d1"), State::Trial, "the isolation's own time is over");
    assert!(is_open(&world, "d1"), "a request may decide at once");
}

#[test]
fn without_a_free_call_depth_free_sends_nothing() {
    let mut world = world(with_depth(probed("d1", 10), ProbeDepth::Free));
    assert!(world.probing(60 * S, |_, _| Class::Ok).is_empty());
}

#[test]
fn a_free_call_that_passes_decides_no_trial() {
    let mut world = world(probed("d1", 10));
    world.kill("d1");
    world.pass(60 * S);
    let slot = world.slot("d1");
    let lease = world.registry.claim_trial(at(world.now), slot, 1).unwrap();
    let mut free = world.outcome("d1", Class::Ok, Source::Trial);
    (free.depth, free.trial) = (Depth::Free, Some(lease.id));
    world.report("d1", &free);
    assert_eq!(world.state("d1"), State::Trial);
    assert!(world.registry.claim_trial(at(world.now), slot, 1).is_some(), "the place is free again");
}

#[test]
fn a_free_call_clears_only_the_fault_that_it_disproves() {
    let pass = |world: &mut World, proof: Proof| {
        world.now += S;
        let mut free = world.outcome("d1", Class::Ok, Source::Probe);
        (free.depth, free.proof) = (Depth::Free, proof);
        world.report("d1", &free);
        world.state("d1")
    };
    let faulty = |class: Class| {
        let mut world = world(probed("d1", 10));
        world.probe("d1", class);
        world.probe("d1", class);
        assert!(matches!(world.state("d1"), State::ConfigFault | State::Budget), "{}", world.state("d1"));
        world
    };
    let credit = Proof { credit: true, ..Proof::CREDENTIAL };
    let model = Proof { model: true, ..Proof::CREDENTIAL };
    for (class, weak, strong, still) in [
        (Class::Auth, Proof::NOTHING, Proof::CREDENTIAL, State::ConfigFault),
        (Class::ModelNotFound, Proof::CREDENTIAL, model, State::ConfigFault),
        (Class::Billing, Proof::CREDENTIAL, credit, State::Budget),
    ] {
        let mut world = faulty(class);
        assert_eq!(pass(&mut world, weak), still, "{class} after {weak:?}");
        assert_eq!(pass(&mut world, strong), State::Trial, "{class} after {strong:?}");
    }
}

#[test]
fn a_route_that_answers_does_not_lift_the_doubt_about_a_key() {
    let mut world = world(probed("d1", 60));
    world.traffic("d1", Class::Auth);
    assert_eq!(world.rank("d1"), Rank::Out);
    let mut reach = world.outcome("d1", Class::Ok, Source::Probe);
    (reach.depth, reach.proof) = (Depth::Free, Proof::NOTHING);
    world.report("d1", &reach);
    assert_eq!(world.rank("d1"), Rank::Out, "still in doubt");
    reach.proof = Proof::CREDENTIAL;
    world.report("d1", &reach);
    assert_eq!(world.rank("d1"), Rank::In);
}

#[test]
fn a30_traffic_outranks_a_free_call_that_is_too_slow() {
    let free = with_depth(costly(ProbePolicy::Always), ProbeDepth::Free);
    let mut busy = free.clone();
    if let Some(probe) = &mut busy.probe {
        probe.traffic_postpones = false;
    }
    let mut world = world(busy);
    for _ in 0..60 {
        world.traffic("d1", Class::Ok);
        world.probing(S, |_, _| Class::Timeout);
    }
    assert_eq!(world.state("d1"), State::Healthy);
    let mut idle = self::world(free);
    idle.probing(60 * S, |_, _| Class::Timeout);
    assert!(!idle.state("d1").eligible(), "nothing else speaks for it");
}

/// Sends what is due; real probes are refused for want of budget until `until`, free ones pass.
fn broke(world: &mut World, millis: u64, until: u64) -> Vec<(u64, ProbeJob)> {
    let (start, mut seen) = (world.now, Vec::new());
    while world.now < start + millis {
        world.pass(100);
        for job in world.due() {
            if is_free(&job) || world.now >= until {
                world.finish(&job, Class::Ok);
            } else {
                world.registry.probe_finished(at(world.now), &job, &ProbeEnd::OverBudget(at(until)));
            }
            seen.push((world.now - start, job));
        }
    }
    seen
}

#[test]
fn b01_beyond_the_budget_free_calls_go_on_and_real_ones_wait_for_midnight() {
    let mut world = world(Spec { free_call: Some(Proof::CREDENTIAL), ..probed("d1", 10) });
    let until = world.now + 120 * S;
    let seen = broke(&mut world, 200 * S, until);
    let real: Vec<_> = seen.iter().filter(|(_, job)| !is_free(job)).map(|(time, _)| *time).collect();
    assert_eq!(real.iter().filter(|time| **time < 120 * S).count(), 1, "asked once, then never: {real:?}");
    assert!(real.iter().any(|time| *time >= 120 * S), "paid again after midnight: {real:?}");
    assert!(seen.iter().filter(|(_, job)| is_free(job)).count() >= 8, "free calls went on");
    assert!(world.state("d1").eligible(), "never unhealthy for it");
}

#[test]
fn without_a_free_call_nothing_is_sent_until_midnight() {
    let mut world = world(probed("d1", 10));
    let until = world.now + 120 * S;
    let seen = broke(&mut world, 119 * S, until);
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(!broke(&mut world, 30 * S, until).is_empty(), "and then again");
}

#[test]
fn beyond_the_budget_a_trial_is_decided_by_a_request_at_once() {
    let mut world = world(probed("d1", 10));
    let until = world.now + 3_600 * S;
    broke(&mut world, 20 * S, until);
    world.kill("d1");
    let seen = broke(&mut world, 40 * S, until);
    assert!(seen.is_empty(), "{seen:?}");
    assert_eq!((world.state("d1"), is_open(&world, "d1")), (State::Trial, true));
}

#[test]
fn beyond_the_budget_a_waiting_trial_is_paid_for_after_midnight() {
    let mut world = world(probed("d1", 10));
    let until = world.now + 120 * S;
    broke(&mut world, 20 * S, until);
    world.kill("d1");
    let seen = broke(&mut world, 120 * S, until);
    assert!(seen.iter().all(|(time, _)| *time >= 95 * S), "{seen:?}");
    assert!(seen.iter().any(|(_, job)| job.reason == ProbeReason::Trial), "{seen:?}");
}
