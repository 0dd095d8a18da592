//! A point in time for decision code: milliseconds since the Unix epoch on the process's own clock.
//!
//! The clock is read from outside (wall clock at start plus monotonic time since), so it never runs backwards
//! within a process, works on a paused test clock, and can be stored and compared after a restart.

use std::time::Duration;

/// Milliseconds since the Unix epoch on the process's monotonic clock.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Later than everything: an end that only a configuration change or an operator brings.
    pub const MAX: Self = Self(u64::MAX);

    /// A timestamp of `millis` milliseconds since the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The same moment on a clock that shows `millis` more. Zero, which stands for unset, and [`Self::MAX`] stay.
    #[must_use]
    pub const fn shifted(self, millis: i64) -> Self {
        match self.0 {
            0 | u64::MAX => self,
            at => {
                let moved = at.saturating_add_signed(millis);
                Self(if moved == 0 { 1 } else { moved })
            }
        }
    }

    /// Time left until `later`; zero when `later` has passed.
    pub const fn until(self, later: Self) -> Duration {
        later.since(self)
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl std::ops::Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }
}
