//! What happens when: a heap of events, in order of time and, at one time, in the order in which they were planned.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Milliseconds of true time since the start of a run.
pub type Millis = u64;

/// Events to come.
#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Reverse<(Millis, u64)>>,
    events: BTreeMap<u64, E>,
    count: u64,
}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), events: BTreeMap::new(), count: 0 }
    }
}

impl<E> Queue<E> {
    /// Plans `event` for `at`.
    pub fn push(&mut self, at: Millis, event: E) {
        self.count += 1;
        self.heap.push(Reverse((at, self.count)));
        self.events.insert(self.count, event);
    }

    /// The next event and its time.
    pub fn pop(&mut self) -> Option<(Millis, E)> {
        let Reverse((at, number)) = self.heap.pop()?;
        Some((at, self.events.remove(&number)?))
    }
}
