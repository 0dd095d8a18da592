//! The configurations that were recorded with LiteLLM, serving.

use haleway_testkit::{Behaviour, Script, World};
use serde_json::{Value, json};

macro_rules! recorded {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../config/tests/fixtures/litellm/", $name, ".yaml")))),*]
    };
}

const FILES: [(&str, &str); 10] = recorded![
    "errors",
    "hcr_afp",
    "hcr_pure",
    "hcr_transient",
    "main",
    "main2",
    "nokey",
    "retries",
    "routing",
    "shared",
];

fn setup(name: &str) -> haleway_testkit::Setup {
    let (_, text) = FILES.iter().find(|(file, _)| *file == name).unwrap();
    World::of(*text)
        .with_env(&[("LITELLM_MASTER_KEY", "sk-master-fake-1234"), ("UP_A2", "sk-up-a2")])
        .with_host("127.0.0.1", 9100, "any")
}

/// A recorded configuration, all of its providers doing the same. They are scripted by key, else by the name `any`.
pub(crate) async fn world(name: &str, script: Script) -> World {
    setup(name).with_script("any", script).start().await
}

#[tokio::test(start_paused = true)]
async fn every_file_serves_every_model_that_it_lists() {
    for (name, _) in FILES {
        let world = world(name, Script::ok()).await;
        let models = world.get("/v1/models").await.json();
        let mut served = 0;
        for model in models["data"].as_array().unwrap() {
            let id = model["id"].as_str().unwrap();
            let id = id.replace('*', "gpt-fake");
            let answer = match id.as_str() {
                "embed" => world.post("/v1/embeddings", &json!({"model": "embed", "input": "a"})).await,
                // Its prompt limit is ten tokens.
                "ctx" => world.post("/v1/chat/completions", &json!({"model": id, "messages": []})).await,
                id => world.chat(id).await,
            };
            assert_eq!(answer.status, 200, "{name}: {id}: {}", answer.text());
            assert!(answer.header("x-litellm-model-group").len() > 1);
            served += 1;
        }
        assert!(served > 0, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn hidden_aliases_serve_and_are_not_listed() {
    let world = world("errors", Script::ok()).await;
    let models = world.get("/v1/models").await.json();
    let listed: Vec<&str> =
        models["data"].as_array().unwrap().iter().filter_map(|model| model["id"].as_str()).collect();
    assert!(listed.contains(&"gpt-4") && !listed.contains(&"hidden-alias"), "{listed:?}");
    for alias in ["gpt-4", "hidden-alias", "dep-s1"] {
        let answer = world.chat(alias).await;
        assert_eq!((answer.status, answer.deployment()), (200, "dep-s1"), "{alias}");
    }
}

#[tokio::test(start_paused = true)]
async fn main_probes_every_deployment_with_its_key_mode_and_cap() {
    for name in ["main", "main2", "hcr_pure"] {
        let keys = ["sk-up-a1", "sk-up-a2", "sk-up-a3", "sk-up-b1", "sk-up-b2", "sk-up-e1", "sk-up-e2"];
        let setup = keys.iter().fold(setup(name), |setup, key| setup.with_script(key, Script::ok()));
        let world = setup.start().await;
        world.until("all were probed", || keys.iter().all(|key| world.requests(key) > 0)).await;
        world.pass_secs(1).await;
        assert_eq!(world.requests("any"), 0);
        let page = world.get("/health").await.json();
        assert_eq!(
            (&page["healthy_count"], &page["unhealthy_count"]),
            (&json!(7), &json!(0)),
            "{name}: {page}"
        );
        let body = |key: &str| world.mock.kept(key)[0].clone();
        assert_eq!(body("sk-up-b2").body["max_tokens"], 7);
        assert_eq!(body("sk-up-e1").path, "/v1/embeddings");
        assert_eq!(
            (&body("sk-up-a1").path[..], &body("sk-up-a1").body["model"]),
            ("/v1/chat/completions", &json!("gpt-fake-a"))
        );
    }
}

async fn one_bad(name: &str, failure: Behaviour) -> World {
    let keys = ["sk-up-a1", "sk-up-a2", "sk-up-a3"];
    let setup = keys.iter().fold(setup(name), |setup, key| setup.with_script(key, Script::ok()));
    let world = setup.with_script("sk-up-a1", failure).start().await;
    world.until("all were probed", || keys.iter().all(|key| world.mock.counts(key).completed > 0)).await;
    world.pass_secs(1).await;
    world
}

#[tokio::test(start_paused = true)]
async fn hcr_pure_moves_traffic_off_what_fails_its_probe() {
    for failure in [500, 401, 429] {
        let world = one_bad("hcr_pure", Behaviour::status(failure)).await;
        let seen = world.chats("chat-main", 20).await;
        assert!(
            !seen.contains_key("dep-a1") && seen.values().sum::<usize>() == 20 && seen.len() == 2,
            "{failure}: {seen:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_called_invalid_says_nothing_about_the_deployment() {
    // Different from LiteLLM, which takes it out: the request is the gateway's own.
    let world = one_bad("hcr_pure", Behaviour::status(400)).await;
    assert!(world.is_in("dep-a1"));
    let page = world.get("/health?model=chat-main").await.json();
    assert_eq!(page["unknown_endpoints"][0]["model_id"], "dep-a1", "{page}");
    assert!(page["unknown_endpoints"][0]["reason"].as_str().unwrap().contains("Invalid request"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn hcr_pure_lets_traffic_through_when_a_whole_group_fails() {
    let world = world("hcr_pure", Behaviour::status(500).into()).await;
    world
        .until("the group is out", || ["dep-a1", "dep-a2", "dep-a3"].iter().all(|id| !world.is_in(id)))
        .await;
    let before = world.requests("any");
    assert_eq!(world.chat("chat-main").await.status, 500);
    assert!(world.requests("any") > before);
    let page = world.get("/health?model=chat-main").await;
    assert_eq!((page.status, &page.json()["unhealthy_count"]), (503, &json!(3)));
}

#[tokio::test(start_paused = true)]
async fn hcr_transient_shows_what_it_ignores() {
    for (failure, out) in [(429, false), (408, false), (500, true)] {
        let world = one_bad("hcr_transient", Behaviour::status(failure)).await;
        let page = world.get("/health?model=chat-main").await.json();
        assert_eq!(page["unhealthy_endpoints"][0]["model_id"], "dep-a1", "{failure}: {page}");
        assert_eq!(!world.is_in("dep-a1"), out, "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn hcr_afp_counts_probes_by_class() {
    // One dead key is one too many; the third 429 is.
    let world = one_bad("hcr_afp", Behaviour::status(401)).await;
    assert!(!world.is_in("dep-a1"));
    let world = one_bad("hcr_afp", Behaviour::status(429)).await;
    assert!(world.is_in("dep-a1"));
    world.until("three probes were refused", || world.requests("sk-up-a1") >= 3).await;
    world.until("it is out", || !world.is_in("dep-a1")).await;
    assert_eq!(world.requests("sk-up-a1"), 3);
    // A bad request of a probe is tolerated a thousand times.
    let world = one_bad("hcr_afp", Behaviour::status(400)).await;
    world.until("five probes were refused", || world.requests("sk-up-a1") >= 5).await;
    assert!(world.is_in("dep-a1"));
}

#[tokio::test(start_paused = true)]
async fn shared_without_its_redis_probes_and_serves_on_its_own() {
    let world = world("shared", Script::ok()).await;
    world.until("a probe was sent", || world.requests("any") > 0).await;
    assert_eq!(world.chat("chat-main").await.status, 200);
    let status = world.get("/health/shared-status").await;
    let told = status.json();
    assert_eq!((status.status, &told["shared_health_check_enabled"]), (200, &Value::Bool(true)));
    assert_eq!(told["redis_available"], Value::Bool(false));
}

#[tokio::test(start_paused = true)]
async fn the_key_of_the_environment_alone_turns_authentication_on() {
    let mut world = world("nokey", Script::ok()).await;
    world.key = None;
    assert_eq!(world.chat("solo").await.status, 401);
    let (_, text) = FILES.iter().find(|(name, _)| *name == "nokey").unwrap();
    let open = World::of(*text).with_host("127.0.0.1", 9100, "any").start().await;
    assert_eq!(open.chat("solo").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn retries_and_fallbacks_of_every_kind_serve() {
    let ok = |setup: haleway_testkit::Setup, keys: &[&str]| {
        keys.iter().fold(setup, |setup, key| setup.with_script(key, Script::ok()))
    };
    let setup = ok(setup("retries"), &["sk-up-rk1", "sk-up-rb1", "sk-up-rsf1", "sk-up-rdd1"])
        .with_script("any", Behaviour::status(500))
        .with_script("sk-up-rx1", Behaviour::status(400).body(json!({"error": {
            "message": "This model's maximum context length is 4096 tokens.", "type": "invalid_request_error", "param": "messages",
            "code": "context_length_exceeded"}})))
        .with_script("sk-up-rp1", Behaviour::content_filtered());
    let world = setup.start().await;
    for (model, by) in [("r-fb", "rk1"), ("r-ctx", "rb1"), ("r-pol", "rsf1"), ("r-def", "rdd1")] {
        let answer = world.chat(model).await;
        assert_eq!((answer.status, answer.deployment()), (200, by), "{model}: {}", answer.text());
        assert_eq!(answer.header("x-litellm-attempted-fallbacks"), "1", "{model}");
    }
    // The policy of r-solo: one retry of a 500.
    let before = world.requests("any");
    let answer = world.chat_with("r-solo", &json!({"disable_fallbacks": true})).await;
    assert_eq!((answer.status, world.requests("any") - before), (500, 2), "{}", answer.text());
}

#[tokio::test(start_paused = true)]
async fn weights_orders_and_limits_of_the_recorded_files_act() {
    let world = world("routing", Script::ok()).await;
    let seen = world.chats("weighted", 200).await;
    assert!((120..=180).contains(&seen["dep-q1"]), "3 to 1: {seen:?}");
    let seen = world.chats("rpmw", 200).await;
    assert!(seen["dep-r1"] > 150, "900 to 100: {seen:?}");
    assert_eq!(world.chats("prio", 20).await, [("dep-p1".to_owned(), 20)].into());
    assert_eq!(
        world.chats("limited", 6).await,
        [("dep-l1".to_owned(), 6)].into(),
        "rpm is a share under simple-shuffle"
    );
    let answer = world.chat_with("tagged", &json!({"tags": ["free"]})).await;
    assert_eq!(answer.deployment(), "dep-t1");
    assert_eq!(world.chat("tagged").await.deployment(), "dep-t2");
}
