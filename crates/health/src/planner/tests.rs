use super::*;

const S: u64 = 1_000;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn every(seconds: u64) -> ProbeParams {
    ProbeParams { interval: Duration::from_secs(seconds), ..ProbeParams::resilient() }
}

fn planner(count: u32, endpoints: u32, params: ProbeParams, seed: u64) -> Planner {
    let mut planner = Planner::new(seed);
    for n in 0..count {
        planner.place(Slot(n), &format!("deployment-{n}"), n % endpoints, Some(params), at(0));
    }
    planner
}

const ROOMY: ProbeLimits = ProbeLimits { concurrency: u32::MAX, per_endpoint: u32::MAX };

/// Runs probes of `answer_ms` for `seconds`; returns (time, slot) of every start and the most in flight.
fn run(
    planner: &mut Planner,
    limits: ProbeLimits,
    answer_ms: u64,
    seconds: u64,
) -> (Vec<(u64, Slot)>, usize) {
    let mut flying: Vec<(u64, Slot, u64)> = Vec::new();
    let (mut starts, mut most) = (Vec::new(), 0);
    for now in (0..seconds * S).step_by(50) {
        let landed: Vec<_> = flying.extract_if(.., |(end, _, _)| *end <= now).collect();
        for (_, slot, ticket) in landed {
            assert!(planner.land(slot, ticket));
            planner.wake(slot, Need::Interval, at(now));
        }
        while let Some(slot) = planner.pop(at(now), limits) {
            assert!(
                flying.iter().all(|(_, other, _)| *other != slot),
                "two probes of one deployment overlap"
            );
            let (ticket, _, _) = planner.start(slot, at(now)).unwrap();
            flying.push((now + answer_ms, slot, ticket));
            starts.push((now, slot));
        }
        most = most.max(flying.len());
    }
    (starts, most)
}

#[test]
fn b03_start_up_is_spread_over_the_interval_within_the_bound() {
    let mut planner = planner(200, 1, every(30), 7);
    let limits = ProbeLimits { concurrency: 8, per_endpoint: 8 };
    let (starts, most) = run(&mut planner, limits, 300, 30);
    assert!(most <= 8, "{most} in flight");
    let mut probed: Vec<_> = starts.iter().map(|(_, slot)| *slot).collect();
    probed.sort_unstable();
    probed.dedup();
    assert_eq!(probed.len(), 200, "all probed within one interval");
    let first_second = starts.iter().filter(|(time, _)| *time < S).count();
    assert!(first_second <= 20, "{first_second} in the first second");
}

#[test]
fn b05_one_endpoint_can_be_limited_to_one_and_holds_up_nobody_else() {
    let mut planner = planner(6, 2, every(1), 7);
    planner.limit_endpoint(0, Some(1));
    let mut at_once = [0_u32; 2];
    while let Some(slot) = planner.pop(at(S), ROOMY) {
        planner.start(slot, at(S)).unwrap();
        at_once[slot.0 as usize % 2] += 1;
    }
    assert_eq!(at_once, [1, 3]);
}

#[test]
fn a_full_endpoint_goes_on_when_its_probe_lands() {
    let mut planner = planner(3, 1, every(1), 7);
    planner.limit_endpoint(0, Some(1));
    let mut order = Vec::new();
    while let Some(slot) = planner.pop(at(S), ROOMY) {
        let (ticket, _, _) = planner.start(slot, at(S)).unwrap();
        assert_eq!(planner.pop(at(S), ROOMY), None);
        assert!(planner.land(slot, ticket));
        order.push(slot.0);
    }
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2]);
}

#[test]
fn whoever_waits_behind_a_probe_that_is_not_needed_is_looked_at() {
    let mut planner = planner(3, 1, every(1), 7);
    planner.limit_endpoint(0, Some(1));
    let first = planner.pop(at(S), ROOMY).unwrap();
    let (ticket, _, _) = planner.start(first, at(S)).unwrap();
    assert_eq!(planner.pop(at(S), ROOMY), None, "the two others wait");
    planner.land(first, ticket);
    assert!(planner.pop(at(S), ROOMY).is_some(), "not started: it needed none");
    assert!(planner.pop(at(S), ROOMY).is_some(), "the last one is not forgotten");
}

#[test]
fn b08_processes_that_start_together_do_not_probe_together() {
    let firsts: Vec<_> = (0..10)
        .map(|seed| {
            let mut planner = planner(1, 1, every(10), seed);
            let (starts, _) = run(&mut planner, ROOMY, 10, 10);
            starts[0].0 / S
        })
        .collect();
    let busiest = (0..10).map(|second| firsts.iter().filter(|&&first| first == second).count()).max();
    assert!(busiest <= Some(4), "{firsts:?}");
}

#[test]
fn b10_spacing_doubles_while_out_up_to_the_ceiling_and_falls_back() {
    let params = ProbeParams { backoff_max: Duration::from_secs(16), ..every(1) };
    let mut planner = planner(1, 1, params, 7);
    let slot = Slot(0);
    let mut starts = Vec::new();
    let mut out = false;
    for now in (0..75 * S).step_by(10) {
        while let Some(slot) = planner.pop(at(now), ROOMY) {
            let (ticket, _, _) = planner.start(slot, at(now)).unwrap();
            planner.land(slot, ticket);
            planner.paced(slot, false, out);
            out = true;
            planner.wake(slot, Need::Out, at(now));
            starts.push(now);
        }
    }
    let gaps: Vec<_> = starts.windows(2).map(|pair| (pair[1] - pair[0]) / S).collect();
    assert_eq!(gaps, [1, 2, 4, 8, 16, 16, 16]);
    planner.paced(slot, true, true);
    let last = *starts.last().unwrap();
    planner.wake(slot, Need::Out, at(last));
    assert_eq!(planner.next_probe(slot), Some(at(last + S)), "a passed probe resets it");
}

#[test]
fn steady_intervals_are_jittered_by_a_tenth_around_the_interval() {
    let params = ProbeParams { traffic_postpones: false, ..every(10) };
    let mut planner = planner(1, 1, params, 7);
    let (starts, _) = run(&mut planner, ROOMY, 10, 3_000);
    let gaps: Vec<_> = starts.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert!(gaps.iter().all(|gap| (9_000..=11_050).contains(gap)), "{gaps:?}");
    let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
    assert!((9_850..=10_150).contains(&mean), "start to start: {mean}");
    let mut distinct = gaps.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > 20, "spread");
}

#[test]
fn traffic_postpones_only_where_that_is_set() {
    let mut params = every(60);
    let mut planner = planner(1, 1, params, 7);
    planner.alive(Slot(0), at(100 * S));
    assert_eq!(planner.postponed(Slot(0), Need::Interval, at(130 * S)), Some(at(160 * S)));
    assert_eq!(planner.postponed(Slot(0), Need::Interval, at(160 * S)), None);
    assert_eq!(planner.postponed(Slot(0), Need::Suspect, at(130 * S)), None, "doubt is not postponed");
    params.traffic_postpones = false;
    planner.place(Slot(0), "d", 0, Some(params), at(0));
    assert_eq!(planner.postponed(Slot(0), Need::Interval, at(130 * S)), None);
    params.policy = ProbePolicy::WhenIdle;
    planner.place(Slot(0), "d", 0, Some(params), at(0));
    assert_eq!(planner.postponed(Slot(0), Need::Interval, at(130 * S)), Some(at(160 * S)));
}

#[test]
fn a_probe_that_never_ends_is_given_up_and_does_not_block_the_deployment() {
    let mut planner = planner(1, 1, every(10), 7);
    let slot = planner.pop(at(10 * S), ROOMY).unwrap();
    let (ticket, _, _) = planner.start(slot, at(10 * S)).unwrap();
    assert_eq!(planner.pop(at(10 * S + 49_999), ROOMY), None);
    assert_eq!(planner.in_flight(), 1);
    assert_eq!(planner.pop(at(60 * S), ROOMY), Some(slot), "timeout 20 s and 30 s of grace");
    assert_eq!((planner.in_flight(), planner.lost()), (0, 1));
    assert!(!planner.land(slot, ticket), "it lands nowhere");
}

#[test]
fn next_wakeup_names_the_next_thing_to_do() {
    let mut planner = planner(1, 1, every(10), 7);
    let first = planner.next_wakeup(at(0), ROOMY).unwrap();
    assert!(first <= at(10 * S));
    let slot = planner.pop(at(10 * S), ROOMY).unwrap();
    let (ticket, _, _) = planner.start(slot, at(10 * S)).unwrap();
    assert_eq!(planner.next_wakeup(at(10 * S), ROOMY), Some(at(60 * S)), "giving it up");
    planner.land(slot, ticket);
    planner.wake(slot, Need::Suspect, at(11 * S));
    assert_eq!(planner.next_wakeup(at(11 * S), ROOMY), Some(at(15 * S)), "5 s after the start");
    planner.remove(slot);
    assert_eq!(planner.next_wakeup(at(11 * S), ROOMY), None);
}

#[test]
fn superseded_times_do_not_pile_up() {
    let mut planner = planner(1, 1, every(10), 7);
    for n in 0..100_000 {
        planner.postpone(Slot(0), at(1_000_000 - n));
        planner.postpone(Slot(0), at(2_000_000 + n));
    }
    assert!(planner.heap.len() <= 70, "{}", planner.heap.len());
}
