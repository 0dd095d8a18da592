//! `haleway config check` and `haleway config explain`.

use std::path::Path;
use std::process::ExitCode;

use haleway_config::{KeyLists, Loaded, Options, Severity, explain, load, render, render_rows, schema};

use crate::cli::ConfigCommand;
use crate::output;
use crate::source::System;

/// The file can be served.
const FINE: u8 = 0;
/// It cannot.
const ERRORS: u8 = 1;
/// It could, but `--strict`, or the file itself, forbids warnings.
const WARNINGS: u8 = 2;

/// Runs a configuration command.
pub(crate) fn run(command: &ConfigCommand) -> ExitCode {
    match command {
        ConfigCommand::Check { file, strict, json } => check(file, *strict, *json),
        ConfigCommand::Explain { file } => explain_file(file),
        ConfigCommand::Schema => {
            output::print(&format!("{:#}\n", schema()));
            ExitCode::from(FINE)
        }
    }
}

fn check(file: &Path, strict: bool, json: bool) -> ExitCode {
    let loaded = load(file, &System, &Options { strict });
    if json {
        let findings = serde_json::json!({"diagnostics": loaded.diagnostics, "keys": loaded.keys});
        output::print(&format!("{findings}\n"));
    } else {
        output::print(&render(&loaded.diagnostics, output::stdout_is_terminal()));
        output::print(&lists(&loaded.keys));
        output::print(&summary(file, &loaded));
    }
    let code = if loaded.count(Severity::Error) > 0 {
        ERRORS
    } else if loaded.strict && loaded.count(Severity::Warning) > 0 {
        WARNINGS
    } else {
        FINE
    };
    ExitCode::from(code)
}

/// What becomes of every key of LiteLLM's that the file sets.
fn lists(keys: &KeyLists) -> String {
    let inert: Vec<String> =
        keys.without_effect.iter().map(|key| format!("{} ({})", key.key, key.why)).collect();
    let lists = [
        ("supported", &keys.supported, ", "),
        ("passed on as they are", &keys.passed_on, ", "),
        ("accepted without effect", &inert, "\n  "),
        ("unknown", &keys.unknown, ", "),
    ];
    let shown = lists.into_iter().filter(|(_, keys, _)| !keys.is_empty());
    shown.map(|(what, keys, between)| format!("{} {what}:\n  {}\n", keys.len(), keys.join(between))).collect()
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
