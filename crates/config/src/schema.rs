//! The JSON Schema of a configuration file, for editors: made from the tables that the checks read, so that both know the same
//! keys. It says less than the checks do: what depends on another value is theirs.

use serde_json::{Map, Value, json};

use crate::keys::{Section, Support};
use crate::lower::calls::{RESUMPTIONS_MAX, TRACE};
use crate::lower::health::fields::{ALL_OUT, DEPTHS, KEYS, PANIC_MODES, POLICIES, Reach, Slot};

/// The schema, JSON Schema 2020-12.
pub fn schema() -> Value {
    let entry = object(
        [
            ("model_name", json!({"type": "string"})),
            ("litellm_params", section(Section::Params, &[])),
            ("model_info", section(Section::Info, &[("haleway", health(Reach::Deployment))])),
        ],
        true,
    );
    let own = [
        ("model_list", json!({"type": "array", "items": entry})),
        ("router_settings", section(Section::Router, &[])),
        ("litellm_settings", section(Section::Litellm, &[])),
        ("general_settings", section(Section::General, &[])),
        ("environment_variables", json!({"type": "object"})),
        ("include", json!({"type": "array", "items": {"type": "string"}})),
        ("haleway", haleway()),
    ];
    let mut schema = section(Section::Top, &own);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        schema.insert("title".to_owned(), "Haleway, and the LiteLLM proxy".into());
    }
    schema
}

/// A section of LiteLLM's; what `own` does not describe may have any value.
fn section(section: Section, own: &[(&'static str, Value)]) -> Value {
    let described = |name: &str| own.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let properties = section.keys().map(|key| {
        let value = described(key.name).unwrap_or_else(|| match key.support {
            Support::Works => json!({}),
            Support::Inert(why) => json!({"deprecated": true, "description": format!("No effect: {why}.")}),
        });
        (key.name, value)
    });
    object(properties, matches!(section, Section::Params | Section::Info))
}

/// An object of these properties, which may be empty, or null as YAML leaves it.
fn object<'n>(properties: impl IntoIterator<Item = (&'n str, Value)>, takes_others: bool) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({"type": ["object", "null"], "properties": properties, "additionalProperties": takes_others})
}

fn haleway() -> Value {
    let text = || json!({"type": "string"});
    let one_of = |words: &[&str]| json!({"enum": words});
    let groups = json!({"type": "object", "additionalProperties": health(Reach::Group)});
    let fleet = [
        ("namespace", text()),
        ("role", one_of(&["all", "gateway", "prober"])),
        ("litellm_keys", one_of(&["publish", "join", "off"])),
        ("full_sync", time()),
        ("snapshot", text()),
        ("owner_index", count(0, u32::MAX)),
        ("owner_count", count(1, u32::MAX)),
    ];
    let share = or_variable(json!({"type": "number", "minimum": 0, "maximum": 1}));
    let retry = [("share", share), ("reserve", count(0, u32::MAX))];
    let stream = [
        ("resume", or_variable(json!({"type": "boolean"}))),
        ("resumptions", count(1, RESUMPTIONS_MAX.into())),
    ];
    let store = [("url", text()), ("retention", time()), ("max_rows", count(1, u32::MAX))];
    object(
        [
            ("profile", one_of(&["litellm", "resilient"])),
            ("health", health(Reach::Global)),
            ("groups", groups),
            ("catalogue", text()),
            ("strict", or_variable(json!({"type": "boolean"}))),
            ("admin_listen", json!({"type": ["string", "integer"]})),
            ("errors", object([("all_out_status", count(400, 599))], false)),
            ("retry", object(retry, false)),
            ("stream", object(stream, false)),
            ("trace", words(TRACE)),
            ("fleet", object(fleet, false)),
            ("store", object(store, false)),
            ("events", json!({"deprecated": true, "description": "No effect in this version."})),
        ],
        false,
    )
}

/// The health keys that may stand in a place. In the place of a group or a deployment they may also stand under `health`.
fn health(place: Reach) -> Value {
    let mut properties = Map::new();
    for key in KEYS.iter().filter(|key| key.reach >= place) {
        let value = value_of(key.slot);
        match key.name.split_once('.') {
            None => drop(properties.insert(key.name.to_owned(), value)),
            Some((first, rest)) => {
                let inner = properties.entry(first).or_insert_with(|| object([], false));
                if let Some(inner) = inner.pointer_mut("/properties").and_then(Value::as_object_mut) {
                    inner.insert(rest.to_owned(), value);
                }
            }
        }
    }
    if place == Reach::Deployment
        && let Some(probe) = properties.get_mut("probe").and_then(|probe| probe.pointer_mut("/properties"))
        && let Some(probe) = probe.as_object_mut()
    {
        probe.insert("http".to_owned(), json!({"type": "object"}));
    }
    if place != Reach::Global {
        let same = json!({"type": "object", "properties": properties.clone(), "additionalProperties": false});
        properties.insert("health".to_owned(), same);
    }
    json!({"type": ["object", "null"], "properties": properties, "additionalProperties": false})
}

fn value_of(slot: Slot) -> Value {
    match slot {
        Slot::Time(..) | Slot::OptionalTime(_) => time(),
        Slot::Count(_, least, most) => count(least, most),
        Slot::OptionalCount(_) => count(0, u32::MAX),
        Slot::Small(_, least, most) => count(u32::from(least), u32::from(most)),
        Slot::Real(_, least, most) => {
            or_variable(json!({"type": "number", "minimum": f64::from(least), "maximum": f64::from(most)}))
        }
        Slot::OptionalReal(_) => or_variable(json!({"type": "number", "minimum": 0, "maximum": 1})),
        Slot::OptionalUsd(_) => or_variable(json!({"type": "number", "minimum": 0})),
        Slot::Flag(_) => or_variable(json!({"type": "boolean"})),
        Slot::Policy(_) => words(POLICIES),
        Slot::Depth(_) => words(DEPTHS),
        // `off` is a boolean in YAML 1.1.
        Slot::Panic(_) => json!({"anyOf": [words(PANIC_MODES), {"const": false}]}),
        Slot::AllOut(_) => words(ALL_OUT),
        Slot::Statuses(_) => {
            json!({"type": "array", "items": {"type": "integer", "minimum": 400, "maximum": 599}})
        }
    }
}

/// One of these names.
fn words<T>(names: &[(&str, T)]) -> Value {
    json!({"enum": names.iter().map(|(name, _)| *name).collect::<Vec<_>>()})
}

/// `30s`, `1m30s`, or a number of seconds.
fn time() -> Value {
    json!({"type": ["string", "number"]})
}

fn count(least: u32, most: u32) -> Value {
    or_variable(json!({"type": "integer", "minimum": least, "maximum": most}))
}

/// Any value may be read from a variable.
fn or_variable(value: Value) -> Value {
    json!({"anyOf": [value, {"type": "string", "pattern": "^os\\.environ/"}]})
}
