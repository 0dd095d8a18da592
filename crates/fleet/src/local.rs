//! Permits within one process: the book of permits without a store.
//!
//! The process's own clock is the store's, and no history is ever lost. A deployment that is seen for the first time is
//! granted at once: the planner has staggered it already.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::Timestamp;
use parking_lot::Mutex;

use crate::book::{Answer, Book, ReplicationId, StoreTime, Terms, Verdict};
use crate::permit::{Grant, Permit};
use crate::{Ask, Claim, Fleet, MIN_GAP, PodId, Stale};

/// Permits of a process that has no fleet.
#[derive(Debug)]
pub struct LocalFleet {
    books: Mutex<HashMap<Arc<str>, Book>>,
    history: ReplicationId,
    pod: PodId,
    state: Arc<str>,
}

impl Default for LocalFleet {
    fn default() -> Self {
        Self {
            books: Mutex::default(),
            history: ReplicationId::new("local"),
            pod: PodId::new("local"),
            state: "".into(),
        }
    }
}

const fn store_time(now: Timestamp) -> StoreTime {
    StoreTime::from_millis(now.as_millis())
}

impl LocalFleet {
    /// No grants yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for a permit.
    pub fn claim_now(&self, now: Timestamp, ask: &Ask<'_>) -> Claim {
        let terms = Terms {
            interval: ask.interval,
            hold: ask.hold,
            first_touch: Duration::ZERO,
            split_brain: Duration::ZERO,
        };
        let mut books = self.books.lock();
        let book = books.entry(Arc::clone(ask.deployment)).or_default();
        let mut claim = || book.claim(store_time(now), &self.history, &terms, &self.pod);
        let mut answer = claim();
        if matches!(answer, Answer::Touch { .. }) {
            answer = claim();
        }
        match answer {
            Answer::Grant { seq, .. } => Claim::Granted(Permit::new(seq, Arc::clone(ask.deployment), now)),
            Answer::Touch { wait } | Answer::Wait { wait } | Answer::Quarantine { wait } => {
                Claim::Wait(now + wait)
            }
        }
    }

    /// Notes that the verdict of `grant` came.
    ///
    /// # Errors
    /// When a later permit was granted, the verdict was committed already, or the deployment was forgotten.
    pub fn commit_now(&self, now: Timestamp, grant: &Grant) -> Result<(), Stale> {
        let stale = Stale { seq: grant.seq() };
        let mut books = self.books.lock();
        let book = books.get_mut(grant.deployment()).ok_or(stale)?;
        let verdict = Verdict {
            seq: grant.seq(),
            // The next claim names its own.
            next_interval: Duration::ZERO,
            min_gap: MIN_GAP,
            state: Arc::clone(&self.state),
        };
        book.commit(store_time(now), &verdict).map(|_| ()).map_err(|_| stale)
    }

    /// Forgets deployments that are gone, after a reload. One that comes back starts anew.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.books.lock().retain(|deployment, _| keep(deployment));
    }
}

impl Fleet for LocalFleet {
    fn claim(&self, now: Timestamp, ask: &Ask<'_>) -> impl Future<Output = Claim> + Send {
        std::future::ready(self.claim_now(now, ask))
    }

    fn commit(&self, now: Timestamp, grant: &Grant) -> impl Future<Output = Result<(), Stale>> + Send {
        std::future::ready(self.commit_now(now, grant))
    }
}
