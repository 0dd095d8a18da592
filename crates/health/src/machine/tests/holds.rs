//! The end of a hold: one attempt finds out, whoever else waited.

use super::{LONE, PAIR, Rig, exact, secs};
use crate::{Cause, Class, Depth, Machine, Outcome, Params, Source, State, Tier};

fn limited(params: Params, class: Class, wait: u64) -> Rig {
    let mut rig = Rig::new(params);
    rig.traffic(Class::Ok);
    let mut outcome = rig.outcome(Source::Traffic, class);
    outcome.retry_after = Some(secs(wait));
    rig.give(&outcome);
    rig
}

fn on_probation() -> Rig {
    let mut rig = limited(exact(), Class::RateLimit, 10);
    rig.pass(10.0);
    rig
}

fn tier(rig: &Rig) -> Tier {
    rig.machine.standing(rig.now).tier
}

#[test]
fn e23_after_a_hold_one_attempt_at_a_time_finds_out() {
    let mut rig = on_probation();
    assert!((tier(&rig), rig.machine.fast_path()) == (Tier::Held, false));
    assert!(rig.machine.standing(rig.now).trial_open);
    let lease = rig.lease();
    assert!(rig.machine.grant_trial(rig.now, 2).is_none(), "one at a time");
    assert!(!rig.machine.standing(rig.now).trial_open);
    let limited = rig.verdict(&lease, Class::RateLimit);
    rig.give(&limited);
    assert_eq!((rig.state(), tier(&rig)), (State::Healthy, Tier::Held));
    assert!(rig.machine.grant_trial(rig.now, 3).is_none(), "held again");
    rig.pass(60.0);
    rig.trial(Class::Ok);
    assert_eq!((rig.state(), tier(&rig)), (State::Healthy, Tier::In));
    assert_eq!(rig.weight(), 0.25, "its share rises from here");
}

#[test]
fn e23_only_a_real_answer_to_a_request_sent_after_the_hold_ends_it() {
    let early = limited(exact(), Class::RateLimit, 10).outcome(Source::Traffic, Class::Ok);
    let mut rig = on_probation();
    rig.give(&early);
    assert_eq!(tier(&rig), Tier::Held, "sent before the hold was over");
    rig.free_probe(Class::Ok);
    assert_eq!(tier(&rig), Tier::Held, "a free call meets no limit");
    rig.traffic(Class::Cancelled);
    assert_eq!(tier(&rig), Tier::Held);
    rig.traffic(Class::BadRequest);
    assert_eq!(tier(&rig), Tier::In, "whoever judges a request is not overloaded");
    let mut rig = on_probation();
    rig.probe(Class::Ok);
    assert_eq!(tier(&rig), Tier::In, "a real probe");
}

#[test]
fn a_lost_or_neutral_attempt_after_a_hold_gives_the_place_back() {
    let mut rig = on_probation();
    let lost = rig.lease();
    assert_eq!(rig.machine.next_deadline(), Some(lost.deadline));
    rig.pass(25.0);
    assert_eq!(
        (rig.state(), tier(&rig), rig.machine.findings(rig.now).trials_lost),
        (State::Healthy, Tier::Held, 1)
    );
    let late = rig.verdict(&lost, Class::Ok);
    rig.give(&late);
    assert_eq!(tier(&rig), Tier::Held, "its verdict came too late");
    let lease = rig.lease();
    let left = rig.verdict(&lease, Class::Cancelled);
    rig.give(&left);
    assert!(rig.machine.standing(rig.now).trial_open);
}

#[test]
fn a_change_of_opinion_in_rotation_does_not_let_a_second_attempt_go() {
    let mut rig = on_probation();
    let lease = rig.lease();
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Suspect);
    assert!(rig.machine.grant_trial(rig.now, 2).is_none());
    let passed = rig.verdict(&lease, Class::Ok);
    rig.give(&passed);
    assert_eq!((rig.state(), tier(&rig)), (State::Healthy, Tier::In));
}

#[test]
fn a_failure_after_a_hold_is_no_reason_to_refuse_whoever_has_nowhere_else_to_go() {
    let mut rig = on_probation();
    rig.trial(Class::ServerError);
    assert_eq!(tier(&rig), Tier::Held, "another one serves meanwhile");
    let mut lone = on_probation().in_group(LONE);
    lone.trial(Class::ServerError);
    assert_eq!(tier(&lone), Tier::In);
}

/// A 503 is load, and load passes: a burst of them isolates nobody. That it is met after every hold is no burst.
#[test]
fn overloaded_for_ever_is_isolated_in_the_end() {
    let mut rig = Rig::new(exact()).in_group(PAIR);
    rig.traffic_times(100, Class::Overloaded);
    assert_eq!((rig.state(), tier(&rig)), (State::Unknown, Tier::Held), "one hold, however many met it");
    for hold in 1..=5 {
        rig.pass(rig.now.until(rig.machine.hold_until()).as_secs_f64());
        let moved = rig.trial(Class::Overloaded);
        rig.traffic_times(10, Class::Overloaded);
        assert_eq!(rig.state() == State::Isolated, hold == 5, "hold {hold}: {moved:?}");
    }
    assert_eq!(rig.machine.cause(), Some(Cause::ConsecutiveFailures));
    let mut lone = Rig::new(exact()).in_group(LONE);
    for _ in 0..20 {
        lone.traffic(Class::Overloaded);
        lone.pass(60.0);
    }
    assert!(lone.state() != State::Isolated, "nowhere else to go");
}

#[test]
fn a_limit_isolates_nobody_however_often_it_is_met() {
    let mut rig = Rig::new(exact()).in_group(PAIR);
    for _ in 0..50 {
        rig.traffic(Class::RateLimit);
        rig.pass(60.0);
    }
    assert_eq!((rig.state(), tier(&rig)), (State::Unknown, Tier::Held));
}

#[test]
fn d06_a_wait_of_zero_is_the_shortest_hold_and_an_absurd_one_is_cut_and_said_so() {
    let mut rig = limited(exact(), Class::RateLimit, 0);
    assert_eq!(rig.machine.standing(rig.now).held_until, Some(rig.now + secs(1)));
    rig.pass(1.0);
    assert!(rig.machine.standing(rig.now).trial_open);
    let mut absurd = rig.outcome(Source::Traffic, Class::RateLimit);
    absurd.retry_after = Some(secs(86_400));
    rig.give(&absurd);
    assert_eq!(rig.machine.standing(rig.now).held_until, Some(rig.now + secs(300)));
    assert_eq!(rig.machine.hold_clamped(), Some(secs(86_400)));
    let text = rig.machine.explain(rig.now);
    assert!(text.contains("held for 5 min (it stated 24 h, which is more than the longest hold)"), "{text}");
    rig.pass(300.0);
    let text = rig.machine.explain(rig.now);
    assert!(text.contains("one request at a time finds out"), "{text}");
    rig.trial(Class::Ok);
    assert_eq!(rig.machine.hold_clamped(), None);
}

#[test]
fn a_restart_and_the_fleet_know_whether_the_end_of_a_hold_was_confirmed() {
    let mut rig = on_probation();
    let restored = Machine::restore(exact(), 1, rig.now, &rig.machine.save());
    assert_eq!(restored.standing(rig.now).tier, Tier::Held);
    let mut peer = on_probation();
    peer.machine.hear(peer.now, &rig.machine.save());
    assert_eq!(tier(&peer), Tier::Held, "nobody knows better");
    rig.trial(Class::Ok);
    peer.machine.hear(peer.now, &rig.machine.save());
    assert_eq!(tier(&peer), Tier::In, "another pod's request got through");
    let restored = Machine::restore(exact(), 1, rig.now, &rig.machine.save());
    assert_eq!(restored.standing(rig.now).tier, Tier::In);
}

#[test]
fn an_operator_and_a_new_key_forget_the_hold() {
    let mut rig = on_probation();
    rig.machine.config_changed(rig.now);
    assert_eq!(tier(&rig), Tier::In);
    let mut rig = on_probation();
    rig.machine.operator(rig.now, crate::Operator::Reset, None, "");
    assert_eq!(tier(&rig), Tier::In);
}

#[test]
fn in_litellms_profile_a_hold_ends_by_time_alone() {
    let mut rig = Rig::new(Params::litellm());
    rig.traffic(Class::Ok);
    let mut outcome: Outcome = rig.outcome(Source::Probe, Class::RateLimit);
    outcome.depth = Depth::Generation;
    rig.give(&outcome);
    rig.pass(300.0);
    assert!(!rig.machine.on_probation(rig.now));
}
