//! What callers' requests met in the whole fleet: the sum of what every pod counted.
//!
//! Each pod counts its own requests in spans of [`SPAN`] on the store's clock and tells the *whole* count of each span that
//! changed, never a difference. So a message that comes twice, late or out of order changes nothing, one that is lost is
//! made good by the next, nobody's count is added twice, and a count grows old with its span however late it is told: what
//! a pod that died had counted leaves the sum by itself.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Class, Counts, Timestamp, WindowParams};

use crate::PodId;

/// Requests are counted per span of this length.
pub const SPAN: Duration = Duration::from_secs(3);
/// A span that begins further ahead than this is a clock's mistake, and would outlive its time.
const AHEAD: u64 = 1;

/// What one pod counted of one deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Counted {
    /// Successes and failures in each span, by its number since the epoch.
    pub spans: BTreeMap<u64, (u32, u32)>,
    /// When the latest request that succeeded was sent, on the store's clock; zero when none did.
    pub answered_at: Timestamp,
    /// The class of the latest failure.
    pub failed: Option<Class>,
}

/// Requests of a deployment, of several pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Successes and failures.
    pub counts: Counts,
    /// Pods that met a failure.
    pub failing: usize,
    /// When the latest request that succeeded was sent, on the store's clock; zero when none did.
    pub answered_at: Timestamp,
    /// The class of a latest failure.
    pub failed: Option<Class>,
}

/// What every pod counted of late.
#[derive(Debug)]
pub struct Traffic {
    me: PodId,
    keep: Duration,
    counted: HashMap<Arc<str>, BTreeMap<PodId, Counted>>,
    untold: BTreeSet<Arc<str>>,
    news: BTreeSet<Arc<str>>,
}

impl Traffic {
    /// Nothing counted. `keep`: the longest window that anybody asks for.
    pub fn new(me: PodId, keep: Duration) -> Self {
        Self { me, keep, counted: HashMap::new(), untold: BTreeSet::new(), news: BTreeSet::new() }
    }

    /// Counts requests of this pod that ended at about `now`, on the store's clock like every time here. `answered_at`:
    /// when the latest that succeeded was sent.
    pub fn count(
        &mut self,
        now: Timestamp,
        deployment: &Arc<str>,
        counts: Counts,
        answered_at: Timestamp,
        failed: Option<Class>,
    ) {
        if counts.total() == 0 {
            return;
        }
        let mine =
            self.counted.entry(Arc::clone(deployment)).or_default().entry(self.me.clone()).or_default();
        let (ok, bad) = mine.spans.entry(number(now)).or_default();
        *ok = ok.saturating_add(counts.ok);
        *bad = bad.saturating_add(counts.bad);
        mine.answered_at = mine.answered_at.max(answered_at);
        mine.failed = failed.or(mine.failed);
        self.untold.insert(Arc::clone(deployment));
        self.news.insert(Arc::clone(deployment));
    }

    /// This pod's counts of the deployments for which they changed since the last call.
    pub fn untold(&mut self) -> Vec<(Arc<str>, Counted)> {
        let untold = std::mem::take(&mut self.untold);
        let mine = |deployment: Arc<str>| {
            let counted = self.counted.get(&deployment)?.get(&self.me)?.clone();
            Some((deployment, counted))
        };
        untold.into_iter().filter_map(mine).collect()
    }

    /// Takes in what `pod` told.
    pub fn heard(&mut self, now: Timestamp, pod: &PodId, deployment: &Arc<str>, told: &Counted) {
        if *pod == self.me {
            return;
        }
        let (first, last) = (number(now - self.keep), number(now) + AHEAD);
        let known = self.counted.entry(Arc::clone(deployment)).or_default().entry(pod.clone()).or_default();
        for (&span, &(ok, bad)) in told.spans.range(first..=last) {
            let count = known.spans.entry(span).or_default();
            *count = (ok.max(count.0), bad.max(count.1));
        }
        known.answered_at = known.answered_at.max(told.answered_at.min(now));
        known.failed = told.failed.or(known.failed);
        self.news.insert(Arc::clone(deployment));
    }

    /// The deployments of which something was counted or heard since the last call.
    pub fn news(&mut self) -> BTreeSet<Arc<str>> {
        std::mem::take(&mut self.news)
    }

    /// What the pods that `whose` names met in the spans that begin from `from` to `now`.
    pub fn sum(
        &self,
        now: Timestamp,
        deployment: &str,
        from: Timestamp,
        whose: impl Fn(&PodId) -> bool,
    ) -> Sum {
        let mut sum = Sum::default();
        let spans = from.as_millis().div_ceil(millis(SPAN))..=number(now);
        let Some(counted) = self.counted.get(deployment).filter(|_| !spans.is_empty()) else { return sum };
        for (_, counted) in counted.iter().filter(|(pod, _)| whose(pod)) {
            let mut failures = 0_u32;
            for &(ok, bad) in counted.spans.range(spans.clone()).map(|(_, count)| count) {
                sum.counts.ok = sum.counts.ok.saturating_add(ok);
                failures = failures.saturating_add(bad);
            }
            sum.counts.bad = sum.counts.bad.saturating_add(failures);
            if failures > 0 {
                sum.failing += 1;
                sum.failed = counted.failed.or(sum.failed);
            }
            sum.answered_at = sum.answered_at.max(counted.answered_at);
        }
        sum
    }

    /// Whether the requests of pods that do not see `deployment` failing go on succeeding, some of them sent after
    /// `since`, when it was seen failing: then it fails on the way of those who see it. A success that was sent before
    /// says nothing, or the first seconds of every outage would be contradicted.
    pub fn contradicts(
        &self,
        now: Timestamp,
        deployment: &str,
        window: &WindowParams,
        since: Timestamp,
        sees: impl Fn(&PodId) -> bool,
    ) -> bool {
        let others = |pod: &PodId| *pod != self.me && !sees(pod);
        let sum = self.sum(now, deployment, now - window.length, others);
        sum.answered_at > since && window.answers(sum.counts)
    }

    /// Forgets what is older than anybody asks for, and deployments that `keep` does not name.
    pub fn retain(&mut self, now: Timestamp, keep: impl Fn(&str) -> bool) {
        let first = number(now - self.keep);
        self.counted.retain(|deployment, pods| {
            pods.retain(|_, counted| {
                counted.spans.retain(|span, _| *span >= first);
                !counted.spans.is_empty()
            });
            !pods.is_empty() && keep(deployment)
        });
    }

    /// Deployments of which counts are kept.
    pub fn len(&self) -> usize {
        self.counted.len()
    }

    /// Whether nothing was counted of late.
    pub fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }
}

fn number(at: Timestamp) -> u64 {
    at.as_millis() / millis(SPAN)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests;
