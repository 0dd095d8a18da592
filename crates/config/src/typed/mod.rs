//! The checked configuration: one field per setting that has an effect, secrets wrapped, every health value with
//! its origin. A [`Config`] exists only when no finding is an error.

mod fleet;
mod general;
mod haleway;
mod model;
mod router;
mod store;

pub use fleet::{Fleet, FleetRole, LitellmKeys, Redis, RedisAddress, RedisNodes};
pub use general::{General, Litellm};
pub use haleway::{Budget, Calls, Haleway, Limits, PhaseTimeouts, ProfileChoice, TraceLevel};
pub use model::{LitellmParams, Model, ModelInfo, Origins, Place};
pub use router::Router;
pub use store::Store;

use std::collections::BTreeMap;

use secrecy::{ExposeSecret, SecretString};

use crate::Source;

/// A whole configuration, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// `model_list`, in order, includes appended.
    pub models: Vec<Model>,
    /// `router_settings`, completed from `litellm_settings`.
    pub router: Router,
    /// `general_settings`.
    pub general: General,
    /// What else of `litellm_settings` has an effect.
    pub litellm: Litellm,
    /// The `haleway` section.
    pub haleway: Haleway,
    /// `environment_variables`: stand in for variables that the process environment lacks.
    pub environment: BTreeMap<String, SecretString>,
}

impl Config {
    /// The environment variable `name` as deployments see it: the process environment first, then
    /// `environment_variables`.
    pub fn var(&self, source: &dyn Source, name: &str) -> Option<String> {
        source.var(name).or_else(|| self.environment.get(name).map(|value| value.expose_secret().to_owned()))
    }

    /// The text of a file that a deployment's credential is described in, if it can be read now.
    pub fn file(&self, source: &dyn Source, path: &str) -> Option<String> {
        source.read(std::path::Path::new(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok())
    }

    /// Names of the model groups, each once, in order of first appearance.
    pub fn groups(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        self.models.iter().map(|model| &*model.name).filter(|name| seen.insert(*name)).collect()
    }
}
