use proptest::prelude::*;

use super::*;

const fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const MINUTE: Duration = Duration::from_secs(60);
const START: u64 = 1_000_000;

fn deployment() -> Arc<str> {
    "d".into()
}

fn ask(deployment: &Arc<str>) -> Ask<'_> {
    Ask { deployment, interval: MINUTE, hold: ms(25_000) }
}

fn pod(name: &str) -> Pod {
    let mut pod = Pod::new(PodId::new(name), Role::All, 7);
    for _ in 0..3 {
        pod.link_mut().succeeded(at(0));
    }
    pod
}

const fn beat(role: Role) -> Beat {
    Beat { age: Duration::ZERO, role, informed: false }
}

/// Pods that know one another at `now`, best first for `deployment()`.
fn fleet(now: Timestamp, names: &[&str]) -> Vec<Pod> {
    let mut pods: Vec<Pod> = names.iter().map(|name| pod(name)).collect();
    for pod in &mut pods {
        for name in names {
            pod.beat(now, &PodId::new(name), beat(Role::All));
        }
    }
    pods.sort_by_key(|pod| pod.members().rank(now, "d", None));
    pods
}

fn failure<'a>(observer: &'a PodId, next: u64) -> Heard<'a> {
    Heard { observer, seq: 0, age: ms(1_000), passed: false, next: ms(next) }
}

fn when(turn: Turn) -> u64 {
    match turn {
        Turn::Claim => 0,
        Turn::Wait(at) => at.as_millis(),
        Turn::Abstain(why, _) => panic!("abstains: {why:?}"),
    }
}

#[test]
fn pods_try_one_after_another_in_an_order_they_agree_on() {
    let (now, d) = (at(START), deployment());
    let mut pods = fleet(now, &["a", "b", "c", "e"]);
    let ranks: Vec<u32> = pods.iter().map(|pod| pod.members().rank(now, "d", None)).collect();
    assert_eq!(ranks, [0, 1, 2, 3]);
    for (rank, pod) in pods.iter_mut().enumerate() {
        // The store said so: due in 40 s.
        pod.answered(now, now, &ask(&d), &Answer::Wait { wait: ms(40_000) });
        let at = when(pod.turn(now, &ask(&d))).saturating_sub(START + 40_000);
        let middle = 2_000 * rank as u64;
        assert!(
            at >= middle.saturating_sub(500) && at <= middle + 500,
            "rank {rank}: {at} ms after it is due"
        );
    }
}

#[test]
fn the_pod_that_saw_a_failure_goes_last_for_the_next_probe() {
    let (now, d) = (at(START), deployment());
    let mut pods = fleet(now, &["a", "b", "c"]);
    let first = pods[0].id().clone();
    for pod in &mut pods {
        pod.heard(now, &d, &failure(&first, 5_000));
    }
    let order: Vec<u32> =
        pods.iter().map(|pod| pod.members().rank(now, "d", pod.known["d"].doubted_by())).collect();
    assert_eq!(order, [2, 0, 1]);
    let suspect = Ask { interval: ms(5_000), ..ask(&d) };
    let tries: Vec<u64> = pods.iter_mut().map(|pod| when(pod.turn(now, &suspect))).collect();
    assert!(tries[1] < tries[2] && tries[2] < tries[0], "{tries:?}");
    // It passes: the order is the old one.
    let second = pods[1].id().clone();
    let passed = Heard { observer: &second, seq: 2, age: ms(0), passed: true, next: MINUTE };
    pods[0].heard(at(START + 5_000), &d, &passed);
    assert_eq!(pods[0].known["d"].doubted_by(), None);
}

#[test]
fn a_pod_alone_takes_the_second_probe_itself() {
    let (now, d) = (at(START), deployment());
    let mut alone = pod("a");
    let me = alone.id().clone();
    alone.heard(now, &d, &failure(&me, 5_000));
    assert_eq!(alone.members().rank(now, "d", Some(&me)), 0);
}

#[test]
fn gateways_and_pods_that_are_gone_are_not_waited_for() {
    let now = at(START);
    let mut pod = pod("a");
    for n in 0..20 {
        pod.beat(now, &PodId::new(&format!("g{n}")), beat(Role::Gateway));
        pod.beat(now, &PodId::new(&format!("p{n}")), beat(Role::All));
    }
    assert!(pod.members().rank(now, "d", None) <= 20);
    assert_eq!(pod.members().live(now).count(), 41);
    let later = at(START + 7_001);
    assert_eq!(pod.members().live(later).count(), 1);
    assert_eq!(pod.members().rank(later, "d", None), 0);
    // A heartbeat that was long on its way raises nobody from the dead.
    pod.beat(later, &PodId::new("p1"), Beat { age: ms(7_001), ..beat(Role::All) });
    assert_eq!(pod.members().live(later).count(), 1);
}

#[test]
fn no_claim_before_half_an_interval_since_the_latest_grant_it_heard_of() {
    let (now, d) = (at(START), deployment());
    let mut pod = pod("a");
    let other = PodId::new("b");
    pod.heard(now, &d, &Heard { observer: &other, seq: 0, age: ms(1_000), passed: true, next: MINUTE });
    // The store's clock jumped ahead: it would grant now.
    pod.answered(now, now, &ask(&d), &Answer::Wait { wait: ms(1) });
    assert_eq!(when(pod.turn(at(START + 28_000), &ask(&d))), START + 29_000);
    assert_eq!(pod.turn(at(START + 29_000), &ask(&d)), Turn::Claim);
}

#[test]
fn an_answer_counts_from_the_start_of_the_claim() {
    let (d, grant) = (deployment(), Answer::Grant { seq: 4, next: MINUTE });
    let mut pod = pod("a");
    let Outcome::Granted(permit) = pod.answered(at(START), at(START + 2_000), &ask(&d), &grant) else {
        panic!("in time");
    };
    assert_eq!(permit.redeem(at(START + 2_000)).unwrap().seq(), 4);
    let Outcome::Granted(permit) = pod.answered(at(START), at(START + 100), &ask(&d), &grant) else {
        panic!("in time");
    };
    assert!(permit.redeem(at(START + 2_001)).is_err(), "the machine slept after the answer came");
    let outcome = pod.answered(at(START), at(START + 2_001), &ask(&d), &grant);
    assert_eq!(outcome, Outcome::TooLate { seq: 4 });
    // Nothing is asked for before the next one is due.
    assert!(when(pod.turn(at(START + 40_000), &ask(&d))) >= START + 60_000);
}

#[test]
fn a_claim_without_an_answer_is_tried_again_later_and_no_permit() {
    let (now, d) = (at(START), deployment());
    let mut pod = pod("a");
    assert_eq!(pod.turn(now, &ask(&d)), Turn::Wait(at(when(pod.turn(now, &ask(&d))))));
    let again = pod.unanswered(now, at(START + 1_000), &ask(&d));
    assert_eq!(again, at(START + 3_000));
    assert!(when(pod.turn(at(START + 1_000), &ask(&d))) >= START + 3_000);
}

#[test]
fn a_first_touch_waits_a_whole_interval_once_anybody_has_heard_of_a_grant() {
    let (now, d) = (at(START), deployment());
    let mut fresh = pod("a");
    let phase = fresh.first_touch(now, &ask(&d));
    assert!(phase <= ms(5_000), "the planner spreads the first round already: {phase:?}");
    fresh.beat(now, &PodId::new("b"), Beat { informed: true, ..beat(Role::Gateway) });
    assert_eq!(fresh.first_touch(now, &ask(&d)), MINUTE);
    assert_eq!(fresh.first_touch(at(START + 60_000), &ask(&d)), phase, "the one who knew is gone");
    let other = PodId::new("b");
    fresh.heard(now, &d, &Heard { observer: &other, seq: 0, age: ms(0), passed: true, next: MINUTE });
    assert_eq!(fresh.first_touch(at(START + 59_999), &ask(&d)), phase, "the first round is not over");
    assert!(fresh.informed(at(START + 60_000)));
    assert_eq!(fresh.first_touch(at(START + 60_000), &ask(&d)), MINUTE);
}

#[test]
fn a_verdict_that_is_read_again_grows_no_younger_when_the_stores_clock_is_set_back() {
    let (now, d) = (at(START), deployment());
    let mut pod = pod("a");
    let other = PodId::new("b");
    let passed = Heard { observer: &other, seq: 5, age: ms(3_000), passed: true, next: MINUTE };
    pod.heard(now, &d, &passed);
    pod.heard(now + ms(2_000), &d, &Heard { age: ms(0), passed: false, ..passed });
    assert_eq!(pod.known["d"].doubted_by(), None);
    assert_eq!(pod.unwatched(now + MINUTE * 3, &ask(&d)), Some(MINUTE * 3 + ms(3_000)));
}

#[test]
fn in_a_fleet_not_even_trials_crowd() {
    let (now, d) = (at(START), deployment());
    let trial = Ask { interval: ms(0), ..ask(&d) };
    let mut pod = pod("a");
    assert_eq!(pod.terms(now, &trial, ms(0)).interval, ms(0));
    pod.beat(now, &PodId::new("b"), beat(Role::Gateway));
    assert_eq!(pod.terms(now, &trial, ms(0)).interval, MIN_GAP);
    assert_eq!(pod.terms(now, &ask(&d), ms(9)).interval, MINUTE);
    assert_eq!(pod.terms(now, &ask(&d), ms(9)).split_brain, ms(9));
}

#[test]
fn a_gateway_and_a_pod_without_store_claim_nothing() {
    let (now, d) = (at(START), deployment());
    let mut gateway = Pod::new(PodId::new("a"), Role::Gateway, 7);
    assert!(matches!(gateway.turn(now, &ask(&d)), Turn::Abstain(Abstain::Role, _)));
    let mut cut = pod("b");
    for _ in 0..2 {
        cut.link_mut().failed(now, Trouble::Silent);
    }
    assert!(matches!(cut.turn(now, &ask(&d)), Turn::Abstain(Abstain::Store, _)));
}

#[test]
fn a_pod_that_others_contradict_slows_down_and_then_abstains() {
    let d = deployment();
    let mut sick = pod("a");
    let (me, other) = (sick.id().clone(), PodId::new("b"));
    for round in 0..4_u64 {
        let now = at(START + round * 10_000);
        let slow = sick.fitness().score(now);
        assert_eq!(u64::from(slow), round);
        sick.heard(now, &d, &Heard { seq: 2 * round + 1, age: ms(0), ..failure(&me, 60_000) });
        if round == 1 {
            let turn = when(sick.turn(now, &ask(&d)));
            assert!(turn >= now.as_millis() + 120_000, "stretched by one interval");
        }
        let passed = Heard { observer: &other, seq: 2 * round + 2, age: ms(0), passed: true, next: MINUTE };
        sick.heard(now + ms(5_000), &d, &passed);
    }
    let now = at(START + 40_000);
    assert!(matches!(sick.turn(now, &ask(&d)), Turn::Abstain(Abstain::Unwell, _)));
    // A minute without a strike takes one point away, so that abstaining ends.
    assert!(!sick.fitness().abstains(now + MINUTE));
}

#[test]
fn what_another_pod_confirms_takes_a_point_away() {
    let mut fitness = Fitness::new();
    fitness.lagged(at(START), ms(250));
    assert_eq!(fitness.score(at(START)), 0);
    fitness.lagged(at(START), ms(251));
    fitness.claimed(at(START + 1_000), ms(1_001));
    assert_eq!(fitness.score(at(START + 1_000)), 2);
    fitness.agreed(at(START + 2_000));
    assert_eq!(fitness.score(at(START + 2_000)), 1);
    fitness.lagged(at(START + 3_000), ms(300));
    fitness.lagged(at(START + 3_100), ms(300));
    assert_eq!(fitness.score(at(START + 3_100)), 2, "one stall is one strike");
}

#[test]
fn a_success_that_others_do_not_see_speaks_against_nobody() {
    let (now, d) = (at(START), deployment());
    let mut pod = pod("a");
    let (me, other) = (pod.id().clone(), PodId::new("b"));
    pod.heard(now, &d, &Heard { observer: &me, seq: 0, age: ms(0), passed: true, next: MINUTE });
    pod.heard(now + ms(5_000), &d, &Heard { seq: 1, age: ms(0), ..failure(&other, 5_000) });
    assert_eq!(pod.fitness().score(now + ms(5_000)), 0);
}

#[test]
fn the_loss_of_the_store_and_its_return_are_said_once_and_pulling_comes_first() {
    let mut link = Link::new();
    let lines: Vec<Option<Line>> =
        (0..5).map(|n| link.failed(at(START + n * 1_000), Trouble::Unreachable)).collect();
    assert_eq!(lines, [None, Some(Line::Lost(Trouble::Unreachable)), None, None, None]);
    assert_eq!(link.step(), Step::Reach);
    link.succeeded(at(START + 5_000));
    assert_eq!(link.step(), Step::Pull);
    link.succeeded(at(START + 5_000));
    assert_eq!(link.step(), Step::Publish);
    // It takes no writes: from the beginning, and silently.
    assert_eq!(link.failed(at(START + 6_000), Trouble::ReadOnly), None);
    assert_eq!(link.step(), Step::Reach);
    let said: Vec<Option<Line>> = (0..3).map(|_| link.succeeded(at(START + 9_000))).collect();
    assert_eq!(said, [None, None, Some(Line::Restored(ms(8_000)))]);
    assert!(!link.open(at(START + 12_999)), "heartbeats first");
    assert!(link.open(at(START + 13_000)));
    assert_eq!(link.failed(at(START + 20_000), Trouble::Silent), None, "one lost answer is no outage");
    assert!(link.is_up());
    assert_eq!(link.succeeded(at(START + 20_100)), None);
}

#[test]
fn an_inferred_fault_needs_a_second_witness_and_a_stated_one_none() {
    let (now, d) = (at(START), deployment());
    let [a, b, c] = ["a", "b", "c"].map(PodId::new);
    let mut seen = Witnesses::new(ms(30_000));
    assert_eq!(seen.reach(now, "d", Certainty::Stated, 9), Reach::Fleet);
    seen.failed(&d, &a, now, false);
    seen.failed(&d, &a, now + ms(1), false);
    assert_eq!(seen.reach(now, "d", Certainty::Inferred, 9), Reach::Local, "twice one pod");
    assert_eq!(seen.reach(now, "d", Certainty::Inferred, 1), Reach::Fleet, "nobody else could see it");
    seen.failed(&d, &b, now, true);
    assert_eq!(seen.reach(now, "d", Certainty::Inferred, 9), Reach::Local, "a sick pod is no witness");
    seen.failed(&d, &c, now, false);
    assert_eq!(seen.reach(now, "d", Certainty::Inferred, 9), Reach::Fleet);
    seen.passed("d", &c, now + ms(5));
    assert_eq!(seen.reach(now, "d", Certainty::Inferred, 9), Reach::Local, "it sees it well again");
    seen.failed(&d, &c, now + ms(10), false);
    assert_eq!(seen.reach(now + ms(30_002), "d", Certainty::Inferred, 9), Reach::Local, "one is too old");
}

#[test]
fn a_deployment_that_nobody_watches_is_told_once() {
    let (now, d) = (at(START), deployment());
    let mut pod = pod("a");
    assert_eq!(pod.unwatched(now, &ask(&d)), None);
    assert_eq!(pod.unwatched(now + MINUTE * 3, &ask(&d)), None);
    assert_eq!(pod.unwatched(now + MINUTE * 3 + ms(1), &ask(&d)), Some(MINUTE * 3 + ms(1)));
    assert_eq!(pod.unwatched(now + MINUTE * 4, &ask(&d)), None);
    let other = PodId::new("b");
    pod.heard(now + MINUTE * 5, &d, &Heard { age: ms(0), ..failure(&other, 5_000) });
    assert_eq!(pod.unwatched(now + MINUTE * 9, &ask(&d)), Some(MINUTE * 4));
}

#[test]
fn roles_are_read_as_they_are_written() {
    for role in [Role::All, Role::Gateway, Role::Prober] {
        assert_eq!(role.as_str().parse(), Ok(role));
    }
    assert_eq!("probe".parse::<Role>(), Err(UnknownRole("probe".into())));
    assert!(Role::Prober.claims() && !Role::Prober.serves());
    assert!(!Role::Gateway.claims() && Role::Gateway.serves());
}

proptest! {
    /// Whatever each pod believes about who is there, pods that agree have different places, and one that leaves moves
    /// nobody but those behind it.
    #[test]
    fn places_are_a_permutation_and_a_leaver_moves_only_those_behind(n in 2..12_usize, gone in 0..12_usize) {
        let now = at(START);
        let names: Vec<String> = (0..n).map(|i| format!("pod-{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let pods = fleet(now, &names);
        for (rank, pod) in pods.iter().enumerate() {
            prop_assert_eq!(pod.members().rank(now, "d", None) as usize, rank);
        }
        let gone = gone % n;
        let left: Vec<&str> =
            pods.iter().enumerate().filter(|(i, _)| *i != gone).map(|(_, pod)| pod.id().as_str()).collect();
        let smaller = fleet(now, &left);
        let order: Vec<&str> = smaller.iter().map(|pod| pod.id().as_str()).collect();
        prop_assert_eq!(order, left);
    }

    /// A pod never claims before what the store said, nor before half an interval since a grant it heard of, and always
    /// at some time: with any news in any order.
    #[test]
    fn a_pod_neither_hurries_nor_forgets(news in prop::collection::vec((0..3_u8, 0..90_000_u64, 1..90_000_u64), 0..30)) {
        let d = deployment();
        let mut pod = pod("a");
        let mut now = at(START);
        let mut granted = None::<Timestamp>;
        for (seq, (kind, pass, span)) in (1..).zip(news) {
            now = now + ms(pass);
            let due = match kind {
                0 => {
                    pod.answered(now, now, &ask(&d), &Answer::Wait { wait: ms(span) });
                    Some(now + ms(span))
                }
                1 => {
                    pod.answered(now, now, &ask(&d), &Answer::Grant { seq: 1, next: MINUTE });
                    granted = granted.max(Some(now));
                    Some(now + MINUTE)
                }
                _ => {
                    let other = PodId::new("b");
                    let next = MINUTE.saturating_sub(ms(span));
                    let heard = Heard { observer: &other, seq, age: ms(span), passed: true, next };
                    pod.heard(now, &d, &heard);
                    granted = granted.max(Some(now - ms(span)));
                    pod.known["d"].due_at()
                }
            };
            match pod.turn(now, &ask(&d)) {
                Turn::Claim => {
                    prop_assert!(due.is_none_or(|due| now >= due));
                    prop_assert!(granted.is_none_or(|at| now >= at + MINUTE / 2));
                }
                Turn::Wait(until) => prop_assert!(until > now && until <= now + MINUTE * 2),
                Turn::Abstain(why, _) => prop_assert!(false, "{:?}", why),
            }
        }
    }
}

#[test]
fn c12_who_has_nothing_to_check_keeps_nobody_from_it() {
    let (now, d) = (at(START), deployment());
    let mut pods = fleet(now, &["a", "b", "c"]);
    for pod in &mut pods {
        pod.answered(now, now, &ask(&d), &Answer::Wait { wait: MINUTE });
        assert_eq!(pod.unwatched(now, &ask(&d)), None);
    }
    // The first of the order is told to check nothing any more. It holds no lock; the next one is two seconds later.
    pods[0].retain(|_| false);
    let next = when(pods[1].turn(now, &ask(&d)));
    assert!((START + 60_000..START + 63_000).contains(&next), "{next}");
    // Turned on again it asks at once, and the store, which kept the record, says when.
    let later = now + MINUTE + ms(10_000);
    assert!(when(pods[0].turn(later, &ask(&d))) <= later.as_millis() + 500);
    pods[0].answered(later, later, &ask(&d), &Answer::Wait { wait: ms(52_000) });
    let resumed = when(pods[0].turn(later, &ask(&d)));
    assert!((later.as_millis() + 52_000..later.as_millis() + 54_000).contains(&resumed), "{resumed}");
    // Should nobody check, every other pod says so once.
    let silent = now + MINUTE * 3 + ms(1);
    for pod in &mut pods[1..] {
        assert!(pod.unwatched(silent, &ask(&d)).is_some());
        assert_eq!(pod.unwatched(silent + MINUTE, &ask(&d)), None, "once");
    }
}

#[test]
fn a_record_lost_just_after_a_grant_is_made_anew_with_a_whole_interval() {
    let (now, d, e) = (at(START), deployment(), Arc::from("e"));
    let mut pod = pod("a");
    let granted = |pod: &mut Pod, at: Timestamp| {
        pod.answered(at, at, &ask(&d), &Answer::Grant { seq: 1, next: MINUTE });
    };
    granted(&mut pod, now);
    assert!(pod.first_touch(now + ms(1_000), &ask(&e)) < MINUTE, "the first round of a first install");
    // The store is wiped while the latest of several grants is young.
    granted(&mut pod, now + MINUTE);
    assert_eq!(pod.first_touch(now + MINUTE + ms(1_000), &ask(&d)), MINUTE);
    assert!(pod.informed(now + MINUTE + ms(1_000)), "and the others, who may know of none, are told");
}
