//! The harness itself: a call goes through, a failure is seen, the log is kept.

use haleway_testkit::{Behaviour, World, Yaml};

#[tokio::test(start_paused = true)]
async fn a_call_reaches_its_provider_with_its_key() {
    let world = World::start(Yaml::b2f()).await;
    let answer = world.chat("g").await;
    assert_eq!((answer.status, answer.deployment()), (200, "d1"), "{}", answer.text());
    assert_eq!(answer.json()["object"], "chat.completion");
    let seen = world.mock.counts("u1");
    assert_eq!((seen.requests, seen.keys["sk-canary-1"], seen.models["stub"]), (1, 1, 1));
    assert_eq!(world.requests("u2"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_arrives_event_by_event() {
    let world = World::start(Yaml::b1()).await;
    let answer = world.chat_stream("g").await;
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8");
    let events = answer.events();
    assert!(events.len() > 2, "{events:?}");
    assert_eq!(events.last().map(String::as_str), Some("[DONE]"));
}

#[tokio::test(start_paused = true)]
async fn a_failing_deployment_goes_out_and_the_log_says_so() {
    let yaml = Yaml::b2().set("router_settings.allowed_fails", 0).set("haleway.profile", "litellm");
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    let seen = world.chats("g", 20).await;
    assert_eq!(seen["500"], 1, "{seen:?}");
    assert_eq!(world.state("d1"), "ISOLATED");
    world.until("the log tells", || world.logs.has("out of rotation")).await;
}
