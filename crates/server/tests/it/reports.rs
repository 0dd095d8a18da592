//! What users of gateways reported, each as a test of what must be seen instead. Reports about one subject stand with the
//! other tests of that subject; here are those that cross several.

use haleway_testkit::{Behaviour, Script, World, Yaml};
use serde_json::json;

/// A name that stands for other deployments has no endpoint: it is as well as they are, and nobody probes it.
#[tokio::test(start_paused = true)]
async fn a17_an_alias_is_as_well_as_its_members_and_is_never_probed() {
    let yaml = Yaml::b2()
        .set("router_settings.model_group_alias", json!({"v": "g"}))
        .set("haleway", json!({"profile": "resilient", "health": {"fall": 1}}))
        .probed_every(10);
    let world = World::of(yaml).with_script("u2", Behaviour::status(500)).start().await;
    world.until("both were probed", || world.requests("u1") > 0 && world.requests("u2") > 0).await;
    let (of_alias, of_group) =
        (world.get("/health?model=v").await.json(), world.get("/health?model=g").await.json());
    assert_eq!(
        (&of_alias["healthy_count"], &of_alias["unhealthy_count"]),
        (&json!(1), &json!(1)),
        "{of_alias}"
    );
    assert_eq!(of_alias["healthy_count"], of_group["healthy_count"]);
    let before = world.requests("u1") + world.requests("u2");
    world.pass_secs(10).await;
    let rounds = world.requests("u1") + world.requests("u2") - before;
    assert!(rounds <= 3, "{rounds} probes of two deployments in one interval: the alias was probed");
}

/// A retired model is known at its first refusal and for long; the chain does not try it again and again.
#[tokio::test(start_paused = true)]
async fn a22_a_model_that_is_gone_is_out_by_name_with_one_event() {
    let gone = Behaviour::status(410).body(json!({"error": {
        "message": "The model `stub` was retired on 2026-10-01.", "type": "invalid_request_error", "code": "model_retired"}}));
    let yaml = Yaml::b2f().set("haleway.profile", "resilient");
    let world = World::of(yaml).with_script("u1", gone).start().await;
    assert_eq!(world.chat("g").await.deployment(), "d2");
    for _ in 0..20 {
        assert_eq!(world.chat("g").await.deployment(), "d2");
    }
    let detail = world.detail("d1").await;
    assert_eq!(
        (&detail["state"], &detail["cause"]),
        (&json!("CONFIG_FAULT"), &json!("model_not_found")),
        "{detail}"
    );
    let out: Vec<_> = detail["transitions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["to"] == "CONFIG_FAULT")
        .collect();
    assert_eq!(out.len(), 1, "one event, not one per call");
    let asked = world.requests("u1");
    assert!(asked <= 2, "asked {asked} times");
}

/// A server that answers 200 to anything has said nothing when it is asked something free.
#[tokio::test(start_paused = true)]
async fn a26_a_free_answer_that_means_nothing_changes_nothing() {
    let yaml = Yaml::b1()
        .set("haleway", json!({"profile": "resilient", "health": {"probe": {"depth": "free"}, "fall": 1}}))
        .probed_every(10);
    let world = World::of(yaml).with_script("u1", Behaviour::status(200).body(json!({}))).start().await;
    world.until("it was asked thrice", || world.requests("u1") >= 3).await;
    let kept = world.mock.kept("u1");
    assert!(kept.iter().all(|request| request.method == "GET"), "only free calls");
    assert_eq!(world.state("d1"), "UNKNOWN");
}

/// A probe needs no request before it: path, version and credential come from the configuration.
#[tokio::test(start_paused = true)]
async fn a28_the_first_probe_has_the_whole_path_and_the_credential() {
    let yaml = Yaml::b1()
        .set("d1.litellm_params.model", "azure/my-gpt")
        .set("d1.litellm_params.api_base", "http://u1")
        .set("d1.litellm_params.api_version", "2024-10-21")
        .probed_every(10);
    let world = World::of(yaml).with_script("u1", Script::ok()).start().await;
    world.until("it was probed", || world.requests("u1") > 0).await;
    let first = &world.mock.kept("u1")[0];
    assert_eq!(first.path, "/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21");
    assert_eq!(first.header("api-key"), Some("sk-canary-1"));
    assert_eq!(world.state("d1"), "HEALTHY");
}

/// Probes are no calls: nothing that counts, prices or limits calls sees them.
#[tokio::test(start_paused = true)]
async fn b11_probes_touch_nothing_that_belongs_to_calls() {
    let yaml = Yaml::b1()
        .set("litellm_settings.callbacks", json!(["prometheus"]))
        .set("d1.litellm_params.rpm", 1)
        .probed_every(10);
    let world = World::of(yaml).start().await;
    world.until("ten probes", || world.requests("u1") >= 10).await;
    let metrics = world.get("/metrics").await.text();
    let calls: Vec<&str> = metrics
        .lines()
        .filter(|line| {
            line.starts_with("haleway_requests_total") || line.starts_with("litellm_proxy_total_requests")
        })
        .filter(|line| !line.ends_with(" 0"))
        .collect();
    assert!(calls.is_empty(), "{calls:?}");
    // The one request per minute that the deployment has is still the caller's.
    assert_eq!(world.chat("g").await.status, 200);
}

/// An overloaded provider is not the caller's fault: status and class say whose it is.
#[tokio::test(start_paused = true)]
async fn d17_an_overloaded_provider_is_a_503_of_its_own_class() {
    let world = World::of(Yaml::b1()).with_script("u1", Behaviour::status(529)).start().await;
    let answer = world.chat("g").await;
    assert_eq!((answer.status, answer.error("class")), (503, json!("overloaded")), "{}", answer.text());
    assert_eq!(answer.error("code"), json!("server_is_overloaded"));
    // The provider's limit is another class than the gateway's.
    world.mock.script("u1", Behaviour::rate_limited("3"));
    let limited =
        World::of(Yaml::b1()).with_script("u1", Behaviour::rate_limited("3")).start().await.chat("g").await;
    assert_eq!((limited.status, limited.error("class")), (429, json!("rate_limit")), "{}", limited.text());
}

/// The lists of statuses can be changed per deployment: who is to blame, and whether another one is asked.
#[tokio::test(start_paused = true)]
async fn d23_the_lists_of_statuses_can_be_changed_per_deployment() {
    let lists = json!({"statuses": {"upstream": [418], "caller": [424]}});
    for (status, own, served_by) in
        [(418, false, "d1"), (418, true, "d2"), (424, false, "d2"), (424, true, "d1"), (520, true, "d2")]
    {
        let mut yaml = Yaml::b2()
            .set("haleway.profile", "resilient")
            .set("router_settings.num_retries", 1)
            .set("d1.litellm_params.order", 1)
            .set("d2.litellm_params.order", 2);
        if own {
            yaml = yaml.set("d1.model_info.haleway", lists.clone());
        }
        let world =
            World::of(yaml).with_script("u1", Behaviour::status(status).body(json!({}))).start().await;
        let answer = world.chat("g").await;
        assert_eq!(answer.deployment(), served_by, "{status}, own lists: {own}: {}", answer.text());
        let blamed = world.state("d1") == "SUSPECT";
        assert_eq!(blamed, served_by == "d2", "{status}, own lists: {own}: {}", world.state("d1"));
    }
}
