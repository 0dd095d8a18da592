//! A new configuration in a running gateway: parse → check → diff → swap.
//!
//! Nothing of the old configuration is touched before the new one is known to work, so a bad file changes nothing. What was
//! learnt of a deployment's health stays with its id; its connections stay open. A call keeps the configuration that it
//! began with (`held`). Whoever asked for a reload may go away: it is carried to its end, and logged, regardless.

mod diff;
mod held;
mod origin;
mod stored;
mod watch;

use std::collections::HashSet;
use std::sync::Arc;

use haleway_config::{Config, Diagnostic, Severity, Source};
use serde::Serialize;
use tokio::sync::OwnedMutexGuard;

pub use diff::Change;
pub(crate) use held::Held;
pub use origin::Origin;
pub(crate) use stored::LeftOut;

use crate::build::{self, DeploymentParts, StartError};
use crate::gateway::Gateway;

/// A configuration that was taken over.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Reloaded {
    /// What it changed.
    pub changed: Vec<Change>,
    /// What was found in it: warnings and notes, as at start.
    pub diagnostics: Vec<Diagnostic>,
}

/// Which text of the files counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// What they hold now.
    Anew,
    /// What they held when they were last good.
    LastGood,
}

/// Why a configuration stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum Rejected {
    /// The new one has faults; every finding, warnings included.
    #[error("the configuration has faults and was not taken over")]
    Findings(Vec<Diagnostic>),
    /// Nobody said where this process's configuration comes from.
    #[error("this process has no file to read its configuration from")]
    NoOrigin,
    /// The file could not be read because the process ends.
    #[error("the process is shutting down")]
    Ending,
}

impl Gateway {
    /// Reads the configuration again and takes it over. Logs what changed and what was found.
    ///
    /// # Errors
    /// When it cannot be taken over: then nothing has changed.
    pub async fn reload(self: &Arc<Self>) -> Result<Reloaded, Rejected> {
        self.reload_from(Files::Anew).await
    }

    /// The same, with the files as they are now or as they were when they were last good.
    pub(crate) async fn reload_from(self: &Arc<Self>, files: Files) -> Result<Reloaded, Rejected> {
        let gateway = Arc::clone(self);
        let reloading = self.tasks.spawn(async move {
            let result = gateway.reload_in_turn(files).await;
            log(&result);
            result
        });
        reloading.await.unwrap_or(Err(Rejected::Ending))
    }

    async fn reload_in_turn(self: &Arc<Self>, files: Files) -> Result<Reloaded, Rejected> {
        let mut held = Arc::clone(&self.held).lock_owned().await;
        let gateway = Arc::clone(self);
        // Reading files blocks, and checking a large configuration takes its time.
        let reloaded = self.tasks.spawn_blocking(move || {
            let result = gateway.reload_now(&mut held, files);
            (result, held)
        });
        let (result, mut held) = reloaded.await.map_err(|_| Rejected::Ending)?;
        if held.begins_to_let_go() {
            let gateway = Arc::clone(self);
            self.tasks.spawn(async move { gateway.let_go().await });
        }
        result
    }

    fn reload_now(&self, held: &mut OwnedMutexGuard<Held>, files: Files) -> Result<Reloaded, Rejected> {
        let origin = self.origin.get().ok_or(Rejected::NoOrigin)?;
        let (loaded, left_out) = stored::load(origin, files, self.stored.models());
        self.stored.leave_out(left_out);
        let Some(config) = loaded.config else { return Err(Rejected::Findings(loaded.diagnostics)) };
        match self.take_over(config, &*origin.source, held) {
            Ok(changed) => Ok(Reloaded { changed, diagnostics: loaded.diagnostics }),
            Err(error) => {
                let mut findings = loaded.diagnostics;
                findings.push(cannot_start(&error, &origin.path.display().to_string()));
                Err(Rejected::Findings(findings))
            }
        }
    }

    /// Puts `config` in the place of the configuration before.
    fn take_over(
        &self,
        mut config: Config,
        source: &dyn Source,
        held: &mut Held,
    ) -> Result<Vec<Change>, StartError> {
        let before = self.live.load_full();
        let late = diff::needs_restart(&before.config, &config);
        config.haleway.fleet = before.config.haleway.fleet.clone();
        let targets = build::targets(&config, source)?;
        let names = config.models.iter().zip(&targets);
        let slots = self.hub.slots_for(names.map(|(model, target)| (&*model.id, target.mode.as_str())));
        let labels: HashSet<_> =
            config.models.iter().zip(&targets).map(|(model, target)| build::labels(model, target)).collect();
        let mut changes = diff::deployments(&before, &config, &targets);
        changes.extend(diff::settings(&before.config, &config));
        changes.extend(late);
        let parts = DeploymentParts {
            network: &self.network,
            metrics: &self.metrics,
            credentials: &self.credentials,
            before: Some(&before),
        };
        let deployments = build::deployments(&config, targets, &slots, &parts);
        let table = build::table(&config, &deployments)?;
        // From here on nothing fails.
        let groups: HashSet<&str> = config.groups().into_iter().collect();
        self.metrics.retain(|known| labels.contains(known), |group| groups.contains(group));
        held.keep(&before);
        held.fit(&self.hub, &config, &table, &deployments, self.clock.now());
        let calls = config.haleway.calls;
        self.retries.change(calls.retry_share, calls.retry_reserve);
        let live = build::live(config, table, deployments, &self.hub, &self.metrics, &before.stats);
        self.live.store(Arc::new(live));
        self.wake_prober.notify_one();
        Ok(changes)
    }
}

/// A configuration that passed its checks and leads nowhere, as a finding.
fn cannot_start(error: &StartError, file: &str) -> Diagnostic {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(under) = cause {
        message = format!("{message}: {under}");
        cause = under.source();
    }
    Diagnostic {
        code: "cannot-start",
        severity: Severity::Error,
        file: file.to_owned(),
        line: 0,
        column: 0,
        message,
        hint: None,
        source: None,
        width: 0,
    }
}

fn log(result: &Result<Reloaded, Rejected>) {
    match result {
        Ok(Reloaded { changed, diagnostics }) => {
            log_findings(diagnostics);
            for change in changed {
                change.log();
            }
            match changed.len() {
                0 => tracing::info!("configuration read again: nothing changed"),
                changes => tracing::info!(changes, "configuration reloaded"),
            }
        }
        Err(Rejected::Findings(findings)) => {
            log_findings(findings);
            tracing::error!("the configuration was not reloaded; the one before stays in force");
        }
        Err(other) => tracing::error!("the configuration was not reloaded: {other}"),
    }
}

fn log_findings(findings: &[Diagnostic]) {
    for Diagnostic { code, severity, file, line, column, message, .. } in findings {
        match severity {
            Severity::Error => tracing::error!(code, %file, line, column, "configuration: {message}"),
            Severity::Warning => tracing::warn!(code, %file, line, column, "configuration: {message}"),
            Severity::Note => tracing::debug!(code, %file, line, column, "configuration: {message}"),
        }
    }
}
