use haleway_health::Class;
use proptest::prelude::*;

use super::*;
use crate::testing::{World, at, builder, chains, ms, play, play_plan, retries, table};
use crate::{Fallbacks, GroupRule, NoStats, RetryPolicy, Settings};

fn call(model: &str) -> Call<'_> {
    Call { model, ..Call::default() }
}

/// Fails every attempt like this, at once.
fn always(failure: Failure) -> impl FnMut(&str, &mut World, Timestamp) -> Option<(Failure, Duration)> {
    move |_, _, _| Some((failure, Duration::ZERO))
}

/// Fails those that `fails` names; the others serve.
fn only<'a>(
    fails: &'a [(&str, Class)],
) -> impl FnMut(&str, &mut World, Timestamp) -> Option<(Failure, Duration)> + 'a {
    move |id, _, _| {
        fails.iter().find(|(name, _)| *name == id).map(|(_, class)| (Failure::new(*class), Duration::ZERO))
    }
}

fn b2f(settings: Settings) -> Table {
    table(settings, &[("g", 1), ("h", 1)], &[("g", &["h"])])
}

#[test]
fn e13_fallbacks_that_go_round_end_within_one_budget() {
    let table = table(retries(2), &[("a", 1), ("b", 1)], &[("a", &["b"]), ("b", &["a"])]);
    let played = play(&table, &mut World::default(), call("a"), always(Failure::new(Class::Overloaded)));
    assert_eq!(played.order(), ["a1", "a1", "a1", "b1"], "repeats are counted over the whole call");
    assert_eq!(played.end, Err(GiveUp::Exhausted));
}

#[test]
fn a_fallback_group_may_use_its_own_deployments() {
    let table = table(retries(2), &[("a", 2), ("b", 4)], &[("a", &["b"])]);
    let played = play(&table, &mut World::default(), call("a"), always(Failure::new(Class::ServerError)));
    assert_eq!(played.order.len(), 6, "{played:?}");
    assert_eq!(played.waits[3..], [0, 0, 0], "all three of b are different deployments");
    let mut b = played.order[3..].to_vec();
    b.sort();
    b.dedup();
    assert_eq!(b.len(), 3);
}

#[test]
fn e14_walking_past_dead_keys_costs_no_retry_and_no_wait() {
    for class in [Class::Auth, Class::Permission, Class::Billing, Class::ModelNotFound] {
        let table = table(retries(1), &[("g", 5)], &[]);
        let dead = ["g1", "g2", "g3", "g4"].map(|id| (id, class));
        let played = play(&table, &mut World::default(), call("g"), only(&dead));
        assert_eq!(played.end, Ok("g5".into()));
        assert!(played.order.len() <= 5 && played.waits.iter().all(|&wait| wait == 0));
        assert_eq!(
            play(&table, &mut World::default(), call("g"), always(Failure::new(class))).order.len(),
            5
        );
    }
}

#[test]
fn a_lone_dead_key_is_not_tried_again() {
    let table = table(retries(2), &[("g", 1)], &[]);
    let played = play(&table, &mut World::default(), call("g"), always(Failure::new(Class::Auth)));
    assert_eq!((played.order(), played.end.clone()), (vec!["g1"], Err(GiveUp::Exhausted)));
}

#[test]
fn the_walk_past_dead_keys_is_bounded() {
    let table = table(retries(1), &[("g", 200)], &[]);
    let played = play(&table, &mut World::default(), call("g"), always(Failure::new(Class::Auth)));
    assert_eq!(played.order.len(), 33);
}

#[test]
fn e20_naming_a_fallback_is_enough_to_rescue_the_first_call() {
    let table = b2f(Settings::default());
    let played = play(&table, &mut World::default(), call("g"), only(&[("g1", Class::Overloaded)]));
    assert_eq!(played.end, Ok("h1".into()));
}

#[test]
fn the_default_is_two_retries() {
    let table = table(Settings::default(), &[("g", 1)], &[]);
    let played = play(&table, &mut World::default(), call("g"), always(Failure::new(Class::ServerError)));
    assert_eq!(played.order.len(), 3);
}

#[test]
fn e30_each_attempt_is_on_record_with_its_own_deployment() {
    let table = table(retries(1), &[("g", 2)], &[]);
    let mut plan = CallPlan::new(call("g"), &table.resolve("g").unwrap());
    play_plan(&table, &mut World::default(), &mut plan, None, always(Failure::new(Class::ServerError)));
    let mut slots: Vec<u32> = plan.trail().iter().map(|failed| failed.attempt.slot.0).collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1]);
}

fn hangs(id: &str) -> impl FnMut(&str, &mut World, Timestamp) -> Option<(Failure, Duration)> + '_ {
    move |tried, _, _| (tried == id).then(|| (Failure::new(Class::Timeout), ms(1_000)))
}

#[test]
fn e32_a_silent_target_is_left_at_once_while_another_exists() {
    let played = play(&b2f(retries(4)), &mut World::default(), call("g"), hangs("g1"));
    assert_eq!(played.order(), ["g1", "h1"]);
    assert_eq!((played.end, played.ended), (Ok("h1".into()), at(1_000)));

    let siblings = table(retries(4), &[("g", 2)], &[]);
    let mut always_slow =
        |_: &str, _: &mut World, _: Timestamp| Some((Failure::new(Class::Timeout), ms(1_000)));
    let played = play(&siblings, &mut World::default(), call("g"), &mut always_slow);
    assert_ne!(played.order[0], played.order[1]);
    assert_eq!(played.order.len(), 5, "when all are silent the budget is still used: {played:?}");
}

#[test]
fn e32_a_lone_silent_target_is_tried_within_the_budget_and_the_deadline() {
    let lone = table(retries(4), &[("g", 1)], &[]);
    assert_eq!(play(&lone, &mut World::default(), call("g"), hangs("g1")).order.len(), 5);
    let bounded = Call { deadline: Some(at(3_000)), ..call("g") };
    let played = play(&lone, &mut World::default(), bounded, hangs("g1"));
    assert_eq!(played.order.len(), 3, "the fourth would begin at or after the deadline: {played:?}");
    assert_eq!(played.waits, [0, 0, 0], "a silence is a wait already");
    assert!(played.ended <= at(3_000));
}

#[test]
fn e10_eligibility_is_read_anew_before_each_attempt() {
    let table = table(retries(2), &[("g", 3)], &[]);
    let mut world = World::default();
    let played = play(&table, &mut world, call("g"), |id, world, _| {
        // The first failure benches everyone but g3.
        world.out(0, "cooldown", None);
        world.out(1, "cooldown", None);
        (id != "g3").then(|| (Failure::new(Class::ServerError), Duration::ZERO))
    });
    assert_eq!(played.end, Ok("g3".into()));
    assert!(played.order.len() <= 2, "{played:?}");
}

#[test]
fn d14_what_cannot_be_translated_ends_at_once() {
    let table = table(retries(2), &[("a", 2), ("b", 1)], &[("a", &["b"]), ("b", &["a"])]);
    let played = play(&table, &mut World::default(), call("a"), always(Failure::new(Class::Local)));
    assert_eq!((played.order.len(), played.end), (1, Err(GiveUp::Local)));
}

#[test]
fn a_full_local_pool_moves_on_at_once() {
    let table = b2f(retries(0));
    let full = Failure { retry_other: true, ..Failure::new(Class::Local) };
    let played = play(&table, &mut World::default(), call("g"), |id, _, _| {
        (id == "g1").then_some((full, Duration::ZERO))
    });
    assert_eq!((played.end, played.ended), (Ok("h1".into()), at(0)));
}

#[test]
fn nothing_follows_a_caller_who_left() {
    let played =
        play(&b2f(retries(2)), &mut World::default(), call("g"), always(Failure::new(Class::Cancelled)));
    assert_eq!((played.order.len(), played.end), (1, Err(GiveUp::Cancelled)));
}

#[test]
fn a_lone_deployment_is_tried_again_after_a_growing_wait() {
    let table = table(retries(7), &[("g", 1)], &[]);
    let played = play(&table, &mut World::default(), call("g"), always(Failure::new(Class::ServerError)));
    let least = [0, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000];
    assert_eq!(played.waits.len(), least.len());
    for (wait, least) in played.waits.iter().zip(least) {
        assert!((least..=least + least / 4).contains(wait), "{:?}", played.waits);
    }
}

#[test]
fn jitter_only_adds_at_most_a_quarter() {
    let table = table(retries(1), &[("g", 1)], &[]);
    let view = View { table: &table, health: &World::default(), stats: &NoStats, retries: None };
    let mut waits = Vec::new();
    for random in [0, u64::MAX] {
        let mut plan = CallPlan::new(call("g"), &table.resolve("g").unwrap());
        plan.next(at(0), 0, None, &view);
        let Step::Try(again) = plan.next(at(0), random, Some(&Failure::new(Class::ServerError)), &view)
        else {
            panic!("no retry");
        };
        waits.push(again.wait.as_millis());
    }
    assert_eq!(waits[0], 500);
    assert!((620..=625).contains(&waits[1]), "{waits:?}");
}

#[test]
fn a_stated_wait_is_kept_when_it_fits_and_never_undercut() {
    let table = table(Settings { retry_after: ms(700), ..retries(1) }, &[("g", 1)], &[]);
    let limited = |wait| Failure::new(Class::RateLimit).after(Duration::from_secs(wait));
    let played = play(&table, &mut World::default(), call("g"), always(limited(3)));
    assert!((3_000..=3_750).contains(&played.waits[1]), "{played:?}");
    let played = play(&table, &mut World::default(), call("g"), always(limited(70)));
    assert_eq!(played.order.len(), 1, "too long to sit out");
    let bounded = Call { deadline: Some(at(2_500)), ..call("g") };
    let played = play(&table, &mut World::default(), bounded, always(limited(3)));
    assert_eq!((played.order.len(), played.end), (1, Err(GiveUp::Exhausted)));
    let played = play(&table, &mut World::default(), call("g"), always(Failure::new(Class::ServerError)));
    assert!(played.waits[1] >= 700, "retry_after is the least");
}

#[test]
fn a_stated_wait_is_not_sat_out_while_a_fallback_can_serve_now() {
    let played = play(&b2f(retries(2)), &mut World::default(), call("g"), |id, _, _| {
        (id == "g1").then(|| (Failure::new(Class::RateLimit).after(ms(1_000)), Duration::ZERO))
    });
    assert_eq!((played.order(), played.ended), (vec!["g1", "h1"], at(0)));
}

#[test]
fn a_callers_mistake_is_not_retried_but_may_fall_back() {
    let lone = table(retries(2), &[("g", 2)], &[]);
    let played = play(&lone, &mut World::default(), call("g"), always(Failure::new(Class::BadRequest)));
    assert_eq!((played.order.len(), played.end), (1, Err(GiveUp::NotRetryable)));
    let played = play(&b2f(retries(2)), &mut World::default(), call("g"), only(&[("g1", Class::BadRequest)]));
    assert_eq!(played.order(), ["g1", "h1"]);
}

#[test]
fn causes_with_a_chain_of_their_own_take_it_and_others_the_general_one() {
    let mut builder = builder(retries(0), &[("g", 1), ("long", 1), ("mild", 1), ("any", 1)]);
    builder.fallbacks(Fallbacks {
        general: chains(&[("g", &["any"])]),
        context_window: chains(&[("g", &["long"])]),
        content_policy: chains(&[("g", &["mild"])]),
        default: Vec::new(),
    });
    let table = builder.build().unwrap();
    for (class, next) in
        [(Class::ContextWindow, "long1"), (Class::ContentPolicy, "mild1"), (Class::ServerError, "any1")]
    {
        let played = play(&table, &mut World::default(), call("g"), only(&[("g1", class)]));
        assert_eq!(played.order(), ["g1", next], "{class}");
    }
    let played =
        play(&b2f(retries(0)), &mut World::default(), call("g"), only(&[("g1", Class::ContextWindow)]));
    assert_eq!(played.order(), ["g1", "h1"], "without a chain of its own: the general one");
}

#[test]
fn fallbacks_of_a_fallback_come_before_its_siblings_and_are_bounded() {
    let groups = [("a", 1), ("b", 1), ("c", 1), ("d", 1)];
    let table = table(retries(0), &groups, &[("a", &["b", "c"]), ("b", &["d"])]);
    let down = always(Failure::new(Class::ServerError));
    assert_eq!(play(&table, &mut World::default(), call("a"), down).order(), ["a1", "b1", "d1", "c1"]);
    let two = Settings { max_fallbacks: 2, ..retries(0) };
    let table = crate::testing::table(two, &groups, &[("a", &["b", "c"]), ("b", &["d"])]);
    let down = always(Failure::new(Class::ServerError));
    assert_eq!(play(&table, &mut World::default(), call("a"), down).order(), ["a1", "b1", "d1"]);
}

#[test]
fn the_caller_may_name_fallbacks_refuse_them_and_set_the_retries() {
    let table = table(retries(0), &[("g", 1), ("h", 1), ("own", 1)], &[("g", &["h"])]);
    let down = || only(&[("g1", Class::ServerError)]);
    let own = Call { fallbacks: Some(vec![table.hop("own").unwrap()]), ..call("g") };
    assert_eq!(play(&table, &mut World::default(), own, down()).order(), ["g1", "own1"]);
    let none = Call { disable_fallbacks: true, ..call("g") };
    assert_eq!(play(&table, &mut World::default(), none, down()).order(), ["g1"]);
    let more = Call { disable_fallbacks: true, num_retries: Some(1), ..call("g") };
    assert_eq!(play(&table, &mut World::default(), more, down()).order(), ["g1", "g1"]);
}

#[test]
fn a_call_by_id_stays_with_its_deployment_until_it_falls_back() {
    let table = table(retries(1), &[("g", 3), ("h", 1)], &[("g", &["h"])]);
    let played = play(&table, &mut World::default(), call("g2"), only(&[("g2", Class::ServerError)]));
    assert_eq!(played.order(), ["g2", "g2", "h1"]);
}

#[test]
fn retry_policies_count_per_class_and_allow_what_is_not_retried_by_default() {
    let policy = RetryPolicy {
        bad_request: Some(1),
        authentication: Some(2),
        timeout: Some(0),
        ..RetryPolicy::default()
    };
    let own = RetryPolicy { timeout: Some(3), ..RetryPolicy::default() };
    let settings =
        Settings { retry_policy: policy, group_retry_policy: [("h".into(), own)].into(), ..retries(2) };
    let table = table(settings, &[("g", 1), ("h", 1)], &[]);
    let attempts = |model: &str, class| {
        play(&table, &mut World::default(), call(model), always(Failure::new(class))).order.len()
    };
    assert_eq!(attempts("g", Class::BadRequest), 2);
    assert_eq!(attempts("g", Class::Auth), 3);
    assert_eq!(attempts("g", Class::Timeout), 1);
    assert_eq!(attempts("g", Class::ServerError), 3, "not named: num_retries");
    assert_eq!(attempts("h", Class::Timeout), 4);
    assert_eq!(attempts("h", Class::BadRequest), 1, "a group's policy replaces the router's");
}

#[test]
fn every_field_of_a_retry_policy_has_an_effect() {
    let class = |name: &str| match name {
        "BadRequestErrorRetries" => Class::BadRequest,
        "AuthenticationErrorRetries" => Class::Auth,
        "TimeoutErrorRetries" => Class::Timeout,
        "RateLimitErrorRetries" => Class::RateLimit,
        "ContentPolicyViolationErrorRetries" => Class::ContentPolicy,
        "InternalServerErrorRetries" => Class::ServerError,
        other => panic!("{other}"),
    };
    for name in RetryPolicy::FIELDS {
        let mut retry_policy = RetryPolicy::default();
        *retry_policy.field_mut(name).unwrap() = Some(4);
        let table = table(Settings { retry_policy, ..retries(0) }, &[("g", 1)], &[]);
        let played = play(&table, &mut World::default(), call("g"), always(Failure::new(class(name))));
        assert_eq!(played.order.len(), 5, "{name}");
    }
    assert_eq!(RetryPolicy::default().field_mut("Timeout"), None);
}

#[test]
fn e02_with_the_rule_to_wait_a_call_is_served_on_the_soonest_return() {
    let table = table(retries(0), &[("g", 2)], &[]);
    let mut world = World::default();
    world.out(0, "held", Some(2_000));
    world.out(1, "billing", Some(600_000));
    let rule = GroupRule { wait: true, soonest_return: Some(at(2_000)), last_resort: LastResort::Never };
    world.rules.insert(GroupIx(0), rule);
    let view = View { table: &table, health: &world, stats: &NoStats, retries: None };
    let patient = Call { deadline: Some(at(5_000)), ..call("g") };
    let mut plan = CallPlan::new(patient, &table.resolve("g").unwrap());
    assert_eq!(plan.next(at(0), 1, None, &view), Step::Wait { until: at(2_000) });

    world.set(0, 0, 1.0);
    let view = View { table: &table, health: &world, stats: &NoStats, retries: None };
    let Step::Try(attempt) = plan.next(at(2_000), 1, None, &view) else { panic!("not served") };
    assert_eq!(attempt.slot, Slot(0));
}

#[test]
fn e02_a_wait_longer_than_the_caller_has_is_a_refusal() {
    let table = table(retries(0), &[("g", 1)], &[]);
    let mut world = World::default();
    world.out(0, "held", Some(2_000));
    let rule = GroupRule { wait: true, soonest_return: Some(at(2_000)), last_resort: LastResort::Never };
    world.rules.insert(GroupIx(0), rule);
    for deadline in [Some(at(2_000)), None] {
        let played =
            play(&table, &mut world, Call { deadline, ..call("g") }, always(Failure::new(Class::Ok)));
        assert_eq!((played.order.len(), played.end), (0, Err(GiveUp::Refused)), "{deadline:?}");
    }
}

#[test]
fn a_group_that_is_out_goes_to_its_fallback_first_and_to_its_last_resort_last() {
    let table = b2f(retries(0));
    let mut world = World::default();
    world.set(0, 2, 1.0);
    world.rule(0, LastResort::AfterFallback);
    let played = play(&table, &mut world, call("g"), only(&[]));
    assert_eq!(played.order(), ["h1"]);
    let played = play(&table, &mut world, call("g"), only(&[("h1", Class::ServerError)]));
    assert_eq!((played.order(), played.end.clone()), (vec!["h1", "g1"], Ok("g1".into())));
    world.rule(0, LastResort::Never);
    let played = play(&table, &mut world, call("g"), only(&[("h1", Class::ServerError)]));
    assert_eq!(played.order(), ["h1"]);
}

#[test]
fn with_everything_out_the_least_bad_of_the_group_asked_for_is_tried_first() {
    let table = table(retries(0), &[("g", 2), ("h", 1)], &[("g", &["h"])]);
    let mut world = World::default();
    world.set(0, 3, 1.0);
    world.set(1, 1, 1.0);
    world.set(2, 1, 1.0);
    for group in [0, 1] {
        world.rule(group, LastResort::AfterFallback);
    }
    let played = play(&table, &mut world, call("g"), always(Failure::new(Class::ServerError)));
    assert_eq!(played.order(), ["g2", "h1"]);
}

#[test]
fn an_untried_last_resort_is_tried_before_a_repeat_when_the_nets_compose() {
    let table = table(retries(1), &[("g", 2)], &[]);
    let mut world = World::default();
    world.set(1, 2, 1.0);
    world.rule(0, LastResort::AtOnce);
    let played = play(&table, &mut world, call("g"), always(Failure::new(Class::ServerError)));
    assert_eq!(played.order(), ["g1", "g2"]);
}

#[test]
fn one_that_went_out_is_not_repeated() {
    let table = table(retries(3), &[("g", 1)], &[]);
    let mut world = World::default();
    world.rule(0, LastResort::Never);
    let played = play(&table, &mut world, call("g"), |_, world, _| {
        world.set(0, 2, 0.0);
        Some((Failure::new(Class::ServerError), Duration::ZERO))
    });
    assert_eq!(played.order.len(), 1);
}

#[test]
fn a_trial_costs_no_retry_and_a_refused_lease_changes_nothing() {
    let table = table(retries(0), &[("g", 2)], &[]);
    let mut world = World::default();
    world.admissions.insert(Slot(0), crate::Admission { rank: 2, trial: true, weight: 0.0 });
    let view = View { table: &table, health: &world, stats: &NoStats, retries: None };
    let mut plan = CallPlan::new(call("g"), &table.resolve("g").unwrap());
    let Step::Try(trial) = plan.next(at(0), 1, None, &view) else { panic!("no attempt") };
    assert!(trial.trial && trial.slot == Slot(0));
    let Step::Try(next) = plan.next(at(0), 1, Some(&Failure::new(Class::ServerError)), &view) else {
        panic!("a failed trial used the budget up");
    };
    assert_eq!((next.slot, next.trial), (Slot(1), false));

    let mut plan = CallPlan::new(call("g"), &table.resolve("g").unwrap());
    plan.next(at(0), 1, None, &view);
    plan.trial_refused();
    let Step::Try(next) = plan.next(at(0), 1, None, &view) else { panic!("no attempt") };
    assert_eq!((next.slot, next.trial, plan.trail().len()), (Slot(1), false, 0));
}

/// E02: the rule `wait` holds without a deadline of the caller's too, as long as the call itself lasts.
#[test]
fn e02_a_call_waits_for_a_limit_to_pass_within_its_own_timeout() {
    let table = table(retries(1), &[("g", 1)], &[]);
    let mut world = World::default();
    world.out(0, "held", Some(2_000));
    world.rules.insert(
        GroupIx(0),
        GroupRule { last_resort: LastResort::Never, wait: true, soonest_return: Some(at(2_000)) },
    );
    let view = View { table: &table, health: &world, stats: &NoStats, retries: None };
    let first = |patience| {
        let call = Call { patience, ..call("g") };
        CallPlan::new(call, &table.resolve("g").unwrap()).next(at(0), 1, None, &view)
    };
    assert_eq!(first(Some(at(600_000))), Step::Wait { until: at(2_000) });
    assert_eq!(first(Some(at(1_000))), Step::GiveUp(GiveUp::Refused), "it would end before");
    assert_eq!(first(None), Step::GiveUp(GiveUp::Refused));
}

/// E02, E23: whoever met the limit itself waits like those after it, and one of them finds out.
#[test]
fn e02_a_call_that_met_the_limit_itself_waits_and_then_finds_out() {
    let table = table(retries(1), &[("g", 1)], &[]);
    let mut world = World::default();
    let call = Call { patience: Some(at(60_000)), ..call("g") };
    let mut plan = CallPlan::new(call, &table.resolve("g").unwrap());
    let step = |plan: &mut CallPlan<'_>, world: &World, now, last: Option<&Failure>| {
        plan.next(at(now), 1, last, &View { table: &table, health: world, stats: &NoStats, retries: None })
    };
    assert!(matches!(step(&mut plan, &world, 0, None), Step::Try(_)));
    world.out(0, "held", Some(5_000));
    let rule = GroupRule { last_resort: LastResort::Never, wait: true, soonest_return: Some(at(5_000)) };
    world.rules.insert(GroupIx(0), rule);
    let limited = Failure::new(Class::RateLimit);
    assert_eq!(step(&mut plan, &world, 0, Some(&limited)), Step::Wait { until: at(5_000) });
    world.admissions.insert(Slot(0), crate::Admission { rank: u8::MAX, trial: true, weight: 0.0 });
    let Step::Try(trial) = step(&mut plan, &world, 5_000, None) else { panic!("no attempt") };
    assert!(trial.trial);
    plan.trial_refused();
    world.admissions.insert(Slot(0), crate::Admission { rank: u8::MAX, trial: false, weight: 0.0 });
    assert!(matches!(step(&mut plan, &world, 5_000, None), Step::Wait { .. }), "another one finds out");
    world.admissions.insert(Slot(0), crate::Admission { rank: u8::MAX, trial: true, weight: 0.0 });
    assert!(
        matches!(step(&mut plan, &world, 5_500, None), Step::Try(attempt) if attempt.trial),
        "it is free again"
    );
    assert_eq!(step(&mut plan, &world, 5_600, Some(&limited)), Step::GiveUp(GiveUp::Exhausted), "one retry");
}

#[test]
fn e23_retries_are_a_share_of_the_traffic() {
    let table = table(retries(2), &[("g", 2)], &[]);
    let share = RetryShare::new(0.1, 0);
    let mut attempts = 0;
    for _ in 0..1_000 {
        let mut plan = CallPlan::new(call("g"), &table.resolve("g").unwrap());
        let down = always(Failure::new(Class::ServerError));
        let played = play_plan(&table, &mut World::default(), &mut plan, Some(&share), down);
        attempts += played.order.len();
        assert!(matches!(played.end, Err(GiveUp::RetryShare | GiveUp::Exhausted)));
    }
    // The calls, a tenth of them again, and what a quiet time had saved, which the first call cannot add to.
    assert_eq!(attempts, 1_000 + 100 + 99);
}

#[test]
fn e23_a_quiet_gateway_may_retry() {
    let share = RetryShare::new(0.0, 3);
    assert_eq!((0..10).filter(|_| share.take(at(0))).count(), 3);
    assert_eq!((0..10).filter(|_| share.take(at(1_000))).count(), 3);
}

#[test]
fn h04_the_skipped_are_named_beside_the_tried() {
    let table = table(retries(1), &[("g", 3)], &[]);
    let mut world = World::default();
    world.out(0, "cooldown", Some(12_000));
    let view = View { table: &table, health: &world, stats: &NoStats, retries: None };
    let mut plan = CallPlan::new(call("g"), &table.resolve("g").unwrap());
    let Step::Try(first) = plan.next(at(0), 0, None, &view) else { panic!("no attempt") };
    let Step::Try(second) = plan.next(at(0), 0, Some(&Failure::new(Class::ServerError)), &view) else {
        panic!("no retry");
    };
    assert_ne!(first.slot, second.slot);
    let mut texts: Vec<String> = plan
        .skipped(at(0), &view)
        .iter()
        .map(|skip| format!("{} {}", skip.id, skip.reason.text(at(0))))
        .collect();
    texts.sort();
    assert_eq!(texts, ["g1 cooldown(12s)".to_owned(), format!("{} tried", table.id(first.slot))]);
    assert_eq!(plan.trail()[0].failure.class, Class::ServerError);
}

#[test]
fn a_fallback_served_by_a_wildcard_puts_its_own_name_on_the_wire() {
    let mut builder = builder(retries(0), &[("g", 1)]);
    builder.deployment(crate::Deployment {
        pattern: Some("azure/*".into()),
        ..crate::Deployment::new(Slot(5), "wild", "openai/*")
    });
    builder.fallbacks(Fallbacks { general: chains(&[("g", &["openai/gpt-5"])]), ..Fallbacks::default() });
    let table = builder.build().unwrap();
    let mut plan = CallPlan::new(call("g"), &table.resolve("g").unwrap());
    let down = only(&[("g1", Class::ServerError)]);
    let played = play_plan(&table, &mut World::default(), &mut plan, None, down);
    assert_eq!(played.end, Ok("wild".into()));
    assert_eq!(plan.model(), "openai/gpt-5");
    assert_eq!(plan.wire_model(&table, Slot(5)).as_deref(), Some("azure/gpt-5"));
    assert_eq!(plan.fallbacks_entered(), 1);
}

fn class() -> impl Strategy<Value = Class> {
    prop::sample::select(Class::ALL.to_vec()).prop_filter("a failure", |class| *class != Class::Ok)
}

proptest! {
    /// Whatever fails how, under whatever fallback graph and health: a call ends, within its budget, and never
    /// comes back to a group it left or to a dead deployment.
    #[test]
    fn a_call_ends_within_its_budget(
        sizes in prop::collection::vec(1..4_u32, 1..5),
        edges in prop::collection::vec((0..5_usize, 0..5_usize), 0..12),
        num_retries in 0..4_u32,
        classes in prop::collection::vec(class(), 1..40),
        ranks in prop::collection::vec(prop_oneof![3 => Just(0_u8), 1 => 1..4_u8, 1 => Just(u8::MAX)], 16),
        rules in prop::collection::vec(0..3_u8, 5),
        deadline in prop::option::of(0..20_000_u64),
    ) {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let groups: Vec<(&str, u32)> = NAMES.into_iter().zip(sizes.iter().copied()).collect();
        let mut general = std::collections::BTreeMap::new();
        for (from, to) in edges {
            general.entry(std::sync::Arc::from(NAMES[from])).or_insert_with(Vec::new).push(NAMES[to].into());
        }
        let mut builder = builder(retries(num_retries), &groups);
        builder.fallbacks(Fallbacks { general, ..Fallbacks::default() });
        let table = builder.build().unwrap();
        let mut world = World::default();
        for (slot, rank) in (0..).zip(ranks) {
            world.set(slot, rank, 1.0);
        }
        for (group, rule) in (0..).zip(rules) {
            let rule = [LastResort::Never, LastResort::AfterFallback, LastResort::AtOnce][usize::from(rule)];
            world.rule(group, rule);
        }
        let start = world.clone();
        let call = Call { deadline: deadline.map(at), ..call("a") };
        let mut plan = CallPlan::new(call, &table.resolve("a").unwrap());
        let mut classes = classes.into_iter().cycle();
        let played = play_plan(&table, &mut world, &mut plan, None, |_, _, _| {
            Some((Failure::new(classes.next().unwrap()), ms(100)))
        });

        let trail = plan.trail();
        prop_assert_eq!(trail.len(), played.order.len());
        let free = trail.iter().filter(|failed| failed.failure.cost() == Cost::Free).count();
        let entered = 1 + plan.fallbacks_entered() as usize;
        prop_assert!(entered <= 6);
        prop_assert!(trail.len() <= (1 + num_retries as usize) * entered + free, "{:?}", played);
        let repeats = trail.iter().enumerate().filter(|(at, failed)| {
            trail[..*at].iter().any(|before| before.attempt.slot == failed.attempt.slot)
        });
        prop_assert!(repeats.count() <= num_retries as usize);
        for pair in trail.windows(2) {
            let left = pair[0].attempt.group;
            let at = trail.iter().rposition(|failed| failed.attempt.group == left).unwrap();
            let from = trail.iter().position(|failed| failed.attempt.group == left).unwrap();
            prop_assert!(trail[from..=at].iter().all(|failed| failed.attempt.group == left), "left and re-entered");
        }
        for (n, failed) in trail.iter().enumerate() {
            let rank = start.admissions[&failed.attempt.slot].rank;
            prop_assert_ne!(rank, u8::MAX);
            let dead = failed.failure.cost() == Cost::Free;
            let again = trail[n + 1..].iter().any(|later| later.attempt.slot == failed.attempt.slot);
            prop_assert!(!(dead && again), "a dead target was tried again");
        }
        if let Some(deadline) = deadline {
            prop_assert!(played.ended <= at(deadline + 100));
        }
    }
}
