//! The YAML and the environment of the seeds (the fork's mechanism, its troubleshooting guide, LiteLLM's page on
//! health-check-driven routing).

use std::time::Duration;

use haleway_config::{Options, Origin, Severity, explain, load, render};
use haleway_health::Profile;
use std::path::Path;

use crate::table::{Table, two};

fn seed(name: &str) -> haleway_config::Loaded {
    let source = [
        "OPENAI_API_KEY",
        "OPENAI_API_KEY_SECONDARY",
        "AZURE_API_KEY",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_API_KEY_SECONDARY",
    ]
    .into_iter()
    .fold(Table::fixtures("seeds").var("LITELLM_MASTER_KEY", "sk-1"), |table, name| table.var(name, "sk-x"))
    .var("AZURE_API_BASE", "https://corp.openai.azure.com");
    load(Path::new(name), &source, &Options::default())
}

#[test]
fn the_files_of_seed_003_load_without_a_finding() {
    for name in ["003_policy.yaml", "003_full.yaml", "003_scoped.yaml"] {
        let loaded = seed(name);
        assert_eq!(render(&loaded.diagnostics, false), "", "{name}");
    }
    let config = seed("003_full.yaml").config.unwrap();
    assert_eq!(config.haleway.profile.profile, Profile::Litellm);
    let health = &config.models[0].health;
    assert!(health.probe_routing && health.ignore_transient_probes);
    let litellm = health.litellm.unwrap();
    assert_eq!(litellm.cooldown_time, Duration::from_secs(60));
    let policy = litellm.policy.unwrap();
    assert_eq!((policy.authentication, policy.timeout, policy.rate_limit), (Some(0), Some(2), Some(5)));
    assert_eq!(config.models[0].probe.unwrap().interval, Duration::from_secs(30));
}

#[test]
fn seed_003_scopes_probes_to_listed_groups() {
    let config = seed("003_scoped.yaml").config.unwrap();
    let by_group = |name: &str| config.models.iter().find(|model| &*model.name == name).unwrap();
    assert!(by_group("prod-openai").probe.is_some());
    assert!(by_group("prod-openai").health.litellm.unwrap().group_listed);
    assert_eq!(by_group("other").skip_reason, Some("group_not_listed"));
    assert!(by_group("other").probe.is_none());
}

#[test]
fn seed_003_a_counter_that_dies_between_probes_is_reported() {
    let table = two("general_settings: {background_health_checks: true, health_check_interval: 30}\n\
         router_settings: {cooldown_time: 20, allowed_fails_policy: {TimeoutErrorAllowedFails: 1}}\n");
    let finding = table.only();
    assert_eq!(finding.code, "cooldown-shorter-than-interval");
    assert!(finding.hint.unwrap().contains("above 30"));
    // A tolerance of zero needs no counter.
    let zero = two("general_settings: {background_health_checks: true, health_check_interval: 30}\n\
         router_settings: {cooldown_time: 20, allowed_fails_policy: {TimeoutErrorAllowedFails: 0}}\n");
    assert_eq!(zero.found("cooldown-shorter-than-interval"), []);
    // A deployment's own shorter time is reported at the deployment, and only there.
    let own = Table::text(
        "model_list:\n- model_name: g\n  litellm_params: {model: openai/a, api_key: k}\n  model_info:\n    cooldown_time: 5\n\
         general_settings: {background_health_checks: true, health_check_interval: 30, master_key: k}\n\
         router_settings: {cooldown_time: 60, allowed_fails_policy: {TimeoutErrorAllowedFails: 1}}\n",
    );
    let finding = own.only();
    assert_eq!((finding.code, finding.line), ("cooldown-shorter-than-interval", 5));
}

#[test]
fn seed_001_the_misspelt_interval_is_reported_with_its_cure_and_the_default_that_holds() {
    let finding =
        two("general_settings: {background_health_checks: true, health_check_intervel: 30}\n").only();
    assert_eq!((finding.code, finding.severity), ("unknown-key", Severity::Warning));
    assert_eq!((finding.line, finding.column), (8, 52));
    let hint = finding.hint.unwrap();
    assert!(hint.contains("health_check_interval") && hint.contains("300"), "{hint}");
    insta::assert_snapshot!(render(
        &two("general_settings: {background_health_checks: true, health_check_intervel: 30}\n")
            .load()
            .diagnostics,
        false
    ));
}

#[test]
fn the_environment_of_the_seeds_is_read_and_its_origin_shown() {
    let config = two("general_settings: {background_health_checks: true}\n")
        .var("DEFAULT_HEALTH_CHECK_INTERVAL", "45")
        .var("HEALTH_CHECK_TIMEOUT_SECONDS", "7")
        .var("DEFAULT_SHARED_HEALTH_CHECK_TTL", "3000")
        .var("DEFAULT_SHARED_HEALTH_CHECK_LOCK_TTL", "180")
        .var("DEFAULT_HEALTH_CHECK_PROMPT", "ping")
        .var("BACKGROUND_HEALTH_CHECK_MAX_TOKENS", "9")
        .config();
    let rows = explain(&config);
    for (key, value, variable) in [
        ("interval", "45s", "DEFAULT_HEALTH_CHECK_INTERVAL"),
        ("stale_after", "90s", "DEFAULT_HEALTH_CHECK_INTERVAL"),
        ("timeout", "7s", "HEALTH_CHECK_TIMEOUT_SECONDS"),
        ("shared.ttl", "50m", "DEFAULT_SHARED_HEALTH_CHECK_TTL"),
        ("shared.lock_ttl", "180s", "DEFAULT_SHARED_HEALTH_CHECK_LOCK_TTL"),
        ("probe.prompt", "ping", "DEFAULT_HEALTH_CHECK_PROMPT"),
        ("probe.max_tokens", "9", "BACKGROUND_HEALTH_CHECK_MAX_TOKENS"),
    ] {
        let row = rows.iter().find(|row| row.scope == "global" && row.key == key).unwrap();
        assert_eq!((row.value.as_str(), &row.origin), (value, &Origin::Env(variable)), "{key}");
    }
    assert_eq!(config.models[0].info.probe.prompt.as_deref(), Some("ping"));
    assert_eq!(config.models[0].info.probe.env_max_tokens, Some(9));
}

#[test]
fn an_unreadable_variable_is_reported_and_the_default_holds() {
    let table = two("general_settings: {background_health_checks: true}\n")
        .var("DEFAULT_HEALTH_CHECK_INTERVAL", "soon");
    let finding = table.only();
    assert_eq!((finding.code, finding.line), ("env-value", 0));
    assert_eq!(table.config().models[0].probe.unwrap().interval, Duration::from_secs(300));
}

#[test]
fn seed_000_in_shared_mode_the_ttl_is_the_period() {
    let rest = "general_settings: {background_health_checks: true, health_check_interval: 30, use_shared_health_check: true}\n";
    let alone = two(rest);
    assert_eq!(alone.found("shared-without-redis").len(), 1);
    assert_eq!(alone.config().models[0].probe.unwrap().interval, Duration::from_secs(30));
    let shared = two(rest).var("REDIS_HOST", "redis").var("DEFAULT_SHARED_HEALTH_CHECK_TTL", "1800");
    assert_eq!(shared.config().models[0].probe.unwrap().interval, Duration::from_secs(1800));
    assert_eq!(shared.found("shared-interval").len(), 1);
}
