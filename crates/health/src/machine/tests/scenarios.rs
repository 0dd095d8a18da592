//! Directed scenarios: the five that random runs miss (P11 to P15 of the reference), and each rule of the
//! transition table.

use super::{LONE, PAIR, Rig, exact, secs};
use crate::{Cause, Class, Findings, Operator, Scope, Source, State, Tier, Timestamp};

#[test]
fn p11_a_lost_trials_late_verdict_is_fenced() {
    let mut rig = Rig::in_trial(exact());
    let first = rig.lease();
    rig.pass(26.0);
    let second = rig.lease();
    assert_ne!(first.id, second.id);
    let late = rig.verdict(&first, Class::Ok);
    assert_eq!(rig.give(&late), None);
    assert_eq!(rig.state(), State::Trial);
    assert_eq!(rig.machine.trial(), Some(&second), "the second lease is still out");
    assert_eq!(rig.machine.findings(rig.now).trials_lost, 1, "counted once");
}

#[test]
fn a_verdict_after_the_deadline_changes_nothing_even_if_no_other_lease_is_out() {
    let mut rig = Rig::in_trial(exact());
    let lease = rig.lease();
    rig.now = lease.deadline;
    let late = rig.verdict(&lease, Class::Ok);
    assert_eq!(rig.give(&late), None);
    assert_eq!((rig.state(), rig.machine.cause()), (State::Trial, Some(Cause::LostTrial)));
    assert!(rig.machine.standing(rig.now).trial_open, "the place is free again");
}

#[test]
fn p12_a_neutral_verdict_gives_the_place_back() {
    for class in [Class::Cancelled, Class::Local, Class::RequestExceedsQuota, Class::ModeMismatch] {
        let mut rig = Rig::in_trial(exact());
        let lease = rig.lease();
        assert!(rig.machine.grant_trial(rig.now, 2).is_none(), "one at a time");
        let neutral = rig.verdict(&lease, class);
        assert_eq!(rig.give(&neutral), None);
        assert_eq!(rig.state(), State::Trial);
        assert!(rig.machine.grant_trial(rig.now, 2).is_some(), "{class}");
        assert_eq!(rig.give(&neutral), None, "the same verdict again is not one of the new lease");
        assert!(rig.machine.trial().is_some());
    }
}

#[test]
fn p13_a_ramp_ends_without_traffic_at_its_cap() {
    let mut rig = Rig::ramping(exact());
    rig.pass(299.0);
    assert_eq!(rig.state(), State::Ramping);
    rig.pass(1.0);
    assert_eq!(rig.state(), State::Healthy);
}

#[test]
fn p14_a_configuration_fault_is_sticky() {
    let mut rig = Rig::new(exact());
    rig.traffic(Class::Auth);
    assert_eq!(rig.state(), State::Unknown, "one sighting is none");
    let moved = rig.traffic(Class::Auth).expect("the second decides");
    assert_eq!(
        (moved.to, moved.cause, moved.scope),
        (State::ConfigFault, Cause::Class(Class::Auth), Scope::Credential)
    );
    rig.pass(1.0);
    rig.traffic_times(20, Class::Ok);
    assert_eq!(rig.state(), State::ConfigFault, "traffic never heals it");
}

#[test]
fn p15_one_success_does_not_wipe_the_growth_of_isolation() {
    let mut rig = Rig::ramping(exact());
    rig.pass(1.0);
    rig.traffic_times(6, Class::Ok);
    rig.pass(60.0);
    assert_eq!(rig.state(), State::Healthy);
    rig.traffic(Class::Ok);
    rig.traffic_times(5, Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
    assert!((rig.left() - 60.0).abs() < 1e-6, "twice as long as the first: {}", rig.left());
}

#[test]
fn isolation_grows_to_its_cap_and_no_further() {
    let mut rig = Rig::isolated_by_traffic(exact());
    let mut lengths = vec![rig.left()];
    for _ in 0..6 {
        rig.pass(rig.left());
        rig.trial(Class::ServerError);
        lengths.push(rig.left());
    }
    assert_eq!(lengths, [30.0, 60.0, 120.0, 240.0, 300.0, 300.0, 300.0]);
}

#[test]
fn growth_decays_one_step_per_period_with_a_success() {
    let mut rig = Rig::in_trial(exact());
    rig.trial(Class::ServerError);
    rig.pass(60.0);
    rig.trial(Class::Ok);
    rig.pass(1.0);
    rig.traffic_times(5, Class::Ok);
    rig.pass(60.0);
    assert_eq!((rig.state(), rig.machine.findings(rig.now).step), (State::Healthy, 2));
    rig.pass(60.0);
    assert_eq!(rig.machine.findings(rig.now).step, 2, "a minute without success forgets nothing");
    rig.traffic(Class::Ok);
    rig.pass(60.0);
    assert_eq!(rig.machine.findings(rig.now).step, 1);
    rig.traffic(Class::Ok);
    rig.pass(60.0);
    assert_eq!(rig.machine.findings(rig.now).step, 0);
}

#[test]
fn three_failed_probes_isolate_and_two_do_not() {
    let mut rig = Rig::new(exact());
    rig.probe(Class::ServerError);
    assert_eq!(rig.state(), State::Suspect);
    rig.probe(Class::Timeout);
    assert_eq!(rig.state(), State::Suspect);
    let moved = rig.probe(Class::Connection).expect("isolates");
    assert_eq!(
        (moved.to, moved.cause, moved.source),
        (State::Isolated, Cause::ProbeFailures, Some(Source::Probe))
    );
    assert_eq!(rig.machine.standing(rig.now).tier, Tier::ProbeFailed);
}

#[test]
fn a_passed_probe_ends_only_the_run_of_probes() {
    let mut rig = Rig::new(exact());
    rig.traffic_times(4, Class::ServerError);
    rig.probe(Class::Ok);
    assert_eq!(rig.state(), State::Healthy, "a real call passed");
    assert!(!rig.machine.fast_path(), "but the run goes on");
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Isolated, "the fifth in a row, probes or not");
}

#[test]
fn a_success_of_traffic_ends_only_the_run_of_traffic() {
    let mut rig = Rig::new(exact());
    rig.probe(Class::ServerError);
    rig.probe(Class::ServerError);
    rig.traffic(Class::Ok);
    assert_eq!(rig.state(), State::Suspect);
    rig.probe(Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
}

#[test]
fn a_run_of_failed_probes_that_nothing_continues_lapses() {
    let mut rig = Rig::new(exact());
    rig.probe(Class::ServerError);
    for _ in 0..59 {
        rig.pass(10.0);
        rig.traffic(Class::Ok);
        assert_eq!(rig.state(), State::Suspect);
    }
    rig.pass(10.0);
    rig.traffic(Class::Ok);
    assert_eq!(rig.state(), State::Healthy);
}

#[test]
fn a_free_pass_does_not_end_the_doubt_of_traffic_but_time_does() {
    let mut rig = Rig::new(exact());
    rig.traffic(Class::ServerError);
    for _ in 0..119 {
        rig.pass(5.0);
        rig.free_probe(Class::Ok);
        assert_eq!(rig.state(), State::Suspect);
    }
    rig.pass(5.0);
    rig.free_probe(Class::Ok);
    assert_eq!(rig.state(), State::Healthy);
}

#[test]
fn a_free_pass_does_not_answer_a_failed_real_probe() {
    let mut rig = Rig::new(exact());
    rig.probe(Class::ServerError);
    rig.free_probe(Class::Ok);
    rig.probe(Class::ServerError);
    rig.free_probe(Class::Ok);
    rig.probe(Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
    let mut rig = Rig::new(exact());
    rig.free_probe(Class::ServerError);
    rig.free_probe(Class::Ok);
    assert_eq!(rig.state(), State::Healthy, "but it answers one of its own depth");
}

#[test]
fn stragglers_from_before_the_state_began_change_nothing() {
    let mut rig = Rig::new(exact());
    rig.traffic(Class::Ok);
    let ok = rig.outcome(Source::Traffic, Class::Ok);
    let bad = rig.outcome(Source::Probe, Class::ServerError);
    rig.pass(1.0);
    rig.traffic_times(5, Class::ServerError);
    for state in [State::Isolated, State::Trial, State::Ramping] {
        if state == State::Trial {
            rig.pass(rig.left());
        } else if state == State::Ramping {
            rig.trial(Class::Ok);
        }
        assert_eq!(rig.state(), state);
        assert_eq!(rig.give(&ok), None);
        assert_eq!(rig.give(&bad), None);
        assert_eq!(rig.state(), state);
    }
}

#[test]
fn failures_that_were_in_flight_together_all_count() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let together: Vec<_> = (0..5).map(|_| rig.outcome(Source::Traffic, Class::Timeout)).collect();
    rig.pass(1.0);
    for outcome in &together {
        rig.give(outcome);
    }
    assert_eq!(rig.state(), State::Isolated);
}

#[test]
fn a_peers_generation_means_nothing_but_its_time_does() {
    let mut rig = Rig::isolated_by_traffic(exact());
    rig.pass(rig.left());
    rig.trial(Class::Ok);
    let mut old = rig.outcome(Source::Peer, Class::ServerError);
    old.sent_at = rig.now - secs(1);
    assert_eq!(rig.give(&old), None);
    rig.pass(1.0);
    let mut young = rig.outcome(Source::Peer, Class::ServerError);
    young.generation = crate::Generation(0);
    assert_eq!(rig.give(&young).map(|moved| moved.to), Some(State::Isolated));
}

#[test]
fn a_trial_that_meets_a_limit_waits_and_costs_no_step() {
    let mut rig = Rig::in_trial(exact());
    let lease = rig.lease();
    let mut limited = rig.verdict(&lease, Class::RateLimit);
    limited.retry_after = Some(secs(90));
    assert_eq!(rig.give(&limited), None);
    assert_eq!((rig.state(), rig.machine.findings(rig.now).step), (State::Trial, 1));
    rig.pass(89.0);
    assert!(rig.machine.grant_trial(rig.now, 1).is_none());
    assert!(!rig.machine.standing(rig.now).trial_open);
    assert_eq!(rig.machine.next_deadline(), Some(rig.now + secs(1)));
    rig.pass(1.0);
    rig.trial(Class::Ok);
    assert_eq!(rig.state(), State::Ramping);
}

#[test]
fn a_trial_without_a_stated_wait_waits_for_the_base() {
    let mut rig = Rig::in_trial(exact());
    rig.trial(Class::Overloaded);
    rig.pass(29.0);
    assert!(rig.machine.grant_trial(rig.now, 1).is_none());
    rig.pass(1.0);
    assert!(rig.machine.grant_trial(rig.now, 1).is_some());
}

#[test]
fn rise_is_the_number_of_trials_to_pass() {
    let mut params = exact();
    params.rise = 2;
    let mut rig = Rig::in_trial(params);
    rig.trial(Class::Ok);
    assert_eq!(rig.state(), State::Trial);
    rig.trial(Class::Ok);
    assert_eq!(rig.state(), State::Ramping);
}

#[test]
fn the_ramp_is_linear_monotone_and_never_zero() {
    let mut rig = Rig::ramping(exact());
    assert!((rig.weight() - 0.1).abs() < 1e-3);
    let mut last = 0.0;
    for _ in 0..60 {
        assert!(rig.weight() > last);
        last = rig.weight();
        rig.pass(1.0);
        assert_eq!(rig.state(), State::Ramping, "no success yet");
    }
    assert!((rig.weight() - 1.0).abs() < 1e-6);
    rig.traffic_times(4, Class::Ok);
    assert_eq!(rig.state(), State::Ramping);
    rig.traffic(Class::Ok);
    assert_eq!(rig.state(), State::Healthy, "the fifth success after the time is up");
}

#[test]
fn one_failure_in_the_ramp_isolates_again_and_longer() {
    for probe in [false, true] {
        let mut rig = Rig::ramping(exact());
        rig.pass(1.0);
        let moved = if probe { rig.probe(Class::Timeout) } else { rig.traffic(Class::Timeout) };
        let moved = moved.expect("isolates");
        assert_eq!((moved.to, moved.cause, moved.step), (State::Isolated, Cause::RampFailure, 2));
        let tier = rig.machine.standing(rig.now).tier;
        assert_eq!(tier, if probe { Tier::ProbeFailed } else { Tier::Cooling });
    }
}

#[test]
fn a_return_without_a_ramp_is_at_full_weight() {
    let mut params = exact();
    params.ramp.length = secs(0);
    let mut rig = Rig::in_trial(params);
    rig.trial(Class::Ok);
    assert_eq!((rig.state(), rig.weight()), (State::Healthy, 1.0));
}

#[test]
fn evidence_that_grew_old_makes_unknown_and_keeps_the_growth() {
    let mut rig = Rig::ramping(exact());
    rig.pass(61.0);
    rig.traffic_times(5, Class::Ok);
    assert_eq!(rig.state(), State::Healthy);
    let step = rig.machine.findings(rig.now).step;
    rig.pass(599.0);
    assert_eq!(rig.state(), State::Healthy);
    let moved = rig.pass(1.0).expect("stale");
    assert_eq!((moved.to, moved.cause), (State::Unknown, Cause::Stale));
    assert_eq!(rig.machine.findings(rig.now).step, step, "kept");
}

#[test]
fn the_age_of_evidence_is_when_it_was_sent() {
    let mut rig = Rig::new(exact());
    let slow = rig.outcome(Source::Probe, Class::Ok);
    rig.pass(400.0);
    rig.give(&slow);
    let sent = Some(Timestamp::from_millis(super::T0));
    assert_eq!((rig.state(), rig.machine.sent_at()), (State::Healthy, sent));
    let mut older = slow.clone();
    older.sent_at = Timestamp::from_millis(super::T0 - 1);
    rig.give(&older);
    assert_eq!(rig.machine.sent_at(), sent, "older evidence does not replace it");
    rig.pass(200.0);
    assert_eq!(rig.state(), State::Unknown, "600 s after it was sent, not after it came");
    assert_eq!(rig.give(&slow), None, "and again it is no news");
}

#[test]
fn a_long_request_that_ends_supports_from_its_end_but_shows_its_true_age() {
    let mut rig = Rig::new(exact());
    let long = rig.outcome(Source::Traffic, Class::Ok);
    rig.pass(700.0);
    rig.give(&long);
    assert_eq!(
        (rig.state(), rig.machine.sent_at()),
        (State::Healthy, Some(Timestamp::from_millis(super::T0)))
    );
    rig.pass(599.0);
    assert_eq!(rig.state(), State::Healthy);
    rig.pass(1.0);
    assert_eq!(rig.state(), State::Unknown);
}

#[test]
fn an_answer_that_only_proves_life_does_not_end_a_known_fault() {
    for state in [State::ConfigFault, State::Budget] {
        let mut rig = Rig::in_state(exact(), state);
        rig.probe(Class::BadRequest);
        assert_eq!(rig.state(), state);
        rig.pass(rig.left());
        rig.trial(Class::BadRequest);
        assert_eq!(rig.state(), State::Trial);
        rig.trial(Class::Ok);
        assert_eq!(rig.state(), State::Ramping);
    }
}

#[test]
fn isolation_is_never_subject_to_staleness() {
    let mut params = exact();
    params.stale_after = secs(10);
    let mut rig = Rig::isolated_by_traffic(params);
    rig.pass(29.9);
    assert_eq!(rig.state(), State::Isolated);
}

#[test]
fn early_release_needs_two_probes_in_a_row_and_leads_to_the_trial() {
    let mut rig = Rig::isolated_by_probes(exact());
    rig.pass(1.0);
    rig.probe(Class::Ok);
    rig.probe(Class::ServerError);
    rig.probe(Class::Ok);
    assert_eq!(rig.state(), State::Isolated);
    let moved = rig.probe(Class::Ok).expect("released");
    assert_eq!((moved.to, moved.cause), (State::Trial, Cause::Recovered));
}

#[test]
fn early_release_never_cuts_a_stated_wait_short() {
    let mut rig = Rig::new(exact());
    for _ in 0..3 {
        let mut bad = rig.outcome(Source::Probe, Class::ServerError);
        bad.retry_after = Some(secs(120));
        rig.give(&bad);
    }
    assert_eq!((rig.state(), rig.left()), (State::Isolated, 120.0));
    rig.pass(1.0);
    for _ in 0..5 {
        rig.probe(Class::Ok);
    }
    assert_eq!(rig.state(), State::Isolated);
}

#[test]
fn a_failed_probe_outranks_what_traffic_inferred() {
    let mut rig = Rig::isolated_by_traffic(exact());
    rig.pass(1.0);
    assert_eq!(rig.machine.standing(rig.now).tier, Tier::Cooling);
    for _ in 0..3 {
        rig.probe(Class::ServerError);
    }
    assert_eq!((rig.state(), rig.left()), (State::Isolated, 29.0), "without moving the end");
    assert_eq!(rig.machine.standing(rig.now).tier, Tier::ProbeFailed);
}

#[test]
fn the_retests_of_a_known_fault_grow_and_start_anew_after_a_return() {
    let mut rig = Rig::in_state(exact(), State::ConfigFault);
    let mut waits = Vec::new();
    for _ in 0..6 {
        waits.push(rig.machine.until().map_or(0, |until| rig.machine.since().until(until).as_secs()));
        rig.pass(rig.left());
        assert_eq!((rig.state(), rig.machine.standing(rig.now).tier), (State::Trial, Tier::Never));
        rig.trial(Class::Auth);
        assert_eq!(rig.state(), State::ConfigFault, "one sighting is enough on a trial");
    }
    assert_eq!(waits, [60, 120, 240, 480, 900, 900]);
    rig.pass(rig.left());
    rig.trial(Class::Ok);
    rig.pass(1.0);
    rig.traffic_times(2, Class::Auth);
    assert_eq!(rig.left(), 60.0);
}

#[test]
fn a_free_call_heals_a_credential_and_only_a_real_one_the_rest() {
    for (class, depth_heals) in
        [(Class::Auth, true), (Class::ModelNotFound, false), (Class::Permission, false)]
    {
        let mut rig = Rig::new(exact());
        rig.traffic_times(2, class);
        assert_eq!(rig.state(), State::ConfigFault);
        rig.pass(1.0);
        rig.free_probe(Class::Ok);
        assert_eq!(rig.state() == State::Trial, depth_heals, "{class}");
        if !depth_heals {
            rig.probe(Class::Ok);
            assert_eq!(rig.state(), State::Trial, "{class}");
        }
    }
}

#[test]
fn a_changed_configuration_heals_a_fault_through_a_trial() {
    for state in [State::ConfigFault, State::Budget] {
        let mut rig = Rig::in_state(exact(), state);
        let now = rig.now;
        let moved = rig.machine.config_changed(now).expect("tested");
        assert_eq!((moved.to, moved.cause), (State::Trial, Cause::ConfigChanged));
    }
    for state in [State::Healthy, State::Suspect, State::Isolated, State::Ramping] {
        let mut rig = Rig::in_state(exact(), state);
        let old = rig.outcome(Source::Traffic, Class::Ok);
        let now = rig.now;
        rig.machine.config_changed(now);
        assert_eq!(rig.state(), State::Unknown);
        assert_eq!(rig.give(&old), None, "an answer to the old key says nothing about the new one");
    }
}

#[test]
fn a_budget_waits_for_the_stated_reset_however_long() {
    let mut rig = Rig::new(exact());
    let mut empty = rig.outcome(Source::Traffic, Class::Billing);
    empty.retry_after = Some(secs(7_200));
    rig.give(&empty);
    assert_eq!((rig.state(), rig.left()), (State::Budget, 7_200.0));
    rig.pass(3_600.0);
    rig.probe(Class::Ok);
    assert_eq!(rig.state(), State::Budget, "a stated reset is waited for");
    rig.pass(3_600.0);
    assert_eq!(rig.state(), State::Trial);
}

#[test]
fn domain_verdicts_come_and_go() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let now = rig.now;
    let moved = rig.machine.impose(now, Class::Auth, Scope::Credential, None).expect("out");
    assert_eq!((moved.to, moved.scope, moved.source), (State::ConfigFault, Scope::Credential, None));
    assert_eq!(rig.machine.impose(now, Class::Auth, Scope::Credential, Some(now + secs(500))), None);
    assert_eq!(rig.left(), 500.0, "the latest end asked for");
    assert_eq!(rig.machine.release(now).map(|moved| moved.to), Some(State::Trial));

    let mut own = Rig::new(exact());
    own.traffic_times(2, Class::ModelNotFound);
    let now = own.now;
    assert_eq!(own.machine.release(now), None, "its own model is still gone");

    let mut held = Rig::in_state(exact(), State::Healthy);
    let now = held.now;
    assert_eq!(held.machine.impose(now, Class::RateLimit, Scope::Account, Some(now + secs(40))), None);
    let standing = held.machine.standing(now);
    assert_eq!((standing.tier, standing.held_until), (Tier::Held, Some(now + secs(40))));

    let mut doubt = Rig::in_state(exact(), State::Healthy);
    let now = doubt.now;
    let moved = doubt.machine.impose(now, Class::Connection, Scope::Endpoint, None).expect("doubt");
    assert_eq!((moved.to, moved.cause), (State::Suspect, Cause::Domain(Scope::Endpoint)));
    let mut operator = Rig::in_state(exact(), State::ForcedUp);
    let now = operator.now;
    assert_eq!(operator.machine.impose(now, Class::Auth, Scope::Credential, None), None);
}

#[test]
fn a_hold_lowers_weight_and_gives_it_back_linearly() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let mut limited = rig.outcome(Source::Traffic, Class::RateLimit);
    limited.retry_after = Some(secs(40));
    assert_eq!(rig.give(&limited), None);
    assert_eq!((rig.state(), rig.weight()), (State::Healthy, 0.25));
    assert_eq!(rig.machine.standing(rig.now).tier, Tier::Held);
    assert_eq!(rig.machine.next_deadline(), Some(rig.now + secs(40)));
    rig.pass(40.0);
    assert_eq!(rig.machine.standing(rig.now).tier, Tier::Held, "nothing says yet that the limit is gone");
    rig.pass(7.0);
    rig.trial(Class::Ok);
    assert_eq!(rig.machine.standing(rig.now).tier, Tier::In);
    assert!((rig.weight() - 0.25).abs() < 1e-3);
    assert!(rig.machine.weight_moves(rig.now));
    rig.pass(20.0);
    assert!((rig.weight() - 0.625).abs() < 1e-3);
    rig.pass(20.0);
    assert!((rig.weight() - 1.0).abs() < 1e-6);
    assert!(!rig.machine.weight_moves(rig.now));
    assert!(rig.machine.next_deadline().is_none_or(|next| next > rig.now), "a timer that fired is gone");
}

#[test]
fn a_shorter_hold_does_not_shorten_a_longer_one_and_none_exceeds_the_clamp() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    for (wait, held) in [(Some(100), 100.0), (Some(1), 100.0), (None, 100.0), (Some(86_400), 300.0)] {
        let mut limited = rig.outcome(Source::Traffic, Class::RateLimit);
        limited.retry_after = wait.map(secs);
        rig.give(&limited);
        let until = rig.machine.standing(rig.now).held_until.expect("held");
        assert_eq!(rig.now.until(until).as_secs_f64(), held, "{wait:?}");
    }
}

#[test]
fn soft_counts_in_the_window_only_where_it_is_asked_for() {
    let mut params = exact();
    let mut rig = Rig::new(params.clone());
    rig.traffic_times(30, Class::RateLimit);
    assert_eq!(rig.state(), State::Unknown);
    params.soft_in_window = true;
    let mut rig = Rig::new(params);
    rig.traffic_times(9, Class::RateLimit);
    assert_eq!(rig.state(), State::Unknown);
    rig.traffic(Class::RateLimit);
    assert_eq!((rig.state(), rig.machine.cause()), (State::Isolated, Some(Cause::FailureRatio)));
}

#[test]
fn slow_first_tokens_halve_the_weight_and_then_isolate() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let begin = rig.clock();
    let slow = |rig: &mut Rig| {
        let mut outcome = rig.outcome(Source::Traffic, Class::Ok);
        outcome.first_token = Some(secs(11));
        rig.give(&outcome)
    };
    for n in 1..=8 {
        slow(&mut rig);
        assert_eq!(rig.weight(), 1.0, "too few to say at {n}");
        rig.pass(0.1);
    }
    slow(&mut rig);
    assert_eq!((rig.state(), rig.weight()), (State::Healthy, 0.5));
    assert!(!rig.machine.fast_path(), "the hot path must tell first tokens now");
    while rig.clock() - begin < 29.0 {
        rig.pass(1.0);
        slow(&mut rig);
    }
    assert_eq!(rig.state(), State::Healthy);
    rig.pass(3.0);
    let moved = slow(&mut rig).expect("slow for a whole window");
    assert_eq!((moved.to, moved.cause), (State::Isolated, Cause::SlowFirstToken));
}

#[test]
fn a_spell_of_slowness_that_ends_costs_nothing_more() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    for _ in 0..12 {
        let mut outcome = rig.outcome(Source::Traffic, Class::Ok);
        outcome.first_token = Some(secs(11));
        rig.give(&outcome);
    }
    assert_eq!(rig.weight(), 0.5);
    rig.traffic_times(14, Class::Ok);
    assert_eq!(rig.weight(), 1.0);
    assert!(rig.machine.fast_path());
}

#[test]
fn a_wedged_deployment_is_suspect_whatever_its_probe_says() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let now = rig.now;
    assert_eq!(rig.machine.wedged(now, secs(30)), None, "not longer than the gap");
    let moved = rig.machine.wedged(now, secs(31)).expect("suspect");
    assert_eq!((moved.to, moved.cause), (State::Suspect, Cause::Wedged));
    rig.probe(Class::Ok);
    assert_eq!(rig.state(), State::Suspect);
    rig.traffic(Class::Ok);
    assert_eq!(rig.state(), State::Healthy);
    assert!(rig.machine.fast_path());
}

#[test]
fn successes_counted_elsewhere_weigh_as_much_as_observed_ones() {
    let mut params = exact();
    params.consecutive_failures = 0;
    let mut one = Rig::in_state(params, State::Healthy);
    let mut other = one.clone();
    let now = one.now;
    one.traffic_times(7, Class::Ok);
    other.machine.successes(now, 7, now);
    let shown = |rig: &Rig| Findings { latest: None, ..rig.machine.findings(now) };
    assert_eq!(shown(&one), shown(&other));
    assert_eq!(one.machine.sent_at(), other.machine.sent_at());
    assert_eq!(other.machine.findings(now).window.ok, 8);
    assert_eq!(other.machine.successes(now, 0, now), None);
    let mut out = Rig::isolated_by_traffic(exact());
    let now = out.now;
    assert_eq!(out.machine.successes(now, 3, now), None);
}

#[test]
fn the_fast_path_is_open_only_when_a_success_changes_nothing() {
    let open = |state| Rig::in_state(exact(), state).machine.fast_path();
    for state in State::ALL {
        assert_eq!(open(state), state == State::Healthy, "{state}");
    }
    let mut rig = Rig::in_state(exact(), State::Healthy);
    rig.traffic(Class::Auth);
    assert!(!rig.machine.fast_path(), "a success would forget the sighting");
}

#[test]
fn operators_are_obeyed_until_the_set_time() {
    for (command, state) in [
        (Operator::Drain, State::Draining),
        (Operator::Disable, State::AdminDown),
        (Operator::ForceUp, State::ForcedUp),
    ] {
        let mut rig = Rig::in_state(exact(), State::Healthy);
        let now = rig.now;
        let moved = rig.machine.operator(now, command, Some(now + secs(60)), "maintenance").expect("obeys");
        assert_eq!((moved.to, moved.cause, moved.until), (state, Cause::Operator, Some(now + secs(60))));
        assert_eq!(rig.machine.note(), Some("maintenance"));
        assert!(rig.machine.explain(now).contains("maintenance"));
        assert_eq!(rig.machine.operator(now, command, Some(now + secs(90)), ""), None);
        rig.pass(89.0);
        assert_eq!(rig.state(), state, "the later command set the time");
        rig.pass(1.0);
        assert_eq!((rig.state(), rig.machine.note()), (State::Unknown, None));
    }
}

#[test]
fn enable_ends_only_what_an_operator_did() {
    let mut rig = Rig::isolated_by_traffic(exact());
    let now = rig.now;
    assert_eq!(rig.machine.operator(now, Operator::Enable, None, ""), None);
    assert_eq!(rig.state(), State::Isolated);
    rig.machine.operator(now, Operator::Disable, None, "");
    rig.machine.operator(now, Operator::Enable, None, "");
    assert_eq!(rig.state(), State::Unknown);
}

#[test]
fn reset_forgets_but_does_not_believe_a_known_fault_gone() {
    for state in State::ALL {
        let mut rig = Rig::in_state(exact(), state);
        let now = rig.now;
        rig.machine.operator(now, Operator::Reset, None, "");
        let known = matches!(state, State::ConfigFault | State::Budget);
        let expected = if known { State::Trial } else { State::Unknown };
        assert_eq!(rig.state(), expected, "after a reset of {state}");
        assert_eq!(rig.machine.findings(now).step, 0);
    }
}

#[test]
fn reload_keeps_what_was_learnt_and_moves_no_end() {
    let mut rig = Rig::isolated_by_traffic(exact());
    let before = rig.left();
    let mut params = exact();
    params.isolation.base = secs(5);
    params.window.buckets = 5;
    let now = rig.now;
    rig.machine.set_params(params, now);
    assert_eq!((rig.state(), rig.left()), (State::Isolated, before));
}

#[test]
fn a_restart_keeps_isolation_its_end_and_its_growth() {
    let mut rig = Rig::in_trial(exact());
    rig.trial(Class::ServerError);
    let json = serde_json::to_string(&rig.machine.save()).expect("serializes");
    let saved = serde_json::from_str(&json).expect("deserializes");
    let mut back = Rig { machine: crate::Machine::restore(exact(), 9, rig.now, &saved), ..rig.clone() };
    let (mut one, mut other) = (rig.machine.findings(rig.now), back.machine.findings(rig.now));
    assert_eq!(one.latest.take().map(|latest| latest.sent_at), back.machine.sent_at(), "its age survives");
    other.latest = None;
    one.last_probe = None;
    assert_eq!(one, other);
    let next = |rig: &Rig| rig.machine.explain(rig.now).rsplit("; ").next().map(str::to_owned);
    assert_eq!(next(&back), next(&rig));
    let left = back.left();
    back.pass(left);
    assert_eq!(back.state(), State::Trial);
}

#[test]
fn a_lone_deployment_is_not_isolated_by_traffic_but_by_probes() {
    let mut rig = Rig::new(exact()).in_group(LONE);
    rig.traffic_times(50, Class::ServerError);
    assert_eq!(rig.state(), State::Suspect);
    for _ in 0..3 {
        rig.probe(Class::ServerError);
    }
    assert_eq!(rig.state(), State::Isolated);
    let mut params = exact();
    params.isolate_lone = true;
    let mut rig = Rig::new(params).in_group(LONE);
    rig.traffic_times(5, Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
    assert!(!PAIR.lone());
}

/// E23: a caller that asks right after the default wait and meets the limit again makes the next wait longer.
#[test]
fn e23_a_default_wait_that_was_too_short_is_doubled() {
    let mut rig = Rig::new(exact()).in_group(PAIR);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let limited = rig.outcome(Source::Traffic, Class::RateLimit);
        rig.give(&limited);
        let end = rig.machine.standing(rig.now).held_until.unwrap();
        waits.push(rig.now.until(end).as_secs());
        // Sent before the hold was known: it says nothing about its length.
        rig.give(&limited);
        assert_eq!(rig.machine.standing(rig.now).held_until, Some(end));
        rig.now = end;
    }
    assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
    rig.trial(Class::Ok);
    rig.pass(120.0);
    let limited = rig.outcome(Source::Traffic, Class::RateLimit);
    rig.give(&limited);
    let end = rig.machine.standing(rig.now).held_until.unwrap();
    assert_eq!(rig.now.until(end).as_secs(), 5, "after a quiet time it begins anew");
}
