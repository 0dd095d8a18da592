use super::*;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn member(tier: Tier) -> Member {
    Member {
        tier,
        share: 1.0,
        unproven: false,
        by_operator: false,
        isolate_lone: false,
        since: at(1),
        returns: None,
        rank: Rank::Out,
        spared: false,
    }
}

fn group(tiers: &[Tier]) -> Vec<Member> {
    let mut members: Vec<_> = tiers.iter().copied().map(member).collect();
    for (member, n) in members.iter_mut().zip(1..) {
        member.since = at(n);
    }
    members
}

fn ranks(members: &[Member]) -> Vec<Rank> {
    members.iter().map(|member| member.rank).collect()
}

fn rules(threshold: f32, mode: PanicMode, all_out: AllOut) -> PanicParams {
    PanicParams { threshold, mode, all_out, ..PanicParams::resilient() }
}

use crate::{AllOut::*, PanicMode::*, Rank as R, Tier::*};

#[test]
fn e01_a_lone_deployment_without_a_fallback_is_never_refused_for_inference() {
    for tier in [Cooling, ProbeFailed] {
        for all_out in [TryBest, Wait, Fail] {
            let mut lone = group(&[tier]);
            let state = compose(&mut lone, &rules(0.1, Refuse, all_out), false);
            assert_eq!(
                (ranks(&lone), state.reason),
                (vec![R::In], GroupReason::Lone),
                "{tier:?} {all_out:?}"
            );
            assert_eq!(state.panic, PanicState::Calm);
        }
    }
    let mut with_fallback = group(&[Cooling]);
    let state = compose(&mut with_fallback, &rules(0.1, Spread, TryBest), true);
    assert_eq!((state.panic, state.last_resort), (PanicState::AllOut, LastResort::AfterFallback));
    assert_ne!(with_fallback[0].rank, R::In, "with somewhere else to go it is isolated like any other");

    let mut wanted = group(&[Cooling]);
    wanted[0].isolate_lone = true;
    compose(&mut wanted, &rules(0.1, Spread, Fail), false);
    assert_eq!(wanted[0].rank, R::Out);

    let mut known = group(&[Never]);
    assert_eq!(compose(&mut known, &rules(0.1, Spread, TryBest), false).panic, PanicState::AllOut);
    assert_eq!(known[0].rank, R::Out, "a known cause is no inference");
}

#[test]
fn e02_all_out_grades_by_cause_and_names_the_soonest_return() {
    let mut members = group(&[Never, ProbeFailed, Cooling, Held]);
    members[0].returns = Some(at(600_000));
    members[3].returns = Some(at(2_000));
    let state = compose(&mut members, &rules(0.1, Spread, TryBest), false);
    assert_eq!(ranks(&members), [R::Out, R::ProbeFailed, R::Cooling, R::Held]);
    assert!(R::Held < R::Cooling && R::Cooling < R::ProbeFailed && R::ProbeFailed < R::Out);
    assert_eq!(
        (state.panic, state.reason, state.last_resort, state.soonest_return),
        (PanicState::AllOut, GroupReason::NoneLeft, LastResort::AtOnce, Some(at(2_000)))
    );
    for all_out in [Wait, Fail] {
        let mut members = group(&[Never, ProbeFailed, Cooling, Held]);
        members[3].returns = Some(at(2_000));
        let state = compose(&mut members, &rules(0.1, Spread, all_out), false);
        assert_eq!(ranks(&members), [R::Out; 4]);
        assert_eq!((state.last_resort, state.soonest_return), (LastResort::Never, Some(at(2_000))));
    }
}

#[test]
fn e15_the_cap_is_checked_after_the_ejection_in_all_thirty_cells() {
    let table = [
        // members, floor(members * cap) for caps of 0, 10, 34, 50, 67, 100 %
        (1, [0, 0, 0, 0, 0, 1]),
        (2, [0, 0, 0, 1, 1, 2]),
        (3, [0, 0, 1, 1, 2, 3]),
        (4, [0, 0, 1, 2, 2, 4]),
        (5, [0, 0, 1, 2, 3, 5]),
    ];
    let caps = [0.0, 0.10, 0.34, 0.50, 0.67, 1.0];
    for (count, ejected) in table {
        for (cap, expected) in caps.into_iter().zip(ejected) {
            for at_least_one in [false, true] {
                let panic = PanicParams {
                    ejection_cap: Some(cap),
                    eject_at_least_one: at_least_one,
                    ..rules(0.0, Off, Fail)
                };
                let mut members = group(&vec![Cooling; count]);
                compose(&mut members, &panic, true);
                let out = members.iter().filter(|member| member.rank == R::Out).count();
                let expected = if at_least_one { expected.max(1) } else { expected };
                assert_eq!(out, expected, "{count} members, cap {cap}, at least one {at_least_one}");
                assert!(
                    members[..out].iter().all(|member| member.rank == R::Out),
                    "the first isolated go first"
                );
            }
        }
    }
}

#[test]
fn e16_the_cap_does_not_shield_a_failed_probe_or_a_known_cause() {
    let panic = PanicParams { ejection_cap: Some(0.34), ..rules(0.0, Off, Fail) };
    let mut members = group(&[Cooling, ProbeFailed, In]);
    let state = compose(&mut members, &panic, false);
    assert_eq!(ranks(&members), [R::Out, R::Out, R::In]);
    assert_eq!(state.reason, GroupReason::None);

    let mut members = group(&[Cooling, Cooling, Never]);
    let state = compose(&mut members, &panic, false);
    assert_eq!(ranks(&members), [R::Out, R::In, R::Out], "the second inferred one is spared");
    assert_eq!((state.reason, members[1].spared), (GroupReason::EjectionCap, true));
}

#[test]
fn e17_panic_spreads_over_inferred_outs_and_never_over_known_ones() {
    let tiers = [Cooling, ProbeFailed, Never, Held, In];
    let mut spread = group(&tiers);
    let state = compose(&mut spread, &rules(0.5, Spread, TryBest), false);
    assert_eq!(ranks(&spread), [R::In, R::In, R::Out, R::Held, R::In]);
    assert_eq!((state.panic, state.reason), (PanicState::Spread, GroupReason::BelowThreshold));

    let mut refuse = group(&tiers);
    assert_eq!(compose(&mut refuse, &rules(0.5, Refuse, TryBest), false).panic, PanicState::Refuse);
    assert_eq!(ranks(&refuse), [R::Out; 5]);

    let mut off = group(&tiers);
    assert_eq!(compose(&mut off, &rules(0.5, Off, TryBest), false).panic, PanicState::Calm);
    assert_eq!(ranks(&off), [R::Cooling, R::ProbeFailed, R::Out, R::Held, R::In]);
}

#[test]
fn e17_the_share_is_of_weight_and_the_threshold_is_strict() {
    let mut members = group(&[In, Cooling]);
    members[0].share = 1.0;
    members[1].share = 9.0;
    assert_eq!(
        compose(&mut members, &rules(0.1, Spread, TryBest), false).panic,
        PanicState::Calm,
        "10 % is not below"
    );
    let mut members = group(&[In, Cooling]);
    members[1].share = 9.5;
    assert_eq!(compose(&mut members, &rules(0.1, Spread, TryBest), false).panic, PanicState::Spread);
}

#[test]
fn e18_unprobed_members_are_left_out_of_the_share() {
    let mut members = group(&[In, In, In, In, In, In, In, In]);
    for member in &mut members[2..] {
        member.unproven = true;
    }
    let state = compose(&mut members, &rules(0.5, Refuse, Fail), false);
    assert_eq!((state.panic, ranks(&members)), (PanicState::Calm, vec![R::In; 8]));

    let mut members = group(&[In, Cooling, In]);
    members[2].unproven = true;
    let state = compose(&mut members, &rules(0.6, Spread, Fail), false);
    assert_eq!(state.panic, PanicState::Spread, "nor do they make the share look better than it is");

    let mut members = group(&[Cooling, In]);
    members[1].unproven = true;
    let state = compose(&mut members, &rules(0.6, Spread, Fail), false);
    assert_eq!(state.panic, PanicState::Calm, "one dead beside one untried is no panic");
}

#[test]
fn members_taken_out_by_an_operator_are_no_sign_of_trouble() {
    let mut members = group(&[In, Never, Never, Never]);
    for member in &mut members[1..] {
        member.by_operator = true;
    }
    assert_eq!(compose(&mut members, &rules(0.5, Refuse, Fail), false).panic, PanicState::Calm);
}

#[test]
fn a_group_without_members_is_calm() {
    assert_eq!(compose(&mut [], &rules(0.5, Refuse, Fail), false).panic, PanicState::Calm);
}
