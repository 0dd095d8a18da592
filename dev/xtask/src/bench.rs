//! Runs the benchmarks, each within a bounded time, or counts the instructions of one.
//!
//! Seconds on a shared machine are noise; instruction counts of the same binary and input are not. So a change is
//! judged by `--instructions NAME` before and after, and the seconds are for a first look.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::finding::say;
use crate::metadata::{self, Metadata};
use crate::process::{installed, stdout, wait};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Longest time for one benchmark, in seconds; it is ended after that.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Count the instructions of this benchmark under valgrind instead.
    #[arg(long, value_name = "NAME")]
    instructions: Option<String>,
    /// Arguments for the benchmark, such as a filter.
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// A benchmark target: its package and its name.
type Bench = (String, String);

/// Runs the benchmarks asked for; whether all ended well and in time.
pub(crate) fn run(root: &Path, options: &Options) -> Result<bool> {
    let known = benches(&metadata::read(root)?);
    let chosen: Vec<&Bench> = match &options.instructions {
        None => known.iter().collect(),
        Some(name) => known.iter().filter(|(_, bench)| bench == name).collect(),
    };
    if chosen.is_empty() {
        let names: Vec<&str> = known.iter().map(|(_, bench)| bench.as_str()).collect();
        bail!("no such benchmark; there are: {}", names.join(", "));
    }
    let mut good = true;
    for bench in chosen {
        let binary = build(root, bench)?;
        say(&format!("\n{} / {}", bench.0, bench.1));
        good &= match options.instructions {
            None => timed(&binary, options)?,
            Some(_) => counted(&binary, options)?,
        };
    }
    Ok(good)
}

fn benches(metadata: &Metadata) -> Vec<Bench> {
    let mut found = Vec::new();
    for package in metadata.members() {
        let targets = package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "bench"));
        found.extend(targets.map(|target| (package.name.clone(), target.name.clone())));
    }
    found
}

/// One line of cargo's build messages.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    executable: Option<PathBuf>,
}

fn build(root: &Path, (package, bench): &Bench) -> Result<PathBuf> {
    let messages = stdout(
        Command::new("cargo")
            .args(["bench", "--no-run", "--quiet", "--message-format", "json"])
            .args(["--package", package, "--bench", bench])
            .current_dir(root),
    )?;
    executable(&messages).with_context(|| format!("cargo built no executable for {bench}"))
}

fn executable(messages: &str) -> Option<PathBuf> {
    let parsed = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    parsed.filter_map(|message| message.executable).next_back()
}

fn timed(binary: &Path, options: &Options) -> Result<bool> {
    let mut child = Command::new(binary)
        .arg("--bench")
        .args(&options.arguments)
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| binary.display().to_string())?;
    let ended = wait(&mut child, Duration::from_secs(options.seconds))?;
    if ended.is_none() {
        say(&format!("ended after {} s", options.seconds));
    }
    Ok(ended.is_some_and(|status| status.success()))
}

fn counted(binary: &Path, options: &Options) -> Result<bool> {
    if !installed("valgrind") {
        bail!("valgrind is missing (Debian package: valgrind)");
    }
    let folder = tempfile::tempdir()?;
    let counts = folder.path().join("callgrind.out");
    let mut child = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", counts.display()))
        .arg(binary)
        .arg("--bench")
        .args(&options.arguments)
        .stdin(Stdio::null())
        .spawn()
        .context("cannot start valgrind")?;
    let ended = wait(&mut child, Duration::from_secs(options.seconds))?;
    let total = std::fs::read_to_string(&counts).ok().as_deref().and_then(instructions);
    match total {
        Some(total) => say(&format!("{total} instructions")),
        None => say("no count: the benchmark did not end in time"),
    }
    Ok(total.is_some() && ended.is_some_and(|status| status.success()))
}

/// The total of a callgrind file.
fn instructions(counts: &str) -> Option<u64> {
    let total =
        |line: &str| line.strip_prefix("summary:").or(line.strip_prefix("totals:"))?.trim().parse().ok();
    counts.lines().find_map(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_found_among_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"/t/select-1\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/t/select-1")));
        assert_eq!(executable("{\"reason\":\"build-finished\",\"success\":false}\n"), None);
    }

    #[test]
    fn callgrinds_total_is_read() {
        assert_eq!(instructions("events: Ir\nsummary: 12345\n"), Some(12_345));
        assert_eq!(instructions("events: Ir\n"), None);
    }
}
