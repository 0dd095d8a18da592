//! Objects and jobs: where every errand goes on every face, what videos are on other wires, Replicate and DashScope
//! against golden files (see `golden`), and how their work is followed.

use haleway_providers::{
    Action, Call, CallOptions, Errand, Judgement, Mode, Operation, Posted, ProbeAnswer, ProbeMemory,
    ProbeSettings, Progress, Refusal, Reply, Target, Translator, judge,
};
use haleway_wire::Envelope;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::common::{any, body, call, deployment};
use crate::golden::Golden;

const OPTIONS: CallOptions =
    CallOptions { stream: false, drop_params: false, count_tokens: false, created: 1_764_500_000 };

fn errand(target: &Target, operation: Operation, action: Action<'_>, posted: &str) -> Result<Call, Refusal> {
    let envelope = Envelope::parse(posted.as_bytes()).unwrap();
    let body = if posted == "{}" { Posted::Nothing } else { Posted::Json(&envelope) };
    let query = [("limit".to_owned(), "2 3".to_owned()), ("model".to_owned(), "g".to_owned())];
    target.errand(&Errand { operation, action, query: &query, body, asked: None }, None, OPTIONS)
}

fn place(target: &Target, operation: Operation, action: Action<'_>) -> Option<String> {
    errand(target, operation, action, "{}").ok().map(|call| format!("{} {}", call.method, call.uri))
}

fn reader(call: Call) -> Box<dyn Translator> {
    match call.reply {
        Reply::Translated(reader) => reader,
        Reply::Passthrough => panic!("not translated"),
    }
}

#[test]
fn every_face_keeps_its_objects_at_its_own_place() {
    let openai = any("openai/sora-2", None).unwrap();
    let own = deployment(json!({"model": "openai/m", "api_base": "http://u1/v1?k=v"}), None, &[]).unwrap();
    let azure = |version: &str| {
        let params = json!({"model": "azure/dep", "api_base": "https://r.openai.azure.com", "api_key": "k", "api_version": version});
        deployment(params, None, &[]).unwrap()
    };
    for (target, operation, action, found) in [
        (&openai, Operation::Files, Action::List, "GET https://api.openai.com/v1/files?limit=2%203"),
        (
            &openai,
            Operation::Files,
            Action::Content("file-1"),
            "GET https://api.openai.com/v1/files/file-1/content?limit=2%203",
        ),
        (
            &openai,
            Operation::Batches,
            Action::Cancel("a/b?c"),
            "POST https://api.openai.com/v1/batches/a%2Fb%3Fc/cancel?limit=2%203",
        ),
        (
            &openai,
            Operation::Videos,
            Action::Remix("v"),
            "POST https://api.openai.com/v1/videos/v/remix?limit=2%203",
        ),
        (&own, Operation::Batches, Action::Get("b"), "GET http://u1/v1/batches/b?k=v&limit=2%203"),
        (&own, Operation::Videos, Action::Delete("v"), "DELETE http://u1/v1/videos/v?k=v&limit=2%203"),
        (
            &azure("2024-10-21"),
            Operation::Files,
            Action::Get("f"),
            "GET https://r.openai.azure.com/openai/files/f?api-version=2024-10-21&limit=2%203",
        ),
        (
            &azure("2024-10-21"),
            Operation::Videos,
            Action::Get("v"),
            "GET https://r.openai.azure.com/openai/v1/videos/v?api-version=2024-10-21&limit=2%203",
        ),
        (
            &azure("v1"),
            Operation::Batches,
            Action::List,
            "GET https://r.openai.azure.com/openai/v1/batches?limit=2%203",
        ),
    ] {
        assert_eq!(place(target, operation, action).as_deref(), Some(found));
    }
    for (model, operation) in [
        ("anthropic/claude-haiku-4-5", Operation::Batches),
        ("mistral/mistral-small-latest", Operation::Batches),
        ("cohere/command-a-03-2025", Operation::Files),
        ("xai/grok-4", Operation::Videos),
        ("groq/llama", Operation::Videos),
    ] {
        let refusal = errand(&any(model, None).unwrap(), operation, Action::List, "{}").unwrap_err();
        assert_eq!((refusal.code, refusal.retry_other), ("unsupported_operation", true), "{model}");
    }
    assert!(place(&any("mistral/m", None).unwrap(), Operation::Files, Action::List).is_some());
}

#[test]
fn ids_that_are_no_segment_of_a_path_are_refused() {
    let target = any("openai/m", None).unwrap();
    for id in ["", ".", "..", "a b", "a\nb", "ü", &"x".repeat(513)] {
        let refusal = errand(&target, Operation::Files, Action::Get(id), "{}").unwrap_err();
        assert_eq!((refusal.code, refusal.param.as_deref()), ("invalid_value", Some("id")), "{id:?}");
    }
}

#[test]
fn bodies_pass_without_the_gateways_fields() {
    let target = any("openai/gpt-4o", None).unwrap();
    let posted = r#"{"input_file_id":"file-1","model":"g","metadata":{"a":1.0},"custom_llm_provider":"openai","target_model_names":"g"}"#;
    let batch = errand(&target, Operation::Batches, Action::Create, posted).unwrap();
    assert_eq!(batch.body.to_bytes(), r#"{"input_file_id":"file-1","metadata":{"a":1.0}}"#);
    assert_eq!(batch.headers["content-type"], "application/json");
    let video =
        errand(&target, Operation::Videos, Action::Create, r#"{"model":"g","prompt":"x","seconds":"4"}"#);
    assert_eq!(body(&video.unwrap()), json!({"model": "gpt-4o", "prompt": "x", "seconds": "4"}));
    let get = errand(&target, Operation::Files, Action::Get("f"), "{}").unwrap();
    assert!(!get.headers.contains_key("content-type") && get.headers.contains_key("authorization"));
}

fn video(model: &str) -> Target {
    any(model, Some("video_generation")).unwrap()
}

const ASK: &str = r#"{"model":"g","prompt":"a dot","seconds":"8","size":"1280x720","negative_prompt":"red","input_reference":{"image_url":"data:image/png;base64,AA=="}}"#;

#[test]
fn a_video_is_asked_for_in_every_providers_words() {
    for (model, uri, expected) in [
        (
            "gemini/veo-3.1-generate-preview",
            "https://generativelanguage.googleapis.com/v1beta/models/veo-3.1-generate-preview:predictLongRunning",
            json!({
                "instances": [{"prompt": "a dot", "image": {"bytesBase64Encoded": "AA==", "mimeType": "image/png"}}],
                "parameters": {"aspectRatio": "16:9", "durationSeconds": 8, "negative_prompt": "red"},
            }),
        ),
        (
            "dashscope/wan2.5-t2v-preview",
            "https://dashscope.aliyuncs.com/api/v1/services/aigc/video-generation/video-synthesis",
            json!({
                "model": "wan2.5-t2v-preview",
                "input": {"prompt": "a dot", "img_url": "data:image/png;base64,AA=="},
                "parameters": {"size": "1280*720", "duration": 8, "negative_prompt": "red"},
            }),
        ),
        (
            "volcengine/doubao-seedance-1-0-pro",
            "https://ark.cn-beijing.volces.com/api/v3/contents/generations/tasks",
            json!({
                "model": "doubao-seedance-1-0-pro",
                "content": [
                    {"type": "text", "text": "a dot"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                ],
                "ratio": "16:9", "duration": 8, "negative_prompt": "red",
            }),
        ),
    ] {
        let call = errand(&video(model), Operation::Videos, Action::Create, ASK).unwrap();
        assert_eq!((call.uri.to_string(), body(&call)), (uri.to_owned(), expected));
        assert_eq!(call.headers.contains_key("x-dashscope-async"), model.starts_with("dashscope"));
    }
    for (posted, param) in [
        ("{\"model\":\"g\"}", "prompt"),
        (r#"{"prompt":"x","size":"big"}"#, "size"),
        (r#"{"prompt":"x","seconds":"1.5"}"#, "seconds"),
    ] {
        let refusal = errand(&video("gemini/veo-3"), Operation::Videos, Action::Create, posted).unwrap_err();
        assert_eq!(refusal.param.as_deref(), Some(param));
    }
}

/// Model, id, the provider's answer, and the status and error it is told with.
type Told = (&'static str, &'static str, Value, &'static str, Value);

fn told() -> Vec<Told> {
    let mut told = told_by_veo();
    told.extend(told_by_others());
    told
}

fn told_by_veo() -> Vec<Told> {
    let failed = json!({"code": "400", "message": "no"});
    vec![
        (
            "gemini/veo-3",
            "models/veo-3/operations/q",
            json!({"name": "models/veo-3/operations/q"}),
            "queued",
            Value::Null,
        ),
        (
            "gemini/veo-3",
            "models/veo-3/operations/q",
            json!({"name": "models/veo-3/operations/q", "metadata": {}}),
            "in_progress",
            Value::Null,
        ),
        (
            "gemini/veo-3",
            "models/veo-3/operations/q",
            json!({"name": "models/veo-3/operations/q", "done": true, "error": {"code": 400, "message": "no"}}),
            "failed",
            failed,
        ),
        (
            "gemini/veo-3",
            "models/veo-3/operations/q",
            json!({"name": "models/veo-3/operations/q", "done": true, "response": {"generateVideoResponse": {"generatedSamples": [{"video": {"uri": "https://x/v"}}]}}}),
            "completed",
            Value::Null,
        ),
        (
            "gemini/veo-3",
            "models/veo-3/operations/q",
            json!({"name": "models/veo-3/operations/q", "done": true, "response": {"generateVideoResponse": {"raiMediaFilteredReasons": ["faces"]}}}),
            "failed",
            json!({"code": "content_policy_violation", "message": "faces"}),
        ),
    ]
}

fn told_by_others() -> Vec<Told> {
    let failed = json!({"code": "400", "message": "no"});
    vec![
        (
            "dashscope/wan",
            "t",
            json!({"output": {"task_id": "t", "task_status": "PENDING"}}),
            "queued",
            Value::Null,
        ),
        (
            "dashscope/wan",
            "t",
            json!({"output": {"task_id": "t", "task_status": "RUNNING"}}),
            "in_progress",
            Value::Null,
        ),
        (
            "dashscope/wan",
            "t",
            json!({"output": {"task_id": "t", "task_status": "SUCCEEDED", "video_url": "https://x/v"}}),
            "completed",
            Value::Null,
        ),
        (
            "dashscope/wan",
            "t",
            json!({"output": {"task_id": "t", "task_status": "FAILED", "code": "400", "message": "no"}}),
            "failed",
            failed.clone(),
        ),
        ("volcengine/seedance", "cgt-q", json!({"id": "cgt-q"}), "queued", Value::Null),
        (
            "volcengine/seedance",
            "cgt-q",
            json!({"id": "cgt-q", "status": "running", "created_at": 7}),
            "in_progress",
            Value::Null,
        ),
        (
            "volcengine/seedance",
            "cgt-q",
            json!({"id": "cgt-q", "status": "succeeded", "content": {"video_url": "https://x/v"}}),
            "completed",
            Value::Null,
        ),
        (
            "volcengine/seedance",
            "cgt-q",
            json!({"id": "cgt-q", "status": "failed", "error": {"code": "400", "message": "no"}}),
            "failed",
            failed,
        ),
    ]
}

#[test]
fn a_videos_job_is_told_in_openais_words() {
    for (model, id, answer, status, error) in told() {
        let call = errand(&video(model), Operation::Videos, Action::Get(id), "{}").unwrap();
        let out = reader(call).answer(answer.to_string().as_bytes()).unwrap();
        let out: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(
            (&out["id"], &out["status"], &out["error"]),
            (&json!(id), &json!(status), &error),
            "{answer}"
        );
        assert_eq!(out["progress"], if status == "completed" { 100 } else { 0 });
        assert!(out["created_at"].is_u64() && out["object"] == "video");
    }
}

#[test]
fn a_videos_bytes_are_fetched_where_the_job_says_and_the_key_stays_at_home() {
    let done = |uri: &str| json!({"name": "models/veo-3/operations/q", "done": true, "response": {"generateVideoResponse": {"generatedSamples": [{"video": {"uri": uri}}]}}});
    let home = "https://generativelanguage.googleapis.com/v1beta/files/v:download?alt=media";
    for (offered, fetched, credential) in [
        (home, home, true),
        ("https://storage.example/v", "https://storage.example/v", false),
        ("http://storage.example/v", "https://storage.example/v", false),
        ("http://generativelanguage.googleapis.com/v", "https://generativelanguage.googleapis.com/v", false),
    ] {
        let call = errand(
            &video("gemini/veo-3"),
            Operation::Videos,
            Action::Content("models/veo-3/operations/q"),
            "{}",
        )
        .unwrap();
        assert_eq!(call.uri.path(), "/v1beta/models/veo-3/operations/q");
        let Ok(Progress::Fetch(follow)) = reader(call).progress(done(offered).to_string().as_bytes()) else {
            panic!("not fetched")
        };
        assert_eq!((follow.uri.to_string().as_str(), follow.credential), (fetched, credential));
    }
    let content = || {
        reader(
            errand(
                &video("gemini/veo-3"),
                Operation::Videos,
                Action::Content("models/veo-3/operations/q"),
                "{}",
            )
            .unwrap(),
        )
    };
    assert!(content().progress(done("file:///etc/passwd").to_string().as_bytes()).is_err());
    let Ok(Progress::Refused(refusal)) = content().progress(br#"{"name":"models/veo-3/operations/q"}"#)
    else {
        panic!("not refused")
    };
    assert_eq!((refusal.code, refusal.retry_other), ("not_ready", false));
    for id in ["models/../../x", "models//x", ""] {
        assert!(errand(&video("gemini/veo-3"), Operation::Videos, Action::Get(id), "{}").is_err(), "{id}");
    }
}

#[test]
fn only_who_keeps_a_list_shows_it() {
    let list = errand(&video("volcengine/seedance"), Operation::Videos, Action::List, "{}").unwrap();
    let out = reader(list).answer(br#"{"items":[{"id":"cgt-1","status":"running"}],"total":1}"#).unwrap();
    let out: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&out["data"][0]["id"], &out["data"][0]["status"]), (&json!("cgt-1"), &json!("in_progress")));
    for model in ["gemini/veo-3", "dashscope/wan"] {
        for action in [Action::List, Action::Delete("models/a/operations/b"), Action::Remix("t")] {
            let refusal = errand(&video(model), Operation::Videos, action, "{}").unwrap_err();
            assert_eq!(refusal.code, "unsupported_operation", "{model} {action:?}");
        }
    }
}

fn replicate(model: &str, _operation: Operation) -> Target {
    deployment(json!({"model": format!("replicate/{model}"), "api_key": "k"}), None, &[]).unwrap()
}

fn dashscope(model: &str, _operation: Operation) -> Target {
    let params = json!({"model": format!("dashscope/{model}"), "api_key": "k"});
    deployment(params, Some("image_generation"), &[]).unwrap()
}

#[test]
fn replicates_requests_and_answers_are_translated() {
    let golden = Golden::new("replicate", replicate);
    golden.requests(4, |name, call| {
        let path = match name {
            "turns" => "/v1/predictions",
            "complete" => "/v1/deployments/acme/own/predictions",
            "picture_one" => "/v1/models/black-forest-labs/flux-schnell/predictions",
            _ => "/v1/models/meta/meta-llama-3-70b-instruct/predictions",
        };
        assert_eq!(call.uri, format!("https://api.replicate.com{path}").as_str(), "{name}");
        assert_eq!(call.headers["authorization"], "Token k");
        assert_eq!(call.headers["prefer"], "wait=60");
    });
    golden.answers(3);
}

#[test]
fn dashscopes_requests_and_answers_are_translated() {
    let golden = Golden::new("dashscope", dashscope);
    golden.requests(2, |name, call| {
        assert_eq!(call.uri.path(), "/api/v1/services/aigc/multimodal-generation/generation", "{name}");
    });
    golden.answers(2);
}

#[test]
fn work_that_goes_on_is_asked_for_ever_less_often() {
    let target = replicate("a/b", Operation::Chat);
    let ask = r#"{"messages":[{"role":"user","content":"x"}]}"#;
    let mut chat = reader(call(&target, Operation::Chat, ask).unwrap());
    assert!(chat.continues() && chat.is_whole());
    // The address of the answer is not followed: the key goes only where the deployment is.
    let begun = br#"{"id":"p 1","status":"starting","urls":{"get":"https://evil.example/p"}}"#;
    assert!(chat.progress(begun).is_err());
    let begun = br#"{"id":"p1","status":"processing","urls":{"get":"https://evil.example/p"}}"#;
    let mut waits = Vec::new();
    for _ in 0..6 {
        let Ok(Progress::Again(follow)) = chat.progress(begun) else { panic!("not again") };
        assert_eq!(
            (follow.uri.to_string().as_str(), follow.credential),
            ("https://api.replicate.com/v1/predictions/p1", true)
        );
        waits.push(follow.wait.as_millis());
    }
    assert_eq!(waits, [250, 500, 1000, 2000, 3000, 3000]);
    for (answer, said) in [
        (&br#"{"id":"p","status":"failed","error":"out of memory"}"#[..], "out of memory"),
        (br#"{"id":"p","status":"canceled"}"#, "canceled"),
        (br#"{"id":"p","status":"odd"}"#, "not known"),
        (br#"{"id":"p","status":"succeeded","output":{"a":1}}"#, "no text"),
        (b"<html>", "expected value"),
    ] {
        let error = chat.progress(answer).unwrap_err();
        assert!(error.0.contains(said), "{}", error.0);
    }
    let image = dashscope("wan-t2i", Operation::Images);
    let mut image = reader(call(&image, Operation::Images, r#"{"prompt":"x"}"#).unwrap());
    let pending = br#"{"output":{"task_id":"t","task_status":"PENDING"}}"#;
    let Ok(Progress::Again(follow)) = image.progress(pending) else { panic!("not again") };
    assert_eq!(follow.uri, "https://dashscope.aliyuncs.com/api/v1/tasks/t");
    assert!(image.progress(br#"{"output":{"task_id":"t","task_status":"FAILED","message":"no"}}"#).is_err());
}

#[test]
fn d14_what_replicate_cannot_say_is_refused_at_once_with_its_place() {
    for (request, code, param) in [
        (json!({"messages": [], "tools": [{"type": "function"}]}), "untranslatable_request", "tools"),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x"}}]}]}),
            "untranslatable_request",
            "messages[0].content",
        ),
        (json!({"messages": [{"role": "user", "content": "x"}], "n": 2}), "untranslatable_request", "n"),
        (json!({}), "invalid_value", "messages"),
    ] {
        let refusal =
            call(&replicate("a/b", Operation::Chat), Operation::Chat, &request.to_string()).unwrap_err();
        assert_eq!((refusal.code, refusal.param.as_deref()), (code, Some(param)), "{request}");
    }
    let refusal = call(&replicate("a/b", Operation::Chat), Operation::Embeddings, "{}").unwrap_err();
    assert_eq!(refusal.code, "unsupported_operation");
}

fn probed(target: &Target, answer: &Value) -> Judgement {
    let probe = target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    let text = answer.to_string();
    let answer = ProbeAnswer { status: 200, headers: &HeaderMap::new(), body: text.as_bytes(), now_ms: 0 };
    judge(target, &probe.expect, &answer, &mut ProbeMemory::default())
}

#[test]
fn b06_a_probe_for_videos_makes_none() {
    for (model, url) in [
        ("openai/sora-2", "https://api.openai.com/v1/videos?limit=1"),
        (
            "volcengine/doubao-seedance-1-0-pro",
            "https://ark.cn-beijing.volces.com/api/v3/contents/generations/tasks",
        ),
        ("gemini/veo-3", "https://generativelanguage.googleapis.com/v1beta/models/veo-3"),
        ("dashscope/wan", "https://dashscope.aliyuncs.com/compatible-mode/v1/models"),
    ] {
        let target = video(model);
        let probe = target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
        assert_eq!((probe.call.method.as_str(), probe.call.uri.to_string().as_str()), ("GET", url));
        assert!(probe.call.body.is_empty());
    }
    assert_eq!(
        probed(&video("openai/sora-2"), &json!({"object": "list", "data": []})),
        Judgement::Healthy { degraded: None }
    );
    assert!(matches!(probed(&video("openai/sora-2"), &json!({"object": "list"})), Judgement::Unhealthy(_)));
    let xai = any("xai/grok-video", Some("video_generation")).unwrap();
    let cannot =
        xai.probe(Mode::VideoGeneration, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap_err();
    assert_eq!(cannot.code, "unsupported_by_provider");
}

#[test]
fn a_probe_for_ocr_sends_a_page_of_its_own() {
    let target = any("mistral/mistral-ocr-latest", Some("ocr")).unwrap();
    let probe = target.probe(Mode::Ocr, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    assert_eq!(probe.call.uri, "https://api.mistral.ai/v1/ocr");
    let sent = body(&probe.call);
    assert_eq!(sent["model"], "mistral-ocr-latest");
    let page = sent["document"]["image_url"].as_str().unwrap();
    let png =
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, page.rsplit(',').next().unwrap())
            .unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xae\x42\x60\x82"), "a whole PNG");
    assert!(png.len() < 8192, "{}", png.len());
    let page = |markdown: &str| json!({"pages": [{"index": 0, "markdown": markdown}]});
    assert_eq!(probed(&target, &page("HELLO")), Judgement::Healthy { degraded: None });
    for blank in [page(" "), json!({"pages": []})] {
        let Judgement::Unhealthy(finding) = probed(&target, &blank) else { panic!("{blank}") };
        assert_eq!(finding.reason, "blank_output");
    }
    assert!(matches!(probed(&target, &json!({"x": 1})), Judgement::Unhealthy(_)));
    let azure = json!({"model": "azure_ai/mistral-document-ai", "api_base": "https://r.services.ai.azure.com", "api_key": "k"});
    let azure = deployment(azure, Some("ocr"), &[]).unwrap();
    let probe = azure.probe(Mode::Ocr, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    assert_eq!(probe.call.uri, "https://r.services.ai.azure.com/providers/mistral/azure/ocr");
    assert_eq!(probe.call.headers["authorization"], "Bearer k");
}

#[test]
fn a_prediction_that_goes_on_says_nothing_about_health() {
    let target = replicate("a/b", Operation::Chat);
    let Judgement::Unknown(finding) = probed(&target, &json!({"id": "p", "status": "processing"})) else {
        panic!("not unknown")
    };
    assert_eq!(finding.reason, "still_running");
    let done = json!({"id": "p", "status": "succeeded", "output": ["2"], "error": null});
    assert_eq!(probed(&target, &done), Judgement::Healthy { degraded: None });
}
