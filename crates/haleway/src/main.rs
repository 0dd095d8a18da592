//! The haleway command.

fn main() {}
