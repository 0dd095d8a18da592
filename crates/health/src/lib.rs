//! The health core: one state machine per deployment that every reader obeys.
//!
//! What happened is an [`Outcome`] (a class of result, who is to blame, when it was sent). Outcomes and the
//! passing of time move a deployment's machine; what routing may know of it is a verdict in an immutable
//! snapshot. Nothing here reads a clock, draws a random number or does I/O: `now` and seeds are arguments.

mod class;
mod outcome;
mod params;
mod time;

pub use class::{Class, Effect, Scope};
pub use outcome::{Depth, Generation, Outcome, Slot, Source, TrialId};
pub use params::{
    AllOut, AllowedFails, IsolationParams, LitellmParams, PanicMode, PanicParams, Params, ProbeParams, ProbePolicy,
    Profile, RampParams, StreamParams, WindowParams,
};
pub use time::Timestamp;
