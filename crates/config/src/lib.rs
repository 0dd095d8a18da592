//! LiteLLM's config.yaml, read with positions, checked whole, lowered to typed settings.
//!
//! Three stages, one direction. `yaml` turns bytes into a tree whose every node knows its place and is read as
//! PyYAML reads it; includes and `os.environ/` references are applied to that tree. `lower` reads the tree into
//! a [`Config`] and reports every finding on the way, never only the first. `check` looks at the whole: groups,
//! fallbacks, times that do not fit together. The presets and the order in which they are overridden are in
//! `lower::health`; which keys exist and what each does here is data, in [`keys`] and [`env`].

mod check;
mod diag;
pub mod env;
mod explain;
pub mod keys;
mod load;
mod lower;
mod origin;
mod reference;
mod schema;
mod source;
mod stored;
mod tree;
mod typed;
mod yaml;

pub use diag::{CODES, Diagnostic, KeyLists, Severity, WithoutEffect, is_secret_key, render};
pub use explain::{ExplainRow, explain, render_rows};
pub use load::{Loaded, Options, load, load_with};
pub use lower::health::fields::names as health_keys;
pub use origin::Origin;
pub use reference::litellm_keys;
pub use schema::schema;
pub use source::Source;
pub use stored::StoredModel;
pub use typed::{
    Budget, Calls, Config, Fleet, FleetRole, General, Haleway, Limits, Litellm, LitellmKeys, LitellmParams,
    Model, ModelInfo, Origins, PhaseTimeouts, Place, ProfileChoice, Redis, RedisAddress, RedisNodes, Router,
    Store, TraceLevel,
};
