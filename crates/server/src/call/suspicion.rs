//! Whose fault is a 500? The request's, when the same request fails the same way on another deployment too.
//!
//! The evidence of a plain 500 waits for the next attempt of the same call. If that one is served, the deployment
//! failed. If it fails alike, both failures carry the request's fingerprint, and the health core counts them only when
//! another request fails alike as well (report D20: one poisoned prompt must not take every deployment out).

use crate::call::guard::Evidence;

/// Evidence that waits for the next attempt. Dropping it reports it as it is.
#[derive(Debug, Default)]
pub(super) struct Suspicion {
    waiting: Option<Evidence>,
    shared: Option<u64>,
}

impl Suspicion {
    /// Takes in the evidence of a failed attempt.
    pub(super) fn weigh(&mut self, evidence: Evidence, fingerprint: impl FnOnce() -> u64) {
        if !evidence.may_be_the_requests_fault() {
            evidence.report();
            return;
        }
        if let Some(fingerprint) = self.shared {
            evidence.shared(fingerprint);
            return;
        }
        match self.waiting.take() {
            Some(first) if first.deployment().slot != evidence.deployment().slot => {
                let fingerprint = fingerprint();
                first.shared(fingerprint);
                evidence.shared(fingerprint);
                self.shared = Some(fingerprint);
            }
            Some(first) => {
                // The same deployment again: that the request is at fault is no likelier than before.
                first.report();
                self.waiting = Some(evidence);
            }
            None => self.waiting = Some(evidence),
        }
    }

    /// The request was served elsewhere: the deployment that failed it is to blame.
    pub(super) fn acquit(&mut self) {
        if let Some(evidence) = self.waiting.take() {
            evidence.report();
        }
    }
}
