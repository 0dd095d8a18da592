//! Scopes: what one deployment's evidence means for the others.

use super::*;
use crate::{Depth, ProbeReason};

/// Two deployments of one credential and account, and one of another.
fn shared(probe: Option<u64>) -> World {
    let mut specs: Vec<_> = (1..=3)
        .map(|n| {
            let id = format!("d{n}");
            let mut spec = probe.map_or_else(|| unprobed(&id), |seconds| probed(&id, seconds));
            spec.probe_price_nanousd = 10 - n;
            spec.free_call = (n == 2).then_some(crate::Proof::CREDENTIAL);
            spec
        })
        .collect();
    for spec in &mut specs[..2] {
        spec.credential = 77;
        spec.account = 88;
    }
    World::new(specs, group(PanicParams::resilient()))
}

/// The confirming call that is due.
fn confirmation(world: &mut World) -> ProbeJob {
    let mut jobs: Vec<_> = world.due().into_iter().filter(|job| job.reason == ProbeReason::Confirm).collect();
    assert_eq!(jobs.len(), 1, "one call for the whole credential");
    jobs.remove(0)
}

#[test]
fn a_dead_credential_takes_all_its_deployments_and_costs_one_free_call() {
    let mut world = shared(Some(60));
    world.traffic("d1", Class::Auth);
    assert_eq!(world.ranks(), [Rank::Out, Rank::Out, Rank::In], "out at once, on the first refusal");
    let job = confirmation(&mut world);
    assert_eq!((job.slot, job.depth), (world.slot("d2"), Depth::Free), "the cheapest member, at no cost");
    assert_eq!(world.state("d2"), State::Unknown, "in doubt is no verdict");
    world.finish(&job, Class::Auth);
    assert_eq!((world.state("d1"), world.state("d2")), (State::ConfigFault, State::ConfigFault));
    assert_eq!(world.ranks(), [Rank::Out, Rank::Out, Rank::In]);
    assert!(world.due().iter().all(|job| job.reason != ProbeReason::Confirm));
}

#[test]
fn a_refuted_doubt_brings_all_back() {
    let mut world = shared(Some(60));
    world.traffic("d1", Class::Auth);
    let job = confirmation(&mut world);
    world.finish(&job, Class::Ok);
    assert_eq!(world.ranks(), [Rank::In; 3]);
    assert!(!matches!(world.state("d1"), State::ConfigFault));
}

#[test]
fn a_confirmation_without_a_verdict_is_asked_for_again_and_the_doubt_ends_by_itself() {
    let mut world = shared(Some(60));
    world.traffic("d1", Class::Auth);
    let job = confirmation(&mut world);
    world.finish(&job, Class::Timeout);
    assert_eq!(world.ranks(), [Rank::Out, Rank::Out, Rank::In]);
    world.pass(5 * S);
    let again = confirmation(&mut world);
    world.registry.probe_finished(at(world.now), &again, &ProbeEnd::NoEvidence);
    world.pass(60 * S);
    assert_eq!(world.ranks(), [Rank::In; 3], "never stuck");
}

#[test]
fn e14_without_probes_later_calls_go_straight_past_a_dead_key() {
    let mut world = shared(None);
    world.traffic("d1", Class::Auth);
    assert_eq!(world.ranks(), [Rank::Out, Rank::Out, Rank::In]);
    world.pass(61 * S);
    assert_eq!(world.ranks(), [Rank::In; 3], "nobody can confirm: the next call may");
    world.traffic("d2", Class::Auth);
    world.traffic("d1", Class::Auth);
    assert_eq!(world.rank("d1"), Rank::Out);
    assert_eq!(world.rank("d2"), Rank::Out);
}

#[test]
fn a_lone_deployment_whose_key_nobody_can_confirm_gets_its_second_chance_at_once() {
    let mut world = World::of(1, PanicParams::resilient());
    world.traffic("d1", Class::Auth);
    assert_eq!(world.rank("d1"), Rank::In);
    world.traffic("d1", Class::Auth);
    assert_eq!((world.state("d1"), world.rank("d1")), (State::ConfigFault, Rank::Out));
}

#[test]
fn an_answer_to_a_request_sent_before_the_doubt_does_not_end_it() {
    let mut world = shared(Some(60));
    let old = world.outcome("d2", Class::Ok, Source::Traffic);
    world.pass(S);
    world.traffic("d1", Class::Auth);
    world.report("d2", &old);
    assert_eq!(world.rank("d2"), Rank::Out);
    let limited = world.outcome("d2", Class::RateLimit, Source::Traffic);
    world.report("d2", &limited);
    assert_eq!(world.rank("d1"), Rank::In, "only a live credential is told to slow down");
}

#[test]
fn a_healed_credential_brings_its_deployments_back_through_trials_one_after_another() {
    let mut world = shared(Some(60));
    world.traffic("d1", Class::Auth);
    let job = confirmation(&mut world);
    world.finish(&job, Class::Auth);
    let healed = world.now + 30 * S;
    let start = world.now;
    let sent =
        world.probing(600 * S, |since, _| if start + since >= healed { Class::Ok } else { Class::Auth });
    let trials: Vec<_> = sent
        .iter()
        .filter(|(_, job)| job.trial.is_some() && job.slot != world.slot("d3"))
        .map(|(t, _)| *t)
        .collect();
    assert_eq!(trials.len(), 2, "{trials:?}");
    assert!(trials[1] - trials[0] >= 5 * S, "5 s apart: {trials:?}");
    assert_eq!((world.state("d1"), world.state("d2")), (State::Healthy, State::Healthy));
}

#[test]
fn d18_the_scope_of_a_limit_decides_who_is_held() {
    let mut world = shared(None);
    let mut limited = world.outcome("d1", Class::RateLimit, Source::Traffic);
    limited.retry_after = Some(Duration::from_secs(10));
    world.report("d1", &limited);
    assert_eq!(world.ranks(), [Rank::Held, Rank::In, Rank::In], "tokens per minute for model x");
    world.pass(11 * S);
    let mut limited = world.outcome("d1", Class::RateLimit, Source::Traffic);
    limited.retry_after = Some(Duration::from_secs(10));
    limited.scope = Scope::Account;
    world.report("d1", &limited);
    assert_eq!(
        world.ranks(),
        [Rank::Held, Rank::Held, Rank::In],
        "usage limit of your plan: both after one call"
    );
    world.pass(9 * S);
    assert_eq!(world.rank("d2"), Rank::Held);
    world.pass(4 * S);
    assert!(world.serve("d1", Class::Ok) && world.serve("d2", Class::Ok));
    assert_eq!(world.ranks(), [Rank::In; 3]);
}

#[test]
fn d03_an_empty_account_takes_all_its_deployments_and_is_retested_seldom() {
    let mut world = shared(None);
    world.traffic("d1", Class::Billing);
    assert_eq!((world.state("d1"), world.state("d2")), (State::Budget, State::Budget));
    assert_eq!(world.ranks(), [Rank::Out, Rank::Out, Rank::In]);

    // Four credentials, three of them empty; one call a minute for an hour, each call answered.
    let mut world = World::of(4, PanicParams::resilient());
    let mut attempts = [0_u32; 4];
    for _ in 0..60 {
        let mut tried = Vec::new();
        let open =
            world.registry.slots().into_iter().find(|&slot| world.registry.view().entry(slot).trial_open());
        let mut next = open;
        loop {
            let slot = next.take().or_else(|| {
                let view = world.registry.view();
                let usable = |slot: &Slot| view.entry(*slot).rank == Rank::In && !tried.contains(slot);
                world.registry.slots().into_iter().find(usable)
            });
            let slot = slot.expect("an untried candidate exists until one answers");
            tried.push(slot);
            attempts[slot.0 as usize] += 1;
            let id = format!("d{}", slot.0 + 1);
            let class = if slot.0 == 3 { Class::Ok } else { Class::Billing };
            let lease = world.registry.claim_trial(at(world.now), slot, 1);
            let source = if lease.is_some() { Source::Trial } else { Source::Traffic };
            let mut outcome = world.outcome(&id, class, source);
            outcome.trial = lease.map(|lease| lease.id);
            world.report(&id, &outcome);
            if class == Class::Ok {
                break;
            }
        }
        world.pass(60 * S);
    }
    assert!(attempts[..3].iter().all(|&count| (2..=6).contains(&count)), "{attempts:?}");
    assert_eq!(attempts[3], 60, "every call answered");
}

#[test]
fn d03_a_free_call_does_not_show_that_an_account_can_pay() {
    let mut world = shared(Some(60));
    world.traffic("d1", Class::Billing);
    world.pass(S);
    let mut free = world.outcome("d1", Class::Ok, Source::Probe);
    free.depth = Depth::Free;
    world.report("d1", &free);
    assert_eq!((world.state("d1"), world.state("d2")), (State::Budget, State::Budget));
}

/// Six deployments at one host, probed every 60 s.
fn host() -> World {
    let specs = (1..=6)
        .map(|n| Spec { endpoint: Arc::from("http://host"), ..probed(&format!("d{n}"), 60) })
        .collect();
    World::new(specs, group(PanicParams::resilient()))
}

#[test]
fn an_endpoint_in_doubt_is_probed_once_for_all() {
    let mut world = host();
    world.traffic("d1", Class::Connection);
    world.traffic("d2", Class::Connection);
    let sent = world.probing(60 * S, |_, _| Class::Connection);
    let by_representative = sent.iter().filter(|(_, job)| job.reason == ProbeReason::Representative).count();
    let others = sent.len() - by_representative;
    assert!((8..=13).contains(&by_representative), "every 5 s: {by_representative}");
    assert!(others <= 1, "the siblings' intervals stretch: {others}");

    let sent = world.probing(120 * S, |_, _| Class::Ok);
    let probed: std::collections::HashSet<_> = sent.iter().map(|(_, job)| job.slot).collect();
    assert_eq!(probed.len(), 6, "back to regular care");
    assert!(sent.iter().skip(1).all(|(_, job)| job.reason != ProbeReason::Representative));
}

#[test]
fn trials_of_an_endpoint_in_doubt_are_granted_one_at_a_time() {
    let specs =
        (1..=3).map(|n| Spec { endpoint: Arc::from("http://host"), ..unprobed(&format!("d{n}")) }).collect();
    let mut world = World::new(specs, group(PanicParams::resilient()));
    for id in ["d1", "d2", "d3"] {
        world.kill(id);
    }
    world.pass(31 * S);
    let [a, b, c] = ["d1", "d2", "d3"].map(|id| world.slot(id));
    let lease = world.registry.claim_trial(at(world.now), a, 1).expect("the first may");
    assert!(world.registry.claim_trial(at(world.now), b, 1).is_none(), "one per domain");
    let mut outcome = world.outcome("d1", Class::Ok, Source::Trial);
    outcome.trial = Some(lease.id);
    world.report("d1", &outcome);
    assert_eq!(world.state("d1"), State::Ramping);
    assert!(world.registry.claim_trial(at(world.now), b, 1).is_none(), "returns are apart");
    world.pass(5 * S);
    assert!(world.registry.claim_trial(at(world.now), b, 1).is_some());
    assert!(world.registry.claim_trial(at(world.now), c, 1).is_none());
}

#[test]
fn c07_what_fails_everywhere_at_once_is_this_pods_own_view() {
    let mut world = World::of(3, PanicParams::resilient());
    for _ in 0..5 {
        world.traffic("d1", Class::Connection);
    }
    assert_eq!(world.state("d1"), State::Isolated);
    assert!(!world.registry.view().entry(Slot(0)).local_only(), "one provider may simply be down");
    for _ in 0..5 {
        world.traffic("d2", Class::Connection);
    }
    assert!(world.registry.view().pod_suspect());
    assert!(world.registry.view().entry(Slot(0)).local_only(), "isolated in the same ten seconds");
    assert!(world.registry.view().entry(Slot(1)).local_only());
    assert_ne!(world.rank("d1"), Rank::In, "this pod avoids it all the same");
    let local = world.registry.events(0).events.into_iter().any(
        |event| matches!(event.kind, EventKind::Moved { slot: Slot(1), local_only: true, transition, .. } if transition.to == State::Isolated),
    );
    assert!(local, "the fleet is told that it is local");
    world.pass(12 * S);
    assert!(!world.registry.view().pod_suspect(), "it ends by itself");
}

#[test]
fn b06_only_when_out_probes_nothing_that_is_in() {
    let mut spec = probed("d1", 10);
    if let Some(probe) = &mut spec.probe {
        probe.policy = crate::ProbePolicy::OnlyWhenOut;
    }
    let mut world = World::new(vec![spec, unprobed("d2")], group(PanicParams::resilient()));
    world.traffic("d1", Class::Ok);
    assert_eq!(world.probing(30 * S, |_, _| Class::Ok).len(), 0);
    world.kill("d1");
    let sent = world.probing(120 * S, |_, _| Class::Ok);
    assert!(!sent.is_empty());
    assert_eq!(world.rank("d1"), Rank::In, "back");
    let after = world.probing(60 * S, |_, _| Class::Ok);
    assert_eq!(after.len(), 0, "and left alone again");
}
