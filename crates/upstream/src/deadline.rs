//! How long each phase of a call may take, and which phase an instant belongs to.
//!
//! A long answer is not a failing one: what a deployment is judged by is the wait for its first byte, its first
//! token and the silence between tokens. The total is the caller's patience.

use std::time::Duration;

use tokio::time::Instant;

/// A phase of a call that has a deadline of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Name resolution, TCP and TLS.
    Connect,
    /// From the start of the call to the head of the answer.
    FirstByte,
    /// From the start of the call to the first event that carries output.
    FirstToken,
    /// Silence of the upstream between two events that carry output.
    Gap,
    /// The whole call.
    Total,
}

impl Phase {
    /// The stable name: the reason that clients, metrics and verdicts show.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::FirstByte => "first_byte",
            Self::FirstToken => "first_token",
            Self::Gap => "gap",
            Self::Total => "total",
        }
    }
}

/// The deadlines of one call. `None`: no limit, the default of each. The limit for connecting belongs to the
/// deployment, not to the call: see [`Settings::connect`](crate::Settings::connect).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// Until the head of the answer, connecting included.
    pub first_byte: Option<Duration>,
    /// Until the first output, connecting included. Ends when the caller says [`Relay::output_seen`](crate::Relay::output_seen).
    pub first_token: Option<Duration>,
    /// Silence between outputs. The time in which the caller does not read does not count.
    pub gap: Option<Duration>,
    /// Until the end of the body, whoever is slow.
    pub total: Option<Duration>,
}

impl Deadlines {
    /// Only a limit for the whole call.
    pub const fn total(limit: Duration) -> Self {
        Self { first_byte: None, first_token: None, gap: None, total: Some(limit) }
    }

    /// The first deadline that can strike before the head of the answer.
    pub(crate) fn before_head(&self, started: Instant) -> Option<(Instant, Phase)> {
        earliest([
            due(started, self.first_byte, Phase::FirstByte),
            due(started, self.first_token, Phase::FirstToken),
            due(started, self.total, Phase::Total),
        ])
    }
}

/// When `limit`, counted from `from`, is over. A limit beyond what the clock can say is no limit.
pub(crate) fn due(from: Instant, limit: Option<Duration>, phase: Phase) -> Option<(Instant, Phase)> {
    Some((from.checked_add(limit?)?, phase))
}

/// The earliest of some deadlines; of equal ones the one named first.
pub(crate) fn earliest<const N: usize>(deadlines: [Option<(Instant, Phase)>; N]) -> Option<(Instant, Phase)> {
    deadlines.into_iter().flatten().min_by_key(|(at, _)| *at)
}
