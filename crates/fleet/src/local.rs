//! Permits within one process.
//!
//! Per deployment one record: the latest grant and whether its verdict came. The next grant is due one interval
//! after the latest, whatever its outcome; while the verdict is missing, not before the hold has passed either
//! (by then the probe has timed out: it was lost). The interval is that of the claim, so a deployment that comes
//! under suspicion is probed at the pace of suspicion at once.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use haleway_health::Timestamp;
use parking_lot::Mutex;

use crate::permit::{Grant, Permit};
use crate::{Ask, Claim, Fleet, Stale};

/// Shortest time from a verdict to the next probe, unless the interval itself is shorter.
const MIN_GAP: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct Record {
    seq: u64,
    granted_at: Timestamp,
    committed_at: Option<Timestamp>,
}

/// Permits of a process that has no fleet.
#[derive(Debug, Default)]
pub struct LocalFleet {
    records: Mutex<HashMap<Arc<str>, Record>>,
}

impl Record {
    /// When the next grant may follow.
    fn due(&self, ask: &Ask<'_>) -> Timestamp {
        let by_interval = self.granted_at + ask.interval;
        let by_verdict = match self.committed_at {
            Some(at) => at + MIN_GAP.min(ask.interval),
            None => self.granted_at + ask.hold,
        };
        by_interval.max(by_verdict)
    }
}

impl LocalFleet {
    /// No grants yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for a permit.
    pub fn claim_now(&self, now: Timestamp, ask: &Ask<'_>) -> Claim {
        let mut records = self.records.lock();
        let Some(record) = records.get_mut(ask.deployment) else {
            let deployment = Arc::clone(ask.deployment);
            let record = Record { seq: 1, granted_at: now, committed_at: None };
            records.insert(Arc::clone(&deployment), record);
            return Claim::Granted(Permit::new(1, deployment, now));
        };
        let due = record.due(ask);
        if now < due {
            return Claim::Wait(due);
        }
        *record = Record { seq: record.seq + 1, granted_at: now, committed_at: None };
        Claim::Granted(Permit::new(record.seq, Arc::clone(ask.deployment), now))
    }

    /// Notes that the verdict of `grant` came.
    ///
    /// # Errors
    /// When a later permit was granted, the verdict was committed already, or the deployment was forgotten.
    pub fn commit_now(&self, now: Timestamp, grant: &Grant) -> Result<(), Stale> {
        let mut records = self.records.lock();
        match records.get_mut(grant.deployment()) {
            Some(record) if record.seq == grant.seq() && record.committed_at.is_none() => {
                record.committed_at = Some(now);
                Ok(())
            }
            Some(_) | None => Err(Stale { seq: grant.seq() }),
        }
    }

    /// Forgets deployments that are gone, after a reload. One that comes back starts anew.
    pub fn retain(&self, keep: impl Fn(&str) -> bool) {
        self.records.lock().retain(|deployment, _| keep(deployment));
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
