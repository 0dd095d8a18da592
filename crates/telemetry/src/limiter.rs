//! Repeated messages: logged on change, counted otherwise.
//!
//! A deployment that is out may fail thousands of calls a minute; the log needs one line when it begins and one
//! per period with the count. A message that keeps changing is limited too.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use haleway_health::Timestamp;
use parking_lot::Mutex;

/// Lines that one key may cause per period by changing its message.
const CHANGES_MAX: u32 = 5;
/// Keys remembered; those whose period is over make room first.
const KEYS_MAX: usize = 4_096;

#[derive(Debug)]
struct Entry {
    message: u64,
    period_began: Timestamp,
    lines: u32,
    suppressed: u64,
}

/// Decides which repeated messages are logged.
#[derive(Debug)]
pub struct RepeatLimiter {
    period: Duration,
    entries: Mutex<HashMap<Box<str>, Entry>>,
}

/// A line to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Messages under the same key that were not logged since the last line.
    pub suppressed: u64,
}

impl RepeatLimiter {
    /// At most one line per key, message and `period`.
    pub fn new(period: Duration) -> Self {
        Self { period, entries: Mutex::default() }
    }

    /// Whether `message` under `key` (such as a deployment's id) is to be logged now.
    pub fn admit(&self, now: Timestamp, key: &str, message: &str) -> Option<Logged> {
        let message = BuildHasherDefault::<DefaultHasher>::default().hash_one(message);
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get_mut(key) {
            let over = now.since(entry.period_began) >= self.period;
            if over {
                (entry.period_began, entry.lines) = (now, 0);
            }
            if !over && (entry.message == message || entry.lines >= CHANGES_MAX) {
                entry.suppressed += 1;
                return None;
            }
            entry.lines += 1;
            entry.message = message;
            return Some(Logged { suppressed: std::mem::take(&mut entry.suppressed) });
        }
        if entries.len() >= KEYS_MAX {
            entries.retain(|_, entry| now.since(entry.period_began) < self.period);
        }
        if entries.len() >= KEYS_MAX {
            return None;
        }
        entries.insert(key.into(), Entry { message, period_began: now, lines: 1, suppressed: 0 });
        Some(Logged { suppressed: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(60);

    const fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(seconds * 1_000)
    }

    #[test]
    fn h05_ten_thousand_failures_are_a_handful_of_lines_with_the_count() {
        let limiter = RepeatLimiter::new(PERIOD);
        let lines: Vec<u64> = (0..10_000)
            .filter_map(|n| limiter.admit(at(n / 50), "d1", "in cooldown"))
            .map(|line| line.suppressed)
            .collect();
        assert_eq!(lines, [0, 2_999, 2_999, 2_999]);
    }

    #[test]
    fn h05_a_change_is_logged_at_once_and_flapping_is_not_a_way_round() {
        let limiter = RepeatLimiter::new(PERIOD);
        assert!(limiter.admit(at(0), "d1", "out").is_some());
        assert_eq!(limiter.admit(at(1), "d1", "out"), None);
        assert_eq!(limiter.admit(at(2), "d1", "back"), Some(Logged { suppressed: 1 }));
        assert!(limiter.admit(at(2), "d2", "out").is_some());
        let flaps = (0..1_000)
            .filter(|n| limiter.admit(at(3), "d1", if n % 2 == 0 { "out" } else { "back" }).is_some());
        assert_eq!(flaps.count(), 3);
    }

    #[test]
    fn keys_are_bounded() {
        let limiter = RepeatLimiter::new(PERIOD);
        let logged = (0..10_000).filter(|n| limiter.admit(at(0), &n.to_string(), "x").is_some()).count();
        assert_eq!(logged, KEYS_MAX);
        assert!(limiter.admit(at(60), "new", "x").is_some());
    }
}
