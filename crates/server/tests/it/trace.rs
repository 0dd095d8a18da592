//! The `haleway` object: how a call was routed, inside its answer (report H04).

use std::time::Duration;

use haleway_testkit::{Answer, Behaviour, Script, World, Yaml};
use http::Method;
use serde_json::{Value, json};

const ASKED: &[(&str, &str)] = &[("x-haleway-trace", "true")];

fn hello(model: &str, stream: bool) -> Value {
    json!({"model": model, "stream": stream, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]})
}

async fn ask(world: &World, path: &str, body: &Value, headers: &[(&str, &str)]) -> Answer {
    world.call(Method::POST, path, headers, body.to_string()).await
}

/// d1 in cooldown, d2 fails, d3 serves.
pub(crate) async fn three() -> World {
    let yaml = Yaml::b2()
        .deployment("g", "d3")
        .set("router_settings.num_retries", 1)
        .set("d1.litellm_params.order", 1)
        .set("d2.litellm_params.order", 1)
        .set("d3.litellm_params.order", 2)
        .set("haleway.profile", "litellm");
    let world = World::of(yaml)
        .with_script("u1", Behaviour::rate_limited("12"))
        .with_script("u2", Behaviour::status(500))
        .start()
        .await;
    assert_eq!(world.chat_with("d1", &json!({"num_retries": 0})).await.status, 429);
    world
}

fn check(object: &Value) {
    assert_eq!(
        (&object["deployment"], &object["attempts"], &object["model_group"], &object["fallback_group"]),
        (&json!("d3"), &json!(2), &json!("g"), &Value::Null),
        "{object}"
    );
    assert_eq!(
        object["candidates"],
        json!([
            {"deployment": "d1", "group": "g", "outcome": "skipped", "reason": "cooldown(429, 12s)"},
            {
                "deployment": "d2",
                "group": "g",
                "outcome": "failed",
                "reason": "http_500",
                "class": "server_error",
                "status": 500,
                "took_ms": 0,
            },
        ])
    );
}

#[tokio::test(start_paused = true)]
async fn h04_the_object_is_in_answers_streams_and_errors_of_those_who_ask() {
    let world = three().await;
    let answer = ask(&world, "/v1/chat/completions", &hello("g", false), ASKED).await;
    check(&answer.json()["haleway"]);
    assert_eq!(answer.json()["object"], "chat.completion");

    let stream = ask(&world, "/v1/chat/completions", &hello("g", true), ASKED).await;
    let events = stream.events();
    let [.., before, trace, done] = &events[..] else { panic!("{events:?}") };
    assert_eq!(done, "[DONE]");
    let (before, trace): (Value, Value) =
        (serde_json::from_str(before).unwrap(), serde_json::from_str(trace).unwrap());
    check(&trace["haleway"]);
    assert_eq!(trace["choices"], json!([]));
    for member in ["id", "object", "created", "model"] {
        assert_eq!(trace[member], before[member], "{member}");
    }

    world.mock.script("u3", Behaviour::status(502));
    let error = world.chat("g").await;
    let object = error.error("haleway");
    assert_eq!((error.status, &object["gave_up"]), (502, &json!("retries_exhausted")));
    assert_eq!((&object["attempts"], &object["candidates"][2]["reason"]), (&json!(2), &json!("http_502")));
}

#[tokio::test(start_paused = true)]
async fn nobody_who_did_not_ask_gets_the_object_and_providers_never_hear_of_it() {
    let world = World::start(Yaml::b1()).await;
    for headers in [&[][..], &[("x-haleway-trace", "false")]] {
        for stream in [false, true] {
            let answer = ask(&world, "/v1/chat/completions", &hello("g", stream), headers).await;
            assert!(!answer.text().contains("haleway"), "{}", answer.text());
        }
    }
    ask(&world, "/v1/chat/completions", &hello("g", false), ASKED).await;
    let seen = world.mock.kept("u1");
    assert_eq!(seen.len(), 5);
    assert!(!format!("{seen:?}").contains("haleway-trace"), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn the_level_of_detail_is_a_setting() {
    let always = World::start(Yaml::b1().set("haleway.trace", "always")).await;
    assert_eq!(always.chat("g").await.json()["haleway"]["deployment"], "d1");

    let yaml = Yaml::b2f().set("haleway.trace", "never");
    let never = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    let answer = ask(&never, "/v1/chat/completions", &hello("g", false), ASKED).await;
    assert_eq!((answer.deployment(), answer.header("x-haleway-attempts")), ("d2", "2"));
    assert!(answer.json()["haleway"].is_null() && answer.header("x-haleway-skipped").is_empty());
    never.mock.script("u2", Behaviour::status(500));
    let error = never.chat("g").await;
    assert!(error.status >= 500 && error.error("haleway").is_null(), "{}", error.text());
}

#[tokio::test(start_paused = true)]
async fn fallbacks_and_waits_are_told() {
    let world = World::of(Yaml::b2f()).with_script("u1", Behaviour::status(503)).start().await;
    let answer = ask(&world, "/v1/chat/completions", &hello("g", false), ASKED).await;
    let object = &answer.json()["haleway"];
    assert_eq!((&object["fallbacks"], &object["fallback_group"]), (&json!(1), &object["model_group"]));
    assert_eq!(object["candidates"][0]["group"], "g");

    let yaml = Yaml::b1().set("haleway.profile", "litellm");
    let slow = Behaviour::rate_limited("2");
    let world = World::of(yaml).with_script("u1", Script::fail_then_ok(1, &slow)).start().await;
    let mut body = hello("g", false);
    body["num_retries"] = json!(1);
    let answer = ask(&world, "/v1/chat/completions", &body, ASKED).await;
    let object = &answer.json()["haleway"];
    assert!(object["waited_ms"].as_u64().unwrap() >= 2_000, "{object}");
    assert!(object["duration_ms"].as_u64() >= object["waited_ms"].as_u64(), "{object}");
}

/// The other wires: an event of its own after the last, and the error event of a stream that breaks.
#[tokio::test(start_paused = true)]
async fn the_object_is_the_last_event_of_every_wire() {
    let yaml = Yaml::b1().set("d1.litellm_params.model", "anthropic/stub");
    let world = World::start(yaml).await;
    let answer = ask(&world, "/v1/messages", &hello("g", true), ASKED).await;
    let events = answer.events();
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["haleway"]["deployment"]), (&json!("haleway"), &json!("d1")));
    assert!(answer.text().contains("event: haleway\n"));

    let world = World::of(Yaml::b1()).with_script("u1", Behaviour::cut(3)).start().await;
    let answer = ask(&world, "/v1/chat/completions", &hello("g", true), ASKED).await;
    let events = answer.events();
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["error"]["haleway"]["deployment"], "d1", "{last}");
    world.pass(Duration::from_secs(1)).await;
}
