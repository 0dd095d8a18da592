//! The states of a deployment, and what each of them means to a router.
//!
//! Eleven states, of which four take traffic by themselves. A router never reads the state: it reads the
//! [`Standing`] that the state implies now, so a new state cannot be forgotten by a reader.

use std::fmt;

use crate::{Generation, Timestamp};

/// The state of one deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// No evidence, or none that is young enough.
    Unknown,
    /// The latest evidence is good.
    Healthy,
    /// Some evidence is bad, not enough to act on.
    Suspect,
    /// Out by inference from failures, or by a failed probe.
    Isolated,
    /// The isolation is over; one attempt decides.
    Trial,
    /// Back, with a share that grows.
    Ramping,
    /// Out because the configuration is at fault: credential, permission, model name.
    ConfigFault,
    /// Out because the account cannot pay.
    Budget,
    /// Switched off by an operator.
    AdminDown,
    /// Switched off by an operator, finishing what it has.
    Draining,
    /// Kept in by an operator, whatever the evidence.
    ForcedUp,
}

impl State {
    /// Every state, in the order of declaration.
    pub const ALL: [Self; 11] = [
        Self::Unknown,
        Self::Healthy,
        Self::Suspect,
        Self::Isolated,
        Self::Trial,
        Self::Ramping,
        Self::ConfigFault,
        Self::Budget,
        Self::AdminDown,
        Self::Draining,
        Self::ForcedUp,
    ];

    /// The stable machine name, in capitals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "UNKNOWN",
            Self::Healthy => "HEALTHY",
            Self::Suspect => "SUSPECT",
            Self::Isolated => "ISOLATED",
            Self::Trial => "TRIAL",
            Self::Ramping => "RAMPING",
            Self::ConfigFault => "CONFIG_FAULT",
            Self::Budget => "BUDGET",
            Self::AdminDown => "ADMIN_DOWN",
            Self::Draining => "DRAINING",
            Self::ForcedUp => "FORCED_UP",
        }
    }

    /// The value of `haleway_deployment_state`: below 10 in rotation, from 10 on its way back, from 20 out by
    /// health, from 30 out by an operator.
    pub const fn number(self) -> u8 {
        match self {
            Self::Healthy => 0,
            Self::Unknown => 1,
            Self::Suspect => 2,
            Self::ForcedUp => 3,
            Self::Ramping => 4,
            Self::Trial => 10,
            Self::Isolated => 20,
            Self::Budget => 21,
            Self::ConfigFault => 22,
            Self::Draining => 30,
            Self::AdminDown => 31,
        }
    }

    /// Whether ordinary traffic may go there without any safety net.
    pub const fn eligible(self) -> bool {
        match self {
            Self::Unknown | Self::Healthy | Self::Suspect | Self::Ramping | Self::ForcedUp => true,
            Self::Isolated
            | Self::Trial
            | Self::ConfigFault
            | Self::Budget
            | Self::AdminDown
            | Self::Draining => false,
        }
    }

    /// Whether an operator put it there: only an operator or a set time ends it.
    pub const fn by_operator(self) -> bool {
        match self {
            Self::AdminDown | Self::Draining | Self::ForcedUp => true,
            Self::Unknown
            | Self::Healthy
            | Self::Suspect
            | Self::Isolated
            | Self::Trial
            | Self::Ramping
            | Self::ConfigFault
            | Self::Budget => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How good a candidate a deployment is, best first. Panic and safety nets go down this list and never reach
/// [`Tier::Never`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// In rotation.
    In,
    /// A stated or assumed wait after a 429 or 529 is running.
    Held,
    /// Out by inference from traffic.
    Cooling,
    /// Out because a probe failed.
    ProbeFailed,
    /// Out for a known cause: auth, billing, model gone, operator. No safety net includes it.
    Never,
}

/// What routing needs to know of one deployment at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The class of candidate.
    pub tier: Tier,
    /// Share of the normal weight, 0 to 1. In [`Tier::In`] and [`Tier::Held`] it is the share to use; in the
    /// other tiers it is 0.
    pub weight: f32,
    /// To be carried by outcomes of attempts that start now.
    pub generation: Generation,
    /// Whether one attempt may be claimed as the trial. When the tier is [`Tier::Never`], the trial tests a
    /// configuration or budget fault: a probe should take it, and a caller's request only where no probe can.
    pub trial_open: bool,
    /// When the hold, the isolation or the wait for a re-test ends, when that is known.
    pub held_until: Option<Timestamp>,
}
