//! Effective health values, in layers. Each layer overrides the ones before it, value by value, and leaves its
//! origin:
//!
//! 1. the preset of the profile,
//! 2. environment variables,
//! 3. LiteLLM's keys under `general_settings` and `router_settings`,
//! 4. `haleway.health`,
//! 5. `haleway.groups.<group>`,
//! 6. LiteLLM's keys of the deployment (`model_info`, `litellm_params.cooldown_time`),
//! 7. `model_info.haleway`.
//!
//! Last, times that nobody set follow those that somebody did ([`Draft::settle`]).

mod draft;
pub(crate) mod fields;
mod litellm;
pub(crate) mod scope;
pub(crate) mod text;

pub(crate) use draft::Draft;
pub(crate) use litellm::{Cooldown, General, Router, deployment};
