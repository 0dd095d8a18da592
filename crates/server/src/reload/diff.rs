//! What one configuration changes of another, in words that hold no secret.

use std::collections::{HashMap, HashSet};

use haleway_config::{Config, ExplainRow, Fleet, Model, RedisNodes, explain};
use haleway_health::Slot;
use haleway_providers::Target;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::gateway::Live;

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A deployment that was not there before.
    DeploymentAdded {
        /// Its id.
        id: String,
        /// Its model group.
        model_group: String,
    },
    /// A deployment that is gone: it is neither called nor probed any more.
    DeploymentRemoved {
        /// Its id.
        id: String,
        /// Its model group.
        model_group: String,
    },
    /// A deployment that is called, probed or judged otherwise.
    DeploymentChanged {
        /// Its id.
        id: String,
        /// Its model group.
        model_group: String,
        /// What of it: keys of the file; of an `api_key` only that it changed.
        fields: Vec<&'static str>,
    },
    /// A health value for all deployments, or for a group.
    Health {
        /// `global` or `group NAME`.
        scope: String,
        /// The key below `haleway.health`.
        key: String,
        /// The value before.
        from: String,
        /// The value now.
        to: String,
    },
    /// Other settings of a section.
    Section {
        /// Its name.
        section: &'static str,
    },
    /// A setting that is read at start only: it changes nothing until this process is started again.
    NeedsRestart {
        /// The key.
        key: &'static str,
    },
}

impl Change {
    /// Says it in the log.
    pub(super) fn log(&self) {
        match self {
            Self::DeploymentAdded { id, model_group } => {
                tracing::info!(deployment = %id, group = %model_group, "reload: deployment added");
            }
            Self::DeploymentRemoved { id, model_group } => {
                tracing::info!(deployment = %id, group = %model_group, "reload: deployment removed");
            }
            Self::DeploymentChanged { id, model_group, fields } => {
                let fields = fields.join(", ");
                tracing::info!(deployment = %id, group = %model_group, fields, "reload: deployment changed");
            }
            Self::Health { scope, key, from, to } => {
                tracing::info!(scope, key, from, to, "reload: health value changed");
            }
            Self::Section { section } => tracing::info!(section, "reload: settings changed"),
            Self::NeedsRestart { key } => {
                tracing::warn!(key, "reload: this setting is read at start only, and needs a restart");
            }
        }
    }
}

/// What happens to deployments.
pub(super) fn deployments(before: &Live, config: &Config, targets: &[Target]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (model, target) in config.models.iter().zip(targets) {
        let (id, model_group) = (model.id.to_string(), model.name.to_string());
        match before.find(&model.id) {
            None => changes.push(Change::DeploymentAdded { id, model_group }),
            Some(old) => {
                let fields = fields(&old.model, &old.target, model, target);
                if !fields.is_empty() {
                    changes.push(Change::DeploymentChanged { id, model_group, fields });
                }
            }
        }
    }
    let there: HashSet<&str> = config.models.iter().map(|model| &*model.id).collect();
    for old in before.each().filter(|old| !there.contains(&**old.id())) {
        let (id, model_group) = (old.id().to_string(), old.model.name.to_string());
        changes.push(Change::DeploymentRemoved { id, model_group });
    }
    changes
}

fn fields(old: &Model, old_target: &Target, new: &Model, target: &Target) -> Vec<&'static str> {
    let shown = |model: &Model| format!("{:?}", (model.params.clone(), &model.params.rest));
    let routed = |model: &Model| format!("{:?}", model.routing(Slot(0)));
    let judged = |model: &Model| {
        format!(
            "{:?}",
            (&model.health, model.probe, model.probe_params, model.budget, &model.statuses, model.timeouts)
        )
    };
    let table = [
        ("model_name", old.name != new.name),
        ("model", old_target.full_model != target.full_model),
        ("api_base", old_target.api_base != target.api_base),
        ("api_key", old_target.credential != target.credential),
        ("mode", old_target.mode != target.mode),
        ("litellm_params", shown(old) != shown(new) || routed(old) != routed(new)),
        ("model_info", format!("{:?}", old.info) != format!("{:?}", new.info)),
        ("prices", old_target.prices != target.prices),
        ("catalogue", format!("{:?}", old_target.known) != format!("{:?}", target.known)),
        ("health", judged(old) != judged(new)),
    ];
    let mut fields: Vec<_> =
        table.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
    // The whole is named only when none of its parts says it better.
    if fields.iter().any(|field| ["model", "api_base", "api_key"].contains(field)) {
        fields.retain(|field| *field != "litellm_params");
    }
    fields
}

/// What happens to settings of more than one deployment.
pub(super) fn settings(old: &Config, new: &Config) -> Vec<Change> {
    let mut changes = Vec::new();
    let values = |config: &Config| -> HashMap<(String, String), String> {
        let of_all = |row: &ExplainRow| !row.scope.starts_with("deployment ");
        explain(config).into_iter().filter(of_all).map(|row| ((row.scope, row.key), row.value)).collect()
    };
    let (before, after) = (values(old), values(new));
    for ((scope, key), to) in &after {
        let from = before.get(&(scope.clone(), key.clone()));
        if from != Some(to) {
            let from = from.cloned().unwrap_or_default();
            changes.push(Change::Health { scope: scope.clone(), key: key.clone(), from, to: to.clone() });
        }
    }
    changes.sort_by_key(|change| format!("{change:?}"));
    let secret = |key: &Option<SecretString>| key.as_ref().map(|key| key.expose_secret().to_owned());
    let sections = [
        ("router_settings", format!("{:?}", old.router) != format!("{:?}", new.router)),
        (
            "general_settings",
            format!("{:?}", old.general) != format!("{:?}", new.general)
                || secret(&old.general.master_key) != secret(&new.general.master_key),
        ),
        ("litellm_settings", format!("{:?}", old.litellm) != format!("{:?}", new.litellm)),
        ("haleway.errors", old.haleway.all_out_status != new.haleway.all_out_status),
    ];
    let differing = sections.into_iter().filter(|(_, differs)| *differs);
    changes.extend(differing.map(|(section, _)| Change::Section { section }));
    changes
}

/// What a running process cannot follow.
pub(super) fn needs_restart(old: &Config, new: &Config) -> Vec<Change> {
    let fleet = |config: &Config| (format!("{:?}", config.haleway.fleet), passwords(&config.haleway.fleet));
    let store = |config: &Config| {
        let store = config.haleway.store.as_ref();
        store.map(|store| (store.url.expose_secret().to_owned(), store.retention, store.max_rows))
    };
    let table = [
        ("haleway.admin_listen", old.haleway.admin_listen != new.haleway.admin_listen),
        ("haleway.fleet", fleet(old) != fleet(new)),
        ("haleway.store", store(old) != store(new)),
        ("litellm_settings.json_logs", old.litellm.json_logs != new.litellm.json_logs),
        ("litellm_settings.set_verbose", old.litellm.set_verbose != new.litellm.set_verbose),
    ];
    table.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| Change::NeedsRestart { key }).collect()
}

/// What the debug text of a fleet's settings hides.
fn passwords(fleet: &Fleet) -> [Option<String>; 2] {
    let Some(redis) = &fleet.redis else { return [None, None] };
    let of_sentinels = match &redis.nodes {
        RedisNodes::Sentinel { password, .. } => password.as_ref(),
        RedisNodes::Single(_) | RedisNodes::Cluster(_) => None,
    };
    [redis.password.as_ref(), of_sentinels].map(|key| key.map(|key| key.expose_secret().to_owned()))
}
