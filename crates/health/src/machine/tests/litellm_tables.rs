//! LiteLLM's measured tables, cell by cell, with the differences that are kept on purpose named.

use super::{LONE, PAIR, Rig, secs};
use crate::{AllowedFails, Cause, Class, GroupFacts, LitellmParams, Params, Source, State, Tier};

const ALL_ZERO: AllowedFails = AllowedFails {
    bad_request: Some(0),
    authentication: Some(0),
    timeout: Some(0),
    rate_limit: Some(0),
    content_policy: Some(0),
    internal_server: Some(0),
    service_unavailable: Some(0),
    bad_gateway: Some(0),
    not_found: Some(0),
};

/// Numbers of the first failure that cools: default with siblings, default single, `allowed_fails: 0` with
/// siblings, single, a policy of zeros with siblings, single. 0 = never.
type Row = (&'static str, Class, u16, [u32; 6]);

#[rustfmt::skip]
const TABLE: [Row; 19] = [
    ("401",                Class::Auth,              401, [1, 1,    1, 0, 1, 1]),
    ("404",                Class::ModelNotFound,     404, [1, 1,    1, 0, 1, 1]),
    ("402",                Class::Billing,           402, [1, 0,    1, 0, 4, 0]),
    ("429",                Class::RateLimit,         429, [1, 0,    1, 0, 1, 1]),
    ("408",                Class::Timeout,           408, [5, 1000, 1, 0, 1, 1]),
    ("500",                Class::ServerError,       500, [5, 1000, 1, 0, 1, 1]),
    ("502",                Class::ServerError,       502, [5, 1000, 1, 0, 1, 1]),
    ("503",                Class::Overloaded,        503, [5, 1000, 1, 0, 1, 1]),
    ("other 5xx",          Class::ServerError,       520, [5, 1000, 1, 0, 1, 1]),
    // Difference: LiteLLM never acts on the two 400 fields of a router's policy; here all nine fields act.
    ("400",                Class::BadRequest,        400, [0, 0,    0, 0, 1, 1]),
    ("content policy",     Class::ContentPolicy,     400, [0, 0,    0, 0, 1, 1]),
    ("403",                Class::Permission,        403, [0, 0,    0, 0, 0, 0]),
    ("409",                Class::Conflict,          409, [0, 0,    0, 0, 0, 0]),
    ("418",                Class::BadRequest,        418, [0, 0,    0, 0, 0, 0]),
    ("422",                Class::BadRequest,        422, [0, 0,    0, 0, 0, 0]),
    ("no status (local)",  Class::Local,             0,   [0, 0,    0, 0, 0, 0]),
    // Difference: LiteLLM never cools its APIConnectionError; here a broken connection counts as a 500, or an
    // endpoint that breaks in the middle of answers would be tried for ever.
    ("APIConnectionError", Class::Connection,        500, [5, 1000, 1, 0, 1, 1]),
    // Difference: LiteLLM takes a blank or malformed 200 for a success.
    ("malformed 200",      Class::MalformedResponse, 200, [5, 1000, 1, 0, 1, 1]),
    ("3xx",                Class::ServerError,       302, [1, 1,    1, 0, 4, 0]),
];

const SETUPS: [(&str, GroupFacts); 6] = [
    ("default, siblings", PAIR),
    ("default, single", LONE),
    ("allowed_fails=0, siblings", PAIR),
    ("allowed_fails=0, single", LONE),
    ("policy of zeros, siblings", PAIR),
    ("policy of zeros, single", LONE),
];

fn rules(set: impl FnOnce(&mut LitellmParams)) -> Params {
    let mut params = Params::litellm();
    set(params.litellm.as_mut().expect("set"));
    params
}

fn setup(column: usize) -> Params {
    rules(|rules| match column / 2 {
        0 => {}
        1 => rules.allowed_fails = Some(0),
        _ => rules.policy = Some(ALL_ZERO),
    })
}

/// The number of the failure that puts it out, all within one second; 0 = none of 1,100.
fn first_out(params: Params, facts: GroupFacts, class: Class, status: u16) -> u32 {
    let mut rig = Rig::new(params).in_group(facts);
    for n in 1..=1_100 {
        let mut failed = rig.outcome(Source::Traffic, class);
        failed.status = status;
        rig.give(&failed);
        if !rig.state().eligible() {
            return n;
        }
    }
    0
}

#[test]
fn the_first_failure_that_cools_by_status_and_setup() {
    for (name, class, status, expected) in TABLE {
        for (column, (title, facts)) in SETUPS.into_iter().enumerate() {
            let n = first_out(setup(column), facts, class, status);
            assert_eq!(n, expected[column], "{name}, {title}");
        }
    }
}

#[test]
fn what_cools_is_one_state_by_the_kind_of_cause() {
    // Difference: LiteLLM lets a refused key back in every 5 s for ever. Here the rules say when it goes out,
    // and it comes back through one trial, after the cooldown first and later after growing waits.
    for (class, state, tier) in [
        (Class::Auth, State::ConfigFault, Tier::Never),
        (Class::ModelNotFound, State::ConfigFault, Tier::Never),
        (Class::Billing, State::Budget, Tier::Never),
        (Class::RateLimit, State::Isolated, Tier::Held),
    ] {
        let mut rig = Rig::new(Params::litellm());
        rig.traffic(class);
        assert_eq!((rig.state(), rig.machine.standing(rig.now).tier), (state, tier), "{class}");
    }
    let mut rig = Rig::new(Params::litellm());
    rig.traffic_times(5, Class::ServerError);
    assert_eq!((rig.state(), rig.machine.standing(rig.now).tier), (State::Isolated, Tier::Cooling));
    assert_eq!(rig.machine.cause(), Some(Cause::FailureRatio));
}

#[test]
fn the_first_retest_of_a_refused_key_is_one_cooldown_away() {
    let mut rig = Rig::new(Params::litellm());
    rig.traffic(Class::Auth);
    assert_eq!(rig.left(), 5.0);
    rig.pass(5.0);
    rig.trial(Class::Auth);
    assert_eq!(rig.left(), 10.0);
}

#[test]
fn the_rate_needs_more_than_half_of_five() {
    for (good, bad, cools) in [(2, 3, true), (3, 3, false), (0, 4, false), (0, 5, true)] {
        let mut rig = Rig::new(Params::litellm());
        rig.traffic_times(good, Class::Ok);
        rig.traffic_times(bad, Class::ServerError);
        assert_eq!(rig.state() == State::Isolated, cools, "{good} ok, {bad} bad");
    }
}

#[test]
fn the_callers_mistakes_do_not_dilute_or_feed_the_rate() {
    // Difference: LiteLLM counts a 400 as a failure in the rate although it never cools for one.
    let mut rig = Rig::new(Params::litellm());
    rig.traffic_times(4, Class::BadRequest);
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Suspect);
}

#[test]
fn a_cooldown_ends_by_time_into_unknown_at_full_weight_without_trial_or_ramp() {
    let mut rig = Rig::new(Params::litellm());
    rig.traffic_times(5, Class::ServerError);
    assert_eq!(rig.left(), 5.0);
    let moved = rig.pass(5.0).expect("ends");
    assert_eq!((moved.to, moved.cause), (State::Unknown, Cause::Timer));
    let standing = rig.machine.standing(rig.now);
    assert_eq!((standing.tier, standing.weight), (Tier::In, 1.0));
    rig.traffic_times(5, Class::ServerError);
    assert_eq!(rig.left(), 5.0, "no growth");
}

#[test]
fn counters_are_per_class() {
    // Difference: in LiteLLM one counter serves all classes, so three 401 and a timeout cool on Timeout: 3.
    let policy = AllowedFails { authentication: Some(5), timeout: Some(3), ..AllowedFails::default() };
    let mut rig = Rig::new(rules(|rules| {
        rules.policy = Some(policy);
        rules.cooldown_time = secs(60);
    }));
    rig.traffic_times(3, Class::Auth);
    rig.traffic(Class::Timeout);
    assert!(rig.state().eligible());
    rig.traffic_times(2, Class::Timeout);
    assert!(rig.state().eligible());
    rig.traffic(Class::Timeout);
    assert_eq!((rig.state(), rig.machine.cause()), (State::Isolated, Some(Cause::Policy(Class::Timeout))));
}

#[test]
fn the_counting_window_is_fixed_from_its_first_failure() {
    let make = || {
        Rig::new(rules(|rules| {
            rules.allowed_fails = Some(1);
            rules.cooldown_time = secs(60);
        }))
    };
    let mut rig = make();
    rig.traffic(Class::ServerError);
    rig.pass(59.0);
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
    let mut rig = make();
    rig.traffic(Class::ServerError);
    rig.pass(60.0);
    rig.traffic(Class::ServerError);
    assert!(rig.state().eligible(), "the first window is over");
    rig.pass(1.0);
    rig.traffic(Class::Ok);
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Isolated, "a success resets nothing");
}

#[test]
fn probes_and_traffic_share_the_counter() {
    let mut params = rules(|rules| {
        rules.policy = Some(AllowedFails { internal_server: Some(1), ..AllowedFails::default() });
        rules.cooldown_time = secs(60);
    });
    params.probe_routing = true;
    let mut rig = Rig::new(params);
    rig.probe(Class::ServerError);
    assert_eq!(rig.state(), State::Suspect, "under a policy a failed probe is no verdict");
    rig.traffic(Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
}

#[test]
fn a_failed_probe_is_a_verdict_by_setup() {
    let policy = Some(AllowedFails { timeout: Some(9), ..AllowedFails::default() });
    for (routing, policy, listed, red) in [
        (false, None, false, false),
        (true, None, false, true),
        (true, policy, false, false),
        (true, None, true, true),
        (true, policy, true, true),
        // Difference: LiteLLM's filter is off under `allowed_fails_policy: {}`; here an empty policy is none.
        (true, Some(AllowedFails::default()), false, true),
    ] {
        let mut params = rules(|rules| {
            rules.policy = policy;
            rules.group_listed = listed;
        });
        params.probe_routing = routing;
        let mut rig = Rig::new(params);
        rig.probe(Class::ServerError);
        let standing = rig.machine.standing(rig.now);
        assert_eq!(standing.tier == Tier::ProbeFailed, red, "{routing} {policy:?} {listed}");
        if !red {
            assert_eq!((rig.state(), standing.tier), (State::Suspect, Tier::In));
        }
    }
}

fn probed() -> Params {
    let mut params = Params::litellm();
    params.probe_routing = true;
    params
}

#[test]
fn one_passing_probe_clears_a_red_entry_and_a_cooldown() {
    let mut rig = Rig::new(probed());
    rig.probe(Class::ServerError);
    rig.pass(300.0);
    rig.probe(Class::ServerError);
    assert_eq!(rig.left(), 600.0, "a fresh failure renews it, by the time it was sent");
    rig.pass(300.0);
    rig.probe(Class::Ok);
    assert_eq!(rig.state(), State::Healthy);
    // Difference: a cooldown that nothing justifies any more ends when a real probe passes.
    rig.traffic_times(6, Class::ServerError);
    assert_eq!(rig.state(), State::Isolated);
    rig.pass(1.0);
    rig.free_probe(Class::Ok);
    assert_eq!(rig.state(), State::Isolated, "a free call proves nothing");
    rig.probe(Class::Ok);
    assert_eq!(rig.state(), State::Healthy);
}

#[test]
fn a_passing_probe_does_not_cut_a_stated_wait_short() {
    let mut rig = Rig::new(probed());
    let mut limited = rig.outcome(Source::Traffic, Class::RateLimit);
    limited.retry_after = Some(secs(30));
    rig.give(&limited);
    rig.pass(1.0);
    rig.probe(Class::Ok);
    assert_eq!((rig.state(), rig.left()), (State::Isolated, 29.0));
}

#[test]
fn ignored_transient_probes_clear_an_old_red_entry_and_count_nothing() {
    let mut params = probed();
    params.ignore_transient_probes = true;
    for class in [Class::RateLimit, Class::Timeout] {
        let mut rig = Rig::in_state(params.clone(), State::Healthy);
        for _ in 0..20 {
            assert_eq!(rig.probe(class), None);
        }
        assert_eq!(rig.state(), State::Healthy);
        rig.pass(1.0);
        rig.probe(Class::ServerError);
        rig.pass(1.0);
        // Difference: LiteLLM leaves the old entry red for up to 600 s.
        assert_eq!(rig.probe(class).map(|moved| moved.to), Some(State::Unknown), "{class}");
        let mut rig = Rig::new(probed());
        rig.probe(class);
        assert_eq!(
            rig.machine.standing(rig.now).tier,
            Tier::ProbeFailed,
            "{class} is a verdict without the switch"
        );
    }
}

#[test]
fn the_length_is_the_deployments_own_then_the_stated_then_the_routers() {
    for (own, stated, length) in
        [(true, Some(4), 3.0), (true, None, 3.0), (false, Some(4), 4.0), (false, None, 30.0)]
    {
        let params = rules(|rules| {
            rules.own_cooldown_time = own;
            rules.cooldown_time = secs(if own { 3 } else { 30 });
        });
        let mut rig = Rig::new(params);
        let mut limited = rig.outcome(Source::Traffic, Class::RateLimit);
        limited.retry_after = stated.map(secs);
        rig.give(&limited);
        assert_eq!(rig.left(), length, "{own} {stated:?}");
    }
}

#[test]
fn a_deployments_policy_overrides_the_router_the_gate_and_the_exemption() {
    let policy = AllowedFails { bad_request: Some(1), rate_limit: Some(2), ..AllowedFails::default() };
    let make = |facts| {
        Rig::new(rules(|rules| {
            rules.deployment_policy = Some(policy);
            rules.policy = Some(ALL_ZERO);
            rules.cooldown_time = secs(60);
        }))
        .in_group(facts)
    };
    for facts in [PAIR, LONE] {
        for (class, n) in [(Class::BadRequest, 2), (Class::RateLimit, 3), (Class::ServerError, 1)] {
            let mut rig = make(facts);
            for failure in 1..=n {
                rig.traffic(class);
                assert_eq!(!rig.state().eligible(), failure == n, "{class} {failure}");
            }
        }
    }
}

#[test]
fn a_deployments_generic_number_overrides_neither_gate_nor_exemption() {
    let make = |facts| Rig::new(rules(|rules| rules.deployment_allowed_fails = Some(1))).in_group(facts);
    let mut rig = make(PAIR);
    rig.traffic(Class::ServerError);
    assert!(rig.state().eligible());
    rig.traffic(Class::Timeout);
    assert_eq!(rig.state(), State::Isolated, "one counter for all classes without an entry");
    for class in [Class::ServerError, Class::Auth, Class::RateLimit] {
        let mut rig = make(LONE);
        rig.traffic_times(1_100, class);
        assert!(rig.state().eligible(), "{class}");
    }
    let mut rig = make(PAIR);
    rig.traffic_times(20, Class::BadRequest);
    assert!(rig.state().eligible());
}

#[test]
fn disabled_cooldowns_never_cool() {
    for class in Class::ALL {
        let mut rig = Rig::new(rules(|rules| {
            rules.disable_cooldowns = true;
            rules.policy = Some(ALL_ZERO);
        }));
        rig.traffic_times(50, class);
        assert!(rig.state().eligible(), "{class}");
    }
}

#[test]
fn own_keys_add_their_rules_to_litellms() {
    let mut params = rules(|rules| rules.allowed_fails = Some(100));
    params.consecutive_failures = 4;
    let mut rig = Rig::new(params);
    rig.traffic_times(3, Class::ServerError);
    assert!(rig.state().eligible());
    rig.traffic(Class::ServerError);
    assert_eq!(rig.machine.cause(), Some(Cause::ConsecutiveFailures));
}
