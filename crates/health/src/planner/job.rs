//! A probe to be sent, as the planner hands it out and gets it back.

use std::time::Duration;

use crate::{Depth, Generation, Slot, Timestamp, TrialLease};

/// Why a probe is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeReason {
    /// Its interval has passed.
    Interval,
    /// It is in doubt.
    Suspect,
    /// It is out; has it recovered?
    Out,
    /// It is on trial; this probe decides.
    Trial,
    /// A credential was refused once; one free call shows whether it is dead.
    Confirm,
    /// Its whole endpoint is in doubt; this probe stands for all its deployments.
    Representative,
}

impl ProbeReason {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interval => "interval",
            Self::Suspect => "suspect",
            Self::Out => "out",
            Self::Trial => "trial",
            Self::Confirm => "confirm",
            Self::Representative => "representative",
        }
    }
}

/// How many probes may be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeLimits {
    /// In this process.
    pub concurrency: u32,
    /// Per endpoint, unless the deployment's own limit says otherwise.
    pub per_endpoint: u32,
}

impl Default for ProbeLimits {
    /// 16 in all, 4 per endpoint: enough for thousands of deployments per minute, too few to be a load.
    fn default() -> Self {
        Self { concurrency: 16, per_endpoint: 4 }
    }
}

/// One probe to be sent now. It counts as in flight until the hub is told how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeJob {
    /// The deployment.
    pub slot: Slot,
    /// Why.
    pub reason: ProbeReason,
    /// How deep the probe goes.
    pub depth: Depth,
    /// The deployment's free call goes first, and a real one follows only when that did not fail.
    pub free_first: bool,
    /// The trial lease it carries, when it decides a trial.
    pub trial: Option<TrialLease>,
    /// The deployment's generation, to be carried by the outcome.
    pub generation: Generation,
    /// Deadline of the probe, hard.
    pub timeout: Duration,
    /// The spacing in force: between two permits for this deployment lies at least this much, so jitter never makes
    /// two probes of one interval. Zero for a trial or a confirmation, which their own rules space.
    pub min_gap: Duration,
    /// Names this job among all jobs of the process.
    pub ticket: u64,
}

/// How a probe job ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeEnd {
    /// It was sent and judged.
    Verdict(crate::Outcome),
    /// It was sent, or could not be built, and says nothing about health.
    NoEvidence,
    /// It was not sent: no permit before the given time.
    Postponed(Timestamp),
    /// It was not sent: the budget for real probes is used up until the given time. Free calls go on.
    OverBudget(Timestamp),
}
