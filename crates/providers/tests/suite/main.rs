//! The crate from outside: deployments as configured, calls as sent, answers as received.

mod common;
mod probe_cases;
