//! A gateway on a free port, two providers on two more, and a caller who notes what comes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use haleway_config::{Options, load, render};
use haleway_server::serve::{Limits, bind, serve};
use haleway_server::{Clock, FleetHandle, Gateway, Parts, Routes};
use haleway_testkit::{Memory, Mock, Yaml};
use haleway_upstream::Network;
use http::{Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio::time::Instant;

use crate::cases::{Case, Provider};

/// Text of every proper answer: an answer is whole when it is all there.
const TEXT: &str = "Hello! How can I help you today?";
/// The master key, where a case sets one.
pub(crate) const KEY: &str = "sk-master";
/// No answer of the gateway is larger.
const CAP: usize = 1024 * 1024;
/// The most that one call may take on a machine that is busy with other things.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// One for all: it reads the system's certificates.
static NETWORK: LazyLock<Network> = LazyLock::new(|| Network::system().unwrap());
/// Calls after the first, to see what health made of it.
const MORE_CALLS: usize = 9;

/// Whole answers or streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Whole,
    Stream,
}

/// Where a call may go when the first deployment fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    /// The second deployment of the group; one retry.
    Sibling,
    /// The deployment of a fallback group; no retry.
    Fallback,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// The whole answer, with its end mark if it was a stream.
    Whole,
    /// A part, then an error event, and no end mark.
    PartThenError,
    /// An error with this status.
    Error(u16),
    /// Anything else: never right.
    Broken,
}

/// What was seen of a case.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    pub(crate) topology: Topology,
    /// The first call.
    pub(crate) first: Got,
    /// `x-haleway-skipped` of the first call.
    pub(crate) skipped: String,
    /// `x-haleway-attempts` of the first call.
    pub(crate) told: String,
    /// Requests at the first and the second provider in the first call.
    pub(crate) requests: (u64, u64),
    /// The first call, to its end.
    pub(crate) took: Duration,
    /// State of the first deployment after the first call.
    pub(crate) after_one: &'static str,
    /// Later calls that were not answered whole.
    pub(crate) later_failed: u64,
    /// Requests at the first provider in all ten calls.
    pub(crate) requests_in_ten: u64,
    /// State of the first deployment after ten calls.
    pub(crate) after_ten: &'static str,
}

pub(crate) struct Bed {
    pub(crate) mock: Mock,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
    topology: Topology,
    /// Bound and not listening: it refuses, and nobody else gets its port.
    _shut: Option<TcpSocket>,
}

impl Drop for Bed {
    fn drop(&mut self) {
        self.gateway.shutdown.cancel();
    }
}

impl Bed {
    /// Starts providers and gateway for a case.
    pub(crate) async fn start(case: &Case, topology: Topology, kind: Kind) -> Self {
        Self::with((case.provider)(kind), case.settings.apply(yaml(topology)), topology).await
    }

    /// Starts a first provider and a second that answers properly, and a gateway in front of them.
    pub(crate) async fn with(provider: Provider, yaml: Yaml, topology: Topology) -> Self {
        let mock = Mock::new();
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let second = mock.listen(free, "u2").await.unwrap().address();
        let mut shut = None;
        let first = match provider {
            Provider::Does(script) => {
                mock.script("u1", *script);
                mock.listen(free, "u1").await.unwrap().address()
            }
            Provider::Sends(sends) => sends.listen().await,
            Provider::Refuses => {
                let socket = shut.insert(TcpSocket::new_v4().unwrap());
                socket.bind(free).unwrap();
                socket.local_addr().unwrap()
            }
        };
        let yaml = yaml
            .set("d1.litellm_params.api_base", format!("http://{first}/v1"))
            .set("d2.litellm_params.api_base", format!("http://{second}/v1"));
        let (gateway, address) = gateway(&yaml).await;
        let client = Client::builder(TokioExecutor::new()).build_http();
        Self { mock, gateway, address, client, topology, _shut: shut }
    }

    /// Makes the calls of a case.
    pub(crate) async fn run(self, kind: Kind) -> Seen {
        let began = Instant::now();
        let first = self.call(kind).await;
        let took = Instant::now().duration_since(began);
        let requests = (self.requests("u1"), self.requests("u2"));
        let after_one = self.settled_state().await;
        let mut later_failed = 0;
        for _ in 0..MORE_CALLS {
            later_failed += u64::from(self.call(kind).await.got != Got::Whole);
        }
        Seen {
            kind,
            topology: self.topology,
            first: first.got,
            skipped: first.skipped,
            told: first.attempts,
            requests,
            took,
            after_one,
            later_failed,
            requests_in_ten: self.requests("u1"),
            after_ten: self.settled_state().await,
        }
    }

    pub(crate) fn requests(&self, name: &str) -> u64 {
        self.mock.counts(name).requests
    }

    /// The state of the first deployment, or that it is held, once every call of the gateway has ended: the caller may have read the end before the gateway
    /// has told its health core.
    pub(crate) async fn settled_state(&self) -> &'static str {
        let until = Instant::now() + PATIENCE;
        while self.gateway.in_flight.load(std::sync::atomic::Ordering::Relaxed) > 0 {
            assert!(Instant::now() < until, "a call does not end");
            tokio::task::yield_now().await;
        }
        let snapshot = self.gateway.hub.snapshot();
        let verdict = snapshot.verdict(snapshot.find("d1").unwrap());
        let held = verdict.state.eligible()
            && verdict.held_until.is_some_and(|until| until > self.gateway.clock.now());
        if held { "held" } else { verdict.state.as_str() }
    }

    pub(crate) async fn call(&self, kind: Kind) -> Reply {
        self.call_to("g", kind).await
    }

    /// Calls a model group, or a deployment by its id.
    pub(crate) async fn call_to(&self, model: &str, kind: Kind) -> Reply {
        tokio::time::timeout(PATIENCE, self.ask(model, kind)).await.unwrap()
    }

    /// Probes a deployment now, as an operator does.
    pub(crate) async fn probe(&self, id: &str) -> Value {
        let path = format!("/haleway/deployments/{id}/probe");
        tokio::time::timeout(PATIENCE, self.page(Method::POST, &path)).await.unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "capped by Limited")]
    async fn page(&self, method: Method, path: &str) -> Value {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header("authorization", format!("Bearer {KEY}"))
            .body(Full::default())
            .unwrap();
        let body = self.client.request(request).await.unwrap().into_body();
        let body = Limited::new(body, CAP).collect().await.unwrap().to_bytes();
        serde_json::from_slice(&body).unwrap()
    }

    #[expect(clippy::disallowed_methods, reason = "capped by Limited")]
    async fn ask(&self, model: &str, kind: Kind) -> Reply {
        let body = json!({
            "model": model,
            "messages": [{"role": "user", "content": "How are you?"}],
            "stream": kind == Kind::Stream,
        });
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("http://{}/v1/chat/completions", self.address))
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {KEY}"))
            .body(Full::from(body.to_string()))
            .unwrap();
        let response = self.client.request(request).await.unwrap();
        let (head, body) = response.into_parts();
        let header = |name: &str| {
            head.headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
        };
        let body = Limited::new(body, CAP).collect().await.map(http_body_util::Collected::to_bytes);
        let class = body.as_ref().map(|body| class(body)).unwrap_or_default();
        let got = match body {
            Err(_cut) => Got::Broken,
            Ok(body) if head.status.as_u16() >= 400 => error(head.status.as_u16(), &body),
            Ok(body) => match kind {
                Kind::Whole => whole(&body),
                Kind::Stream => stream(&body),
            },
        };
        Reply { got, class, attempts: header("x-haleway-attempts"), skipped: header("x-haleway-skipped") }
    }
}

/// Starts a gateway on a free port.
pub(crate) async fn gateway(yaml: &Yaml) -> (Arc<Gateway>, SocketAddr) {
    let source = Memory::default();
    source.file("config.yaml", yaml.text());
    let loaded = load(Path::new("config.yaml"), &source, &Options::default());
    let Some(config) = loaded.config else { panic!("{}", render(&loaded.diagnostics, false)) };
    let parts =
        Parts { network: NETWORK.clone(), clock: Clock::start(), seed: 7, fleet: FleetHandle::local() };
    let gateway = Gateway::new(config, &source, parts).unwrap();
    gateway.spawn();
    let listener = bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
    let address = listener.local_addr().unwrap();
    let routes = Routes::all(&gateway);
    let handler = move |request| {
        let routes = routes.clone();
        async move { routes.answer(request).await }
    };
    let limits = Limits { drain: Duration::ZERO, ..Limits::default() };
    gateway.tasks.spawn(serve(listener, handler.clone(), handler, limits, gateway.shutdown.clone()));
    (gateway, address)
}

/// What the caller got.
pub(crate) struct Reply {
    pub(crate) got: Got,
    /// The class that an error names.
    pub(crate) class: String,
    pub(crate) attempts: String,
    pub(crate) skipped: String,
}

pub(crate) fn yaml(topology: Topology) -> Yaml {
    match topology {
        Topology::Sibling => Yaml::b2()
            .set("router_settings.num_retries", 1)
            .set("d1.litellm_params.order", 1)
            .set("d2.litellm_params.order", 2),
        Topology::Fallback => Yaml::b2f(),
    }
}

fn class(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    body["error"]["class"].as_str().unwrap_or_default().to_owned()
}

fn error(status: u16, body: &[u8]) -> Got {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    if body["error"]["message"].is_string() { Got::Error(status) } else { Got::Broken }
}

fn whole(body: &[u8]) -> Got {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    if body["choices"][0]["message"]["content"] == TEXT { Got::Whole } else { Got::Broken }
}

fn stream(body: &[u8]) -> Got {
    let text = String::from_utf8_lossy(body);
    let (mut said, mut failed, mut ended) = (String::new(), false, false);
    for data in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        ended |= data == "[DONE]";
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        failed |= event["error"]["message"].is_string();
        said += event["choices"][0]["delta"]["content"].as_str().unwrap_or_default();
    }
    match (said == TEXT, failed, ended) {
        (true, false, true) => Got::Whole,
        (false, true, false) if !said.is_empty() && TEXT.starts_with(&said) => Got::PartThenError,
        _ => Got::Broken,
    }
}
