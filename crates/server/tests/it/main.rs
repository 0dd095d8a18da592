//! The whole gateway against mock providers, on the paused clock.

mod files;
mod harness;
mod page;
mod probes;
mod recorded;
mod routing;
mod seeds;
