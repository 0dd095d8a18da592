//! The parts: window, lengths, names, history, explanations.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::super::isolation::{last_step, length};
use super::super::window::{Counts, Window};
use super::{Rig, exact, secs};
use crate::{Cause, Class, HISTORY, Machine, Params, Scope, Source, State, Timestamp, WindowParams};

proptest! {
    #[test]
    fn the_window_counts_what_a_list_counts(
        events in prop::collection::vec((0_u64..9_000, 0_u8..3), 1..200),
        buckets in 1_u8..=12,
        length in 50_u64..20_000,
    ) {
        let params = WindowParams {
            length: Duration::from_millis(length), buckets, min_requests: 1, failure_ratio: 0.5,
        };
        let width = (length / u64::from(buckets)).max(1);
        let mut now = 1_000_000;
        let mut window = Window::new(&params, Timestamp::from_millis(now));
        let mut list: Vec<(u64, Counts)> = Vec::new();
        for (step, kind) in events {
            now += step;
            let counts = match kind {
                0 => Counts { ok: 1, ..Counts::default() },
                1 => Counts { bad: 1, ..Counts::default() },
                _ => Counts { ok: 1, slow: 1, bad: 0 },
            };
            let naive = |list: &[(u64, Counts)], now: u64| {
                let oldest = (now / width).saturating_sub(u64::from(buckets) - 1);
                list.iter().filter(|(at, _)| at / width >= oldest).fold(Counts::default(), |sum, (_, one)| Counts {
                    ok: sum.ok + one.ok, bad: sum.bad + one.bad, slow: sum.slow + one.slow,
                })
            };
            prop_assert_eq!(window.counts(Timestamp::from_millis(now)), naive(&list, now), "reading before adding");
            list.push((now, counts));
            prop_assert_eq!(window.add(Timestamp::from_millis(now), counts), naive(&list, now));
        }
    }
}

#[test]
fn lengths_never_overflow_and_never_shrink() {
    let mut params = Params::resilient().isolation;
    for multiplier in [0.0, 1.0, 1.5, 2.0, 1e9] {
        params.multiplier = multiplier;
        let lengths: Vec<_> = (1..=u8::MAX).map(|step| length(&params, step)).collect();
        assert!(lengths.is_sorted());
        assert!(lengths.iter().all(|length| (params.base..=params.max).contains(length)));
        let last = last_step(&params);
        assert!(multiplier <= 1.0 || length(&params, last) == params.max || last == 32);
        assert!(last == 1 || length(&params, last - 1) < params.max, "no step that changes nothing");
    }
}

#[test]
fn a_cap_below_the_base_does_not_shorten_the_base() {
    let mut params = Params::resilient().isolation;
    params.base = secs(600);
    assert_eq!(length(&params, 3), secs(600));
}

#[test]
fn names_and_numbers_of_states_are_unique_and_stable() {
    let names: BTreeSet<_> = State::ALL.iter().map(|state| state.as_str()).collect();
    let numbers: BTreeSet<_> = State::ALL.iter().map(|state| state.number()).collect();
    assert_eq!((names.len(), numbers.len()), (11, 11));
    for state in State::ALL {
        assert_eq!(serde_json::to_value(state).expect("serializes"), state.as_str());
    }
    assert_eq!(serde_json::to_value(Scope::Credential).expect("serializes"), Scope::Credential.as_str());
    for class in Class::ALL {
        assert_eq!(serde_json::to_value(class).expect("serializes"), class.as_str());
        assert_eq!(Cause::Class(class).as_str(), class.as_str());
    }
}

#[test]
fn hard_causes_are_the_known_ones() {
    for class in Class::ALL {
        let hard =
            [Class::Auth, Class::Permission, Class::ModelNotFound, Class::RouteNotFound, Class::Billing];
        assert_eq!(Cause::Class(class).is_hard(), hard.contains(&class), "{class}");
    }
    assert!(Cause::Operator.is_hard());
    assert!(!Cause::ProbeFailures.is_hard());
}

#[test]
fn the_history_keeps_the_latest_twenty_in_order() {
    let mut rig = Rig::new(exact());
    for _ in 0..40 {
        rig.pass(1.0);
        rig.traffic(Class::ServerError);
        rig.traffic(Class::Ok);
    }
    let lines: Vec<_> = rig.machine.history().collect();
    assert_eq!(lines.len(), HISTORY);
    assert!(lines.is_sorted_by_key(|line| line.at));
    assert!(lines.windows(2).all(|pair| pair[0].to == pair[1].from), "a chain");
    assert_eq!(
        lines.last().map(|line| (line.to, line.source)),
        Some((State::Healthy, Some(Source::Traffic)))
    );
    assert_eq!(rig.machine.findings(rig.now).transitions, 80);
}

#[test]
fn a_machine_is_small() {
    let heap = size_of::<crate::transition::History>() + 10 * size_of::<Counts>();
    let size = size_of::<Machine>() + heap;
    assert!(size <= 1_536, "{size}");
}

#[test]
fn explanations_name_state_cause_evidence_and_what_comes_next() {
    let mut lines = Vec::new();
    for state in State::ALL {
        let rig = Rig::in_state(exact(), state);
        let text = rig.machine.explain(rig.now);
        assert!(text.starts_with(state.as_str()) && text.ends_with('.'), "{text}");
        lines.push(text);
    }
    let mut rig = Rig::in_state(exact(), State::Healthy);
    rig.traffic(Class::RateLimit);
    lines.push(rig.machine.explain(rig.now));
    let mut rig = Rig::isolated_by_probes(exact());
    lines.push(rig.machine.explain(rig.now));
    rig.pass(30.0);
    rig.lease();
    lines.push(rig.machine.explain(rig.now));
    insta::assert_snapshot!(lines.join("\n"));
}
