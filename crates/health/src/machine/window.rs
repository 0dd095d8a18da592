//! The sliding window: exact counts of good, failed and slow answers over the latest n buckets of time.
//!
//! A ring of buckets with running totals: adding is constant time and allocates nothing, whatever the
//! traffic. The window covers the current bucket and the n-1 before it, so an answer leaves the count between
//! `length - length/n` and `length` after it came.

use std::time::Duration;

use crate::{Timestamp, WindowParams};

/// Most buckets a window may have.
const MAX_BUCKETS: usize = 64;

/// What a window holds at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Successes.
    pub ok: u32,
    /// Failures that count.
    pub bad: u32,
    /// Successes whose first token was slow; part of `ok`.
    pub slow: u32,
}

impl Counts {
    /// Answers of both kinds.
    pub const fn total(self) -> u32 {
        self.ok.saturating_add(self.bad)
    }

    /// Whether more than `ratio` of at least `min` answers failed.
    pub fn exceeds(self, ratio: f32, min: u32) -> bool {
        // In single precision a ratio such as 0.7 times a count is exact where it is a whole number.
        self.total() >= min && self.bad as f32 > ratio * self.total() as f32
    }

    /// Whether more than `ratio` of at least `min` successes were slow.
    pub fn slower(self, ratio: f32, min: u32) -> bool {
        self.ok >= min && self.slow as f32 > ratio * self.ok as f32
    }

    const fn add(&mut self, other: Self) {
        self.ok = self.ok.saturating_add(other.ok);
        self.bad = self.bad.saturating_add(other.bad);
        self.slow = self.slow.saturating_add(other.slow);
    }

    const fn remove(&mut self, other: Self) {
        self.ok = self.ok.saturating_sub(other.ok);
        self.bad = self.bad.saturating_sub(other.bad);
        self.slow = self.slow.saturating_sub(other.slow);
    }
}

/// The ring.
#[derive(Clone, Debug)]
pub(super) struct Window {
    buckets: Box<[Counts]>,
    width_ms: u64,
    /// Index, counted from the epoch, of the newest bucket.
    head: u64,
    totals: Counts,
    /// What was counted since somebody last asked, whatever became of the window.
    untold: Counts,
}

impl Window {
    pub(super) fn new(params: &WindowParams, now: Timestamp) -> Self {
        let buckets = usize::from(params.buckets).clamp(1, MAX_BUCKETS);
        let width_ms = width_ms(params.length, buckets);
        Self {
            buckets: vec![Counts::default(); buckets].into_boxed_slice(),
            width_ms,
            head: now.as_millis() / width_ms,
            totals: Counts::default(),
            untold: Counts::default(),
        }
    }

    /// Whether a window of these parameters has this one's shape.
    pub(super) fn fits(&self, params: &WindowParams) -> bool {
        let other = Self::new(params, Timestamp::default());
        other.buckets.len() == self.buckets.len() && other.width_ms == self.width_ms
    }

    /// Counts `counts` at `now`, and returns what the window then holds.
    pub(super) fn add(&mut self, now: Timestamp, counts: Counts) -> Counts {
        self.advance(now);
        self.untold.add(counts);
        let at = self.place(self.head);
        if let Some(bucket) = self.buckets.get_mut(at) {
            bucket.add(counts);
            self.totals.add(counts);
        }
        self.totals
    }

    /// What the window holds at `now`.
    pub(super) fn counts(&self, now: Timestamp) -> Counts {
        let passed = (now.as_millis() / self.width_ms).saturating_sub(self.head);
        if passed == 0 {
            return self.totals;
        }
        let mut counts = self.totals;
        for step in 1..=passed.min(self.buckets.len() as u64) {
            if let Some(&gone) = self.buckets.get(self.place(self.head + step)) {
                counts.remove(gone);
            }
        }
        counts
    }

    /// What was counted since the last call.
    pub(super) const fn take_untold(&mut self) -> Counts {
        std::mem::replace(&mut self.untold, Counts { ok: 0, bad: 0, slow: 0 })
    }

    /// Forgets what the window holds.
    pub(super) fn clear(&mut self) {
        self.buckets.fill(Counts::default());
        self.totals = Counts::default();
    }

    const fn place(&self, index: u64) -> usize {
        (index % self.buckets.len() as u64) as usize
    }

    fn advance(&mut self, now: Timestamp) {
        let index = now.as_millis() / self.width_ms;
        let passed = index.saturating_sub(self.head);
        for step in 1..=passed.min(self.buckets.len() as u64) {
            let at = self.place(self.head + step);
            if let Some(bucket) = self.buckets.get_mut(at) {
                self.totals.remove(*bucket);
                *bucket = Counts::default();
            }
        }
        self.head = self.head.max(index);
    }
}

fn width_ms(length: Duration, buckets: usize) -> u64 {
    let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
    (length / buckets as u64).max(1)
}
