//! `os.environ/`, `environment_variables` and `include`.

use haleway_config::Severity;
use secrecy::ExposeSecret;
use std::path::Path;

use crate::table::{Table, one, two};

const MODEL: &str =
    "model_list:\n- model_name: g\n  litellm_params:\n    model: openai/a\n    api_key: os.environ/KEY\n";

#[test]
fn a_missing_variable_is_an_error_with_name_and_place() {
    let loaded = Table::text(MODEL).var("LITELLM_MASTER_KEY", "k").load();
    assert!(loaded.config.is_none());
    let finding = loaded.diagnostics.iter().find(|finding| finding.code == "missing-env").unwrap();
    assert_eq!((finding.severity, finding.line, finding.column), (Severity::Error, 5, 14));
    assert!(finding.message.contains("KEY"));
    assert_eq!(finding.file, "config.yaml");
}

#[test]
fn the_process_environment_comes_before_environment_variables() {
    let text = format!("{MODEL}environment_variables: {{KEY: from-file, OTHER: os.environ/KEY2}}\n");
    let key = |table: Table| {
        let config = table.var("LITELLM_MASTER_KEY", "k").var("KEY2", "two").config();
        let params = config.models[0].params.clone();
        (params.api_key.unwrap().expose_secret().to_owned(), config)
    };
    let (from_file, config) = key(Table::text(&text));
    assert_eq!(from_file, "from-file");
    let table = Table::default();
    assert_eq!(config.var(&table, "OTHER").as_deref(), Some("two"));
    assert_eq!(config.var(&table.var("OTHER", "own"), "OTHER").as_deref(), Some("own"));
    assert_eq!(key(Table::text(&text).var("KEY", "from-process")).0, "from-process");
}

#[test]
fn references_are_resolved_at_any_depth_of_mappings() {
    let config = one(
        "extra_headers: {X-A: os.environ/H}, extra_body: {a: {b: os.environ/H}, l: [{c: os.environ/H}]}",
        "",
    )
    .var("H", "v")
    .config();
    let params = &config.models[0].params;
    assert_eq!(params.extra_headers, [("X-A".to_owned(), "v".to_owned())]);
    assert_eq!(
        serde_json::to_value(&params.extra_body).unwrap(),
        serde_json::json!({"a": {"b": "v"}, "l": [{"c": "v"}]})
    );
}

#[test]
fn a_bare_list_item_is_left_alone_and_reported() {
    let table = one("tags: [os.environ/T]", "").var("T", "x");
    assert_eq!(table.found("reference-in-list").len(), 1);
    assert_eq!(&*table.config().models[0].params.tags[0], "os.environ/T");
}

#[test]
fn a_missing_variable_below_a_key_without_effect_does_not_stop_the_start() {
    let table = two("router_settings: {cache_kwargs: {type: redis, host: os.environ/NOPE}}\n");
    let found = table.found("missing-env");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
    assert!(table.load().config.is_some());
}

#[test]
fn an_interval_from_the_environment_is_a_string_and_accepted() {
    let table = two(
        "general_settings: {background_health_checks: os.environ/ON, health_check_interval: os.environ/I}\n",
    )
    .var("ON", "True")
    .var("I", "30");
    assert_eq!(table.only().code, "loose-type");
    assert_eq!(table.config().models[0].probe.unwrap().interval.as_secs(), 30);
    assert!(table.config().general.background_health_checks);
}

#[test]
fn the_value_of_a_variable_is_never_shown() {
    let table = two("router_settings: {cooldown_time: os.environ/SECRET}\n").var("SECRET", "hunter2");
    let finding = table.only();
    assert!(
        finding.message.contains("SECRET") && !finding.message.contains("hunter2"),
        "{}",
        finding.message
    );
}

#[test]
fn included_lists_are_joined_and_sections_replaced_whole() {
    let table = Table::text(
        "include: [sub/more.yaml]\nmodel_list:\n- {model_name: a, litellm_params: {model: openai/a, api_key: k}}\n\
         general_settings: {master_key: k, health_check_interval: 30}\n",
    )
    .file(
        "sub/more.yaml",
        "include: [nested.yaml, ../config.yaml]\nmodel_list:\n- {model_name: b, litellm_params: {model: openai/b, api_key: k}}\n\
         general_settings: {background_health_checks: true}\n",
    )
    .file("sub/nested.yaml", "model_list:\n- {model_name: c, litellm_params: {model: openai/c, api_key: k}}\n")
    .var("LITELLM_MASTER_KEY", "k");
    let loaded = table.load();
    let names: Vec<&str> = loaded.config.as_ref().unwrap().groups();
    assert_eq!(names, ["a", "b", "c"]);
    let replaced: Vec<_> =
        loaded.diagnostics.iter().filter(|finding| finding.code == "include-replaces").collect();
    assert_eq!(replaced.len(), 1);
    assert_eq!((Path::new(&replaced[0].file), replaced[0].line), (Path::new("sub/more.yaml"), 4));
    assert!(
        replaced[0].message.contains("lost: master_key, health_check_interval"),
        "{}",
        replaced[0].message
    );
    assert!(replaced[0].message.contains("config.yaml:4"));
}

#[test]
fn an_unreadable_include_is_an_error_at_its_place() {
    let table = Table::text(
        "model_list:\n- {model_name: a, litellm_params: {model: openai/a, api_key: k}}\ninclude: [gone.yaml]\n",
    );
    let found = table.found("file-unreadable");
    assert_eq!((found[0].severity, found[0].line, found[0].column), (Severity::Error, 3, 11));
    assert!(found[0].message.contains("gone.yaml"));
    assert!(table.load().config.is_none());
    assert_eq!(Table::text("include: other.yaml\n").found("include-shape").len(), 1);
    assert_eq!(Table::text("include: [{a: 1}]\n").found("include-shape").len(), 1);
}

#[test]
fn a_main_file_that_cannot_be_read_or_is_no_mapping_is_one_error() {
    let loaded = Table::default().load();
    assert_eq!(loaded.diagnostics.len(), 1);
    assert_eq!((loaded.diagnostics[0].code, loaded.diagnostics[0].line), ("file-unreadable", 0));
    let loaded = Table::text([0xff_u8, 0xfe]).load();
    assert_eq!(loaded.diagnostics.len(), 1);
    assert_eq!(loaded.diagnostics[0].code, "file-unreadable");
    let loaded = Table::text("- 1\n- 2\n").load();
    assert_eq!(loaded.diagnostics.len(), 1);
    assert_eq!(loaded.diagnostics[0].code, "wrong-type");
}
