//! The mock itself: deployments, the doors they are reached through, and an orderly end.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::{Outcome, fixed};
use crate::connection::{Abortable, serve};
use crate::meter::{Counts, Kept, Meter};
use crate::net::MemNet;
use crate::script::{Act, Plan, Script};

/// Scriptable providers behind any number of ports. Clones are the same mock.
#[derive(Clone)]
pub struct Mock {
    shared: Arc<Shared>,
}

/// What all connections see.
pub(crate) struct Shared {
    deployments: RwLock<HashMap<String, Arc<Deployment>>>,
    ports: Mutex<HashMap<u16, Port>>,
    tasks: TaskTracker,
    stop: CancellationToken,
    pub(crate) started: Instant,
    connections: AtomicU64,
}

/// A named deployment: its script and its meter.
#[derive(Debug)]
pub(crate) struct Deployment {
    running: RwLock<Arc<Running>>,
    pub(crate) meter: Arc<Meter>,
}

/// A script at work.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) script: Script,
    pub(crate) since: Instant,
    /// Calls accepted so far: the place in a sequence.
    pub(crate) accepted: AtomicU64,
    /// The only place, when calls are served one at a time.
    pub(crate) place: Option<Arc<Semaphore>>,
    /// The answer of a script that always gives the same one.
    pub(crate) prepared: Option<Outcome>,
}

impl Running {
    fn new(script: Script) -> Self {
        let prepared = match &script.plan {
            Plan::Always(behaviour) if behaviour.act == Act::Static => Some(fixed(behaviour)),
            Plan::Always(_) | Plan::Sequence { .. } | Plan::Cycle(_) => None,
        };
        Self {
            place: script.serialise.then(|| Arc::new(Semaphore::new(1))),
            prepared,
            since: Instant::now(),
            accepted: AtomicU64::new(0),
            script,
        }
    }
}

impl Deployment {
    fn new(script: Script) -> Self {
        Self { running: RwLock::new(Arc::new(Running::new(script))), meter: Arc::default() }
    }

    pub(crate) fn running(&self) -> Arc<Running> {
        Arc::clone(&self.running.read())
    }
}

impl Default for Mock {
    fn default() -> Self {
        Self::new()
    }
}

impl Mock {
    /// A mock without ports and scripts.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                deployments: RwLock::default(),
                ports: Mutex::default(),
                tasks: TaskTracker::new(),
                stop: CancellationToken::new(),
                started: Instant::now(),
                connections: AtomicU64::new(0),
            }),
        }
    }

    /// Sets what a deployment does from now on. Its counts go on; sequences and cycles start anew.
    pub fn script(&self, name: &str, script: impl Into<Script>) {
        self.shared.set_script(name, script.into());
    }

    /// What reached a deployment so far. All zero for a name nobody has used.
    pub fn counts(&self, name: &str) -> Counts {
        self.shared.find(name).map(|deployment| deployment.meter.counts()).unwrap_or_default()
    }

    /// The last requests that reached a deployment, oldest first.
    pub fn kept(&self, name: &str) -> Vec<Kept> {
        self.shared.find(name).map(|deployment| deployment.meter.kept()).unwrap_or_default()
    }

    /// Starts all counts anew.
    pub fn reset_meters(&self) {
        self.shared.reset_meters();
    }

    /// Connections accepted so far, over all ports.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Relaxed)
    }

    /// Opens a TCP port; calls that name no other deployment by key or model go to `name`.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn listen(&self, address: SocketAddr, name: &str) -> io::Result<Port> {
        self.shared.ensure(name);
        let listener = TcpListener::bind(address).await?;
        let port = Port {
            address: listener.local_addr()?,
            stop: self.shared.stop.child_token(),
            closed: CancellationToken::new(),
        };
        self.shared.ports.lock().insert(port.address.port(), port.clone());
        let shared = Arc::clone(&self.shared);
        let (name, door) = (Arc::<str>::from(name), port.clone());
        self.shared.tasks.spawn(async move {
            accept(&shared, &listener, &name, &door.stop).await;
            drop(listener);
            door.closed.cancel();
        });
        Ok(port)
    }

    /// Serves host and port of a network in memory, in place of whoever did before.
    pub fn attach(&self, net: &MemNet, host: &str, port: u16, name: &str) {
        self.shared.ensure(name);
        // Weak: the network must not keep a mock alive that its test has dropped.
        let shared = Arc::downgrade(&self.shared);
        let name = Arc::<str>::from(name);
        net.register(host, port, move |stream| {
            if let Some(shared) = shared.upgrade() {
                let stop = shared.stop.clone();
                shared.serve(stream, &name, stop);
            }
        });
    }

    /// Closes a port by number: connections are refused from now on, open ones are dropped. Whether it was open.
    pub async fn close(&self, port: u16) -> bool {
        let found = self.shared.ports.lock().remove(&port);
        let Some(port) = found else { return false };
        port.close().await;
        true
    }

    /// Ends all connections and tasks and waits for them.
    pub async fn shutdown(&self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    pub(crate) fn of(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared) }
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("connections", &self.connections()).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Deployment>> {
        self.deployments.read().get(name).cloned()
    }

    /// The deployment of this name; a new one answers properly.
    pub(crate) fn ensure(&self, name: &str) -> Arc<Deployment> {
        if let Some(found) = self.find(name) {
            return found;
        }
        let mut deployments = self.deployments.write();
        let new = || Arc::new(Deployment::new(Script::ok()));
        Arc::clone(deployments.entry(name.to_owned()).or_insert_with(new))
    }

    pub(crate) fn set_script(&self, name: &str, script: Script) {
        let deployment = self.ensure(name);
        *deployment.running.write() = Arc::new(Running::new(script));
    }

    pub(crate) fn all_counts(&self) -> BTreeMap<String, Counts> {
        self.deployments
            .read()
            .iter()
            .map(|(name, deployment)| (name.clone(), deployment.meter.counts()))
            .collect()
    }

    pub(crate) fn reset_meters(&self) {
        for deployment in self.deployments.read().values() {
            deployment.meter.reset();
        }
    }

    pub(crate) fn uptime(&self) -> Duration {
        Instant::now().duration_since(self.started)
    }

    /// Carries what outlives its request, until the mock ends.
    pub(crate) fn carry(&self, session: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = session => {}
                () = stop.cancelled() => {}
            }
        });
    }

    fn serve<T: Abortable>(self: &Arc<Self>, stream: T, name: &Arc<str>, stop: CancellationToken) {
        let number = self.connections.fetch_add(1, Relaxed) + 1;
        let serving = serve(Arc::clone(self), stream, Arc::clone(name), number);
        self.tasks.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

async fn accept(shared: &Arc<Shared>, listener: &TcpListener, name: &Arc<str>, stop: &CancellationToken) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _peer)) => {
                // Small writes are the point of SSE pacing. A socket that refuses this is already dead.
                if stream.set_nodelay(true).is_ok() {
                    shared.serve(stream, name, stop.clone());
                }
            }
            // Out of descriptors: the queue holds the caller while others finish.
            Err(_exhausted) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// An open TCP port of a [`Mock`].
#[derive(Clone, Debug)]
pub struct Port {
    address: SocketAddr,
    stop: CancellationToken,
    closed: CancellationToken,
}

impl Port {
    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes it: connections are refused once this returns, open ones are dropped. [`Mock::listen`] opens it again.
    pub async fn close(&self) {
        self.stop.cancel();
        self.closed.cancelled().await;
    }
}
