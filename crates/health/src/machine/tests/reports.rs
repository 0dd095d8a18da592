//! What users of such gateways reported, as far as it concerns one deployment. Names begin with the number of
//! the report.

use super::{LONE, Rig, SINGLE_WITH_FALLBACK, exact, secs};
use crate::{AllowedFails, Cause, Class, Operator, Params, Scope, Source, State, Tier};

#[test]
fn a20_a_server_that_is_loading_stays_unknown_and_is_not_preferred() {
    for params in [exact(), Params::litellm()] {
        let mut rig = Rig::new(params);
        for _ in 0..8 {
            let mut loading = rig.outcome(Source::Traffic, Class::Overloaded);
            loading.reason = "loading";
            loading.status = 503;
            assert_eq!(rig.give(&loading), None, "no cooldown is recorded");
            assert_eq!((rig.state(), rig.machine.standing(rig.now).tier), (State::Unknown, Tier::Held));
            rig.pass(0.3);
        }
        rig.traffic(Class::Ok);
        assert_eq!(rig.state(), State::Healthy);
    }
}

#[test]
fn d01_a_blocked_prompt_changes_no_health() {
    let mut litellm = Params::litellm();
    litellm.litellm.as_mut().expect("set").allowed_fails = Some(0);
    for params in [exact(), litellm] {
        let mut rig = Rig::in_state(params, State::Healthy);
        let before = rig.machine.findings(rig.now);
        for class in
            [Class::ContentPolicy, Class::ContextWindow, Class::BadRequest, Class::RequestExceedsQuota]
        {
            rig.traffic_times(20, class);
        }
        let after = rig.machine.findings(rig.now);
        assert_eq!((after.state, after.window, after.traffic_run), (State::Healthy, before.window, 0));
    }
}

#[test]
fn d02_no_credit_is_known_by_class_whatever_the_status() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let mut empty = rig.outcome(Source::Traffic, Class::Billing);
    empty.status = 400;
    let moved = rig.give(&empty).expect("one is enough");
    assert_eq!((moved.to, moved.cause.as_str(), moved.scope), (State::Budget, "billing", Scope::Account));
}

#[test]
fn d03_an_empty_account_is_tried_at_most_six_times_an_hour() {
    let mut litellm = Params::litellm();
    litellm.litellm.as_mut().expect("set").cooldown_time = secs(60);
    for params in [Params::resilient(), litellm] {
        let mut rig = Rig::new(params);
        let mut attempts = 0;
        for minute in 0..60 {
            rig.at(f64::from(minute) * 60.0);
            let standing = rig.machine.standing(rig.now);
            if standing.tier == Tier::In {
                attempts += 1;
                rig.traffic(Class::Billing);
            } else if standing.trial_open {
                attempts += 1;
                rig.trial(Class::Billing);
            }
        }
        assert!((2..=6).contains(&attempts), "{attempts}");
    }
}

#[test]
fn d04_a_stated_reset_sets_the_end_and_never_less() {
    for seed in 0..50 {
        let mut rig = Rig::seeded(Params::resilient(), seed);
        let mut limited = rig.outcome(Source::Traffic, Class::RateLimit);
        limited.retry_after = Some(secs(90));
        rig.give(&limited);
        let until = rig.machine.standing(rig.now).held_until.expect("held");
        let wait = rig.now.until(until).as_secs_f64();
        assert!((90.0..=108.0).contains(&wait), "{wait}");
        assert_ne!(rig.state(), State::Isolated);
    }
}

#[test]
fn d08_a_client_that_leaves_is_not_evidence() {
    let mut rig = Rig::in_state(exact(), State::Suspect);
    let before = rig.machine.findings(rig.now);
    rig.traffic_times(20, Class::Cancelled);
    assert_eq!(rig.machine.findings(rig.now), before);
}

#[test]
fn d10_a_hang_that_the_caller_did_not_wait_out_counts_once() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let mut hang = rig.outcome(Source::Traffic, Class::Timeout);
    hang.reason = "hang";
    rig.give(&hang);
    assert_eq!(rig.machine.findings(rig.now).traffic_run, 1);
    rig.traffic(Class::Cancelled);
    assert_eq!(rig.machine.findings(rig.now).traffic_run, 1, "a short wait does not count");
}

#[test]
fn d13_the_gateways_own_refusals_touch_nothing() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let before = rig.machine.findings(rig.now);
    rig.traffic_times(9, Class::Local);
    assert_eq!(rig.machine.findings(rig.now), before);
}

#[test]
fn d15_a_model_name_of_the_callers_is_the_callers_mistake() {
    for params in [exact(), Params::litellm()] {
        let mut rig = Rig::in_state(params, State::Healthy);
        for class in [Class::ModelNotFound, Class::Auth, Class::Billing] {
            for _ in 0..50 {
                let mut wrong = rig.outcome(Source::Traffic, class);
                wrong.scope = Scope::Request;
                wrong.status = 404;
                assert_eq!(rig.give(&wrong), None);
            }
        }
        assert_eq!(rig.state(), State::Healthy);
    }
}

#[test]
fn d16_the_deployments_own_model_gone_is_out_for_a_minute_at_least() {
    let mut rig = Rig::in_state(Params::resilient(), State::Healthy);
    rig.traffic(Class::ModelNotFound);
    let moved = rig.traffic(Class::ModelNotFound).expect("gone");
    assert_eq!((moved.to, moved.cause.as_str()), (State::ConfigFault, "model_not_found"));
    rig.pass(59.9);
    let standing = rig.machine.standing(rig.now);
    assert_eq!((standing.tier, standing.trial_open), (Tier::Never, false));
}

#[test]
fn d19_a_slow_first_token_within_the_limit_is_no_failure_and_the_reason_of_a_late_one_is_kept() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let mut thinking = rig.outcome(Source::Traffic, Class::Ok);
    thinking.first_token = Some(secs(9));
    thinking.latency = secs(60);
    rig.give(&thinking);
    assert_eq!(rig.machine.findings(rig.now).window.slow, 0);
    let mut late = rig.outcome(Source::Traffic, Class::Timeout);
    late.reason = "first_token";
    let moved = rig.give(&late).expect("suspect");
    assert_eq!(moved.evidence.map(|evidence| evidence.reason), Some("first_token"));
    assert!(rig.machine.explain(rig.now).contains("first_token"));
}

#[test]
fn d20_a_request_that_fails_everywhere_is_not_charged() {
    let poison = |rig: &mut Rig, print| {
        let mut failed = rig.outcome(Source::Traffic, Class::ServerError);
        failed.shared_failure = Some(print);
        rig.give(&failed)
    };
    let mut rig = Rig::in_state(exact(), State::Healthy);
    for _ in 0..10 {
        assert_eq!(poison(&mut rig, 1), None);
    }
    assert_eq!(rig.machine.findings(rig.now).traffic_run, 0);
    poison(&mut rig, 2);
    assert_eq!(
        rig.machine.findings(rig.now).traffic_run,
        1,
        "a second request fails too: it is the deployment"
    );
    rig.traffic(Class::Ok);
    assert_eq!(poison(&mut rig, 2), None, "a success begins anew");
    rig.traffic(Class::ServerError);
    assert_eq!(rig.machine.findings(rig.now).traffic_run, 1, "a failure of its own counts");
    let mut trial = Rig::in_trial(exact());
    let lease = trial.lease();
    let mut verdict = trial.verdict(&lease, Class::ServerError);
    verdict.shared_failure = Some(3);
    assert_eq!(trial.give(&verdict), None);
    assert!(trial.machine.standing(trial.now).trial_open, "the place is free again");
}

#[test]
fn e01_one_deployment_with_a_fallback_is_isolated_like_any_other() {
    let mut rig = Rig::new(exact()).in_group(SINGLE_WITH_FALLBACK);
    rig.traffic_times(5, Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
    let mut rig = Rig::new(exact()).in_group(LONE);
    rig.traffic_times(50, Class::ServerError);
    assert_ne!(rig.state(), State::Isolated);
}

#[test]
fn e04_a_rate_needs_a_minimum() {
    let mut params = exact();
    params.window.min_requests = 5;
    params.window.failure_ratio = 0.5;
    let mut rig = Rig::new(params);
    for (n, class) in [Class::ServerError, Class::Ok, Class::ServerError, Class::Ok].into_iter().enumerate() {
        rig.traffic(class);
        assert_ne!(rig.state(), State::Isolated, "at {}", n + 1);
    }
    let moved = rig.traffic(Class::ServerError).expect("3 of 5");
    assert_eq!((moved.to, moved.cause), (State::Isolated, Cause::FailureRatio));
}

#[test]
fn e04_exactly_the_ratio_is_not_more_than_it() {
    for tenths in 1_u8..10 {
        let mut params = exact();
        params.consecutive_failures = 0;
        params.window.failure_ratio = f32::from(tenths) / 10.0;
        let mut rig = Rig::new(params);
        rig.traffic_times(10 - u32::from(tenths), Class::Ok);
        rig.traffic_times(u32::from(tenths), Class::ServerError);
        assert_eq!(rig.state(), State::Suspect, "{tenths} of 10");
        rig.traffic(Class::ServerError);
        assert_eq!(rig.state(), State::Isolated, "one more of 11");
    }
}

#[test]
fn e05_failures_in_a_row_count_however_sparse() {
    let mut rig = Rig::new(exact());
    for n in 1..=5 {
        rig.traffic(Class::ServerError);
        assert_eq!(rig.state() == State::Isolated, n == 5, "failure {n}");
        if n < 5 {
            rig.pass(15.0);
            rig.probe(Class::Ok);
        }
    }
}

#[test]
fn e06_the_window_is_as_long_as_configured_and_slides() {
    let mut params = exact();
    params.window.length = secs(1_200);
    params.window.min_requests = 6;
    params.consecutive_failures = 0;
    params.stale_after = secs(100_000);
    let mut rig = Rig::new(params.clone());
    for at in [0.0, 240.0, 480.0, 720.0, 960.0] {
        rig.at(at);
        rig.traffic(Class::ServerError);
        assert_eq!(rig.state(), State::Suspect);
    }
    rig.at(1_070.0);
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);

    let mut rig = Rig::new(params);
    for at in [0.0, 240.0, 480.0, 720.0, 960.0, 1_210.0] {
        rig.at(at);
        rig.traffic(Class::ServerError);
    }
    assert_eq!(rig.state(), State::Suspect, "the first has left the window");
}

/// A setter, the class it is for, the status that class comes with.
type Named = (fn(&mut AllowedFails, u32), Class, u16);

const FIELDS: [Named; 9] = [
    (|p, n| p.bad_request = Some(n), Class::BadRequest, 400),
    (|p, n| p.authentication = Some(n), Class::Auth, 401),
    (|p, n| p.timeout = Some(n), Class::Timeout, 408),
    (|p, n| p.rate_limit = Some(n), Class::RateLimit, 429),
    (|p, n| p.content_policy = Some(n), Class::ContentPolicy, 400),
    (|p, n| p.internal_server = Some(n), Class::ServerError, 500),
    (|p, n| p.service_unavailable = Some(n), Class::Overloaded, 503),
    (|p, n| p.bad_gateway = Some(n), Class::ServerError, 502),
    (|p, n| p.not_found = Some(n), Class::ModelNotFound, 404),
];

#[test]
fn e07_every_field_of_a_policy_acts_and_on_its_own_class_only() {
    for resilient in [false, true] {
        for (set, class, status) in FIELDS {
            let mut policy = AllowedFails::default();
            set(&mut policy, 2);
            let mut params = if resilient { exact() } else { Params::litellm() };
            let mut rules = Params::litellm().litellm.expect("set");
            rules.policy = Some(policy);
            rules.cooldown_time = secs(60);
            params.litellm = Some(rules);
            let mut rig = Rig::new(params);
            let other = FIELDS.iter().find(|(_, other, _)| *other != class).expect("another");
            for n in 1..=3 {
                let mut failed = rig.outcome(Source::Traffic, other.1);
                failed.status = other.2;
                rig.give(&failed);
                let mut failed = rig.outcome(Source::Traffic, class);
                failed.status = status;
                rig.give(&failed);
                assert_eq!(
                    !rig.state().eligible(),
                    n == 3,
                    "{class} {status}, failure {n}, resilient {resilient}"
                );
            }
            assert_eq!(rig.machine.cause(), Some(Cause::Policy(class)));
        }
    }
}

#[test]
fn e08_a_success_between_resets_the_row_only() {
    let mut params = exact();
    params.consecutive_failures = 3;
    let mut rig = Rig::new(params);
    for (n, bad) in "FFSFFSFFF".bytes().map(|b| b == b'F').enumerate() {
        rig.traffic(if bad { Class::ServerError } else { Class::Ok });
        assert_eq!(rig.state() == State::Isolated, n == 8, "at {n}");
    }
    let mut params = exact();
    params.consecutive_failures = 3;
    params.window.min_requests = 5;
    params.window.failure_ratio = 0.5;
    let mut rig = Rig::new(params);
    for bad in "FFSFF".bytes().map(|b| b == b'F') {
        rig.traffic(if bad { Class::ServerError } else { Class::Ok });
    }
    assert_eq!((rig.state(), rig.machine.cause()), (State::Isolated, Some(Cause::FailureRatio)));
}

#[test]
fn e19_a_limit_without_a_header_holds_for_the_default_time() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    rig.traffic(Class::RateLimit);
    let standing = rig.machine.standing(rig.now);
    assert_eq!((standing.tier, standing.held_until), (Tier::Held, Some(rig.now + secs(5))));
}

#[test]
fn e22_nobody_comes_back_at_the_same_instant() {
    let mut slots = std::collections::BTreeMap::<u128, u32>::new();
    for seed in 0..2_000 {
        let mut rig = Rig::seeded(Params::resilient(), seed);
        let mut limited = rig.outcome(Source::Traffic, Class::RateLimit);
        limited.retry_after = Some(secs(10));
        rig.give(&limited);
        let until = rig.machine.standing(rig.now).held_until.expect("held");
        let wait = rig.now.until(until).as_millis();
        assert!((10_000..=12_000).contains(&wait), "only upward: {wait}");
        *slots.entry(wait / 200).or_default() += 1;
    }
    assert!((50..60).all(|slot| (150..250).contains(&slots[&slot])), "evenly: {slots:?}");
    let ends: std::collections::BTreeSet<_> = (0..20)
        .map(|seed| {
            let mut rig = Rig::seeded(Params::resilient(), seed);
            rig.traffic_times(5, Class::ServerError);
            let left = rig.left();
            assert!((27.0..=33.0).contains(&left), "{left}");
            (left * 1000.0) as u64
        })
        .collect();
    assert!(ends.len() > 15, "{ends:?}");
}

#[test]
fn e25_an_idle_member_is_not_judged_by_one_failure() {
    let mut rig = Rig::new(exact());
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Suspect);
    rig.pass(600.0);
    assert_eq!((rig.state(), rig.machine.findings(rig.now).traffic_run), (State::Unknown, 0));
}

#[test]
fn e28_a_verdict_of_a_prober_that_stopped_becomes_unknown() {
    let mut params = Params::litellm();
    params.probe_routing = true;
    let mut rig = Rig::new(params);
    rig.probe(Class::ServerError);
    assert_eq!(rig.machine.standing(rig.now).tier, Tier::ProbeFailed);
    rig.pass(599.0);
    assert_eq!(rig.state(), State::Isolated);
    let moved = rig.pass(1.0).expect("stale");
    assert_eq!((moved.to, moved.cause), (State::Unknown, Cause::Stale));
}

#[test]
fn f01_f18_passive_only_is_complete_on_its_own() {
    let mut rig = Rig::new(Params::resilient());
    let mut trials = Vec::new();
    for half in 0..400 {
        rig.at(f64::from(half) * 0.5);
        let class = if rig.clock() < 10.0 { Class::ServerError } else { Class::Ok };
        let standing = rig.machine.standing(rig.now);
        if standing.tier == Tier::In {
            rig.traffic(class);
        } else if standing.trial_open {
            trials.push(rig.clock());
            rig.trial(class);
        }
    }
    assert!(
        trials.iter().any(|at| (10.0..=10.0 + 33.5).contains(at)),
        "a trial within one cooldown: {trials:?}"
    );
    assert_eq!((rig.state(), rig.weight()), (State::Healthy, 1.0));
}

#[test]
fn f02_a_credential_that_becomes_valid_comes_back_by_a_probe() {
    let mut rig = Rig::in_state(exact(), State::ConfigFault);
    rig.pass(1.0);
    rig.free_probe(Class::Ok);
    assert_eq!(rig.state(), State::Trial);
    rig.trial(Class::Ok);
    assert_eq!(rig.state(), State::Ramping);
}

#[test]
fn f03_operator_states_survive_probes_success_reload_and_restart() {
    for command in [Operator::Disable, Operator::Drain, Operator::ForceUp] {
        let mut rig = Rig::in_state(exact(), State::Healthy);
        let now = rig.now;
        rig.machine.operator(now, command, None, "");
        let state = rig.state();
        for _ in 0..10 {
            rig.pass(100.0);
            for class in [Class::Ok, Class::Auth, Class::Auth, Class::Billing] {
                rig.probe(class);
            }
            rig.traffic(Class::ServerError);
        }
        let now = rig.now;
        rig.machine.set_params(exact(), now);
        rig.machine.config_changed(now);
        let saved = rig.machine.save();
        let mut back = Rig { machine: crate::Machine::restore(exact(), 1, now, &saved), ..rig };
        back.pass(100_000.0);
        assert_eq!(back.state(), state);
        assert_eq!(back.machine.next_deadline(), None);
    }
}

#[test]
fn f04_half_open_lets_one_in() {
    let mut rig = Rig::in_trial(exact());
    let granted = (0..200).filter(|&owner| rig.machine.grant_trial(rig.now, owner).is_some()).count();
    assert_eq!(granted, 1);
}

#[test]
fn f06_every_way_out_of_a_trial_frees_its_place() {
    let failures = [Class::MalformedResponse, Class::ServerError, Class::Connection, Class::Timeout];
    for class in Class::ALL {
        let mut rig = Rig::in_trial(exact());
        rig.trial(class);
        assert_eq!(rig.machine.trial(), None, "{class}");
        let counted = rig.machine.findings(rig.now).step == 2;
        assert_eq!(counted, failures.contains(&class), "{class}");
    }
}

#[test]
fn f07_results_from_before_the_change_decide_nothing() {
    let mut rig = Rig::in_state(exact(), State::Healthy);
    let ok = rig.outcome(Source::Traffic, Class::Ok);
    let bad = rig.outcome(Source::Traffic, Class::ServerError);
    rig.pass(1.0);
    rig.traffic_times(5, Class::ServerError);
    rig.pass(rig.left());
    for _ in 0..5 {
        assert_eq!(rig.give(&ok), None);
        assert_eq!(rig.give(&bad), None);
    }
    assert_eq!(rig.state(), State::Trial);
    rig.trial(Class::Ok);
    rig.pass(61.0);
    rig.traffic_times(5, Class::Ok);
    assert_eq!(rig.state(), State::Healthy);
    for _ in 0..5 {
        assert_eq!(rig.give(&bad), None, "not even after the return");
    }
}

#[test]
fn f08_a_cancelled_trial_leaves_it_half_open() {
    let mut rig = Rig::in_trial(exact());
    rig.trial(Class::Cancelled);
    assert_eq!(rig.state(), State::Trial);
    assert!(rig.machine.standing(rig.now).trial_open);
}

#[test]
fn f10_a_shallow_probe_does_not_undo_what_traffic_found() {
    let mut rig = Rig::isolated_by_traffic(exact());
    for _ in 0..29 {
        rig.pass(1.0);
        rig.free_probe(Class::Ok);
        assert_eq!(rig.state(), State::Isolated);
    }
    let mut rig = Rig::isolated_by_traffic(exact());
    rig.pass(1.0);
    rig.probe(Class::Ok);
    rig.probe(Class::Ok);
    assert_eq!(rig.state(), State::Trial, "a real one may");
    let mut params = exact();
    params.probe_can_restore = false;
    let mut rig = Rig::isolated_by_traffic(params);
    rig.pass(1.0);
    rig.probe(Class::Ok);
    rig.probe(Class::Ok);
    assert_eq!(rig.state(), State::Isolated, "unless that is switched off");
}

#[test]
fn f11_counters_start_at_zero_on_every_return() {
    let mut params = exact();
    params.consecutive_failures = 3;
    params.ramp.length = secs(0);
    let mut rig = Rig::new(params);
    for cycle in 0..5 {
        let mut hits = 0;
        while rig.state() != State::Isolated {
            hits += 1;
            rig.traffic(Class::Timeout);
        }
        assert_eq!(hits, 3, "cycle {cycle}");
        rig.pass(rig.left());
        rig.trial(Class::Ok);
        assert_eq!(rig.state(), State::Healthy);
    }
}

#[test]
fn f12_no_state_without_an_operator_is_for_ever() {
    for state in State::ALL.into_iter().filter(|state| !state.by_operator()) {
        let mut rig = Rig::in_state(Params::resilient(), state);
        let start = rig.clock();
        while rig.state() != State::Healthy {
            rig.pass(1.0);
            if rig.machine.standing(rig.now).trial_open {
                rig.trial(Class::Ok);
            } else {
                rig.traffic(Class::Ok);
            }
            assert!(rig.clock() - start < 300.0 * 1.2 + 300.0, "{state}");
        }
    }
}

#[test]
fn f16_there_is_a_way_back_from_every_cause_that_can_heal() {
    let causes = [
        Class::RateLimit,
        Class::ServerError,
        Class::Overloaded,
        Class::Timeout,
        Class::Connection,
        Class::Auth,
    ];
    for class in causes {
        let mut rig = Rig::new(Params::resilient());
        let mut served = None;
        for tenth in 0..1_500 {
            rig.at(f64::from(tenth) / 10.0);
            let now = if rig.clock() < 5.0 { class } else { Class::Ok };
            let standing = rig.machine.standing(rig.now);
            if standing.tier == Tier::In {
                rig.traffic(now);
            } else if standing.trial_open {
                rig.trial(now);
            } else {
                continue;
            }
            if now == Class::Ok && served.is_none() {
                served = Some(rig.clock());
            }
        }
        // A known cause is tested again after a minute, an inferred one after its isolation.
        let limit = if class == Class::Auth { 5.0 + 72.0 } else { 5.0 + 33.0 };
        assert!(served.is_some_and(|at| at <= limit), "{class}: {served:?}");
    }
}

#[test]
fn f17_failures_while_out_do_not_push_the_end_unless_one_states_a_longer_wait() {
    let mut rig = Rig::isolated_by_traffic(exact());
    let end = rig.machine.until();
    for _ in 0..20 {
        rig.pass(0.2);
        rig.traffic(Class::ServerError);
        rig.traffic(Class::RateLimit);
    }
    assert_eq!(rig.machine.until(), end);
    let mut asked = rig.outcome(Source::Traffic, Class::Overloaded);
    asked.retry_after = Some(secs(10));
    rig.give(&asked);
    assert_eq!(rig.machine.until(), end, "a shorter one changes nothing");
    asked.retry_after = Some(secs(100));
    rig.give(&asked);
    assert_eq!(rig.left(), 100.0);
}

#[test]
fn h10_every_state_has_an_effect_on_traffic() {
    let effects: Vec<_> = State::ALL
        .into_iter()
        .map(|state| {
            let rig = Rig::in_state(exact(), state);
            let standing = rig.machine.standing(rig.now);
            (state, standing.tier, (standing.weight * 100.0) as u32, standing.trial_open)
        })
        .collect();
    let healthy = (Tier::In, 100, false);
    for (state, tier, weight, open) in effects {
        let same = (tier, weight, open) == healthy;
        assert_eq!(same, matches!(state, State::Healthy | State::ForcedUp), "{state}");
    }
}

fn litellm(set: impl FnOnce(&mut crate::LitellmParams)) -> Params {
    let mut params = Params::litellm();
    set(params.litellm.as_mut().expect("set"));
    params
}

#[test]
fn i01_zero_is_zero_and_unset_inherits() {
    let params = litellm(|rules| {
        rules.allowed_fails = Some(5);
        rules.policy = Some(AllowedFails { rate_limit: Some(0), ..AllowedFails::default() });
    });
    let mut rig = Rig::new(params.clone());
    rig.traffic(Class::RateLimit);
    assert_eq!(rig.state(), State::Isolated);
    let mut rig = Rig::new(params);
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Suspect);
}

#[test]
fn i05_allowed_fails_is_more_than() {
    let mut rig = Rig::new(litellm(|rules| rules.allowed_fails = Some(3)));
    for n in 1..=4 {
        rig.traffic(Class::ServerError);
        assert_eq!(rig.state() == State::Isolated, n == 4, "failure {n}");
    }
}

#[test]
fn i06_a_cooldown_of_zero_turns_isolation_off_but_not_the_view() {
    let mut resilient = exact();
    resilient.isolation.base = secs(0);
    for params in [litellm(|rules| rules.cooldown_time = secs(0)), resilient] {
        let mut rig = Rig::new(params);
        rig.traffic_times(50, Class::ServerError);
        let standing = rig.machine.standing(rig.now);
        assert_eq!((rig.state(), standing.tier), (State::Suspect, Tier::In));
        assert!(standing.weight > 0.0);
        assert_eq!(rig.machine.findings(rig.now).traffic_run, 50);
    }
}

#[test]
fn i08_tolerance_is_per_deployment() {
    let rig = |limit| {
        let mut params = exact();
        params.consecutive_failures = limit;
        let mut rig = Rig::new(params);
        rig.traffic_times(2, Class::ServerError);
        rig.state()
    };
    assert_eq!((rig(1), rig(5)), (State::Isolated, State::Suspect));
    let mut rig = Rig::new(litellm(|rules| {
        rules.allowed_fails = Some(5);
        rules.deployment_allowed_fails = Some(0);
    }));
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
}

#[test]
fn k03_five_percent_of_errors_isolate_nobody() {
    let mut random = fastrand::Rng::with_seed(11);
    for params in [Params::resilient(), Params::litellm()] {
        let mut rig = Rig::new(params);
        for call in 0..30_000 {
            rig.at(f64::from(call) / 500.0);
            rig.traffic(if random.f32() < 0.05 { Class::ServerError } else { Class::Ok });
            assert!(rig.state().eligible(), "call {call}");
        }
    }
}
