//! A gateway, its providers and the network between them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use haleway_config::{Options, load, render};
use haleway_mockllm::net::MemNet;
use haleway_mockllm::{Mock, Script};
use haleway_server::{Body, Change, Clock, FleetHandle, Gateway, Origin, Parts, Rejected, Routes};
use haleway_upstream::{Dial, Dialled, Dialling, Network};
use http::{Method, Request, Response};
use http_body_util::Full;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::subscriber::DefaultGuard;

use crate::answer::Answer;
use crate::logs::Logs;
use crate::source::Memory;

const CONFIG: &str = "config.yaml";

/// Longest virtual time that [`World::until`] waits.
const PATIENCE: Duration = Duration::from_secs(120);

struct MemDial(MemNet);

impl Dial for MemDial {
    fn dial(&self, host: &str, port: u16) -> Dialling {
        let (net, host) = (self.0.clone(), host.to_owned());
        Box::pin(async move { Ok(Box::new(net.connect(&host, port).await?) as Box<dyn Dialled>) })
    }
}

/// A world about to start.
#[derive(Debug)]
pub struct Setup {
    source: Memory,
    mock: Mock,
    net: MemNet,
    seed: u64,
}

impl Setup {
    /// Environment variables.
    #[must_use]
    pub fn with_env(self, vars: &[(&str, &str)]) -> Self {
        for (name, value) in vars {
            self.source.set_var(name, value);
        }
        self
    }

    /// One more file beside the configuration.
    #[must_use]
    pub fn with_file(self, path: &str, text: &str) -> Self {
        self.source.file(path, text);
        self
    }

    /// What a provider does from the first request on. The name is a host (`u1`), or an API key, which then decides
    /// whatever host it comes to.
    #[must_use]
    pub fn with_script(self, name: &str, script: impl Into<Script>) -> Self {
        self.mock.script(name, script);
        self
    }

    /// One more host of the network, served by the provider `name`.
    #[must_use]
    pub fn with_host(self, host: &str, port: u16, name: &str) -> Self {
        self.mock.attach(&self.net, host, port, name);
        self
    }

    /// Another seed for stagger and jitter.
    #[must_use]
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Loads the configuration and starts the gateway with its background tasks.
    ///
    /// # Panics
    /// With every finding, when the configuration cannot be served.
    pub async fn start(self) -> World {
        let (logs, log_guard) = Logs::collect();
        let loaded = load(Path::new(CONFIG), &self.source, &Options::default());
        let Some(config) = loaded.config else { panic!("{}", render(&loaded.diagnostics, false)) };
        let key = config.general.master_key.as_ref().map(|key| key.expose_secret().to_owned());
        let network = Network::in_memory(Arc::new(MemDial(self.net.clone()))).expect("TLS defaults hold");
        let parts = Parts { network, clock: Clock::start(), seed: self.seed, fleet: FleetHandle::local() };
        let gateway = Gateway::new(config, &self.source, parts).unwrap_or_else(|error| panic!("{error}"));
        if gateway.live.load().config.general.store_models {
            gateway.follow(origin(&self.source));
        }
        gateway.remember().await.unwrap_or_else(|error| panic!("{error}"));
        gateway.spawn();
        let routes = Routes::all(&gateway);
        // One turn, so that the background tasks have begun.
        tokio::task::yield_now().await;
        World {
            source: self.source,
            mock: self.mock,
            net: self.net,
            gateway,
            routes,
            key,
            logs,
            _log_guard: log_guard,
        }
    }
}

/// Where the configuration of a world comes from.
fn origin(source: &Memory) -> Origin {
    let origin = Origin::new(CONFIG.into(), Arc::new(source.clone()), Options::default());
    let _as_at_start = origin.load();
    origin
}

/// A running gateway. Dropped, its background tasks end.
#[derive(Debug)]
pub struct World {
    /// Files and variables.
    pub source: Memory,
    /// The providers; hosts `u1` to `u9` by name.
    pub mock: Mock,
    /// The network.
    pub net: MemNet,
    /// The gateway.
    pub gateway: Arc<Gateway>,
    /// Its routes.
    pub routes: Routes,
    /// The master key, which calls carry unless they bring an `authorization` of their own.
    pub key: Option<String>,
    /// What was logged.
    pub logs: Logs,
    _log_guard: DefaultGuard,
}

impl Drop for World {
    fn drop(&mut self) {
        self.gateway.shutdown.cancel();
    }
}

impl World {
    /// A world with this configuration; see [`Setup`] for what else can be said before it starts.
    pub fn of(yaml: impl Into<String>) -> Setup {
        let source = Memory::default();
        source.file(CONFIG, yaml.into());
        let setup = Setup { source, mock: Mock::new(), net: MemNet::new(), seed: 7 };
        (1..=9).fold(setup, |setup, number| {
            let host = format!("u{number}");
            setup.with_host(&host, 80, &host)
        })
    }

    /// A world with this configuration, running.
    pub async fn start(yaml: impl Into<String>) -> Self {
        Self::of(yaml).start().await
    }

    /// Writes another configuration and takes it over, as `POST /haleway/reload` does.
    ///
    /// # Errors
    /// When it has faults: then the gateway goes on as before.
    pub async fn reload(&self, yaml: impl Into<String>) -> Result<Vec<Change>, Rejected> {
        self.source.file(CONFIG, yaml.into());
        self.follow();
        self.gateway.reload().await.map(|reloaded| reloaded.changed)
    }

    /// Lets the gateway follow its configuration's file.
    pub fn follow(&self) {
        self.gateway.follow(origin(&self.source));
    }

    /// One request, up to the head of its answer.
    pub async fn open(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let brings = |wanted: &str| headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        if !body.is_empty() && !brings("content-type") {
            request = request.header("content-type", "application/json");
        }
        if let Some(key) = self.key.as_ref().filter(|_| !brings("authorization")) {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        self.routes.answer(request.body(Full::new(body)).expect("a request")).await
    }

    /// One request and its whole answer.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        Answer::read(self.open(method, path, headers, body.into()).await).await
    }

    /// `GET`
    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, &[], Bytes::new()).await
    }

    /// `POST` of JSON.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.call(Method::POST, path, &[], body.to_string()).await
    }

    /// A chat call with a short prompt.
    pub async fn chat(&self, model: &str) -> Answer {
        self.chat_with(model, &json!({})).await
    }

    /// A chat call with these members added to its body.
    pub async fn chat_with(&self, model: &str, members: &Value) -> Answer {
        self.post("/v1/chat/completions", &chat_body(model, members)).await
    }

    /// A streamed chat call.
    pub async fn chat_stream(&self, model: &str) -> Answer {
        self.chat_with(model, &json!({"stream": true})).await
    }

    /// `count` chat calls one after the other: how often each deployment answered, and each other status came.
    pub async fn chats(&self, model: &str, count: usize) -> std::collections::BTreeMap<String, usize> {
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..count {
            let answer = self.chat(model).await;
            let who =
                if answer.status == 200 { answer.deployment().to_owned() } else { answer.status.to_string() };
            *seen.entry(who).or_default() += 1;
        }
        seen
    }

    /// Requests that reached a provider.
    pub fn requests(&self, name: &str) -> u64 {
        self.mock.counts(name).requests
    }

    /// The state of a deployment, in capitals.
    ///
    /// # Panics
    /// When there is no such deployment.
    pub fn state(&self, id: &str) -> &'static str {
        let snapshot = self.gateway.hub.snapshot();
        let slot = snapshot.find(id).unwrap_or_else(|| panic!("no deployment {id}"));
        snapshot.verdict(slot).state.as_str()
    }

    /// Whether ordinary traffic may go to a deployment.
    ///
    /// # Panics
    /// When there is no such deployment.
    pub fn is_in(&self, id: &str) -> bool {
        let snapshot = self.gateway.hub.snapshot();
        let slot = snapshot.find(id).unwrap_or_else(|| panic!("no deployment {id}"));
        snapshot.verdict(slot).state.eligible()
    }

    /// Everything there is to show of a deployment, as `/haleway/deployments` shows it.
    ///
    /// # Panics
    /// When there is no such deployment.
    pub async fn detail(&self, id: &str) -> Value {
        let all = self.get("/haleway/deployments").await.json();
        let rows = all["deployments"].as_array().expect("a list of deployments");
        rows.iter()
            .find(|row| row["id"] == *id)
            .unwrap_or_else(|| panic!("no deployment {id}: {all}"))
            .clone()
    }

    /// Lets virtual time pass.
    pub async fn pass(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// Lets virtual seconds pass.
    pub async fn pass_secs(&self, seconds: u64) {
        self.pass(Duration::from_secs(seconds)).await;
    }

    /// Waits until `reached`, at most two virtual minutes. Says how long it took.
    ///
    /// # Panics
    /// When it is not reached; shows the log.
    pub async fn until(&self, what: &str, reached: impl Fn() -> bool) -> Duration {
        self.until_within(PATIENCE, what, reached).await
    }

    /// Waits until `reached`, at most `limit` of virtual time. Says how long it took.
    ///
    /// # Panics
    /// When it is not reached; shows the log.
    pub async fn until_within(&self, limit: Duration, what: &str, reached: impl Fn() -> bool) -> Duration {
        let start = Instant::now();
        loop {
            let waited = Instant::now().duration_since(start);
            if reached() {
                return waited;
            }
            assert!(waited < limit, "not within {limit:?}: {what}\n{}", self.logs.text());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// The body of a chat call.
pub(crate) fn chat_body(model: &str, members: &Value) -> Value {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "How are you?"}]});
    let members = members.as_object().expect("members of a body are a mapping");
    body.as_object_mut().expect("a mapping").extend(members.clone());
    body
}
