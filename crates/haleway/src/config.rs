//! `haleway config check` and `haleway config explain`.

use std::path::Path;
use std::process::ExitCode;

use haleway_config::{Loaded, Options, Severity, explain, load, render, render_rows};

use crate::cli::ConfigCommand;
use crate::output;
use crate::source::System;

/// The file can be served.
const FINE: u8 = 0;
/// It cannot.
const ERRORS: u8 = 1;
/// It could, but `--strict` forbids warnings.
const WARNINGS: u8 = 2;

/// Runs a configuration command.
pub(crate) fn run(command: &ConfigCommand) -> ExitCode {
    match command {
        ConfigCommand::Check { file, strict, json } => check(file, *strict, *json),
        ConfigCommand::Explain { file } => explain_file(file),
    }
}

fn check(file: &Path, strict: bool, json: bool) -> ExitCode {
    let loaded = load(file, &System, &Options { strict });
    if json {
        let findings = serde_json::json!({"diagnostics": loaded.diagnostics});
        output::print(&format!("{findings}\n"));
    } else {
        output::print(&render(&loaded.diagnostics, output::stdout_is_terminal()));
        output::print(&summary(file, &loaded));
    }
    let code = if loaded.count(Severity::Error) > 0 {
        ERRORS
    } else if strict && loaded.count(Severity::Warning) > 0 {
        WARNINGS
    } else {
        FINE
    };
    ExitCode::from(code)
}

fn summary(file: &Path, loaded: &Loaded) -> String {
    let (errors, warnings) = (loaded.count(Severity::Error), loaded.count(Severity::Warning));
    let what = match &loaded.config {
        Some(config) => format!(
            "{} deployments in {} model groups, profile {} ({})",
            config.models.len(),
            config.groups().len(),
            config.haleway.profile.name(),
            config.haleway.profile.reason,
        ),
        None => "cannot be served".to_owned(),
    };
    format!("{}: {what}; {errors} errors, {warnings} warnings\n", file.display())
}

fn explain_file(file: &Path) -> ExitCode {
    let loaded = load(file, &System, &Options::default());
    output::complain(&render(&loaded.diagnostics, output::stderr_is_terminal()));
    match &loaded.config {
        Some(config) => {
            output::print(&render_rows(&explain(config)));
            ExitCode::from(FINE)
        }
        None => ExitCode::from(ERRORS),
    }
}
