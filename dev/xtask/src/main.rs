//! Development tasks: `cargo xtask check` before every push, and the measurements that changes are judged by.
//!
//! `check` is the whole of the project's rules that a machine can see; each rule also runs alone under its own
//! name. A rule reports findings (file, line, what, and what to do), never a bare "no".

mod bench;
mod check;
mod compare;
mod finding;
mod generated;
mod layers;
mod licences;
mod metadata;
mod mutants;
mod process;
mod settings;
mod sizes;
mod tree;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use check::Rule;
use finding::say;

#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", about = "Development tasks of Haleway")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Every rule below, with a summary at the end.
    Check,
    /// Formatting of every crate.
    Fmt,
    /// Lints of every crate and target; a warning is a failure.
    Clippy,
    /// A crate may use only crates of lower layers, and pure crates reach no I/O.
    Layers,
    /// Every field of the typed configuration is read by some crate: a setting that is accepted has its effect.
    Settings,
    /// Length of files and functions.
    Sizes,
    /// Licences of everything that is built, and dependencies that are never allowed.
    Licences,
    /// Text that has no place in the repository: machine paths, registry hosts, unfinished or silenced code.
    Words,
    /// Writes the generated reference pages; with --check only compares them.
    Gen {
        /// Compare with what is committed, write nothing.
        #[arg(long)]
        check: bool,
    },
    /// Breaks the health core and the fleet on purpose, patch by patch, and expects the named test to notice.
    Mutants,
    /// Runs the benchmarks, each within a bounded time.
    Bench(bench::Options),
    /// Measures the release binary beside nginx on the same upstream.
    Compare(compare::Options),
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("xtask: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// Runs one task; `false` means it ran and found something.
fn run(task: Task) -> anyhow::Result<bool> {
    let root = tree::root()?;
    match task {
        Task::Check => check::all(&root),
        Task::Fmt => check::one(Rule::Fmt, &root),
        Task::Clippy => check::one(Rule::Clippy, &root),
        Task::Layers => check::one(Rule::Layers, &root),
        Task::Settings => check::one(Rule::Settings, &root),
        Task::Sizes => check::one(Rule::Sizes, &root),
        Task::Licences => check::one(Rule::Licences, &root),
        Task::Words => check::one(Rule::Words, &root),
        Task::Gen { check: true } => check::one(Rule::Generated, &root),
        Task::Gen { check: false } => generated::write(&root),
        Task::Mutants => mutants::run(&root),
        Task::Bench(options) => bench::run(&root, &options),
        Task::Compare(options) => compare::run(&root, &options),
    }
}
