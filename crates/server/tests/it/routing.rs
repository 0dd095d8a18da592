//! Limits, policies and failover, as a caller and a provider see them.

use haleway_testkit::{Behaviour, World, Yaml};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn d13_refusals_of_the_gateway_touch_no_health() {
    let yaml = Yaml::b1()
        .set("d1.litellm_params.rpm", 1)
        .set("router_settings.routing_strategy", "least-busy")
        .set("router_settings.optional_pre_call_checks", json!(["enforce_model_rate_limits"]));
    let world = World::start(yaml).await;
    let mut statuses = Vec::new();
    for _ in 0..10 {
        let answer = world.chat("g").await;
        if answer.status != 200 {
            assert_eq!(
                (answer.error("type"), answer.error("class")),
                (json!("throttling_error"), json!("gateway_limit"))
            );
        }
        statuses.push(answer.status);
    }
    assert_eq!(statuses, [200, 429, 429, 429, 429, 429, 429, 429, 429, 429]);
    assert_eq!((world.requests("u1"), world.state("d1")), (1, "HEALTHY"));
    let evidence = &world.detail("d1").await["evidence"];
    assert_eq!(
        (&evidence["failed_requests"], &evidence["window_failed"]),
        (&json!(0), &json!(0)),
        "{evidence}"
    );
}

#[tokio::test(start_paused = true)]
async fn d13_a_wrong_key_and_an_unknown_model_touch_no_health() {
    let world = World::start(Yaml::b1().set("general_settings.master_key", "sk-master")).await;
    let wrong = [("authorization", "Bearer sk-wrong")];
    for _ in 0..5 {
        assert_eq!(world.call(http::Method::POST, "/v1/chat/completions", &wrong, "{}").await.status, 401);
        assert_eq!(world.chat("nope").await.status, 400);
    }
    assert_eq!((world.requests("u1"), world.state("d1")), (0, "UNKNOWN"));
}

#[tokio::test(start_paused = true)]
async fn e07_every_field_of_a_policy_acts_on_its_own_class_only() {
    let fields = [
        ("BadRequestErrorAllowedFails", Behaviour::status(400)),
        ("AuthenticationErrorAllowedFails", Behaviour::status(401)),
        ("TimeoutErrorAllowedFails", Behaviour::status(408)),
        ("RateLimitErrorAllowedFails", Behaviour::status(429)),
        ("ContentPolicyViolationErrorAllowedFails", Behaviour::content_filtered()),
        ("InternalServerErrorAllowedFails", Behaviour::status(500)),
        ("ServiceUnavailableErrorAllowedFails", Behaviour::status(503)),
        ("BadGatewayErrorAllowedFails", Behaviour::status(502)),
        ("NotFoundErrorAllowedFails", Behaviour::status(404)),
    ];
    for (n, (field, failure)) in fields.iter().enumerate() {
        let yaml = Yaml::b2()
            .set(&format!("router_settings.allowed_fails_policy.{field}"), 2)
            .set("router_settings.allowed_fails", 10)
            .set("router_settings.cooldown_time", 60);
        let world = World::start(yaml).await;
        let (_, other) = &fields[(n + 5) % fields.len()];
        for failed in 1..=3 {
            world.mock.script("u1", other.clone());
            world.chat("d1").await;
            assert!(world.is_in("d1"), "{field}: another class, {failed} times");
            world.mock.script("u1", failure.clone());
            world.chat("d1").await;
            assert_eq!(world.is_in("d1"), failed < 3, "{field}: failure {failed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn e26_until_anything_is_known_a_dead_first_deployment_costs_no_call() {
    for yaml in [Yaml::b2(), Yaml::b2().probed_every(60)] {
        let yaml = yaml
            .set("router_settings.num_retries", 1)
            .set("d1.litellm_params.order", 1)
            .set("d2.litellm_params.order", 2);
        let world = World::start(yaml).await;
        world.net.refuse("u1", 80);
        world.pass(std::time::Duration::from_millis(50)).await;
        let answer = world.chat("g").await;
        assert_eq!(
            (answer.status, answer.deployment(), answer.header("x-haleway-attempts")),
            (200, "d2", "2")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn i01_zero_is_zero_and_unset_inherits() {
    let yaml = Yaml::b2()
        .set("router_settings.allowed_fails", 5)
        .set("router_settings.allowed_fails_policy", json!({"RateLimitErrorAllowedFails": 0}));
    let world = World::of(yaml)
        .with_script("u1", Behaviour::status(500))
        .with_script("u2", Behaviour::status(429))
        .start()
        .await;
    world.chat("d1").await;
    world.chat("d2").await;
    assert!(world.is_in("d1"), "one 500 of five that are allowed");
    assert!(!world.is_in("d2"), "one 429 where none is allowed");
}

#[tokio::test(start_paused = true)]
async fn i05_allowed_fails_is_more_than() {
    let yaml = Yaml::b2().set("router_settings.allowed_fails", 3);
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    for failure in 1..=4 {
        assert_eq!(world.chat("d1").await.status, 500);
        assert_eq!(world.is_in("d1"), failure < 4, "failure {failure}");
    }
}
