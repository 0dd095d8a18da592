//! A permit: the right to send exactly one probe, soon.
//!
//! It cannot be copied, only this crate makes one, and the sender consumes it. So no path through the code sends
//! a paid probe without one, and none sends two.

use std::sync::Arc;
use std::time::Duration;

use haleway_health::Timestamp;

/// Time from the start of the claim in which a permit must be used: a holder that was paused in between drops it,
/// and a sample is lost rather than doubled.
pub const USE_WITHIN: Duration = Duration::from_secs(2);

/// The right to send one probe.
///
/// ```compile_fail,E0382
/// # use haleway_fleet::Permit;
/// # use haleway_health::Timestamp;
/// fn two_probes(permit: Permit, now: Timestamp) {
///     let first = permit.redeem(now);
///     let second = permit.redeem(now);
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is dropped is a probe that is not sent until its hold ends"]
pub struct Permit {
    grant: Grant,
}

/// A permit that was used: what a verdict is committed with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    seq: u64,
    deployment: Arc<str>,
    granted_at: Timestamp,
}

/// The permit was held too long to be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the permit for a probe of {deployment} was not used within {} s", USE_WITHIN.as_secs())]
pub struct TooLate {
    /// The deployment that is not probed now.
    pub deployment: Arc<str>,
}

impl Permit {
    pub(crate) const fn new(seq: u64, deployment: Arc<str>, granted_at: Timestamp) -> Self {
        Self { grant: Grant { seq, deployment, granted_at } }
    }

    /// The deployment that may be probed.
    pub fn deployment(&self) -> &str {
        &self.grant.deployment
    }

    /// Its number: the fencing token.
    pub const fn seq(&self) -> u64 {
        self.grant.seq
    }

    /// The last moment at which the probe may be sent.
    pub fn use_by(&self) -> Timestamp {
        self.grant.granted_at + USE_WITHIN
    }

    /// Uses the permit: the probe is sent now.
    ///
    /// # Errors
    /// When `now` is past [`Permit::use_by`]. The permit is gone then, too.
    pub fn redeem(self, now: Timestamp) -> Result<Grant, TooLate> {
        if now > self.use_by() {
            return Err(TooLate { deployment: self.grant.deployment });
        }
        Ok(self.grant)
    }
}

impl Grant {
    /// Grows with every grant of the deployment: the fencing token.
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// The deployment that was probed.
    pub fn deployment(&self) -> &str {
        &self.deployment
    }

    /// When the permit was granted: the age of the evidence counts from here.
    pub const fn granted_at(&self) -> Timestamp {
        self.granted_at
    }
}
