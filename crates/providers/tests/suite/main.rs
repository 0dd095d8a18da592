//! The crate from outside: deployments as configured, calls as sent, answers as received.

mod agree;
mod calls;
mod common;
mod probe_cases;
mod probes;
mod resolution;
