//! The connection to the store: when it is lost, what is done when it returns, and what is said of it.
//!
//! One line when it is lost and one when it is restored, however often single calls fail in between. After it returns,
//! the pod first pulls what others found, then publishes its own, so that old news never overwrites newer; then it waits
//! [`SETTLE`], in which heartbeats of the others arrive, before it claims.

use std::time::Duration;

use haleway_health::Timestamp;

use super::HEARTBEAT;

/// Failed calls in a row after which the store counts as lost.
const LOST_AFTER: u32 = 2;
/// Time between the return of the store and the first claim.
const SETTLE: Duration = Duration::from_secs(HEARTBEAT.as_secs() * 2);

/// Why a call to the store failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// No connection.
    Unreachable,
    /// No answer within the deadline.
    Silent,
    /// It takes no writes.
    ReadOnly,
    /// It has no memory left.
    Full,
    /// It is still loading its data.
    Loading,
    /// It refuses our credentials or a command.
    Refused,
}

impl Trouble {
    /// The stable word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Silent => "silent",
            Self::ReadOnly => "read_only",
            Self::Full => "full",
            Self::Loading => "loading",
            Self::Refused => "refused",
        }
    }
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Try to reach the store.
    Reach,
    /// Read what the fleet knows.
    Pull,
    /// Write what this pod knows.
    Publish,
    /// Nothing: the store is there.
    Go,
}

/// What to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Shared state is lost; probes that cost pause.
    Lost(Trouble),
    /// Shared state is back after this long.
    Restored(Duration),
}

/// The connection to the store. A pod starts without one.
#[derive(Clone, Debug)]
pub struct Link {
    step: Step,
    failures: u32,
    /// When the store was lost, if that was said.
    lost_at: Option<Timestamp>,
    settled_at: Timestamp,
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl Link {
    /// Not yet reached.
    pub const fn new() -> Self {
        Self { step: Step::Reach, failures: 0, lost_at: None, settled_at: Timestamp::MAX }
    }

    /// What to do next.
    pub const fn step(&self) -> Step {
        self.step
    }

    /// Whether the store is there, as far as anybody was told.
    pub const fn is_up(&self) -> bool {
        matches!(self.step, Step::Go)
    }

    /// Whether permits may be claimed.
    pub fn open(&self, now: Timestamp) -> bool {
        self.is_up() && now >= self.settled_at
    }

    /// Takes note of a failed call; answers what to say.
    pub fn failed(&mut self, now: Timestamp, trouble: Trouble) -> Option<Line> {
        self.failures = self.failures.saturating_add(1);
        match self.step {
            Step::Go if self.failures < LOST_AFTER => None,
            Step::Reach | Step::Pull | Step::Publish | Step::Go => {
                self.step = Step::Reach;
                if self.lost_at.is_some() || self.failures < LOST_AFTER {
                    return None;
                }
                self.lost_at = Some(now);
                Some(Line::Lost(trouble))
            }
        }
    }

    /// Takes note that the step that was asked for succeeded, or, with the store there, any call; answers what to say.
    pub fn succeeded(&mut self, now: Timestamp) -> Option<Line> {
        self.step = match self.step {
            Step::Reach => Step::Pull,
            Step::Pull => Step::Publish,
            Step::Publish => {
                self.failures = 0;
                self.settled_at = now + SETTLE;
                self.step = Step::Go;
                return self.lost_at.take().map(|at| Line::Restored(at.until(now)));
            }
            Step::Go => {
                self.failures = 0;
                Step::Go
            }
        };
        None
    }
}
