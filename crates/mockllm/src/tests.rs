//! The mock's own promises: shapes, timetables, the meter, and being steered over HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::net::MemNet;
use crate::{Act, Behaviour, Mock, Phase, Plan, Script};

type Client = SendRequest<Full<Bytes>>;

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    fn events(&self) -> Vec<Value> {
        let data = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

async fn over(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Client {
    let (client, connection) = handshake(TokioIo::new(stream)).await.unwrap();
    let _detached = TaskTracker::new().spawn(connection);
    client
}

async fn request(client: &mut Client, request: Request<Full<Bytes>>) -> Result<Answer, hyper::Error> {
    client.ready().await?;
    let (head, body) = client.send_request(request).await?.into_parts();
    #[expect(clippy::disallowed_methods, reason = "the body is capped by Limited")]
    let body = Limited::new(body, 1 << 24).collect().await;
    // A body that is cut is told apart by its missing end.
    let bytes = body.map_or_else(|_| Bytes::from_static(b"<cut>"), http_body_util::Collected::to_bytes);
    Ok(Answer {
        status: head.status,
        headers: head.headers,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

struct Bed {
    mock: Mock,
    net: MemNet,
}

fn bed(script: impl Into<Script>) -> Bed {
    let (mock, net) = (Mock::new(), MemNet::new());
    mock.script("u", script);
    mock.attach(&net, "u", 80, "u");
    Bed { mock, net }
}

impl Bed {
    async fn client(&self) -> Client {
        over(self.net.connect("u", 80).await.unwrap()).await
    }

    async fn post(&self, path: &str, body: Value) -> Result<Answer, hyper::Error> {
        self.post_as("sk-any", path, body).await
    }

    async fn post_as(&self, key: &str, path: &str, body: Value) -> Result<Answer, hyper::Error> {
        let call = Request::post(path)
            .header("host", "u")
            .header("authorization", format!("Bearer {key}"))
            .body(Full::from(body.to_string()))
            .unwrap();
        request(&mut self.client().await, call).await
    }

    async fn chat(&self) -> Result<Answer, hyper::Error> {
        self.post(CHAT, json!({"model": "m", "messages": []})).await
    }

    async fn status(&self) -> u16 {
        self.chat().await.unwrap().status.as_u16()
    }
}

const CHAT: &str = "/v1/chat/completions";

fn expect_at(answer: &Value, pointer: &str, expected: Value) {
    assert_eq!(answer.pointer(pointer), Some(&expected), "{pointer} of {answer}");
}

#[tokio::test(start_paused = true)]
async fn every_operation_has_its_own_shape() {
    let bed = bed(Script::ok());
    let cases = [
        (CHAT, json!({"model": "m"}), "/choices/0/message/role", json!("assistant")),
        ("/openai/deployments/d/chat/completions", json!({}), "/model", json!("d")),
        ("/v1/completions", json!({"model": "m"}), "/object", json!("text_completion")),
        (
            "/v1/embeddings",
            json!({"model": "m", "input": ["a", "b"], "dimensions": 3}),
            "/data/1/index",
            json!(1),
        ),
        (
            "/v1/embeddings",
            json!({"input": "a", "dimensions": 4, "encoding_format": "base64"}),
            "/data/0/embedding",
            json!("AACAPwAAgD8AAIA/AACAPw=="),
        ),
        ("/v1/responses", json!({"model": "m"}), "/output/0/content/0/type", json!("output_text")),
        ("/v1/messages", json!({"model": "m"}), "/stop_reason", json!("end_turn")),
        ("/v1/messages/count_tokens", json!({"messages": "12345678"}), "/input_tokens", json!(2)),
        (
            "/v1/rerank",
            json!({"documents": ["a", "b"], "top_n": 1}),
            "/results/0/relevance_score",
            json!(1.0),
        ),
        ("/v1/moderations", json!({"input": "x"}), "/results/0/flagged", json!(false)),
        ("/v1/models", json!({"model": "m"}), "/data/0/id", json!("m")),
        ("/v1/models/gpt-x", json!({}), "/id", json!("gpt-x")),
        (
            "/v1/images/generations",
            json!({}),
            "/data/0/b64_json",
            json!(
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
            ),
        ),
        ("/v1/batches", json!({}), "/status", json!("validating")),
        (
            "/v1/listen?model=nova-3",
            json!(null),
            "/results/channels/0/alternatives/0/words/0/word",
            json!("hello!"),
        ),
    ];
    for (path, body, pointer, expected) in cases {
        let answer = bed.post(path, body).await.unwrap();
        assert_eq!(answer.status, 200, "{path}");
        expect_at(&answer.json(), pointer, expected);
    }
    for path in ["/v1/audio/speech", "/v1/speak?model=aura", "/v1/text-to-speech/v1"] {
        let speech = bed.post(path, json!({"input": "a b c"})).await.unwrap();
        assert_eq!(speech.headers["content-type"], "audio/mpeg", "{path}");
    }
    assert_eq!(bed.post("/v1/nonsense", json!({})).await.unwrap().status, 404);
}

const UPLOAD: &str = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b\r\nContent-Disposition: form-data; \
    name=\"timestamp_granularities[]\"\r\n\r\nword\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\
    Content-Type: audio/wav\r\n\r\nRIFF\r\n--b--\r\n";

#[tokio::test(start_paused = true)]
async fn forms_are_read_and_need_their_file() {
    let bed = bed(Script::ok());
    let upload = async |path: &str, form: String| {
        let call = Request::post(path).header("host", "u").header("xi-api-key", "k");
        let call =
            call.header("content-type", "multipart/form-data; boundary=b").body(Full::from(form)).unwrap();
        request(&mut bed.client().await, call).await.unwrap()
    };
    for path in ["/v1/audio/transcriptions", "/v1/audio/translations", "/v1/speech-to-text"] {
        let answer = upload(path, UPLOAD.to_owned()).await;
        expect_at(&answer.json(), "/text", json!("Hello! How can I help you today?"));
    }
    let kept = bed.mock.kept("u");
    expect_at(&kept[0].body, "/file", json!({"filename": "a.wav", "content_type": "audio/wav", "bytes": 4}));
    expect_at(&kept[0].body, "/timestamp_granularities", json!(["word"]));
    assert_eq!(bed.mock.counts("u").keys["k"], 3);
    let refused = upload("/v1/audio/transcriptions", UPLOAD.replace("; filename=\"a.wav\"", "")).await;
    assert_eq!(refused.status, 400);
    expect_at(&refused.json(), "/error/param", json!("file"));
}

#[tokio::test(start_paused = true)]
async fn chat_streams_begin_with_a_role_and_end_with_usage_and_done() {
    let bed = bed(Behaviour::ok().text("one two three"));
    let body = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true}});
    let answer = bed.post(CHAT, body).await.unwrap();
    let events = answer.events();
    assert_eq!(events.len(), 6);
    expect_at(&events[0], "/choices/0/delta/role", json!("assistant"));
    expect_at(&events[3], "/choices/0/delta/content", json!("three"));
    expect_at(&events[4], "/choices/0/finish_reason", json!("stop"));
    expect_at(&events[5], "/usage/completion_tokens", json!(3));
    assert!(answer.text.ends_with("data: [DONE]\n\n"));
    assert_eq!(answer.headers["transfer-encoding"], "chunked");
    let ids: Vec<_> = events.iter().map(|event| &event["id"]).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[tokio::test(start_paused = true)]
async fn messages_and_responses_streams_have_their_lifecycle_events() {
    let bed = bed(Behaviour::ok().text("one two"));
    for (path, first, delta, last) in [
        ("/v1/messages", "message_start", "content_block_delta", "message_stop"),
        ("/v1/responses", "response.created", "response.output_text.delta", "response.completed"),
    ] {
        let events = bed.post(path, json!({"model": "m", "stream": true})).await.unwrap().events();
        expect_at(&events[0], "/type", json!(first));
        expect_at(events.last().unwrap(), "/type", json!(last));
        assert_eq!(events.iter().filter(|event| event["type"] == delta).count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn pacing_follows_the_timetable() {
    let paced = Behaviour::ok()
        .latency(Duration::from_secs(1))
        .first_token(Duration::from_secs(3))
        .gap(Duration::from_secs(2))
        .text("one two");
    let bed = bed(paced);
    let start = Instant::now();
    bed.post(CHAT, json!({"stream": true})).await.unwrap();
    // Head 1, first 3, second 2, finish 2, done 2.
    assert_eq!(Instant::now().duration_since(start), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn sequences_go_call_by_call_and_cycles_by_the_clock() {
    let bed = bed(Script::fail_then_ok(2, &Behaviour::status(503)));
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(bed.status().await);
    }
    assert_eq!(seen, [503, 503, 200]);
    let ten = Duration::from_secs(10);
    bed.mock.script("u", Script::flapping(ten, ten, Behaviour::status(500)));
    let mut seen = Vec::new();
    for _ in 0..5 {
        seen.push(bed.status().await);
        tokio::time::sleep(Duration::from_millis(6000)).await;
    }
    // At 0, 6, 12, 18 and 24 s.
    assert_eq!(seen, [200, 200, 500, 500, 200]);
}

#[tokio::test(start_paused = true)]
async fn callers_are_refused_as_providers_refuse_them() {
    let script = Script::ok().key("sk-right").models(["m"]).strict().token_floor(16);
    let bed = bed(script);
    let cases = [
        ("sk-wrong", json!({"model": "m"}), 401, "/error/code", json!("invalid_api_key")),
        ("sk-right", json!({"model": "x"}), 404, "/error/code", json!("model_not_found")),
        (
            "sk-right",
            json!({"model": "m", "fancy": 1}),
            400,
            "/error/message",
            json!("Unrecognized request argument supplied: fancy"),
        ),
        (
            "sk-right",
            json!({"model": "m", "max_tokens": 1}),
            400,
            "/error/code",
            json!("integer_below_min_value"),
        ),
        ("sk-right", json!({"model": "m", "max_tokens": 16}), 200, "/model", json!("m")),
    ];
    for (key, body, status, pointer, expected) in cases {
        let answer = bed.post_as(key, CHAT, body).await.unwrap();
        assert_eq!(answer.status, status);
        expect_at(&answer.json(), pointer, expected);
    }
    let anthropic = bed.post_as("sk-wrong", "/v1/messages", json!({})).await.unwrap();
    expect_at(&anthropic.json(), "/error/type", json!("authentication_error"));
}

#[tokio::test(start_paused = true)]
async fn a_reasoning_model_below_its_thoughts_says_nothing() {
    let bed = bed(Script::ok().reasoning(64));
    let short = bed.post(CHAT, json!({"max_completion_tokens": 10})).await.unwrap().json();
    expect_at(&short, "/choices/0/finish_reason", json!("length"));
    expect_at(&short, "/choices/0/message/content", json!(""));
    expect_at(&short, "/usage/completion_tokens_details/reasoning_tokens", json!(10));
    let enough = bed.post(CHAT, json!({"max_completion_tokens": 100})).await.unwrap().json();
    expect_at(&enough, "/choices/0/finish_reason", json!("stop"));
}

#[tokio::test(start_paused = true)]
async fn broken_answers_are_broken_as_asked() {
    let bed = bed(Script::ok());
    let mut answers = Vec::new();
    for act in [Act::Empty, Act::Html, Act::Malformed, Act::Cut, Act::ResetAfterHeaders] {
        bed.mock.script("u", Behaviour::of(act));
        answers.push(bed.chat().await.unwrap());
    }
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(answers[0].text, "");
    assert!(answers[1].text.starts_with("<!DOCTYPE html>"));
    assert!(serde_json::from_str::<Value>(&answers[2].text).is_err());
    assert_eq!((answers[3].text.as_str(), answers[4].text.as_str()), ("<cut>", "<cut>"));
    for act in [Act::Close, Act::Reset] {
        bed.mock.script("u", Behaviour::of(act));
        assert!(bed.chat().await.is_err());
    }
    assert_eq!(bed.mock.counts("u").aborted, 4);
}

#[tokio::test(start_paused = true)]
async fn errors_inside_a_stream_come_at_their_place() {
    let bed = bed(Behaviour::error_event(1, 429));
    let events = bed.post(CHAT, json!({"stream": true})).await.unwrap().events();
    assert_eq!(events.len(), 2);
    expect_at(&events[1], "/error/code", json!(429));
}

#[tokio::test(start_paused = true)]
async fn calls_find_their_deployment_by_key_then_model_then_port() {
    let bed = bed(Script::ok());
    bed.mock.script("sk-a", Behaviour::status(418));
    bed.mock.script("gpt-b", Behaviour::status(419));
    assert_eq!(bed.post_as("sk-a", CHAT, json!({"model": "gpt-b"})).await.unwrap().status, 418);
    assert_eq!(bed.post_as("sk-c", CHAT, json!({"model": "gpt-b"})).await.unwrap().status, 419);
    assert_eq!(bed.post_as("sk-c", CHAT, json!({"model": "c"})).await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn the_meter_counts_what_arrived_and_keeps_it() {
    let bed = bed(Script { keep: 2, ..Script::ok() });
    for model in ["a", "b", "b"] {
        bed.post_as("sk-1", CHAT, json!({"model": model, "messages": "12345678"})).await.unwrap();
    }
    let counts = bed.mock.counts("u");
    assert_eq!((counts.requests, counts.completed, counts.in_flight, counts.max_in_flight), (3, 3, 0, 1));
    assert_eq!((counts.models["a"], counts.models["b"]), (1, 2));
    assert_eq!((counts.paths[CHAT], counts.keys["sk-1"], counts.statuses[&200]), (3, 3, 3));
    assert_eq!((counts.prompt_tokens, counts.completion_tokens), (6, 21));
    let kept = bed.mock.kept("u");
    assert_eq!(kept.len(), 2);
    assert_eq!((kept[1].header("host"), &kept[1].body["model"]), (Some("u"), &json!("b")));
    bed.mock.reset_meters();
    assert_eq!(bed.mock.counts("u").requests, 0);
}

#[tokio::test(start_paused = true)]
async fn a_serialised_deployment_serves_one_at_a_time() {
    let slow = Script::from(Behaviour::ok().latency(Duration::from_secs(1))).serialised();
    let bed = bed(slow);
    let start = Instant::now();
    let answers = tokio::join!(bed.chat(), bed.chat(), bed.chat());
    assert!(answers.0.is_ok() && answers.1.is_ok() && answers.2.is_ok());
    assert_eq!(Instant::now().duration_since(start), Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_had_its_calls_is_found_closed() {
    let bed = bed(Script::ok().calls_per_connection(1));
    let mut client = bed.client().await;
    let call = || Request::post(CHAT).header("host", "u").body(Full::from("{}")).unwrap();
    assert_eq!(request(&mut client, call()).await.unwrap().status, 200);
    assert!(request(&mut client, call()).await.is_err());
    assert_eq!(bed.mock.counts("u").requests, 1, "a call that found it closed did not arrive");
}

#[tokio::test(start_paused = true)]
async fn prepared_answers_are_counted_but_not_looked_at() {
    let bed = bed(Behaviour::fixed(r#"{"a":1}"#).header("x-a", "b"));
    let answer = bed.post(CHAT, json!({"model": "m"})).await.unwrap();
    assert_eq!((answer.text.as_str(), answer.headers["x-a"].to_str().unwrap()), (r#"{"a":1}"#, "b"));
    let counts = bed.mock.counts("u");
    assert_eq!((counts.requests, counts.completed, counts.models.len()), (1, 1, 0));
}

#[test]
fn scripts_survive_json_and_misspelt_ones_are_refused() {
    let script = Script {
        plan: Plan::Cycle(vec![Phase { for_ms: 10, behaviour: Behaviour::rate_limited("7") }]),
        ..Script::ok().strict()
    };
    let json = serde_json::to_string(&script).unwrap();
    assert_eq!(serde_json::from_str::<Script>(&json).unwrap(), script);
    assert!(serde_json::from_str::<Script>(r#"{"strickt": true}"#).is_err());
    assert!(serde_json::from_str::<Behaviour>(r#"{"do": "ok", "latency": 3}"#).is_err());
}

#[tokio::test]
async fn everything_can_be_steered_over_http() {
    let mock = Mock::new();
    let control = mock.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), "default").await.unwrap();
    let call = async |method: &str, address: SocketAddr, path: &str, body: Value| {
        let stream = TcpStream::connect(address).await?;
        let call = Request::builder().method(method).uri(path).header("host", "mock");
        let call = call.body(Full::from(body.to_string())).unwrap();
        Ok::<_, std::io::Error>(request(&mut over(stream).await, call).await.unwrap())
    };
    let here = control.address();
    let set = call("POST", here, "/__script/d1", json!({"do": "status", "status": 418})).await.unwrap();
    assert_eq!(set.status, 200);
    let wrong = call("POST", here, "/__script/d1", json!({"do": "explode"})).await.unwrap();
    assert_eq!(wrong.status, 400);
    let opened = call("POST", here, "/__port", json!({"script": "d1"})).await.unwrap().json();
    let port = u16::try_from(opened["port"].as_u64().unwrap()).unwrap();
    let there = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    assert_eq!(call("POST", there, CHAT, json!({"model": "m"})).await.unwrap().status, 418);
    let meter = call("GET", here, "/__meter", Value::Null).await.unwrap().json();
    expect_at(&meter, "/d1/requests", json!(1));
    let kept = call("GET", here, "/__kept/d1", Value::Null).await.unwrap().json();
    expect_at(&kept, "/0/body/model", json!("m"));
    call("DELETE", here, &format!("/__port/{port}"), Value::Null).await.unwrap();
    let refused = call("POST", there, CHAT, json!({})).await.err().unwrap();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    let again = call("POST", here, "/__port", json!({"script": "d1", "port": port})).await.unwrap();
    assert_eq!(again.status, 200);
    assert_eq!(call("POST", there, CHAT, json!({})).await.unwrap().status, 418);
    mock.shutdown().await;
}
