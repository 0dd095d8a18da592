//! The haleway command. This file is the table of contents; each entry is a module.

mod admin;
mod cli;
mod config;
mod demo;
mod flags;
mod incidents;
mod output;
mod probe;
mod serve;
mod source;
mod status;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Cli, Command};

// Fewer and smaller arenas than the system's: memory of many idle streams is given back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Incidents(args)) => incidents::run(&args),
        Some(Command::Status(args)) => status::run(&args),
        Some(Command::Probe(args)) => return probe::run(&args),
        Some(Command::Config(command)) => return config::run(&command),
        None => serve::run(&cli.serve),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}
