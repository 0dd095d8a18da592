//! What the store decides: one deployment's record, and the two steps that change it.
//!
//! Pure code with the store's own clock as an argument. [`crate::LocalFleet`], the simulator and the model check run it
//! as it is; a store that runs scripts must give the same answers and leave the same record for the same inputs, step
//! by step, so that one can be checked against the other.
//!
//! The rules and what they are for:
//!
//! - **Spacing.** A claim names the interval in force. It is granted when that interval has passed since the latest
//!   grant, so probes of a deployment cost one per interval whatever pods do. A claim that names a shorter interval
//!   than the one before (a deployment came under suspicion) is measured by its own.
//! - **Loss.** While no verdict was committed, nothing is granted until the hold has passed: by then the probe has timed
//!   out. After a verdict, a short rest passes.
//! - **Fencing.** Every grant has a number one higher than the last. A verdict counts only with the number of the latest
//!   grant, and once.
//! - **Failover.** A store that was promoted, or came back from disk, may have lost the latest writes. Its replication id
//!   differs from the one in the record, so the first claim is refused, the latest grant is taken to be this very moment,
//!   and the numbers jump so far that no verdict of a lost grant can count (*quarantine*).
//! - **Absurd times.** A wait of more than four times the longest spacing comes from a clock that was set back; it is cut
//!   to one spacing.

mod record;
mod time;

pub use record::{Record, ReplicationId};
pub use time::StoreTime;

use std::sync::Arc;
use std::time::Duration;

use crate::PodId;

/// The least by which the numbers of grants jump in a quarantine: more grants than a store can lose unseen. The rule is
/// `max(seq + SEQ_JUMP, now in milliseconds)`: numbers that follow the clock differ from one quarantine to the next even
/// when the first of them was lost as well, which a fixed jump alone does not give.
pub const SEQ_JUMP: u64 = 1_000;

/// A wait is absurd when it is longer than this many of the longest spacing in force.
const ABSURD_GAPS: u32 = 4;

/// The terms of a claim. Whole milliseconds count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// The interval in force for the deployment now.
    pub interval: Duration,
    /// How long a probe may take until it counts as lost.
    pub hold: Duration,
    /// The wait for the first grant when the store has no record. A pod that cannot rule out an earlier grant must name
    /// a whole interval (see [`crate::pod::Pod::first_touch`]); then later claims, too, are measured as if a grant had
    /// been made when the record was.
    pub first_touch: Duration,
    /// How much longer than one spacing a quarantine lasts: the time for which a primary that was replaced may go on
    /// accepting writes. Zero when the store stops such a primary itself (`min-replicas-to-write 1`).
    pub split_brain: Duration,
}

impl Terms {
    /// Time from a grant to the next one, unless a verdict says otherwise.
    fn gap(&self) -> Duration {
        self.interval.max(self.hold)
    }
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There was no record; now there is one. Claim again after `wait`.
    Touch {
        /// Time until the first grant is due.
        wait: Duration,
    },
    /// Too early.
    Wait {
        /// Time until a grant on these terms is due.
        wait: Duration,
    },
    /// The store failed over since the record was written.
    Quarantine {
        /// Time until a grant is due.
        wait: Duration,
    },
    /// One probe may be sent.
    Grant {
        /// The fencing token.
        seq: u64,
        /// Time until the next grant is due, unless a verdict says otherwise.
        next: Duration,
    },
}

/// A verdict to be committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The number of the grant.
    pub seq: u64,
    /// The interval in force after this verdict.
    pub next_interval: Duration,
    /// Shortest time from now to the next grant, unless a claim names a shorter interval.
    pub min_gap: Duration,
    /// What was found, in the words of the one who asks. The book only keeps it.
    pub state: Arc<str>,
}

/// Why a verdict changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The store has no record of the deployment.
    #[error("the store has no record of the deployment")]
    Gone,
    /// A later grant exists, or the verdict was committed before.
    #[error("grant {latest} is the latest, or was judged already")]
    Stale {
        /// The number of the latest grant.
        latest: u64,
    },
}

/// The record of one deployment, if the store has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Book {
    record: Option<Record>,
}

impl Book {
    /// No record.
    pub const fn new() -> Self {
        Self { record: None }
    }

    /// The record as it is.
    pub const fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// Asks for a grant at `now` on the clock of a store whose replication id is `replication_id`.
    pub fn claim(
        &mut self,
        now: StoreTime,
        replication_id: &ReplicationId,
        terms: &Terms,
        pod: &PodId,
    ) -> Answer {
        let gap = terms.gap();
        let Some(record) = &mut self.record else {
            self.record = Some(Record::touched(now, terms, replication_id.clone()));
            return Answer::Touch { wait: terms.first_touch };
        };
        if record.replication_id != *replication_id {
            record.quarantine(now, replication_id.clone(), gap, terms.split_brain);
            return Answer::Quarantine { wait: now.until(record.due) };
        }
        let longest = gap.max(record.gap);
        if now.until(record.due_on(terms.interval)) > longest * ABSURD_GAPS + terms.split_brain {
            record.clamp(now, longest);
        }
        let wait = now.until(record.due_on(terms.interval));
        if !wait.is_zero() {
            return Answer::Wait { wait };
        }
        record.grant(now, terms.hold, gap, pod.clone());
        Answer::Grant { seq: record.seq, next: gap }
    }

    /// Takes in a verdict at `now` on the store's clock; answers the time until the next grant is due.
    ///
    /// # Errors
    /// When it must not count. The record is then as it was.
    pub fn commit(&mut self, now: StoreTime, verdict: &Verdict) -> Result<Duration, Refused> {
        let record = self.record.as_mut().ok_or(Refused::Gone)?;
        if verdict.seq != record.seq || verdict.seq <= record.committed_seq {
            return Err(Refused::Stale { latest: record.seq });
        }
        record.commit(now, verdict);
        Ok(now.until(record.due))
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
