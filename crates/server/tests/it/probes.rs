//! Probes as providers see them: the right operation, the deployment's own credential and headers, one request each.

use std::time::Duration;

use haleway_testkit::{Behaviour, Kept, Script, World, Yaml};
use serde_json::{Value, json};

/// The output limit that a request asks for.
fn cap(kept: &Kept) -> u64 {
    ["max_tokens", "max_completion_tokens"]
        .iter()
        .find_map(|name| kept.body[*name].as_u64())
        .unwrap_or_else(|| panic!("no cap: {kept:?}"))
}

async fn healthy(world: &World, id: &str) {
    world.until(&format!("{id} is healthy"), || world.state(id) == "HEALTHY").await;
}

/// The row of a deployment on `/health`, and the list it is in.
async fn row(world: &World, id: &str) -> (String, Value) {
    let page = world.get("/health").await.json();
    for list in ["healthy", "unhealthy", "unknown", "skipped"] {
        let rows = page[format!("{list}_endpoints")].as_array().unwrap().clone();
        if let Some(row) = rows.into_iter().find(|row| row["model_id"] == *id) {
            return (list.to_owned(), row);
        }
    }
    panic!("{id} is in no list: {page}")
}

#[tokio::test(start_paused = true)]
async fn a01_token_floor_is_learnt_once() {
    let yaml = Yaml::b1().probed_every(1).set("d1.model_info.health_check_max_tokens", 5);
    let world = World::of(yaml).with_script("u1", Script::ok().token_floor(16)).start().await;
    world.until("a probe was answered", || world.requests("u1") > 0).await;
    healthy(&world, "d1").await;
    let first = world.requests("u1");
    assert!(first <= 2, "the first cycle took {first} requests");
    world.pass_secs(10).await;
    let later = world.requests("u1") - first;
    assert!((8..=12).contains(&later), "{later} requests in ten cycles");
    let kept = world.mock.kept("u1");
    assert!(kept[1..].iter().all(|kept| cap(kept) >= 16), "{:?}", kept.iter().map(cap).collect::<Vec<_>>());
    assert_eq!(world.state("d1"), "HEALTHY");
}

#[tokio::test(start_paused = true)]
async fn a01_a_model_that_thinks_first_is_not_unhealthy() {
    let world =
        World::of(Yaml::b1().probed_every(1)).with_script("u1", Script::ok().reasoning(60)).start().await;
    healthy(&world, "d1").await;
    world.pass_secs(5).await;
    assert_eq!(row(&world, "d1").await.0, "healthy");
}

#[tokio::test(start_paused = true)]
async fn a02_a_talkative_model_is_capped_and_healthy() {
    let talk = Behaviour::ok().text("word ".repeat(2000)).gap(Duration::from_millis(100));
    let yaml = Yaml::b1().probed_every(5).set("d1.model_info.health_check_timeout", 2);
    let world = World::of(yaml).with_script("u1", talk).start().await;
    healthy(&world, "d1").await;
    assert!(world.mock.kept("u1").iter().all(|kept| cap(kept) <= 64));
    let (list, row) = row(&world, "d1").await;
    assert_eq!(list, "healthy");
    assert!(row["response_time_ms"].as_f64().unwrap() < 2000.0, "{row}");
}

#[tokio::test(start_paused = true)]
async fn a03_an_embedding_deployment_is_probed_as_one() {
    let yaml = Yaml::b1().probed_every(1).set("d1.model_info.mode", "embedding");
    let world = World::of(yaml).with_script("u1", Script::ok().paths(["/v1/embeddings"])).start().await;
    healthy(&world, "d1").await;
    for kept in world.mock.kept("u1") {
        assert_eq!(kept.path, "/v1/embeddings");
        assert_ne!(kept.body["input"], json!([]));
        assert_ne!(kept.body["input"], json!(""));
        for field in ["messages", "max_tokens", "max_completion_tokens", "stream"] {
            assert_eq!(kept.body[field], Value::Null, "{field}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a13_the_deployments_headers_go_with_the_probe() {
    let yaml = Yaml::b1().probed_every(1).set("d1.litellm_params.extra_headers", json!({"x-sub": "canary"}));
    let mut script = Script::ok();
    script.require_headers.insert("x-sub".to_owned(), "canary".to_owned());
    let world = World::of(yaml).with_script("u1", script).start().await;
    healthy(&world, "d1").await;
    assert_eq!(world.mock.kept("u1")[0].header("x-sub"), Some("canary"));
    assert_eq!(world.chat("g").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn a15_nothing_of_model_info_reaches_the_wire() {
    let yaml = Yaml::b1()
        .probed_every(1)
        .set("d1.model_info.supports_canary_flag", true)
        .set("d1.model_info.note", "x");
    let world = World::of(yaml).with_script("u1", Script::ok().strict()).start().await;
    healthy(&world, "d1").await;
    assert_eq!(world.chat("g").await.status, 200);
    for kept in world.mock.kept("u1") {
        assert_eq!((&kept.body["supports_canary_flag"], &kept.body["note"]), (&Value::Null, &Value::Null));
    }
}

#[tokio::test(start_paused = true)]
async fn a16_a_provider_in_its_own_field_is_probed_like_a_prefix() {
    let yaml = Yaml::b1()
        .probed_every(1)
        .set("d1.litellm_params.model", "mix:7b")
        .set("d1.litellm_params.custom_llm_provider", "openai");
    let world = World::of(yaml).with_script("u1", Script::ok().models(["mix:7b"])).start().await;
    healthy(&world, "d1").await;
    assert_eq!(world.chat("g").await.status, 200);
    let models = world.mock.counts("u1").models;
    assert_eq!(models.keys().collect::<Vec<_>>(), ["mix:7b"]);
}

#[tokio::test(start_paused = true)]
async fn a24_probes_carry_the_credential_of_traffic() {
    let yaml = Yaml::b1().probed_every(1).set("d1.litellm_params.api_key", "os.environ/UP_KEY");
    let world = World::of(yaml)
        .with_env(&[("UP_KEY", "sk-canary-1")])
        .with_script("u1", Script::ok().key("sk-canary-1"))
        .start()
        .await;
    healthy(&world, "d1").await;
    assert_eq!(world.chat("g").await.status, 200);
    world.pass_secs(3).await;
    let keys = world.mock.counts("u1").keys;
    assert_eq!(keys.keys().collect::<Vec<_>>(), ["sk-canary-1"]);
    assert_eq!(world.state("d1"), "HEALTHY");
}

#[tokio::test(start_paused = true)]
async fn a27_a_slow_server_is_healthy_within_its_own_deadline_and_asked_once_per_cycle() {
    let yaml = Yaml::b2()
        .probed_every(5)
        .set("d1.model_info.health_check_timeout", 2)
        .set("d2.model_info.health_check_timeout", 1);
    let slow = Behaviour::ok().latency(Duration::from_millis(1200));
    let world = World::of(yaml).with_script("u1", slow.clone()).with_script("u2", slow).start().await;
    world.pass_secs(51).await;
    assert_eq!(row(&world, "d1").await.0, "healthy");
    let seen = world.requests("u1");
    assert!((9..=12).contains(&seen), "{seen} requests in ten cycles");
    let (list, row) = row(&world, "d2").await;
    assert_eq!((list.as_str(), &row["exception_status"]), ("unhealthy", &json!(408)), "{row}");
    let seen = world.requests("u2");
    assert!((9..=12).contains(&seen), "{seen} requests in ten cycles to the one that is too slow");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_says_nothing_makes_no_verdict_younger() {
    let world = World::start(Yaml::b1().probed_every(1)).await;
    healthy(&world, "d1").await;
    world.mock.script("u1", Behaviour::status(400));
    world.pass_secs(10).await;
    let (list, row) = row(&world, "d1").await;
    assert_eq!(list, "healthy", "{row}");
    assert!(row["age_seconds"].as_f64().unwrap() > 8.0, "{row}");
    assert!(row["last_probe"].as_str().unwrap().starts_with("bad_request"), "{row}");
}

#[tokio::test(start_paused = true)]
async fn i09_a_probe_that_fails_for_want_of_a_mode_names_the_key() {
    let world = World::of(Yaml::b1().probed_every(1))
        .with_script("u1", Script::ok().paths(["/v1/embeddings"]))
        .start()
        .await;
    world.until("a probe was answered", || world.mock.counts("u1").completed > 0).await;
    world.pass_secs(1).await;
    let (list, row) = row(&world, "d1").await;
    assert_ne!(list, "healthy");
    assert!(row.to_string().contains("model_info.mode"), "{row}");
}
