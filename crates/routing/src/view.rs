//! What routing reads about health, and nothing more.
//!
//! The server gives a view of one health snapshot per decision. A view answers by slot from memory; ranks have
//! panic and the group's safety nets already composed, so routing adds no rule about health of its own.

use std::fmt;

use haleway_health::{Slot, Timestamp};

use crate::table::GroupIx;

/// How a deployment may be used now, for selection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// 0 = in rotation; 1 to 254 = last resort, lower is better; [`Admission::OUT`] = never.
    pub rank: u8,
    /// One caller's request may claim the trial of this deployment.
    pub trial: bool,
    /// Share of its normal weight, 0 to 1.
    pub weight: f32,
}

impl Admission {
    /// The rank of a deployment that must not be used.
    pub const OUT: u8 = u8::MAX;

    /// In rotation at full weight.
    pub const IN: Self = Self { rank: 0, trial: false, weight: 1.0 };
}

/// When a group's last-resort candidates may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastResort {
    /// Never.
    Never,
    /// Once every fallback group is out too.
    AfterFallback,
    /// As soon as no better candidate is untried.
    AtOnce,
}

/// What health says about a group as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRule {
    /// When last-resort candidates may be used.
    pub last_resort: LastResort,
    /// A call may wait for the soonest return instead of being refused (`all_out: wait`).
    pub wait: bool,
    /// The soonest known return of a member that is out.
    pub soonest_return: Option<Timestamp>,
}

impl GroupRule {
    /// Nothing special: last-resort candidates at once, no waiting.
    pub const CALM: Self = Self { last_resort: LastResort::AtOnce, wait: false, soonest_return: None };
}

/// Why health keeps a deployment out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// Kind of state: `cooldown`, `probe_failed`, `auth`, `operator`, …
    pub code: &'static str,
    /// The cause in one word, such as a class of error; empty when there is none.
    pub cause: &'static str,
    /// HTTP status behind it; 0 when there is none.
    pub status: u16,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code)?;
        match (self.status, self.cause) {
            (0, "") => Ok(()),
            (0, cause) => write!(f, "({cause})"),
            (status, _) => write!(f, "({status})"),
        }
    }
}

/// One snapshot of health.
pub trait Health {
    /// How `slot` may be used. Called once or twice per candidate: must be cheap.
    fn admission(&self, slot: Slot) -> Admission;
    /// The state of `group` as a whole.
    fn group(&self, group: GroupIx) -> GroupRule;
    /// Why `slot` is out; asked only for explanations.
    fn why(&self, slot: Slot) -> Why;
}
