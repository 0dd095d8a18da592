//! The health core: one state machine per deployment that every reader obeys.
//!
//! What happened is an [`Outcome`] (a class of result, who is to blame, when it was sent). Outcomes and the
//! passing of time move a deployment's machine; what routing may know of it is a verdict in an immutable
//! snapshot. Nothing here reads a clock, draws a random number or does I/O: `now` and seeds are arguments.

mod cause;
mod class;
mod domains;
mod hub;
mod inflight;
mod machine;
mod outcome;
mod pages;
mod panic;
mod params;
mod planner;
mod registry;
mod seed;
mod snapshot;
mod spec;
mod state;
mod time;
mod transition;

pub use cause::Cause;
pub use class::{Class, Effect, Scope};
pub use hub::Hub;
pub use inflight::InFlight;
pub use machine::{Counts, Findings, Machine, SavedMachine};
pub use outcome::{Depth, Generation, Outcome, Proof, Slot, Source, TrialId};
pub use params::{
    AllOut, AllowedFails, IsolationParams, LitellmParams, PanicMode, PanicParams, Params, ProbeDepth,
    ProbeParams, ProbePolicy, Profile, RampParams, StreamParams, WindowParams,
};
pub use planner::{ProbeEnd, ProbeJob, ProbeLimits, ProbeReason};
pub use registry::{
    Bulletin, Counters, Detail, Drained, Due, Event, EventKind, EvidenceDetail, Export, Met, News,
    ObservationDetail, Peer, Registry, Saved, TransitionDetail,
};
pub use snapshot::{
    Entry, GroupReason, GroupState, GroupView, LastResort, PanicState, Rank, Snapshot, Verdict,
};
pub use spec::{GroupIx, GroupSpec, Spec};
pub use state::{Standing, State, Tier};
pub use time::Timestamp;
pub use transition::{GroupFacts, HISTORY, Observation, Operator, Passage, Transition, TrialLease};
