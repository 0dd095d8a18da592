//! The release binary beside nginx on the same static upstream: CPU per request and added latency, as ratios.
//!
//! nginx's `proxy_pass` is the floor of what a proxy costs on a machine, so the ratio to it carries over to other
//! machines where the seconds do not. The gateway under test has core 0 to itself; the upstream and the load share
//! core 1. Every round starts each gateway anew, in another order. A request is 1 KiB and so is its answer.

mod load;
mod meter;
mod table;
mod world;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::finding::say;
use crate::process::{installed, succeeds};
use load::Load;
use meter::Meter;
use table::{Figures, Sample};
use world::World;

/// Connections of the two measurements of each round.
const ONE: usize = 1;
const MANY: usize = 64;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// How often each gateway is started and measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Length of one measurement, in seconds.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// The binary to measure; without it the release binary is built.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Loopback port for the gateway; any free one when left out.
    #[arg(long)]
    port: Option<u16>,
    /// Deployments in the gateway's config; one of them serves.
    #[arg(long, default_value_t = 1)]
    deployments: usize,
    /// Write the table to this file too.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The upstream itself, without anything in between.
    Direct,
    Nginx,
    Haleway,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Subject::Direct => "none (direct)",
            Subject::Nginx => "nginx proxy_pass",
            Subject::Haleway => "haleway",
        }
    }
}

/// Measures and prints; `false` when an answer failed, which voids the figures.
pub(crate) fn run(root: &Path, options: &Options) -> Result<bool> {
    refuse_when_missing()?;
    if options.rounds == 0 || options.seconds == 0 || options.deployments == 0 {
        bail!("--rounds, --seconds and --deployments must be at least 1");
    }
    let binary = binary(root, options.binary.as_deref())?;
    let world = World::build(&binary, options.port, options.deployments)?;
    let upstream = world.start(Subject::Direct)?;
    let mut figures = Figures::default();
    let mut order = [Subject::Direct, Subject::Nginx, Subject::Haleway];
    for round in 1..=options.rounds {
        for subject in order {
            say(&format!("round {round} of {}: {}", options.rounds, subject.name()));
            for (connections, sample) in measure(&world, subject, upstream.pid(), options.seconds)? {
                figures.add(subject, connections, sample);
            }
        }
        order.rotate_left(1);
    }
    let table = figures.markdown();
    say(&format!("\n{table}"));
    if let Some(path) = &options.out {
        std::fs::write(path, &table)?;
    }
    if figures.failed() > 0 {
        say(&format!("{} answers failed: these figures do not count", figures.failed()));
    }
    Ok(figures.failed() == 0)
}

fn refuse_when_missing() -> Result<()> {
    let needed = [("wrk", "wrk"), ("nginx", "nginx-light"), ("taskset", "util-linux")];
    let missing: Vec<&str> =
        needed.iter().filter(|(program, _)| !installed(program)).map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        bail!("missing Debian packages: {} (apt-get install {0})", missing.join(" "));
    }
    if std::thread::available_parallelism()?.get() < 2 {
        bail!("two cores are needed: one for the gateway, one for the load");
    }
    Ok(())
}

fn binary(root: &Path, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = given {
        return Ok(std::path::absolute(path)?);
    }
    let mut build = Command::new("cargo");
    if !succeeds(build.args(["build", "--release", "--package", "haleway"]).current_dir(root))? {
        bail!("the release binary does not build");
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/haleway"))
}

/// Starts one subject and measures it with one connection and with many.
fn measure(world: &World, subject: Subject, upstream: u32, seconds: u64) -> Result<Vec<(usize, Sample)>> {
    let started = (subject != Subject::Direct).then(|| world.start(subject)).transpose()?;
    let pid = started.as_ref().map_or(upstream, crate::process::Started::pid);
    let ready_ms = world.ready(subject)?.as_secs_f64() * 1e3;
    let idle_mib = meter::resident_mib(pid);
    world.load(subject, 16, 2)?;
    let mut samples = Vec::new();
    for connections in [ONE, MANY] {
        let meter = Meter::start(pid, (pid != upstream).then_some(upstream))?;
        let Load { requests, failed, p50_us, p99_us } = world.load(subject, connections, seconds)?;
        let used = meter.read()?;
        samples.push((
            connections,
            Sample {
                cpu_us: used.subject.as_secs_f64() * 1e6 / requests.max(1) as f64,
                p50_us,
                p99_us,
                per_second: requests as f64 / seconds as f64,
                idle_mib,
                mib: meter::resident_mib(pid),
                ready_ms,
                failed,
                foreign: used.foreign_cores,
            },
        ));
    }
    Ok(samples)
}
