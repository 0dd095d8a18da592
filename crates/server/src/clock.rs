//! The one place that reads the wall clock.
//!
//! Decision code compares [`Timestamp`]s: wall-clock milliseconds at start plus the time since, which never runs
//! backwards in a process and is comparable after a restart. A serving process takes that time from the boot clock,
//! which goes on while the machine sleeps, so that a permit or an isolation is as old as it is; tests take it from
//! `tokio`, so that it stands still on a paused clock.

use std::time::Duration;

use haleway_health::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// Maps `tokio`'s monotonic clock to [`Timestamp`]s and back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Instant,
    start_millis: u64,
    /// The boot clock at the start, where it is the one to go by.
    boot: Option<Duration>,
}

/// Time since the machine was started, with the time in which it slept.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl Clock {
    /// A clock that starts now and goes by `tokio`'s.
    #[expect(clippy::disallowed_methods, reason = "this is the one reading of the wall clock")]
    pub fn start() -> Self {
        let since_epoch = std::time::SystemTime::now()
            .duration_since(std::time::SystemTime::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        Self {
            start: Instant::now(),
            start_millis: u64::try_from(since_epoch.as_millis()).unwrap_or(0),
            boot: None,
        }
    }

    /// A clock that starts now and goes on while the machine sleeps.
    pub fn start_with_boot_clock() -> Self {
        Self { boot: Some(since_boot()), ..Self::start() }
    }

    /// The present.
    pub fn now(&self) -> Timestamp {
        match self.boot {
            Some(boot) => Timestamp::from_millis(self.start_millis) + since_boot().saturating_sub(boot),
            None => {
                Timestamp::from_millis(self.start_millis)
                    + Instant::now().saturating_duration_since(self.start)
            }
        }
    }

    /// The timestamp of a monotonic instant; instants before the start are the start.
    pub fn at(&self, instant: Instant) -> Timestamp {
        let start = Timestamp::from_millis(self.start_millis);
        match self.boot {
            Some(_) => {
                let (now, monotonic) = (self.now(), Instant::now());
                let past = now - monotonic.saturating_duration_since(instant);
                (past + instant.saturating_duration_since(monotonic)).max(start)
            }
            None => start + instant.saturating_duration_since(self.start),
        }
    }

    /// The monotonic instant of a timestamp; timestamps before the start are the start.
    pub fn instant(&self, timestamp: Timestamp) -> Instant {
        let start = Timestamp::from_millis(self.start_millis);
        match self.boot {
            Some(_) => {
                let (now, monotonic) = (self.now(), Instant::now());
                let later = monotonic + now.until(timestamp);
                later.checked_sub(timestamp.until(now)).unwrap_or(self.start)
            }
            None => self.start + timestamp.since(start),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_clocks_map_there_and_back() {
        for clock in [Clock::start(), Clock::start_with_boot_clock()] {
            let now = clock.now();
            for span in [0, 5, 60_000] {
                let later = now + Duration::from_millis(span);
                let back = clock.at(clock.instant(later));
                assert!(
                    back.since(later).max(later.since(back)) < Duration::from_secs(1),
                    "{later:?} {back:?}"
                );
            }
        }
    }
}
