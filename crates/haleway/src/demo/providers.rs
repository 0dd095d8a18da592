//! The demo's providers: nine deployments in three groups, most of them with a flaw.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use haleway_mockllm::{Act, Behaviour, Mock, Script};

/// A simulated deployment.
pub(super) struct Simulated {
    /// Its id, which is also the name of its script.
    pub(super) id: &'static str,
    /// The model group it serves.
    pub(super) group: &'static str,
    /// What it is like, for people.
    pub(super) character: &'static str,
    /// `embedding` for one that makes vectors.
    pub(super) mode: &'static str,
    script: fn() -> Script,
}

/// All of them.
pub(super) const ALL: [Simulated; 9] = [
    Simulated { id: "chat-steady", group: "chat", character: "always fine", mode: "chat", script: steady },
    Simulated {
        id: "chat-flapping",
        group: "chat",
        character: "20 s up, 15 s down (500)",
        mode: "chat",
        script: flapping,
    },
    Simulated {
        id: "chat-dead-key",
        group: "chat",
        character: "its API key was revoked (401)",
        mode: "chat",
        script: dead_key,
    },
    Simulated {
        id: "chat-limited",
        group: "chat",
        character: "rate-limited half of the time (429)",
        mode: "chat",
        script: limited,
    },
    Simulated {
        id: "fast-slow",
        group: "fast",
        character: "answers after 1.5 s",
        mode: "chat",
        script: slow,
    },
    Simulated {
        id: "fast-hanging",
        group: "fast",
        character: "accepts and never answers",
        mode: "chat",
        script: hanging,
    },
    Simulated { id: "fast-steady", group: "fast", character: "always fine", mode: "chat", script: steady },
    Simulated {
        id: "embed-steady",
        group: "embed",
        character: "always fine",
        mode: "embedding",
        script: steady,
    },
    Simulated {
        id: "embed-outage",
        group: "embed",
        character: "out for 25 s of every minute (503)",
        mode: "embedding",
        script: outage,
    },
];

fn steady() -> Script {
    Behaviour { latency_ms: 40, ..Behaviour::ok() }.into()
}

fn flapping() -> Script {
    Script::flapping(Duration::from_secs(20), Duration::from_secs(15), Behaviour::status(500))
}

fn dead_key() -> Script {
    Behaviour::status(401).into()
}

fn limited() -> Script {
    Script::flapping(Duration::from_secs(10), Duration::from_secs(10), Behaviour::rate_limited("5"))
}

fn slow() -> Script {
    Behaviour { latency_ms: 1_500, ..Behaviour::ok() }.into()
}

fn hanging() -> Script {
    Behaviour::of(Act::Hang).into()
}

fn outage() -> Script {
    Script::flapping(Duration::from_secs(35), Duration::from_secs(25), Behaviour::status(503))
}

/// The providers at work.
pub(super) struct Providers {
    mock: Mock,
    addresses: Vec<(&'static Simulated, SocketAddr)>,
}

/// Opens a loopback port per deployment.
pub(super) async fn start() -> io::Result<Providers> {
    let mock = Mock::new();
    let mut addresses = Vec::with_capacity(ALL.len());
    for simulated in &ALL {
        mock.script(simulated.id, (simulated.script)());
        let port = mock.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), simulated.id).await?;
        addresses.push((simulated, port.address()));
    }
    Ok(Providers { mock, addresses })
}

impl Providers {
    /// The mock behind them.
    pub(super) const fn mock(&self) -> &Mock {
        &self.mock
    }

    /// Each deployment with its address.
    pub(super) fn addresses(&self) -> &[(&'static Simulated, SocketAddr)] {
        &self.addresses
    }

    /// Closes every port.
    pub(super) async fn stop(self) {
        self.mock.shutdown().await;
    }
}
