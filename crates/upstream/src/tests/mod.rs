//! The transport against mock providers: in memory and on the paused clock, but for what only real sockets show.

mod bed;
mod bodies;
mod connections;
mod credentials;
mod deadlines;
mod isolation;
mod sockets;
