//! What an operator sees.

use super::*;

#[test]
fn h02_every_deployment_is_known_from_the_moment_it_is_configured() {
    let mut world = World::of(2, PanicParams::resilient());
    let details: Vec<_> = world
        .registry
        .slots()
        .iter()
        .map(|&slot| world.registry.detail(slot, at(world.now)).unwrap())
        .collect();
    assert_eq!(
        details.iter().map(|detail| detail.state.as_str()).collect::<Vec<_>>(),
        ["UNKNOWN", "UNKNOWN"]
    );
    assert!(world.registry.events(0).events.is_empty());
    world.probe("d1", Class::Ok);
    assert_eq!(world.moves("d1"), [(State::Unknown, State::Healthy)]);
    assert!(world.moves("d2").is_empty());
}

#[test]
fn h06_the_sequence_of_states_is_complete_and_in_order() {
    let mut world = World::of(2, PanicParams::resilient());
    world.traffic("d1", Class::Ok);
    world.kill("d1");
    world.pass(31 * S);
    let lease = world.registry.claim_trial(at(world.now), Slot(0), 1).unwrap();
    let mut passed = world.outcome("d1", Class::Ok, Source::Trial);
    passed.trial = Some(lease.id);
    world.report("d1", &passed);
    let detail = world.registry.detail(Slot(0), at(world.now)).unwrap();
    let steps: Vec<_> =
        detail.transitions.iter().map(|line| (line.from.as_str(), line.to.as_str())).collect();
    assert_eq!(
        steps,
        [
            ("UNKNOWN", "HEALTHY"),
            ("HEALTHY", "SUSPECT"),
            ("SUSPECT", "ISOLATED"),
            ("ISOLATED", "TRIAL"),
            ("TRIAL", "RAMPING"),
        ]
    );
    assert!(detail.transitions.is_sorted_by_key(|line| line.at.clone()));
    let told: Vec<_> = world.moves("d1").into_iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    assert_eq!(told, steps, "events and history agree");
}

#[test]
fn the_detail_has_the_documented_fields() {
    let mut world = World::new(vec![probed("d1", 60)], group(PanicParams::resilient()));
    world.traffic("d1", Class::ServerError);
    world.pass(2 * S);
    let detail = world.registry.detail(Slot(0), at(world.now)).unwrap();
    let json = serde_json::to_value(&detail).unwrap();
    let mut keys: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "age_seconds",
            "cause",
            "evidence",
            "explanation",
            "id",
            "mode",
            "model_group",
            "next_probe_at",
            "observer",
            "scope",
            "sent_at",
            "since",
            "source",
            "state",
            "transitions",
            "until",
            "weight",
        ]
    );
    assert_eq!(json["state"], "SUSPECT");
    assert_eq!(json["age_seconds"], 2.0);
    assert_eq!(json["sent_at"], "1970-01-01T00:16:40Z");
    assert_eq!(json["until"], serde_json::Value::Null);
    assert!(json["explanation"].as_str().unwrap().len() > 10);
}
