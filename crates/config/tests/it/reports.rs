//! Faults that users of such gateways reported, as far as the configuration decides them.

use haleway_config::Severity;
use haleway_health::AllowedFails;

use crate::table::{one, two};

#[test]
fn i01_a_limit_of_zero_is_not_unset() {
    let config =
        two("router_settings: {allowed_fails: 5, allowed_fails_policy: {RateLimitErrorAllowedFails: 0}}\n")
            .config();
    let litellm = config.models[0].health.litellm.unwrap();
    assert_eq!(litellm.allowed_fails, Some(5));
    assert_eq!(litellm.policy, Some(AllowedFails { rate_limit: Some(0), ..AllowedFails::default() }));
    let config = two("router_settings: {allowed_fails: 0, num_retries: 0}\n").config();
    assert_eq!(config.models[0].health.litellm.unwrap().allowed_fails, Some(0));
    assert_eq!(config.router.settings.num_retries, Some(0));
    let config = two("router_settings: {cooldown_time: 5}\n").config();
    assert_eq!(config.models[0].health.litellm.unwrap().allowed_fails, None);
    assert_eq!(config.router.settings.num_retries, None);
}

#[test]
fn i02_a_misspelt_setting_is_reported_with_its_cure_and_refused_in_strict_mode() {
    let table = two("router_settings: {cooldown_tme: 5}\n");
    let finding = table.only();
    assert_eq!((finding.code, finding.severity), ("unknown-key", Severity::Warning));
    assert!(finding.message.contains("cooldown_tme"));
    assert!(finding.hint.unwrap().contains("`cooldown_time`"));
    assert!(table.load().config.is_some());
    let strict = table.strict();
    assert!(strict.config.is_none());
    // Strictness does not relabel: the caller tells warnings from errors by their severity.
    assert_eq!((strict.count(Severity::Error), strict.count(Severity::Warning)), (0, 1));
}

#[test]
fn i02_a_setting_without_effect_is_said_once() {
    let table = two(
        "general_settings: {database_url: 'postgres://u:p@h/d', store_prompts_in_spend_logs: true, alerting: [slack]}\nguardrails: [{a: 1}]\n",
    );
    let found = table.found("accepted-no-effect");
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|finding| finding.severity == Severity::Warning && finding.hint.is_some()));
    let line = found[0].source.clone().unwrap();
    assert!(!line.contains("u:p"), "{line}");
    // Switched off, it asks for nothing.
    assert_eq!(
        two("general_settings: {store_prompts_in_spend_logs: false}\n").found("accepted-no-effect"),
        []
    );
}

#[test]
fn i05_allowed_fails_is_carried_as_more_than() {
    // The number of tolerated failures, as written: in at 3, out at the 4th. The machine counts.
    let config = two("router_settings: {allowed_fails: 3}\n").config();
    assert_eq!(config.models[0].health.litellm.unwrap().allowed_fails, Some(3));
}

#[test]
fn i06_cooldown_time_zero_of_a_deployment_turns_isolation_off_for_it() {
    let config = one("", "cooldown_time: 0").config();
    let health = &config.models[0].health;
    assert!(health.isolation.base.is_zero());
    let litellm = health.litellm.unwrap();
    assert!(litellm.cooldown_time.is_zero() && litellm.own_cooldown_time);
    assert_eq!(config.haleway.health.isolation.base.as_secs(), 5);
}

#[test]
fn i07_settings_that_can_have_no_effect_are_reported() {
    let rest = "router_settings: {fallbacks: [{g: [gone]}]}\n\
                general_settings: {background_health_checks: true, use_shared_health_check: true}\n\
                haleway: {health: {panic: {ejection_cap: 0.1, eject_at_least_one: false}}}\n";
    let table = two(rest);
    for code in ["unknown-group", "shared-without-redis", "ejection-cap-inert"] {
        assert_eq!(table.found(code).len(), 1, "{code}");
    }
    let skipped =
        one("", "disable_background_health_check: true, health_check_model: openai/b").var("X", "1");
    assert_eq!(
        skipped.found("probe-setting-inert"),
        [],
        "without background checks there is nothing to contradict"
    );
    let skipped = haleway_config::render(
        &crate::table::Table::text(
            "model_list: [{model_name: g, litellm_params: {model: openai/a, api_key: k}, model_info: \
             {disable_background_health_check: true, health_check_model: openai/b}}]\n\
             general_settings: {background_health_checks: true, master_key: k}\n",
        )
        .found("probe-setting-inert"),
        false,
    );
    assert!(skipped.contains("health_check_model"), "{skipped}");
}

#[test]
fn i08_limits_of_a_deployment_override_those_of_the_router() {
    let config = one(
        "",
        "allowed_fails: 1, allowed_fails_policy: {TimeoutErrorAllowedFails: 7}, health_check_timeout: 3",
    )
    .config();
    let health = &config.models[0].health;
    assert_eq!(health.litellm.unwrap().deployment_allowed_fails, Some(1));
    assert_eq!(health.litellm.unwrap().deployment_policy.unwrap().timeout, Some(7));
    let rows = haleway_config::explain(&config);
    let own: Vec<String> = rows
        .iter()
        .filter(|row| row.scope == "deployment d1")
        .map(|row| format!("{} {} {}", row.key, row.value, row.origin))
        .collect();
    assert!(own.contains(&"allowed_fails 1 config.yaml:4".to_owned()), "{own:?}");
    assert!(own.contains(&"allowed_fails_policy TimeoutError 7 config.yaml:4".to_owned()), "{own:?}");
}

#[test]
fn i09_a_mode_in_the_wrong_section_is_told_its_place() {
    let finding = one("mode: embedding", "").only();
    assert_eq!(finding.code, "misplaced-key");
    assert_eq!(finding.hint.as_deref(), Some("mode belongs under model_info"));
}

#[test]
fn e07_every_field_of_the_policy_arrives() {
    let fields = haleway_config::keys::POLICY_FIELDS;
    for (index, field) in fields.iter().enumerate() {
        let config =
            two(&format!("router_settings: {{allowed_fails_policy: {{{field}: {}}}}}\n", index + 2)).config();
        let policy = config.models[0].health.litellm.unwrap().policy.unwrap();
        let values = [
            policy.bad_request,
            policy.authentication,
            policy.timeout,
            policy.rate_limit,
            policy.content_policy,
            policy.internal_server,
            policy.service_unavailable,
            policy.bad_gateway,
            policy.not_found,
        ];
        for (at, value) in values.into_iter().enumerate() {
            let expected = (at == index).then(|| u32::try_from(index + 2).unwrap());
            assert_eq!(value, expected, "{field}");
        }
    }
    let finding = two(
        "router_settings: {allowed_fails_policy: {TimeoutAllowedFails: 1, RateLimitErrorAllowedFails: 1}}\n",
    )
    .only();
    assert!(finding.hint.unwrap().contains("TimeoutErrorAllowedFails"));
}

#[test]
fn a16_a_provider_in_its_own_field_is_enough() {
    let table = crate::table::Table::text(
        "model_list: [{model_name: g, litellm_params: {model: 'mix:7b', custom_llm_provider: openai, api_base: 'http://u1/v1', api_key: k}}]\n",
    )
    .var("LITELLM_MASTER_KEY", "k");
    assert_eq!(table.load().diagnostics, []);
    assert_eq!(table.config().models[0].params.custom_llm_provider.as_deref(), Some("openai"));
}

#[test]
fn g12_a_host_that_cannot_be_reached_is_no_matter_of_the_configuration() {
    let table = crate::table::Table::text(
        "model_list:\n- {model_name: g, litellm_params: {model: openai/a, api_base: 'http://no-such-host.invalid/v1', api_key: k}}\n\
         - {model_name: g, litellm_params: {model: openai/a, api_base: 'http://127.0.0.1:1/v1', api_key: k}}\n",
    )
    .var("LITELLM_MASTER_KEY", "k");
    assert_eq!(table.load().diagnostics, []);
    assert_eq!(table.config().models.len(), 2);
}
