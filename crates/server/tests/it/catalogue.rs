//! What the catalogue does for operators and callers: what is shown of models, what a call costs, what routing reads.

use haleway_testkit::{Behaviour, World, Yaml};
use http::Method;
use serde_json::{Value, json};

/// Two deployments in one group: one of a model that the catalogue knows, one that nobody knows with prices of its own.
fn priced() -> Yaml {
    Yaml::b2()
        .set("d1.litellm_params.model", "openai/gpt-4o")
        .set("d2.model_info.input_cost_per_token", 0.000_001)
        .set("d2.litellm_params.output_cost_per_token", 0.000_002)
}

async fn info(world: &World, id: &str) -> Value {
    let page = world.get(&format!("/v1/model/info?litellm_model_id={id}")).await.json();
    page["data"][0]["model_info"].clone()
}

#[tokio::test(start_paused = true)]
async fn model_info_shows_the_catalogues_facts_and_the_operators_own() {
    let yaml = priced()
        .set("d1.model_info.max_input_tokens", 1000)
        .set("d1.model_info.description", "the good one")
        .set("d1.model_info.health_check_params", json!({"user": "sk-canary-7"}));
    let world = World::start(yaml).await;
    let known = info(&world, "d1").await;
    let expected = [
        ("mode", json!("chat")),
        ("key", json!("gpt-4o")),
        ("litellm_provider", json!("openai")),
        ("max_input_tokens", json!(1000)),
        ("max_output_tokens", json!(16384)),
        ("max_tokens", json!(16384)),
        ("input_cost_per_token", json!(0.000_002_5)),
        ("output_cost_per_token", json!(0.000_01)),
        ("cache_read_input_token_cost", json!(0.000_001_25)),
        ("input_cost_per_image", Value::Null),
        ("description", json!("the good one")),
        ("pricing_overrides", json!([])),
        ("db_model", json!(false)),
    ];
    for (key, value) in expected {
        assert_eq!(known[key], value, "{key}");
    }
    let own = info(&world, "d2").await;
    assert_eq!((&own["key"], &own["max_input_tokens"]), (&json!("openai/stub"), &Value::Null));
    assert_eq!(
        (&own["input_cost_per_token"], &own["output_cost_per_token"]),
        (&json!(0.000_001), &json!(0.000_002))
    );
    assert_eq!(own["pricing_overrides"], json!(["input_cost_per_token", "output_cost_per_token"]));
    assert!(!world.get("/v1/model/info").await.text().contains("canary"));
    let listed = world.get("/model/info").await.json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn group_info_has_litellms_members_and_sums_up_the_group() {
    let yaml = priced().set("d1.litellm_params.rpm", 10).set("d2.litellm_params.rpm", 5);
    let world = World::start(yaml).await;
    let page = world.get("/model_group/info").await.json();
    let group = &page["data"][0];
    let members: Vec<&str> = group.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        members,
        [
            "model_group",
            "providers",
            "max_input_tokens",
            "max_output_tokens",
            "input_cost_per_token",
            "output_cost_per_token",
            "input_cost_per_pixel",
            "mode",
            "tpm",
            "rpm",
            "itpm",
            "otpm",
            "supports_parallel_function_calling",
            "supports_vision",
            "supports_web_search",
            "supports_url_context",
            "supports_continuation",
            "supports_reasoning",
            "supports_function_calling",
            "supports_fast_mode",
            "supported_reasoning_efforts",
            "supported_openai_params",
            "configurable_clientside_auth_params",
            "description",
            "supported_endpoints",
            "deployment_pricing",
            "supports_background_chat",
            "is_public_model_group",
            "health_status",
            "health_response_time",
            "health_checked_at",
            "custom_tags",
            "custom_metadata",
        ]
    );
    assert_eq!((&group["model_group"], &group["providers"]), (&json!("g"), &json!(["openai"])));
    assert_eq!((&group["mode"], &group["rpm"], &group["tpm"]), (&json!("chat"), &json!(15), &Value::Null));
    assert_eq!(group["max_input_tokens"], 128_000);
    assert_eq!(group["input_cost_per_token"], 0.000_002_5, "the dearest of the group");
    assert_eq!(group["supports_reasoning"], false);
    let pricing = group["deployment_pricing"].as_array().unwrap();
    assert_eq!(pricing.len(), 2);
    assert_eq!(
        pricing[1],
        json!({"provider": "openai", "tiered_pricing": [],
            "costs": {"input_cost_per_token": 0.000_001, "output_cost_per_token": 0.000_002}})
    );
    assert_eq!(
        world.get("/model_group/info?model_group=g").await.json()["data"].as_array().unwrap().len(),
        1
    );
    assert_eq!(world.get("/model_group/info?model_group=nope").await.status, 404);
}

#[tokio::test(start_paused = true)]
async fn info_pages_need_the_key() {
    let world = World::start(priced().set("general_settings.master_key", "sk-master")).await;
    let wrong = [("authorization", "Bearer sk-wrong")];
    for path in ["/v1/model/info", "/model/info", "/model_group/info"] {
        assert_eq!(world.call(Method::GET, path, &wrong, "").await.status, 401, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_says_what_it_cost() {
    let world = World::start(priced()).await;
    let answer = world.chat("d2").await;
    let usage = &answer.json()["usage"];
    let count = |name: &str| usage[name].as_u64().unwrap();
    let micros = count("prompt_tokens") + 2 * count("completion_tokens");
    assert!(micros > 0, "{usage}");
    let stated: f64 = answer.header("x-litellm-response-cost").parse().unwrap();
    assert!((stated * 1e6 - micros as f64).abs() < 1e-6, "{stated} for {usage}");
    // Without a price there is no cost, and that is not a cost of zero.
    let free = World::start(Yaml::b1()).await;
    assert_eq!(free.chat("g").await.header("x-litellm-response-cost"), "");
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_costs_nothing() {
    let world = World::start(priced().set("router_settings.num_retries", 0)).await;
    world.mock.script("u2", Behaviour::status(500));
    let failed = world.chat("d2").await;
    assert_eq!((failed.status, failed.header("x-litellm-response-cost")), (500, "0"));
}

#[tokio::test(start_paused = true)]
async fn cost_based_routing_compares_the_catalogues_prices() {
    // gpt-4o costs 12.5 per million pairs by the catalogue; the other 3 by its own word, then 100,002.
    for (own_input, expected) in [(0.000_001, (1, 7)), (0.1, (7, 1))] {
        let yaml = priced()
            .set("d2.model_info.input_cost_per_token", own_input)
            .set("router_settings.routing_strategy", "cost-based-routing");
        let world = World::start(yaml).await;
        // One that nothing is known of yet gets less than its share: both are known before they are compared.
        for name in ["d1", "d2", "g", "g", "g", "g", "g", "g"] {
            assert_eq!(world.chat(name).await.status, 200);
        }
        assert_eq!((world.requests("u1"), world.requests("u2")), expected, "{own_input}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_longer_than_the_catalogues_limit_goes_to_a_deployment_that_takes_it() {
    let yaml = Yaml::b2()
        .set("d1.litellm_params.model", "openai/gpt-4o")
        .set("d2.litellm_params.model", "openai/gpt-4.1")
        .set("router_settings.enable_pre_call_checks", true);
    let world = World::start(yaml).await;
    let long = "word ".repeat(200_000);
    let body = json!({"model": "g", "messages": [{"role": "user", "content": long}]}).to_string();
    for _ in 0..4 {
        assert_eq!(world.call(Method::POST, "/v1/chat/completions", &[], body.clone()).await.status, 200);
    }
    assert_eq!((world.requests("u1"), world.requests("u2")), (0, 4), "128,000 tokens against a million");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_the_catalogue_knows_as_embedding_is_probed_as_one() {
    let yaml = Yaml::b1().set("d1.litellm_params.model", "openai/text-embedding-3-small").probed_every(60);
    let world = World::start(yaml).await;
    let detail = world.detail("d1").await;
    assert_eq!(detail["mode"], "embedding");
}
