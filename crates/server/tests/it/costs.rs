//! What probes cost: the ledger, the budgets, the policies and the ladder of free and real calls, end to end.

use haleway_testkit::{Behaviour, Script, World, Yaml};
use serde_json::{Value, json};

/// One deployment that costs a cent per token, probed every second.
fn priced() -> Yaml {
    Yaml::b1()
        .probed_every(1)
        .set("d1.model_info.input_cost_per_token", 0.01)
        .set("d1.model_info.output_cost_per_token", 0.02)
}

fn usage(prompt: u64, completion: u64) -> Behaviour {
    let mut behaviour = Behaviour::ok();
    behaviour.prompt_tokens = Some(prompt);
    behaviour.completion_tokens = Some(completion);
    behaviour
}

/// Requests that reached `name` on paths that end with `path`.
fn on(world: &World, name: &str, path: &str) -> u64 {
    let paths = world.mock.counts(name).paths;
    paths.iter().filter(|(known, _)| known.ends_with(path)).map(|(_, count)| count).sum()
}

async fn probe(world: &World, id: &str) -> Value {
    world.post(&format!("/haleway/deployments/{id}/probe"), &json!({})).await.json()
}

#[tokio::test(start_paused = true)]
async fn b09_probes_have_a_ledger_of_their_own_with_the_right_price() {
    let world = World::of(priced()).with_script("u1", usage(10, 5)).start().await;
    world.until("twenty probes", || world.requests("u1") >= 20).await;
    assert_eq!(world.chat("g").await.status, 200);
    world.gateway.shutdown.cancel();
    world.pass_secs(3).await;
    let probes = world.requests("u1") - 1;
    let cost = world.detail("d1").await["probe_cost"].clone();
    assert_eq!(cost["requests"], probes, "{cost}");
    assert_eq!(cost["tokens"], 15 * probes, "{cost}");
    assert_eq!(cost["rungs"]["generation"]["requests"], probes, "{cost}");
    let usd = cost["usd"].as_f64().unwrap();
    assert!((usd - 0.2 * probes as f64).abs() < 1e-9, "10 × 0.01 + 5 × 0.02 each: {cost}");
    assert_eq!((&cost["estimated_requests"], &cost["unpriced_requests"]), (&json!(0), &json!(0)));
    assert_eq!(world.detail("d1").await["price_today_usd"], usd);
    let metrics = world.get("/metrics").await.text();
    assert!(
        metrics.contains(&format!(
            r#"haleway_probe_requests_total{{deployment="d1",rung="generation"}} {probes}"#
        )),
        "{metrics}"
    );
    assert!(
        metrics.contains(r#"haleway_probe_cost_usd_total{deployment="d1",rung="generation"}"#),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn b09_probes_touch_no_statistic_of_routing_and_no_rate_limit() {
    let yaml = priced().set("d1.litellm_params.rpm", 2).set("d1.litellm_params.tpm", 40);
    let world = World::of(yaml).with_script("u1", usage(10, 5)).start().await;
    world.until("twenty probes", || world.requests("u1") >= 20).await;
    let stats = || format!("{:?}", world.gateway.live.load().stats);
    let after_probes = stats();
    assert_eq!(world.chat("g").await.status, 200, "the limits are the callers' alone");
    assert_ne!(after_probes, stats(), "a call does count");
    let quiet = World::start(Yaml::b1()).await;
    assert_eq!(after_probes, format!("{:?}", quiet.gateway.live.load().stats), "probes do not");
}

#[tokio::test(start_paused = true)]
async fn b01_a_budget_in_dollars_ends_paying_and_traffic_keeps_the_verdict() {
    // Each probe costs 0.2, of at most 0.42 + what its prompt may have: three fit into the day.
    let yaml = priced().set("d1.model_info.haleway.budget.usd_per_day", 1.2);
    let world = World::of(yaml).with_script("u1", usage(10, 5)).start().await;
    world.pass_secs(60).await;
    let paid = on(&world, "u1", "/chat/completions");
    assert!((1..=6).contains(&paid), "{paid} paid probes");
    let row = world.detail("d1").await;
    assert_eq!(row["probe_cost"]["budget"]["used_up"], "usd_per_day", "{row}");
    assert!(row["probe_cost"]["usd"].as_f64().unwrap() <= 1.2, "{row}");
    assert_ne!(row["probe_cost"]["budget"]["resumes_at"], Value::Null);
    assert_eq!(world.logs.count("budget for probes is used up"), 1, "told once");
    for _ in 0..30 {
        assert_eq!(world.chat("g").await.status, 200);
        world.pass_secs(1).await;
    }
    assert_eq!(world.state("d1"), "HEALTHY", "never unhealthy for it");
    assert_eq!(on(&world, "u1", "/chat/completions"), paid + 30, "no probe among them");
    let page = world.get("/health").await.json();
    assert_eq!(page["healthy_count"], 1, "{page}");
    assert_eq!(page["healthy_endpoints"][0]["probe_budget_used_up"], "usd_per_day");
}

#[tokio::test(start_paused = true)]
async fn a_number_of_probes_per_day_is_obeyed_and_free_calls_go_on() {
    let yaml = Yaml::b1()
        .probed_every(1)
        .set("general_settings.master_key", "sk-master")
        .set("haleway.health.budget.probes_per_day", 3);
    let world = World::start(yaml).await;
    world.pass_secs(60).await;
    assert_eq!(on(&world, "u1", "/chat/completions"), 3);
    assert!(on(&world, "u1", "/models") >= 20, "{:?}", world.mock.counts("u1").paths);
    assert_eq!(world.state("d1"), "HEALTHY");
    let cost = world.detail("d1").await["probe_cost"].clone();
    assert_eq!(cost["rungs"]["generation"]["requests"], 3, "{cost}");
    assert_eq!(cost["rungs"]["free"]["usd"], 0.0, "{cost}");
    let ended = probe(&world, "d1").await;
    assert_eq!(ended["probe"], "over_budget", "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("used up until"), "{ended}");
}

#[tokio::test(start_paused = true)]
async fn the_day_ends_at_midnight_utc() {
    let yaml = Yaml::b1().probed_every(600).set("haleway.health.budget.probes_per_day", 2);
    let world = World::start(yaml).await;
    world.pass_secs(2 * 24 * 60 * 60).await;
    let paid = on(&world, "u1", "/chat/completions");
    assert!((4..=6).contains(&paid), "two on each of two or three days: {paid}");
}

#[tokio::test(start_paused = true)]
async fn the_sum_of_all_deployments_has_a_budget() {
    let yaml = Yaml::b2().probed_every(1).set("haleway.health.budget.total_probes_per_day", 5);
    let world = World::start(yaml).await;
    world.pass_secs(30).await;
    assert_eq!(on(&world, "u1", "/chat/completions") + on(&world, "u2", "/chat/completions"), 5);
    let page = world.get("/haleway/deployments").await.json();
    let total = &page["probe_cost_today"];
    assert_eq!(total["rungs"]["generation"]["requests"], 5, "{total}");
    assert_eq!(total["budget"]["used_up"], "total_probes_per_day", "{total}");
    assert_eq!(world.logs.count("budget for all probes is used up"), 1);
}

#[tokio::test(start_paused = true)]
async fn repairs_are_counted_apart() {
    let yaml = priced().set("d1.model_info.health_check_max_tokens", 5);
    let world = World::of(yaml).with_script("u1", Script::ok().token_floor(16)).start().await;
    world.until("the repair was answered", || world.mock.counts("u1").completed >= 2).await;
    world.pass_secs(1).await;
    let cost = world.detail("d1").await["probe_cost"].clone();
    assert_eq!(cost["rungs"]["repair"]["requests"], 1, "{cost}");
    assert!(cost["rungs"]["repair"]["usd"].as_f64().unwrap() > 0.0, "{cost}");
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_costs_nothing_and_what_hangs_is_estimated() {
    let yaml = priced().deployment("g", "d2").set("d2.model_info.input_cost_per_token", 0.01);
    let yaml = yaml.set("d2.model_info.health_check_timeout", 1);
    let world = World::of(yaml)
        .with_script("u1", Behaviour::status(500))
        .with_script("u2", Behaviour::hang())
        .start()
        .await;
    world.until("both were asked", || world.requests("u1") > 0 && world.requests("u2") > 0).await;
    world.pass_secs(5).await;
    let refused = world.detail("d1").await["probe_cost"].clone();
    assert_eq!((&refused["usd"], &refused["estimated_requests"]), (&json!(0.0), &json!(0)), "{refused}");
    let hung = world.detail("d2").await["probe_cost"].clone();
    assert!(hung["usd"].as_f64().unwrap() > 0.0, "{hung}");
    assert_eq!(hung["estimated_requests"], hung["requests"], "{hung}");
}

#[tokio::test(start_paused = true)]
async fn b06_only_when_out_probes_what_is_down_and_nothing_else() {
    let yaml = Yaml::b2()
        .probed_every(1)
        .set("haleway.profile", "resilient")
        .set("haleway.health.consecutive_failures", 3)
        .set("haleway.health.isolate_lone", true)
        .set("haleway.health.probe.policy", "only_when_out");
    let world = World::start(yaml).await;
    for _ in 0..10 {
        assert_eq!(world.chat("g").await.status, 200);
        world.pass_secs(1).await;
    }
    let served = world.requests("u1") + world.requests("u2");
    assert_eq!(served, 10, "no probe while both are in");
    world.mock.script("u1", Behaviour::status(500));
    for _ in 0..40 {
        world.chat("g").await;
    }
    assert!(!world.is_in("d1"), "{}", world.state("d1"));
    let before = world.requests("u1");
    world.mock.script("u1", Behaviour::ok());
    let waited = world.until("d1 is back", || world.is_in("d1")).await;
    assert!(world.requests("u1") > before, "a probe found it");
    assert!(waited.as_secs() <= 10, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn when_idle_and_always_spare_what_traffic_proves() {
    for (policy, spared) in [("when_idle", true), ("always", true), ("never", false)] {
        let yaml = Yaml::b1()
            .probed_every(10)
            .set("haleway.profile", "resilient")
            .set("haleway.health.interval", "10s")
            .set("haleway.health.idle_interval", "10s")
            .set("haleway.health.probe.policy", policy);
        let world = World::start(yaml).await;
        for _ in 0..60 {
            assert_eq!(world.chat("g").await.status, 200);
            world.pass_secs(1).await;
        }
        let probes = world.requests("u1") - 60;
        assert!(probes <= 1, "{policy}: {probes} probes beside traffic");
        world.pass_secs(60).await;
        let idle = world.requests("u1") - 60 - probes;
        assert_eq!(idle >= 4, spared, "{policy}: {idle} probes without traffic");
    }
}

/// A deployment that makes pictures, probed every second if its policy lets it.
fn pictures() -> Yaml {
    Yaml::b2()
        .probed_every(1)
        .set("haleway.profile", "resilient")
        .set("haleway.health.interval", "1s")
        .set("haleway.health.consecutive_failures", 3)
        .set("d1.model_info.mode", "image_generation")
        .set("d2.model_info.mode", "image_generation")
        .set("d1.model_info.output_cost_per_image", 0.04)
        .set("d2.model_info.output_cost_per_image", 0.04)
}

#[tokio::test(start_paused = true)]
async fn b06_pictures_are_bought_only_while_out_and_after_a_free_call() {
    let world = World::start(pictures()).await;
    world.pass_secs(30).await;
    assert_eq!(world.requests("u1") + world.requests("u2"), 0, "nothing while in");
    let page = world.get("/health").await.json();
    assert_eq!(page["unknown_count"], 2, "{page}");
    assert_eq!(page["unknown_endpoints"][0]["reason"], "probed_only_when_out");
    world.mock.script("u1", Behaviour::status(500));
    for _ in 0..40 {
        world.post("/v1/images/generations", &json!({"model": "g", "prompt": "a dot"})).await;
    }
    assert!(!world.is_in("d1"), "{}", world.state("d1"));
    let (before, listed) = (on(&world, "u1", "/images/generations"), on(&world, "u1", "/models"));
    assert_eq!(listed, 0);
    world.pass_secs(5).await;
    assert!(on(&world, "u1", "/models") > 0, "the free call goes first");
    assert_eq!(on(&world, "u1", "/images/generations"), before, "and while it fails nothing is paid");
    world.mock.script("u1", Behaviour::ok());
    world.until("d1 is back", || world.is_in("d1")).await;
    assert!(on(&world, "u1", "/images/generations") > before, "a picture proves it");
    let cost = world.detail("d1").await["probe_cost"].clone();
    let bought = cost["requests"].as_u64().unwrap() - cost["rungs"]["free"]["requests"].as_u64().unwrap();
    assert!((cost["usd"].as_f64().unwrap() - 0.04 * bought as f64).abs() < 1e-9, "{cost}");
}

#[tokio::test(start_paused = true)]
async fn a_deployment_that_asks_for_it_is_probed_free_while_in_and_real_with_depth_generation() {
    let asked = pictures().set("d1.model_info.haleway.probe.policy", "always");
    let world = World::start(asked.set("d1.model_info.haleway.idle_interval", "1s")).await;
    world.pass_secs(20).await;
    assert!(on(&world, "u1", "/models") >= 10, "{:?}", world.mock.counts("u1").paths);
    assert_eq!(on(&world, "u1", "/images/generations"), 0);
    assert_eq!(world.state("d1"), "HEALTHY");
    let evidence = world.detail("d1").await["evidence"]["latest_probe"].clone();
    assert_eq!(evidence["depth"], "free", "and says so: {evidence}");
    let real = pictures()
        .set("d1.model_info.haleway.probe.policy", "always")
        .set("d1.model_info.haleway.idle_interval", "1s")
        .set("d1.model_info.haleway.probe.depth", "generation");
    let world = World::start(real).await;
    world.pass_secs(20).await;
    assert!(on(&world, "u1", "/images/generations") >= 10);
    assert_eq!(on(&world, "u1", "/models"), 0);
}

#[tokio::test(start_paused = true)]
async fn depth_free_never_pays() {
    let world = World::start(Yaml::b1().probed_every(1).set("haleway.health.probe.depth", "free")).await;
    world.pass_secs(20).await;
    assert!(on(&world, "u1", "/models") >= 10);
    assert_eq!(on(&world, "u1", "/chat/completions"), 0);
    assert_eq!(world.state("d1"), "HEALTHY");
    assert_eq!(world.detail("d1").await["price_today_usd"], 0.0);
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_shows_on_a_free_call_too() {
    let yaml = Yaml::b1()
        .probed_every(1)
        .set("haleway.profile", "resilient")
        .set("haleway.health.probe.depth", "free");
    let world = World::of(yaml).with_script("u1", Script::ok().key("sk-another")).start().await;
    world.until("d1 is out", || !world.is_in("d1")).await;
    assert_eq!(world.detail("d1").await["cause"], "auth");
    assert_eq!(on(&world, "u1", "/chat/completions"), 0);
}

#[tokio::test(start_paused = true)]
async fn a25_a_free_call_that_is_not_served_says_nothing() {
    let world = World::of(Yaml::b1().probed_every(1).set("haleway.health.probe.depth", "free"))
        .with_script("u1", Script::ok().paths(["/v1/chat/completions"]))
        .start()
        .await;
    world.pass_secs(20).await;
    assert_eq!(world.state("d1"), "UNKNOWN");
    let page = world.get("/health").await.json();
    let reason = page["unknown_endpoints"][0]["reason"].as_str().unwrap().to_owned();
    assert!(reason.starts_with("probe_path_404"), "{page}");
    assert!(reason.contains("/v1/models"), "{reason}");
    assert_eq!(world.chat("g").await.status, 200, "traffic flows");
}

#[tokio::test(start_paused = true)]
async fn b02_asking_for_everything_buys_no_pictures_and_asking_by_name_buys_one() {
    let yaml = pictures().set("general_settings.background_health_checks", false);
    let world = World::start(yaml).await;
    let page = world.get("/health").await.json();
    assert_eq!(on(&world, "u1", "/images/generations"), 0, "{page}");
    assert_eq!(on(&world, "u1", "/models"), 1, "the free call");
    assert_eq!(page["healthy_count"], 2, "{page}");
    world.pass_secs(2).await;
    world.get("/health?model_id=d1").await;
    assert_eq!(on(&world, "u1", "/images/generations"), 1);
    let cost = world.detail("d1").await["probe_cost"].clone();
    assert_eq!(cost["rungs"]["on_demand"]["usd"], 0.04, "{cost}");
}
