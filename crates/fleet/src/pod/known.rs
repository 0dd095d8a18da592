//! What a pod knows of one deployment's probes, its own and others'.

use std::time::Duration;

use haleway_health::Timestamp;

use super::Heard;
use crate::{MIN_GAP, PodId};

/// Two verdicts within this much of one another speak of the same moment.
const SAME_MOMENT: Duration = Duration::from_secs(60);

/// When a grant is due, and the spacing for which that was said.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Timestamp,
    spacing: Duration,
}

/// One deployment as a pod knows it.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// When the next grant is due.
    due: Option<Due>,
    /// When the latest grant that this pod heard of was made.
    granted: Option<Timestamp>,
    /// A grant was followed by another: the first round of this deployment is over, for good.
    followed: bool,
    /// When the latest verdict that this pod heard of was granted, and its number.
    judged: Option<(Timestamp, u64)>,
    /// Who saw the latest verdict, when it was a failure.
    doubted_by: Option<PodId>,
    /// This pod's latest verdict, until another pod's was compared with it.
    own: Option<(Timestamp, bool)>,
    /// When this pod began to look.
    looked: Option<Timestamp>,
    /// Whether the present silence was told.
    told: bool,
}

impl Known {
    /// Whether a grant is known that is older than its interval, or was. What the store has lost just after a grant is the
    /// case that this is for, so it must not depend on how long ago the latest one was.
    pub(super) fn informed(&self, now: Timestamp) -> bool {
        let spacing = self.due.map_or(Duration::ZERO, |due| due.spacing);
        self.followed || self.granted.is_some_and(|at| at + spacing <= now)
    }

    pub(super) const fn doubted_by(&self) -> Option<&PodId> {
        self.doubted_by.as_ref()
    }

    /// When a claim on `interval` is due: as the store said, or earlier when the interval became shorter since. The first
    /// look makes it due now.
    pub(super) fn due(&mut self, now: Timestamp, interval: Duration) -> Timestamp {
        let due = *self.due.get_or_insert(Due { at: now, spacing: interval });
        match self.granted {
            Some(at) if interval < due.spacing => due.at.min(at + interval),
            Some(_) | None => due.at,
        }
    }

    /// Before when no claim is made, whatever the store would say.
    pub(super) fn half_interval_on(&self, interval: Duration) -> Option<Timestamp> {
        self.granted.map(|at| at + interval / 2)
    }

    pub(super) fn granted(&mut self, at: Timestamp, next: Duration) {
        self.note(at);
        self.due = Some(Due { at: at + next, spacing: next });
    }

    fn note(&mut self, at: Timestamp) {
        // The same grant is heard of twice, a little apart: when it was made and with its verdict.
        self.followed |= self.granted.is_some_and(|before| before + MIN_GAP / 2 <= at);
        self.granted = self.granted.max(Some(at));
    }

    pub(super) const fn wait_until(&mut self, at: Timestamp, spacing: Duration) {
        self.due = Some(Due { at, spacing });
    }

    /// Takes in a verdict; whether it is a new one.
    pub(super) fn heard(&mut self, asked: Timestamp, heard: &Heard<'_>) -> bool {
        let sent = asked - heard.age;
        if self.judged.is_some_and(|(at, seq)| sent <= at || heard.seq == seq) {
            return false;
        }
        self.judged = Some((sent, heard.seq));
        self.note(sent);
        self.due = Some(Due { at: asked + heard.next, spacing: heard.age + heard.next });
        self.doubted_by = (!heard.passed).then(|| heard.observer.clone());
        self.told = false;
        true
    }

    /// Compares a verdict with this pod's own of the same moment: whether they agree, if there is something to compare.
    /// A failure that others do not see speaks against the one who saw it; a success does not.
    pub(super) fn compare(&mut self, mine: bool, sent: Timestamp, passed: bool) -> Option<bool> {
        if mine {
            self.own = Some((sent, passed));
            return None;
        }
        let (at, own) = self.own.take()?;
        if at.since(sent).max(sent.since(at)) > SAME_MOMENT {
            return None;
        }
        (own == passed || !own).then_some(own == passed)
    }

    pub(super) fn unwatched(&mut self, now: Timestamp, limit: Duration) -> Option<Duration> {
        let looked = *self.looked.get_or_insert(now);
        let age = self.judged.map_or(looked, |(at, _)| at).until(now);
        if self.told || age <= limit {
            return None;
        }
        self.told = true;
        Some(age)
    }
}

#[cfg(test)]
impl Known {
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        self.due.map(|due| due.at)
    }
}
