//! Transport to providers: one pool of connections per deployment, a deadline per phase, and bodies that
//! flow no faster than their reader.
//!
//! What this crate decides, and why:
//! - **Isolation.** Every deployment has its own [`Upstream`], so its own pool: a hanging provider fills nothing
//!   that another one needs.
//! - **Five clocks, five reasons.** Connect, first byte, first token, gap between tokens, total. A [`Fault`] names
//!   the one that ran out, because each means something else about the deployment.
//! - **A stale connection is nobody's failure.** A kept-alive connection that turns out to be closed before a single
//!   byte of the answer is replaced once, silently.
//! - **Dropping cancels.** There is no task between the caller and the socket: whoever drops the [`Reply`] or the
//!   [`Relay`] closes the exchange.
//! - **Credentials are fetched ahead.** One [`Credentials`] holds one credential per distinct source and renews it
//!   before it ends; a call waits for one only when there is none at all.
//! - **Local faults are named as such** ([`FaultKind::Local`]): running out of file descriptors says nothing about a
//!   provider.
//!
//! Redirects are not followed: a provider that redirects is a configuration fault, and the credential must not travel.

mod client;
mod connect;
mod credentials;
mod deadline;
mod fault;
mod network;
mod relay;
mod socket;
mod watch;

#[cfg(test)]
mod tests;

pub use client::{Connection, Reply, Settings, Upstream};
pub use credentials::{CredentialFault, CredentialHandle, CredentialState, Credentials, Lease};
pub use deadline::{Deadlines, Phase};
pub use fault::{Fault, FaultKind};
pub use network::{Dial, Dialled, Dialling, Network, NetworkError};
pub use relay::{Relay, read_all};
pub use socket::{Opened, Session, Socket, socket};
