//! A mock provider, a network in memory, and a client.

use std::sync::Arc;
use std::time::Duration;

use crate::{Connection, Deadlines, Dial, Dialled, Dialling, Fault, Network, Reply, Settings, Upstream};
use bytes::Bytes;
use haleway_mockllm::net::MemNet;
use haleway_mockllm::{Behaviour, Mock, Script};
use http::Request;
use tokio::time::Instant;

pub(crate) struct MemDial(pub(crate) MemNet);

impl Dial for MemDial {
    fn dial(&self, host: &str, port: u16) -> Dialling {
        let (net, host) = (self.0.clone(), host.to_owned());
        Box::pin(async move { Ok(Box::new(net.connect(&host, port).await?) as Box<dyn Dialled>) })
    }
}

pub(crate) struct Bed {
    pub(crate) net: MemNet,
    pub(crate) mock: Mock,
    pub(crate) network: Network,
    pub(crate) upstream: Upstream,
}

/// `http://u1/` runs this script.
pub(crate) fn bed(script: impl Into<Script>) -> Bed {
    let net = MemNet::new();
    let mock = Mock::new();
    mock.script("u1", script);
    mock.attach(&net, "u1", 80, "u1");
    let network = Network::in_memory(Arc::new(MemDial(net.clone()))).unwrap();
    let upstream = Upstream::new(&network, &Settings::default());
    Bed { net, mock, network, upstream }
}

pub(crate) fn streamed(behaviour: Behaviour) -> Bed {
    bed(behaviour)
}

pub(crate) fn to(host: &str, stream: bool) -> Request<Bytes> {
    let body = format!(r#"{{"model":"m","messages":[],"stream":{stream}}}"#);
    Request::post(format!("http://{host}/v1/chat/completions?key=hunter2"))
        .header("authorization", "Bearer sk-hunter2")
        .body(Bytes::from(body))
        .unwrap()
}

impl Bed {
    pub(crate) async fn send(&self, deadlines: Deadlines) -> Result<Reply, Fault> {
        self.upstream.send(to("u1", false), deadlines, Connection::Pooled).await
    }

    pub(crate) async fn stream(&self, deadlines: Deadlines) -> Result<Reply, Fault> {
        self.upstream.send(to("u1", true), deadlines, Connection::Pooled).await
    }

    /// A call that must succeed, read to its end so that the connection goes back.
    pub(crate) async fn ok(&self, connection: Connection) -> bool {
        let reply = self.upstream.send(to("u1", false), Deadlines::default(), connection).await.unwrap();
        assert_eq!(reply.status, 200);
        let reconnected = reply.reconnected;
        reply.read_all(1 << 20).await.unwrap();
        // One turn for hyper to put the connection back.
        tokio::time::sleep(Duration::from_millis(1)).await;
        reconnected
    }
}

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Runs something and says how long it took, in virtual milliseconds.
pub(crate) async fn timed<T>(work: impl Future<Output = T>) -> (T, u128) {
    let start = Instant::now();
    let result = work.await;
    (result, Instant::now().duration_since(start).as_millis())
}

/// Waits on a predicate, at most one (virtual or real) second.
pub(crate) async fn within_a_second(what: &str, predicate: impl Fn() -> bool) {
    for _ in 0..100 {
        if predicate() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not within a second: {what}");
}
