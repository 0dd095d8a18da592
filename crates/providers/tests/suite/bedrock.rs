//! Bedrock against golden files (see `golden`), who signs what, and what cannot be said.

use haleway_health::Class;
use haleway_providers::credential::Credential;
use haleway_providers::{
    Answer, CallOptions, Judgement, Mode, Operation, ProbeAnswer, ProbeMemory, ProbeSettings, Refusal, Step,
    Target, first_event, judge,
};
use haleway_wire::Envelope;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::common::{body, call, deployment};
use crate::golden::{Golden, framed};

const HAIKU: &str = "anthropic.claude-3-haiku-20240307-v1:0";
const CHAT: &str = r#"{"model":"g","messages":[{"role":"user","content":"hi"}]}"#;
/// 2026-11-30T12:00:00Z.
const NOW_MS: u64 = 1_796_040_000_000;

fn params(model: &str) -> Value {
    json!({
        "model": format!("bedrock/{model}"),
        "aws_access_key_id": "AKIDEXAMPLE",
        "aws_secret_access_key": "secret-canary-1",
        "aws_region_name": "us-east-1",
    })
}

fn target(model: &str, _operation: Operation) -> Target {
    deployment(params(if model == "group" { HAIKU } else { model }), None, &[]).unwrap()
}

fn golden() -> Golden {
    Golden::new("bedrock", target)
}

#[test]
fn requests_are_translated() {
    golden().requests(26, |name, call| {
        let url = call.uri.to_string();
        let (host, path) = url.strip_prefix("https://").unwrap().split_once('/').unwrap();
        let expected = match name {
            "stream" => "/converse-stream",
            name if name.starts_with("embed") || name.starts_with("picture_") => "/invoke",
            _ => "/converse",
        };
        if name == "rerank" {
            assert_eq!((host, path), ("bedrock-agent-runtime.us-east-1.amazonaws.com", "rerank"));
            return;
        }
        assert_eq!(host, "bedrock-runtime.us-east-1.amazonaws.com");
        let model = path.strip_prefix("model/").unwrap().strip_suffix(expected).unwrap();
        assert!(!model.contains(['/', ':']) && model.contains("%3A") || !model.contains('%'), "{model}");
        assert!(!url.contains("canary"));
    });
}

#[test]
fn answers_are_translated() {
    golden().answers(15);
}

#[test]
fn streams_are_translated_frame_by_frame() {
    for (name, last) in golden().streams(9) {
        match name.as_str() {
            "error" | "error_first" => assert!(matches!(last, Step::Failed(_)), "{name}: {last:?}"),
            "malformed" => assert!(matches!(last, Step::Malformed(_)), "{name}: {last:?}"),
            "cut" => assert_eq!(last, Step::More, "{name}"),
            _ => assert_eq!(last, Step::Done, "{name}"),
        }
    }
}

/// The exceptions of a stream have the classes of their statuses.
#[test]
fn exceptions_of_a_stream_are_classified() {
    for (exception, class) in [
        ("throttlingException", Class::RateLimit),
        ("serviceUnavailableException", Class::Overloaded),
        ("internalServerException", Class::ServerError),
        ("modelStreamErrorException", Class::ServerError),
        ("validationException", Class::BadRequest),
    ] {
        let mut reader = golden().reader("text", true);
        let bytes = framed(&format!("exception:{exception} {{\"message\":\"Something.\"}}\n"));
        let mut events = haleway_providers::EventReader::new(reader.framing());
        events.push(&bytes);
        let event = events.next_event().unwrap().unwrap();
        let Step::Failed(body) = reader.event(event.name(), &event.data, &mut Vec::new()) else {
            panic!("{exception} is no failure")
        };
        let headers = HeaderMap::new();
        let answer = Answer {
            provider: "bedrock",
            mode: Mode::Chat,
            status: 200,
            headers: &headers,
            body: &body,
            now_ms: 0,
        };
        assert_eq!(first_event(&answer).map(|fault| fault.class), Some(class), "{exception}");
    }
}

#[test]
fn a_call_is_signed_when_it_is_sent() {
    let mut temporary = params("us.anthropic.claude-haiku-4-5-20251001-v1:0");
    temporary["aws_session_token"] = json!("token-canary-2");
    let target = deployment(temporary, None, &[]).unwrap();
    let call = call(&target, Operation::Chat, CHAT).unwrap();
    assert!(call.headers.get("authorization").is_none(), "not signed before its time is known");
    let (request, ..) = call.into_request(NOW_MS, &Credential::Configured);
    let headers = request.headers();
    assert_eq!(headers["x-amz-date"], "20261130T120000Z");
    assert_eq!(headers["x-amz-security-token"], "token-canary-2");
    let authorization = headers["authorization"].to_str().unwrap();
    let signed = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261130/us-east-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(authorization.starts_with(signed), "{authorization}");
    assert!(!format!("{target:?} {headers:?}").contains("canary"));
    // A probe is signed on the same road.
    let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &ProbeMemory::default(), 1).unwrap();
    let (request, ..) = probe.call.into_request(NOW_MS, &Credential::Configured);
    assert!(request.headers()["authorization"].to_str().unwrap().starts_with(signed));
}

/// Who calls: the deployment's own before the environment's, a Bedrock key before a key pair.
#[test]
fn credentials_have_an_order() {
    let pair = [("AWS_ACCESS_KEY_ID", "AKENV"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let both = [pair[0], pair[1], ("AWS_BEARER_TOKEN_BEDROCK", "bearer-env")];
    let bare = json!({"model": format!("bedrock/{HAIKU}")});
    let mut own = params(HAIKU);
    let sent = |params: Value, env: &[(&str, &str)]| {
        let target = deployment(params, None, env).unwrap();
        let (request, ..) =
            call(&target, Operation::Chat, CHAT).unwrap().into_request(NOW_MS, &Credential::Configured);
        request.headers()["authorization"].to_str().unwrap().to_owned()
    };
    assert!(sent(bare.clone(), &pair).starts_with("AWS4-HMAC-SHA256 Credential=AKENV/20261130/us-west-2/"));
    assert_eq!(sent(bare.clone(), &both), "Bearer bearer-env");
    assert!(sent(own.clone(), &both).contains("Credential=AKIDEXAMPLE/"));
    own["api_key"] = json!("bearer-own");
    assert_eq!(sent(own, &both), "Bearer bearer-own");
    let error = deployment(bare.clone(), None, &[pair[0]]).unwrap_err();
    assert_eq!(error.code(), "missing_api_key");
    assert!(error.to_string().contains("AWS_SECRET_ACCESS_KEY"), "{error}");
    let mut broken = params(HAIKU);
    broken["aws_access_key_id"] = json!("a\nb");
    assert_eq!(deployment(broken, None, &[]).unwrap_err().code(), "invalid_header");
}

/// The region of the model string, its ARN, the deployment, the environment; the host decides for the signature.
#[test]
fn a12_the_region_is_that_of_the_host() {
    let arn = "arn:aws:bedrock:eu-west-3:1:inference-profile/eu.x";
    let env = [("AWS_REGION_NAME", "ca-central-1")];
    let at = |model: &str, more: Value| {
        let mut params = params(model);
        params.as_object_mut().unwrap().remove("aws_region_name");
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let target = deployment(params, None, &env).unwrap();
        let (request, ..) =
            call(&target, Operation::Chat, CHAT).unwrap().into_request(NOW_MS, &Credential::Configured);
        let authorization = request.headers()["authorization"].to_str().unwrap().to_owned();
        (request.uri().clone(), authorization.split('/').nth(2).unwrap().to_owned())
    };
    for (model, more, host, region) in [
        (
            "us-west-2/m",
            json!({"aws_region_name": "eu-west-1"}),
            "bedrock-runtime.us-west-2.amazonaws.com",
            "us-west-2",
        ),
        (arn, json!({}), "bedrock-runtime.eu-west-3.amazonaws.com", "eu-west-3"),
        (
            "m",
            json!({"aws_region_name": "eu-west-1"}),
            "bedrock-runtime.eu-west-1.amazonaws.com",
            "eu-west-1",
        ),
        ("m", json!({}), "bedrock-runtime.ca-central-1.amazonaws.com", "ca-central-1"),
        ("m", json!({"model_id": arn}), "bedrock-runtime.eu-west-3.amazonaws.com", "eu-west-3"),
        (
            "m",
            json!({"aws_bedrock_runtime_endpoint": "https://vpce-1.bedrock-runtime.us-east-2.vpce.amazonaws.com"}),
            "vpce-1.bedrock-runtime.us-east-2.vpce.amazonaws.com",
            "us-east-2",
        ),
        ("m", json!({"api_base": "http://proxy.local:9"}), "proxy.local", "ca-central-1"),
    ] {
        let (uri, signed) = at(model, more);
        assert_eq!((uri.host().unwrap(), signed.as_str()), (host, region), "{model}");
    }
    let (uri, _) = at("m", json!({"model_id": arn}));
    assert_eq!(uri.path(), "/model/arn%3Aaws%3Abedrock%3Aeu-west-3%3A1%3Ainference-profile%2Feu.x/converse");
}

fn ask(model: &str, request: &Value, drop_params: bool) -> Result<Value, Refusal> {
    let text = request.to_string();
    let operation = if request.get("input").is_some() {
        Operation::Embeddings
    } else if request.get("prompt").is_some() {
        Operation::Images
    } else if request.get("query").is_some() {
        Operation::Rerank
    } else {
        Operation::Chat
    };
    let options = CallOptions { drop_params, ..CallOptions::default() };
    let call =
        target(model, operation).call(operation, &Envelope::parse(text.as_bytes()).unwrap(), None, options);
    call.map(|call| body(&call))
}

fn user(content: Value) -> Value {
    json!({"messages": [{"role": "user", "content": content}]})
}

fn with(key: &str, value: Value) -> Value {
    let mut request = user(json!("x"));
    request[key] = value;
    request
}

#[test]
fn d14_what_cannot_be_said_is_refused_at_once_with_its_place() {
    let called = json!({"messages": [
        {"role": "user", "content": "x"},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": ""},
    ]});
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let mut none = called.clone();
    none["tools"] = tools.clone();
    none["tool_choice"] = json!("none");
    let mut forced = with("tools", tools.clone());
    forced["tool_choice"] = json!("required");
    let mut single = with("tools", tools);
    single["parallel_tool_calls"] = json!(false);
    let mut thinks = forced.clone();
    thinks["reasoning_effort"] = json!("low");
    let (untranslatable, invalid) = ("untranslatable_request", "invalid_value");
    let llama = "meta.llama3-70b-instruct-v1:0";
    for (model, request, code, param) in [
        (HAIKU, json!({}), invalid, "messages"),
        (HAIKU, json!({"messages": [{"role": "system", "content": "x"}]}), untranslatable, "messages"),
        (HAIKU, json!({"messages": [{"role": "assistant", "content": "x"}]}), untranslatable, "messages"),
        (
            HAIKU,
            json!({"messages": [{"role": "function", "content": "x"}]}),
            untranslatable,
            "messages[0].role",
        ),
        (
            HAIKU,
            json!({"messages": [{"role": "system", "content": [{"type": "image_url", "image_url": "data:image/png;base64,AA=="}]}, {"role": "user", "content": "x"}]}),
            untranslatable,
            "messages[0].content",
        ),
        (
            HAIKU,
            user(json!([{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}])),
            untranslatable,
            "messages[0].content",
        ),
        (
            HAIKU,
            user(json!([{"type": "image_url", "image_url": {"url": "data:image/tiff;base64,AA=="}}])),
            untranslatable,
            "messages[0].content",
        ),
        (
            HAIKU,
            user(json!([{"type": "file", "file": {"file_id": "file-1"}}])),
            untranslatable,
            "messages[0].content",
        ),
        (
            HAIKU,
            user(json!([{"type": "input_audio", "input_audio": {"data": "AA=="}}])),
            untranslatable,
            "messages[0].content",
        ),
        (HAIKU, called, invalid, "tools"),
        (HAIKU, none, untranslatable, "tool_choice"),
        (llama, forced, untranslatable, "tool_choice"),
        (HAIKU, thinks, untranslatable, "tool_choice"),
        (llama, single, untranslatable, "parallel_tool_calls"),
        (llama, with("reasoning_effort", json!("low")), untranslatable, "reasoning_effort"),
        (HAIKU, with("reasoning_effort", json!("huge")), invalid, "reasoning_effort"),
        (HAIKU, with("tools", json!([{"type": "web_search"}])), untranslatable, "tools[0]"),
        (HAIKU, with("n", json!(2)), untranslatable, "n"),
        (HAIKU, with("logit_bias", json!({"1": 1})), untranslatable, "logit_bias"),
        (HAIKU, with("max_tokens", json!("many")), invalid, "max_tokens"),
        (HAIKU, with("stop", json!(4)), invalid, "stop"),
        (HAIKU, with("response_format", json!({"type": "xml"})), invalid, "response_format"),
    ] {
        let refusal = ask(model, &request, false).unwrap_err();
        let found = (refusal.status, refusal.code, refusal.param.as_deref());
        assert_eq!(found, (400, code, Some(param)), "{request}");
    }
}

#[test]
fn d14_embeddings_images_and_rankings_are_refused_with_their_place() {
    let (untranslatable, invalid) = ("untranslatable_request", "invalid_value");
    let llama = "meta.llama3-70b-instruct-v1:0";
    for (model, request, code, param) in [
        ("amazon.titan-embed-text-v2:0", json!({"input": ["a", "b"]}), untranslatable, "input"),
        ("cohere.embed-v4:0", json!({"input": [[1, 2]]}), untranslatable, "input"),
        (llama, json!({"input": "a"}), untranslatable, "model"),
        (llama, json!({"prompt": "a"}), untranslatable, "model"),
        ("stability.sd3-5-large-v1:0", json!({"prompt": "a", "n": 2}), untranslatable, "n"),
        ("stability.sd3-5-large-v1:0", json!({"prompt": "a", "size": "big"}), invalid, "size"),
        ("cohere.rerank-v3-5:0", json!({"query": "a", "documents": []}), invalid, "documents"),
        ("cohere.rerank-v3-5:0", json!({"query": "a", "documents": [7]}), untranslatable, "documents[0]"),
    ] {
        let refusal = ask(model, &request, false).unwrap_err();
        let found = (refusal.status, refusal.code, refusal.param.as_deref());
        assert_eq!(found, (400, code, Some(param)), "{request}");
    }
}

#[test]
fn what_cannot_be_said_is_left_out_on_demand() {
    let request = json!({
        "messages": [{"role": "user", "content": "x"}],
        "n": 2, "logprobs": true, "reasoning_effort": "low", "parallel_tool_calls": false, "tool_choice": "required",
        "tools": [{"type": "function", "function": {"name": "f"}}, {"type": "web_search"}],
    });
    let body = ask("meta.llama3-70b-instruct-v1:0", &request, true).unwrap();
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(members, ["messages", "toolConfig"]);
    assert_eq!(body["toolConfig"]["tools"].as_array().unwrap().len(), 1);
    assert!(body["toolConfig"].get("toolChoice").is_none());
}

#[test]
fn defaults_of_the_deployment_are_translated_and_its_keys_stay() {
    let mut params = params(HAIKU);
    for (name, value) in [
        ("max_tokens", json!(77)),
        ("temperature", json!(0.5)),
        ("model_id", json!(HAIKU)),
        ("extra_body", json!({"guardrailConfig": {"guardrailIdentifier": "g"}, "x": 1})),
        ("additional_drop_params", json!(["stop"])),
    ] {
        params[name] = value;
    }
    let target = deployment(params, None, &[]).unwrap();
    let client = r#"{"messages":[{"role":"user","content":"x"}],"temperature":0,"stop":"END","guardrailConfig":{"a":1}}"#;
    let body = body(&call(&target, Operation::Chat, client).unwrap());
    assert_eq!(body["inferenceConfig"], json!({"maxTokens": 77, "temperature": 0}));
    assert_eq!(body["additionalModelRequestFields"], json!({"x": 1}));
    assert_eq!(body["guardrailConfig"], json!({"guardrailIdentifier": "g"}));
    assert!(!body.to_string().contains("canary"));
}

#[test]
fn a_streamed_probe_is_judged_by_its_frames() {
    let target = target(HAIKU, Operation::Chat);
    let mut memory = ProbeMemory { stream_only: true, ..ProbeMemory::default() };
    let probe = target.probe(Mode::Chat, &ProbeSettings::default(), &memory, 1).unwrap();
    assert!(probe.call.uri.path().ends_with("/converse-stream"));
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/vnd.amazon.eventstream"));
    let mut verdict = |body: &[u8]| {
        let answer = ProbeAnswer { status: 200, headers: &headers, body, now_ms: 0 };
        judge(&target, &probe.expect, &answer, &mut memory)
    };
    let said =
        framed("messageStart {\"role\":\"assistant\"}\ncontentBlockDelta {\"delta\":{\"text\":\"2\"}}\n");
    assert!(probe.expect.enough(&target, &said));
    assert!(!probe.expect.enough(&target, &said[..said.len() - 1]), "a frame that is not whole says nothing");
    assert_eq!(verdict(&said), Judgement::Healthy { degraded: None });
    let mut broken = said.clone();
    *broken.last_mut().unwrap() ^= 1;
    for body in [broken, framed("messageStop {\"stopReason\":\"malformed_tool_use\"}\n")] {
        let Judgement::Unhealthy(finding) = verdict(&body) else { panic!("healthy") };
        assert_eq!(finding.class, Class::MalformedResponse);
    }
}
