use proptest::prelude::*;

use super::*;

const KEEP: Duration = Duration::from_secs(30);
const START: u64 = 3_000_000;

const fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

const fn counts(ok: u32, bad: u32) -> Counts {
    Counts { ok, bad, slow: 0 }
}

fn d() -> Arc<str> {
    "d".into()
}

fn pod(name: &str) -> Traffic {
    Traffic::new(PodId::new(name), KEEP)
}

fn all(traffic: &Traffic, now: u64) -> Counts {
    traffic.sum(at(now), "d", at(now) - KEEP, |_| true).counts
}

#[test]
fn failures_of_several_pods_add_up_and_say_how_many_saw_them() {
    let (mut a, mut b) = (pod("a"), pod("b"));
    a.count(at(START), &d(), counts(1, 4), at(START - 50), Some(Class::Timeout));
    b.count(at(START + 900), &d(), counts(0, 5), at(0), Some(Class::ServerError));
    for (deployment, told) in a.untold() {
        b.heard(at(START + 1_000), &PodId::new("a"), &deployment, &told);
    }
    let sum = b.sum(at(START + 1_000), "d", at(START + 1_000) - KEEP, |_| true);
    assert_eq!((sum.counts, sum.failing, sum.answered_at), (counts(1, 9), 2, at(START - 50)));
    let theirs = b.sum(at(START + 1_000), "d", at(START + 1_000) - KEEP, |pod| pod.as_str() == "a");
    assert_eq!((theirs.counts, theirs.failed), (counts(1, 4), Some(Class::Timeout)));
    assert_eq!(b.news().len(), 1);
    assert!(b.news().is_empty(), "told once");
}

#[test]
fn a_silent_deployment_says_nothing() {
    let mut a = pod("a");
    assert!(a.untold().is_empty());
    a.count(at(START), &d(), Counts::default(), at(START), None);
    assert!(a.untold().is_empty());
    a.count(at(START), &d(), counts(1, 0), at(START), None);
    assert_eq!(a.untold().len(), 1);
    assert!(a.untold().is_empty());
}

#[test]
fn what_comes_before_a_moment_does_not_count_after_it() {
    let mut a = pod("a");
    a.count(at(START), &d(), counts(0, 7), at(0), None);
    a.count(at(START + 6_000), &d(), counts(2, 0), at(START + 6_000), None);
    let since = |from: u64| a.sum(at(START + 7_000), "d", at(from), |_| true).counts;
    assert_eq!(since(START), counts(2, 7));
    assert_eq!(since(START + 1), counts(2, 0), "a span that began before is left out whole");
}

#[test]
fn successes_of_others_contradict_only_when_they_are_enough_and_were_sent_later() {
    let window = WindowParams { length: KEEP, buckets: 10, min_requests: 10, failure_ratio: 0.5 };
    let (mut a, now) = (pod("a"), at(START + 9_000));
    let told = |ok, bad, answered_at| Counted {
        spans: BTreeMap::from([(START / 3_000 + 1, (ok, bad))]),
        answered_at: at(answered_at),
        failed: None,
    };
    // Another pod sees it failing too; its requests are no contradiction whatever they met.
    a.heard(now, &PodId::new("b"), &d(), &told(90, 0, START + 8_000));
    let sees = |pod: &PodId| pod.as_str() == "b";
    let contradicts = |a: &Traffic, since| a.contradicts(now, "d", &window, at(since), sees);
    assert!(!contradicts(&a, START));
    a.count(now, &d(), counts(90, 9), now, Some(Class::Timeout));
    assert!(!contradicts(&a, START), "one's own are none either");
    a.heard(now, &PodId::new("c"), &d(), &told(9, 0, START + 5_000));
    assert!(!contradicts(&a, START), "too few");
    a.heard(now, &PodId::new("e"), &d(), &told(3, 1, START + 4_000));
    assert!(contradicts(&a, START));
    assert!(!contradicts(&a, START + 5_000), "none was sent after it was seen failing");
    a.heard(now, &PodId::new("f"), &d(), &told(0, 40, 0));
    assert!(!contradicts(&a, START), "others see it failing as well");
}

/// One thing that happens: a pod counts, or tells all the others, each of whom may miss it.
#[derive(Clone, Debug)]
enum Happening {
    Count { pod: usize, ok: u32, bad: u32 },
    Tell { pod: usize, late: usize, heard: [bool; 3], twice: bool },
    Pass { ms: u64 },
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        (0..3_usize, 0..9_u32, 0..9_u32).prop_map(|(pod, ok, bad)| Happening::Count { pod, ok, bad }),
        (0..3_usize, 0..4_usize, any::<[bool; 3]>(), any::<bool>())
            .prop_map(|(pod, late, heard, twice)| Happening::Tell { pod, late, heard, twice }),
        (1..8_000_u64).prop_map(|ms| Happening::Pass { ms }),
    ]
}

const NAMES: [&str; 3] = ["a", "b", "c"];

proptest! {
    /// Whatever is lost, repeated, late or out of order: nobody's requests count twice or in a later span than they
    /// ended in, own ones are all there, and what a silent fleet counted leaves the sum.
    #[test]
    fn sums_never_exceed_what_happened_and_grow_old(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut pods = NAMES.map(pod);
        let mut truth: Vec<(usize, u64, Counts)> = Vec::new();
        let mut sent: [Vec<Counted>; 3] = Default::default();
        let mut now = START;
        let within = |truth: &[(usize, u64, Counts)], now: u64, whose: Option<usize>| {
            let first = (at(now) - KEEP).as_millis().div_ceil(3_000);
            truth
                .iter()
                .filter(|(pod, span, _)| *span >= first && whose.is_none_or(|whose| whose == *pod))
                .fold((0, 0), |(ok, bad), (_, _, counts)| (ok + counts.ok, bad + counts.bad))
        };
        for happening in happenings {
            match happening {
                Happening::Count { pod, ok, bad } => {
                    pods[pod].count(at(now), &d(), counts(ok, bad), at(now), None);
                    truth.push((pod, now / 3_000, counts(ok, bad)));
                }
                Happening::Tell { pod, late, heard, twice } => {
                    sent[pod].extend(pods[pod].untold().into_iter().map(|(_, told)| told));
                    let Some(told) = sent[pod].iter().rev().nth(late).or(sent[pod].last()).cloned() else { continue };
                    for (other, heard) in heard.into_iter().enumerate().filter(|(_, heard)| *heard) {
                        for _ in 0..=u8::from(twice && heard) {
                            pods[other].heard(at(now), &PodId::new(NAMES[pod]), &d(), &told);
                        }
                    }
                }
                Happening::Pass { ms } => now += ms,
            }
            let most = within(&truth, now, None);
            for (index, traffic) in pods.iter_mut().enumerate() {
                let sum = all(traffic, now);
                prop_assert!(sum.ok <= most.0 && sum.bad <= most.1, "{sum:?} of {most:?}");
                let mine = traffic.sum(at(now), "d", at(now) - KEEP, |pod| pod.as_str() == NAMES[index]).counts;
                prop_assert_eq!((mine.ok, mine.bad), within(&truth, now, Some(index)));
                traffic.retain(at(now), |_| true);
                prop_assert_eq!(all(traffic, now), sum, "what is forgotten was out of the window");
            }
        }
        // Everything told to everybody: all agree with what happened.
        for pod in 0..3 {
            let told = pods[pod].counted.get("d").and_then(|pods| pods.get(&PodId::new(NAMES[pod]))).cloned();
            for other in pods.iter_mut() {
                other.heard(at(now), &PodId::new(NAMES[pod]), &d(), &told.clone().unwrap_or_default());
            }
        }
        let most = within(&truth, now, None);
        for traffic in &mut pods {
            prop_assert_eq!((all(traffic, now).ok, all(traffic, now).bad), most);
            now += 34_000;
            prop_assert_eq!(all(traffic, now), Counts::default());
            traffic.retain(at(now), |_| true);
            prop_assert!(traffic.is_empty());
            now -= 34_000;
        }
    }

    /// A pod whose clock is ahead cannot make its counts outlive their time.
    #[test]
    fn a_span_of_the_future_is_not_taken_in(ahead in 2..1_000_000_u64, ok in 1..9_u32) {
        let mut a = pod("a");
        let spans = BTreeMap::from([(START / 3_000 + ahead, (ok, ok))]);
        a.heard(at(START), &PodId::new("b"), &d(), &Counted { spans, answered_at: at(START * 2), failed: None });
        for later in [START, START + ahead * 3_000] {
            prop_assert_eq!(all(&a, later), Counts::default());
        }
        prop_assert_eq!(a.sum(at(START), "d", at(0), |_| true).answered_at, at(START));
    }
}
