use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const fn at(ms: u64) -> StoreTime {
    StoreTime::from_millis(ms)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn terms(interval: u64) -> Terms {
    Terms { interval: ms(interval), hold: ms(25_000), first_touch: ms(0), split_brain: ms(0) }
}

fn verdict(seq: u64, next_interval: u64) -> Verdict {
    Verdict { seq, next_interval: ms(next_interval), min_gap: ms(5_000), state: "healthy".into() }
}

fn one() -> ReplicationId {
    ReplicationId::new("one")
}

fn two() -> ReplicationId {
    ReplicationId::new("two")
}

/// A record with grant 1 at 0, asked for on `interval`.
fn granted(interval: u64) -> Book {
    let mut book = Book::new();
    let pod = PodId::new("a");
    assert_eq!(book.claim(at(0), &one(), &terms(interval), &pod), Answer::Touch { wait: ms(0) });
    let next = ms(interval.max(25_000));
    assert_eq!(book.claim(at(0), &one(), &terms(interval), &pod), Answer::Grant { seq: 1, next });
    book
}

fn claim(book: &mut Book, now: u64, interval: u64) -> Answer {
    book.claim(at(now), &one(), &terms(interval), &PodId::new("b"))
}

#[test]
fn a_new_record_grants_nothing_until_its_phase_has_passed() {
    let mut book = Book::new();
    let terms = Terms { first_touch: ms(40_000), ..terms(60_000) };
    let pod = PodId::new("a");
    assert_eq!(book.claim(at(1_000), &one(), &terms, &pod), Answer::Touch { wait: ms(40_000) });
    assert_eq!(book.claim(at(40_999), &one(), &terms, &pod), Answer::Wait { wait: ms(1) });
    assert_eq!(book.claim(at(41_000), &one(), &terms, &pod), Answer::Grant { seq: 1_001, next: ms(60_000) });
}

#[test]
fn a_record_made_after_a_loss_makes_every_claim_wait_its_interval() {
    let mut book = Book::new();
    let doubt = Terms { first_touch: ms(5_000), ..terms(5_000) };
    let pod = PodId::new("a");
    assert_eq!(book.claim(at(1_000), &one(), &doubt, &pod), Answer::Touch { wait: ms(5_000) });
    assert_eq!(claim(&mut book, 6_000, 60_000), Answer::Wait { wait: ms(55_000) });
    assert_eq!(claim(&mut book, 6_000, 5_000), Answer::Grant { seq: 1_001, next: ms(25_000) });
}

#[test]
fn a_grant_is_due_one_interval_after_the_last_whatever_its_verdict_says() {
    let mut book = granted(60_000);
    assert_eq!(book.commit(at(300), &verdict(1, 60_000)), Ok(ms(59_700)));
    assert_eq!(claim(&mut book, 59_999, 60_000), Answer::Wait { wait: ms(1) });
    assert_eq!(claim(&mut book, 60_000, 60_000), Answer::Grant { seq: 2, next: ms(60_000) });
}

#[test]
fn a_lost_probe_is_granted_again_after_the_longer_of_interval_and_hold() {
    let mut short = granted(1_000);
    assert_eq!(claim(&mut short, 24_999, 1_000), Answer::Wait { wait: ms(1) });
    assert_eq!(claim(&mut short, 25_000, 1_000), Answer::Grant { seq: 2, next: ms(25_000) });
    let mut long = granted(60_000);
    assert_eq!(claim(&mut long, 25_000, 60_000), Answer::Wait { wait: ms(35_000) });
}

#[test]
fn after_a_failure_the_interval_of_doubt_counts_and_the_rest() {
    let mut book = granted(60_000);
    assert_eq!(book.commit(at(20_000), &verdict(1, 5_000)), Ok(ms(5_000)));
    assert_eq!(claim(&mut book, 24_999, 5_000), Answer::Wait { wait: ms(1) });
    assert_eq!(claim(&mut book, 25_000, 5_000), Answer::Grant { seq: 2, next: ms(25_000) });
}

#[test]
fn a_claim_is_measured_by_the_interval_it_names() {
    let mut book = granted(60_000);
    book.commit(at(300), &verdict(1, 60_000)).unwrap();
    assert_eq!(claim(&mut book, 30_000, 300_000), Answer::Wait { wait: ms(270_000) });
    assert_eq!(claim(&mut book, 30_000, 5_000), Answer::Grant { seq: 2, next: ms(25_000) });
}

#[test]
fn a_superseded_a_repeated_and_an_unknown_verdict_change_nothing() {
    let mut book = granted(60_000);
    claim(&mut book, 60_000, 60_000);
    let before = book.clone();
    assert_eq!(book.commit(at(60_100), &verdict(1, 60_000)), Err(Refused::Stale { latest: 2 }));
    assert_eq!(book.commit(at(60_100), &verdict(3, 60_000)), Err(Refused::Stale { latest: 2 }));
    assert_eq!(book, before);
    book.commit(at(60_100), &verdict(2, 60_000)).unwrap();
    let before = book.clone();
    assert_eq!(book.commit(at(60_200), &verdict(2, 60_000)), Err(Refused::Stale { latest: 2 }));
    assert_eq!(book, before);
    assert_eq!(Book::new().commit(at(0), &verdict(0, 60_000)), Err(Refused::Gone));
}

#[test]
fn a_verdict_is_as_old_as_its_grant() {
    let mut book = granted(60_000);
    book.commit(at(20_000), &verdict(1, 60_000)).unwrap();
    let record = book.record().unwrap();
    assert_eq!((record.observed_at, record.committed_at), (Some(at(0)), Some(at(20_000))));
    assert_eq!((record.version, record.state.as_deref()), (1, Some("healthy")));
    // The next grant changes nothing of what is known.
    claim(&mut book, 60_000, 60_000);
    let record = book.record().unwrap();
    assert_eq!((record.observed_at, record.observed_by.clone()), (Some(at(0)), Some(PodId::new("a"))));
    assert_eq!(record.owner, Some(PodId::new("b")));
}

#[test]
fn a_failover_quarantines_a_whole_spacing_and_fences_what_was_lost() {
    let mut book = granted(60_000);
    let pod = PodId::new("b");
    // The new primary knows nothing of grant 2, which was made at 60 s and lost.
    let answer = book.claim(at(60_500), &two(), &terms(60_000), &pod);
    assert_eq!(answer, Answer::Quarantine { wait: ms(60_000) });
    assert_eq!(book.commit(at(61_000), &verdict(2, 60_000)), Err(Refused::Stale { latest: 60_500 }));
    assert_eq!(book.claim(at(120_499), &two(), &terms(60_000), &pod), Answer::Wait { wait: ms(1) });
    let next = ms(60_000);
    assert_eq!(book.claim(at(120_500), &two(), &terms(60_000), &pod), Answer::Grant { seq: 60_501, next });
}

#[test]
fn a_claim_of_an_operator_neither_shortens_nor_slips_through_a_quarantine() {
    let mut book = granted(300_000);
    book.commit(at(100), &verdict(1, 300_000)).unwrap();
    let pod = PodId::new("b");
    let answer = book.claim(at(1_000), &two(), &terms(1_000), &pod);
    assert_eq!(answer, Answer::Quarantine { wait: ms(300_000) });
    for now in [2_000, 30_000, 300_999] {
        let answer = book.claim(at(now), &two(), &terms(1_000), &pod);
        assert_eq!(answer, Answer::Wait { wait: ms(301_000 - now) });
    }
}

#[test]
fn a_replaced_primary_that_may_go_on_writing_lengthens_the_quarantine() {
    let mut book = granted(60_000);
    let terms = Terms { split_brain: ms(7_000), ..terms(60_000) };
    let answer = book.claim(at(10_000), &two(), &terms, &PodId::new("b"));
    assert_eq!(answer, Answer::Quarantine { wait: ms(67_000) });
    // The old primary may have granted at 17 s, on an interval that was longer since.
    let answer = book.claim(at(77_000), &two(), &Terms { interval: ms(90_000), ..terms }, &PodId::new("b"));
    assert_eq!(answer, Answer::Wait { wait: ms(30_000) });
}

#[test]
fn a_record_that_was_lost_is_fenced_when_it_is_made_anew() {
    // Grant 1 was made at 0 by a record that is gone.
    let mut book = Book::new();
    claim(&mut book, 3_000, 60_000);
    assert_eq!(claim(&mut book, 3_000, 60_000), Answer::Grant { seq: 3_001, next: ms(60_000) });
    assert_eq!(book.commit(at(4_000), &verdict(1, 60_000)), Err(Refused::Stale { latest: 3_001 }));
}

#[test]
fn a_clock_that_is_set_back_delays_by_at_most_four_spacings() {
    let base = 10_000_000;
    let mut book = Book::new();
    claim(&mut book, base, 60_000);
    claim(&mut book, base, 60_000);
    assert_eq!(claim(&mut book, base - 180_000, 60_000), Answer::Wait { wait: ms(240_000) });
    assert_eq!(claim(&mut book, base - 180_001, 60_000), Answer::Wait { wait: ms(60_000) });
    assert_eq!(claim(&mut book, base - 120_001, 60_000), Answer::Grant { seq: base + 2, next: ms(60_000) });
}

/// What happens to a fleet with two stores of which one is the primary.
#[derive(Clone, Debug)]
enum Act {
    Pass(u64),
    Claim {
        pod: u8,
        interval: u64,
    },
    /// Commits the grant at this place in the list of all, so also superseded, repeated and lost ones.
    Commit {
        which: usize,
        next: u64,
    },
    /// The replica takes over all that the primary has.
    Replicate,
    /// The primary is gone for good; the replica is promoted as it is.
    Failover,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let interval = prop_oneof![Just(1_000_u64), Just(5_000), Just(60_000), Just(300_000)];
    let act = prop_oneof![
        4 => (0..3_u8, interval.clone()).prop_map(|(pod, interval)| Act::Claim { pod, interval }),
        3 => (0..50_usize, interval).prop_map(|(which, next)| Act::Commit { which, next }),
        4 => prop_oneof![0..5_000_u64, 0..400_000_u64].prop_map(Act::Pass),
        3 => Just(Act::Replicate),
        1 => Just(Act::Failover),
    ];
    prop::collection::vec(act, 1..200)
}

proptest! {
    /// I1, I4, I5: whatever pods and stores do, two grants lie an interval apart, also across a failover that lost the
    /// first of them; numbers never repeat; of all verdicts only that of the latest grant counts, once.
    #[test]
    fn grants_keep_their_distance_across_failovers(acts in acts()) {
        let first = Terms { first_touch: ms(300_000), ..terms(300_000) };
        let (mut primary, mut replica) = (Book::new(), Book::new());
        let mut history = 0;
        let mut now = 0;
        let mut grants: Vec<(u64, u64)> = Vec::new();
        let mut accepted: HashMap<u64, u32> = HashMap::new();
        for act in acts {
            let id = ReplicationId::new(&history.to_string());
            match act {
                Act::Pass(millis) => now += millis,
                Act::Replicate => replica = primary.clone(),
                Act::Failover => {
                    primary = replica.clone();
                    history += 1;
                    accepted.clear();
                }
                Act::Claim { pod, interval } => {
                    let terms = Terms { interval: ms(interval), ..first };
                    let before = primary.record().map(|record| record.seq);
                    match primary.claim(at(now), &id, &terms, &PodId::new(&pod.to_string())) {
                        Answer::Grant { seq, .. } => {
                            if let Some((_, when)) = grants.last() {
                                prop_assert!(now - when >= interval, "{now} after {when} on {interval}");
                            }
                            prop_assert!(grants.iter().all(|(known, _)| *known != seq), "{seq} again");
                            grants.push((seq, now));
                        }
                        Answer::Touch { wait } => {
                            prop_assert_eq!(before, None);
                            prop_assert_eq!(wait, first.first_touch);
                        }
                        Answer::Wait { wait } | Answer::Quarantine { wait } => prop_assert!(!wait.is_zero()),
                    }
                }
                Act::Commit { which, next } if !grants.is_empty() => {
                    let (seq, when) = grants[which % grants.len()];
                    let before = primary.clone();
                    match primary.commit(at(now), &verdict(seq, next)) {
                        Ok(_) => {
                            let record = primary.record().unwrap();
                            prop_assert_eq!(record.seq, seq);
                            prop_assert_eq!(record.observed_at, Some(at(when)));
                            let times = accepted.entry(seq).or_default();
                            *times += 1;
                            prop_assert_eq!(*times, 1, "{} twice in one history", seq);
                        }
                        Err(_) => prop_assert_eq!(&primary, &before),
                    }
                }
                Act::Commit { .. } => {}
            }
        }
    }

    /// I1 on a clock that jumps either way: no wait is longer than four spacings, so nothing stops for good.
    #[test]
    fn no_clock_makes_a_wait_absurd(jumps in prop::collection::vec(-10_000_000_i64..10_000_000, 1..50)) {
        let mut book = Book::new();
        let mut now = 1_000_000_000_u64;
        for jump in jumps {
            now = now.saturating_add_signed(jump);
            if let Answer::Wait { wait } = claim(&mut book, now, 60_000) {
                prop_assert!(wait <= ms(240_000), "{wait:?}");
            }
        }
    }
}
