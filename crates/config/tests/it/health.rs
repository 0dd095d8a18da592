//! The `haleway` section: every key, its layers, and when probes are sent at all.

use std::time::Duration;

use haleway_config::{Calls, Origin, Severity, TraceLevel, explain};
use haleway_health::{AllOut, PanicMode, ProbeDepth, ProbePolicy, Profile};
use haleway_providers::Mode;

use crate::table::{Table, one, two};

const ALL: &str = "haleway:
  profile: resilient
  admin_listen: 127.0.0.1:4001
  errors: {all_out_status: 529}
  retry: {share: 0.5, reserve: 3}
  stream: {resume: true, resumptions: 2}
  trace: always
  health:
    interval: 61s
    idle_interval: 301s
    suspect_interval: 6s
    timeout: 21s
    fall: 4
    rise: 2
    consecutive_failures: 6
    window: {length: 31s, buckets: 11, min_requests: 12, failure_ratio: 0.75}
    isolation: {base: 32s, multiplier: 3, max: 5m, jitter: 0.2, decay_every: 62s}
    ramp: {length: 63s, min_share: 0.25, min_successes: 7, cap: 6m}
    panic: {threshold: 0.5, mode: off}
    all_out: wait
    stream: {first_token: 33s, gap: 34s, hang_after: 500ms}
    trial: {hold: 26s}
    probe: {policy: when_idle, can_restore: false, concurrency: 17, per_host: 5, backoff_max: 302s, depth: free}
    budget: {probes_per_day: 201, total_probes_per_day: 2010, usd_per_day: 2.5}
  groups:
    g: {panic: {mode: refuse}, interval: 7s}
";

#[test]
fn every_key_of_the_section_arrives() {
    let table = two(ALL);
    assert_eq!(table.load().diagnostics, []);
    let config = table.config();
    let own = &config.haleway;
    let secs = Duration::from_secs;
    assert_eq!(own.profile.profile, Profile::Resilient);
    assert_eq!(own.admin_listen.unwrap().port(), 4001);
    assert_eq!(own.all_out_status, Some(529));
    let calls = Calls { trace: TraceLevel::Always, retry_share: 0.5, retry_reserve: 3, resumptions: 2 };
    assert_eq!(own.calls, calls);
    let rows = explain(&config);
    let row = rows.iter().find(|row| row.key == "retry.share").unwrap();
    assert_eq!((row.value.as_str(), matches!(row.origin, Origin::File { .. })), ("0.5", true));
    let (health, probe) = (&own.health, &own.probe);
    assert_eq!(
        (probe.interval, probe.idle_interval, probe.suspect_interval, probe.timeout),
        (secs(61), secs(301), secs(6), secs(21))
    );
    assert_eq!((health.fall, health.rise, health.consecutive_failures), (4, 2, 6));
    let window = health.window;
    assert_eq!(
        (window.length, window.buckets, window.min_requests, window.failure_ratio),
        (secs(31), 11, 12, 0.75)
    );
    let isolation = health.isolation;
    assert_eq!((isolation.base, isolation.multiplier, isolation.max), (secs(32), 3.0, secs(300)));
    assert_eq!((isolation.jitter, isolation.decay_every), (0.2, secs(62)));
    let ramp = health.ramp;
    assert_eq!((ramp.length, ramp.min_share, ramp.min_successes, ramp.cap), (secs(63), 0.25, 7, secs(360)));
    assert_eq!((own.panic.threshold, own.panic.mode, own.panic.all_out), (0.5, PanicMode::Off, AllOut::Wait));
    assert_eq!((health.stream.first_token, health.stream.gap), (secs(33), secs(34)));
    assert_eq!(health.stream.hang_after, Duration::from_millis(500));
    assert_eq!(health.trial_hold, secs(26));
    assert_eq!(
        (probe.policy, health.probe_can_restore, probe.backoff_max),
        (ProbePolicy::WhenIdle, false, secs(302))
    );
    assert_eq!((own.limits.concurrency, own.limits.per_host), (17, 5));
    assert_eq!(probe.depth, ProbeDepth::Free);
    assert_eq!((own.budget.probes_per_day, own.limits.total_probes_per_day), (Some(201), Some(2010)));
    let dollars = own.limits.total_usd_per_day.map(|usd| usd.to_string());
    assert_eq!((dollars.as_deref(), own.budget.usd_per_day), (Some("2.5"), None), "of all together");
    assert_eq!(own.panic_of("g").mode, PanicMode::Refuse);
    assert_eq!(own.panic_of("other").mode, PanicMode::Off);
    assert_eq!(config.models[0].probe.unwrap().interval, secs(7));
}

#[test]
fn the_narrower_layer_wins_value_by_value() {
    let table = Table::text(
        "model_list:\n\
         - {model_name: g, litellm_params: {model: openai/a, api_key: k}, model_info: {id: d1, haleway: {interval: 4s, health: {fall: 9}}}}\n\
         - {model_name: g, litellm_params: {model: openai/a, api_key: k}, model_info: {id: d2, health_check_timeout: 2}}\n\
         - {model_name: h, litellm_params: {model: openai/a, api_key: k}, model_info: {id: d3}}\n\
         general_settings: {background_health_checks: true, health_check_interval: 100, health_check_staleness_threshold: 600}\n\
         haleway: {health: {interval: 50s, timeout: 9s}, groups: {g: {interval: 20s}}}\n",
    )
    .var("LITELLM_MASTER_KEY", "k")
    .var("HEALTH_CHECK_TIMEOUT_SECONDS", "33");
    let config = table.config();
    let value = |index: usize| {
        let probe = config.models[index].probe.unwrap();
        (probe.interval.as_secs(), probe.timeout.as_secs(), config.models[index].health.fall)
    };
    assert_eq!(value(0), (4, 9, 9));
    assert_eq!(value(1), (20, 2, 1));
    assert_eq!(value(2), (50, 9, 1));
}

#[test]
fn nobody_pays_for_probes_unasked() {
    let probed = |rest: &str| two(rest).config().models[0].skip_reason;
    assert_eq!(probed(""), Some("background_health_checks_off"));
    assert_eq!(probed("router_settings: {cooldown_time: 5}\n"), Some("background_health_checks_off"));
    assert_eq!(probed("haleway: {admin_listen: ':4001'}\n"), Some("background_health_checks_off"));
    assert_eq!(probed("general_settings: {background_health_checks: true}\n"), None);
    assert_eq!(probed("haleway: {profile: resilient}\n"), None);
    assert_eq!(probed("haleway: {health: {interval: 30s}}\n"), None);
    let off = "general_settings: {background_health_checks: false}\nhaleway: {profile: resilient}\n";
    assert_eq!(probed(off), Some("background_health_checks_off"));
    assert_eq!(probed("haleway: {health: {probe: {policy: never}}}\n"), Some("policy_never"));
    let on = "general_settings: {background_health_checks: true, master_key: k}\n";
    let own = |info: &str| {
        Table::text(format!("model_list: [{{model_name: g, litellm_params: {{model: openai/a, api_key: k}}, model_info: {{{info}}}}}]\n{on}"))
            .config()
            .models[0]
            .skip_reason
    };
    assert_eq!(own("disable_background_health_check: true"), Some("disabled"));
    assert_eq!(own("blocked: true"), Some("blocked"));
}

#[test]
fn a_budget_said_of_everything_bounds_the_sum_and_one_said_of_a_deployment_its_own() {
    let table = Table::text(
        "model_list:\n\
         - {model_name: g, litellm_params: {model: openai/a, api_key: k}, model_info: {id: d1, haleway: {budget: {usd_per_day: 0.5, probes_per_day: 7}}}}\n\
         - {model_name: h, litellm_params: {model: openai/a, api_key: k}, model_info: {id: d2}}\n\
         haleway: {health: {budget: {usd_per_day: 5, probes_per_day: 200}}}\n",
    )
    .var("LITELLM_MASTER_KEY", "k");
    assert_eq!(table.load().diagnostics, []);
    let config = table.config();
    let own = |index: usize| {
        let budget = config.models[index].budget;
        (budget.probes_per_day, budget.usd_per_day.map(|usd| usd.to_string()))
    };
    assert_eq!(own(0), (Some(7), Some("0.5".to_owned())));
    assert_eq!(own(1), (Some(200), None));
    assert_eq!(config.haleway.limits.total_usd_per_day.map(|usd| usd.to_string()).as_deref(), Some("5"));
    let rows = explain(&config);
    let shown: Vec<_> = rows
        .iter()
        .filter(|row| row.key == "budget.usd_per_day")
        .map(|row| (row.scope.as_str(), row.value.as_str()))
        .collect();
    assert_eq!(shown, [("global", "5"), ("deployment d1", "0.5")]);
}

#[test]
fn b06_costly_modes_are_probed_only_when_out_unless_a_deployment_or_its_group_says_otherwise() {
    let policy = |global: &str, own: &str, mode: &str| {
        let mode = if mode.is_empty() { String::new() } else { format!("mode: {mode}, ") };
        let config = Table::text(format!(
            "model_list: [{{model_name: g, litellm_params: {{model: openai/a, api_key: k}}, model_info: {{{mode}id: d1, haleway: {{{own}}}}}}}]\n\
             haleway: {{profile: resilient, health: {{{global}}}}}\n"
        ))
        .var("LITELLM_MASTER_KEY", "k")
        .config();
        let model = &config.models[0];
        let mode = model.info.mode.as_deref().and_then(Mode::from_name).unwrap_or(Mode::Chat);
        model.probe_as(mode).map(|probe| probe.policy)
    };
    for mode in
        ["image_generation", "image_edit", "video_generation", "audio_speech", "audio_transcription", "ocr"]
    {
        assert_eq!(policy("", "", mode), Some(ProbePolicy::OnlyWhenOut), "{mode}");
        assert_eq!(policy("probe: {policy: always}", "", mode), Some(ProbePolicy::OnlyWhenOut), "{mode}");
        assert_eq!(policy("", "probe: {policy: always}", mode), Some(ProbePolicy::Always), "{mode}");
        assert_eq!(policy("probe: {policy: never}", "", mode), None, "{mode}");
    }
    assert_eq!(policy("", "", ""), Some(ProbePolicy::Always));
    assert_eq!(policy("probe: {policy: when_idle}", "", "embedding"), Some(ProbePolicy::WhenIdle));
}

#[test]
fn wrong_values_and_places_of_health_keys() {
    for (key, severity, code) in [
        ("interval: soon", Severity::Error, "wrong-type"),
        ("interval: 0s", Severity::Error, "bad-value"),
        ("interval: 5 minutes", Severity::Error, "wrong-type"),
        ("fall: 0", Severity::Error, "bad-value"),
        ("fall: 1.5", Severity::Error, "wrong-type"),
        ("window: {failure_ratio: 1.5}", Severity::Error, "bad-value"),
        ("window: {buckets: 65}", Severity::Error, "bad-value"),
        ("window: 30s", Severity::Error, "wrong-type"),
        ("isolation: {multiplier: 0.5}", Severity::Error, "bad-value"),
        ("panic: {mode: loud}", Severity::Error, "bad-value"),
        ("probe: {can_restore: maybe}", Severity::Error, "wrong-type"),
        ("intervall: 30s", Severity::Warning, "unknown-key"),
        ("window: {lenght: 30s}", Severity::Warning, "unknown-key"),
        ("probe: {depth: deep}", Severity::Error, "bad-value"),
        ("budget: {usd_per_day: -1}", Severity::Error, "bad-value"),
        ("budget: {usd_per_day: much}", Severity::Error, "wrong-type"),
        ("suspect_interval: 500s", Severity::Warning, "interval-order"),
        ("isolation: {base: 60s, max: 30s}", Severity::Warning, "interval-order"),
    ] {
        let finding = two(&format!("haleway: {{health: {{{key}}}}}\n")).only();
        assert_eq!((finding.code, finding.severity), (code, severity), "{key}");
    }
    let finding = one("", "haleway: {all_out: wait}").only();
    assert_eq!(finding.code, "misplaced-key");
    let finding = two("haleway: {groups: {g: {probe: {per_host: 3}}}}\n").only();
    assert_eq!(finding.code, "misplaced-key");
    assert_eq!(two("haleway: {groups: {gg: {fall: 3}}}\n").only().code, "unknown-group");
    assert_eq!(two("haleway: {helth: {}}\n").only().hint.as_deref(), Some("did you mean `health`?"));
    assert_eq!(two("haleway: {fleet: {role: all}}\n").only().code, "accepted-no-effect");
    assert_eq!(two("haleway: {admin_listen: nowhere}\n").only().severity, Severity::Error);
    assert_eq!(two("haleway: {errors: {all_out_status: 200}}\n").only().severity, Severity::Error);
}

#[test]
fn times_that_nobody_set_follow_those_that_somebody_did() {
    let litellm =
        two("general_settings: {background_health_checks: true, health_check_interval: 8}\n").config();
    let probe = litellm.models[0].probe.unwrap();
    assert_eq!([probe.idle_interval, probe.suspect_interval, probe.backoff_max], [Duration::from_secs(8); 3]);
    let own = two("haleway: {health: {interval: 600s}}\n").config().models[0].probe.unwrap();
    assert_eq!(
        (own.idle_interval.as_secs(), own.backoff_max.as_secs(), own.suspect_interval.as_secs()),
        (600, 600, 5)
    );
    let short = two("haleway: {health: {interval: 2s}}\n").config().models[0].probe.unwrap();
    assert_eq!((short.suspect_interval.as_secs(), short.idle_interval.as_secs()), (2, 300));
}

#[test]
fn cooldown_keys_have_their_meaning_in_the_resilient_profile_too() {
    let rest = "haleway: {profile: resilient}\nrouter_settings: {cooldown_time: 70, allowed_fails_policy: {TimeoutErrorAllowedFails: 0}}\n";
    let health = &two(rest).config().models[0].health;
    assert_eq!((health.isolation.base.as_secs(), health.isolation.max.as_secs()), (70, 300));
    assert_eq!(health.litellm.unwrap().cooldown_time.as_secs(), 70);
    let off = two("haleway: {profile: resilient}\nrouter_settings: {disable_cooldowns: true}\n").config();
    let health = &off.models[0].health;
    assert_eq!((health.consecutive_failures, health.window.min_requests), (0, 0));
    let litellm = two("router_settings: {disable_cooldowns: true}\n").config();
    assert!(litellm.models[0].health.litellm.unwrap().disable_cooldowns);
    let one_name =
        two("router_settings: {cooldown_time: 70}\nhaleway: {health: {isolation: {base: 9s}}}\n").config();
    let health = &one_name.models[0].health;
    assert_eq!((health.isolation.base.as_secs(), health.litellm.unwrap().cooldown_time.as_secs()), (9, 9));
}

#[test]
fn an_http_probe_is_read_below_health_or_beside_it_and_its_mistakes_are_named() {
    let entry = |haleway: &str| {
        format!(
            "general_settings: {{master_key: sk-test-1234567890}}\nmodel_list:\n  - model_name: s\n    litellm_params: {{model: openai/s, api_base: http://s.local}}\n    model_info: {{mode: http, haleway: {haleway}}}\n"
        )
    };
    for haleway in [
        "{probe: {http: {path: /up, method: HEAD, status: 204, max_latency: 500ms}}}",
        "{probe.http: {path: /up, method: HEAD, status: 204, max_latency: 0.5}}",
        "{health: {probe: {policy: always, http: {path: /up, method: HEAD, status: 204, max_latency: 500ms}}}}",
    ] {
        let loaded = Table::text(entry(haleway)).load();
        assert!(loaded.diagnostics.is_empty(), "{haleway}: {:?}", loaded.diagnostics);
        let check = loaded.config.unwrap().models[0].info.probe.http.clone().unwrap();
        assert_eq!((check.path.as_str(), check.method.as_str(), check.status), ("/up", "HEAD", Some(204)));
        assert_eq!(check.max_latency, Some(Duration::from_millis(500)));
    }
    for (haleway, code) in [
        ("{probe: {http: {path: up}}}", "bad-value"),
        ("{probe: {http: {method: DELETE}}}", "bad-value"),
        ("{probe: {http: {status: 99}}}", "bad-value"),
        ("{probe: {http: {status: 600}}}", "bad-value"),
        ("{probe: {http: {pth: /up}}}", "unknown-key"),
        ("{probe: {http: 5}}", "wrong-type"),
    ] {
        let found = Table::text(entry(haleway)).load().diagnostics;
        assert!(found.iter().any(|finding| finding.code == code), "{haleway}: {found:?}");
    }
}
