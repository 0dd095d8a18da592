use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn ask(deployment: &Arc<str>, interval: u64, hold: u64) -> Ask<'_> {
    Ask { deployment, interval: ms(interval), hold: ms(hold) }
}

fn granted(claim: Claim) -> Permit {
    match claim {
        Claim::Granted(permit) => permit,
        Claim::Wait(until) => panic!("must wait until {until:?}"),
    }
}

#[test]
fn a_lost_permit_is_granted_again_after_the_hold() {
    let (fleet, d) = (LocalFleet::new(), Arc::from("d"));
    drop(granted(fleet.claim_now(at(0), &ask(&d, 1_000, 25_000))));
    assert_eq!(fleet.claim_now(at(24_999), &ask(&d, 1_000, 25_000)), Claim::Wait(at(25_000)));
    assert_eq!(
        granted(fleet.claim_now(at(25_000), &ask(&d, 1_000, 25_000))).redeem(at(25_000)).unwrap().seq(),
        2
    );
}

#[test]
fn suspicion_shortens_the_wait_that_the_claim_before_it_would_have_had() {
    let (fleet, d) = (LocalFleet::new(), Arc::from("d"));
    let grant = granted(fleet.claim_now(at(0), &ask(&d, 60_000, 25_000))).redeem(at(0)).unwrap();
    fleet.commit_now(at(300), &grant).unwrap();
    assert_eq!(fleet.claim_now(at(9_000), &ask(&d, 60_000, 25_000)), Claim::Wait(at(60_000)));
    assert_eq!(fleet.claim_now(at(5_200), &ask(&d, 5_000, 25_000)), Claim::Wait(at(5_300)));
    granted(fleet.claim_now(at(5_300), &ask(&d, 5_000, 25_000))).redeem(at(5_300)).unwrap();
}

#[test]
fn a_paused_holder_drops_its_permit() {
    let (fleet, d) = (LocalFleet::new(), Arc::from("d"));
    let permit = granted(fleet.claim_now(at(0), &ask(&d, 1_000, 25_000)));
    assert_eq!(permit.use_by(), at(2_000));
    assert_eq!(permit.redeem(at(2_001)).unwrap_err().deployment.as_ref(), "d");
}

#[test]
fn a_forgotten_deployment_commits_nothing() {
    let (fleet, d) = (LocalFleet::new(), Arc::from("d"));
    let grant = granted(fleet.claim_now(at(0), &ask(&d, 1_000, 1_000))).redeem(at(0)).unwrap();
    fleet.retain(|id| id != "d");
    assert_eq!(fleet.commit_now(at(10), &grant), Err(Stale { seq: 1 }));
}

#[derive(Clone, Debug)]
enum Act {
    Claim {
        who: usize,
        interval: u64,
    },
    /// Commits the grant at this place in the list of all grants, so also superseded and repeated ones.
    Commit {
        which: usize,
    },
    Pass {
        millis: u64,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..3_usize, prop_oneof![Just(1_000_u64), Just(5_000), Just(60_000), Just(300_000)])
            .prop_map(|(who, interval)| Act::Claim { who, interval }),
        3 => (0..200_usize).prop_map(|which| Act::Commit { which }),
        3 => (0..40_000_u64).prop_map(|millis| Act::Pass { millis }),
    ];
    prop::collection::vec(act, 1..200)
}

proptest! {
    /// I1: between two grants of one deployment lies the interval of the claim. I4: a superseded or repeated
    /// verdict is refused, and the latest is accepted exactly once. Tokens only grow.
    #[test]
    fn grants_keep_their_distance_and_only_the_latest_verdict_counts(acts in acts()) {
        const HOLD: u64 = 25_000;
        let fleet = LocalFleet::new();
        let ids: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).into();
        let mut now = 0;
        let mut grants: Vec<Grant> = Vec::new();
        let mut latest: HashMap<String, (u64, u64, bool)> = HashMap::new();
        for act in acts {
            match act {
                Act::Pass { millis } => now += millis,
                Act::Claim { who, interval } => {
                    let id = &ids[who];
                    let before = latest.get(id.as_ref()).copied();
                    match fleet.claim_now(at(now), &ask(id, interval, HOLD)) {
                        Claim::Granted(permit) => {
                            let grant = permit.redeem(at(now)).unwrap();
                            if let Some((seq, when, committed)) = before {
                                prop_assert!(now - when >= interval);
                                prop_assert!(committed || now - when >= HOLD);
                                prop_assert_eq!(grant.seq(), seq + 1);
                            }
                            latest.insert(id.to_string(), (grant.seq(), now, false));
                            grants.push(grant);
                        }
                        Claim::Wait(until) => {
                            prop_assert!(before.is_some(), "the first claim is granted");
                            prop_assert!(until > at(now));
                        }
                    }
                }
                Act::Commit { which } if !grants.is_empty() => {
                    let grant = &grants[which % grants.len()];
                    let entry = latest.get_mut(grant.deployment()).unwrap();
                    let counts = entry.0 == grant.seq() && !entry.2;
                    prop_assert_eq!(fleet.commit_now(at(now), grant).is_ok(), counts);
                    entry.2 |= counts;
                }
                Act::Commit { .. } => {}
            }
        }
    }

    /// I2, I1 under threads: however many ask at once, one gets it.
    #[test]
    fn one_of_many_simultaneous_claims_is_granted(threads in 2..8_usize, rounds in 1..20_u64) {
        let fleet = LocalFleet::new();
        let id: Arc<str> = Arc::from("d");
        for round in 0..rounds {
            let now = at(round * 1_000);
            let grants: usize = std::thread::scope(|scope| {
                let claims: Vec<_> = (0..threads)
                    .map(|_| scope.spawn(|| matches!(fleet.claim_now(now, &ask(&id, 1_000, 1_000)), Claim::Granted(_))))
                    .collect();
                claims.into_iter().map(|claim| usize::from(claim.join().unwrap())).sum()
            });
            prop_assert_eq!(grants, 1);
        }
    }
}
