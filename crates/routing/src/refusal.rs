//! A call that no deployment may serve: which of several reasons it is, and when to come back.
//!
//! Callers react to these in different ways: a limit of the gateway asks them to slow down, an outage to wait, a
//! missing or forbidden model to change the call. So each has a code of its own, and only the first two name a
//! time.

use std::sync::Arc;

use haleway_health::Timestamp;

use crate::select::{SkipReason, Skipped};

/// Why a call is refused without an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// A limit of this gateway is used up on every deployment that could serve.
    GatewayLimit,
    /// Every deployment is out.
    AllOut,
    /// The group has no deployment.
    NoneConfigured,
    /// The call may use none of the group's deployments: tags, `blocked`.
    NoneAllowed,
    /// The prompt fits none of the group's deployments.
    PromptTooLong,
}

impl RefusalKind {
    /// The stable code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::GatewayLimit => "gateway_limit",
            Self::AllOut => "all_deployments_out",
            Self::NoneConfigured => "no_deployments_configured",
            Self::NoneAllowed => "no_deployments_allowed",
            Self::PromptTooLong => "context_window_exceeded",
        }
    }

    /// Whether waiting helps, so that an answer may carry `Retry-After`.
    pub const fn passes(self) -> bool {
        match self {
            Self::GatewayLimit | Self::AllOut => true,
            Self::NoneConfigured | Self::NoneAllowed | Self::PromptTooLong => false,
        }
    }
}

/// A refusal with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which reason.
    pub kind: RefusalKind,
    /// The group that was asked for.
    pub group: Arc<str>,
    /// The soonest time at which a call may be served; only when waiting helps and a time is known.
    pub soonest: Option<Timestamp>,
    /// Why each deployment was passed over.
    pub skipped: Vec<Skipped>,
}

impl Refusal {
    /// Whole seconds to wait from `now`, at least 1; what `Retry-After` says.
    pub fn retry_after_seconds(&self, now: Timestamp) -> Option<u64> {
        let left = now.until(self.soonest?).as_millis().div_ceil(1_000);
        Some(u64::try_from(left).unwrap_or(u64::MAX).max(1))
    }

    /// The refusal that these skips amount to; `soonest` is what health knows of the group's return.
    pub(crate) fn of(
        group: Arc<str>,
        skipped: Vec<Skipped>,
        soonest: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let any = |test: fn(&SkipReason) -> bool| skipped.iter().any(|skip| test(&skip.reason));
        let kind = if skipped.is_empty() {
            RefusalKind::NoneConfigured
        } else if any(SkipReason::is_limit) {
            RefusalKind::GatewayLimit
        } else if any(|reason| matches!(reason, SkipReason::Health(_))) {
            RefusalKind::AllOut
        } else if any(|reason| *reason == SkipReason::ContextWindow) {
            RefusalKind::PromptTooLong
        } else {
            RefusalKind::NoneAllowed
        };
        let ends = skipped.iter().filter_map(|skip| match kind {
            RefusalKind::GatewayLimit if !skip.reason.is_limit() => None,
            // A slot frees when a request ends, which no one can foretell; the next second is worth a try.
            RefusalKind::GatewayLimit => {
                Some(skip.reason.until().unwrap_or(now + std::time::Duration::from_secs(1)))
            }
            RefusalKind::AllOut => skip.reason.until(),
            RefusalKind::NoneConfigured | RefusalKind::NoneAllowed | RefusalKind::PromptTooLong => None,
        });
        let known = match kind {
            RefusalKind::AllOut => soonest,
            RefusalKind::GatewayLimit
            | RefusalKind::NoneConfigured
            | RefusalKind::NoneAllowed
            | RefusalKind::PromptTooLong => None,
        };
        let soonest = known.or_else(|| ends.min()).filter(|&end| end != Timestamp::MAX);
        Self { kind, group, soonest, skipped }
    }
}

#[cfg(test)]
mod tests;
