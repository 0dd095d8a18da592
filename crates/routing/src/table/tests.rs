use std::sync::Arc;

use haleway_health::Slot;
use proptest::prelude::*;

use super::*;
use crate::testing::{builder, chains, table as simple};
use crate::{Alias, Deployment, Fallbacks, Settings};

fn alias(name: &str, target: &str) -> Alias {
    Alias { name: name.into(), target: target.into(), hidden: false }
}

fn wild(slot: u32, group: &str, model: &str) -> Deployment {
    Deployment { pattern: Some(model.into()), ..Deployment::new(Slot(slot), &format!("w{slot}"), group) }
}

fn wildcards(patterns: &[(&str, &str)]) -> Table {
    let mut builder = TableBuilder::new(Settings::default());
    for (slot, (group, model)) in (0..).zip(patterns) {
        builder.deployment(wild(slot, group, model));
    }
    builder.build().unwrap()
}

#[test]
fn a_name_is_an_alias_then_a_group_then_an_id_then_a_wildcard() {
    let mut builder = builder(Settings::default(), &[("gpt", 2), ("claude", 1)]);
    builder.deployment(wild(9, "*", "*"));
    builder.alias(alias("fast", "gpt")).alias(alias("claude", "gpt")).alias(alias("gpt1", "claude"));
    let table = builder.build().unwrap();

    let of = |name: &str| {
        let found = table.resolve(name).unwrap();
        (table.group_name(found.group).to_owned(), found.only, found.via)
    };
    assert_eq!(of("gpt"), ("gpt".into(), None, Via::Name));
    assert_eq!(of("fast"), ("gpt".into(), None, Via::Alias));
    assert_eq!(of("claude"), ("gpt".into(), None, Via::Alias), "an alias sends a group's traffic elsewhere");
    assert_eq!(of("gpt1"), ("claude".into(), None, Via::Alias), "an alias outranks an id");
    assert_eq!(of("gpt2"), ("gpt".into(), Some(Slot(1)), Via::Id));
    assert_eq!(of("anything"), ("*".into(), None, Via::Wildcard));
}

#[test]
fn without_a_catch_all_an_unknown_name_is_an_error_that_names_it() {
    let table = simple(Settings::default(), &[("gpt", 1)], &[]);
    assert_eq!(table.resolve("nope").unwrap_err(), NoSuchModel("nope".into()));
}

#[test]
fn the_most_specific_wildcard_wins_and_hands_its_part_on() {
    let table = wildcards(&[
        ("*", "*"),
        ("openai/*", "azure/*"),
        ("openai/gpt-4*", "openai/gpt-4*"),
        ("x/*", "fixed"),
    ]);
    let wire = |model: &str| {
        let found = table.resolve(model).unwrap();
        let slot = table.slots(found.group).next().unwrap();
        (slot.0, table.wire_model(slot, &found.captures))
    };
    assert_eq!(wire("openai/gpt-4o"), (2, Some("openai/gpt-4o".into())));
    assert_eq!(wire("openai/o3"), (1, Some("azure/o3".into())));
    assert_eq!(wire("mistral/large"), (0, Some("mistral/large".into())));
    assert_eq!(wire("x/y"), (3, None), "a fixed model stays as it is");
    assert_eq!(table.resolve("openai/o3").unwrap().captures.first(), Some("o3"));
}

#[test]
fn an_alias_may_stand_for_what_a_wildcard_serves() {
    let mut builder = TableBuilder::new(Settings::default());
    builder.deployment(wild(0, "openai/*", "openai/*")).alias(alias("best", "openai/gpt-5"));
    let table = builder.build().unwrap();
    let found = table.resolve("best").unwrap();
    assert_eq!(found.via, Via::Alias);
    assert_eq!(table.wire_model(Slot(0), &found.captures), Some("openai/gpt-5".into()));
}

#[test]
fn several_wildcards_are_handed_on_in_order_and_too_few_places_take_the_whole_name() {
    let table = wildcards(&[("a/*/b/*", "p/*/q/*"), ("c/*/d/*", "r/*")]);
    let found = table.resolve("a/1/b/2/b/3").unwrap();
    assert_eq!(
        table.wire_model(Slot(0), &found.captures),
        Some("p/1/b/2/q/3".into()),
        "the first takes the most"
    );
    let found = table.resolve("c/1/d/2").unwrap();
    assert_eq!(table.wire_model(Slot(1), &found.captures), Some("c/1/d/2".into()));
}

#[test]
fn what_makes_a_table_ambiguous_is_refused() {
    let mut ids = builder(Settings::default(), &[("a", 1)]);
    ids.deployment(Deployment::new(Slot(7), "a1", "b"));
    assert_eq!(ids.build().unwrap_err(), BuildError::DuplicateId("a1".into()));
    let mut slots = builder(Settings::default(), &[("a", 1)]);
    slots.deployment(Deployment::new(Slot(0), "other", "b"));
    assert_eq!(slots.build().unwrap_err(), BuildError::DuplicateSlot(0));
    let mut stars = TableBuilder::new(Settings::default());
    stars.deployment(wild(0, "*-*-*-*-*", "x"));
    assert_eq!(stars.build().unwrap_err(), BuildError::TooManyWildcards("*-*-*-*-*".into()));
}

#[test]
fn chains_are_found_by_the_name_asked_for_then_the_group_then_the_star() {
    let mut builder = builder(Settings::default(), &[("a", 1), ("b", 1), ("c", 1), ("d", 1)]);
    builder.alias(alias("nick", "a")).fallbacks(Fallbacks {
        general: chains(&[("a", &["b", "gone"]), ("nick", &["c"])]),
        context_window: chains(&[("a", &["d1"])]),
        default: vec!["d".into()],
        ..Fallbacks::default()
    });
    let table = builder.build().unwrap();
    let names = |kind, model: &str, group: u32| -> Vec<String> {
        table.fallbacks(kind, model, GroupIx(group)).iter().map(|hop| hop.model.to_string()).collect()
    };
    assert_eq!(names(FallbackKind::General, "a", 0), ["b"]);
    assert_eq!(names(FallbackKind::General, "nick", 0), ["c"]);
    assert_eq!(names(FallbackKind::General, "a1", 0), ["b"], "by id: the group's");
    assert_eq!(names(FallbackKind::General, "b", 1), ["d"], "default_fallbacks");
    assert_eq!(names(FallbackKind::ContentPolicy, "a", 0), [""; 0]);
    assert_eq!(table.fallbacks(FallbackKind::ContextWindow, "a", GroupIx(0))[0].only, Some(Slot(3)));
    assert_eq!(table.unresolved(), [Unresolved { from: "a".into(), to: "gone".into() }]);
    assert!(table.has_fallback(GroupIx(1)));
    assert!(!table.has_fallback(GroupIx(3)), "falling back on itself is nowhere else to go");
}

#[test]
fn groups_know_their_deployments_and_back() {
    let table = simple(Settings::default(), &[("a", 2), ("b", 3)], &[]);
    assert_eq!(table.slots(GroupIx(1)).collect::<Vec<_>>(), [Slot(2), Slot(3), Slot(4)]);
    assert_eq!(table.group_of(Slot(1)), Some(GroupIx(0)));
    assert_eq!(table.group_of(Slot(4)), Some(GroupIx(1)));
    assert_eq!(table.group_of(Slot(5)), None);
    assert_eq!((table.id(Slot(2)), table.id(Slot(9))), ("b1", ""));
    assert_eq!(table.slots(GroupIx(9)).len(), 0);
}

#[test]
fn e13_cycles_are_found_once_each() {
    let found = |input: &[(&str, &[&str])]| -> Vec<String> {
        fallback_cycles(&chains(input)).iter().map(|cycle| cycle.join(">")).collect()
    };
    assert_eq!(found(&[("a", &["b"]), ("b", &["a"])]), ["a>b"]);
    assert_eq!(found(&[("a", &["a"])]), ["a"]);
    assert_eq!(found(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &["d"])]), [""; 0]);
    assert_eq!(found(&[("a", &["b"]), ("b", &["c"]), ("c", &["b"]), ("x", &["c"])]), ["b>c"]);
}

proptest! {
    /// What a pattern takes of a name, put back into the pattern, is the name.
    #[test]
    fn captures_put_back_into_their_pattern_give_the_name(
        pieces in prop::collection::vec("[ab/]{0,3}", 2..=5), fills in prop::collection::vec("[ab/é]{0,4}", 4),
    ) {
        let text: Arc<str> = pieces.join("*").into();
        let mut name = pieces[0].clone();
        for (fill, piece) in fills.iter().zip(&pieces[1..]) {
            name.push_str(fill);
            name.push_str(piece);
        }
        let pattern = Pattern::new(&text).unwrap();
        let captures = pattern.captures(&name);
        prop_assert!(captures.is_some(), "{text} must match {name}");
        prop_assert_eq!(captures.unwrap().substitute(&text), Some(name));
    }

    /// Resolving any name of anything never panics, and only ever finds a group that exists.
    #[test]
    fn any_name_resolves_to_something_that_exists(name in ".{0,12}") {
        let table = wildcards(&[("a*", "x*"), ("*b", "y*"), ("a*c*", "z*")]);
        if let Ok(found) = table.resolve(&name) {
            prop_assert!(table.slots(found.group).len() > 0);
        }
    }
}
