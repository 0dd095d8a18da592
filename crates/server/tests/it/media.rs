//! Calls that upload files and answers that are sound, from the caller's form to the provider's.

use std::time::Duration;

use bytes::Bytes;
use haleway_testkit::{Answer, Behaviour, Script, World, Yaml};
use haleway_wire::Form;
use http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};

/// A form with these fields and a file of `bytes` under `name`.
fn form(fields: &[(&str, &str)], name: &str, bytes: usize) -> Form {
    let mut form = Form::new("client-boundary");
    for (field, value) in fields {
        form.push_text(field, value);
    }
    form.push_file(name, "clip.wav", "audio/wav", Bytes::from(vec![7; bytes]));
    form
}

async fn upload(world: &World, path: &str, form: &Form) -> Answer {
    upload_with(world, path, form, &[]).await
}

async fn upload_with(world: &World, path: &str, form: &Form, headers: &[(&str, &str)]) -> Answer {
    let kind = form.content_type();
    let headers: Vec<(&str, &str)> =
        headers.iter().copied().chain([("content-type", kind.as_str())]).collect();
    world.call(Method::POST, path, &headers, form.payload().to_bytes()).await
}

const TRANSCRIBE: &str = "/v1/audio/transcriptions";

fn heard(yaml: Yaml) -> Yaml {
    yaml.set("d1.model_info.mode", "audio_transcription")
}

#[tokio::test(start_paused = true)]
async fn a_form_goes_on_with_the_deployments_model_and_the_callers_fields() {
    let yaml = heard(Yaml::b1())
        .set("d1.litellm_params.language", "de")
        .set("d1.litellm_params.temperature", 0.5)
        .set("d1.litellm_params.max_tokens", 7);
    let world = World::start(yaml).await;
    let fields =
        [("model", "g"), ("temperature", "0"), ("x_vendor", "kept"), ("num_retries", "1"), ("tags[]", "a")];
    let answer = upload(&world, TRANSCRIBE, &form(&fields, "file", 20_000)).await;
    assert_eq!((answer.status, answer.deployment()), (200, "d1"), "{}", answer.text());
    assert_eq!(answer.json()["text"], "Hello! How can I help you today?");
    assert_eq!(answer.header("x-haleway-attempts"), "1");
    let kept = &world.mock.kept("u1")[0];
    assert_eq!(kept.path, "/v1/audio/transcriptions");
    assert_eq!(kept.header("content-type"), Some("multipart/form-data; boundary=client-boundary"));
    let sent = json!({
        "model": "stub", "temperature": "0", "x_vendor": "kept", "language": "de",
        "file": {"filename": "clip.wav", "content_type": "audio/wav", "bytes": 20_000},
    });
    assert_eq!(kept.body, sent);
}

#[tokio::test(start_paused = true)]
async fn every_path_of_a_form_is_served() {
    let world = World::start(Yaml::b1()).await;
    for path in [
        "/v1/audio/transcriptions",
        "/audio/transcriptions",
        "/openai/v1/audio/translations",
        "/v1/images/variations",
        "/openai/deployments/g/audio/transcriptions",
        "/engines/g/audio/translations",
        "/v1/images/edits/",
    ] {
        let file = if path.contains("images") { "image" } else { "file" };
        let model: &[_] = if path.contains("/g/") { &[] } else { &[("model", "g")] };
        let fields = [model, &[("prompt", "p")]].concat();
        let answer = upload(&world, path, &form(&fields, file, 10)).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        let kept = world.mock.kept("u1").pop().unwrap();
        assert_eq!(kept.body["model"], "stub", "{path}");
        assert!(
            path.trim_end_matches('/').ends_with(kept.path.trim_start_matches("/v1")),
            "{path} {}",
            kept.path
        );
    }
}

#[tokio::test(start_paused = true)]
async fn several_pictures_are_one_list() {
    let world = World::start(Yaml::b1()).await;
    let mut two = form(&[("model", "g"), ("prompt", "p")], "image[]", 10);
    two.push_file("image[]", "b.png", "image/png", Bytes::from_static(b"png"));
    let answer = upload(&world, "/v1/images/edits", &two).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(world.mock.kept("u1")[0].body["image"].as_array().unwrap().len(), 2);
    // Pictures by address are JSON.
    let body = json!({"model": "g", "prompt": "p", "images": [{"image_url": "https://img.example/a.png"}]});
    let answer = world.post("/v1/images/edits", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(world.mock.kept("u1")[1].body["images"], body["images"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_form_lacks_is_named() {
    let world = World::start(Yaml::b1().set("general_settings.max_request_size_mb", 1)).await;
    let file = |fields: &[(&str, &str)]| form(fields, "file", 10);
    let mut text_only = Form::new("b");
    text_only.push_text("model", "g");
    let mut as_text = text_only.clone();
    as_text.push_text("file", "not a file");
    for (path, form, status, param, says) in [
        (TRANSCRIBE, &text_only, 400, json!("file"), "is missing"),
        (TRANSCRIBE, &as_text, 400, json!("file"), "must be uploaded as a file"),
        (TRANSCRIBE, &file(&[]), 400, json!("model"), "model=None"),
        (TRANSCRIBE, &file(&[("model", "nope")]), 400, json!("model"), "no such model"),
        (TRANSCRIBE, &file(&[("model", "g"), ("stream", "maybe")]), 400, json!("stream"), "boolean"),
        ("/v1/images/edits", &form_of_image(&[("model", "g")]), 400, json!("prompt"), "prompt"),
        ("/v1/images/variations", &file(&[("model", "g")]), 400, json!("image"), "is missing"),
        (
            TRANSCRIBE,
            &form(&[("model", "g")], "file", 2 << 20),
            413,
            json!("request_body"),
            "max_request_size_mb",
        ),
    ] {
        let answer = upload(&world, path, form).await;
        assert_eq!((answer.status, answer.error("param")), (status, param), "{}", answer.text());
        assert!(answer.text().contains(says), "{says}: {}", answer.text());
    }
    for (kind, says) in [
        ("application/json", "must be multipart/form-data"),
        ("multipart/form-data", "boundary"),
        ("multipart/form-data; boundary=other", "stands nowhere"),
    ] {
        let answer =
            world.call(Method::POST, TRANSCRIBE, &[("content-type", kind)], r#"{"model":"g"}"#).await;
        assert_eq!((answer.status, answer.error("type")), (400, json!("invalid_request_error")));
        assert!(answer.text().contains(says), "{}", answer.text());
    }
    assert_eq!(world.requests("u1"), 0, "nothing of this is a provider's affair");
}

fn form_of_image(fields: &[(&str, &str)]) -> Form {
    form(fields, "image", 10)
}

#[tokio::test(start_paused = true)]
async fn an_upload_is_sent_again_to_the_next_deployment() {
    for failing in
        [Behaviour::status(500), Behaviour::status(429), Behaviour::of(haleway_mockllm::Act::Close)]
    {
        let yaml = Yaml::b2f().set("router_settings.num_retries", 0);
        let world = World::of(yaml).with_script("u1", failing).start().await;
        let answer =
            upload(&world, TRANSCRIBE, &form(&[("model", "g"), ("language", "de")], "file", 300_000)).await;
        assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
        assert_eq!(answer.header("x-litellm-attempted-fallbacks"), "1");
        let kept = &world.mock.kept("u2")[0];
        assert_eq!((&kept.body["language"], &kept.body["file"]["bytes"]), (&json!("de"), &json!(300_000)));
    }
}

#[tokio::test(start_paused = true)]
async fn the_callers_mistake_is_the_callers() {
    let refuse = Behaviour::status(400)
        .body(json!({"error": {"message": "Invalid file format.", "type": "invalid_request_error",
        "param": "file", "code": null}}));
    let world =
        World::of(Yaml::b2()).with_script("u1", refuse.clone()).with_script("u2", refuse).start().await;
    for _ in 0..10 {
        let answer = upload(&world, TRANSCRIBE, &form(&[("model", "g")], "file", 10)).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains("Invalid file format."));
    }
    assert!(world.is_in("d1") && world.is_in("d2"));
    assert_eq!(world.requests("u1") + world.requests("u2"), 10, "nobody is asked twice");
}

#[tokio::test(start_paused = true)]
async fn answers_keep_the_type_they_have() {
    let world = World::start(Yaml::b1()).await;
    for (format, kind, says) in [
        ("json", "application/json", "\"text\":"),
        ("text", "text/plain; charset=utf-8", "Hello!"),
        ("srt", "text/plain; charset=utf-8", "00:00:00,000 -->"),
        ("vtt", "text/vtt", "WEBVTT"),
        ("verbose_json", "application/json", "\"segments\":"),
    ] {
        let answer =
            upload(&world, TRANSCRIBE, &form(&[("model", "g"), ("response_format", format)], "file", 10))
                .await;
        assert_eq!((answer.status, answer.header("content-type")), (200, kind));
        assert!(answer.text().contains(says), "{}", answer.text());
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_success_is_one() {
    let fails =
        Behaviour::status(200).body(json!({"error": {"message": "The model died.", "type": "server_error"}}));
    for path in [TRANSCRIBE, SPEAK] {
        let world = World::of(Yaml::b2f()).with_script("u1", fails.clone()).start().await;
        let answer = if path == TRANSCRIBE {
            upload(&world, path, &form(&[("model", "g")], "file", 10)).await
        } else {
            world.call(Method::POST, SPEAK, &[], speech()).await
        };
        assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{path}: {}", answer.text());
    }
}

#[tokio::test(start_paused = true)]
async fn a_streamed_transcription_passes_as_it_comes() {
    let world = World::start(Yaml::b1()).await;
    let asked = form(&[("model", "g"), ("stream", "true")], "file", 10);
    let answer = upload(&world, TRANSCRIBE, &asked).await;
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8");
    let events: Vec<Value> =
        answer.events().iter().map(|event| serde_json::from_str(event).unwrap()).collect();
    assert_eq!(events[0]["type"], "transcript.text.delta");
    assert_eq!(events.last().unwrap()["type"], "transcript.text.done");
    // A model that passes over the wish answers in one piece.
    world.mock.script("u1", Behaviour::status(200).body(json!({"text": "whole"})));
    let answer = upload(&world, TRANSCRIBE, &asked).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.json()["text"], "whole");
}

#[tokio::test(start_paused = true)]
async fn a_transcription_that_breaks_before_its_first_word_is_made_elsewhere() {
    let world = World::of(Yaml::b2f()).with_script("u1", Behaviour::cut(0)).start().await;
    let asked = form(&[("model", "g"), ("stream", "true")], "file", 10);
    let answer = upload(&world, TRANSCRIBE, &asked).await;
    assert_eq!((answer.status, answer.deployment()), (200, "d2"));
    // Later the caller is told, and no end is feigned.
    world.mock.script("u1", Behaviour::cut(2));
    let answer = upload(&world, TRANSCRIBE, &asked).await;
    assert_eq!(answer.deployment(), "d1");
    assert!(answer.events().last().unwrap().contains("\"error\""), "{}", answer.text());
    assert!(!answer.text().contains("transcript.text.done"));
}

const SPEAK: &str = "/v1/audio/speech";

fn speech() -> Bytes {
    json!({"model": "g", "input": "one two three four", "voice": "alloy"}).to_string().into()
}

#[tokio::test(start_paused = true)]
async fn sound_arrives_while_it_is_spoken() {
    let slow = Behaviour::ok().gap(Duration::from_secs(3));
    let world = World::of(Yaml::b1()).with_script("u1", slow).start().await;
    let response = world.open(Method::POST, SPEAK, &[], speech()).await;
    assert_eq!(response.headers()["content-type"], "audio/mpeg");
    assert_eq!(response.headers()["x-litellm-model-id"], "d1");
    let mut body = response.into_body();
    let began = tokio::time::Instant::now();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.starts_with(b"ID3"));
    assert!(tokio::time::Instant::now() - began < Duration::from_secs(1));
    let mut all = first.len();
    while let Some(frame) = body.frame().await {
        all += frame.unwrap().into_data().unwrap().len();
    }
    assert_eq!(all, 5 * 256);
    assert!(tokio::time::Instant::now() - began > Duration::from_secs(9));
}

#[tokio::test(start_paused = true)]
async fn sound_that_breaks_off_is_not_taken_for_whole() {
    let world = World::of(Yaml::b2f()).with_script("u1", Behaviour::cut(0)).start().await;
    // Before the first byte the other deployment speaks.
    let answer = world.call(Method::POST, SPEAK, &[], speech()).await;
    assert_eq!((answer.status, answer.deployment(), answer.body.len()), (200, "d2", 5 * 256));
    world.mock.script("u1", Behaviour::cut(2));
    let mut body = world.open(Method::POST, SPEAK, &[], speech()).await.into_body();
    let mut broken = false;
    while let Some(frame) = body.frame().await {
        broken |= frame.is_err();
    }
    assert!(broken, "the caller's connection breaks");
    let seen = world.detail("d1").await.to_string();
    assert!(seen.contains("connection"), "{seen}");
}

#[tokio::test(start_paused = true)]
async fn sound_as_events_passes_as_events() {
    let world = World::start(Yaml::b1()).await;
    let body = json!({"model": "g", "input": "a b", "voice": "alloy", "stream_format": "sse"});
    let answer = world.post(SPEAK, &body).await;
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(answer.events().len(), 3);
    let body = json!({"model": "g", "prompt": "a dot", "stream": true, "partial_images": 1});
    let answer = world.post("/v1/images/generations", &body).await;
    assert_eq!(answer.header("content-type"), "text/event-stream; charset=utf-8");
    assert!(answer.text().contains("image_generation.completed"));
}

/// A real probe every interval: not what costly modes do by themselves.
fn really() -> Value {
    json!({"policy": "always", "depth": "generation"})
}

/// A deployment of one of the modes, whose provider takes nothing that the mode does not define.
async fn probed(mode: &str, model: &str) -> World {
    let yaml = Yaml::b1()
        .probed_every(5)
        .set("d1.model_info.mode", mode)
        .set("d1.model_info.haleway.probe", really())
        .set("d1.litellm_params.model", model);
    let world = World::of(yaml).with_script("u1", Script::ok().strict()).start().await;
    world.until("the probe was answered", || world.state("d1") == "HEALTHY").await;
    world
}

#[tokio::test(start_paused = true)]
async fn a05_probes_of_media_hold_only_what_their_mode_defines() {
    for (mode, model, path) in [
        ("audio_speech", "openai/tts-1", "/v1/audio/speech"),
        ("image_generation", "openai/gpt-image-1", "/v1/images/generations"),
        ("image_edit", "openai/gpt-image-1", "/v1/images/edits"),
        ("audio_transcription", "openai/whisper-1", "/v1/audio/transcriptions"),
    ] {
        let world = probed(mode, model).await;
        assert!(world.mock.kept("u1").iter().all(|kept| kept.path == path), "{mode}");
        assert_eq!(world.mock.counts("u1").statuses.keys().collect::<Vec<_>>(), [&200], "{mode}");
    }
}

#[tokio::test(start_paused = true)]
async fn a06_speech_to_text_is_probed_with_one_short_clip() {
    let world = probed("audio_transcription", "openai/whisper-1").await;
    let kept = &world.mock.kept("u1")[0];
    let file = &kept.body["file"];
    assert_eq!(file["content_type"], "audio/wav");
    // 16,000 samples of two bytes a second, at most two seconds of them.
    assert!((3_200..64_044).contains(&file["bytes"].as_u64().unwrap()), "{file}");
    assert_eq!((&kept.body["model"], &kept.body["response_format"]), (&json!("whisper-1"), &json!("json")));
    // A blank answer to speech is no answer.
    world.mock.script("u1", Behaviour::ok().body(json!({"text": ""})));
    world.until("the blank answers are noticed", || world.state("d1") != "HEALTHY").await;
}

#[tokio::test(start_paused = true)]
async fn other_wires_are_called_and_probed_in_their_own_words() {
    let yaml = Yaml::b1()
        .probed_every(5)
        .set("d1.litellm_params.model", "deepgram/nova-3")
        .set("d1.litellm_params.api_base", "http://u1/v1")
        .set("d1.model_info.haleway.probe", really())
        .deployment("h", "d2")
        .set("d2.model_info.haleway.probe", really())
        .set("d2.litellm_params.model", "elevenlabs/scribe_v1")
        .set("d2.litellm_params.api_base", "http://u2")
        .set("d2.model_info.mode", "audio_transcription");
    let world = World::start(yaml).await;
    for id in ["d1", "d2"] {
        world.until(&format!("{id} is healthy"), || world.state(id) == "HEALTHY").await;
    }
    let deepgram = world.mock.kept("u1").pop().unwrap();
    assert_eq!(deepgram.path, "/v1/listen?model=nova-3");
    assert_eq!(deepgram.header("authorization"), Some("Token sk-canary-1"));
    let eleven = world.mock.kept("u2").pop().unwrap();
    assert_eq!(
        (eleven.path.as_str(), eleven.header("xi-api-key")),
        ("/v1/speech-to-text", Some("sk-canary-2"))
    );
    for (model, id) in [("g", "d1"), ("h", "d2")] {
        let asked =
            form(&[("model", model), ("language", "en"), ("response_format", "verbose_json")], "file", 10);
        let answer = upload(&world, TRANSCRIBE, &asked).await;
        assert_eq!((answer.status, answer.deployment()), (200, id), "{}", answer.text());
        assert_eq!(answer.json()["text"], "Hello! How can I help you today?");
        let asked = form(&[("model", model), ("response_format", "text")], "file", 10);
        let answer = upload(&world, TRANSCRIBE, &asked).await;
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(answer.text(), "Hello! How can I help you today?\n");
    }
    let kept = world.mock.kept("u1");
    let query = kept.iter().rev().nth(1).unwrap();
    assert_eq!(
        (query.path.as_str(), query.header("content-type")),
        ("/v1/listen?model=nova-3&language=en", Some("audio/wav"))
    );
}

#[tokio::test(start_paused = true)]
async fn what_one_wire_cannot_say_another_deployment_serves() {
    let yaml = Yaml::b2f()
        .set("d1.litellm_params.model", "deepgram/nova-3")
        .set("d1.litellm_params.api_base", "http://u1/v1");
    let world = World::start(yaml).await;
    let answer =
        upload(&world, TRANSCRIBE, &form(&[("model", "g"), ("response_format", "srt")], "file", 10)).await;
    assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
    let answer = upload(&world, "/v1/audio/translations", &form(&[("model", "g")], "file", 10)).await;
    assert_eq!((answer.status, answer.deployment()), (200, "d2"), "{}", answer.text());
    assert_eq!(world.requests("u1"), 0);
    assert!(world.is_in("d1"));
}
