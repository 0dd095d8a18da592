//! One source's credential, and the one task that fetches it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use haleway_providers::credential::{Credential, CredentialSource, Fetched};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::fetch::fetch;
use super::{CredentialFault, CredentialState, Lease, Shared};

/// Longest time that a whole exchange may take, however many calls it makes.
const EXCHANGE: Duration = Duration::from_secs(30);
/// The first wait after a failed exchange; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait between failed exchanges.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A credential younger than this is not fetched anew because a provider refused it.
const FRESH: Duration = Duration::from_secs(30);
/// Credentials without an end are looked at again after this long: the file that holds them may have changed.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// A credential is no longer used this long before its end: the call has a way to go.
const MARGIN: Duration = Duration::from_secs(5);

/// One source's credential.
pub(super) struct Cell {
    source: Arc<CredentialSource>,
    shared: Arc<Shared>,
    current: ArcSwapOption<Current>,
    progress: watch::Sender<Progress>,
    /// Wakes the task that fetches; also when this cell ends.
    kick: Arc<Notify>,
    started: AtomicBool,
}

/// A credential that was brought.
struct Current {
    lease: Lease,
    fetched_at: Instant,
    /// Until when it is used.
    until: Option<Instant>,
}

/// How the exchanges go.
#[derive(Default)]
struct Progress {
    /// An exchange runs, or is about to.
    fetching: bool,
    /// How many have ended.
    rounds: u64,
    failures: u32,
    /// Before this moment no exchange is begun because somebody asks.
    retry_at: Option<Instant>,
    error: Option<Arc<str>>,
}

impl Cell {
    pub(super) fn new(source: Arc<CredentialSource>, shared: Arc<Shared>) -> Self {
        Self {
            source,
            shared,
            current: ArcSwapOption::empty(),
            progress: watch::Sender::new(Progress::default()),
            kick: Arc::default(),
            started: AtomicBool::new(false),
        }
    }

    /// The credential, if there is one that holds.
    pub(super) fn valid(&self) -> Option<Lease> {
        let current = self.current.load();
        let current = current.as_ref()?;
        current.until.is_none_or(|until| Instant::now() < until).then(|| current.lease.clone())
    }

    /// Waits for the exchange that runs, or for one that is begun now.
    pub(super) async fn wait(self: &Arc<Self>) -> Result<Lease, CredentialFault> {
        let mut progress = self.progress.subscribe();
        progress.borrow_and_update();
        if !self.demand() {
            return self.valid().ok_or_else(|| self.fault());
        }
        loop {
            if let Some(lease) = self.valid() {
                return Ok(lease);
            }
            if progress.changed().await.is_err() || !progress.borrow().fetching {
                return self.valid().ok_or_else(|| self.fault());
            }
        }
    }

    /// See [`super::CredentialHandle::renewed`].
    pub(super) async fn renewed(self: &Arc<Self>, version: u64) -> Option<Lease> {
        let newer = || self.valid().filter(|lease| lease.version > version);
        if let Some(lease) = newer() {
            return Some(lease);
        }
        let now = Instant::now();
        let fetched_at = self.current.load().as_ref().map(|current| current.fetched_at);
        if fetched_at.is_some_and(|at| now.saturating_duration_since(at) < FRESH) {
            return None;
        }
        let mut progress = self.progress.subscribe();
        progress.borrow_and_update();
        if !self.demand() {
            return None;
        }
        loop {
            if let Some(lease) = newer() {
                return Some(lease);
            }
            if progress.changed().await.is_err() || !progress.borrow().fetching {
                return newer();
            }
        }
    }

    /// Sees to it that an exchange runs. `false`: the last one failed so recently that none is begun.
    pub(super) fn demand(self: &Arc<Self>) -> bool {
        let now = Instant::now();
        let (mut begin, mut runs) = (false, false);
        self.progress.send_if_modified(|progress| {
            begin = !progress.fetching && progress.retry_at.is_none_or(|at| at <= now);
            progress.fetching |= begin;
            runs = progress.fetching;
            false
        });
        if begin {
            if self.started.swap(true, Ordering::Relaxed) {
                self.kick.notify_one();
            } else {
                let (stop, kick) = (self.shared.stop.clone(), Arc::clone(&self.kick));
                let cell = Arc::downgrade(self);
                self.shared.tasks.spawn(async move {
                    tokio::select! {
                        () = keep(cell, kick) => {}
                        () = stop.cancelled() => {}
                    }
                });
            }
        }
        runs
    }

    pub(super) fn state(&self) -> CredentialState {
        let now = Instant::now();
        let current = self.current.load();
        let left = current
            .as_ref()
            .and_then(|current| current.until)
            .map(|until| until.saturating_duration_since(now));
        let available = self.valid().is_some();
        CredentialState {
            kind: self.source.kind(),
            available,
            expires_in: left.filter(|_| available),
            error: self.progress.borrow().error.clone(),
        }
    }

    fn fault(&self) -> CredentialFault {
        let error = self.progress.borrow().error.clone();
        let message = error.unwrap_or_else(|| "none has come yet".into());
        CredentialFault { kind: self.source.kind(), message }
    }

    /// Takes note of an exchange. When the next one begins by itself; `None`: when somebody asks.
    fn settle(&self, result: Result<Fetched, String>) -> Option<Instant> {
        let now = Instant::now();
        let kept = result.and_then(|fetched| self.keep(fetched, now));
        let mut next = None;
        self.progress.send_modify(|progress| {
            progress.fetching = false;
            progress.rounds += 1;
            match kept {
                Ok(renew_at) => {
                    if progress.failures > 0 {
                        tracing::info!(source = self.source.kind(), "the credential can be fetched again");
                    }
                    (progress.failures, progress.retry_at, progress.error) = (0, None, None);
                    next = Some(renew_at);
                }
                Err(message) => {
                    let doubled = FIRST_WAIT.saturating_mul(1 << progress.failures.min(6)).min(LONGEST_WAIT);
                    let wait = doubled.mul_f64(1.0 + fastrand::f64() * 0.2);
                    if progress.failures == 0 {
                        tracing::warn!(source = self.source.kind(), "no credential: {message}");
                    }
                    progress.failures = progress.failures.saturating_add(1);
                    progress.retry_at = Some(now + wait);
                    progress.error = Some(message.into());
                    // While the old one holds a new one is tried for; without any, calls ask.
                    next = self.valid().map(|_| now + wait);
                }
            }
        });
        next
    }

    /// Keeps what was brought, and says when to renew it.
    fn keep(&self, fetched: Fetched, now: Instant) -> Result<Instant, String> {
        let wall = self.shared.outside.now_ms();
        let lifetime = fetched.expires_at_ms.map(|end| Duration::from_millis(end.saturating_sub(wall)));
        if lifetime.is_some_and(|lifetime| lifetime.is_zero()) {
            return Err("the credential that came has expired already (is the clock right?)".to_owned());
        }
        let version = self.current.load().as_ref().map_or(0, |current| current.lease.version);
        let same = self
            .current
            .load()
            .as_ref()
            .is_some_and(|current| is_same(&current.lease.credential, &fetched.credential));
        // Looked at again and found unchanged, it is the same one.
        let version = if same { version } else { version + 1 };
        let fetched_at = match self.current.load().as_ref() {
            Some(current) if same => current.fetched_at,
            Some(_) | None => now,
        };
        let until = lifetime.map(|lifetime| now + lifetime - MARGIN.min(lifetime / 10));
        let lease = Lease { credential: fetched.credential, version };
        self.current.store(Some(Arc::new(Current { lease, fetched_at, until })));
        Ok(match lifetime {
            None => now + LOOK_AGAIN,
            Some(lifetime) => {
                let lead = Duration::from_millis(self.source.lead_ms()).min(lifetime / 5);
                now + (lifetime - lead).mul_f64(1.0 - fastrand::f64() * 0.05)
            }
        })
    }
}

/// Whether two credentials are one.
fn is_same(one: &Credential, other: &Credential) -> bool {
    match (one, other) {
        (Credential::Bearer(one), Credential::Bearer(other)) => one == other,
        (Credential::Aws(one), Credential::Aws(other)) => one == other,
        (Credential::Configured, Credential::Configured) => true,
        (Credential::Bearer(_) | Credential::Aws(_) | Credential::Configured, _) => false,
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // The task sees that nobody is left.
        self.kick.notify_one();
    }
}

/// Fetches for as long as somebody holds the cell.
async fn keep(cell: Weak<Cell>, kick: Arc<Notify>) {
    loop {
        let Some(held) = cell.upgrade() else { return };
        held.progress.send_if_modified(|progress| {
            progress.fetching = true;
            false
        });
        let exchange = fetch(&held.shared.outside, &held.source);
        let result = match tokio::time::timeout(EXCHANGE, exchange).await {
            Ok(result) => result.map_err(|failure| failure.to_string()),
            Err(_elapsed) => Err("the exchange took longer than 30 seconds".to_owned()),
        };
        let next = held.settle(result);
        drop(held);
        match next {
            None => kick.notified().await,
            Some(at) => tokio::select! {
                () = tokio::time::sleep_until(at) => {}
                () = kick.notified() => {}
            },
        }
    }
}
