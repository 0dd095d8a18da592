//! The whole gateway against mock providers, on the paused clock.

mod harness;
