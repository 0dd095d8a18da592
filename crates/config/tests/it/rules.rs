//! One test per finding: what raises it, and what is close and does not.

use std::time::Duration;

use haleway_config::Severity;
use haleway_health::{Profile, Slot};

use crate::table::{Table, one, two};

#[test]
fn intervals_that_say_a_number_are_accepted_and_garbage_is_not() {
    for (written, seconds) in [("\"30\"", 30.0), ("30.0", 30.0), ("0.5", 0.5)] {
        let table = two(&format!(
            "general_settings: {{background_health_checks: true, health_check_interval: {written}}}\n"
        ));
        let finding = table.only();
        assert_eq!((finding.code, finding.severity), ("loose-type", Severity::Warning), "{written}");
        assert!(finding.hint.unwrap().contains("silently switches its background health checks off"));
        assert_eq!(table.config().models[0].probe.unwrap().interval, Duration::from_secs_f64(seconds));
    }
    for written in ["0", "-5", "soon", "true", "[30]", ".inf", "\"\"", "1e3x"] {
        let table = two(&format!(
            "general_settings: {{background_health_checks: true, health_check_interval: {written}}}\n"
        ));
        let finding = table.only();
        assert_eq!((finding.code, finding.severity), ("bad-interval", Severity::Error), "{written}");
    }
    // PyYAML's base sixty.
    assert_eq!(
        two("general_settings: {health_check_interval: 1:30}\n").config().haleway.probe.interval.as_secs(),
        90
    );
}

#[test]
fn health_keys_under_router_settings() {
    let finding = two("router_settings: {background_health_checks: true}\n").only();
    assert_eq!((finding.code, finding.severity), ("misplaced-key", Severity::Warning));
    assert!(finding.hint.unwrap().contains("general_settings"));
    let table = two("router_settings: {background_health_checks: true}\n");
    assert!(!table.config().general.background_health_checks, "LiteLLM does not read it there either");
    for key in ["health_check_interval", "health_check_concurrency"] {
        let finding = two(&format!("router_settings: {{{key}: 30}}\n")).only();
        assert_eq!((finding.code, finding.severity), ("misplaced-key", Severity::Error), "{key}");
    }
    let both = two("general_settings: {background_health_checks: true, enable_health_check_routing: true}\n\
         router_settings: {enable_health_check_routing: false}\n");
    assert!(!both.config().models[0].health.probe_routing, "router_settings outranks general_settings");
}

#[test]
fn model_groups_are_a_list_of_names() {
    let listed = |groups: &str| {
        two(&format!(
            "general_settings: {{background_health_checks: true, background_health_check_model_groups: {groups}}}\n\
                      router_settings: {{model_group_alias: {{short: g}}}}\n"
        ))
    };
    for bad in ["g", "{g: 1}", "[1]", "[g, [g]]", "true"] {
        let finding = listed(bad).only();
        assert_eq!((finding.code, finding.severity), ("bad-model-groups", Severity::Error), "{bad}");
    }
    assert_eq!(listed("[gg]").only().code, "unknown-group");
    assert_eq!(listed("[short]").only().code, "alias-not-group");
    assert_eq!(listed("[]").load().diagnostics, []);
    assert_eq!(listed("[]").config().models[0].skip_reason, Some("group_not_listed"));
    assert!(listed("[g]").config().models[0].probe.is_some());
}

#[test]
fn truth_is_pythons_and_a_word_in_quotes_is_said() {
    let table = two("general_settings: {background_health_checks: \"false\"}\n");
    assert_eq!(table.only().code, "loose-type");
    assert!(table.config().general.background_health_checks);
    assert!(
        two("general_settings: {background_health_checks: on}\n").config().general.background_health_checks
    );
}

#[test]
fn a_strategy_must_exist() {
    let finding = two("router_settings: {routing_strategy: least-bussy}\n").only();
    assert_eq!((finding.code, finding.severity), ("bad-strategy", Severity::Error));
    let hint = finding.hint.unwrap();
    assert!(hint.contains("did you mean `least-busy`?") && hint.contains("simple-shuffle"), "{hint}");
    let config = two("router_settings: {routing_strategy: latency-based-routing, routing_strategy_args: {lowest_latency_buffer: 0.5}}\n").config();
    assert_eq!(config.router.settings.strategy, haleway_routing::Strategy::Latency { buffer: 0.5 });
}

#[test]
fn fallbacks_to_nowhere_and_in_circles_are_reported() {
    let table = two("litellm_settings: {fallbacks: [{g: [gg, d1]}], default_fallbacks: [x1]}\n");
    let found = table.found("unknown-group");
    assert_eq!(found.len(), 2);
    assert_eq!(two("router_settings: {fallbacks: [{longer-name: [g]}]}\n").only().code, "unknown-group");
    let near = Table::text(
        "model_list: [{model_name: chat-main, litellm_params: {model: openai/a, api_key: k}}]\n\
                            router_settings: {default_fallbacks: [chat-mian]}\n",
    )
    .found("unknown-group");
    assert_eq!(near[0].hint.as_deref(), Some("did you mean `chat-main`?"));
    let circle = Table::text(
        "model_list:\n- {model_name: a, litellm_params: {model: openai/a, api_key: k}}\n- {model_name: b, litellm_params: {model: openai/b, api_key: k}}\n\
         router_settings: {fallbacks: [{a: [b]}, {b: [a]}, {'*': [a]}]}\n",
    )
    .var("LITELLM_MASTER_KEY", "k");
    let finding = circle.only();
    assert_eq!(finding.code, "fallback-cycle");
    assert!(finding.message.contains("a -> b -> a"), "{}", finding.message);
}

#[test]
fn fallbacks_of_the_router_outrank_those_of_litellm_settings() {
    let config = two("litellm_settings: {fallbacks: [{g: [d1]}], num_retries: 7, request_timeout: 11}\nrouter_settings: {fallbacks: [{g: [d2]}], num_retries: 1}\n").config();
    assert_eq!(&*config.router.fallbacks.general["g"][0], "d2");
    assert_eq!(config.router.settings.num_retries, Some(1));
    assert_eq!(config.router.timeout, Duration::from_secs(11));
    let config = two("litellm_settings: {fallbacks: [{g: d1}], num_retries: 7}\n").config();
    assert_eq!(config.router.settings.num_retries, Some(7));
    assert_eq!(&*config.router.fallbacks.general["g"][0], "d1");
}

#[test]
fn cooldown_times() {
    let finding = two("router_settings: {cooldown_time: abc}\n").only();
    assert_eq!((finding.code, finding.severity), ("wrong-type", Severity::Error));
    assert_eq!(two("router_settings: {cooldown_time: true}\n").only().severity, Severity::Error);
    assert_eq!(two("router_settings: {cooldown_time: 0}\n").only().code, "cooldown-zero");
    let negative = two("router_settings: {cooldown_time: -1}\n");
    assert_eq!(negative.load().diagnostics, []);
    assert!(negative.config().models[0].health.isolation.base.is_zero());
    let config = two("router_settings: {cooldown_time: 2.5}\n").config();
    assert_eq!(config.models[0].health.litellm.unwrap().cooldown_time, Duration::from_millis(2500));
    assert_eq!(config.models[0].health.isolation.max, Duration::from_millis(2500));
    assert_eq!(one("cooldown_time: 9", "").config().models[0].health.isolation.base.as_secs(), 9);
}

#[test]
fn an_empty_policy_is_none() {
    let table = two("router_settings: {allowed_fails_policy: {}}\n");
    let found = table.found("empty-policy");
    assert_eq!(found[0].severity, Severity::Note);
    assert_eq!(table.config().models[0].health.litellm.unwrap().policy, None);
}

#[test]
fn entries_need_a_name_and_a_model() {
    let loaded = Table::text("model_list:\n- litellm_params: {model: openai/a, api_key: k}\n- model_name: a\n- 7\n- {model_nme: x, litellm_params: {model: openai/a}}\n").load();
    let codes: Vec<(&str, u32)> = loaded
        .diagnostics
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| (finding.code, finding.line))
        .collect();
    assert_eq!(
        codes,
        [("missing-model-name", 2), ("missing-model", 3), ("wrong-type", 4), ("missing-model-name", 5)]
    );
    let hint =
        loaded.diagnostics.iter().find(|finding| finding.line == 5 && finding.code == "missing-model-name");
    assert!(hint.unwrap().hint.as_ref().unwrap().contains("model_nme"));
}

#[test]
fn ids_are_unique_stable_and_text() {
    let config = one("", "").config();
    assert_eq!(&*config.models[0].id, "d1");
    let list = |key: &str, weight: &str| {
        Table::text(format!(
            "model_list:\n- {{model_name: a, litellm_params: {{model: openai/a, api_key: {key}{weight}}}}}\n\
             - {{model_name: a, litellm_params: {{model: openai/a, api_key: other{weight}}}}}\n\
             - {{model_name: a, litellm_params: {{model: openai/b, api_key: other{weight}}}, model_info: {{id: 17}}}}\n"
        ))
        .config()
    };
    let ids = |config: &haleway_config::Config| -> Vec<String> {
        config.models.iter().map(|model| model.id.to_string()).collect()
    };
    let first = ids(&list("one", ""));
    assert_eq!(first[0].len(), 64);
    assert_ne!(first[0], first[1]);
    assert_eq!(first[2], "17");
    assert_eq!(first, ids(&list("rotated", ", weight: 3")), "a new key or weight is the same deployment");
}

#[test]
fn unknown_providers_are_refused_by_name() {
    let table = Table::text("model_list: [{model_name: g, litellm_params: {model: opneai/a, api_key: k}}]\n");
    let found = table.found("unknown-provider");
    assert_eq!(found[0].severity, Severity::Error);
    assert!(
        found[0].message.contains("opneai") && found[0].message.contains("openai"),
        "{}",
        found[0].message
    );
    let bare = Table::text(
        "model_list: [{model_name: g, litellm_params: {model: a, api_key: k, custom_llm_provider: opneai}}]\n",
    );
    assert_eq!(bare.found("unknown-provider").len(), 1);
    let keyless = Table::text("model_list: [{model_name: g, litellm_params: {model: openai/a}}]\n");
    let found = keyless.found("unresolved-deployment");
    assert!(found[0].message.contains("OPENAI_API_KEY"), "{}", found[0].message);
    let from_file = Table::text(
        "model_list: [{model_name: g, litellm_params: {model: openai/a}}]\nenvironment_variables: {OPENAI_API_KEY: k}\n",
    );
    assert!(from_file.load().config.is_some());
}

#[test]
fn parameters_near_a_known_one_are_slips_and_others_are_passed_on() {
    let finding = one("api_bse: 'http://x'", "").only();
    assert_eq!((finding.code, finding.hint.as_deref()), ("unknown-key", Some("did you mean `api_base`?")));
    let table = one("temperature: 0.10, safety: {a: 1}, seed: 18446744073709551615", "");
    let found = table.load().diagnostics;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].code, found[0].severity), ("extra-key", Severity::Note));
    let rest = &table.config().models[0].params.rest;
    assert_eq!(
        serde_json::to_string(rest).unwrap(),
        r#"{"temperature":0.1,"safety":{"a":1},"seed":18446744073709551615}"#
    );
}

#[test]
fn a_date_for_an_api_version_keeps_its_text() {
    let table = one("api_version: 2024-06-01", "");
    assert_eq!(table.config().models[0].params.api_version.as_deref(), Some("2024-06-01"));
    let found = table.found("date-as-text");
    assert_eq!(
        (found[0].severity, found[0].hint.as_deref()),
        (Severity::Note, Some("write it in quotes: \"2024-06-01\""))
    );
}

#[test]
fn a_group_shared_by_weight_in_part_is_reported() {
    let share = |first: &str, second: &str| {
        Table::text(format!(
            "model_list:\n- {{model_name: g, litellm_params: {{model: openai/a, api_key: k, {first}}}, model_info: {{id: d1}}}}\n\
             - {{model_name: g, litellm_params: {{model: openai/a, api_key: k, {second}}}, model_info: {{id: d2}}}}\n"
        ))
        .var("LITELLM_MASTER_KEY", "k")
    };
    let finding = share("weight: 1", "timeout: 3").only();
    assert_eq!((finding.code, finding.line), ("partial-share", 3));
    assert!(finding.message.contains("d2"));
    assert_eq!(share("weight: 1", "weight: 3").load().diagnostics, []);
    assert_eq!(share("order: 1", "order: 2").load().diagnostics, []);
}

#[test]
fn staleness_and_routing_without_probes() {
    let table = two("general_settings: {background_health_checks: true, health_check_interval: 400}\n");
    assert_eq!(table.only().code, "staleness-short");
    let table = two("general_settings: {enable_health_check_routing: true}\n");
    assert_eq!(table.only().code, "health-routing-inert");
}

#[test]
fn no_master_key_is_said() {
    let text = "model_list: [{model_name: g, litellm_params: {model: openai/a, api_key: k}}]\n";
    assert_eq!(Table::text(text).only().code, "no-master-key");
    let permitted =
        format!("{text}general_settings: {{dangerously_permit_weak_or_unset_master_key: true}}\n");
    assert_eq!(Table::text(permitted).load().diagnostics, []);
    assert!(Table::text(text).var("LITELLM_MASTER_KEY", "k").config().general.master_key.is_some());
}

#[test]
fn secrets_are_in_no_debug_output() {
    let table = one("api_key: hush-1, extra_headers: {A: hush-2}, client_secret: hush-3", "")
        .var("LITELLM_MASTER_KEY", "hush-4");
    let config = table.config();
    let text = format!("{config:?}");
    assert!(!text.contains("hush"), "{text}");
}

#[test]
fn findings_of_a_file_come_all_at_once_in_order() {
    let loaded = two("router_settings:\n  routing_strategy: x\n  cooldown_time: y\n  num_retries: -1\ngeneral_settings:\n  health_check_interval: z\n").load();
    let lines: Vec<u32> = loaded
        .diagnostics
        .iter()
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| finding.line)
        .collect();
    assert_eq!(lines, [9, 10, 11, 13]);
}

#[test]
fn a_finding_as_json_has_the_fields_of_the_reload_answer() {
    let finding = two("router_settings: {cooldown_tme: 5}\n").only();
    let json = serde_json::to_value(&finding).unwrap();
    let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["code", "severity", "file", "line", "column", "message", "hint"]);
    assert_eq!(json["severity"], "warning");
}

#[test]
fn the_router_gets_its_deployments() {
    let config = one(
        "rpm: 10, weight: 2, order: 1, input_cost_per_token: 0.5, output_cost_per_token: 1.5, tags: [a]",
        "blocked: true",
    )
    .config();
    let deployment = config.models[0].routing(Slot(3));
    assert_eq!((deployment.rpm, deployment.weight, deployment.order), (Some(10), Some(2.0), Some(1)));
    assert_eq!((deployment.price, deployment.blocked, deployment.slot), (Some(2.0), true, Slot(3)));
    let defaults = two("router_settings: {default_max_parallel_requests: 4, default_litellm_params: {temperature: 0}}\nlitellm_settings: {drop_params: true}\n").config();
    assert_eq!(defaults.models[0].params.max_parallel_requests, Some(4));
    assert_eq!(defaults.models[0].params.rest["temperature"], 0);
    assert!(defaults.models[0].params.drop_params);
}

#[test]
fn profiles_are_chosen_by_what_the_file_speaks_of() {
    let profile = |table: Table| table.config().haleway.profile;
    assert_eq!(profile(two("")).profile, Profile::Resilient);
    let chosen = profile(two("router_settings: {cooldown_time: 5}\n"));
    assert_eq!(chosen.profile, Profile::Litellm);
    assert!(
        chosen.reason.contains("router_settings.cooldown_time") && chosen.reason.contains("config.yaml:8"),
        "{}",
        chosen.reason
    );
    assert_eq!(profile(one("", "health_check_timeout: 3")).profile, Profile::Litellm);
    let asked = profile(two("router_settings: {cooldown_time: 5}\nhaleway: {profile: resilient}\n"));
    assert_eq!(asked.profile, Profile::Resilient);
    assert_eq!(two("haleway: {profile: resilent}\n").only().code, "bad-value");
}

#[test]
fn settings_of_all_are_sent_to_the_section_of_all() {
    for name in ["num_retries", "cooldown_time", "allowed_fails"] {
        let finding = two(&format!("general_settings: {{{name}: 3}}\n")).only();
        assert_eq!(finding.code, "misplaced-key", "{name}");
        assert_eq!(finding.hint.unwrap(), format!("{name} belongs under router_settings"));
    }
}

#[test]
fn variables_are_a_mapping() {
    let finding = two("environment_variables: [a]\n").only();
    assert_eq!((finding.code, finding.severity), ("wrong-type", Severity::Error));
    assert!(two("environment_variables:\n").load().diagnostics.is_empty());
}

#[test]
fn a_master_key_whose_variable_is_missing_is_one_finding() {
    let finding = two("general_settings: {master_key: os.environ/NOWHERE}\n").only();
    assert_eq!((finding.code, finding.severity), ("missing-env", Severity::Error));
}

#[test]
fn a_mode_that_is_none_is_said_with_its_cure() {
    let text = |mode: &str| {
        format!(
            "model_list:\n- model_name: g\n  litellm_params: {{model: openai/x, api_key: k}}\n  model_info: {{mode: {mode}}}\ngeneral_settings: {{master_key: k}}\n"
        )
    };
    let finding = Table::text(text("embeding")).only();
    assert_eq!((finding.code, finding.severity), ("bad-value", Severity::Warning));
    assert!(finding.hint.unwrap().contains("`embedding`"));
    assert!(Table::text(text("embedding")).load().diagnostics.is_empty());
}

#[test]
fn named_credentials_stand_in_for_what_a_deployment_does_not_set() {
    let of = |name: &str| {
        Table::text(format!(
            "credential_list:\n- credential_name: eu_azure\n  credential_values: {{api_key: k-canary-1, api_base: \"http://eu.local/v1\", organization: o}}\n  credential_info: {{description: x}}\n\
             model_list:\n- model_name: g\n  litellm_params: {{model: openai/m, api_base: \"http://own.local/v1\", litellm_credential_name: {name}}}\n"
        ))
        .var("OPENAI_API_KEY", "k")
    };
    let table = of("eu_azure");
    let params = &table.config().models[0].params;
    assert_eq!(params.api_base.as_deref(), Some("http://own.local/v1"), "its own values come first");
    assert_eq!(params.organization.as_deref(), Some("o"));
    assert!(params.api_key.is_some() && !format!("{params:?}").contains("canary"));
    let finding = of("eu_azur").found("bad-value").remove(0);
    assert_eq!((finding.code, finding.severity), ("bad-value", Severity::Error));
    assert!(finding.hint.unwrap().contains("eu_azure"));
}
