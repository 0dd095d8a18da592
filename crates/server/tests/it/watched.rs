//! Services of mode `http`: watched like any deployment, and never called for a model.

use std::time::Duration;

use haleway_testkit::{Behaviour, World, Yaml};
use serde_json::{Value, json};

fn yaml(http: &Value) -> Yaml {
    Yaml::b1()
        .deployment("billing", "d2")
        .set("d2.model_info.mode", "http")
        .set(
            "d2.model_info.haleway",
            json!({"probe": {"http": http}, "fall": 1, "interval": "5s", "idle_interval": "5s"}),
        )
        .set("d2.litellm_params.api_base", "http://u2")
        .set("haleway", json!({"profile": "resilient"}))
        .probed_every(5)
}

fn up() -> Behaviour {
    Behaviour::status(200).body(json!({"status": "UP"}))
}

async fn found(world: &World) -> Value {
    let page = world.get("/health?model=billing").await.json();
    let of = |list: &str| page[list].as_array().and_then(|list| list.first()).cloned();
    of("unhealthy_endpoints").or_else(|| of("unknown_endpoints")).unwrap_or(Value::Null)
}

/// Waits until `/health` shows the service as ill, or as well.
async fn until_ill(world: &World, ill: bool) {
    for _ in 0..120 {
        if (found(world).await != Value::Null) == ill {
            return;
        }
        world.pass_secs(1).await;
    }
    panic!("not within two minutes: ill {ill}\n{}", world.get("/health?model=billing").await.text());
}

#[tokio::test(start_paused = true)]
async fn a_service_is_asked_at_its_path_and_judged_by_status_and_time() {
    let http =
        json!({"path": "/actuator/health?deep=1", "method": "GET", "status": 200, "max_latency": "2s"});
    let world = World::of(yaml(&http)).with_script("u2", up()).start().await;
    world.until("it was probed twice", || world.requests("u2") >= 2).await;
    let kept = world.mock.kept("u2").remove(0);
    assert_eq!(
        (kept.method.as_str(), kept.path.as_str(), &kept.body),
        ("GET", "/actuator/health?deep=1", &json!(""))
    );
    until_ill(&world, false).await;
    for bad in [
        Behaviour::status(503).body(json!({"status": "DOWN"})),
        Behaviour::status(204),
        up().latency(Duration::from_secs(3)),
        Behaviour::hang(),
    ] {
        world.mock.script("u2", bad);
        until_ill(&world, true).await;
        world.mock.script("u2", up());
        until_ill(&world, false).await;
    }
}

#[tokio::test(start_paused = true)]
async fn no_model_call_reaches_a_service_that_is_only_watched() {
    let world = World::of(yaml(&json!({}))).with_script("u2", up()).start().await;
    for model in ["billing", "d2"] {
        let answer = world.chat(model).await;
        assert!((400..500).contains(&answer.status), "{}", answer.text());
    }
    let file = world.get("/v1/files?model=billing").await;
    assert!((400..500).contains(&file.status), "{}", file.text());
    world.until("it was probed", || world.requests("u2") > 0).await;
    assert!(world.mock.kept("u2").iter().all(|kept| kept.method == "GET" && kept.path == "/"));
    assert_eq!(world.chat("g").await.status, 200);
}
