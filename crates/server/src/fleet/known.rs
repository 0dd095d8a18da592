//! What this process has read of the store, and what it has to say next.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use haleway_fleet::redis::Line;
use haleway_health::Timestamp;

use super::entry::{Entry, Found, Probe};

/// The latest line of one deployment.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) version: u64,
    pub(super) decision: u64,
    pub(super) entry: Entry,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Table {
    lines: HashMap<Arc<str>, Known>,
    /// Probes of this process that are not told yet.
    probes: HashMap<Arc<str>, (Probe, Option<Found>)>,
}

impl Table {
    pub(super) fn get(&self, deployment: &str) -> Option<&Known> {
        self.lines.get(deployment)
    }

    /// Takes in a line. `None` when it is no news; else the line, and whether its decision is new here.
    pub(super) fn read(&mut self, deployment: &Arc<str>, line: &Line) -> Option<(Entry, bool)> {
        let known = self.lines.get(deployment);
        if known.is_some_and(|known| line.version <= known.version) {
            return None;
        }
        let entry: Entry = serde_json::from_str(&line.payload).ok()?;
        let decides = line.decision > known.map_or(0, |known| known.decision);
        self.keep(deployment, line, entry.clone());
        Some((entry, decides))
    }

    pub(super) fn keep(&mut self, deployment: &Arc<str>, line: &Line, entry: Entry) {
        let known = self.lines.entry(Arc::clone(deployment)).or_default();
        known.version = known.version.max(line.version);
        known.decision = known.decision.max(line.decision);
        known.entry = entry;
    }

    /// Keeps a probe of this process until it is told.
    pub(super) fn probed(&mut self, deployment: &Arc<str>, probe: Probe, found: Option<Found>) {
        self.probes.insert(Arc::clone(deployment), (probe, found));
    }

    /// The deployments with probes to be told.
    pub(super) fn untold(&self) -> BTreeSet<Arc<str>> {
        self.probes.keys().cloned().collect()
    }

    /// What to write of a deployment next: what is known, with this process's own probe if that is newer.
    pub(super) fn next(&self, deployment: &str) -> Entry {
        let mut entry = self.lines.get(deployment).map(|known| known.entry.clone()).unwrap_or_default();
        if let Some((probe, found)) = self.probes.get(deployment)
            && entry.probe.as_ref().is_none_or(|known| known.seq < probe.seq)
        {
            entry.probe = Some(probe.clone());
            entry.report = found.clone().or(entry.report);
        }
        entry
    }

    /// The probe that was written is told.
    pub(super) fn told(&mut self, deployment: &str, entry: &Entry) {
        let written = entry.probe.as_ref().map_or(0, |probe| probe.seq);
        if self.probes.get(deployment).is_some_and(|(probe, _)| probe.seq <= written) {
            self.probes.remove(deployment);
        }
    }

    /// Deployments of which the store, which holds `lines` of a bucket, knows less than this process: each with the
    /// version to build on and whether a decision was lost.
    pub(super) fn lost<'a>(
        &'a self,
        belongs: impl Fn(&str) -> bool + 'a,
        lines: &'a HashMap<String, Line>,
    ) -> impl Iterator<Item = (Arc<str>, bool)> + 'a {
        self.lines.iter().filter(move |(id, _)| belongs(id)).filter_map(|(id, known)| {
            let line = lines.get(&**id);
            let behind = line.is_none_or(|line| line.version < known.version);
            let decided = line.map_or(0, |line| line.decision) < known.decision;
            behind.then(|| (Arc::clone(id), decided))
        })
    }

    /// Forgets deployments that are gone.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.lines.retain(|deployment, _| keep(deployment));
        self.probes.retain(|deployment, _| keep(deployment));
    }
}

/// When something is done next that is done from time to time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Every {
    span: std::time::Duration,
    next: Timestamp,
}

impl Every {
    pub(super) const fn new(span: std::time::Duration) -> Self {
        Self { span, next: Timestamp::from_millis(0) }
    }

    /// Whether it is time; then it is noted as done.
    pub(super) fn due(&mut self, now: Timestamp) -> bool {
        let due = now >= self.next;
        if due {
            self.next = now + self.span;
        }
        due
    }

    /// Makes it due again after `span`, whatever was planned.
    pub(super) fn retry(&mut self, now: Timestamp, span: std::time::Duration) {
        self.next = now + span;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(version: u64, decision: u64, observer: &str) -> Line {
        let entry = Entry { observer: observer.to_owned(), ..Entry::default() };
        Line { version, decision, payload: serde_json::to_string(&entry).unwrap() }
    }

    fn probe(seq: u64) -> Probe {
        Probe { pod: "p".to_owned(), seq, at: Timestamp::from_millis(seq), interval_ms: 1_000, passed: true }
    }

    #[test]
    fn only_newer_lines_are_news_and_only_newer_decisions_decide() {
        let (mut table, d) = (Table::default(), Arc::from("d"));
        let news = |table: &mut Table, line: &Line| {
            table.read(&d, line).map(|(entry, decides)| (entry.observer, decides))
        };
        assert_eq!(news(&mut table, &line(5, 5, "a")), Some(("a".to_owned(), true)));
        assert_eq!(news(&mut table, &line(5, 5, "b")), None);
        assert_eq!(news(&mut table, &line(7, 5, "c")), Some(("c".to_owned(), false)));
        assert_eq!(news(&mut table, &line(6, 6, "d")), None);
        let torn = Line { version: 9, decision: 9, payload: "{".to_owned() };
        assert_eq!(news(&mut table, &torn), None, "what cannot be read changes nothing");
        assert_eq!(table.get("d").unwrap().version, 7);
    }

    #[test]
    fn what_a_store_has_lost_is_found_with_the_decisions() {
        let mut table = Table::default();
        for (id, version, decision) in [("same", 5, 5), ("older", 7, 7), ("evidence", 8, 3), ("gone", 6, 6)] {
            table.read(&Arc::from(id), &line(version, decision, "a"));
        }
        let lines: HashMap<String, Line> = [("same", 5, 5), ("older", 4, 4), ("evidence", 6, 3)]
            .map(|(id, version, decision)| (id.to_owned(), line(version, decision, "b")))
            .into();
        let mut lost: Vec<_> = table.lost(|_| true, &lines).collect();
        lost.sort();
        let expected = [("evidence", false), ("gone", true), ("older", true)];
        assert_eq!(lost, expected.map(|(id, decided)| (Arc::from(id), decided)));
    }

    #[test]
    fn an_own_probe_waits_until_it_is_told_and_gives_way_to_a_later_one() {
        let (mut table, d) = (Table::default(), Arc::from("d"));
        table.probed(&d, probe(3), None);
        assert_eq!(table.untold().len(), 1);
        let entry = table.next("d");
        assert_eq!(entry.probe, Some(probe(3)));
        table.told("d", &entry);
        assert!(table.untold().is_empty());
        table.probed(&d, probe(4), None);
        let later = Entry { probe: Some(probe(6)), ..Entry::default() };
        table.keep(&d, &line(1, 1, "a"), later);
        assert_eq!(table.next("d").probe, Some(probe(6)));
    }
}
