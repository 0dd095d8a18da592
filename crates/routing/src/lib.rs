//! Which deployments may serve a call, in what order, within what budget.
//!
//! Everything here is a pure decision. A [`Table`] is built once per configuration and resolves names; its
//! `select` picks a deployment by health rank, order and strategy; a [`CallPlan`] walks one call through retries
//! and fallbacks inside one budget. Health comes in as a [`Health`] view of one snapshot, load as [`Stats`], time
//! and random numbers as arguments.

mod failure;
mod input;
mod plan;
mod refusal;
mod retry;
mod select;
mod share;
mod stats;
mod table;
mod view;

#[cfg(test)]
mod testing;

pub use failure::Failure;
pub use input::{
    Alias, DEFAULT_MAX_FALLBACKS, DEFAULT_NUM_RETRIES, Deployment, Fallbacks, Settings, Strategy,
};
pub use plan::{Attempt, Call, CallPlan, Failed, GiveUp, Step, View};
pub use refusal::{Refusal, RefusalKind};
pub use retry::RetryPolicy;
pub use select::{Choice, Facts, Query, Reach, SkipReason, Skipped};
pub use share::RetryShare;
pub use stats::{NoStats, Running, Sample, Stats, StatsTable, Used};
pub use table::{
    BuildError, Captures, FallbackKind, GroupIx, Hop, MAX_STARS, NoSuchModel, Resolution, Table,
    TableBuilder, Unresolved, Via, fallback_cycles,
};
pub use view::{Admission, GroupRule, Health, LastResort, Why};
