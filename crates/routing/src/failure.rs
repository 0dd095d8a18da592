//! What a plan needs to know of a failed attempt.

use std::time::Duration;

use haleway_health::Class;

/// One failed attempt, as the classifier judged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The cause.
    pub class: Class,
    /// The same deployment may answer the same request later.
    pub retry_same: bool,
    /// Another deployment may answer the same request now.
    pub retry_other: bool,
    /// The wait that the provider stated.
    pub retry_after: Option<Duration>,
}

/// What moving on after a failure costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// A retry of the call's budget.
    Retry,
    /// Nothing: the target can serve no call, and whoever waits for it waits in vain.
    Free,
}

impl Failure {
    /// A failure of `class` with that class's usual consequences and no stated wait.
    pub const fn new(class: Class) -> Self {
        let (retry_same, retry_other) = match class {
            Class::RateLimit
            | Class::Overloaded
            | Class::ServerError
            | Class::Timeout
            | Class::Connection
            | Class::MalformedResponse
            | Class::Conflict => (true, true),
            Class::Auth
            | Class::Permission
            | Class::Billing
            | Class::ModelNotFound
            | Class::RouteNotFound
            | Class::ModeMismatch
            | Class::RequestExceedsQuota => (false, true),
            Class::Ok
            | Class::BadRequest
            | Class::ContextWindow
            | Class::ContentPolicy
            | Class::OutputBudget
            | Class::Cancelled
            | Class::Local => (false, false),
        };
        Self { class, retry_same, retry_other, retry_after: None }
    }

    /// The same with a stated wait.
    pub const fn after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    pub(crate) const fn cost(&self) -> Cost {
        match self.class {
            Class::Auth
            | Class::Permission
            | Class::Billing
            | Class::ModelNotFound
            | Class::RouteNotFound
            | Class::ModeMismatch => Cost::Free,
            // A fault of this process that is one target's alone: nothing was sent.
            Class::Local if self.retry_other => Cost::Free,
            Class::Ok
            | Class::BadRequest
            | Class::ContextWindow
            | Class::ContentPolicy
            | Class::OutputBudget
            | Class::RateLimit
            | Class::RequestExceedsQuota
            | Class::Overloaded
            | Class::ServerError
            | Class::Timeout
            | Class::Connection
            | Class::MalformedResponse
            | Class::Cancelled
            | Class::Conflict
            | Class::Local => Cost::Retry,
        }
    }
}
