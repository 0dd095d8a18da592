//! The crate from outside: deployments as configured, calls as sent, answers as received.

mod agree;
mod anthropic;
mod calls;
mod common;
mod probe_cases;
mod probes;
mod reference;
mod resolution;
