//! Probes: what is sent, and what an answer teaches.

use haleway_providers::catalogue::{PriceKind, Usd};
use haleway_providers::{Judgement, Mode, Operation, ProbeAnswer, ProbeMemory, ProbeSettings, Target, judge};
use http::HeaderMap;
use serde_json::{Value, json};

use crate::common::{any, body, call, deployment};

fn own(extra: Value, mode: Option<&str>) -> Target {
    let mut params =
        json!({"model": "openai/m", "api_base": "http://own.local/v1", "api_key": "sk-canary-1"});
    params.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    deployment(params, mode, &[]).unwrap()
}

fn probe_body(target: &Target, settings: &ProbeSettings, memory: &ProbeMemory) -> Value {
    body(&target.probe(target.mode, settings, memory, 1).unwrap().call)
}

fn answered(target: &Target, memory: &mut ProbeMemory, status: u16, text: &str) -> Judgement {
    let probe = target.probe(target.mode, &ProbeSettings::default(), memory, 1).unwrap();
    let headers = HeaderMap::new();
    judge(
        target,
        &probe.expect,
        &ProbeAnswer { status, headers: &headers, body: text.as_bytes(), now_ms: 0 },
        memory,
    )
}

const HI: &str = r#"{"choices":[{"message":{"content":"2"},"finish_reason":"stop"}]}"#;

#[test]
fn a01_token_floor_is_learnt_once() {
    let target = own(json!({}), None);
    let mut memory = ProbeMemory::default();
    let settings = ProbeSettings { max_tokens: Some(1), ..ProbeSettings::default() };
    assert_eq!(probe_body(&target, &settings, &memory)["max_tokens"], 1);
    let probe = target.probe(Mode::Chat, &settings, &memory, 1).unwrap();
    let refusal = br#"{"error":{"message":"Invalid max_tokens: limit must be at least 16","type":"invalid_request_error"}}"#;
    let headers = HeaderMap::new();
    let answer = ProbeAnswer { status: 400, headers: &headers, body: refusal, now_ms: 0 };
    assert_eq!(judge(&target, &probe.expect, &answer, &mut memory), Judgement::Repair("output_cap_floor"));
    assert_eq!(memory.cap_floor, Some(16));
    assert_eq!(probe_body(&target, &settings, &memory)["max_tokens"], 16);
    let second = target.probe(Mode::Chat, &settings, &memory, 1).unwrap().repaired();
    let answer = ProbeAnswer { status: 200, headers: &headers, body: HI.as_bytes(), now_ms: 0 };
    assert_eq!(judge(&target, &second.expect, &answer, &mut memory), Judgement::Healthy { degraded: None });
    // The lesson outlives the process.
    let kept: ProbeMemory = serde_json::from_str(&serde_json::to_string(&memory).unwrap()).unwrap();
    assert_eq!(probe_body(&target, &settings, &kept)["max_tokens"], 16);
}

#[test]
fn a01_a_cap_that_stays_too_small_is_never_unhealthy() {
    let target = own(json!({}), None);
    let mut memory = ProbeMemory::default();
    let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &memory, 1).unwrap().repaired();
    let headers = HeaderMap::new();
    for text in
        ["max_tokens must be at least 4000", "Could not finish the message because max_tokens was reached"]
    {
        let body = json!({"error": {"message": text}}).to_string();
        let answer = ProbeAnswer { status: 400, headers: &headers, body: body.as_bytes(), now_ms: 0 };
        assert_eq!(
            judge(&target, &probe.expect, &answer, &mut memory),
            Judgement::Healthy { degraded: Some("output_budget") }
        );
    }
}

#[test]
fn a02_a_probe_is_capped_and_a_stream_is_left_at_its_first_output() {
    let target = own(json!({"stream": true}), None);
    let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    assert!(probe.expect.stream && probe.expect.cap.is_some_and(|cap| cap <= 64));
    let role = b"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
    assert!(!probe.expect.enough(&target, role));
    let mut first = role.to_vec();
    first.extend(b"data: {\"choices\":[{\"delta\":{\"content\":\"2\"}}]}\n\ndata: {\"choi");
    assert!(probe.expect.enough(&target, &first));
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "text/event-stream".parse().unwrap());
    let answer = ProbeAnswer { status: 200, headers: &headers, body: &first, now_ms: 0 };
    let verdict = judge(&target, &probe.expect, &answer, &mut ProbeMemory::default());
    assert_eq!(verdict, Judgement::Healthy { degraded: None });
}

#[test]
fn a03_an_embedding_probe_is_no_chat() {
    let target = own(json!({"max_tokens": 9, "dimensions": 4}), Some("embedding"));
    let probe = target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    assert_eq!(probe.call.uri, "http://own.local/v1/embeddings");
    assert_eq!(body(&probe.call), json!({"model": "m", "input": ["ok"], "dimensions": 4}));
    assert_eq!(probe.expect.dimensions, Some(4));
}

#[test]
fn a05_bodies_hold_only_the_fields_of_their_mode() {
    let allowed: [(&str, &str, &[&str]); 7] = [
        ("openai/m", "chat", &["model", "messages", "max_tokens"]),
        ("openai/m", "completion", &["model", "prompt", "max_tokens"]),
        ("openai/m", "embedding", &["model", "input"]),
        ("openai/m", "responses", &["model", "input", "max_output_tokens", "store"]),
        ("openai/gpt-image-1", "image_generation", &["model", "prompt", "n", "size", "quality"]),
        ("openai/m", "audio_speech", &["model", "input", "voice"]),
        ("hosted_vllm/m", "rerank", &["model", "query", "documents", "top_n"]),
    ];
    for (model, mode, fields) in allowed {
        let params = json!({"model": model, "api_base": "http://own.local/v1", "max_tokens": 4, "temperature": 1, "tools": []});
        let target = deployment(params, Some(mode), &[]).unwrap();
        let settings = ProbeSettings { reasoning_effort: None, ..ProbeSettings::default() };
        let probe = probe_body(&target, &settings, &ProbeMemory::default());
        for field in probe.as_object().unwrap().keys() {
            assert!(
                fields.contains(&field.as_str()) || (mode == "chat" && field == "tools"),
                "{mode}: {field}"
            );
        }
    }
}

#[test]
fn a07_a_rerank_probe_sends_one_document() {
    let target =
        deployment(json!({"model": "hosted_vllm/r", "api_base": "http://own.local/v1"}), Some("rerank"), &[])
            .unwrap();
    let probe = target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    assert_eq!(probe.call.uri, "http://own.local/v1/rerank");
    assert_eq!(body(&probe.call)["documents"].as_array().unwrap().len(), 1);
}

#[test]
fn a09_a_batch_probe_lists_and_creates_nothing() {
    for (model, url) in [
        ("openai/m", "https://api.openai.com/v1/batches?limit=1"),
        ("anthropic/claude-haiku-4-5", "https://api.anthropic.com/v1/messages/batches?limit=1"),
        ("mistral/m", "https://api.mistral.ai/v1/batch/jobs?page_size=1"),
        ("xai/m", "https://api.x.ai/v1/batches?limit=1000"),
    ] {
        let probe = any(model, Some("batch")).unwrap();
        let probe = probe.probe(Mode::Batch, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
        assert_eq!((probe.call.method.as_str(), probe.call.uri.to_string().as_str()), ("GET", url));
        assert!(probe.call.body.is_empty());
    }
}

#[test]
fn a10_the_responses_segment_is_probed_as_it_is_served() {
    let params = json!({"model": "azure/responses/stub", "api_base": "https://r.example", "api_key": "k"});
    let target = deployment(params, None, &[]).unwrap();
    let probe = target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    let body = body(&probe.call);
    assert!(
        probe.call.uri.path().ends_with("/responses")
            && body.get("input").is_some()
            && body.get("messages").is_none()
    );
    assert_eq!(body["model"], "stub");
}

#[test]
fn a11_a_wildcard_is_probed_with_the_model_that_is_named_or_not_at_all() {
    let target = own(json!({"model": "openai/*"}), None);
    for (named, sent) in [("openai/tiny", "tiny"), ("tiny", "tiny"), ("org/tiny", "org/tiny")] {
        let settings = ProbeSettings { model: Some(named.to_owned()), ..ProbeSettings::default() };
        assert_eq!(probe_body(&target, &settings, &ProbeMemory::default())["model"], sent);
    }
    let cannot = target.probe(Mode::Chat, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap_err();
    assert_eq!(cannot.code, "no_probe_model");
    assert!(cannot.message.contains("health_check_model"));
}

#[test]
fn a11_at_the_providers_own_host_the_cheapest_current_model_stands_for_a_wildcard() {
    let target = any("openai/*", None).unwrap();
    let day = |text: &str| {
        let noon: jiff::Timestamp = format!("{text}T12:00:00Z").parse().unwrap();
        ProbeSettings { now_ms: Some(noon.as_millisecond().try_into().unwrap()), ..ProbeSettings::default() }
    };
    let probe =
        |settings: &ProbeSettings| target.probe(Mode::Chat, settings, &ProbeMemory::default(), 1).unwrap();
    let sent = body(&probe(&day("2026-11-30")).call);
    assert_eq!(sent["model"], "gpt-5-nano");
    // As this model wants to be asked, whatever is known of the pattern.
    assert_eq!((&sent["max_completion_tokens"], &sent["reasoning_effort"]), (&json!(256), &json!("minimal")));
    assert_ne!(body(&probe(&day("2027-06-01")).call)["model"], "gpt-5-nano", "it is retired by then");
    assert_eq!(
        probe(&day("2026-11-30")).prices.get(PriceKind::InputToken),
        Some(Usd::parse("5e-08").unwrap())
    );
    // A name that the operator gives outranks it, and is what the probe costs.
    let named = ProbeSettings { model: Some("openai/gpt-4o".to_owned()), ..ProbeSettings::default() };
    assert_eq!(body(&probe(&named).call)["model"], "gpt-4o");
    assert_eq!(probe(&named).prices.get(PriceKind::InputToken), Some(Usd::parse("2.5e-06").unwrap()));
}

#[test]
fn a11_a_model_that_the_provider_does_not_have_makes_room_for_the_next() {
    let target = any("openai/*", None).unwrap();
    let mut memory = ProbeMemory::default();
    let gone = r#"{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}"#;
    let first = probe_body(&target, &ProbeSettings::default(), &memory)["model"].clone();
    assert_eq!(answered(&target, &mut memory, 404, gone), Judgement::Repair("model_absent"));
    let second = probe_body(&target, &ProbeSettings::default(), &memory)["model"].clone();
    assert_ne!(first, second);
    // The second is gone, too: that says nothing about the deployment, and a third is asked next time.
    let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &memory, 1).unwrap().repaired();
    let headers = HeaderMap::new();
    let answer = ProbeAnswer { status: 404, headers: &headers, body: gone.as_bytes(), now_ms: 0 };
    assert!(matches!(judge(&target, &probe.expect, &answer, &mut memory), Judgement::Unknown(_)));
    assert_eq!(memory.absent, [first.as_str().unwrap(), second.as_str().unwrap()]);
}

#[test]
fn b01_a_model_that_reasons_is_asked_to_do_it_least() {
    for (model, effort) in [
        ("openai/gpt-5", json!("minimal")),
        ("openai/gpt-5.1", json!("none")),
        ("openai/o3-mini", Value::Null),
        ("openai/gpt-4o", Value::Null),
        ("groq/openai/gpt-oss-20b", Value::Null),
    ] {
        let target = any(model, Some("chat")).unwrap();
        let sent = probe_body(&target, &ProbeSettings::default(), &ProbeMemory::default());
        assert_eq!(sent["reasoning_effort"], effort, "{model}");
    }
    let target = any("openai/gpt-5", None).unwrap();
    let asked = ProbeSettings { reasoning_effort: Some("high".to_owned()), ..ProbeSettings::default() };
    assert_eq!(probe_body(&target, &asked, &ProbeMemory::default())["reasoning_effort"], "high");
}

#[test]
fn a_model_that_is_known_to_reason_has_room_for_it() {
    let settings = ProbeSettings { max_tokens_reasoning: Some(99), ..ProbeSettings::default() };
    for (model, name, cap) in [
        ("openai/gpt-6-sol", "max_completion_tokens", 99),
        ("openai/gpt-4o", "max_tokens", 16),
        ("deepseek/deepseek-reasoner", "max_tokens", 99),
        ("xai/grok-4.20", "max_tokens", 99),
    ] {
        let sent = probe_body(&any(model, None).unwrap(), &settings, &ProbeMemory::default());
        assert_eq!(sent[name], cap, "{model}: {sent}");
    }
}

#[test]
fn sampling_that_a_model_is_known_to_refuse_is_dropped_on_demand() {
    let chat = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":0.2,"top_p":0.9}"#;
    let sent = |drop: bool| {
        let params = json!({"model": "anthropic/claude-opus-5-5", "api_key": "k", "drop_params": drop});
        body(&call(&deployment(params, None, &[]).unwrap(), Operation::Chat, chat).unwrap())
    };
    assert_eq!(sent(false)["temperature"], 0.2);
    assert_eq!((sent(true).get("temperature"), sent(true).get("top_p")), (None, None));
}

#[test]
fn what_the_catalogue_has_no_probe_for_is_not_probed() {
    let target = any("openai/omni-moderation-latest", None).unwrap();
    let cannot =
        target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap_err();
    assert_eq!(cannot.code, "mode_without_probe");
    assert!(cannot.message.contains("moderation") && cannot.message.contains("model_info.mode"), "{cannot}");
}

#[test]
fn a13_the_deployments_headers_go_with_the_probe() {
    let target = own(json!({"extra_headers": {"x-sub": "canary"}}), None);
    let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    assert_eq!(probe.call.headers["x-sub"], "canary");
    assert_eq!(probe.call.headers["authorization"], "Bearer sk-canary-1");
}

#[test]
fn a16_a_separate_provider_field_probes_the_same() {
    let params =
        json!({"model": "mix:7b", "custom_llm_provider": "openai", "api_base": "http://own.local/v1"});
    let separate = deployment(params, None, &[]).unwrap();
    let joined = own(json!({"model": "openai/mix:7b"}), None);
    let of = |target: &Target| {
        let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
        (probe.call.uri.to_string(), body(&probe.call))
    };
    assert_eq!(of(&separate), of(&joined));
}

#[test]
fn a18_a_mode_that_is_none_cannot_be_probed_and_says_so() {
    let target = own(json!({}), Some("made_up"));
    let cannot =
        target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap_err();
    assert_eq!(cannot.code, "mode_unknown");
    assert!(cannot.message.contains("made_up") && cannot.message.contains("model_info.mode"));
    assert!(call(&target, Operation::Chat, r#"{"model":"g","messages":[]}"#).is_ok());
}

#[test]
fn i09_a_wrong_mode_names_its_cure() {
    let target = own(json!({}), Some("rerank"));
    let cannot =
        target.probe(target.mode, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap_err();
    assert!(cannot.message.contains("model_info.mode"), "{}", cannot.message);
    let mut memory = ProbeMemory::default();
    let chat_model = r#"{"error":{"message":"This is a chat model and not supported in the v1/completions endpoint. Did you mean to use v1/chat/completions?","param":"model"}}"#;
    let verdict = answered(&own(json!({}), Some("completion")), &mut memory, 404, chat_model);
    let Judgement::Unhealthy(finding) = verdict else { panic!("{verdict:?}") };
    assert!(finding.message.contains("model_info.mode"), "{}", finding.message);
}

#[test]
fn a23_a_stream_only_model_is_streamed_from_then_on() {
    for refusal in [
        "This model only support stream mode, please enable the stream parameter to access the model.",
        "only supports stream",
        "parameter.enable_thinking must be set to false for non-streaming calls",
    ] {
        let target = own(json!({}), None);
        let mut memory = ProbeMemory::default();
        let body = json!({"error": {"message": refusal}}).to_string();
        assert_eq!(answered(&target, &mut memory, 400, &body), Judgement::Repair("stream_only"), "{refusal}");
        assert_eq!(probe_body(&target, &ProbeSettings::default(), &memory)["stream"], true);
    }
}

#[test]
fn a29_a_bad_request_is_no_health() {
    let target = own(json!({}), None);
    let mut memory = ProbeMemory::default();
    let verdict =
        answered(&target, &mut memory, 400, r#"{"error":{"message":"Invalid value for 'messages'."}}"#);
    let Judgement::Unknown(finding) = verdict else { panic!("{verdict:?}") };
    assert_eq!(finding.reason, "probe_invalid");
    assert_eq!(memory, ProbeMemory::default());
}

#[test]
fn reasoning_without_an_answer_raises_the_cap_once_and_remembers() {
    let target = own(json!({}), None);
    let mut memory = ProbeMemory::default();
    let blank = r#"{"choices":[{"message":{"content":""},"finish_reason":"length"}],"usage":{"completion_tokens_details":{"reasoning_tokens":16}}}"#;
    assert_eq!(answered(&target, &mut memory, 200, blank), Judgement::Repair("output_cap_raised"));
    assert_eq!(probe_body(&target, &ProbeSettings::default(), &memory)["max_tokens"], 256);
}

#[test]
fn refused_fields_are_left_out_from_then_on() {
    let target = own(json!({"tools": [], "verbosity": "low"}), None);
    for (refusal, field) in [
        (
            r#"{"error":{"message":"Unknown parameter: 'verbosity'.","code":"unknown_parameter","param":"verbosity"}}"#,
            "verbosity",
        ),
        (r#"{"error":{"message":"Unrecognized request argument supplied: verbosity"}}"#, "verbosity"),
        (
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","verbosity"],"msg":"Extra inputs are not permitted"}]}"#,
            "verbosity",
        ),
    ] {
        let mut memory = ProbeMemory::default();
        assert!(probe_body(&target, &ProbeSettings::default(), &memory).get(field).is_some());
        assert_eq!(
            answered(&target, &mut memory, 400, refusal),
            Judgement::Repair("field_dropped"),
            "{refusal}"
        );
        assert!(probe_body(&target, &ProbeSettings::default(), &memory).get(field).is_none());
    }
}

#[test]
fn an_embedding_model_that_wants_an_input_type_gets_one() {
    let target = any("nvidia_nim/nv-embed", Some("embedding")).unwrap();
    let mut memory = ProbeMemory::default();
    let refusal = r#"{"error":"'input_type' parameter is required for asymmetric models"}"#;
    assert_eq!(answered(&target, &mut memory, 400, refusal), Judgement::Repair("input_type"));
    assert_eq!(probe_body(&target, &ProbeSettings::default(), &memory)["input_type"], "query");
}

#[test]
fn caps_follow_litellms_precedence() {
    let plain = own(json!({}), None);
    let reasoner = any("openai/gpt-5-mini", None).unwrap();
    let cap = |target: &Target, settings: &ProbeSettings| {
        target.probe(Mode::Chat, settings, &ProbeMemory::default(), 1).unwrap().expect.cap.unwrap()
    };
    let mut settings = ProbeSettings::default();
    assert_eq!((cap(&plain, &settings), cap(&reasoner, &settings)), (16, 256));
    settings.env_max_tokens = Some(20);
    assert_eq!((cap(&plain, &settings), cap(&reasoner, &settings)), (20, 20));
    settings.env_max_tokens_reasoning = Some(30);
    assert_eq!((cap(&plain, &settings), cap(&reasoner, &settings)), (20, 30));
    settings.max_tokens_non_reasoning = Some(40);
    settings.max_tokens_reasoning = Some(50);
    assert_eq!((cap(&plain, &settings), cap(&reasoner, &settings)), (40, 50));
    settings.max_tokens = Some(60);
    assert_eq!((cap(&plain, &settings), cap(&reasoner, &settings)), (60, 60));
    assert_eq!(probe_body(&reasoner, &settings, &ProbeMemory::default())["max_completion_tokens"], 60);
    settings.supports_max_tokens = Some(false);
    assert_eq!(plain.probe(Mode::Chat, &settings, &ProbeMemory::default(), 1).unwrap().expect.cap, None);
}

#[test]
fn the_operators_fields_outrank_the_probes() {
    let target = own(json!({}), None);
    let mut settings = ProbeSettings { reasoning_effort: Some("low".to_owned()), ..ProbeSettings::default() };
    settings.params.insert("messages".to_owned(), json!([{"role": "user", "content": "x"}]));
    settings.params.insert("foo".to_owned(), json!(1));
    let body = probe_body(&target, &settings, &ProbeMemory::default());
    assert_eq!(
        body,
        json!({"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 16, "reasoning_effort": "low", "foo": 1})
    );
    let settings = ProbeSettings {
        prompt: Some("ping".to_owned()),
        voice: Some("ash".to_owned()),
        ..ProbeSettings::default()
    };
    assert_eq!(
        probe_body(&own(json!({}), Some("embedding")), &settings, &ProbeMemory::default())["input"],
        json!(["ping"])
    );
    assert_eq!(
        probe_body(&own(json!({}), Some("audio_speech")), &settings, &ProbeMemory::default())["voice"],
        "ash"
    );
}

#[test]
fn probes_never_sample() {
    let target = own(json!({"temperature": 0.7, "top_p": 0.1, "n": 3, "seed": 1}), None);
    let body = probe_body(&target, &ProbeSettings::default(), &ProbeMemory::default());
    for field in ["temperature", "top_p", "n", "seed"] {
        assert!(body.get(field).is_none(), "{field}");
    }
}

#[test]
fn the_salt_keeps_caches_out() {
    let target = own(json!({}), None);
    let of = |salt| {
        body(
            &target.probe(Mode::Chat, &ProbeSettings::default(), &ProbeMemory::default(), salt).unwrap().call,
        )
    };
    assert_ne!(of(1), of(2));
}
