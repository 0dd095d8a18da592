//! What the hot path writes: requests in flight, their last output, successes not yet told to the machine.
//!
//! One cell per deployment, atomics only. A success of a plainly healthy deployment can move nothing but
//! counters, so it is counted here and told to the machine by the next locked operation or tick. The cell
//! also answers "is anything in flight, and since when has nothing come out?", which no probe can.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{Slot, Timestamp};

/// Bits per word of the board of busy deployments.
const WORD: u32 = 64;

/// The atomics of one deployment, on their own cache lines.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Cell {
    /// Successes not yet told to the machine.
    successes: AtomicU32,
    /// Latest sending time among them.
    last_sent: AtomicU64,
    /// Requests in flight.
    in_flight: AtomicU32,
    /// When requests in flight last rose from zero.
    busy_since: AtomicU64,
    /// When the deployment last produced output of any request.
    last_output: AtomicU64,
}

/// Successes taken out of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drained {
    /// How many.
    pub(crate) count: u32,
    /// Latest sending time among them.
    pub(crate) last_sent: Timestamp,
}

impl Cell {
    /// Counts one success that was sent at `sent_at`.
    pub(crate) fn succeed(&self, sent_at: Timestamp) {
        self.last_sent.fetch_max(sent_at.as_millis(), Ordering::Relaxed);
        // Release pairs with the swap in `drain`: whoever sees the count sees the time.
        self.successes.fetch_add(1, Ordering::Release);
    }

    /// Takes the successes counted since the last call.
    pub(crate) fn drain(&self) -> Option<Drained> {
        if self.successes.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let count = self.successes.swap(0, Ordering::Acquire);
        let last_sent = Timestamp::from_millis(self.last_sent.load(Ordering::Relaxed));
        (count > 0).then_some(Drained { count, last_sent })
    }

    /// Requests in flight.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Since when requests are in flight and nothing has come out; `None` when nothing is in flight.
    ///
    /// A request that begins while others wait does not restart the silence: a steady stream of new calls
    /// would otherwise hide a deployment that answers none of them.
    pub(crate) fn silent_since(&self) -> Option<Timestamp> {
        (self.in_flight() > 0).then(|| {
            let busy = self.busy_since.load(Ordering::Relaxed);
            Timestamp::from_millis(busy.max(self.last_output.load(Ordering::Relaxed)))
        })
    }

    fn begin(&self, now: Timestamp) {
        if self.in_flight.fetch_add(1, Ordering::Relaxed) == 0 {
            self.busy_since.store(now.as_millis(), Ordering::Relaxed);
        }
    }

    fn output(&self, now: Timestamp) {
        // A plain load first: most chunks of a burst fall into the same millisecond.
        if self.last_output.load(Ordering::Relaxed) < now.as_millis() {
            self.last_output.store(now.as_millis(), Ordering::Relaxed);
        }
    }

    fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Which deployments have something a tick must look at: successes to drain or requests in flight.
///
/// A bit per slot, so that a tick over 10,000 deployments of which none is busy reads 157 words.
#[derive(Debug)]
pub(crate) struct Board(Box<[AtomicU64]>);

impl Board {
    /// A board for `slots` deployments, nothing marked.
    pub(crate) fn new(slots: usize) -> Self {
        Self((0..slots.div_ceil(WORD as usize)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Marks `slot`.
    pub(crate) fn mark(&self, slot: Slot) {
        if let Some(word) = self.0.get((slot.0 / WORD) as usize) {
            let bit = 1_u64 << (slot.0 % WORD);
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Release);
            }
        }
    }

    /// Takes every mark, calling `each` for its slot; `each` answers whether the mark stays.
    pub(crate) fn sweep(&self, mut each: impl FnMut(Slot) -> bool) {
        for (index, word) in (0_u32..).zip(&self.0) {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = word.swap(0, Ordering::Acquire);
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                if each(Slot(index * WORD + bit)) {
                    word.fetch_or(1 << bit, Ordering::Relaxed);
                }
            }
        }
    }
}

/// One request in flight; dropping it ends it, whatever the way out.
#[derive(Debug)]
pub struct InFlight {
    cell: Arc<Cell>,
}

impl InFlight {
    /// Begins a request at `now`.
    pub(crate) fn begin(cell: &Arc<Cell>, now: Timestamp) -> Self {
        cell.begin(now);
        Self { cell: Arc::clone(cell) }
    }

    /// Notes output at `now`: the first token or any later one. One load, seldom a store.
    pub fn output(&self, now: Timestamp) {
        self.cell.output(now);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.cell.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn new_requests_do_not_hide_a_silence() {
        let cell = Arc::new(Cell::default());
        let first = InFlight::begin(&cell, at(1_000));
        let second = InFlight::begin(&cell, at(5_000));
        assert_eq!(cell.silent_since(), Some(at(1_000)));
        second.output(at(7_000));
        assert_eq!(cell.silent_since(), Some(at(7_000)));
        drop((first, second));
        assert_eq!(cell.silent_since(), None, "nothing in flight is not silence");
        let _third = InFlight::begin(&cell, at(90_000));
        assert_eq!(cell.silent_since(), Some(at(90_000)), "idle time is not silence");
    }

    #[test]
    fn drained_successes_are_told_once() {
        let cell = Cell::default();
        cell.succeed(at(9));
        cell.succeed(at(4));
        assert_eq!(cell.drain(), Some(Drained { count: 2, last_sent: at(9) }));
        assert_eq!(cell.drain(), None);
    }

    #[test]
    fn a_board_keeps_only_the_marks_that_stay() {
        let board = Board::new(130);
        for n in [3, 64, 129] {
            board.mark(Slot(n));
        }
        let mut seen = Vec::new();
        board.sweep(|slot| {
            seen.push(slot.0);
            slot.0 == 64
        });
        assert_eq!(seen, [3, 64, 129]);
        seen.clear();
        board.sweep(|slot| {
            seen.push(slot.0);
            false
        });
        assert_eq!(seen, [64]);
    }
}
