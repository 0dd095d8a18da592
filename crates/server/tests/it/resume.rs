//! A chat stream that breaks after its first output and is gone on with by another deployment.

use haleway_testkit::{Answer, Behaviour, World, Yaml};
use http::Method;
use serde_json::{Value, json};

fn yaml(second: &str) -> Yaml {
    Yaml::b2()
        .set("haleway.profile", "resilient")
        .set("haleway.stream.resume", true)
        .set("general_settings.background_health_checks", false)
        .set("d1.litellm_params.order", 1)
        .set("d2.litellm_params.order", 2)
        .set("d2.litellm_params.model", second)
}

async fn world(yaml: Yaml) -> World {
    World::of(yaml)
        .with_script("u1", Behaviour::cut(4).chunks(9).text("tick "))
        .with_script("u2", Behaviour::ok().chunks(2).text("tock "))
        .start()
        .await
}

async fn ask(world: &World, members: &Value) -> Answer {
    let mut body = json!({
        "model": "g",
        "stream": true,
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "Count."}],
    });
    for (name, value) in members.as_object().unwrap() {
        body[name] = value.clone();
    }
    let asked = [("x-haleway-trace", "true")];
    world.call(Method::POST, "/v1/chat/completions", &asked, body.to_string()).await
}

fn chunks(answer: &Answer) -> Vec<Value> {
    answer.events().iter().filter_map(|event| serde_json::from_str(event).ok()).collect()
}

fn text(answer: &Answer) -> String {
    let said = |chunk: &Value| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
    chunks(answer).iter().filter_map(said).collect()
}

#[tokio::test(start_paused = true)]
async fn a_cut_stream_is_gone_on_with_and_the_caller_sees_one() {
    let world = world(yaml("hosted_vllm/stub")).await;
    let answer = ask(&world, &json!({})).await;
    assert_eq!((answer.deployment(), text(&answer).as_str()), ("d1", "tick tick tick tock tock "));
    assert!(answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
    let chunks = chunks(&answer);
    assert!(chunks.iter().all(|chunk| chunk["id"] == chunks[0]["id"] && chunk["error"].is_null()));
    let roles = chunks.iter().filter(|chunk| !chunk["choices"][0]["delta"]["role"].is_null());
    assert_eq!(roles.count(), 1);
    assert!(answer.text().contains(": resumed by d2 after stream_cut\n"));
    let told = &chunks.last().unwrap()["haleway"];
    assert_eq!(
        (&told["deployment"], &told["resumed"][0]["from"], &told["resumed"][0]["reason"]),
        (&json!("d2"), &json!("d1"), &json!("stream_cut"))
    );
    let sent = &world.mock.kept("u2")[0].body;
    assert_eq!(sent["messages"][1], json!({"role": "assistant", "content": "tick tick tick"}));
    assert_eq!(
        (&sent["continue_final_message"], &sent["add_generation_prompt"], &sent["max_tokens"]),
        (&json!(true), &json!(false), &json!(47))
    );
    world.until("the cut is known", || world.state("d1") == "SUSPECT").await;
    let blamed = world.detail("d1").await["evidence"]["failed_requests"].clone();
    assert_eq!((blamed, world.requests("u1"), world.requests("u2")), (json!(1), 1, 1));
}

/// Nobody who goes on, or nothing that can be gone on with: the error event, as ever.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_gone_on_with_ends_with_the_error_event() {
    let json_mode = json!({"response_format": {"type": "json_object"}});
    let cases = [
        (yaml("openai/stub"), json!({})),
        (yaml("hosted_vllm/stub").set("haleway.stream.resume", false), json!({})),
        (yaml("hosted_vllm/stub"), json_mode),
        (yaml("hosted_vllm/stub").set("haleway.retry", json!({"share": 0, "reserve": 0})), json!({})),
        (yaml("hosted_vllm/stub").set("d2.model_info.supports_assistant_prefill", false), json!({})),
    ];
    for (index, (yaml, members)) in cases.into_iter().enumerate() {
        let world = world(yaml).await;
        let answer = ask(&world, &members).await;
        assert_eq!((text(&answer).as_str(), world.requests("u2")), ("tick tick tick ", 0), "case {index}");
        assert!(chunks(&answer).last().unwrap()["error"].is_object(), "case {index}");
        assert!(!answer.text().contains("[DONE]"), "case {index}");
    }
}

/// The deployment that goes on breaks off, too: no third one is asked unless `resumptions` says so.
#[tokio::test(start_paused = true)]
async fn a_stream_is_continued_as_often_as_the_setting_says() {
    for (resumptions, ends, asked) in [(1, false, 0), (2, true, 1)] {
        let yaml = yaml("hosted_vllm/stub")
            .set("haleway.stream.resumptions", resumptions)
            .deployment("g", "d3")
            .set("d3.litellm_params.order", 3)
            .set("d3.litellm_params.model", "hosted_vllm/stub");
        let world = world(yaml).await;
        world.mock.script("u2", Behaviour::cut(3).chunks(9).text("tock "));
        let answer = ask(&world, &json!({})).await;
        assert!(text(&answer).starts_with("tick tick tick tock tock "), "{}", text(&answer));
        assert_eq!((answer.text().contains("[DONE]"), world.requests("u3")), (ends, asked), "{resumptions}");
    }
}

/// Before its first output the one that goes on may fail like any other: the next is asked.
#[tokio::test(start_paused = true)]
async fn a_continuation_that_fails_at_once_is_tried_once_more() {
    let yaml = yaml("hosted_vllm/stub")
        .deployment("g", "d3")
        .set("d3.litellm_params.order", 3)
        .set("d3.litellm_params.model", "mistral/stub");
    let world = world(yaml).await;
    world.mock.script("u2", Behaviour::status(503));
    let answer = ask(&world, &json!({})).await;
    assert!(answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
    assert_eq!((world.requests("u2"), world.requests("u3")), (1, 1));
    assert_eq!(world.mock.kept("u3")[0].body["messages"][1]["prefix"], true);
}
