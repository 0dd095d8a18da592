//! Settings that can have no effect: each is found where it stands, and what is close and has one is not.

use haleway_config::{Severity, render};

use crate::table::{Table, one, two};

/// What follows the two deployments of [`two`], the code that it must raise, the line of the finding, and the same
/// with an effect.
const CASES: &[(&str, &str, u32, &str)] = &[
    (
        "router_settings:\n  max_fallbacks: 0\n  default_fallbacks: [g]\n",
        "fallbacks-off",
        9,
        "router_settings: {max_fallbacks: 1, default_fallbacks: [g]}\n",
    ),
    (
        "router_settings:\n  model_group_alias: {h: g}\n  fallbacks: [{g: [h]}]\n",
        "fallback-to-itself",
        10,
        "router_settings: {model_group_alias: {h: g}, fallbacks: [{h: [d1]}]}\n",
    ),
    (
        "router_settings:\n  model_group_alias:\n    g: d1\n",
        "alias-shadows-group",
        10,
        "router_settings: {model_group_alias: {h: d1}}\n",
    ),
    (
        "router_settings:\n  tag_filtering_match_any: true\n",
        "tags-inert",
        9,
        "router_settings: {tag_filtering_match_any: true, enable_tag_filtering: true}\n",
    ),
    (
        "router_settings:\n  routing_strategy_args: {lowest_latency_buffer: 0.5}\n",
        "strategy-args-inert",
        9,
        "router_settings: {routing_strategy: latency-based-routing, routing_strategy_args: {lowest_latency_buffer: 0.5}}\n",
    ),
    (
        "router_settings:\n  disable_cooldowns: true\n  allowed_fails_policy: {TimeoutErrorAllowedFails: 1}\n",
        "allowed-fails-inert",
        10,
        "router_settings: {disable_cooldowns: false, allowed_fails_policy: {TimeoutErrorAllowedFails: 1}}\n",
    ),
    (
        "router_settings:\n  cooldown_time: -1\n  allowed_fails: 3\n",
        "allowed-fails-inert",
        10,
        "router_settings: {cooldown_time: 1, allowed_fails: 3}\n",
    ),
    (
        "general_settings:\n  health_check_interval: 30\n",
        "probes-off",
        9,
        "general_settings: {background_health_checks: true, health_check_interval: 30}\n",
    ),
    (
        "general_settings: {background_health_checks: false}\nhaleway:\n  health:\n    probe:\n      policy: when_idle\n",
        "probes-off",
        12,
        "haleway: {health: {probe: {policy: when_idle}}}\n",
    ),
    (
        "haleway:\n  health:\n    budget: {probes_per_day: 0}\n",
        "budget-zero",
        10,
        "haleway: {health: {budget: {probes_per_day: 1}}}\n",
    ),
    (
        "haleway:\n  health:\n    budget: {usd_per_day: 0}\n",
        "budget-zero",
        10,
        "haleway: {health: {budget: {usd_per_day: 0}, probe: {policy: never}}}\n",
    ),
    (
        "general_settings:\n  maximum_health_check_retention_period: 30d\n",
        "retention-inert",
        9,
        "general_settings: {maximum_health_check_retention_period: 30d}\nhaleway: {store: {url: 'sqlite:h.db'}}\n",
    ),
    (
        "credential_list:\n- credential_name: spare\n  credential_values: {api_key: k}\n",
        "credential-unused",
        9,
        "",
    ),
    (
        "litellm_settings:\n  num_retries: 3\nrouter_settings: {num_retries: 2}\n",
        "overridden",
        9,
        "litellm_settings: {num_retries: 2}\nrouter_settings: {num_retries: 2}\n",
    ),
    (
        "litellm_settings:\n  request_timeout: 30\nrouter_settings: {timeout: 20}\n",
        "overridden",
        9,
        "litellm_settings: {request_timeout: 30}\nrouter_settings: {stream_timeout: 20}\n",
    ),
    ("litellm_settings:\n  cache: true\n", "accepted-no-effect", 9, "litellm_settings: {cache: false}\n"),
    (
        "router_settings:\n  default_litellm_params: {timeout: 5, api_key: k}\n",
        "accepted-no-effect",
        9,
        "router_settings: {default_litellm_params: {timeout: 5, temperature: 0}}\n",
    ),
];

#[test]
fn a_setting_without_effect_is_found_where_it_stands_and_its_neighbour_is_not() {
    for (rest, code, line, fine) in CASES {
        let finding = two(rest).only();
        assert_eq!((finding.code, finding.line), (*code, *line), "{rest}\n{}", finding.message);
        assert_eq!(finding.severity, Severity::Warning, "{rest}");
        assert!(finding.hint.is_some() && finding.column > 0, "{rest}");
        assert_eq!(two(fine).found(code), [], "{fine}");
    }
}

#[test]
fn limits_that_nobody_keeps_are_said_and_those_that_weigh_or_hold_are_not() {
    let limited = |params: &str, rest: &str| {
        Table::text(format!(
            "model_list:\n- model_name: g\n  litellm_params:\n    model: openai/a\n    api_key: k\n    {params}\n\
             general_settings: {{master_key: k}}\n{rest}"
        ))
    };
    // As a share, and as a limit.
    assert_eq!(limited("rpm: 5", "").load().diagnostics, []);
    let kept = "router_settings: {optional_pre_call_checks: [enforce_model_rate_limits]}\n";
    assert_eq!(limited("rpm: 5\n    weight: 1", kept).load().diagnostics, []);
    let kept_by_use = "router_settings: {routing_strategy: usage-based-routing-v2}\n";
    assert_eq!(limited("tpm: 5", kept_by_use).load().diagnostics, []);
    for (params, rest) in [
        ("weight: 1\n    rpm: 5", ""),
        ("rpm: 0", ""),
        ("rpm: 5", "router_settings: {routing_strategy: least-busy}\n"),
    ] {
        assert_eq!(limited(params, rest).only().code, "limit-inert", "{params} {rest}");
    }
    let finding = limited("rpm: 0", kept).only();
    assert_eq!((finding.code, finding.line), ("limit-zero", 6));
}

#[test]
fn tags_need_tag_filtering() {
    let tagged = |rest: &str| {
        Table::text(format!(
            "model_list: [{{model_name: g, litellm_params: {{model: openai/a, api_key: k, tags: [a]}}}}]\n{rest}"
        ))
        .var("LITELLM_MASTER_KEY", "k")
    };
    assert_eq!(tagged("").only().code, "tags-inert");
    assert_eq!(tagged("router_settings: {enable_tag_filtering: true}\n").load().diagnostics, []);
}

#[test]
fn the_check_before_a_call_needs_a_known_limit() {
    let checked = |model: &str, info: &str| {
        Table::text(format!(
            "model_list: [{{model_name: g, litellm_params: {{model: {model}, api_key: k}}, model_info: {{{info}}}}}]\n\
             router_settings: {{enable_pre_call_checks: true}}\n"
        ))
        .var("LITELLM_MASTER_KEY", "k")
    };
    assert_eq!(checked("openai/nobody-knows", "").only().code, "pre-call-checks-inert");
    assert_eq!(checked("openai/nobody-knows", "max_input_tokens: 100").load().diagnostics, []);
    assert_eq!(checked("openai/gpt-4o", "").load().diagnostics, []);
}

#[test]
fn a_probe_setting_that_does_not_change_the_probe_is_said() {
    for (info, inert) in [
        ("health_check_max_tokens: 5", false),
        ("health_check_max_tokens: 1", false),
        ("mode: embedding, health_check_max_tokens: 5", true),
        ("mode: audio_speech, health_check_max_tokens: 5", true),
        ("mode: rerank, health_check_reasoning_effort: low", true),
        ("mode: audio_speech, health_check_voice: alloy", false),
        ("health_check_voice: alloy", true),
        ("health_check_model: openai/b", false),
        ("health_check_reasoning_effort: low", false),
        ("health_check_supports_max_tokens: false", false),
        ("health_check_supports_max_tokens: true", false),
        ("mode: embedding, health_check_supports_max_tokens: true", true),
        ("mode: embedding, health_check_params: {input: hi}", false),
        ("health_check_max_tokens_reasoning: 50", false),
        ("health_check_max_tokens_non_reasoning: 5", false),
        ("health_check_max_tokens: 9, health_check_max_tokens_non_reasoning: 5", true),
    ] {
        let model = if info.contains("rerank") { "cohere/rerank-v3.5" } else { "openai/a" };
        let table = Table::text(format!(
            "model_list: [{{model_name: g, litellm_params: {{model: {model}, api_key: k}}, model_info: {{{info}}}}}]\n\
             general_settings: {{background_health_checks: true, master_key: k}}\n"
        ));
        let found = table.found("probe-setting-inert");
        assert_eq!(found.len(), usize::from(inert), "{info}\n{}", render(&table.load().diagnostics, false));
    }
}

#[test]
fn i07_a_probe_policy_on_a_skipped_deployment_is_said() {
    let skipped = |haleway: &str| {
        Table::text(format!(
            "model_list: [{{model_name: g, litellm_params: {{model: openai/a, api_key: k}}, model_info: \
             {{disable_background_health_check: true, haleway: {haleway}}}}}]\n\
             general_settings: {{background_health_checks: true, master_key: k}}\n"
        ))
    };
    let finding = skipped("{probe: {policy: when_idle}}").only();
    assert_eq!(finding.code, "probe-setting-inert");
    assert!(finding.message.contains("probe.policy"), "{}", finding.message);
    assert_eq!(skipped("{health: {interval: 5s}}").only().code, "probe-setting-inert");
    assert_eq!(skipped("{fall: 5}").load().diagnostics, []);
}

#[test]
fn a_deployment_that_cannot_be_probed_is_said_with_the_cure_when_it_is_to_be() {
    let wildcard = |background: bool| {
        Table::text(format!(
            "model_list: [{{model_name: 'x/*', litellm_params: {{model: 'openai/x*', api_base: 'http://u/v1', api_key: k}}}}]\n\
             general_settings: {{background_health_checks: {background}, master_key: k}}\n"
        ))
    };
    let finding = wildcard(true).only();
    assert_eq!(finding.code, "cannot-probe");
    assert!(finding.message.contains("health_check_model"), "{}", finding.message);
    assert_eq!(wildcard(false).load().diagnostics, []);
}

#[test]
fn retries_of_a_group_are_one_number() {
    let retries = |second: &str| {
        Table::text(format!(
            "model_list:\n- {{model_name: g, litellm_params: {{model: openai/a, api_key: k, num_retries: 2}}}}\n\
             - {{model_name: g, litellm_params: {{model: openai/b, api_key: k, {second}}}}}\n"
        ))
        .var("LITELLM_MASTER_KEY", "k")
    };
    let finding = retries("max_retries: 5").only();
    assert_eq!((finding.code, finding.line), ("overridden", 3));
    assert_eq!(retries("num_retries: 2").load().diagnostics, []);
    assert_eq!(one("num_retries: 2, max_retries: 3", "").only().code, "overridden");
}

#[test]
fn defaults_for_all_deployments_are_taken_and_their_own_come_first() {
    let config = Table::text(
        "model_list:\n- {model_name: g, litellm_params: {model: openai/a, api_key: k}}\n\
         - {model_name: g, litellm_params: {model: openai/b, api_key: k, timeout: 9, seed: 2}}\n\
         router_settings: {default_litellm_params: {timeout: 5, num_retries: 4, drop_params: true, seed: 1}}\n\
         general_settings: {master_key: k}\n",
    )
    .config();
    let [first, second] = [0, 1].map(|index: usize| &config.models[index].params);
    assert_eq!(first.timeout.map(|time| time.as_secs()), Some(5));
    assert_eq!(second.timeout.map(|time| time.as_secs()), Some(9));
    assert_eq!((first.num_retries, first.drop_params), (Some(4), true));
    assert_eq!((first.rest["seed"].as_u64(), second.rest["seed"].as_u64()), (Some(1), Some(2)));
}

#[test]
fn a_cache_that_names_the_redis_of_the_fleet_is_a_note() {
    let table = two("litellm_settings: {cache: true, cache_params: {type: redis, host: h}}\n");
    assert_eq!(table.load().count(Severity::Warning), 0);
    assert_eq!(table.found("accepted-no-effect").len(), 1);
    assert!(table.load().keys.supported.contains(&"litellm_settings.cache".to_owned()));
    let memory = two("litellm_settings: {cache: true, cache_params: {type: local}}\n");
    assert_eq!(memory.only().code, "accepted-no-effect");
    assert_eq!(memory.load().keys.without_effect.len(), 2);
    // Off, with parameters that are therefore never read.
    assert_eq!(
        two("litellm_settings: {cache_params: {type: redis, host: h}}\n").only().code,
        "accepted-no-effect"
    );
}

#[test]
fn a_file_can_ask_to_be_judged_strictly() {
    let strict = two("haleway: {strict: true}\nrouter_settings: {cooldown_tme: 5}\n").load();
    assert!(strict.config.is_none() && strict.strict);
    assert_eq!((strict.count(Severity::Error), strict.count(Severity::Warning)), (0, 1));
    assert!(two("haleway: {strict: true}\n").load().config.is_some());
    assert!(!two("haleway: {strict: false}\nrouter_settings: {cooldown_tme: 5}\n").load().strict);
    assert_eq!(two("haleway: {strict: 'yes'}\n").only().code, "wrong-type");
}
