//! What happened, in order: a bounded ring that every reader drains at its own pace.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{GroupIx, GroupReason, PanicState, Slot, Timestamp, Transition};

/// Events kept for readers that come late.
const KEPT: usize = 4096;

/// Something happened to a deployment, a group or this pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Grows by one with every event of the process.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// A deployment changed its state.
    Moved {
        /// Its place.
        slot: Slot,
        /// Its id.
        id: Arc<str>,
        /// Its group.
        group: Arc<str>,
        /// What it serves.
        mode: &'static str,
        /// From what to what, and why.
        transition: Transition,
        /// Whether the evidence may be this pod's own fault.
        local_only: bool,
    },
    /// A group came into panic, ran out of deployments, or recovered from either.
    Panic {
        /// Its place.
        group: GroupIx,
        /// Its name.
        name: Arc<str>,
        /// What it was in.
        from: PanicState,
        /// What it is in.
        to: PanicState,
        /// Why.
        reason: GroupReason,
    },
    /// This pod began or ceased to suspect itself.
    Pod {
        /// Whether it does now.
        suspect: bool,
    },
}

/// Events since a given one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drained {
    /// The events, oldest first.
    pub events: Vec<Event>,
    /// The sequence number to ask from next time.
    pub next: u64,
    /// How many were dropped before they were read.
    pub missed: u64,
}

/// The ring.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    events: VecDeque<Event>,
    next: u64,
}

impl Ring {
    pub(crate) fn push(&mut self, at: Timestamp, kind: EventKind) {
        if self.events.len() == KEPT {
            self.events.pop_front();
        }
        self.events.push_back(Event { seq: self.next, at, kind });
        self.next += 1;
    }

    pub(crate) fn since(&self, seq: u64) -> Drained {
        let first = self.next - self.events.len() as u64;
        let skip = usize::try_from(seq.saturating_sub(first)).unwrap_or(usize::MAX);
        Drained {
            events: self.events.iter().skip(skip).cloned().collect(),
            next: self.next,
            missed: first.saturating_sub(seq),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_learns_how_much_it_missed() {
        let mut ring = Ring::default();
        for n in 0..5_000 {
            ring.push(Timestamp::from_millis(n), EventKind::Pod { suspect: n % 2 == 0 });
        }
        let all = ring.since(0);
        assert_eq!((all.events.len(), all.next, all.missed), (4096, 5_000, 904));
        assert_eq!(all.events[0].seq, 904);
        let tail = ring.since(4_998);
        assert_eq!((tail.events.len(), tail.events[0].seq, tail.missed), (2, 4_998, 0));
        assert_eq!(ring.since(5_000), Drained { events: Vec::new(), next: 5_000, missed: 0 });
    }
}
