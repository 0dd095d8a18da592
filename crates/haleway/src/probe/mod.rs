//! `haleway probe`: one probe per deployment down the road of traffic, with its verdict and its price; or, with
//! `--dry-run`, what would be sent, where, and what a day of it costs.
//!
//! The gateway is built as for serving, and serves nothing. A deployment that is not named is probed within its policy:
//! what is never probed is skipped, and of what is costly only the free call is made.

mod plan;
mod send;
mod shown;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use haleway_config::{Loaded, Options, Severity, load, render};
use haleway_server::{Deployment, Gateway};

use crate::cli::{Format, ProbeArgs};
use crate::output;
use crate::serve::{gateway, init_logs, install_crypto, runtime};
use crate::source::System;

/// Every deployment is healthy, or was skipped; or nothing was to be sent.
const FINE: u8 = 0;
/// One is not.
const UNHEALTHY: u8 = 1;
/// The configuration cannot be served, or nothing in it was selected.
const CONFIG: u8 = 2;

/// Runs the command.
pub(crate) fn run(args: &ProbeArgs) -> ExitCode {
    match start(args).and_then(|(gateway, chosen)| finish(args, &gateway, &chosen)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::error(&error);
            ExitCode::from(CONFIG)
        }
    }
}

/// The gateway and the selected deployments.
fn start(args: &ProbeArgs) -> anyhow::Result<(Arc<Gateway>, Vec<Arc<Deployment>>)> {
    let mut log = args.log.clone();
    // What is wrong with a deployment is in its row; logs are for those who ask for them.
    log.log_level.get_or_insert_with(|| "error".to_owned());
    let loaded = load(&args.file, &System, &Options { strict: false });
    let config = checked(&args.file, loaded)?;
    init_logs(&log, Some(&config))?;
    install_crypto()?;
    let gateway = gateway(config)?;
    let live = gateway.live.load_full();
    let wanted = |deployment: &Deployment| {
        args.id.as_deref().is_none_or(|id| **deployment.id() == *id)
            && args.group.as_deref().is_none_or(|group| *deployment.model.name == *group)
    };
    let chosen: Vec<_> = live.each().filter(|deployment| wanted(deployment)).cloned().collect();
    if chosen.is_empty() {
        let what = match (&args.id, &args.group) {
            (Some(id), _) => format!("no deployment {id:?}"),
            (None, Some(group)) => format!("no deployment in a group {group:?}"),
            (None, None) => "no deployment".to_owned(),
        };
        anyhow::bail!("{}: there is {what}", args.file.display());
    }
    Ok((gateway, chosen))
}

/// The configuration, with errors told; warnings are for `haleway config check`.
fn checked(file: &Path, loaded: Loaded) -> anyhow::Result<haleway_config::Config> {
    let Loaded { config, mut diagnostics, .. } = loaded;
    let Some(config) = config else {
        diagnostics.retain(|finding| finding.severity == Severity::Error);
        output::complain(&render(&diagnostics, output::stderr_is_terminal()));
        anyhow::bail!("{} cannot be served: {} errors; nothing was sent", file.display(), diagnostics.len());
    };
    Ok(config)
}

fn finish(args: &ProbeArgs, gateway: &Arc<Gateway>, chosen: &[Arc<Deployment>]) -> anyhow::Result<u8> {
    if args.dry_run {
        let plans = plan::Plans::of(gateway, chosen, args.pods);
        output::print(&match args.format {
            Format::Table => plans.render(),
            Format::Json => plans.json(),
        });
        return Ok(FINE);
    }
    let named = args.id.is_some() || args.group.is_some();
    let found = runtime()?.block_on(send::all(gateway, chosen, named));
    output::print(&match args.format {
        Format::Table => found.render(),
        Format::Json => found.json(),
    });
    Ok(if found.all_healthy() { FINE } else { UNHEALTHY })
}
