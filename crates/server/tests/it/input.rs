//! Bad input: told in LiteLLM's shape with a stable code, before anything is sent anywhere.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use haleway_testkit::{Answer, World, Yaml};
use http::Method;
use serde_json::{Value, json};

async fn post(world: &World, path: &str, body: impl Into<Bytes>) -> Answer {
    world.call(Method::POST, path, &[], body).await
}

#[tokio::test(start_paused = true)]
async fn wrong_types_and_missing_members_are_named() {
    let world = World::start(Yaml::b1()).await;
    let messages = json!([{"role": "user", "content": "hi"}]);
    for (path, body, param) in [
        ("/v1/chat/completions", json!({"model": 5, "messages": messages}), "model"),
        ("/v1/chat/completions", json!({"messages": messages}), "model"),
        ("/v1/chat/completions", json!({"model": "g", "messages": "hi"}), "messages"),
        ("/v1/chat/completions", json!({"model": "g", "messages": null}), "messages"),
        ("/v1/chat/completions", json!({"model": "g", "messages": messages, "stream": "yes"}), "stream"),
        ("/v1/chat/completions", json!({"model": "nope", "messages": messages}), "model"),
        ("/v1/completions", json!({"model": "g"}), "prompt"),
        ("/v1/embeddings", json!({"model": "g", "input": 7}), "input"),
        ("/openai/deployments/g/chat/completions", json!({}), "messages"),
        ("/v1/chat/completions", json!([1]), "request_body"),
    ] {
        let answer = post(&world, path, body.to_string()).await;
        let error = &answer.json()["error"];
        assert_eq!(
            (answer.status, &error["type"], &error["code"], &error["param"]),
            (400, &json!("invalid_request_error"), &json!("400"), &json!(param)),
            "{path} {body}: {error}"
        );
        assert!(!answer.header("x-litellm-call-id").is_empty());
    }
    assert_eq!((world.requests("u1"), world.state("d1")), (0, "UNKNOWN"));
}

#[tokio::test(start_paused = true)]
async fn broken_json_is_told_its_place() {
    let world = World::start(Yaml::b1()).await;
    for body in ["{\"model\": \"g\",\n \"messages\": [", "{\"model\": g}", "\u{feff}{}x", "nul"] {
        let answer = post(&world, "/v1/chat/completions", body.to_owned()).await;
        assert_eq!((answer.status, answer.error("param")), (400, json!("request_body")), "{body}");
        assert!(
            answer.error("message").as_str().unwrap().starts_with("Invalid JSON payload: "),
            "{}",
            answer.text()
        );
    }
    let not_text = post(&world, "/v1/chat/completions", vec![b'{', 0xff, b'}']).await;
    assert_eq!(not_text.status, 400);
    assert_eq!(world.requests("u1"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_beyond_the_limit_is_refused() {
    let world = World::start(Yaml::b1().set("general_settings.max_request_size_mb", 1)).await;
    let padded =
        |bytes: usize| json!({"model": "g", "messages": [{"role": "user", "content": "x".repeat(bytes)}]});
    let answer = world.post("/v1/chat/completions", &padded(1024 * 1024)).await;
    assert_eq!(
        (answer.status, answer.error("code"), answer.error("class")),
        (413, json!("413"), json!("body_too_large"))
    );
    assert_eq!(world.post("/v1/chat/completions", &padded(1024 * 1000)).await.status, 200);
    assert_eq!(world.requests("u1"), 1);
}

/// A body of so many megabytes that counts how many were read.
struct Megabytes {
    left: usize,
    read: Arc<AtomicUsize>,
}

impl http_body::Body for Megabytes {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        self.read.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from(vec![b' '; 1024 * 1024])))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_caller_is_read_on_so_that_it_sees_the_answer() {
    let yaml = Yaml::b1()
        .set("general_settings.master_key", "sk-master")
        .set("general_settings.max_request_size_mb", 1);
    let world = World::start(yaml).await;
    for (key, expect, megabytes, status, consumed) in [
        ("Bearer sk-wrong", false, 3, 401, 3..=3),
        ("Bearer sk-master", false, 3, 413, 3..=3),
        ("Bearer sk-wrong", false, 500, 401, 64..=66),
        ("Bearer sk-master", false, 500, 413, 64..=68),
        ("Bearer sk-wrong", true, 3, 401, 0..=0),
        // It asked, and was told to go on: how much it would send was not known.
        ("Bearer sk-master", true, 3, 413, 3..=3),
    ] {
        let read = Arc::new(AtomicUsize::new(0));
        let body = Megabytes { left: megabytes, read: Arc::clone(&read) };
        let mut request = http::Request::post("/v1/chat/completions").header("authorization", key);
        if expect {
            request = request.header("expect", "100-continue");
        }
        let answer = Answer::read(world.routes.answer(request.body(body).unwrap()).await).await;
        assert_eq!(answer.status, status);
        let read = read.load(Ordering::Relaxed);
        assert!(consumed.contains(&read), "{status}: {read} of {megabytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn fields_that_nobody_knows_reach_the_provider_as_they_came() {
    let world = World::start(Yaml::b1()).await;
    let extra = json!({"foo": {"b": [1.0, 2.5]}, "x_vendor": "ü", "top_k": 3});
    assert_eq!(world.chat_with("g", &extra).await.status, 200);
    let body = &world.mock.kept("u1")[0].body;
    for (name, value) in extra.as_object().unwrap() {
        assert_eq!(&body[name], value);
    }
    assert_eq!(body["model"], "stub");
}

#[tokio::test(start_paused = true)]
async fn every_path_of_an_operation_serves() {
    let world = World::start(Yaml::b1()).await;
    let chat = json!({"model": "g", "messages": [{"role": "user", "content": "hi"}]});
    for path in [
        "/v1/chat/completions",
        "/chat/completions",
        "/openai/deployments/g/chat/completions",
        "/engines/g/chat/completions",
    ] {
        assert_eq!(world.post(path, &chat).await.status, 200, "{path}");
    }
    for (path, body) in [
        ("/v1/completions", json!({"model": "g", "prompt": "hi"})),
        ("/completions", json!({"model": "g", "prompt": "hi"})),
        ("/v1/embeddings", json!({"model": "g", "input": "hi"})),
        ("/embeddings", json!({"model": "g", "input": ["hi"]})),
        ("/openai/deployments/g/embeddings", json!({"input": "hi"})),
    ] {
        let answer = world.post(path, &body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    let read = world.get("/v1/chat/completions").await;
    assert_eq!(
        (read.status, read.header("allow"), read.json()),
        (405, "POST", json!({"detail": "Method Not Allowed"}))
    );
}

#[tokio::test(start_paused = true)]
async fn model_lists_and_info_tell_no_secret_and_hide_what_is_out_on_request() {
    let yaml = Yaml::b2f().set("d2.litellm_params.extra_headers", json!({"x-secret": "CANARY-1"}));
    let world = World::of(yaml).with_script("u1", haleway_testkit::Behaviour::status(401)).start().await;
    let ids = |page: Value| -> Vec<String> {
        page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|model| model["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(world.get("/v1/models").await.json()), ["g", "h"]);
    assert_eq!(world.chat_with("g", &json!({"disable_fallbacks": true})).await.status, 401);
    assert_eq!(ids(world.get("/v1/models?healthy_only=true").await.json()), ["h"]);
    assert_eq!(ids(world.get("/models").await.json()), ["g", "h"]);
    assert_eq!(ids(world.get("/v1/models/").await.json()), ["g", "h"]);
    // As Python writes it, and as LiteLLM's server reads it.
    assert_eq!(ids(world.get("/v1/models?healthy_only=True").await.json()), ["h"]);
    assert_eq!(ids(world.get("/v1/models?healthy_only=0").await.json()), ["g", "h"]);
    let unread = world.get("/v1/models?healthy_only=perhaps").await;
    assert_eq!(unread.status, 422);
    assert!(unread.json()["detail"]["error"].is_string(), "{}", unread.text());
    let one = world.get("/v1/models/g").await.json();
    assert_eq!(
        (&one["object"], &one["created"], &one["owned_by"]),
        (&json!("model"), &json!(1_677_610_602), &json!("openai"))
    );
    assert_eq!(world.get("/v1/models/nope").await.status, 404);
    let info = world.get("/v1/model/info").await;
    let row = &info.json()["data"][0];
    assert_eq!(
        (&row["model_name"], &row["litellm_params"]["model"], &row["model_info"]["id"]),
        (&json!("g"), &json!("openai/stub"), &json!("d1"))
    );
    let only = world.get("/v1/model/info?litellm_model_id=d2").await.json();
    assert_eq!((only["data"].as_array().unwrap().len(), &only["data"][0]["model_name"]), (1, &json!("h")));
    assert_eq!(world.get("/v1/model/info?litellm_model_id=zz").await.status, 404);
    assert!(!info.text().contains("sk-canary") && !info.text().contains("CANARY"), "{}", info.text());
}
