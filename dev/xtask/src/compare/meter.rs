//! CPU time and memory of processes, as the kernel counts them.
//!
//! `schedstat` counts nanoseconds on a core per thread; ticks of `stat` would be too coarse for short runs. What
//! the machine did besides (`foreign`) is told with every figure, since a shared core makes all of them worse.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::Stopwatch;

/// A measurement under way.
#[derive(Debug)]
pub(super) struct Meter {
    subject: u32,
    upstream: Option<u32>,
    watch: Stopwatch,
    at_start: Reading,
}

/// What was used between start and end of a measurement.
#[derive(Debug)]
pub(super) struct Used {
    /// CPU time of the subject, all its processes and threads.
    pub(super) subject: Duration,
    /// Cores kept busy by anything that is not part of the measurement.
    pub(super) foreign_cores: f64,
}

#[derive(Debug)]
struct Reading {
    subject: Duration,
    upstream: Duration,
    /// Programs this one started and has waited for: the load.
    ended: Duration,
    machine: Duration,
}

impl Meter {
    /// Starts to measure `subject`, which leans on `upstream` unless it is the upstream.
    pub(super) fn start(subject: u32, upstream: Option<u32>) -> Result<Self> {
        Ok(Self { subject, upstream, watch: Stopwatch::start(), at_start: Reading::take(subject, upstream)? })
    }

    /// Ends the measurement.
    pub(super) fn read(self) -> Result<Used> {
        let now = Reading::take(self.subject, self.upstream)?;
        let before = self.at_start;
        let subject = now.subject.saturating_sub(before.subject);
        let ours =
            subject + now.upstream.saturating_sub(before.upstream) + now.ended.saturating_sub(before.ended);
        let machine = now.machine.saturating_sub(before.machine);
        let foreign = machine.saturating_sub(ours).as_secs_f64() / self.watch.read().as_secs_f64();
        Ok(Used { subject, foreign_cores: foreign })
    }
}

impl Reading {
    fn take(subject: u32, upstream: Option<u32>) -> Result<Self> {
        let own = fs::read_to_string("/proc/self/stat")?;
        let machine = fs::read_to_string("/proc/stat")?;
        Ok(Self {
            subject: cpu(subject),
            upstream: upstream.map_or(Duration::ZERO, cpu),
            ended: ticks(waited_for(&own).context("/proc/self/stat reads otherwise than expected")?),
            machine: ticks(busy(&machine).context("/proc/stat reads otherwise than expected")?),
        })
    }
}

fn ticks(count: u64) -> Duration {
    Duration::from_secs_f64(count as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// A process and everything below it.
fn family(pid: u32) -> Vec<u32> {
    let mut members = vec![pid];
    for thread in threads(pid) {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).unwrap_or_default();
        let children: Vec<u32> = children.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        members.extend(children.into_iter().flat_map(family));
    }
    members
}

fn threads(pid: u32) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// CPU time of a process and everything below it so far.
fn cpu(pid: u32) -> Duration {
    let mut total = 0;
    for member in family(pid) {
        for thread in threads(member) {
            let line =
                fs::read_to_string(format!("/proc/{member}/task/{thread}/schedstat")).unwrap_or_default();
            total += line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Duration::from_nanos(total)
}

/// Resident memory of a process and everything below it, in MiB.
pub(super) fn resident_mib(pid: u32) -> f64 {
    let status = |member| fs::read_to_string(format!("/proc/{member}/status")).unwrap_or_default();
    let kib: u64 = family(pid).into_iter().filter_map(|member| resident_kib(&status(member))).sum();
    kib as f64 / 1024.0
}

fn resident_kib(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Ticks of all cores that were not idle, from the first line of `/proc/stat`.
fn busy(stat: &str) -> Option<u64> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let counts: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [user, nice, system, _idle, _wait, irq, soft_irq, ..] = counts.as_slice() else {
        return None;
    };
    Some(user + nice + system + irq + soft_irq)
}

/// Ticks of ended and waited-for children, from `/proc/self/stat`.
fn waited_for(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    Some(fields.get(13)?.parse::<u64>().ok()? + fields.get(14)?.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_are_not_busy() {
        assert_eq!(busy("cpu  10 1 5 900 80 2 3 0 0 0\ncpu0 1 1\n"), Some(21));
        assert_eq!(busy("cpu0 10 1 5\n"), None);
    }

    #[test]
    fn time_of_ended_children_is_found_behind_any_name() {
        let stat = "42 (a b) c) S 1 2 3 4 5 6 7 8 9 10 100 50 7 8 20 0 1 0";
        assert_eq!(waited_for(stat), Some(15));
    }

    #[test]
    fn this_process_uses_cpu_and_memory() {
        let own = std::process::id();
        assert!(cpu(own) > Duration::ZERO);
        assert!(resident_mib(own) > 0.5);
        assert!(family(own).contains(&own));
    }
}
