//! The one place that reads the wall clock.
//!
//! Decision code compares [`Timestamp`]s, which are wall-clock milliseconds at start plus the monotonic time
//! since: they never run backwards in a process, are comparable after a restart, and stand still on a paused
//! test clock.

use std::time::Duration;

use haleway_health::Timestamp;
use tokio::time::Instant;

/// Maps `tokio`'s monotonic clock to [`Timestamp`]s and back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_millis: u64,
}

impl Clock {
    /// A clock that starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the one reading of the wall clock")]
    pub fn start() -> Self {
        let since_epoch = std::time::SystemTime::now()
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Self { start: Instant::now(), start_millis: u64::try_from(since_epoch.as_millis()).unwrap_or(0) }
    }

    /// The present.
    pub fn now(&self) -> Timestamp {
        self.at(Instant::now())
    }

    /// The timestamp of a monotonic instant; instants before the start are the start.
    pub fn at(&self, instant: Instant) -> Timestamp {
        Timestamp::from_millis(self.start_millis) + instant.saturating_duration_since(self.start)
    }

    /// The monotonic instant of a timestamp; timestamps before the start are the start.
    pub fn instant(&self, timestamp: Timestamp) -> Instant {
        self.start + timestamp.since(Timestamp::from_millis(self.start_millis))
    }
}
