//! Why a deployment is in its state.

use std::fmt;

use crate::{Class, Effect, Scope};

/// What led to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Nothing yet: the state a deployment starts in.
    Start,
    /// One piece of evidence of this class was enough.
    Class(Class),
    /// Hard failures in a row from traffic.
    ConsecutiveFailures,
    /// The share of failures in the window.
    FailureRatio,
    /// Failed probes in a row.
    ProbeFailures,
    /// More failures of this class than LiteLLM's `allowed_fails` or its policy tolerates.
    Policy(Class),
    /// A trial's verdict never came.
    LostTrial,
    /// The trial failed.
    FailedTrial,
    /// A failure during the ramp.
    RampFailure,
    /// The evidence became too old.
    Stale,
    /// An operator's command, or the end of one.
    Operator,
    /// First tokens were slow for too long.
    SlowFirstToken,
    /// Requests in flight, and no output for longer than the gap.
    Wedged,
    /// A verdict on a whole fault domain of this scope.
    Domain(Scope),
    /// Good evidence.
    Recovered,
    /// A time that was set has come.
    Timer,
    /// The configuration of the deployment changed.
    ConfigChanged,
}

impl Cause {
    /// The stable machine name: for a class or a policy the name of the class.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Class(class) | Self::Policy(class) => class.as_str(),
            Self::ConsecutiveFailures => "consecutive_failures",
            Self::FailureRatio => "failure_ratio",
            Self::ProbeFailures => "probe_failures",
            Self::LostTrial => "lost_trial",
            Self::FailedTrial => "failed_trial",
            Self::RampFailure => "ramp_failure",
            Self::Stale => "stale",
            Self::Operator => "operator",
            Self::SlowFirstToken => "slow_first_token",
            Self::Wedged => "wedged",
            Self::Domain(scope) => match scope {
                Scope::Request => "domain_request",
                Scope::Model => "domain_model",
                Scope::Credential => "domain_credential",
                Scope::Account => "domain_account",
                Scope::Endpoint => "domain_endpoint",
                Scope::Provider => "domain_provider",
            },
            Self::Recovered => "recovered",
            Self::Timer => "timer",
            Self::ConfigChanged => "config_changed",
        }
    }

    /// The class of the evidence, when one class is the cause.
    pub const fn class(self) -> Option<Class> {
        match self {
            Self::Class(class) | Self::Policy(class) => Some(class),
            Self::Start
            | Self::ConsecutiveFailures
            | Self::FailureRatio
            | Self::ProbeFailures
            | Self::LostTrial
            | Self::FailedTrial
            | Self::RampFailure
            | Self::Stale
            | Self::Operator
            | Self::SlowFirstToken
            | Self::Wedged
            | Self::Domain(_)
            | Self::Recovered
            | Self::Timer
            | Self::ConfigChanged => None,
        }
    }

    /// Whether the cause is known (auth, billing, gone, operator) rather than inferred from failures.
    pub const fn is_hard(self) -> bool {
        match self {
            Self::Operator => true,
            Self::Class(class) | Self::Policy(class) => {
                matches!(class.effect(), Effect::Config | Effect::Budget)
            }
            Self::Start
            | Self::ConsecutiveFailures
            | Self::FailureRatio
            | Self::ProbeFailures
            | Self::LostTrial
            | Self::FailedTrial
            | Self::RampFailure
            | Self::Stale
            | Self::SlowFirstToken
            | Self::Wedged
            | Self::Domain(_)
            | Self::Recovered
            | Self::Timer
            | Self::ConfigChanged => false,
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
