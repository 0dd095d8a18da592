//! Every order of steps of three pods, one deployment and two stores, up to a bound, against invariants I1 to I5.
//!
//! A pod claims on a long or a short interval; a permit is used in time, or too late and so never; its verdict may reach
//! the store at any later moment, any number of times. The replica takes over the primary's record at any moment, and is
//! promoted at any moment, when the old primary is gone for good. Time is whole seconds.
//!
//! The book decides by its own code. What is checked beside it is kept apart: when any store last made a grant, which
//! numbers were ever granted, sent, and accepted in the present history.

use std::collections::BTreeSet;

use stateright::{Checker, Model, Property};

use super::*;

const PODS: usize = 3;
const LONG: u64 = 3;
const SHORT: u64 = 2;
const HOLD: u64 = 2;
const REST: u64 = 1;
/// Longest time from the start of a claim to the use of its permit.
const USE_WITHIN: u64 = 1;
/// The last second.
const END: u64 = 7;
const FAILOVERS: u32 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u64,
    primary: Book,
    replica: Book,
    failovers: u32,
    /// Of each pod the permit that it did not use yet, with the second of its claim. In order: which pod is which makes
    /// no difference.
    permits: Vec<Option<(u64, u64)>>,
    /// When any store last made a grant.
    granted_at: Option<u64>,
    granted: BTreeSet<u64>,
    /// Numbers of probes that were sent; the verdict of each may come at any time, and again.
    sent: BTreeSet<u64>,
    /// Accepted in the present history.
    accepted: BTreeSet<u64>,
    /// The first invariant that a step broke.
    broken: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Tick,
    Claim(usize, u64),
    Use(usize),
    Commit(u64),
    Replicate,
    FailOver,
}

struct Fleet;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

impl State {
    fn store_time(&self) -> StoreTime {
        StoreTime::from_millis(self.now * 1_000)
    }

    fn claim(&mut self, pod: usize, interval: u64) {
        let terms = Terms {
            interval: secs(interval),
            hold: secs(HOLD),
            first_touch: secs(LONG),
            split_brain: secs(0),
        };
        let history = ReplicationId::new(&self.failovers.to_string());
        // Who owns a grant is kept and never decides: one name keeps equal states equal.
        match self.primary.claim(self.store_time(), &history, &terms, &PodId::new("pod")) {
            Answer::Grant { seq, .. } => {
                if self.granted_at.is_some_and(|at| self.now - at < interval) {
                    self.broken = Some("I1 or I5: two grants within an interval");
                }
                if !self.granted.insert(seq) {
                    self.broken = Some("I4: a number was granted twice");
                }
                self.granted_at = Some(self.now);
                self.permits[pod] = Some((seq, self.now));
            }
            Answer::Touch { .. } | Answer::Wait { .. } | Answer::Quarantine { .. } => {}
        }
    }

    fn send(&mut self, pod: usize) {
        let Some((seq, started)) = self.permits[pod].take() else { return };
        if self.now > started + USE_WITHIN {
            return;
        }
        if !self.granted.contains(&seq) {
            self.broken = Some("I3: a probe without a permit");
        }
        if !self.sent.insert(seq) {
            self.broken = Some("I2: two probes with one permit");
        }
    }

    fn commit(&mut self, seq: u64) {
        let before = self.primary.clone();
        let verdict = Verdict { seq, next_interval: secs(LONG), min_gap: secs(REST), state: "passed".into() };
        let latest = before.record().map(|record| record.seq);
        match self.primary.commit(self.store_time(), &verdict) {
            Ok(_) => {
                if latest != Some(seq) || !self.accepted.insert(seq) {
                    self.broken = Some("I4: a superseded or repeated verdict counted");
                }
            }
            Err(_) => {
                if self.primary != before {
                    self.broken = Some("I4: a refused verdict changed something");
                }
            }
        }
    }
}

impl Model for Fleet {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            now: 0,
            primary: Book::new(),
            replica: Book::new(),
            failovers: 0,
            permits: vec![None; PODS],
            granted_at: None,
            granted: BTreeSet::new(),
            sent: BTreeSet::new(),
            accepted: BTreeSet::new(),
            broken: None,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.now < END {
            steps.push(Step::Tick);
        }
        for (pod, permit) in state.permits.iter().enumerate() {
            match permit {
                Some(_) => steps.push(Step::Use(pod)),
                None => steps.extend([Step::Claim(pod, LONG), Step::Claim(pod, SHORT)]),
            }
        }
        steps.extend(state.sent.iter().map(|seq| Step::Commit(*seq)));
        steps.push(Step::Replicate);
        if state.failovers < FAILOVERS {
            steps.push(Step::FailOver);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Tick => next.now += 1,
            Step::Claim(pod, interval) => next.claim(pod, interval),
            Step::Use(pod) => next.send(pod),
            Step::Commit(seq) => next.commit(seq),
            Step::Replicate => next.replica = next.primary.clone(),
            Step::FailOver => {
                next.primary = next.replica.clone();
                next.failovers += 1;
                next.accepted.clear();
            }
        }
        next.permits.sort_unstable();
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("I1 to I5", |_, state: &State| state.broken.is_none()),
            Property::sometimes("a lost grant is quarantined", |_, state: &State| {
                state.primary.record().is_some_and(|record| {
                    let seen = record.replication_id.as_str() == state.failovers.to_string();
                    state.failovers > 0
                        && seen
                        && record.committed_seq > 0
                        && !state.granted.contains(&record.seq)
                })
            }),
            Property::sometimes("a verdict that must not count is on its way", |_, state: &State| {
                let latest = state.primary.record().map(|record| record.seq);
                state.sent.iter().any(|seq| Some(*seq) != latest)
            }),
            Property::sometimes("two grants, and a failover", |_, state: &State| {
                state.granted.len() >= 2 && state.failovers > 0
            }),
        ]
    }
}

#[test]
fn every_order_of_claims_commits_and_failovers_keeps_the_invariants() {
    let checker = Fleet.checker().spawn_bfs().join();
    if let Some(path) = checker.discovery("I1 to I5") {
        let broken = path.last_state().broken;
        panic!("{broken:?}: {:?}", path.into_actions());
    }
    checker.assert_properties();
    assert!(checker.unique_state_count() > 10_000, "{} states", checker.unique_state_count());
    println!("{} states", checker.unique_state_count());
}
