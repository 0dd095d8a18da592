//! Running other programs, and waiting for them within a bound.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "these tasks measure and bound real programs, so they live on the real clock"
)]

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};

/// How often a condition is looked at while waiting for it.
const POLL: Duration = Duration::from_millis(2);

/// Time since some moment, for reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn read(self) -> Duration {
        self.0.elapsed()
    }
}

/// The standard output of a program that must succeed.
pub(crate) fn stdout(command: &mut Command) -> Result<String> {
    let shown = describe(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!("{shown} failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).with_context(|| format!("{shown} printed something that is not text"))
}

/// Runs a program with its output on the terminal; whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let shown = describe(command);
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("cannot start {shown}"))?;
    Ok(status.success())
}

/// The command as a person would type it.
fn describe(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Whether a program of this name is on the search path.
pub(crate) fn installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// Looks at `condition` until it holds or `bound` has passed; whether it held.
pub(crate) fn wait_until(bound: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let watch = Stopwatch::start();
    while !condition() {
        if watch.read() > bound {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}

/// Waits for a program to end; after `bound` it is ended and `None` returned.
pub(crate) fn wait(child: &mut Child, bound: Duration) -> Result<Option<ExitStatus>> {
    let mut ended = None;
    let mut failure = None;
    wait_until(bound, || match child.try_wait() {
        Ok(status) => {
            ended = status;
            ended.is_some()
        }
        Err(error) => {
            failure = Some(error);
            true
        }
    });
    if let Some(error) = failure {
        return Err(error).context("waiting for a program");
    }
    if ended.is_none() {
        stop(child);
    }
    Ok(ended)
}

/// Asks a program to end, and ends it when it has not after five seconds.
pub(crate) fn stop(child: &mut Child) {
    let asked = Pid::from_raw(child.id().cast_signed())
        .is_some_and(|pid| rustix::process::kill_process(pid, Signal::TERM).is_ok());
    let bound = if asked { Duration::from_secs(5) } else { Duration::ZERO };
    if !wait_until(bound, || !matches!(child.try_wait(), Ok(None))) {
        drop(child.kill());
        drop(child.wait());
    }
}

/// A program that ends when this value does.
#[derive(Debug)]
pub(crate) struct Started(pub(crate) Child);

impl Started {
    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        stop(&mut self.0);
    }
}
