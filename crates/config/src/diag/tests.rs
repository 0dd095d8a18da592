//! What findings show and hide.

use std::path::Path;

use super::{Finding, Report, did_you_mean, is_secret_key, render};
use crate::yaml;

fn shown(text: &str, about: &str) -> String {
    let report = Report::default();
    let file = report.file(Path::new("c.yaml"), text.to_owned());
    if let Some(root) = yaml::parse(file, text, &report) {
        report.hide_secrets(&root);
    }
    let start = text.find(about).unwrap();
    let span = yaml::Span { file, start, end: start + about.len() };
    report.add(Finding::warning("test", span, "look"));
    render(&report.finish(Path::new("c.yaml")), false)
}

#[test]
fn secrets_of_the_line_are_masked_and_columns_stay() {
    let text = shown("m: {api_key: sk-very-secret, rpm: x}", "rpm");
    assert!(!text.contains("sk-very"), "{text}");
    assert!(text.contains("--> c.yaml:1:30"), "{text}");
    for (line, about) in [
        ("x: {database_url: 'postgres://u:pw@h/d', rpm: 1}", "rpm"),
        ("extra_headers: {X-Corp: hush, b: 2}", "b:"),
        ("extra_headers: &h {Authorization: Bearer hush}", "&h"),
        ("environment_variables: {A: hush}", "A"),
        ("{master_key: [hush, hush]}", "master"),
        // Never a tree: the text alone has to do.
        ("{api_key: \"hush\", rpm: [", "rpm"),
        ("{aws_secret_access_key: hush, rpm: [", "rpm"),
    ] {
        let text = shown(line, about);
        assert!(!text.contains("hush") && !text.contains("pw@"), "{text}");
    }
}

#[test]
fn references_and_counts_are_no_secrets() {
    assert!(
        shown("{api_key: os.environ/KEY, max_tokens: 12}", "max").contains("os.environ/KEY, max_tokens: 12")
    );
    for key in
        ["max_tokens", "input_cost_per_token", "health_check_max_tokens", "litellm_credential_name", "order"]
    {
        assert!(!is_secret_key(key), "{key}");
    }
    for key in [
        "api_key",
        "x-api-key",
        "REDIS_PASSWORD",
        "drain_endpoint_token",
        "azure_ad_token",
        "aws_secret_access_key",
    ] {
        assert!(is_secret_key(key), "{key}");
    }
}

#[test]
fn suggestions_are_slips_and_nothing_else() {
    let names = ["health_check_interval", "cooldown_time", "master_key", "rpm", "tpm"];
    let hint = |written| did_you_mean(written, names);
    assert_eq!(hint("health_check_intervel").as_deref(), Some("did you mean `health_check_interval`?"));
    assert_eq!(hint("cooldown_tme").as_deref(), Some("did you mean `cooldown_time`?"));
    assert_eq!(hint("Master_Key").as_deref(), Some("did you mean `master_key`?"));
    assert_eq!(hint("not_a_general"), None);
    assert_eq!(hint("foo"), None);
    assert_eq!(hint("x"), None);
}

#[test]
fn a_long_value_is_underlined_to_the_end_of_its_line() {
    let text = shown("a: 1\r\nb: \"x\r\n  y\"\r\n", "\"x\r\n  y\"");
    assert!(text.contains("2 | b: \"x\n"), "{text:?}");
    assert!(text.contains("^^"), "{text}");
}

#[test]
fn no_secret_is_shown_on_a_line_that_never_became_a_tree() {
    for (text, about) in [
        // Credentials in a URL, under whatever name.
        ("{api_base: 'https://user:hush@host/v1', rpm: x}", "rpm"),
        ("cache_params: {url: 'redis://:hush@h:1', bogus: 1}", "bogus"),
        ("url: redis://user:hu/hush@h:1", "url"),
        // A value of several words, as a broken file has it.
        ("  master_key: x: hush", "master_key"),
        ("  - api_key: hush, hush", "api_key"),
        ("{Authorization: Bearer hush, rpm: [", "rpm"),
        // Below its key.
        ("api_key: |\n  a\n hush", " hush"),
        ("api_key:\n    hush: {", "hush: {"),
        ("vertex_credentials: >-\n  a\n\n  hush\n  x", "hush"),
        // Under a name that is misspelt.
        ("  masterkey: hush", "masterkey"),
        ("  api_kye: sk-hush-1", "api_kye"),
        ("[\"sk-hush\", b]", "b"),
    ] {
        let shown = shown(text, about);
        assert!(!shown.contains("hush"), "{text}\n{shown}");
    }
}

#[test]
fn what_is_no_secret_is_shown() {
    for (text, about, whole) in [
        ("model_list:\n  - model_name: task-sk-1\n", "model_name", "  - model_name: task-sk-1"),
        ("{api_base: 'http://h/a@b', rpm: x}", "rpm", "{api_base: 'http://h/a@b', rpm: x}"),
        ("api_key: x\nrpm: many", "rpm", "rpm: many"),
        ("a:\n  api_key: x\n  rpm: many", "rpm", "  rpm: many"),
    ] {
        let shown = shown(text, about);
        assert!(shown.contains(whole), "{text}\n{shown}");
    }
}
