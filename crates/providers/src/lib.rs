//! Providers as data and code: where a call goes, what it looks like, what its answer means.
//!
//! [`resolve`] turns a deployment's parameters into a [`Target`]. [`Target::call`] builds a client's call and
//! [`Target::probe`] a probe, on the same road; [`judge`] reads a probe's answer. The [`registry`] holds the
//! providers as rows, `wires` what differs between their formats, the [`catalogue`] what is known about models.

mod bridge;
mod call;
pub mod catalogue;
pub mod classify;
pub mod credential;
mod events;
mod forward;
mod mode;
pub mod objects;
mod operation;
pub mod prefill;
mod probe;
mod reference;
pub mod registry;
mod resolve;
mod route;
mod sigv4;
mod target;
mod wires;

pub use call::{
    Call, CallOptions, ClientBody, Follow, Progress, Refusal, Reply, Step, Translator, UnsignedCall,
    Untranslatable, is_usage_chunk,
};
pub use classify::{Answer, Fault, Transport, classify, classify_transport, first_event};
pub use events::{EventError, EventReader, Framing};
pub use forward::Caller;
pub use mode::{Mode, ModeOrigin, mode_of_name};
pub use objects::{Action, Errand, Posted};
pub use operation::Operation;
pub use probe::{
    CannotProbe, Expectation, Finding, HttpCheck, Judgement, Probe, ProbeAnswer, ProbeMemory, ProbePrice,
    ProbeSettings, judge,
};
pub use reference::reference;
pub use registry::Provider;
pub use resolve::{DeploymentSource, ModelName, ResolveError, known_of, mode_of, resolve, split_model};
pub use target::Target;
pub use wires::chat::events_of;
pub use wires::gemini::live::{Dialogue, Turn};
