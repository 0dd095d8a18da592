//! The HTTP face of the gateway and the life of a request.
//!
//! [`Gateway`] is the running whole; [`call`] is what happens to a model call, top to bottom; `prober` sends probes and
//! keeps time for the health core; `routes` answers everything else; [`serve`] listens and drains.

pub mod auth;
mod body;
mod build;
pub mod call;
mod clock;
mod deployment;
mod errands;
pub mod error;
mod events;
pub mod fleet;
mod gateway;
mod memory;
mod prober;
mod reload;
mod routes;
pub mod serve;
mod stored;
mod view;

pub use body::{Body, BodyError};
pub use build::{Parts, StartError};
pub use clock::Clock;
pub use deployment::{AttemptLimits, CallLimits, Deployment, Names};
pub use gateway::{Gateway, Live};
pub use haleway_fleet::FleetHandle;
pub use memory::Memory;
pub use prober::{Asked, OnDemand, Report, Reports, SHOWN_HEADERS, Verdict, ledger, probe_now};
pub use reload::{Change, Origin, Rejected, Reloaded};
pub use routes::Routes;
