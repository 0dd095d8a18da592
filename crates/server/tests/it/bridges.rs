//! Messages, responses and chat completions on deployments that speak another of these wires: served alike, held back
//! alike, and ended as the caller's wire has it.

use haleway_mockllm::Act;
use haleway_testkit::{Answer, Behaviour, Script, World, Yaml};
use serde_json::{Value, json};

/// `d1` serves chat completions only.
fn chat_only() -> Yaml {
    Yaml::b1().set("d1.litellm_params.model", "deepseek/stub")
}

/// The same with a sibling.
fn two_chats() -> Yaml {
    Yaml::b2().set("d1.litellm_params.model", "deepseek/stub").set("d2.litellm_params.model", "deepseek/stub")
}

/// `d1` speaks chat completions, `d2` Anthropic's messages.
fn chat_and_claude() -> Yaml {
    Yaml::b2()
        .set("d1.litellm_params.model", "deepseek/stub")
        .set("d2.litellm_params.model", "anthropic/claude-haiku-4-5")
        .set("d2.litellm_params.api_base", "http://u2")
}

fn message(members: Value) -> Value {
    let mut body = json!({"model": "g", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

fn response(members: Value) -> Value {
    let mut body = json!({"model": "g", "input": "hi"});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

/// Names of the events, and their data. Every name is the type of its data.
fn named(answer: &Answer) -> Vec<(String, Value)> {
    let text = answer.text();
    text.split("\n\n")
        .filter(|event| !event.is_empty())
        .map(|event| {
            let (name, data) = event.split_once('\n').unwrap_or_else(|| panic!("no name: {event}"));
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            let name = name.strip_prefix("event: ").unwrap().to_owned();
            assert_eq!(data["type"], name.as_str());
            (name, data)
        })
        .collect()
}

fn said(events: &[(String, Value)], name: &str, pointer: &str) -> String {
    events
        .iter()
        .filter(|(kind, _)| kind == name)
        .filter_map(|(_, data)| data.pointer(pointer).and_then(Value::as_str))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_message_is_served_by_a_chat_deployment() {
    let world = World::start(chat_only()).await;
    let answer = world.post("/v1/messages", &message(json!({"system": "Be brief."}))).await;
    assert_eq!((answer.status, answer.deployment()), (200, "d1"), "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("x-haleway-attempts"), "1");
    let body = answer.json();
    assert_eq!(
        (&body["type"], &body["role"], &body["stop_reason"]),
        (&json!("message"), &json!("assistant"), &json!("end_turn"))
    );
    assert!(!body["content"][0]["text"].as_str().unwrap().is_empty());
    assert!(body["usage"]["input_tokens"].as_u64().unwrap() > 0);
    let seen = world.mock.kept("u1");
    assert_eq!(seen[0].path, "/v1/chat/completions");
    assert_eq!(seen[0].body["messages"][0], json!({"role": "system", "content": "Be brief."}));
}

#[tokio::test(start_paused = true)]
async fn a_message_stream_is_anthropics_from_start_to_stop() {
    let world = World::of(chat_only()).with_script("u1", Behaviour::ok().text("one two three")).start().await;
    let answer = world.post("/v1/messages", &message(json!({"stream": true}))).await;
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8");
    let events = named(&answer);
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["message_start", "content_block_start"]);
    assert_eq!(names[names.len() - 3..], ["content_block_stop", "message_delta", "message_stop"]);
    assert_eq!(said(&events, "content_block_delta", "/delta/text"), "one two three");
    let usage = &events[events.len() - 2].1["usage"];
    assert_eq!(usage["output_tokens"], 3, "{usage}");
    assert!(!answer.text().contains("[DONE]"));
}

#[tokio::test(start_paused = true)]
async fn a_response_is_served_by_a_chat_deployment_whole_and_streamed() {
    let world = World::of(chat_only()).with_script("u1", Behaviour::ok().text("one two")).start().await;
    let whole = world.post("/v1/responses", &response(json!({"instructions": "Be brief."}))).await;
    assert_eq!(whole.status, 200, "{}", whole.text());
    let body = whole.json();
    assert_eq!((&body["object"], &body["status"]), (&json!("response"), &json!("completed")));
    assert_eq!(body["output"][0]["content"][0]["text"], "one two");
    assert_eq!(body["instructions"], "Be brief.");

    let stream = world.post("/v1/responses", &response(json!({"stream": true}))).await;
    let events = named(&stream);
    assert_eq!(events[0].0, "response.created");
    assert_eq!(said(&events, "response.output_text.delta", "/delta"), "one two");
    for (number, (_, data)) in events.iter().enumerate() {
        assert_eq!(data["sequence_number"], number);
    }
    let (name, last) = events.last().unwrap();
    assert_eq!(name, "response.completed");
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], "one two");
    assert_eq!(last["response"]["usage"]["output_tokens"], 2);
    assert_eq!(world.mock.kept("u1")[1].path, "/v1/chat/completions");
}

#[tokio::test(start_paused = true)]
async fn a_chat_is_served_by_a_deployment_of_responses_only() {
    let yaml = Yaml::b1().set("d1.litellm_params.model", "openai/responses/stub");
    let world = World::of(yaml).with_script("u1", Behaviour::ok().text("one two")).start().await;
    let whole = world.chat("g").await;
    assert_eq!(whole.status, 200, "{}", whole.text());
    let body = whole.json();
    assert_eq!(
        (&body["object"], &body["choices"][0]["finish_reason"]),
        (&json!("chat.completion"), &json!("stop"))
    );
    assert_eq!(body["choices"][0]["message"]["content"], "one two");

    let stream = world.chat_stream("g").await;
    let events = stream.events();
    assert_eq!(events.last().map(String::as_str), Some("[DONE]"));
    assert!(!stream.text().contains("\"usage\""), "nobody asked for it");
    let asked =
        world.chat_with("g", &json!({"stream": true, "stream_options": {"include_usage": true}})).await;
    assert!(asked.text().contains("\"completion_tokens\":2"), "{}", asked.text());

    let message = world.post("/v1/messages", &message(json!({"stream": true}))).await;
    assert_eq!(said(&named(&message), "content_block_delta", "/delta/text"), "one two");
    assert!(world.mock.kept("u1").iter().all(|seen| seen.path == "/v1/responses"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_committed_before_output_on_bridged_streams_either() {
    for failure in
        [Behaviour::status(500), Behaviour::error_event(1, 500), Behaviour::cut(1), Behaviour::of(Act::Empty)]
    {
        for (path, body, end) in [
            ("/v1/messages", message(json!({"stream": true})), "message_stop"),
            ("/v1/responses", response(json!({"stream": true})), "response.completed"),
        ] {
            let yaml = two_chats()
                .set("d1.litellm_params.order", 1)
                .set("d2.litellm_params.order", 2)
                .set("router_settings.num_retries", 1);
            let world = World::of(yaml).with_script("u1", failure.clone()).start().await;
            let answer = world.post(path, &body).await;
            assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{failure:?} {}", answer.text());
            let events = named(&answer);
            assert_eq!(events.last().unwrap().0, end, "{failure:?}");
            assert_eq!(
                events
                    .iter()
                    .filter(|(name, _)| name == "message_start" || name == "response.created")
                    .count(),
                1
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_later_ends_with_the_wires_error_event_and_no_end_mark() {
    for failure in [Behaviour::error_event(3, 500), Behaviour::cut(3)] {
        let world =
            World::of(chat_only()).with_script("u1", failure.text("one two three four")).start().await;
        let answer = world.post("/v1/messages", &message(json!({"stream": true}))).await;
        let events = named(&answer);
        let (name, last) = events.last().unwrap();
        assert_eq!((name.as_str(), &last["error"]["type"]), ("error", &json!("api_error")), "{last}");
        assert!(!answer.text().contains("message_stop"));

        let answer = world.post("/v1/responses", &response(json!({"stream": true}))).await;
        let events = named(&answer);
        let (name, last) = events.last().unwrap();
        assert_eq!(name, "error");
        assert!(last["message"].is_string() && last["error"]["class"].is_string(), "{last}");
        assert!(!answer.text().contains("response.completed"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_leaves_out_its_end_mark_costs_the_caller_nothing() {
    let chunk = |delta: Value, finish: Value| {
        format!(
            "data: {}\n\n",
            json!({"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        )
    };
    let stream = chunk(json!({"content": "one"}), Value::Null) + &chunk(json!({}), json!("stop"));
    let reply = Behaviour::status(200).header("content-type", "text/event-stream").body(stream);
    let world = World::of(chat_only()).with_script("u1", reply).start().await;
    let answer = world.post("/v1/messages", &message(json!({"stream": true}))).await;
    assert_eq!(named(&answer).last().unwrap().0, "message_stop");
    let answer = world.post("/v1/responses", &response(json!({"stream": true}))).await;
    assert_eq!(named(&answer).last().unwrap().0, "response.completed");
    assert!(world.is_in("d1"));
}

#[tokio::test(start_paused = true)]
async fn what_one_wire_cannot_say_is_served_by_another_without_a_retry() {
    let world = World::start(chat_and_claude()).await;
    let search = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]});
    for _ in 0..10 {
        let answer = world.post("/v1/messages", &message(search.clone())).await;
        assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
    }
    assert_eq!(world.requests("u1"), 0);
    assert!(world.is_in("d1"), "the caller's wish is no fault of the deployment");
    // What both can say, both serve: the wire is no reason to prefer one.
    let mut served = std::collections::BTreeSet::new();
    for _ in 0..40 {
        served.insert(world.post("/v1/messages", &message(json!({}))).await.deployment().to_owned());
    }
    assert_eq!(served.into_iter().collect::<Vec<_>>(), ["d1", "d2"]);
}

#[tokio::test(start_paused = true)]
async fn d14_what_nobody_can_say_is_refused_with_its_place_before_anything_is_sent() {
    let world = World::start(two_chats()).await;
    let answer = world.post("/v1/responses", &response(json!({"previous_response_id": "resp_1"}))).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    let error = answer.json()["error"].clone();
    assert_eq!(error["haleway"]["code"], "untranslatable_request", "{error}");
    assert_eq!(error["haleway"]["param"], "previous_response_id");
    assert_eq!(error["type"], "invalid_request_error");
    let tools = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]});
    let answer = world.post("/v1/messages", &message(tools)).await;
    let body = answer.json();
    assert_eq!(
        (answer.status, &body["type"], &body["error"]["type"]),
        (400, &json!("error"), &json!("invalid_request_error")),
        "{body}"
    );
    assert!(body["error"]["message"].as_str().unwrap().contains("web_search_20250305"), "{body}");
    assert_eq!(world.requests("u1") + world.requests("u2"), 0);
    assert!(world.is_in("d1") && world.is_in("d2"));
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_said_outlives_what_a_wire_could_not_say() {
    let yaml = chat_and_claude()
        .set("d2.litellm_params.order", 1)
        .set("d1.litellm_params.order", 2)
        .set("router_settings.num_retries", 1);
    let world = World::of(yaml).with_script("u2", Behaviour::status(500)).start().await;
    let search = json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]});
    let answer = world.post("/v1/messages", &message(search)).await;
    assert_eq!(answer.status, 500, "{}", answer.text());
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_provider_are_told_in_the_callers_shape() {
    for (status, kind) in [
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (529, "overloaded_error"),
    ] {
        let world =
            World::of(chat_only()).with_script("u1", Script::from(Behaviour::status(status))).start().await;
        for stream in [false, true] {
            let answer = world.post("/v1/messages", &message(json!({"stream": stream}))).await;
            let body = answer.json();
            assert_eq!(
                (answer.status, &body["type"], &body["error"]["type"]),
                (status, &json!("error"), &json!(kind)),
                "{body}"
            );
            world.pass_secs(120).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_success_is_classified_by_the_providers_own_words() {
    let error = json!({"error": {"message": "Rate limit reached", "type": "rate_limit_error", "code": "rate_limit_exceeded"}});
    let world = World::of(chat_only()).with_script("u1", Behaviour::status(200).body(error)).start().await;
    let answer = world.post("/v1/messages", &message(json!({}))).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["type"]),
        (429, &json!("rate_limit_error")),
        "{}",
        answer.text()
    );
}

#[tokio::test(start_paused = true)]
async fn tokens_are_counted_by_who_can_and_a_count_proves_nothing() {
    let world = World::start(chat_and_claude()).await;
    for _ in 0..10 {
        let answer = world.post("/v1/messages/count_tokens", &message(json!({}))).await;
        assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
        assert!(answer.json()["input_tokens"].as_u64().unwrap() > 0);
    }
    assert_eq!(world.mock.kept("u2")[0].path, "/v1/messages/count_tokens");
    assert_eq!(world.state("d2"), "UNKNOWN", "no model has answered yet");
    let world = World::start(chat_only()).await;
    let answer = world.post("/v1/messages/count_tokens", &message(json!({}))).await;
    let body = answer.json();
    assert_eq!((answer.status, &body["type"]), (400, &json!("error")), "{body}");
    assert!(body["error"]["message"].as_str().unwrap().contains("count_tokens"), "{body}");
    assert_eq!(world.requests("u1"), 0);
}

#[tokio::test(start_paused = true)]
async fn several_models_in_one_call_answer_in_a_list() {
    let world = World::of(Yaml::b2f()).with_script("u1", Behaviour::ok().text("one")).start().await;
    let answer = world.chat("g, h").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let list = answer.json();
    assert_eq!(list.as_array().map(Vec::len), Some(2));
    assert_eq!(list[0]["choices"][0]["message"]["content"], "one");
    assert_eq!(list[1]["object"], "chat.completion");
    assert_eq!(
        (answer.header("x-litellm-model-id"), answer.header("content-type")),
        ("", "application/json")
    );
    assert!(!answer.header("x-litellm-call-id").is_empty());
    assert_eq!((world.requests("u1"), world.requests("u2")), (1, 1));

    world.mock.script("u2", Behaviour::status(401));
    let list = world.chat("g,h").await.json();
    assert_eq!(list[1]["error"]["type"], "authentication_error", "{list}");
    let unknown = world.chat("g,nope").await;
    assert_eq!(unknown.status, 400, "{}", unknown.text());
    let streamed = world.chat_stream("g,h").await;
    assert_eq!((streamed.status, streamed.error("param")), (400, json!("stream")));
    let none = world.chat(",").await;
    assert_eq!((none.status, none.error("param")), (400, json!("model")));
}

/// What a caller asks Anthropic for beyond the usual reaches Anthropic, and nobody else.
#[tokio::test(start_paused = true)]
async fn betas_reach_a_provider_that_speaks_anthropics_api_and_no_other() {
    let yaml = Yaml::b2()
        .set("d1.litellm_params.model", "anthropic/claude-haiku-4-5")
        .set("d1.litellm_params.api_base", "http://u1")
        .set("d1.litellm_params.extra_headers", json!({"anthropic-beta": "own-1"}))
        .set("d1.model_name", "claude")
        .set("d2.model_name", "other");
    let world = World::start(yaml).await;
    for (group, host, betas) in [("claude", "u1", Some("own-1,a-2025,b-2025")), ("other", "u2", None)] {
        let body = json!({"model": group, "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
        let headers = [("anthropic-beta", "a-2025, own-1"), ("anthropic-beta", "b-2025"), ("x-private", "1")];
        let answer = world.call(http::Method::POST, "/v1/messages", &headers, body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let kept = world.mock.kept(host);
        let sent = kept.last().unwrap();
        assert_eq!((sent.header("anthropic-beta"), sent.header("x-private")), (betas, None), "{group}");
    }
}

/// What callers say in headers of their own reaches the provider where the operator wants that, and no credential does.
#[tokio::test(start_paused = true)]
async fn a_callers_own_headers_pass_where_the_operator_lets_them() {
    let yaml = Yaml::b2()
        .set("general_settings.forward_client_headers_to_llm_api", true)
        .set("general_settings.litellm_key_header_name", "X-Team-Key")
        .set("d1.litellm_params.extra_headers", json!({"x-trace": "deployment"}))
        .set("d1.model_name", "own");
    let world = World::start(yaml).await;
    let body = json!({"model": "own", "messages": [{"role": "user", "content": "hi"}]});
    let sent = [
        ("x-request-source", "app"),
        ("x-trace", "caller"),
        ("anthropic-beta", "b-1"),
        ("x-stainless-lang", "python"),
        ("x-api-key", "canary"),
        ("x-team-key", "canary"),
        ("x-litellm-tags", "t"),
        ("cookie", "canary=1"),
        ("traceparent", "00-1"),
    ];
    let answer = world.call(http::Method::POST, "/v1/chat/completions", &sent, body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let kept = world.mock.kept("u1");
    let came = kept.last().unwrap();
    let passed: Vec<_> = sent.iter().map(|(name, _)| came.header(name)).collect();
    let mut wanted = [None; 9];
    (wanted[0], wanted[1], wanted[2]) = (Some("app"), Some("deployment"), Some("b-1"));
    assert_eq!(passed, wanted);
}
