//! The passing of time: timers from one heap, silence of requests in flight, doubts that end.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{Registry, WATCH};
use crate::{Slot, Timestamp};

impl Registry {
    /// Lets time pass up to `now` and answers when to be called next: never later than a second, because
    /// requests may begin without anybody telling.
    pub fn tick(&mut self, now: Timestamp) -> Timestamp {
        while let Some(&Reverse((at, slot))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(seat) = self.seat_mut(slot) else { continue };
            if seat.deadline == Some(at) {
                seat.deadline = None;
                self.settle(now, slot);
            }
        }
        self.look_at_busy(now);
        self.end_doubts(now);
        if self.tree.pod_suspect() {
            self.judge_pod(now);
        }
        let next = self.timers.peek().map_or(now + WATCH, |&Reverse((at, _))| at);
        next.min(now + WATCH)
    }

    /// Drains the successes of busy deployments and looks for requests in flight with no output.
    fn look_at_busy(&mut self, now: Timestamp) {
        let board = Arc::clone(&self.view.layout.board);
        let mut busy = Vec::new();
        board.sweep(|slot| {
            busy.push(slot);
            false
        });
        for slot in busy {
            self.drain(now, slot);
            let Some(seat) = self.seat_mut(slot) else { continue };
            if let Some(since) = seat.cell.silent_since() {
                // Still in flight: look again at the next tick.
                board.mark(slot);
                if since.until(now) > seat.spec.params.stream.gap
                    && let Some(transition) = seat.machine.wedged(now, since.until(now))
                {
                    self.moved(now, slot, transition);
                }
            }
            self.touch(slot, now);
        }
    }

    /// Sets the timer of `slot` to `at`, unless it fires sooner anyway.
    pub(super) fn set_deadline(&mut self, slot: Slot, at: Timestamp) {
        let Some(seat) = self.seat_mut(slot) else { return };
        if seat.deadline.is_some_and(|known| known <= at) {
            return;
        }
        seat.deadline = Some(at);
        self.timers.push(Reverse((at, slot)));
        if self.timers.len() > 4 * self.seats.len() + 64 {
            let seats = &self.seats;
            self.timers.retain(|Reverse((at, slot))| {
                seats
                    .get(slot.0 as usize)
                    .and_then(Option::as_ref)
                    .is_some_and(|seat| seat.deadline == Some(*at))
            });
        }
    }
}
