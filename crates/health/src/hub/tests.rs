use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::{Class, PanicParams, Params, Rank, Source, State};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn hub(count: usize) -> Hub {
    let specs = (1..=count).map(|n| Spec::new(&format!("d{n}"), "g", Params::resilient())).collect();
    Hub::new(specs, vec![GroupSpec::new("g", PanicParams::resilient())], 7, at(1_000))
}

fn fail(hub: &Hub, now: Timestamp, slot: Slot) {
    let outcome = Outcome::new(Class::ServerError, Source::Traffic, now, hub.generation(slot));
    hub.report(now, slot, &outcome);
}

#[test]
fn a_success_of_a_healthy_deployment_publishes_nothing_and_is_not_lost() {
    let hub = hub(2);
    hub.succeeded(at(2_000), Slot(0), at(2_000), Duration::ZERO, None);
    assert_eq!(hub.snapshot().verdict(Slot(0)).state, State::Healthy, "the first one is told at once");
    let version = hub.snapshot().version();
    for _ in 0..100 {
        hub.succeeded(at(3_000), Slot(0), at(2_900), Duration::ZERO, Some(Duration::from_millis(50)));
    }
    assert_eq!(hub.snapshot().version(), version);
    hub.tick(at(4_000));
    let detail = hub.detail(Slot(0), at(4_000)).unwrap();
    assert_eq!((detail.evidence.window_ok, detail.age_seconds), (101, Some(1.1)));
}

#[test]
fn a_slow_first_token_is_told_at_once() {
    let hub = hub(2);
    hub.succeeded(at(2_000), Slot(0), at(2_000), Duration::ZERO, None);
    hub.succeeded(at(20_000), Slot(0), at(9_000), Duration::ZERO, Some(Duration::from_secs(11)));
    assert_eq!(hub.detail(Slot(0), at(20_000)).unwrap().evidence.window_slow, 1);
}

#[test]
fn k05_a_transition_is_visible_to_every_thread_at_once() {
    let hub = Arc::new(hub(2));
    let (stop, flipped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (hub, stop, flipped) = (Arc::clone(&hub), Arc::clone(&stop), Arc::clone(&flipped));
            std::thread::spawn(move || {
                let (mut reads, mut stale) = (0_u64, 0_u64);
                while !stop.load(Ordering::Acquire) || reads == 0 {
                    let known = flipped.load(Ordering::Acquire);
                    let rank = hub.snapshot().entry(Slot(0)).rank;
                    stale += u64::from(known && rank == Rank::In);
                    reads += 1;
                }
                stale
            })
        })
        .collect();
    for _ in 0..5 {
        fail(&hub, at(2_000), Slot(0));
    }
    flipped.store(true, Ordering::Release);
    for _ in 0..1_000 {
        assert_ne!(hub.snapshot().entry(Slot(0)).rank, Rank::In);
    }
    stop.store(true, Ordering::Release);
    for reader in readers {
        assert_eq!(reader.join().unwrap(), 0, "nobody reads the old verdict after the event");
    }
}

#[test]
fn successes_from_many_threads_are_all_counted() {
    let hub = Arc::new(hub(2));
    hub.succeeded(at(2_000), Slot(0), at(2_000), Duration::ZERO, None);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let hub = Arc::clone(&hub);
            std::thread::spawn(move || {
                for n in 0..1_000 {
                    let guard = hub.begin(at(2_000), Slot(0)).unwrap();
                    hub.succeeded(at(2_000), Slot(0), at(2_000), Duration::ZERO, None);
                    drop(guard);
                    if n % 100 == 0 {
                        hub.tick(at(2_000));
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    hub.tick(at(2_000));
    let detail = hub.detail(Slot(0), at(2_000)).unwrap();
    assert_eq!((detail.evidence.window_ok, detail.evidence.in_flight), (4_001, 0));
}

#[test]
fn an_unknown_slot_is_never_usable() {
    let hub = hub(1);
    assert!(hub.begin(at(2_000), Slot(9)).is_none());
    assert_eq!(hub.snapshot().entry(Slot(9)).rank, Rank::Out);
    hub.succeeded(at(2_000), Slot(9), at(2_000), Duration::ZERO, None);
    fail(&hub, at(2_000), Slot(9));
    assert!(hub.claim_trial(at(2_000), Slot(9), 1).is_none());
}

#[test]
fn usable_answers_for_the_group_that_is_asked() {
    let hub = hub(1);
    let snapshot = hub.snapshot();
    let group = snapshot.find_group("g").unwrap();
    let slot = snapshot.find("d1").unwrap();
    assert_eq!(snapshot.usable(group, slot), Rank::In);
    assert_eq!(snapshot.usable(crate::GroupIx(5), slot), Rank::Out);
    assert_eq!(snapshot.group(group).unwrap().slots, [slot]);
}
