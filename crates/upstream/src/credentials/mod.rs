//! Credentials that must be fetched: one per distinct source, renewed ahead of their end.
//!
//! What is decided here:
//! - **One source, one credential.** Deployments that say the same share it, across reloads too.
//! - **One exchange at a time.** Each source has one task that fetches; whoever needs the credential waits for that
//!   task, so fifty calls make one exchange.
//! - **Nobody waits for a renewal.** It begins before the end, spread by jitter; as long as the old credential holds,
//!   calls use it, also when renewals fail.
//! - **No credential at all is a local fault.** It names the source and what went wrong, and says nothing about the
//!   provider of the model. Between failed exchanges lies a growing wait, in which calls fail at once.
//! - **A rejected credential is renewed once.** When a provider refuses one that should still hold, it is fetched anew,
//!   unless it is so fresh that another would be no better.

mod cell;
mod fetch;
mod outside;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use haleway_providers::credential::{Credential, CredentialSource, SourceId};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::network::Network;
use cell::Cell;
use outside::Outside;

/// Every credential of the process. Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct Credentials {
    shared: Arc<Shared>,
}

/// What all cells use.
struct Shared {
    outside: Outside,
    cells: Mutex<HashMap<SourceId, Weak<Cell>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Credentials {
    /// Credentials that are fetched over `network`, by tasks of `tasks` that end with `stop`. `wall_ms` reads the wall
    /// clock, in milliseconds since the Unix epoch: signatures and expirations are dated by it.
    pub fn new(
        network: &Network,
        wall_ms: impl Fn() -> u64 + Send + Sync + 'static,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let outside = Outside::new(network, Arc::new(wall_ms));
        Self { shared: Arc::new(Shared { outside, cells: Mutex::default(), tasks, stop }) }
    }

    /// The credential of `source`. Nothing is fetched before somebody asks for it, or [`CredentialHandle::warm`].
    pub fn of(&self, source: &Arc<CredentialSource>) -> CredentialHandle {
        let id = source.id();
        let mut cells = self.shared.cells.lock();
        if let Some(cell) = cells.get(&id).and_then(Weak::upgrade) {
            return CredentialHandle { cell };
        }
        cells.retain(|_, cell| cell.strong_count() > 0);
        let cell = Arc::new(Cell::new(Arc::clone(source), Arc::clone(&self.shared)));
        cells.insert(id, Arc::downgrade(&cell));
        CredentialHandle { cell }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("sources", &self.shared.cells.lock().len())
            .finish_non_exhaustive()
    }
}

/// The credential of one source. Clones, and handles of equal sources, are the same credential. Dropping the last one
/// ends its renewal.
#[derive(Clone)]
pub struct CredentialHandle {
    cell: Arc<Cell>,
}

impl CredentialHandle {
    /// The present credential. Waits only when there is none that holds.
    ///
    /// # Errors
    /// When none can be had.
    pub async fn current(&self) -> Result<Lease, CredentialFault> {
        match self.cell.valid() {
            Some(lease) => Ok(lease),
            None => self.cell.wait().await,
        }
    }

    /// A newer credential than `used`, which a provider did not accept. `None` when there is none to be had, or when
    /// `used` is so fresh that another one would be no better.
    pub async fn renewed(&self, used: &Lease) -> Option<Lease> {
        self.cell.renewed(used.version).await
    }

    /// Begins to fetch, if nobody has asked yet, so that the first call need not wait.
    pub fn warm(&self) {
        self.cell.demand();
    }

    /// How it stands, for explanations.
    pub fn state(&self) -> CredentialState {
        self.cell.state()
    }
}

impl fmt::Debug for CredentialHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialHandle").field("state", &self.state()).finish()
    }
}

/// A credential, and which of those that a source has brought.
#[derive(Clone, Debug, Default)]
pub struct Lease {
    /// What goes into a call.
    pub credential: Credential,
    version: u64,
}

impl Lease {
    /// Nothing is fetched: the deployment's own headers or keys hold the credential.
    pub fn configured() -> Self {
        Self::default()
    }
}

/// No credential can be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no credential ({kind}): {message}")]
pub struct CredentialFault {
    /// The kind of the source.
    pub kind: &'static str,
    /// What went wrong, without a part of a secret.
    pub message: Arc<str>,
}

/// How a credential stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CredentialState {
    /// The kind of the source.
    pub kind: &'static str,
    /// There is one that holds.
    pub available: bool,
    /// How long it holds; `None` when there is none, or it has no end.
    pub expires_in: Option<Duration>,
    /// What went wrong with the last exchange, if it failed.
    pub error: Option<Arc<str>>,
}
