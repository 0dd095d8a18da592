//! Realtime sessions over real sockets: what a caller sees when the first provider refuses, breaks or is fine.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use haleway_mockllm::Act;
use haleway_testkit::{Behaviour, Script, Yaml};
use http::{HeaderMap, Request, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Response;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::bed::{Bed, PATIENCE, Topology, yaml};
use crate::cases::Provider;

pub(crate) type Caller = WebSocketStream<TcpStream>;

pub(crate) async fn bed(first: Behaviour, change: impl FnOnce(Yaml) -> Yaml) -> Bed {
    let provider = Provider::Does(Box::new(Script::from(first)));
    Bed::with(provider, change(yaml(Topology::Sibling)), Topology::Sibling).await
}

pub(crate) async fn knock(
    bed: &Bed,
    change: impl FnOnce(&mut Request<()>),
) -> Result<(Caller, Response), Error> {
    let address = bed.address;
    let mut request = format!("ws://{address}/v1/realtime?model=g").into_client_request().unwrap();
    change(&mut request);
    let stream = TcpStream::connect(address).await.unwrap();
    let knocking = tokio_tungstenite::client_async(request, stream);
    tokio::time::timeout(PATIENCE, knocking).await.unwrap()
}

pub(crate) async fn enter(bed: &Bed) -> (Caller, HeaderMap) {
    let (caller, response) = knock(bed, |_| {}).await.unwrap();
    (caller, response.headers().clone())
}

pub(crate) async fn hear(caller: &mut Caller) -> Message {
    loop {
        let heard = tokio::time::timeout(PATIENCE, caller.next()).await.unwrap().unwrap().unwrap();
        if !heard.is_ping() {
            return heard;
        }
    }
}

pub(crate) async fn event(caller: &mut Caller) -> Value {
    serde_json::from_str(hear(caller).await.to_text().unwrap()).unwrap()
}

pub(crate) async fn say(caller: &mut Caller, event: Value) {
    caller.send(Message::text(event.to_string())).await.unwrap();
}

pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < until, "{what}");
        tokio::task::yield_now().await;
    }
}

pub(crate) fn header(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_passes_events_both_ways_and_names_its_deployment() {
    let bed = bed(Behaviour::ok(), |yaml| yaml).await;
    let (mut caller, headers) = enter(&bed).await;
    assert_eq!(
        (header(&headers, "x-litellm-model-id"), header(&headers, "x-haleway-attempts")),
        ("d1".into(), "1".into())
    );
    assert_eq!(event(&mut caller).await["type"], "session.created");
    say(&mut caller, json!({ "type": "response.create" })).await;
    let mut text = String::new();
    loop {
        let event = event(&mut caller).await;
        match event["type"].as_str().unwrap() {
            "response.output_text.delta" => text.push_str(event["delta"].as_str().unwrap()),
            "response.done" => break,
            _ => {}
        }
    }
    assert_eq!(text, "Hello! How can I help you today?");
    assert_eq!(bed.mock.counts("u1").in_flight, 1, "a session is in flight for as long as it lasts");
    let kept = bed.mock.kept("u1");
    let asked = &kept.first().unwrap();
    assert_eq!((asked.path.as_str(), asked.header("content-type")), ("/v1/realtime?model=stub", None));
    caller.close(None).await.unwrap();
    until("the provider is told", || bed.mock.counts("u1").completed == 1).await;
    assert_eq!(bed.settled_state().await, "HEALTHY");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_refuses_or_dies_before_its_first_event_is_replaced_unseen() {
    let faults = [
        ("status", Behaviour::status(500)),
        ("rate limit", Behaviour::rate_limited("7")),
        ("closed before the handshake", Behaviour::of(Act::Close)),
        ("closed after the handshake", Behaviour::of(Act::Empty)),
        ("refused in the first event", Behaviour::of(Act::ErrorEvent)),
        ("silent", Behaviour::of(Act::HangAfterHeaders)),
        ("broken at once", Behaviour::cut(0)),
    ];
    for (name, fault) in faults {
        let bed = bed(fault, |yaml| yaml.set("d1.litellm_params.stream_timeout", 0.5)).await;
        let (mut caller, headers) = enter(&bed).await;
        assert_eq!(
            (header(&headers, "x-litellm-model-id"), header(&headers, "x-haleway-attempts")),
            ("d2".into(), "2".into()),
            "{name}"
        );
        assert_eq!(event(&mut caller).await["type"], "session.created", "{name}");
        assert_eq!(bed.requests("u1"), 1, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_nobody_serves_is_refused_as_any_call_is() {
    let bed = bed(Behaviour::status(429), |yaml| yaml).await;
    bed.mock.script("u2", Behaviour::status(429));
    let Err(Error::Http(refused)) = knock(&bed, |_| {}).await.map(|_| ()) else { panic!("let in") };
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let body: Value = serde_json::from_slice(refused.body().as_ref().unwrap()).unwrap();
    assert_eq!(body["error"]["class"], "rate_limit", "{body}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_its_provider_breaks_off_ends_with_an_error_event_and_counts_once() {
    let bed = bed(Behaviour::cut(2), |yaml| yaml).await;
    let (mut caller, _) = enter(&bed).await;
    assert_eq!(event(&mut caller).await["type"], "session.created");
    say(&mut caller, json!({ "type": "response.create" })).await;
    assert_eq!(event(&mut caller).await["type"], "response.created");
    let error = event(&mut caller).await;
    assert_eq!((&error["type"], &error["error"]["code"]), (&json!("error"), &json!("session_cut")));
    let Message::Close(Some(frame)) = hear(&mut caller).await else { panic!("no goodbye") };
    assert_eq!(frame.code, CloseCode::Error);
    let gateway = &bed.gateway;
    let slot = gateway.hub.snapshot().find("d1").unwrap();
    let bad = || gateway.hub.detail(slot, gateway.clock.now()).unwrap().evidence.window_failed;
    until("it is counted", || bad() == 1).await;
    assert_eq!(bed.requests("u2"), 0, "a session that has spoken is not begun again elsewhere");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_is_gone_blames_nobody_and_its_provider_is_told() {
    let bed = bed(Behaviour::ok(), |yaml| yaml).await;
    let (mut caller, _) = enter(&bed).await;
    assert_eq!(event(&mut caller).await["type"], "session.created");
    let began = Instant::now();
    drop(caller);
    until("the provider is told", || bed.mock.counts("u1").in_flight == 0).await;
    println!("the provider knew after {:?}", Instant::now().duration_since(began));
    assert_eq!(bed.settled_state().await, "HEALTHY");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_among_the_protocols_of_a_browser_is_a_key() {
    let bed = bed(Behaviour::ok(), |yaml| yaml.set("general_settings.master_key", "sk-1234")).await;
    let Err(Error::Http(refused)) = knock(&bed, |_| {}).await.map(|_| ()) else { panic!("let in") };
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    let protocols = "realtime, openai-insecure-api-key.sk-1234";
    let (_, response) = knock(&bed, |request| {
        request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
    })
    .await
    .unwrap();
    assert_eq!(header(response.headers(), "sec-websocket-protocol"), "realtime");
    let kept = bed.mock.kept("u1");
    assert_eq!(kept.first().unwrap().header("sec-websocket-protocol"), None, "the key is the gateway's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_tells_the_sessions_that_still_run_and_begins_no_others() {
    let bed = bed(Behaviour::ok(), |yaml| yaml).await;
    let (mut caller, _) = enter(&bed).await;
    assert_eq!(event(&mut caller).await["type"], "session.created");
    let gateway = std::sync::Arc::clone(&bed.gateway);
    let goodbye = async {
        let Message::Close(Some(frame)) = hear(&mut caller).await else { panic!("no goodbye") };
        assert_eq!(frame.code, CloseCode::Away);
        drop(caller);
    };
    let drained = tokio::time::timeout(PATIENCE, gateway.drain_sessions(Duration::ZERO));
    let (ended, ()) = futures_util::future::join(drained, goodbye).await;
    ended.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a08_a_probe_opens_the_session_of_traffic_and_waits_for_its_first_event() {
    let modes = |yaml: Yaml| yaml.set("d1.model_info.mode", "realtime").set("d2.model_info.mode", "realtime");
    let bed = bed(Behaviour::of(Act::ErrorEvent), modes).await;
    for id in ["d1", "d2"] {
        let live = bed.gateway.live.load_full();
        haleway_server::probe_now(&bed.gateway, live.find(id).unwrap(), haleway_server::Asked::ByName).await;
    }
    let report = |id: &str| {
        let live = bed.gateway.live.load_full();
        format!("{:?}", bed.gateway.reports.latest(live.find(id).unwrap().slot).unwrap().verdict)
    };
    assert!(report("d1").contains("Auth"), "{}", report("d1"));
    assert_eq!(report("d2"), "Healthy { degraded: None }");
    let (kept, _) = (bed.mock.kept("u2"), enter(&bed).await);
    let probe = kept.first().unwrap();
    let traffic = bed.mock.kept("u2");
    assert_eq!(traffic.last().unwrap().path, probe.path, "probe and traffic share their road");
    until("the probe said goodbye", || bed.mock.counts("u2").completed >= 1).await;
}
