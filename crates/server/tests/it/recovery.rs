//! The way back through the whole gateway, without probes: trial, ramp, and who keeps the traffic meanwhile.

use std::time::Duration;

use haleway_mockllm::{Phase, Plan};
use haleway_testkit::{Behaviour, Script, World, Yaml};

const HALF_SECOND: Duration = Duration::from_millis(500);

/// Two calls a second for `seconds`; how many of them `u1` saw.
async fn traffic(world: &World, seconds: u64) -> u64 {
    let before = world.requests("u1");
    for _ in 0..seconds * 2 {
        assert_eq!(world.chat("g").await.status, 200);
        world.pass(HALF_SECOND).await;
    }
    world.requests("u1") - before
}

fn passive() -> Yaml {
    Yaml::b2()
        .set("general_settings.background_health_checks", false)
        .set("router_settings.num_retries", 1)
        .set("haleway.profile", "resilient")
}

#[tokio::test(start_paused = true)]
async fn f18_without_probes_a_cured_deployment_gets_a_trial_a_ramp_and_its_share() {
    let failing = Phase { for_ms: 10_000, behaviour: Behaviour::status(502) };
    let cured = Phase { for_ms: 3_600_000, behaviour: Behaviour::ok() };
    let script = Script { plan: Plan::Cycle(vec![failing, cured]), ..Script::ok() };
    let world = World::of(passive()).with_script("u1", script).start().await;
    // By its id, so that chance has no say in who is asked.
    for _ in 0..5 {
        world.chat("d1").await;
    }
    assert_eq!(world.state("d1"), "ISOLATED");
    assert_eq!(traffic(&world, 20).await, 0, "out");
    // 30 s after the isolation, give or take a tenth, one trial; the ramp takes 60 s.
    traffic(&world, 20).await;
    assert_eq!(world.state("d1"), "RAMPING");
    traffic(&world, 90).await;
    assert_eq!(world.state("d1"), "HEALTHY");
    let share = traffic(&world, 60).await;
    assert!((30..=90).contains(&share), "about half of 120 calls: {share}");
}

#[tokio::test(start_paused = true)]
async fn e24_traffic_does_not_move_to_a_deployment_that_serves_nothing() {
    // d1 serves three of five calls, d2 none.
    let mut steps = Vec::new();
    for _ in 0..200 {
        steps.extend([
            Behaviour::ok(),
            Behaviour::status(502),
            Behaviour::ok(),
            Behaviour::status(502),
            Behaviour::ok(),
        ]);
    }
    let world = World::of(passive().set("router_settings.num_retries", 0))
        .with_script("u1", Script::first(steps))
        .with_script("u2", Behaviour::status(502))
        .start()
        .await;
    for _ in 0..60 {
        world.chat("g").await;
        world.pass(HALF_SECOND).await;
    }
    assert_eq!(
        (world.is_in("d1"), world.is_in("d2")),
        (true, false),
        "d2 is isolated, or waits for its trial"
    );
    let (d1, d2) = (world.requests("u1"), world.requests("u2"));
    for _ in 0..120 {
        world.chat("g").await;
        world.pass(HALF_SECOND).await;
    }
    let (to_d1, to_d2) = (world.requests("u1") - d1, world.requests("u2") - d2);
    assert!(to_d2 <= 3, "trials only: {to_d2}");
    assert!(to_d1 >= 117, "d1 keeps the traffic: {to_d1}");
    assert!(world.is_in("d1"));
}

#[tokio::test(start_paused = true)]
async fn e17_an_answer_in_a_panic_says_so_and_a_dead_key_stays_out() {
    let yaml = Yaml::new()
        .deployment("g", "d1")
        .deployment("g", "d2")
        .deployment("g", "d3")
        .deployment("g", "d4")
        .set("general_settings.background_health_checks", false)
        .set("router_settings.num_retries", 0)
        .set("haleway.profile", "resilient")
        .set("haleway.health.panic.threshold", 0.5);
    let world = World::of(yaml)
        .with_script("u1", Behaviour::status(502))
        .with_script("u2", Behaviour::status(502))
        .with_script("u3", Behaviour::status(401))
        .start()
        .await;
    assert_eq!(world.chat("d4").await.header("x-haleway-panic"), "", "calm at first");
    for id in ["d1", "d2", "d3"] {
        for _ in 0..6 {
            world.chat(id).await;
        }
    }
    let (before, dead) = (world.requests("u1") + world.requests("u2"), world.requests("u3"));
    let mut said = 0;
    for _ in 0..60 {
        let answer = world.chat("g").await;
        said += usize::from(answer.status == 200 && answer.header("x-haleway-panic") == "spread");
    }
    assert!(said > 5, "every answer in a panic says so: {said}");
    assert!(
        world.requests("u1") + world.requests("u2") > before + 10,
        "spread over what was only inferred to be out"
    );
    assert_eq!(world.requests("u3"), dead, "never over a dead key");
}
