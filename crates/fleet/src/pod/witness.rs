//! Whose evidence isolates a deployment for the whole fleet.
//!
//! What a provider states (a wait, a refused key, an unpaid bill) is true for every pod. What one pod infers from
//! failures may be its own fault: its network, its resolver, its clock. So an inferred fault reaches the fleet only when
//! two pods saw it within a window, or when there is only one pod; until then it counts where it was seen.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use haleway_health::Timestamp;

use crate::PodId;

/// Pods that must have seen an inferred fault.
const WITNESSES: usize = 2;

/// How a fault is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The provider said so, or the cause allows no doubt.
    Stated,
    /// Concluded from failures.
    Inferred,
}

/// Whom a fault concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every pod.
    Fleet,
    /// The pod that saw it.
    Local,
}

/// Who saw which deployment fail of late.
#[derive(Debug)]
pub struct Witnesses {
    window: Duration,
    seen: HashMap<Arc<str>, BTreeMap<PodId, Timestamp>>,
}

impl Witnesses {
    /// Failures count for `window`.
    pub fn new(window: Duration) -> Self {
        Self { window, seen: HashMap::new() }
    }

    /// Notes that `pod` saw `deployment` fail, with a request sent at `sent`. A pod that is unwell is no witness.
    pub fn failed(&mut self, deployment: &Arc<str>, pod: &PodId, sent: Timestamp, unwell: bool) {
        if unwell {
            return;
        }
        let seen = self.seen.entry(Arc::clone(deployment)).or_default();
        let latest = seen.entry(pod.clone()).or_insert(sent);
        *latest = sent.max(*latest);
    }

    /// Notes that `pod` saw `deployment` pass, with a request sent at `sent`: what it saw before is no evidence any more.
    pub fn passed(&mut self, deployment: &str, pod: &PodId, sent: Timestamp) {
        if let Some(seen) = self.seen.get_mut(deployment)
            && seen.get(pod).is_some_and(|failed| *failed <= sent)
        {
            seen.remove(pod);
        }
    }

    /// Whom a fault of `deployment` concerns now, in a fleet of `pods` pods.
    pub fn reach(&mut self, now: Timestamp, deployment: &str, certainty: Certainty, pods: usize) -> Reach {
        if certainty == Certainty::Stated || pods <= 1 {
            return Reach::Fleet;
        }
        let window = self.window;
        let Some(seen) = self.seen.get_mut(deployment) else { return Reach::Local };
        seen.retain(|_, sent| *sent + window >= now);
        if seen.len() >= WITNESSES { Reach::Fleet } else { Reach::Local }
    }

    /// Since when `deployment` is seen failing: the earliest of what its witnesses saw last. `None` without any.
    pub fn since(&self, deployment: &str) -> Option<Timestamp> {
        self.seen.get(deployment)?.values().min().copied()
    }

    /// Whether `pod` saw `deployment` fail.
    pub fn saw(&self, deployment: &str, pod: &PodId) -> bool {
        self.seen.get(deployment).is_some_and(|seen| seen.contains_key(pod))
    }

    /// Forgets deployments that are gone, after a reload.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.seen.retain(|deployment, _| keep(deployment));
    }
}
