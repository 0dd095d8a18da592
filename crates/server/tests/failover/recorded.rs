//! Recorded answers of providers over real sockets: the prober asks and judges, a caller calls and is told.
//!
//! The same files are judged by the pure code in the providers' tests. Here they travel the whole road: a deployment
//! each, a listener each, one gateway; what is compared is what an operator sees on the pages and a caller in the answer.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use haleway_mockllm::{Act, Plan};
use haleway_testkit::{Behaviour, Mock, Script, Yaml};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::bed::{KEY, gateway};

/// No answer of the gateway is larger, in bytes.
const CAP: usize = 1024 * 1024;

/// A gateway with a deployment `d1`, `d2`, … of group `g1`, `g2`, … per case.
struct Fleet {
    address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
    gateway: std::sync::Arc<haleway_server::Gateway>,
    /// Holds the listeners.
    _mock: Mock,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.gateway.shutdown.cancel();
    }
}

impl Fleet {
    async fn of(cases: &[Value], script: impl Fn(&Value) -> Script) -> Self {
        let mock = Mock::new();
        let mut yaml = Yaml::new()
            .set("general_settings.master_key", KEY)
            .set("general_settings.background_health_checks", false)
            .set("haleway.profile", "resilient");
        for (number, case) in (1..).zip(cases) {
            let name = format!("u{number}");
            mock.script(&name, script(case));
            let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let address = mock.listen(free, &name).await.unwrap().address();
            yaml = deployment(yaml, number, case, address);
        }
        let (gateway, address) = gateway(&yaml).await;
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { address, client, gateway, _mock: mock }
    }

    #[expect(clippy::disallowed_methods, reason = "capped by Limited")]
    async fn ask(&self, method: Method, path: &str, body: &Value) -> Response<Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("authorization", format!("Bearer {KEY}"))
            .header("content-type", "application/json")
            .body(Full::from(if body.is_null() { String::new() } else { body.to_string() }))
            .unwrap();
        let (head, body) = self.client.request(request).await.unwrap().into_parts();
        let body = Limited::new(body, CAP).collect().await.unwrap();
        Response::from_parts(head, body.to_bytes())
    }

    async fn page(&self, method: Method, path: &str) -> Value {
        serde_json::from_slice(self.ask(method, path, &Value::Null).await.body()).unwrap()
    }
}

fn deployment(yaml: Yaml, number: usize, case: &Value, address: SocketAddr) -> Yaml {
    let id = format!("d{number}");
    let set = |yaml: Yaml, path: &str, value: Value| yaml.set(&format!("{id}.{path}"), value);
    let mut yaml = yaml.deployment(&format!("g{number}"), &id);
    yaml = set(yaml, "litellm_params.model", case["model"].clone());
    yaml = set(yaml, "litellm_params.api_base", format!("http://{address}").into());
    yaml = set(yaml, "model_info.mode", case["mode"].clone());
    if case["provider"] == "watsonx" {
        yaml = set(yaml, "litellm_params.project_id", "proj".into());
        // A token of its own: nobody is asked for one.
        yaml = set(yaml, "litellm_params.token", "token".into());
    }
    if case["provider"] == "vertex_ai" {
        yaml = set(yaml, "litellm_params.vertex_project", "proj".into());
    }
    if let Some(dimensions) = case["expect"].get("dimensions") {
        yaml = set(yaml, "litellm_params.dimensions", dimensions.clone());
    }
    yaml
}

fn behaviour(attempt: &Value) -> Behaviour {
    if attempt["status"] == 101 {
        return Behaviour::of(Act::ErrorEvent).body(attempt["events"][0].clone());
    }
    let mut behaviour = Behaviour::status(u16::try_from(attempt["status"].as_u64().unwrap()).unwrap());
    behaviour = match (attempt["body_b64"].as_str(), &attempt["body"]) {
        (Some(bytes), _) => behaviour.bytes(bytes),
        (None, Value::Null) => behaviour.body(""),
        (None, body) => behaviour.body(body.clone()),
    };
    for (name, value) in attempt["headers"].as_object().into_iter().flatten() {
        behaviour = behaviour.header(name, value.as_str().unwrap());
    }
    behaviour
}

fn read(text: &str) -> Vec<Value> {
    let mut file: Value = serde_json::from_str(text).unwrap();
    let Value::Array(cases) = file["cases"].take() else { panic!("no cases") };
    cases
}

/// What an operator sees of a probed deployment, in the words of the cases.
fn seen(answer: &Value, health: &Value) -> (&'static str, String, bool) {
    let degraded = health["healthy_endpoints"][0]["degraded"].as_str().map(str::to_owned);
    match (health["healthy_count"].as_u64(), health["unhealthy_count"].as_u64()) {
        (Some(1), _) => ("healthy", degraded.clone().unwrap_or_else(|| "ok".to_owned()), degraded.is_some()),
        (_, Some(1)) => {
            let blank = answer["deployment"]["evidence"]["latest_probe"]["reason"] == "blank_output";
            let error = health["unhealthy_endpoints"][0]["error"].as_str().unwrap_or_default();
            let class = if blank { "blank_output" } else { error.split(':').next().unwrap_or_default() };
            ("unhealthy", class.to_owned(), false)
        }
        _ => {
            let reason = health["unknown_endpoints"][0]["reason"].as_str().unwrap_or_default();
            ("unknown", reason.split(':').next().unwrap_or_default().to_owned(), false)
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_probe_answer_gets_its_verdict_through_the_prober() {
    let cases = read(include_str!("../../../providers/tests/fixtures/probe-cases.json"));
    let fleet = Fleet::of(&cases, |case| {
        let steps: Vec<Behaviour> = case["attempts"].as_array().unwrap().iter().map(behaviour).collect();
        let then = steps.last().unwrap().clone();
        Script { plan: Plan::Sequence { steps, then }, ..Script::default() }
    })
    .await;
    let mut wrong = Vec::new();
    for (number, case) in (1..).zip(&cases) {
        let path = format!("/haleway/deployments/d{number}/probe");
        let answer = fleet.page(Method::POST, &path).await;
        // The page shows what was found last; it asks nobody again so soon.
        let health = fleet.page(Method::GET, &format!("/health?model=g{number}")).await;
        let expect = &case["expect"];
        let (verdict, class, degraded) = seen(&answer, &health);
        let kept = expect["keeps_previous"].as_bool().unwrap_or(false);
        let wanted = if kept { "unknown" } else { expect["verdict"].as_str().unwrap() };
        let same_class = expect["class"] == class || (degraded && expect["class"] == "ok");
        if answer["probe"] != "probed"
            || verdict != wanted
            || !same_class
            || degraded != expect["degraded"].as_bool().unwrap_or(false)
        {
            wrong.push(format!(
                "{}: want {expect}\n   got {verdict} {class} degraded {degraded}; {} {}",
                case["id"], answer["probe"], answer["reason"]
            ));
        }
    }
    assert!(cases.len() >= 115);
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// What a caller of a mode sends, and where.
fn call(mode: &str, group: &str, stream: bool) -> Option<(&'static str, Value)> {
    Some(match mode {
        "chat" => (
            "/v1/chat/completions",
            json!({"model": group, "messages": [{"role": "user", "content": "hi"}], "stream": stream}),
        ),
        "embedding" => ("/v1/embeddings", json!({"model": group, "input": "hi"})),
        "audio_speech" => ("/v1/audio/speech", json!({"model": group, "input": "hi", "voice": "alloy"})),
        "responses" => ("/v1/responses", json!({"model": group, "input": "hi"})),
        "image_generation" => ("/v1/images/generations", json!({"model": group, "prompt": "a cat"})),
        "rerank" => ("/v1/rerank", json!({"model": group, "query": "q", "documents": ["a", "b"]})),
        "ocr" => (
            "/v1/ocr",
            json!({"model": group, "document": {"type": "document_url", "document_url": "https://x.example/a.pdf"}}),
        ),
        _ => return None,
    })
}

/// A model of a provider that serves a mode at a base of its own.
fn model(provider: &str, mode: &str) -> String {
    let id = match (provider, mode) {
        ("openai_compatible", _) => return "openai/stub".to_owned(),
        ("azure", _) => "gpt-4o",
        ("gemini" | "vertex_ai", _) => "gemini-2.5-flash",
        ("bedrock", "chat") => "anthropic.claude-3-haiku-20240307-v1:0",
        ("bedrock", _) => "amazon.titan-embed-text-v2:0",
        ("anthropic", _) => "claude-haiku-4-5",
        ("replicate", _) => "meta/meta-llama-3-8b-instruct",
        ("watsonx", _) => "ibm/granite-3-8b-instruct",
        ("elevenlabs", "audio_speech") => "eleven_multilingual_v2",
        ("elevenlabs", _) => "scribe_v1",
        ("deepgram", "audio_speech") => "aura-2-thalia-en",
        ("deepgram", _) => "nova-2",
        _ => "stub",
    };
    format!("{provider}/{id}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_recorded_refusal_reaches_the_caller_with_its_class() {
    let mut cases = read(include_str!("../../../providers/tests/fixtures/error-cases.json"));
    cases.retain(|case| case["status"].is_u64() && call(case["mode"].as_str().unwrap(), "", false).is_some());
    for case in &mut cases {
        case["model"] = model(case["provider"].as_str().unwrap(), case["mode"].as_str().unwrap()).into();
    }
    let fleet = Fleet::of(&cases, |case| behaviour(case).into()).await;
    let mut wrong = Vec::new();
    for (number, case) in (1..).zip(&cases) {
        let group = format!("g{number}");
        let stream = case["stream"] == true;
        let (path, body) = call(case["mode"].as_str().unwrap(), &group, stream).unwrap();
        let answer = fleet.ask(Method::POST, path, &body).await;
        let told: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let error = &told["error"];
        let expect = &case["expect"];
        if case["status"] == 200 && answer.status() == 200 {
            // An answer that the caller's own wire can tell: it is passed on, and says why it is short.
            let finish = match expect["class"].as_str().unwrap() {
                "content_policy" => "content_filter",
                "output_budget" => "length",
                class => panic!("{}: {class} as a success: {told}", case["id"]),
            };
            assert_eq!(told["choices"][0]["finish_reason"], finish, "{}", case["id"]);
            continue;
        }
        if error["class"] != expect["class"]
            || error["message"].as_str().is_none_or(str::is_empty)
            || error["type"].as_str().is_none_or(str::is_empty)
            || answer.status().as_u16() < 400
        {
            wrong.push(format!(
                "{}: want {}\n   got {} {told}",
                case["id"],
                expect["class"],
                answer.status()
            ));
        }
    }
    assert!(cases.len() >= 230, "{}", cases.len());
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
