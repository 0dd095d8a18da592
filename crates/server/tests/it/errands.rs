//! Files, batches and videos: every call about an object reaches the deployment that keeps it, nothing is made twice,
//! and what a caller asks wrongly harms nobody's health.

use haleway_testkit::{Answer, Behaviour, Script, World, Yaml};
use http::Method;
use serde_json::{Value, json};

const FORM: &str = "multipart/form-data; boundary=xyz";

/// An upload of `content` for a batch, with these further fields.
fn upload(fields: &[(&str, &str)], content: &str) -> String {
    let mut form = String::new();
    for (name, value) in fields {
        form.push_str(&format!(
            "--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        ));
    }
    form.push_str(&format!(
        "--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n\
         Content-Type: application/jsonl\r\n\r\n{content}\r\n--xyz--\r\n"
    ));
    form
}

async fn send_file(world: &World, fields: &[(&str, &str)], content: &str) -> Answer {
    let form = upload(fields, content);
    world.call(Method::POST, "/v1/files", &[("content-type", FORM)], form).await
}

fn id(answer: &Answer) -> String {
    answer.json()["id"].as_str().unwrap_or_else(|| panic!("no id: {}", answer.text())).to_owned()
}

/// Paths that reached a provider.
fn paths(world: &World, name: &str) -> Vec<String> {
    world.mock.kept(name).iter().map(|kept| format!("{} {}", kept.method, kept.path)).collect()
}

#[tokio::test(start_paused = true)]
async fn an_object_is_found_again_at_the_deployment_that_made_it() {
    let world = World::start(Yaml::b2()).await;
    let lines = r#"{"custom_id":"1","body":{"model":"d2","messages":[]}}"#;
    let made = send_file(&world, &[("purpose", "batch"), ("model", "d2")], lines).await;
    assert_eq!((made.status, made.deployment()), (200, "d2"), "{}", made.text());
    let file = id(&made);
    assert!(file.starts_with("file-") && !file.contains("d2"), "{file}");

    let batch = world
        .post(
            "/v1/batches",
            &json!({"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}),
        )
        .await;
    assert_eq!((batch.status, batch.deployment()), (200, "d2"), "{}", batch.text());
    assert_eq!(batch.json()["input_file_id"], file.as_str(), "the caller sees the id it gave");
    let batch = id(&batch);
    let done = world.get(&format!("/v1/batches/{batch}")).await.json();
    let output = done["output_file_id"].as_str().unwrap();
    let content = world.get(&format!("/v1/files/{output}/content")).await;
    assert_eq!(content.text(), "content of file-output");
    assert_eq!(content.header("content-type"), "application/octet-stream");
    assert_eq!(content.deployment(), "d2");
    for (method, path) in [
        (Method::GET, format!("/v1/files/{file}")),
        (Method::POST, format!("/v1/batches/{batch}/cancel")),
        (Method::GET, format!("/v1/batches?limit=2&after={batch}")),
        (Method::DELETE, format!("/files/{file}")),
    ] {
        let answer = world.call(method, &path, &[], "").await;
        assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{path}: {}", answer.text());
    }
    assert_eq!(world.requests("u1"), 0);
    let raw = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let seen = paths(&world, "u2");
    let [_, _, shown, read, file_path, cancel, list, delete] = seen.as_slice() else { panic!("{seen:?}") };
    let batch_id = raw(shown);
    assert!(batch_id.starts_with("batch_") && batch_id.len() < 30, "the provider's own id: {shown}");
    assert_eq!(read, "GET /v1/files/file-output/content");
    assert_eq!(cancel, &format!("POST /v1/batches/{batch_id}/cancel"));
    assert_eq!(list, &format!("GET /v1/batches?limit=2&after={batch_id}"));
    assert_eq!(delete.replace("DELETE", "GET"), *file_path);
    let sent = world.mock.kept("u2")[0].body.clone();
    assert_eq!((&sent["purpose"], sent.get("model")), (&json!("batch"), None), "{sent}");
    assert_eq!(world.mock.kept("u2")[1].body["input_file_id"], raw(file_path));
}

#[tokio::test(start_paused = true)]
async fn without_an_id_model_provider_and_mode_decide_and_always_alike() {
    let yaml = Yaml::b2().deployment("jobs", "d3").set("d3.model_info.mode", "batch");
    let world = World::start(yaml).await;
    for (path, headers, by) in [
        ("/v1/batches", &[][..], "d3"),
        ("/v1/batches/batch_raw", &[][..], "d3"),
        ("/v1/batches?model=g", &[][..], "d1"),
        ("/v1/batches/batch_raw?model=d2", &[][..], "d2"),
        ("/v1/files/file-raw?target_model_names=g", &[][..], "d1"),
        ("/v1/files", &[("x-litellm-model", "d2")][..], "d2"),
        ("/v1/files?custom_llm_provider=openai", &[][..], "d3"),
        ("/openai/v1/files", &[][..], "d3"),
    ] {
        for _ in 0..3 {
            let answer = world.call(Method::GET, path, headers, "").await;
            assert_eq!((answer.status, answer.deployment()), (200, by), "{path}: {}", answer.text());
        }
    }
    let kept = paths(&world, "u1");
    assert_eq!(kept[0], "GET /v1/batches", "what is for the gateway stays there");
    let nobody = world.get("/azure/v1/files").await;
    assert_eq!((nobody.status, nobody.error("class")), (400, json!("not_configured")));
    let unknown = world.get("/v1/files?model=nobody").await;
    assert_eq!((unknown.status, unknown.error("param")), (400, json!("model")));
    let several = send_file(&world, &[("purpose", "batch"), ("target_model_names", "g, jobs")], "x").await;
    assert_eq!((several.status, several.error("param")), (400, json!("target_model_names")));
}

#[tokio::test(start_paused = true)]
async fn a_create_that_may_have_been_accepted_is_not_sent_again() {
    for (fault, status) in [
        (Behaviour::status(500), 500),
        (Behaviour::status(502), 502),
        (Behaviour::of(haleway_mockllm::Act::Reset), 500),
        (Behaviour::of(haleway_mockllm::Act::Malformed), 500),
    ] {
        let yaml = Yaml::b2f().set("router_settings.num_retries", 3);
        let world = World::of(yaml).with_script("u1", fault).start().await;
        let answer = send_file(&world, &[("purpose", "batch"), ("model", "g")], "x").await;
        assert_eq!(answer.status, status, "{}", answer.text());
        assert_eq!((world.requests("u1"), world.requests("u2")), (1, 0));
        assert_eq!(answer.header("x-haleway-gave-up"), "not_retryable");
    }
    // What was refused, or never sent, was not accepted.
    for refused in [Some(Behaviour::status(429)), Some(Behaviour::status(503)), None] {
        let yaml = Yaml::b2().set("router_settings.num_retries", 3);
        let world = World::of(yaml);
        let world = match &refused {
            Some(fault) => {
                world.with_script("u1", fault.clone()).with_script("u2", fault.clone()).start().await
            }
            None => world.start().await,
        };
        if refused.is_none() {
            world.net.refuse("u1", 80);
        }
        let answer = send_file(&world, &[("purpose", "batch"), ("model", "g")], "x").await;
        if refused.is_some() {
            assert!(world.requests("u1") >= 1 && world.requests("u2") >= 1, "{}", answer.text());
        } else {
            assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_there_harms_nobodys_health() {
    let missing = json!({"error": {"message": "No such File object: file-x", "type": "invalid_request_error", "param": "id", "code": null}});
    let world = World::of(Yaml::b1()).with_script("u1", Behaviour::status(404).body(missing)).start().await;
    for _ in 0..20 {
        let answer = world.get("/v1/files/file-x").await;
        assert_eq!((answer.status, answer.error("class")), (404, json!("bad_request")), "{}", answer.text());
        // A server without files: the models it serves are none the worse.
        assert_eq!(world.get("/v1/files").await.status, 404);
    }
    assert!(world.is_in("d1"));
    world.mock.script("u1", Script::ok());
    assert_eq!(world.chat("g").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn faults_of_a_provider_are_evidence_as_in_any_call() {
    let world = World::of(Yaml::b2()).with_script("u1", Behaviour::status(401)).start().await;
    assert_eq!(world.get("/v1/batches/batch_1?model=d1").await.status, 401);
    // A key that is refused is not presented on every call.
    for _ in 0..10 {
        let answer = world.get("/v1/batches/batch_1?model=d1").await;
        assert!(matches!(answer.status, 401 | 503), "{}", answer.text());
    }
    assert!(world.requests("u1") < 5, "{}", world.requests("u1"));
    let others = world.chats("g", 10).await;
    assert_eq!(others, [("d2".to_owned(), 10)].into());
}

#[tokio::test(start_paused = true)]
async fn an_id_of_a_deployment_that_is_gone_says_so() {
    let first = World::start(Yaml::b2()).await;
    let file = id(&send_file(&first, &[("purpose", "batch"), ("model", "d2")], "x").await);
    let second = World::start(Yaml::b1()).await;
    let answer = second.get(&format!("/v1/files/{file}")).await;
    assert_eq!((answer.status, answer.error("class")), (404, json!("not_configured")));
    assert_eq!(second.requests("u1"), 0);
    // The same configuration elsewhere finds it: ids need no store.
    let third = World::start(Yaml::b2()).await;
    assert_eq!(third.get(&format!("/v1/files/{file}")).await.deployment(), "d2");
}

#[tokio::test(start_paused = true)]
async fn a_download_is_relayed_and_a_cut_one_is_cut() {
    let world = World::start(Yaml::b1()).await;
    let video = world.post("/v1/videos", &json!({"model": "g", "prompt": "a dot", "seconds": "4"})).await;
    assert_eq!((video.status, video.json()["status"].clone()), (200, json!("queued")), "{}", video.text());
    assert_eq!(world.mock.kept("u1")[0].body, json!({"model": "stub", "prompt": "a dot", "seconds": "4"}));
    let path = format!("/v1/videos/{}", id(&video));
    assert_eq!(world.get(&path).await.json()["status"], "completed");
    let content = world.get(&format!("{path}/content?variant=video")).await;
    assert_eq!((content.header("content-type"), &content.body[4..8]), ("video/mp4", &b"ftyp"[..]));
    let remix = world.post(&format!("{path}/remix"), &json!({"prompt": "another"})).await;
    assert_eq!(remix.json()["remixed_from_video_id"], id(&video), "{}", remix.text());
    assert_eq!(world.call(Method::DELETE, &path, &[], "").await.json()["deleted"], true);

    world.mock.script("u1", Behaviour::of(haleway_mockllm::Act::Cut));
    let cut = world.open(Method::GET, &format!("{path}/content"), &[], bytes::Bytes::new()).await;
    assert_eq!(cut.status(), 200);
    #[expect(clippy::disallowed_methods, reason = "a short body of a test")]
    let read = http_body_util::BodyExt::collect(cut.into_body()).await;
    assert!(read.is_err(), "a part is not the whole");
}

#[tokio::test(start_paused = true)]
async fn a_form_for_a_video_gets_the_providers_model() {
    let world = World::start(Yaml::b1()).await;
    let form = "--xyz\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\ng\r\n\
                --xyz\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na dot\r\n--xyz--\r\n";
    let answer = world.call(Method::POST, "/v1/videos", &[("content-type", FORM)], form).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let kept = world.mock.kept("u1").remove(0);
    assert_eq!(kept.body, json!({"model": "stub", "prompt": "a dot"}));
    assert!(kept.headers.iter().any(|(name, value)| name == "content-type" && value == FORM));
}

#[tokio::test(start_paused = true)]
async fn bad_input_is_named_and_reaches_nobody() {
    let world = World::start(Yaml::b1()).await;
    let json = &[("content-type", "application/json")][..];
    let form = &[("content-type", FORM)][..];
    for (method, path, headers, body, status, param) in [
        (Method::POST, "/v1/files", json, "{}", 400, "request_body"),
        (Method::POST, "/v1/files", form, "--abc", 400, "request_body"),
        (Method::POST, "/v1/files", &[("content-type", "multipart/form-data")][..], "x", 400, "request_body"),
        (Method::POST, "/v1/files", form, &upload(&[], "x"), 400, "purpose"),
        (Method::POST, "/v1/batches", json, "{\"endpoint\":\"/v1/chat/completions\"}", 400, "input_file_id"),
        (Method::POST, "/v1/batches", json, "{nope", 400, "request_body"),
        (Method::POST, "/v1/videos", json, "{\"model\":\"g\"}", 400, "prompt"),
    ] {
        let answer = world.call(method, path, headers, body.to_owned()).await;
        assert_eq!((answer.status, answer.error("param")), (status, json!(param)), "{path} {body}");
    }
    let odd = world.get("/v1/files/%2E%2E").await;
    assert_eq!(
        (odd.status, odd.json()["error"]["haleway"]["param"].clone()),
        (400, json!("id")),
        "{}",
        odd.text()
    );
    let method = world.call(Method::PUT, "/v1/files", &[], "").await;
    assert_eq!((method.status, method.header("allow")), (405, "GET, POST"));
    assert_eq!(world.requests("u1"), 0);

    let closed = World::start(Yaml::b1().set("general_settings.master_key", "sk-m")).await;
    let wrong = closed.call(Method::GET, "/v1/files", &[("authorization", "Bearer sk-x")], "").await;
    assert_eq!((wrong.status, closed.requests("u1")), (401, 0));
}

#[tokio::test(start_paused = true)]
async fn pages_are_read_and_fail_over() {
    let yaml = Yaml::new()
        .deployment("ocr", "d1")
        .deployment("ocr", "d2")
        .set("router_settings.num_retries", 2)
        .set("d1.litellm_params.model", "mistral/mistral-ocr-latest")
        .set("d2.litellm_params.model", "mistral/mistral-ocr-latest")
        .set("d1.model_info.mode", "ocr")
        .set("d2.model_info.mode", "ocr")
        .set("d1.litellm_params.order", 1)
        .set("d2.litellm_params.order", 2);
    let world = World::of(yaml).with_script("u1", Behaviour::status(500)).start().await;
    let body = json!({"model": "ocr", "document": {"type": "document_url", "document_url": "data:application/pdf;base64,JVBERg=="}});
    for _ in 0..4 {
        let answer = world.post("/v1/ocr", &body).await;
        assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
        assert_eq!(answer.json()["pages"][0]["index"], 0);
    }
    assert!(world.requests("u1") >= 1, "the first was tried");
    assert_eq!(world.mock.kept("u2")[0].body["model"], "mistral-ocr-latest");
    assert_eq!(world.mock.kept("u2")[0].path, "/v1/ocr");
    let missing = world.post("/v1/ocr", &json!({"model": "ocr"})).await;
    assert_eq!((missing.status, missing.error("param")), (400, json!("document")));
}

#[tokio::test(start_paused = true)]
async fn a_prediction_is_asked_for_until_it_ends_within_the_calls_time() {
    let yaml = Yaml::b1()
        .set("d1.litellm_params.model", "replicate/meta/llama")
        .set("d1.litellm_params.timeout", 20);
    let begun = |status: &str| {
        Behaviour::ok().body(json!({"id": "p1", "status": status, "output": null, "error": null}))
    };
    let script = Script::first([begun("starting"), begun("processing"), begun("processing")]);
    let world = World::of(yaml.clone()).with_script("u1", script).start().await;
    let answer = world.chat("g").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Hello! How can I help you today?");
    assert_eq!(answer.header("content-type"), "application/json");
    let once = "POST /v1/models/meta/llama/predictions".to_owned();
    let look = "GET /v1/predictions/p1".to_owned();
    assert_eq!(paths(&world, "u1"), [once, look.clone(), look.clone(), look]);
    for kept in world.mock.kept("u1") {
        let auth = kept.headers.iter().find(|(name, _)| name == "authorization");
        assert_eq!(auth.map(|(_, value)| value.as_str()), Some("Token sk-canary-1"));
    }

    // A job that never ends takes the call's time and no more.
    let endless = World::of(yaml).with_script("u1", begun("processing")).start().await;
    let before = tokio::time::Instant::now();
    let late = endless.chat("g").await;
    assert_eq!((late.status, late.error("class")), (408, json!("timeout")), "{}", late.text());
    let took = tokio::time::Instant::now().duration_since(before);
    assert!(took <= std::time::Duration::from_secs(21), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_prediction_is_a_failure_and_a_caller_who_leaves_ends_the_looking() {
    let yaml = Yaml::b2()
        .set("d1.litellm_params.model", "replicate/meta/llama")
        .set("d1.litellm_params.order", 1)
        .set("d2.litellm_params.order", 2)
        .set("router_settings.num_retries", 1);
    let failed = json!({"id": "p1", "status": "failed", "output": null, "error": "CUDA out of memory"});
    let world = World::of(yaml.clone()).with_script("u1", Behaviour::ok().body(failed)).start().await;
    for _ in 0..4 {
        let answer = world.chat("g").await;
        assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
    }
    assert!(world.requests("u1") > 0);

    let begun = json!({"id": "p1", "status": "processing", "output": null, "error": null});
    let world = World::of(yaml).with_script("u1", Behaviour::ok().body(begun)).start().await;
    let body = json!({"messages": [{"role": "user", "content": "x"}], "model": "d1"});
    let leaving = world.post("/v1/chat/completions", &body);
    let _left = tokio::time::timeout(std::time::Duration::from_secs(5), leaving).await;
    let asked = world.requests("u1");
    assert!(asked > 1);
    world.pass_secs(60).await;
    assert_eq!(world.requests("u1"), asked);
    assert!(world.is_in("d1"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_a_provider_that_has_none_is_its_whole_answer_as_events() {
    let yaml = Yaml::b1().set("d1.litellm_params.model", "replicate/meta/llama");
    let world = World::start(yaml).await;
    let usage = json!({"stream": true, "stream_options": {"include_usage": true}});
    let answer = world.chat_with("g", &usage).await;
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8");
    let events = answer.events();
    assert_eq!(events.last().map(String::as_str), Some("[DONE]"));
    let chunk = |at: usize| serde_json::from_str::<Value>(&events[at]).unwrap();
    assert_eq!(chunk(0)["choices"][0]["delta"]["content"], "Hello! How can I help you today?");
    assert_eq!(chunk(1)["choices"][0]["finish_reason"], "stop");
    assert!(chunk(2)["usage"]["completion_tokens"].as_u64() > Some(0), "{events:?}");
    assert_eq!(world.chat_stream("g").await.events().len(), 3, "no usage unless asked for");
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_offers_elsewhere_is_fetched() {
    let yaml = Yaml::b1()
        .set("d1.litellm_params.model", "dashscope/qwen-tts")
        .set("d1.litellm_params.api_base", "http://u1/compatible-mode/v1")
        .set("d1.model_info.mode", "audio_speech");
    let offer =
        |url: &str| Behaviour::status(200).body(json!({"output": {"audio": {"url": url, "data": ""}}}));
    let script = Script::first([offer("http://u1/v1/files/sound/content")]);
    let world = World::of(yaml.clone()).with_script("u1", script).start().await;
    let body = json!({"model": "g", "input": "ok", "voice": "Cherry"});
    let answer = world.post("/v1/audio/speech", &body).await;
    assert_eq!((answer.status, answer.text()), (200, "content of sound".to_owned()));
    assert_eq!(answer.header("content-type"), "application/octet-stream");
    let first = world.mock.kept("u1").remove(0);
    assert_eq!(first.body, json!({"model": "qwen-tts", "input": {"text": "ok", "voice": "Cherry"}}));
    assert_eq!(first.path, "/api/v1/services/aigc/multimodal-generation/generation");
    // Elsewhere: over TLS only, which this host does not speak, and never with the key.
    let world = World::of(yaml).with_script("u1", offer("http://u2/sound")).start().await;
    assert_ne!(world.post("/v1/audio/speech", &body).await.status, 200);
    assert_eq!(world.requests("u2"), 0);
}
