//! What kind of thing an answer (or the lack of one) was, and what that kind says about a deployment.
//!
//! Twenty classes name the cause; seven effects say what a cause does to health. The split is what lets a
//! provider's dialect be data (answer → class) while the consequence is decided once, here.

use std::fmt;

/// The cause of an attempt's result, as the classifier names it. Clients see the snake-case name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A complete, usable answer.
    Ok,
    /// The credential is refused: revoked, wrong, expired.
    Auth,
    /// The credential is known but may not do this.
    Permission,
    /// The account cannot pay: no credit, spend limit, quota that does not refill by itself.
    Billing,
    /// The provider does not have the deployment's model.
    ModelNotFound,
    /// The provider does not have the path that was called.
    RouteNotFound,
    /// The model exists but serves another operation.
    ModeMismatch,
    /// The caller's request is invalid.
    BadRequest,
    /// The prompt does not fit the model.
    ContextWindow,
    /// The prompt or the answer was refused by a content filter.
    ContentPolicy,
    /// The output limit was reached before anything was said.
    OutputBudget,
    /// A limit that refills by itself.
    RateLimit,
    /// One request that is larger than the whole limit.
    RequestExceedsQuota,
    /// The provider has no capacity now.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// No answer in time.
    Timeout,
    /// No connection, or it broke.
    Connection,
    /// A success status whose content is not the promised structure, or is empty.
    MalformedResponse,
    /// The caller left.
    Cancelled,
    /// A concurrent change; try again.
    Conflict,
    /// The gateway itself refused or could not try: its limits, no credential to present, local fault.
    Local,
}

/// What a class does to the health of whatever its scope names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Proof of life and a success.
    Ok,
    /// Proof of life, but not a success: the provider answered that the caller is wrong.
    Alive,
    /// No evidence. Gives a trial place back.
    Neutral,
    /// A failure that counts in the run and in the window.
    Hard,
    /// Load, not death: lowers weight and holds traffic for the stated wait.
    Soft,
    /// The configuration is at fault: credential, permission, model name. Only a change heals it.
    Config,
    /// The account is out of credit until a reset or a payment.
    Budget,
}

/// What a cause applies to, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This request only.
    Request,
    /// One model with one credential: the deployment.
    Model,
    /// Every deployment with this credential.
    Credential,
    /// Every deployment of this account.
    Account,
    /// Every deployment at this scheme, host and port.
    Endpoint,
    /// Every deployment of this provider.
    Provider,
}

impl Class {
    /// Every class, in the order of declaration.
    pub const ALL: [Self; 21] = [
        Self::Ok,
        Self::Auth,
        Self::Permission,
        Self::Billing,
        Self::ModelNotFound,
        Self::RouteNotFound,
        Self::ModeMismatch,
        Self::BadRequest,
        Self::ContextWindow,
        Self::ContentPolicy,
        Self::OutputBudget,
        Self::RateLimit,
        Self::RequestExceedsQuota,
        Self::Overloaded,
        Self::ServerError,
        Self::Timeout,
        Self::Connection,
        Self::MalformedResponse,
        Self::Cancelled,
        Self::Conflict,
        Self::Local,
    ];

    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Auth => "auth",
            Self::Permission => "permission",
            Self::Billing => "billing",
            Self::ModelNotFound => "model_not_found",
            Self::RouteNotFound => "route_not_found",
            Self::ModeMismatch => "mode_mismatch",
            Self::BadRequest => "bad_request",
            Self::ContextWindow => "context_window",
            Self::ContentPolicy => "content_policy",
            Self::OutputBudget => "output_budget",
            Self::RateLimit => "rate_limit",
            Self::RequestExceedsQuota => "request_exceeds_quota",
            Self::Overloaded => "overloaded",
            Self::ServerError => "server_error",
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::MalformedResponse => "malformed_response",
            Self::Cancelled => "cancelled",
            Self::Conflict => "conflict",
            Self::Local => "local",
        }
    }

    /// The class with this machine name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.as_str() == name)
    }

    /// What this class does to health.
    pub const fn effect(self) -> Effect {
        match self {
            Self::Ok => Effect::Ok,
            Self::BadRequest
            | Self::ContextWindow
            | Self::ContentPolicy
            | Self::OutputBudget
            | Self::Conflict => Effect::Alive,
            Self::RequestExceedsQuota | Self::ModeMismatch | Self::Cancelled | Self::Local => Effect::Neutral,
            Self::RateLimit | Self::Overloaded => Effect::Soft,
            Self::ServerError | Self::Timeout | Self::Connection | Self::MalformedResponse => Effect::Hard,
            Self::Auth | Self::Permission | Self::ModelNotFound | Self::RouteNotFound => Effect::Config,
            Self::Billing => Effect::Budget,
        }
    }

    /// The scope this class has when the answer does not state another.
    pub const fn default_scope(self) -> Scope {
        match self {
            Self::Auth => Scope::Credential,
            Self::Billing => Scope::Account,
            Self::BadRequest
            | Self::ContextWindow
            | Self::ContentPolicy
            | Self::OutputBudget
            | Self::RequestExceedsQuota
            | Self::Cancelled
            | Self::Conflict
            | Self::Local => Scope::Request,
            Self::Ok
            | Self::Permission
            | Self::ModelNotFound
            | Self::RouteNotFound
            | Self::ModeMismatch
            | Self::RateLimit
            | Self::Overloaded
            | Self::ServerError
            | Self::Timeout
            | Self::Connection
            | Self::MalformedResponse => Scope::Model,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Scope {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Model => "model",
            Self::Credential => "credential",
            Self::Account => "account",
            Self::Endpoint => "endpoint",
            Self::Provider => "provider",
        }
    }
}
