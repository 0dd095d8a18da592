//! The same deployment again: when, and after how long a wait.

use std::time::Duration;

use haleway_health::{Class, Slot, Timestamp};

use super::{Attempt, CallPlan, Failed, Moment, Step};
use crate::stats::Stats;
use crate::view::{Admission, Health, LastResort};

/// First wait of the back-off; it doubles with each repeat.
const BACKOFF_BASE: Duration = Duration::from_millis(500);
/// Longest wait of the back-off.
const BACKOFF_MAX: Duration = Duration::from_secs(8);
/// Longest stated wait that a call sits out; a longer one goes back to the caller.
const STATED_MAX: Duration = Duration::from_secs(60);
/// Waits are stretched by up to one part in this many, so that callers do not come back together.
const JITTER_PARTS: u32 = 4;

impl CallPlan<'_> {
    /// A deployment of the present group that was tried before, after a wait.
    pub(super) fn again<H: Health + ?Sized, S: Stats + ?Sized>(
        &mut self,
        failed: &Failed,
        moment: &Moment<'_, H, S>,
    ) -> Option<Step> {
        let table = moment.view.table;
        let limit = self.allowed(&failed.failure, table);
        if !self.retry_left(failed, moment) || self.repeats >= limit {
            return None;
        }
        let (slot, rank) = self.repeatable(moment)?;
        let stated = failed.failure.retry_after.filter(|_| slot == failed.attempt.slot);
        // Who was silent until a deadline has been waited for already.
        let silent =
            slot == failed.attempt.slot && failed.failure.class == Class::Timeout && stated.is_none();
        let wait = if silent { Duration::ZERO } else { wait(stated, self.repeats, moment.random)? };
        let wait = wait.max(table.settings().retry_after);
        if !self.fits(moment.now, wait) || !self.pay(moment) {
            return None;
        }
        self.retries += 1;
        self.repeats += 1;
        let group = self.groups.here().0;
        Some(Step::Try(Attempt { slot, group, wait, trial: false, rank }))
    }

    /// Among those tried in this group whose failure allows it, the least often tried, the longest ago.
    fn repeatable<H: Health + ?Sized, S: ?Sized>(&self, moment: &Moment<'_, H, S>) -> Option<(Slot, u8)> {
        let group = self.groups.here().0;
        let worst = match moment.view.health.group(group).last_resort {
            LastResort::Never | LastResort::AfterFallback => 0,
            LastResort::AtOnce => Admission::OUT - 1,
        };
        let mine = || self.trail.iter().enumerate().filter(|(_, failed)| failed.attempt.group == group);
        let of = |slot: Slot| mine().filter(move |(_, failed)| failed.attempt.slot == slot);
        mine()
            .filter(|(at, failed)| of(failed.attempt.slot).all(|(other, _)| other <= *at))
            .filter(|(_, failed)| {
                let stated = self.stated(&failed.failure, group, moment.view.table).is_some_and(|n| n > 0);
                failed.failure.retry_same || stated
            })
            .filter_map(|(at, failed)| {
                let slot = failed.attempt.slot;
                let rank = moment.view.health.admission(slot).rank;
                let visits = of(slot).count();
                let silent = failed.failure.class == Class::Timeout;
                (rank <= worst).then_some(((silent, visits, at), (slot, rank)))
            })
            .min_by_key(|(key, _)| *key)
            .map(|(_, found)| found)
    }

    /// Whether an attempt after `wait` would start before the deadline.
    fn fits(&self, now: Timestamp, wait: Duration) -> bool {
        self.call.deadline.is_none_or(|deadline| now + wait < deadline)
    }
}

/// The wait before repeat number `repeats`; `None` when the stated wait is too long to sit out.
fn wait(stated: Option<Duration>, repeats: u32, random: u64) -> Option<Duration> {
    let base = match stated {
        Some(stated) if stated > STATED_MAX => return None,
        Some(stated) if !stated.is_zero() => stated,
        Some(_) | None => {
            BACKOFF_BASE.saturating_mul(1_u32.checked_shl(repeats).unwrap_or(u32::MAX)).min(BACKOFF_MAX)
        }
    };
    let jitter = u32::try_from(random >> 48).unwrap_or(0);
    Some(base + base / JITTER_PARTS * jitter / (1 << 16))
}
