//! A new configuration in a running gateway: parse → check → diff → swap.
//!
//! Nothing of the old configuration is touched before the new one is known to work, so a bad file changes nothing. What was
//! learnt of a deployment's health stays with its id; its connections stay open. A call keeps the configuration that it
//! began with: the health core knows the deployments of both until those calls have had time to choose, so that none finds
//! its own gone. What only the old configuration has is neither called anew nor probed nor shown in the meantime.

mod diff;
mod watch;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haleway_config::{Config, Diagnostic, FleetRole, Options, Source, load};
use haleway_health::{GroupSpec, Spec};
use parking_lot::Mutex;

pub use diff::Change;

use crate::build::{self, DeploymentParts, StartError};
use crate::gateway::{Gateway, Live};

/// A call has chosen its deployment for good by then, or it waits and finds another.
const CHOOSING: Duration = Duration::from_secs(10);
/// How often it is looked whether calls still hold the configuration before.
const LOOK: Duration = Duration::from_millis(100);

/// Where a configuration comes from, to be read again.
#[derive(Clone)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// Files and environment variables, read anew each time.
    pub source: Arc<dyn Source + Send + Sync>,
    /// How strict the checks are.
    pub options: Options,
    /// The role that the command line said, which outranks the file's.
    pub role: Option<FleetRole>,
    /// The files as they were read last, to see that one changed.
    pub(crate) seen: Arc<Mutex<Vec<(PathBuf, u64)>>>,
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Origin").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Origin {
    /// A configuration in a file that was just read, and the other files that it named.
    pub fn new(
        path: PathBuf,
        source: Arc<dyn Source + Send + Sync>,
        options: Options,
        files: &[PathBuf],
    ) -> Self {
        let seen = Arc::new(Mutex::new(watch::look(&*source, files)));
        Self { path, source, options, role: None, seen }
    }
}

/// Why a configuration stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum Rejected {
    /// The new one has faults; every finding, warnings included.
    #[error("the configuration has faults and was not taken over")]
    Findings(Vec<Diagnostic>),
    /// It passed its checks and cannot be run.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Nobody said where this process's configuration comes from.
    #[error("this process has no file to read its configuration from")]
    NoOrigin,
    /// The file could not be read because the process ends.
    #[error("the process is shutting down")]
    Ending,
}

impl Gateway {
    /// Reads the configuration again and takes it over. Says what changed; logs it, too.
    ///
    /// # Errors
    /// When it cannot be taken over: then nothing has changed.
    pub async fn reload(self: &Arc<Self>) -> Result<Vec<Change>, Rejected> {
        let gateway = Arc::clone(self);
        // Reading files blocks, and checking a large configuration takes its time.
        let reloaded = self.tasks.spawn_blocking(move || gateway.reload_now());
        let result = reloaded.await.unwrap_or(Err(Rejected::Ending)).map(|(changes, before)| {
            let gateway = Arc::clone(self);
            self.tasks.spawn(async move { gateway.forget(&before).await });
            changes
        });
        match &result {
            Ok(changes) if changes.is_empty() => tracing::info!("configuration read again: nothing changed"),
            Ok(changes) => {
                for change in changes {
                    change.log();
                }
                tracing::info!(changes = changes.len(), "configuration reloaded");
            }
            Err(Rejected::Findings(findings)) => {
                for finding in findings {
                    tracing::error!(
                        code = finding.code, file = %finding.file, line = finding.line, column = finding.column,
                        "configuration: {}", finding.message
                    );
                }
                tracing::error!("the configuration was not reloaded; the one before stays in force");
            }
            Err(other) => tracing::error!("the configuration was not reloaded: {other}"),
        }
        result
    }

    /// The same, on this thread and without a word in the log.
    fn reload_now(&self) -> Result<(Vec<Change>, Arc<Live>), Rejected> {
        let origin = self.origin.get().ok_or(Rejected::NoOrigin)?;
        let _one_at_a_time = self.reloading.lock();
        let loaded = load(&origin.path, &*origin.source, &origin.options);
        *origin.seen.lock() = watch::look(&*origin.source, &loaded.files);
        let Some(mut config) = loaded.config else { return Err(Rejected::Findings(loaded.diagnostics)) };
        if let Some(role) = origin.role {
            config.haleway.fleet.role = role;
        }
        Ok(self.take_over(config, &*origin.source)?)
    }

    /// Puts `config` in the place of the configuration before.
    fn take_over(
        &self,
        mut config: Config,
        source: &dyn Source,
    ) -> Result<(Vec<Change>, Arc<Live>), StartError> {
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
        // From here on nothing fails, but for a table that its own check has passed.
        let groups: HashSet<&str> = config.groups().into_iter().collect();
        self.metrics.retain(|known| labels.contains(known), |group| groups.contains(group));
        let deployments = build::deployments(&config, targets, &slots, &parts);
        let table = build::table(&config, &deployments)?;
        let specs: Vec<Spec> = deployments.iter().map(|deployment| build::spec(deployment)).collect();
        let new_groups = build::group_specs(&config, &table);
        let now = self.clock.now();
        self.hub.rebuild(with_those_before(&before, specs), groups_of_both(&before, new_groups), now);
        let live = build::live(config, table, deployments, &self.hub, &self.metrics, &before.stats);
        self.live.store(Arc::new(live));
        self.wake_prober.notify_one();
        Ok((changes, before))
    }

    /// Lets go what only the configuration before knew, once no call that began with it can still be choosing.
    async fn forget(&self, before: &Arc<Live>) {
        let until = tokio::time::Instant::now() + CHOOSING;
        while Arc::strong_count(before) > 1 && tokio::time::Instant::now() < until {
            tokio::select! {
                () = self.shutdown.cancelled() => return,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        let _one_at_a_time = self.reloading.lock();
        let live = self.live.load();
        let specs = live.each().map(|deployment| build::spec(deployment)).collect();
        self.hub.rebuild(specs, build::group_specs(&live.config, &live.table), self.clock.now());
        self.fleet.retain(|id| live.find(id).is_some());
        self.wake_prober.notify_one();
    }
}

/// `specs`, and those of deployments that only the configuration before has.
fn with_those_before(before: &Live, mut specs: Vec<Spec>) -> Vec<Spec> {
    let gone: Vec<Spec> = before
        .each()
        .filter(|deployment| !specs.iter().any(|spec| spec.id == *deployment.id()))
        .map(|deployment| build::spec(deployment))
        .collect();
    specs.extend(gone);
    specs
}

fn groups_of_both(before: &Live, mut groups: Vec<GroupSpec>) -> Vec<GroupSpec> {
    for group in build::group_specs(&before.config, &before.table) {
        if !groups.iter().any(|known| known.name == group.name) {
            groups.push(group);
        }
    }
    groups
}
