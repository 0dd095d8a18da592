//! Why a deployment was not chosen, in words and codes. Built only when someone asks.

use std::sync::Arc;

use haleway_health::{Slot, Timestamp};

use crate::select::Query;
use crate::select::gate::{Gate, Stop};
use crate::stats::Stats;
use crate::table::Table;
use crate::view::{Health, Why};

/// A deployment that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The deployment.
    pub slot: Slot,
    /// Its id.
    pub id: Arc<str>,
    /// Why.
    pub reason: SkipReason,
}

/// Why a deployment was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Its health.
    Health(Why),
    /// This call tried it already.
    Tried,
    /// `blocked` in the configuration.
    Blocked,
    /// The call's tags.
    Tags,
    /// The prompt does not fit.
    ContextWindow,
    /// Its `rpm` is used up until then.
    Requests(Timestamp),
    /// Its `tpm` is used up until then.
    Tokens(Timestamp),
    /// Its `max_parallel_requests` are in flight.
    Parallel,
    /// Another is better by rank or `order`.
    NotPreferred,
}

impl SkipReason {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Health(why) => why.code,
            Self::Tried => "tried",
            Self::Blocked => "blocked",
            Self::Tags => "tags",
            Self::ContextWindow => "context_window",
            Self::Requests(_) => "rpm_used_up",
            Self::Tokens(_) => "tpm_used_up",
            Self::Parallel => "max_parallel_requests",
            Self::NotPreferred => "not_preferred",
        }
    }

    /// Whether a limit of the gateway is the reason.
    pub const fn is_limit(&self) -> bool {
        match self {
            Self::Requests(_) | Self::Tokens(_) | Self::Parallel => true,
            Self::Health(_)
            | Self::Tried
            | Self::Blocked
            | Self::Tags
            | Self::ContextWindow
            | Self::NotPreferred => false,
        }
    }

    /// When the reason ends by itself.
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Health(why) => why.until,
            Self::Requests(until) | Self::Tokens(until) => Some(*until),
            Self::Tried
            | Self::Blocked
            | Self::Tags
            | Self::ContextWindow
            | Self::Parallel
            | Self::NotPreferred => None,
        }
    }

    /// The reason with its detail and the time left, such as `cooldown(429, 12s)`.
    pub fn text(&self, now: Timestamp) -> String {
        let head = match self {
            Self::Health(why) => why.to_string(),
            Self::Tried
            | Self::Blocked
            | Self::Tags
            | Self::ContextWindow
            | Self::Requests(_)
            | Self::Tokens(_)
            | Self::Parallel
            | Self::NotPreferred => self.code().to_owned(),
        };
        let left = self.until().filter(|&until| until != Timestamp::MAX && until > now);
        match (left.map(|until| now.until(until).as_millis().div_ceil(1_000)), head.strip_suffix(')')) {
            (None, _) => head,
            (Some(seconds), Some(open)) => format!("{open}, {seconds}s)"),
            (Some(seconds), None) => format!("{head}({seconds}s)"),
        }
    }
}

impl Table {
    /// Why each deployment of the query's group other than `chosen` was passed over, in the order of the
    /// configuration. Allocates: for refusals and for callers who ask.
    pub fn explain_skips<H: Health + ?Sized, S: Stats + ?Sized>(
        &self,
        query: &Query<'_>,
        chosen: Option<Slot>,
        health: &H,
        stats: &S,
    ) -> Vec<Skipped> {
        let gate = Gate::new(self, query);
        let minute_ends = Timestamp::from_millis((query.now.as_millis() / 60_000 + 1) * 60_000);
        let mut skipped = Vec::new();
        for member in self.members(query.group).iter().filter(|member| Some(member.slot) != chosen) {
            let reason = match gate.stops(member, stats) {
                Some(Stop::NotNamed) => continue,
                Some(Stop::Tried) => SkipReason::Tried,
                Some(Stop::Blocked) => SkipReason::Blocked,
                Some(Stop::Tags) => SkipReason::Tags,
                Some(Stop::ContextWindow) => SkipReason::ContextWindow,
                Some(Stop::Requests) => SkipReason::Requests(minute_ends),
                Some(Stop::Tokens) => SkipReason::Tokens(minute_ends),
                Some(Stop::Parallel) => SkipReason::Parallel,
                None if health.admission(member.slot).rank == 0 => SkipReason::NotPreferred,
                None => SkipReason::Health(health.why(member.slot)),
            };
            let id = self.detail(member.slot).map_or_else(|| "".into(), |detail| Arc::clone(&detail.id));
            skipped.push(Skipped { slot: member.slot, id, reason });
        }
        skipped
    }
}
