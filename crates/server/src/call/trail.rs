//! Which candidates were passed over or failed, for the caller's headers. Costs nothing while all is well.

use haleway_health::{PanicState, Snapshot, Timestamp};
use haleway_routing::{Attempt, CallPlan, Health, SkipReason, Stats, View};

use crate::call::failure::Failed;
use crate::deployment::Deployment;

/// The candidates of a call that did not serve it.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    text: String,
    failed: Vec<String>,
    looked: bool,
    panic: Option<&'static str>,
}

impl Trail {
    /// Notes what the group is in, and which members of the first group health kept out.
    pub(crate) fn passed_over<H: Health + ?Sized, S: Stats + ?Sized>(
        &mut self,
        now: Timestamp,
        plan: &CallPlan<'_>,
        attempt: &Attempt,
        view: &View<'_, H, S>,
        snapshot: &Snapshot,
    ) {
        let group = snapshot.group_of(attempt.slot).and_then(|group| snapshot.group(group));
        self.panic =
            group.map(|group| group.panic).filter(|panic| *panic != PanicState::Calm).map(PanicState::as_str);
        if std::mem::replace(&mut self.looked, true) {
            return;
        }
        let out =
            |slot| snapshot.entry(slot).rank != haleway_health::Rank::In || snapshot.entry(slot).spared();
        if !view.table.slots(attempt.group).any(out) {
            return;
        }
        for skipped in plan.skipped(now, view) {
            if matches!(skipped.reason, SkipReason::Health(_)) {
                self.note(&skipped.id, &skipped.reason.text(now));
            }
        }
    }

    /// Notes a failed attempt.
    pub(crate) fn failed(&mut self, deployment: &Deployment, failed: &Failed) {
        self.failed.push(deployment.model.name.to_string());
        self.note(deployment.id(), &failed.word());
    }

    /// Failed attempts of the call.
    pub(crate) fn failures(&self) -> u32 {
        u32::try_from(self.failed.len()).unwrap_or(u32::MAX)
    }

    /// Failed attempts in the group named `group`.
    pub(crate) fn failures_in(&self, group: &str) -> u32 {
        u32::try_from(self.failed.iter().filter(|name| *name == group).count()).unwrap_or(u32::MAX)
    }

    /// What the group of the present attempt was in when it was chosen, if it was not calm.
    pub(crate) const fn panic(&self) -> Option<&'static str> {
        self.panic
    }

    /// `id=reason` of each, in order.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn note(&mut self, id: &str, reason: &str) {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(id);
        self.text.push('=');
        self.text.push_str(reason);
    }
}
