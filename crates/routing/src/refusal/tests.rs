use haleway_health::Slot;

use super::*;
use crate::testing::{World, at, table as simple};
use crate::{
    Admission, Call, CallPlan, Deployment, Facts, GiveUp, GroupIx, GroupRule, LastResort, NoStats, Settings,
    Stats, StatsTable, Step, Table, TableBuilder, View,
};

fn refused(table: &Table, world: &World, stats: &impl Stats, facts: Facts<'_>) -> Refusal {
    let view = View { table, health: world, stats, retries: None };
    let call = Call { model: "g", facts, ..Call::default() };
    let mut plan = CallPlan::new(call, &table.resolve("g").unwrap());
    assert_eq!(plan.next(at(1_000), 0, None, &view), Step::GiveUp(GiveUp::Refused));
    plan.refusal(at(1_000), &view)
}

fn one(settings: Settings, option: fn(&mut Deployment)) -> Table {
    let mut deployment = Deployment::new(Slot(0), "d1", "g");
    option(&mut deployment);
    let mut builder = TableBuilder::new(settings);
    builder.deployment(deployment);
    builder.build().unwrap()
}

#[test]
fn h03_four_situations_have_four_codes_and_only_the_first_two_a_time() {
    let limited = Settings { enforce_limits: true, ..Settings::default() };
    let stats = StatsTable::new(1);
    drop(stats.begin(Slot(0), at(1_000)));
    let limit = refused(&one(limited, |d| d.rpm = Some(1)), &World::default(), &stats, Facts::default());

    let mut world = World::default();
    world.out(0, "cooldown", Some(9_500));
    world.out(1, "billing", Some(600_000));
    let out = refused(&simple(Settings::default(), &[("g", 2)], &[]), &world, &NoStats, Facts::default());

    let tagged = Settings { tag_filtering: true, ..Settings::default() };
    let tags = Facts { tags: &["free"], input_tokens: None };
    let forbidden =
        refused(&one(tagged, |d| d.tags = vec!["paid".into()]), &World::default(), &NoStats, tags);

    let codes = [&limit, &out, &forbidden].map(|refusal| refusal.kind.code());
    assert_eq!(codes, ["gateway_limit", "all_deployments_out", "no_deployments_allowed"]);
    assert_eq!(limit.retry_after_seconds(at(1_000)), Some(59));
    assert_eq!(out.retry_after_seconds(at(1_000)), Some(9), "the soonest, rounded up");
    assert_eq!(forbidden.retry_after_seconds(at(1_000)), None);
    let reasons: Vec<_> = out.skipped.iter().map(|skip| (skip.id.as_ref(), skip.reason.code())).collect();
    assert_eq!(reasons, [("g1", "cooldown"), ("g2", "billing")]);

    let none = Refusal::of("g".into(), Vec::new(), Some(at(5_000)), at(1_000));
    assert_eq!((none.kind.code(), none.soonest), ("no_deployments_configured", None));
    assert!(limit.kind.passes() && out.kind.passes() && !forbidden.kind.passes() && !none.kind.passes());
}

#[test]
fn d13_the_gateways_own_limit_is_never_called_an_outage() {
    let limited = Settings { enforce_limits: true, ..Settings::default() };
    let table = {
        let mut builder = crate::testing::builder(limited, &[("g", 1)]);
        builder.deployment(Deployment { rpm: Some(1), ..Deployment::new(Slot(1), "limited", "g") });
        builder.build().unwrap()
    };
    let stats = StatsTable::new(2);
    drop(stats.begin(Slot(1), at(1_000)));
    let mut world = World::default();
    world.out(0, "cooldown", Some(2_000));
    let refusal = refused(&table, &world, &stats, Facts::default());
    assert_eq!(refusal.kind, RefusalKind::GatewayLimit);
    assert_eq!(refusal.soonest, Some(at(60_000)));
}

#[test]
fn a_prompt_that_fits_nobody_is_the_callers_error() {
    let checked = Settings { pre_call_checks: true, ..Settings::default() };
    let facts = Facts { input_tokens: Some(9_000), ..Facts::default() };
    let refusal =
        refused(&one(checked, |d| d.max_input_tokens = Some(8_000)), &World::default(), &NoStats, facts);
    assert_eq!(refusal.kind, RefusalKind::PromptTooLong);
    assert_eq!(refusal.retry_after_seconds(at(1_000)), None);
}

#[test]
fn health_knows_the_soonest_return_better_and_an_open_end_names_no_time() {
    let table = simple(Settings::default(), &[("g", 1)], &[]);
    let mut world = World::default();
    world.out(0, "operator", None);
    assert_eq!(refused(&table, &world, &NoStats, Facts::default()).soonest, None);
    world.out(0, "cooldown", Some(u64::MAX));
    assert_eq!(refused(&table, &world, &NoStats, Facts::default()).soonest, None);
    let rule = GroupRule { soonest_return: Some(at(1_200)), ..GroupRule::CALM };
    world.rules.insert(GroupIx(0), rule);
    let refusal = refused(&table, &world, &NoStats, Facts::default());
    assert_eq!(refusal.retry_after_seconds(at(1_000)), Some(1));
    assert_eq!(refusal.retry_after_seconds(at(5_000)), Some(1), "never zero");
}

#[test]
fn a_group_that_never_uses_a_last_resort_is_refused_as_out() {
    let table = simple(Settings::default(), &[("g", 1)], &[]);
    let mut world = World::default();
    world.admissions.insert(Slot(0), Admission { rank: 2, trial: false, weight: 1.0 });
    world.rule(0, LastResort::Never);
    assert_eq!(refused(&table, &world, &NoStats, Facts::default()).kind, RefusalKind::AllOut);
}
