//! Models that are stored elsewhere: read as entries of `model_list`, and blamed by name.

use std::path::Path;

use haleway_config::{Loaded, Options, Origin, Severity, StoredModel, explain, load_with, render};
use serde_json::{Value, json};

use crate::table::{Table, two};

const ON: &str = "general_settings: {store_model_in_db: true}\nhaleway: {store: {url: 'sqlite:x.db'}}\n";

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn stored(id: &str, name: &str, params: Value, info: Value) -> StoredModel {
    let map = |value: Value| value.as_object().unwrap().clone();
    StoredModel { id: id.to_owned(), name: name.to_owned(), params: map(params), info: map(info) }
}

fn load(table: &Table, models: &[StoredModel]) -> Loaded {
    load_with(Path::new("config.yaml"), table, &Options::default(), models)
}

#[test]
fn stored_models_stand_behind_those_of_the_file_with_every_value_as_json_says_it() {
    let params = json!({
        "model": "openai/b", "api_key": "os.environ/KEY", "rpm": 60, "weight": 0.5, "api_version": "2024-02-01",
        "input_cost_per_token": 1e-6, "tags": ["yes"], "timeout": null,
    });
    let model = stored("m1", "h", params, json!({"id": "other", "db_model": true, "mode": "chat"}));
    let loaded = load(&two(ON).var("KEY", "sk-of-env"), &[model]);
    let config = loaded.config.unwrap_or_else(|| panic!("{}", render(&loaded.diagnostics, false)));
    let ids: Vec<_> = config.models.iter().map(|model| (&*model.id, model.stored)).collect();
    assert_eq!(ids, [("d1", false), ("d2", false), ("m1", true)]);
    let added = &config.models[2];
    assert_eq!((&*added.name, added.params.rpm, added.params.weight), ("h", Some(60), Some(0.5)));
    assert_eq!(added.params.api_version.as_deref(), Some("2024-02-01"));
    assert_eq!(added.params.tags, ["yes".into()], "a text, whatever YAML makes of it");
    let price = added.prices.known().next().map(|(kind, price)| (kind.key(), price.to_string()));
    assert_eq!(price.as_ref().map(|(key, _)| *key), Some("input_cost_per_token"));
    let secret = secrecy::ExposeSecret::expose_secret(added.params.api_key.as_ref().unwrap()).to_owned();
    assert_eq!(secret, "sk-of-env");
    let row = explain(&config).into_iter().find(|row| row.key == "input_cost_per_token").unwrap();
    assert!(matches!(row.origin, Origin::Stored { .. }));
    assert_eq!(row.origin.to_string(), "stored model m1");
}

#[test]
fn a_finding_names_the_stored_model_and_its_line_and_shows_no_secret() {
    let params = json!({"model": "nonsense/x", "api_key": "sk-canary", "rpm": "sk-canary"});
    let model = stored("m1", "h", params, json!({}));
    let loaded = load(&two(ON), std::slice::from_ref(&model));
    assert!(loaded.config.is_none());
    let errors: Vec<_> =
        loaded.diagnostics.iter().filter(|finding| finding.severity == Severity::Error).collect();
    assert!(errors.iter().any(|error| error.code == "unknown-provider"), "{errors:?}");
    assert!(errors.iter().all(|error| error.file == model.place() && error.line > 1 && error.column > 1));
    let shown = render(&loaded.diagnostics, false);
    assert!(!shown.lines().any(|line| line.contains("api_key") && line.contains("sk-canary")), "{shown}");
    assert!(!format!("{model:?}").contains("sk-canary"));
}

#[test]
fn an_id_of_the_file_is_taken_and_the_stored_model_is_to_blame() {
    let model = stored("d1", "h", json!({"model": "openai/b", "api_key": "k"}), json!({}));
    let loaded = load(&two(ON), std::slice::from_ref(&model));
    let error = loaded.diagnostics.iter().find(|finding| finding.code == "duplicate-id").unwrap();
    assert_eq!(error.file, model.place());
}

#[test]
fn nothing_is_read_from_the_database_unless_the_file_or_the_environment_says_so() {
    let model = || stored("m1", "h", json!({"model": "openai/b", "api_key": "k"}), json!({}));
    let count = |table: &Table| load(table, &[model()]).config.map(|config| config.models.len());
    let store = "haleway: {store: {url: 'sqlite:x.db'}}\n";
    assert_eq!(count(&two(store)), Some(2));
    assert_eq!(count(&two(store).var("STORE_MODEL_IN_DB", "True")), Some(3));
    let by_reference = two(&format!("general_settings: {{store_model_in_db: os.environ/S}}\n{store}"));
    assert_eq!(count(&by_reference.var("S", "true")), Some(3));
    let empty = Table::text(ON).var("LITELLM_MASTER_KEY", "k");
    assert_eq!(count(&empty), Some(1), "a file may have no model of its own");
    assert_eq!(empty.load().count(Severity::Warning), 0);
}

#[test]
fn what_is_stored_decides_no_profile_for_the_others() {
    let params = json!({"model": "openai/b", "api_key": "k", "cooldown_time": 7});
    let config = load(&two(ON), &[stored("m1", "h", params, json!({}))]).config.unwrap();
    assert_eq!(config.haleway.profile.name(), "resilient");
}

#[test]
fn storing_models_without_a_database_is_said() {
    let finding = two("general_settings: {store_model_in_db: true}\n").only();
    assert_eq!((finding.code, finding.severity), ("models-without-database", Severity::Warning));
    assert_eq!(two("").var("STORE_MODEL_IN_DB", "true").found("models-without-database").len(), 1);
    assert_eq!(two(ON).found("models-without-database"), []);
    // A group that nobody serves yet may be stored later.
    let later = two(&format!("router_settings: {{fallbacks: [{{g: [later]}}]}}\n{ON}"));
    assert_eq!(later.found("unknown-group")[0].severity, Severity::Note);
}
