//! The settings of the seeds, acting: LiteLLM's page on health-check-driven routing (003), the fork's mechanism (000)
//! and its troubleshooting guide (001).

use std::time::Duration;

use haleway_testkit::{Behaviour, Script, World, Yaml};
use serde_json::json;

const BYPASS_HEALTH: &str = "All deployments marked unhealthy by health checks, bypassing health filter";
const BYPASS_COOLDOWN: &str =
    "All deployments in cooldown via health-check routing, bypassing cooldown filter";

/// `d1` and `d2`, probed every ten seconds, routed by what probes find; cooldowns of a minute.
fn routed() -> Yaml {
    Yaml::b2()
        .probed_every(10)
        .set("general_settings.enable_health_check_routing", true)
        .set("router_settings.cooldown_time", 60)
}

fn policy(yaml: Yaml, field: &str, allowed: u64) -> Yaml {
    yaml.set(&format!("router_settings.allowed_fails_policy.{field}"), allowed)
}

async fn probed(world: &World, id: &str) {
    let provider = id.replace('d', "u");
    world.until("a probe was answered", || world.mock.counts(&provider).completed > 0).await;
    world.pass(Duration::from_millis(10)).await;
}

#[tokio::test(start_paused = true)]
async fn without_a_policy_the_first_failed_probe_takes_out_before_a_user_meets_it() {
    let world = World::of(routed()).with_script("u1", Behaviour::status(500)).start().await;
    world.until("d1 is out", || !world.is_in("d1")).await;
    assert_eq!(world.requests("u1"), 1);
    world.until("d2 was probed", || world.state("d2") == "HEALTHY").await;
    assert_eq!(world.chats("g", 20).await, [("d2".to_owned(), 20)].into());
    world.mock.script("u1", Script::ok());
    let took = world.until("d1 is back", || world.is_in("d1")).await;
    assert!(took <= Duration::from_secs(25), "{took:?}");
    let back = world.chats("g", 40).await;
    assert!(back["d1"] > 0 && back["d2"] > 0 && back.len() == 2, "{back:?}");
}

#[tokio::test(start_paused = true)]
async fn without_routing_by_health_checks_a_failed_probe_is_only_shown() {
    let yaml = Yaml::b2().probed_every(10).set("router_settings.cooldown_time", 60);
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    world.until("d1 was probed", || world.requests("u1") >= 3).await;
    assert!(world.is_in("d1"));
    let page = world.get("/health").await.json();
    assert_eq!(page["unhealthy_endpoints"][0]["model_id"], "d1", "{page}");
    world.mock.script("u1", Script::ok());
    assert!(world.chats("g", 40).await["d1"] > 0);
}

#[tokio::test(start_paused = true)]
async fn allowed_fails_n_acts_on_failed_probe_n_plus_one() {
    for (field, failure) in [
        ("AuthenticationErrorAllowedFails", Behaviour::status(401)),
        ("InternalServerErrorAllowedFails", Behaviour::status(500)),
        ("RateLimitErrorAllowedFails", Behaviour::status(429)),
        ("TimeoutErrorAllowedFails", Behaviour::status(408)),
    ] {
        for allowed in 0..=2 {
            let world =
                World::of(policy(routed(), field, allowed)).with_script("u1", failure.clone()).start().await;
            world.until(&format!("{field} {allowed}"), || !world.is_in("d1")).await;
            assert_eq!(world.requests("u1"), allowed + 1, "{field}: {allowed}");
            assert!(world.is_in("d2"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn failed_probes_and_failed_requests_share_the_counter() {
    let yaml = policy(routed(), "InternalServerErrorAllowedFails", 1);
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    probed(&world, "d1").await;
    assert!(world.is_in("d1"));
    assert_eq!(world.chat("d1").await.status, 500);
    assert!(!world.is_in("d1"), "one failed probe and one failed request are two failures");
    assert_eq!(world.requests("u1"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_policy_switches_the_binary_filter_off() {
    let yaml = policy(routed(), "TimeoutErrorAllowedFails", 3);
    let world = World::of(yaml).with_script("u1", Behaviour::status(408)).start().await;
    probed(&world, "d1").await;
    let page = world.get("/health").await.json();
    assert_eq!(page["unhealthy_endpoints"][0]["model_id"], "d1", "{page}");
    assert!(world.is_in("d1"), "unhealthy, and still in rotation");
}

#[tokio::test(start_paused = true)]
async fn listed_groups_keep_the_binary_filter_with_a_policy() {
    let yaml = policy(routed(), "TimeoutErrorAllowedFails", 3)
        .set("general_settings.background_health_check_model_groups", json!(["g"]));
    let world = World::of(yaml).with_script("u1", Behaviour::status(408)).start().await;
    world.until("d1 is out", || !world.is_in("d1")).await;
    assert_eq!(world.requests("u1"), 1);
}

#[tokio::test(start_paused = true)]
async fn groups_that_are_not_listed_are_neither_probed_nor_filtered() {
    let yaml = routed()
        .deployment("other", "d3")
        .deployment("other", "d4")
        .set("general_settings.background_health_check_model_groups", json!(["g"]));
    let world = World::of(yaml).with_script("u3", Behaviour::status(500)).start().await;
    world.pass_secs(45).await;
    assert!(world.requests("u1") >= 4 && world.requests("u2") >= 4);
    assert_eq!((world.requests("u3"), world.requests("u4")), (0, 0));
    let page = world.get("/health").await.json();
    assert_eq!(
        (&page["healthy_count"], &page["unhealthy_count"], &page["skipped_count"]),
        (&json!(2), &json!(0), &json!(2))
    );
    assert_eq!(world.chat("d3").await.status, 500);
    assert!(world.is_in("d3"), "one failed request is not enough here");
}

#[tokio::test(start_paused = true)]
async fn transient_errors_of_probes_can_be_ignored_and_hard_ones_cannot() {
    for (status, stays) in [(429, true), (408, true), (401, false), (404, false), (500, false), (503, false)]
    {
        let yaml = routed().set("general_settings.health_check_ignore_transient_errors", true);
        let world = World::of(yaml).with_script("u1", Behaviour::status(status)).start().await;
        world.until("three probes", || world.requests("u1") >= 3 || !world.is_in("d1")).await;
        assert_eq!(world.is_in("d1"), stays, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_ignored_error_does_not_feed_the_counters_of_a_policy() {
    let yaml = policy(routed(), "RateLimitErrorAllowedFails", 0)
        .set("general_settings.health_check_ignore_transient_errors", true);
    let world = World::of(yaml).with_script("u1", Behaviour::status(429)).start().await;
    world.until("three probes", || world.requests("u1") >= 3).await;
    assert!(world.is_in("d1"));
}

#[tokio::test(start_paused = true)]
async fn when_all_are_marked_unhealthy_traffic_flows_and_the_log_says_so() {
    let bad = Behaviour::status(500);
    let world = World::of(routed()).with_script("u1", bad.clone()).with_script("u2", bad).start().await;
    world.until("both are out", || !world.is_in("d1") && !world.is_in("d2")).await;
    world.mock.script("u1", Script::ok());
    world.mock.script("u2", Script::ok());
    assert_eq!(world.chat("g").await.status, 200);
    world.until("the log says so", || world.logs.has(BYPASS_HEALTH)).await;
    assert!(!world.logs.has(BYPASS_COOLDOWN));
}

#[tokio::test(start_paused = true)]
async fn when_all_are_in_cooldown_traffic_flows_and_the_log_says_so() {
    let bad = Behaviour::status(500);
    let yaml = policy(routed(), "InternalServerErrorAllowedFails", 0);
    let world = World::of(yaml).with_script("u1", bad.clone()).with_script("u2", bad).start().await;
    world.until("both are out", || !world.is_in("d1") && !world.is_in("d2")).await;
    let before = world.requests("u1") + world.requests("u2");
    assert_eq!(world.chat("g").await.status, 500, "the provider's failure, not a refusal of the gateway");
    assert!(world.requests("u1") + world.requests("u2") > before);
    world.until("the log says so", || world.logs.has(BYPASS_COOLDOWN)).await;
    assert!(!world.logs.has(BYPASS_HEALTH));
}

#[tokio::test(start_paused = true)]
async fn the_debug_lines_of_the_guide_are_written() {
    let yaml = policy(routed(), "InternalServerErrorAllowedFails", 0);
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    world.until("d1 is out and d2 is well", || !world.is_in("d1") && world.state("d2") == "HEALTHY").await;
    world
        .until("the state line", || {
            world.logs.has("health_check_routing_state_updated healthy=1 unhealthy=1")
        })
        .await;
    assert!(world.logs.has("checks 'should_run_cooldown_logic'"));
    assert!(world.logs.has("Attempting to add d1 to cooldown list"));
    assert!(world.logs.has("background_health_check_loop_started interval_seconds=10 deployments=2"));
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_lasts_as_long_as_it_is_set_to() {
    let yaml = Yaml::b2().set("router_settings.cooldown_time", 20).set("router_settings.allowed_fails", 0);
    let world = World::of(yaml).with_script("u1", Script::first([Behaviour::status(500)])).start().await;
    assert_eq!(world.chat("d1").await.status, 500);
    assert!(!world.is_in("d1"));
    let took =
        world.until("the cooldown is over", || world.is_in("d1") || world.state("d1") == "TRIAL").await;
    assert!((18..=24).contains(&took.as_secs()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_counter_that_dies_between_probes_never_adds_up() {
    let yaml = policy(routed(), "TimeoutErrorAllowedFails", 1).set("router_settings.cooldown_time", 5);
    let world = World::of(yaml).with_script("u1", Behaviour::status(408)).start().await;
    world.until("five probes", || world.requests("u1") >= 5).await;
    assert!(world.is_in("d1"));
}

#[tokio::test(start_paused = true)]
async fn a_verdict_older_than_the_staleness_threshold_is_no_verdict() {
    let yaml = routed()
        .set("general_settings.health_check_interval", 300)
        .set("general_settings.health_check_staleness_threshold", 30);
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).with_seed(3).start().await;
    world.until_within(Duration::from_secs(301), "d1 is out", || !world.is_in("d1")).await;
    let took = world.until("its verdict is stale", || world.is_in("d1")).await;
    assert!((29..=32).contains(&took.as_secs()), "{took:?}");
    assert_eq!(world.requests("u1"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_disabled_deployment_is_never_probed_and_serves() {
    let yaml = routed().set("d1.model_info.disable_background_health_check", true);
    let world = World::start(yaml).await;
    world.until("d2 was probed", || world.requests("u2") >= 5).await;
    assert_eq!(world.requests("u1"), 0);
    assert!(world.chats("g", 40).await["d1"] > 0);
}

#[tokio::test(start_paused = true)]
async fn the_environment_of_the_seeds_acts() {
    let yaml = Yaml::b2()
        .set("general_settings.background_health_checks", true)
        .set("d2.model_info.mode", "embedding");
    let env = [
        ("DEFAULT_HEALTH_CHECK_INTERVAL", "20"),
        ("HEALTH_CHECK_TIMEOUT_SECONDS", "3"),
        ("DEFAULT_HEALTH_CHECK_PROMPT", "are you there"),
        ("BACKGROUND_HEALTH_CHECK_MAX_TOKENS", "9"),
    ];
    let world = World::of(yaml).with_env(&env).start().await;
    world.pass_secs(201).await;
    let seen = world.requests("u1");
    assert!((9..=12).contains(&seen), "{seen} probes in ten intervals of 20 s");
    assert_eq!(world.mock.kept("u1")[0].body["max_tokens"], 9);
    // The prompt is for probes that are not chat.
    assert_eq!(world.mock.kept("u2")[0].body["input"], json!(["are you there"]));
    world.mock.script("u1", Behaviour::hang());
    let before = world.mock.counts("u1").cancelled;
    world.until("a probe hangs", || world.mock.counts("u1").in_flight == 1).await;
    let took = world.until("it is given up", || world.mock.counts("u1").cancelled > before).await;
    assert!((2_900..=3_200).contains(&took.as_millis()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_file_outranks_the_environment() {
    let world = World::of(Yaml::b1().probed_every(10))
        .with_env(&[("DEFAULT_HEALTH_CHECK_INTERVAL", "300")])
        .start()
        .await;
    world.pass_secs(101).await;
    let seen = world.requests("u1");
    assert!((9..=12).contains(&seen), "{seen}");
}

#[tokio::test(start_paused = true)]
async fn a_probe_may_ask_another_model_with_its_own_cap() {
    let yaml = Yaml::b1()
        .probed_every(5)
        .set("d1.model_info.health_check_model", "openai/tiny")
        .set("d1.model_info.health_check_max_tokens", 7);
    let world = World::start(yaml).await;
    probed(&world, "d1").await;
    let body = &world.mock.kept("u1")[0].body;
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("tiny"), &json!(7)));
    assert_eq!(world.chat("g").await.status, 200);
    assert_eq!(world.mock.counts("u1").models["stub"], 1);
}

#[tokio::test(start_paused = true)]
async fn probes_are_spread_over_the_interval() {
    let yaml = (1..=8).fold(Yaml::new(), |yaml, n| yaml.deployment("g", &format!("d{n}"))).probed_every(60);
    let world = World::start(yaml).await;
    world.pass_secs(70).await;
    let mut first: Vec<u64> = (1..=8).map(|n| world.mock.kept(&format!("u{n}"))[0].at_ms).collect();
    first.sort_unstable();
    assert!(first[7] - first[0] > 15_000, "{first:?}");
    let close = first.windows(2).filter(|pair| pair[1] - pair[0] < 50).count();
    assert!(close <= 1, "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn probes_of_one_deployment_never_overlap_and_one_that_hangs_delays_no_other() {
    let yaml = Yaml::b2().probed_every(2).set("d1.model_info.health_check_timeout", 9);
    let world = World::of(yaml).with_script("u1", Behaviour::hang()).start().await;
    world.pass_secs(60).await;
    let hanging = world.mock.counts("u1");
    assert_eq!(hanging.max_in_flight, 1);
    assert!((4..=8).contains(&hanging.requests), "{hanging:?}");
    let seen = world.requests("u2");
    assert!((26..=34).contains(&seen), "{seen} probes in thirty intervals");
}

#[tokio::test(start_paused = true)]
async fn concurrency_bounds_the_probes_in_flight() {
    let mut yaml =
        (1..=9).fold(Yaml::new(), |yaml, n| yaml.deployment("g", &format!("d{n}"))).probed_every(5);
    for n in 1..=9 {
        yaml = yaml.set(&format!("d{n}.litellm_params.api_key"), "sk-all");
    }
    let slow = Script::from(Behaviour::ok().latency(Duration::from_secs(4)));
    let bounded = yaml.clone().set("general_settings.health_check_concurrency", 2);
    for (yaml, most) in [(bounded, 2), (yaml, 9)] {
        let world = World::of(yaml).with_script("sk-all", slow.clone()).start().await;
        world.pass_secs(60).await;
        let seen = world.mock.counts("sk-all");
        assert!(seen.max_in_flight <= most && seen.requests > 10, "{seen:?}");
        assert_eq!(seen.max_in_flight == 2, most == 2, "{seen:?}");
    }
}
