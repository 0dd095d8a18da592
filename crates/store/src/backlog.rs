//! What is not written yet: bounded, and what it must drop is never the newest word on anything.
//!
//! While a database is lost, states go on changing. The backlog then forgets intermediate states, oldest first, so that
//! a long outage costs history but not the state in which it ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::write::{Subject, Write};

/// Writes that wait, oldest first.
#[derive(Debug)]
pub struct Backlog {
    bound: usize,
    next: u64,
    waiting: BTreeMap<u64, Write>,
    newest: HashMap<Subject, u64>,
    /// Those that wait and are not the newest on their subject.
    outdated: BTreeSet<u64>,
    dropped: u64,
}

impl Backlog {
    /// An empty backlog that drops what is outdated beyond `bound` writes. What is newest on its subject stays beyond
    /// it: their number is bounded by that of deployments.
    pub fn new(bound: usize) -> Self {
        Self {
            bound,
            next: 0,
            waiting: BTreeMap::new(),
            newest: HashMap::new(),
            outdated: BTreeSet::new(),
            dropped: 0,
        }
    }

    /// Adds `write`.
    pub fn push(&mut self, write: Write) {
        let before = self.newest.insert(write.subject(), self.next);
        self.outdated.extend(before);
        self.waiting.insert(self.next, write);
        self.next += 1;
        if self.waiting.len() > self.bound
            && let Some(oldest) = self.outdated.pop_first()
        {
            self.waiting.remove(&oldest);
            self.dropped += 1;
        }
    }

    /// The oldest writes, at most `most`, and what to give to [`Backlog::written`] when they are.
    pub fn batch(&self, most: usize) -> (Vec<Write>, u64) {
        let taken = || self.waiting.iter().take(most);
        let end = taken().next_back().map_or(0, |(seq, _)| seq + 1);
        (taken().map(|(_, write)| write.clone()).collect(), end)
    }

    /// The writes of the batch that ended at `end` are done with.
    pub fn written(&mut self, end: u64) {
        let rest = self.waiting.split_off(&end);
        for (seq, write) in std::mem::replace(&mut self.waiting, rest) {
            let subject = write.subject();
            if self.newest.get(&subject) == Some(&seq) {
                self.newest.remove(&subject);
            }
        }
        self.outdated = self.outdated.split_off(&end);
    }

    /// Writes that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// An order is among what waits: the database does not know the newest.
    pub fn holds_orders(&self) -> bool {
        self.waiting.values().any(|write| matches!(write, Write::Order(_)))
    }

    /// How many were dropped since this was last asked.
    pub fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Return;

    fn back(deployment: &str, at: u64) -> Write {
        Write::Ended(Return { deployment: deployment.to_owned(), at, probe_nanousd: 0 })
    }

    #[test]
    fn a_full_backlog_drops_the_oldest_but_never_the_newest_of_a_deployment() {
        let mut backlog = Backlog::new(10);
        backlog.push(back("quiet", 1));
        for at in 2..1_000 {
            backlog.push(back("flapping", at));
        }
        let (batch, end) = backlog.batch(100);
        assert_eq!(batch.len(), 10);
        assert_eq!(batch.first(), Some(&back("quiet", 1)));
        assert_eq!(batch.last(), Some(&back("flapping", 999)));
        assert_eq!(backlog.take_dropped(), 989);
        backlog.written(end);
        assert!(backlog.is_empty());
        assert_eq!(backlog.take_dropped(), 0);
    }

    #[test]
    fn what_came_while_a_batch_was_written_waits_for_the_next() {
        let mut backlog = Backlog::new(10);
        backlog.push(back("a", 1));
        backlog.push(back("b", 2));
        let (_, end) = backlog.batch(1);
        backlog.push(back("a", 3));
        backlog.written(end);
        assert_eq!(backlog.batch(9).0, [back("b", 2), back("a", 3)]);
    }

    #[test]
    fn only_newest_words_may_exceed_the_bound() {
        let mut backlog = Backlog::new(2);
        for name in ["a", "b", "c"] {
            backlog.push(back(name, 1));
        }
        assert_eq!(backlog.len(), 3);
        backlog.push(back("a", 2));
        assert_eq!(backlog.batch(9).0, [back("b", 1), back("c", 1), back("a", 2)]);
    }
}
