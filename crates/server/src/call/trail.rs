//! Which candidates were passed over or failed, for the caller. Costs nothing while all is well.

use std::sync::Arc;
use std::time::Duration;

use haleway_health::{Class, PanicState, Snapshot, Timestamp};
use haleway_routing::{Attempt, CallPlan, GroupIx, Health, SkipReason, Stats, View};

use crate::call::failure::Failed;
use crate::deployment::Deployment;

/// The candidates of a call that did not serve it.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    text: String,
    candidates: Vec<Candidate>,
    /// The group whose members were looked at last.
    looked: Option<GroupIx>,
    panic: Option<&'static str>,
    waited: Duration,
}

/// A candidate that did not serve.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) id: Arc<str>,
    pub(crate) group: String,
    /// As in the header: a word, for skipped ones with its detail.
    pub(crate) reason: String,
    /// Set when it was tried.
    pub(crate) tried: Option<Tried>,
}

/// How a candidate failed.
#[derive(Debug)]
pub(crate) struct Tried {
    pub(crate) class: Class,
    /// What the provider answered; 0 without an answer.
    pub(crate) status: u16,
    /// From the beginning of the attempt to its end.
    pub(crate) took: Duration,
}

impl Trail {
    /// Notes what the group is in, and which members of a group that is entered health kept out.
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
        if self.looked.replace(attempt.group) == Some(attempt.group) {
            return;
        }
        let out =
            |slot| snapshot.entry(slot).rank != haleway_health::Rank::In || snapshot.entry(slot).spared();
        if !view.table.slots(attempt.group).any(out) {
            return;
        }
        for skipped in plan.skipped(now, view) {
            let known = self.candidates.iter().any(|candidate| candidate.id == skipped.id);
            if matches!(skipped.reason, SkipReason::Health(_)) && !known {
                self.note(skipped.id, plan.model(), skipped.reason.text(now), None);
            }
        }
    }

    /// Notes a failed attempt that took `took`.
    pub(crate) fn failed(&mut self, deployment: &Deployment, failed: &Failed, took: Duration) {
        let tried = Tried { class: failed.class, status: failed.upstream_status, took };
        let id = Arc::clone(deployment.id());
        self.note(id, &deployment.model.name, failed.word(), Some(tried));
    }

    /// Notes that the call waited.
    pub(crate) fn waited(&mut self, span: Duration) {
        self.waited += span;
    }

    /// How long the call waited between its attempts.
    pub(crate) const fn waits(&self) -> Duration {
        self.waited
    }

    /// The candidates that did not serve, in order.
    pub(crate) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Failed attempts of the call.
    pub(crate) fn failures(&self) -> u32 {
        count(self.candidates.iter().filter(|candidate| candidate.tried.is_some()))
    }

    /// Failed attempts in the group named `group`.
    pub(crate) fn failures_in(&self, group: &str) -> u32 {
        count(
            self.candidates.iter().filter(|candidate| candidate.tried.is_some() && candidate.group == group),
        )
    }

    /// What the group of the present attempt was in when it was chosen, if it was not calm.
    pub(crate) const fn panic(&self) -> Option<&'static str> {
        self.panic
    }

    /// `id=reason` of each, in order.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn note(&mut self, id: Arc<str>, group: &str, reason: String, tried: Option<Tried>) {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(&id);
        self.text.push('=');
        self.text.push_str(&reason);
        self.candidates.push(Candidate { id, group: group.to_owned(), reason, tried });
    }
}

fn count<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> u32 {
    u32::try_from(candidates.count()).unwrap_or(u32::MAX)
}
