//! The share of live traffic that may be retries: what keeps a retry storm from making an outage worse.
//!
//! Every call pays in a fraction of a retry, every retry takes one out. A small reserve per second keeps retries
//! possible when there is little traffic, and a share starts with what a quiet time would have saved, so that the first
//! calls of a process are rescued like any other.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use haleway_health::Timestamp;

const UNIT: u64 = 1_000;
/// Retries that a quiet time may save up.
const SAVED_MAX: u64 = 100;

/// Counts calls and retries of this process; lock-free.
#[derive(Debug)]
pub struct RetryShare {
    per_call: AtomicU64,
    reserve: AtomicU32,
    saved: AtomicU64,
    /// Second (u32) and retries granted from the reserve in it (u32).
    second: AtomicU64,
}

impl RetryShare {
    /// Retries may be `share` (0 to 1) of the calls, and at least `reserve` per second. A share of 0 saves nothing.
    pub fn new(share: f32, reserve: u32) -> Self {
        let per_call = units(share);
        let saved = if per_call == 0 { 0 } else { SAVED_MAX * UNIT };
        Self {
            per_call: AtomicU64::new(per_call),
            reserve: AtomicU32::new(reserve),
            saved: AtomicU64::new(saved),
            second: AtomicU64::new(0),
        }
    }

    /// Changes the rule. What was saved up stays, except where nothing may be saved any more.
    pub fn change(&self, share: f32, reserve: u32) {
        let per_call = units(share);
        self.per_call.store(per_call, Relaxed);
        self.reserve.store(reserve, Relaxed);
        if per_call == 0 {
            self.saved.store(0, Relaxed);
        }
    }

    /// A call came in.
    pub fn call(&self) {
        let per_call = self.per_call.load(Relaxed);
        let pay = |saved: u64| Some((saved + per_call).min(SAVED_MAX * UNIT));
        // The closure always answers, so the update cannot fail.
        self.saved.fetch_update(Relaxed, Relaxed, pay).unwrap_or_default();
    }

    /// Takes a retry out; whether there was one.
    pub fn take(&self, now: Timestamp) -> bool {
        let paid = self.saved.fetch_update(Relaxed, Relaxed, |saved| saved.checked_sub(UNIT)).is_ok();
        paid || self.reserved(now)
    }

    fn reserved(&self, now: Timestamp) -> bool {
        let this = (now.as_millis() / 1_000) << 32;
        let reserve = self.reserve.load(Relaxed);
        let grant = |word: u64| {
            let granted = if word >> 32 << 32 == this { word & u64::from(u32::MAX) } else { 0 };
            (granted < u64::from(reserve)).then_some(this | (granted + 1))
        };
        self.second.fetch_update(Relaxed, Relaxed, grant).is_ok()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 to 1")]
fn units(share: f32) -> u64 {
    (share.clamp(0.0, 1.0) * UNIT as f32) as u64
}

impl Default for RetryShare {
    /// 20 % of the calls, and at least 10 per second.
    fn default() -> Self {
        Self::new(0.2, 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_rule_acts_at_once() {
        let share = RetryShare::new(0.0, 0);
        let now = Timestamp::from_millis(5_000);
        assert!(!share.take(now));
        share.change(0.5, 1);
        share.call();
        share.call();
        assert!(share.take(now), "two calls pay for one retry at one half");
        assert!(share.take(now), "the reserve of this second");
        assert!(!share.take(now));
        share.call();
        share.call();
        share.change(0.0, 0);
        assert!(!share.take(now), "nothing may be saved any more");
    }
}
