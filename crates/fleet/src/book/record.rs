//! The record of one deployment, field by field, and the four ways in which it changes.

use std::sync::Arc;
use std::time::Duration;

use super::{SEQ_JUMP, StoreTime, Terms, Verdict};
use crate::PodId;

/// Names one uninterrupted history of a store: it changes when a replica is promoted or a store starts anew.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplicationId(Arc<str>);

impl ReplicationId {
    /// The id as the store says it.
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What the store knows of one deployment. In a store of hashes each field has the short name given with it; a field
/// that is `None` is absent. Times are milliseconds on the store's clock, spans are milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// `seq`: number of the latest grant. A new record starts with its time in milliseconds, so that a record which was
    /// lost and made anew never gives a number twice.
    pub seq: u64,
    /// `cseq`: number of the latest grant whose verdict was accepted; a new record starts with `seq`.
    pub committed_seq: u64,
    /// `rid`: the history of the store in which the record was last seen whole.
    pub replication_id: ReplicationId,
    /// `due`: when the next grant is due on the terms in force. For pods that plan; [`Record::due_on`] decides.
    pub due: StoreTime,
    /// `floor`: nothing is granted before, whatever interval a claim names: the wait of a new record, the hold of a
    /// grant without verdict, a quarantine.
    pub floor: StoreTime,
    /// `gap`: the spacing in force when the record was last written. What a wait is absurd against, and the least that a
    /// quarantine lasts.
    pub gap: Duration,
    /// `gts`: when the latest grant was made, or the latest moment at which one may have been made unseen.
    pub granted_at: Option<StoreTime>,
    /// `own`: who got the latest grant.
    pub owner: Option<PodId>,
    /// `cts`: when the latest verdict was accepted.
    pub committed_at: Option<StoreTime>,
    /// `rest`: the shortest time from that verdict to the next grant.
    pub rest: Duration,
    /// `st`: what the latest verdict says.
    pub state: Option<Arc<str>>,
    /// `obs`: when the grant of the latest verdict was made: the age of the evidence counts from here.
    pub observed_at: Option<StoreTime>,
    /// `oby`: who got that grant.
    pub observed_by: Option<PodId>,
    /// `ver`: how many verdicts were accepted.
    pub version: u64,
}

impl Record {
    /// A record without a grant, or, when the wait is a whole interval, after one that nobody knows.
    pub(super) fn touched(now: StoreTime, terms: &Terms, replication_id: ReplicationId) -> Self {
        let (wait, gap) = (terms.first_touch, terms.gap());
        let due = now + wait;
        Self {
            seq: now.as_millis(),
            committed_seq: now.as_millis(),
            replication_id,
            due,
            floor: due,
            gap: gap.max(wait),
            granted_at: (wait >= terms.interval).then_some(now),
            owner: None,
            committed_at: None,
            rest: Duration::ZERO,
            state: None,
            observed_at: None,
            observed_by: None,
            version: 0,
        }
    }

    /// When a claim that names `interval` is granted.
    pub fn due_on(&self, interval: Duration) -> StoreTime {
        let by_interval = self.granted_at.map_or(self.floor, |at| self.floor.max(at + interval));
        match self.committed_at {
            Some(at) if self.committed_seq == self.seq => by_interval.max(at + self.rest.min(interval)),
            Some(_) | None => by_interval,
        }
    }

    pub(super) fn grant(&mut self, now: StoreTime, hold: Duration, gap: Duration, pod: PodId) {
        self.seq += 1;
        self.owner = Some(pod);
        self.granted_at = Some(now);
        self.floor = now + hold;
        self.due = now + gap;
        self.gap = gap;
    }

    pub(super) fn commit(&mut self, now: StoreTime, verdict: &Verdict) {
        self.committed_seq = verdict.seq;
        self.committed_at = Some(now);
        self.rest = verdict.min_gap;
        self.state = Some(Arc::clone(&verdict.state));
        self.observed_at = self.granted_at;
        self.observed_by.clone_from(&self.owner);
        self.version += 1;
        self.floor = now;
        self.due = self.granted_at.map_or(now, |at| at + verdict.next_interval).max(now + verdict.min_gap);
        self.gap = verdict.next_interval.max(verdict.min_gap);
    }

    /// Grants may have been lost up to this moment, and made elsewhere for as long as a replaced primary writes, on other
    /// terms than these, too: so the end of that counts as the latest grant, and the longer of both spacings as the wait.
    pub(super) fn quarantine(
        &mut self,
        now: StoreTime,
        replication_id: ReplicationId,
        gap: Duration,
        split_brain: Duration,
    ) {
        self.replication_id = replication_id;
        self.seq = (self.seq + SEQ_JUMP).max(now.as_millis());
        self.gap = self.gap.max(gap);
        self.granted_at = Some(now + split_brain);
        self.floor = self.floor.max(now + self.gap + split_brain);
        self.due = self.floor;
    }

    /// The clock was set back: what lies in its future now, is now.
    pub(super) fn clamp(&mut self, now: StoreTime, gap: Duration) {
        self.granted_at = self.granted_at.map(|at| at.min(now));
        self.committed_at = self.committed_at.map(|at| at.min(now));
        self.floor = now + gap;
        self.due = self.floor;
    }
}
