//! `/health`, liveness and readiness.

use haleway_testkit::{Behaviour, Script, World, Yaml};
use http::Method;
use serde_json::{Value, json};

const LISTS: [&str; 4] = ["healthy", "unhealthy", "unknown", "skipped"];

fn sum(page: &Value) -> u64 {
    for list in LISTS {
        let rows = page[format!("{list}_endpoints")].as_array().unwrap().len() as u64;
        assert_eq!(page[format!("{list}_count")], rows, "{list}");
    }
    LISTS.iter().map(|list| page[format!("{list}_count")].as_u64().unwrap()).sum()
}

fn ids(page: &Value, list: &str) -> Vec<String> {
    let rows = page[format!("{list}_endpoints")].as_array().unwrap();
    rows.iter().map(|row| row["model_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn g04_ready_means_that_every_model_it_lists_can_be_called() {
    let world = World::start(Yaml::b2f()).await;
    assert_eq!(world.get("/health/readiness").await.status, 200);
    for model in world.get("/v1/models").await.json()["data"].as_array().unwrap() {
        assert_eq!(world.chat(model["id"].as_str().unwrap()).await.status, 200, "{model}");
    }
    world.gateway.shutdown.cancel();
    let leaving = world.get("/health/readiness").await;
    assert_eq!((leaving.status, leaving.json()["status"].as_str()), (503, Some("shutting_down")));
    assert_eq!(world.get("/health/liveliness").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn g06_upstreams_that_are_down_leave_the_process_ready() {
    let yaml = Yaml::b2f().probed_every(5).set("general_settings.enable_health_check_routing", true);
    let world = World::of(yaml)
        .with_script("u1", Behaviour::status(401))
        .with_script("u2", Behaviour::status(401))
        .start()
        .await;
    world.until("both are out", || !world.is_in("d1") && !world.is_in("d2")).await;
    let ready = world.get("/health/readiness").await;
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json()["usable_groups"], 0, "{}", ready.text());
    assert_eq!(world.get("/health/liveliness").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn g06_a_chat_while_every_key_is_dead_is_told_so() {
    let yaml = Yaml::b2f().probed_every(5).set("haleway.profile", "resilient");
    let world = World::of(yaml)
        .with_script("u1", Behaviour::status(401))
        .with_script("u2", Behaviour::status(401))
        .start()
        .await;
    world.until("both are out", || !world.is_in("d1") && !world.is_in("d2")).await;
    let answer = world.chat("g").await;
    assert_eq!(
        (answer.status, answer.error("type")),
        (503, json!("all_deployments_out")),
        "{}",
        answer.text()
    );
    assert!(!answer.header("retry-after").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_doubt_about_a_credential_is_told_and_no_filter_is_said_to_be_bypassed() {
    let world = World::of(Yaml::b2f()).with_script("u1", Behaviour::status(401)).start().await;
    let alone = json!({"disable_fallbacks": true});
    assert_eq!(world.chat_with("g", &alone).await.status, 401);
    let refused = world.chat_with("g", &alone).await;
    assert_eq!((refused.status, world.requests("u1")), (503, 1), "{}", refused.text());
    let detail = world.detail("d1").await;
    assert!(detail["explanation"].as_str().unwrap().contains("credential was refused once"), "{detail}");
    assert_eq!(world.get("/health/readiness/details").await.json()["usable_groups"], 1);
    world.pass_secs(1).await;
    assert!(!world.logs.has("bypassing"), "{}", world.logs.text());
}

#[tokio::test(start_paused = true)]
async fn g08_every_deployment_is_in_exactly_one_list_from_the_start() {
    let yaml = Yaml::new()
        .deployment("g", "d1")
        .deployment("g", "d2")
        .deployment("off", "d3")
        .deployment("odd", "d4")
        .deployment("wild/*", "d5")
        .deployment("other", "d6")
        .probed_every(5)
        .set("d3.model_info.disable_background_health_check", true)
        .set("d4.model_info.mode", "made_up")
        .set("d5.litellm_params.model", "openai/*")
        .set("general_settings.background_health_check_model_groups", json!(["g", "off", "odd", "wild/*"]));
    let world = World::of(yaml).with_script("u2", Behaviour::status(401)).start().await;
    let at_once = world.get("/health").await.json();
    assert_eq!(sum(&at_once), 6, "{at_once}");
    world.until("both were probed", || world.state("d1") == "HEALTHY" && world.requests("u2") > 0).await;
    world.pass_secs(12).await;
    let page = world.get("/health").await.json();
    assert_eq!(sum(&page), 6, "{page}");
    assert_eq!(ids(&page, "unhealthy"), ["d2"], "{page}");
    assert!(ids(&page, "healthy").contains(&"d1".to_owned()), "{page}");
    for list in ["unknown", "skipped"] {
        for row in page[format!("{list}_endpoints")].as_array().unwrap() {
            assert!(row["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{row}");
        }
    }
    assert!(
        ids(&page, "skipped").contains(&"d3".to_owned()) && ids(&page, "skipped").contains(&"d6".to_owned()),
        "{page}"
    );
    assert_eq!((world.requests("u3"), world.requests("u6")), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn g10_liveness_and_readiness_need_no_key_and_tell_nothing() {
    let mut world = World::start(Yaml::b2().set("general_settings.master_key", "sk-master")).await;
    world.key = None;
    let mut statuses = Vec::new();
    for path in ["/health/liveliness", "/health/readiness", "/health", "/health/liveness"] {
        let answer = world.get(path).await;
        statuses.push(answer.status);
        assert!(!answer.headers.contains_key("server") && !answer.headers.contains_key("x-litellm-version"));
        if answer.status == 200 {
            let body = answer.json();
            assert!(body.as_object().is_none_or(|body| body.len() <= 2), "{body}");
        }
    }
    assert_eq!(statuses, [200, 200, 401, 200]);
    assert_eq!(world.get("/health/liveliness").await.text(), "\"I'm alive!\"");
    assert_eq!(
        world.get("/health/readiness").await.json(),
        json!({"status": "healthy", "db": "Not connected"})
    );
    let options = world.call(Method::OPTIONS, "/health/liveliness", &[], "").await;
    assert_eq!((options.status, options.header("allow"), options.body.len()), (200, "GET, OPTIONS", 0));
}

#[tokio::test(start_paused = true)]
async fn g12_a_host_that_is_not_there_does_not_stop_the_start() {
    let yaml = Yaml::b2().probed_every(5).set("d1.litellm_params.api_base", "http://nowhere.invalid/v1");
    let world = World::start(yaml).await;
    assert_eq!(world.get("/health/readiness").await.status, 200);
    world
        .until("both were probed", || world.state("d2") == "HEALTHY" && world.state("d1") != "UNKNOWN")
        .await;
    let page = world.get("/health").await.json();
    assert_eq!(
        (ids(&page, "healthy"), ids(&page, "unhealthy")),
        (vec!["d2".to_owned()], vec!["d1".to_owned()])
    );
    let row = &page["unhealthy_endpoints"][0];
    assert!(row["error"].as_str().unwrap().starts_with("connection"), "{row}");
    assert_eq!(world.chat_with("g", &json!({"num_retries": 1})).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn the_page_has_litellms_shape_with_age_and_origin() {
    let yaml =
        Yaml::b2().probed_every(5).set("d1.litellm_params.rpm", 600).set("d1.litellm_params.tpm", 100_000);
    let limits = Behaviour::ok().header("x-ratelimit-remaining-requests", "999");
    let world = World::of(yaml)
        .with_script("u1", limits.header("x-ratelimit-remaining-tokens", "99990"))
        .with_script("u2", Behaviour::status(401))
        .start()
        .await;
    world
        .until("both were probed", || world.state("d1") == "HEALTHY" && world.state("d2") != "UNKNOWN")
        .await;
    let page = world.get("/health").await.json();
    let row = &page["healthy_endpoints"][0];
    for (member, value) in [
        ("api_base", json!("http://u1/v1")),
        ("model", json!("openai/stub")),
        ("rpm", json!(600)),
        ("tpm", json!(100_000)),
        ("model_id", json!("d1")),
        ("x-ratelimit-remaining-requests", json!("999")),
        ("x-ratelimit-remaining-tokens", json!("99990")),
        ("checked_by", json!("background_health_check")),
    ] {
        assert_eq!(row[member], value, "{member}");
    }
    assert!(row["age_seconds"].as_f64().unwrap() <= 5.5 && row["checked_at"].is_string(), "{row}");
    let row = &page["unhealthy_endpoints"][0];
    assert_eq!((&row["model_id"], &row["exception_status"]), (&json!("d2"), &json!(401)));
    assert!(row["error"].as_str().unwrap().contains("Incorrect API key"), "{row}");
    assert!(!page.to_string().contains("sk-canary"));
}

#[tokio::test(start_paused = true)]
async fn details_that_are_switched_off_leave_model_and_id() {
    let yaml = Yaml::b1().probed_every(5).set("general_settings.health_check_details", false);
    let world = World::start(yaml).await;
    world.until("it was probed", || world.state("d1") == "HEALTHY").await;
    let page = world.get("/health").await.json();
    assert_eq!(page["healthy_endpoints"][0]["api_base"], Value::Null);
    assert_eq!(page["healthy_endpoints"][0]["model"], "openai/stub");
}

#[tokio::test(start_paused = true)]
async fn the_page_narrows_to_a_group_or_a_deployment_and_answers_503_when_none_is_healthy() {
    let yaml = Yaml::b2f().probed_every(5).set("d2.litellm_params.model", "openai/other");
    let world = World::of(yaml).with_script("u2", Behaviour::status(401)).start().await;
    world
        .until("both were probed", || world.state("d1") == "HEALTHY" && world.state("d2") != "UNKNOWN")
        .await;
    for (query, status, healthy, unhealthy) in [
        ("", 200, 1, 1),
        ("?model=g", 200, 1, 0),
        ("?model_id=d1", 200, 1, 0),
        ("?model=h", 503, 0, 1),
        ("?model_id=d2", 503, 0, 1),
        ("?model=openai/other", 503, 0, 1),
        ("?model=nope", 503, 0, 0),
    ] {
        let answer = world.get(&format!("/health{query}")).await;
        let page = answer.json();
        assert_eq!(
            (answer.status, &page["healthy_count"], &page["unhealthy_count"]),
            (status, &json!(healthy), &json!(unhealthy)),
            "{query}"
        );
    }
    let missing = world.get("/health?model_id=nope").await;
    assert_eq!(
        (missing.status, missing.json()),
        (404, json!({"detail": {"error": "Model with ID nope not found"}}))
    );
}

#[tokio::test(start_paused = true)]
async fn the_page_answers_from_memory_and_sends_no_probe_of_its_own() {
    let world = World::start(Yaml::b2().probed_every(60)).await;
    world
        .until("both were probed", || world.state("d1") == "HEALTHY" && world.state("d2") == "HEALTHY")
        .await;
    let before = world.requests("u1") + world.requests("u2");
    for _ in 0..20 {
        world.get("/health").await;
    }
    assert_eq!(world.requests("u1") + world.requests("u2"), before);
}

#[tokio::test(start_paused = true)]
async fn without_background_checks_the_page_probes_what_may_be_probed() {
    let yaml = Yaml::b2().deployment("g", "d3").set("d3.model_info.disable_background_health_check", true);
    let world = World::of(yaml).with_script("u2", Script::ok().key("another")).start().await;
    world.pass_secs(30).await;
    assert_eq!(world.requests("u1"), 0);
    let page = world.get("/health").await.json();
    assert_eq!(
        (ids(&page, "healthy"), ids(&page, "unhealthy")),
        (vec!["d1".to_owned()], vec!["d2".to_owned()]),
        "{page}"
    );
    assert_eq!((sum(&page), world.requests("u3")), (3, 0));
    assert_eq!(world.get("/health?model_id=d3").await.status, 200);
    assert_eq!(world.requests("u3"), 1);
}

#[tokio::test(start_paused = true)]
async fn there_is_no_license_and_the_page_says_so() {
    let world = World::start(Yaml::b2f()).await;
    let page = world.get("/health/license").await;
    assert_eq!(page.status, 200);
    let expected = json!({
        "has_license": false,
        "license_type": "community",
        "expiration_date": null,
        "allowed_features": [],
        "limits": {"max_users": null, "max_teams": null},
    });
    assert_eq!(page.json(), expected);
}

#[tokio::test(start_paused = true)]
async fn h11_every_configured_deployment_is_listed_from_the_first_moment() {
    let world = World::start(Yaml::b2().probed_every(60)).await;
    let page = world.get("/health").await.json();
    let mut listed: Vec<String> = ["healthy", "unhealthy", "unknown", "skipped"]
        .iter()
        .flat_map(|list| page[format!("{list}_endpoints")].as_array().unwrap())
        .map(|row| row["model_id"].as_str().unwrap().to_owned())
        .collect();
    listed.sort();
    assert_eq!(listed, ["d1", "d2"], "{page}");
    assert!(page.as_object().is_some_and(|page| !page.is_empty()));
}
