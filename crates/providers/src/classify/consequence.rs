//! What follows from a class: retry, scope, what the client sees, how long to stay away.
//!
//! Decided once for all providers. `docs/errors.md` is this table in words; a test compares them.

use std::time::Duration;

use haleway_health::Class;

/// Whether the same deployment may be asked again for the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetrySame {
    /// Never.
    No,
    /// Once, after a short pause.
    Once,
    /// After the stated wait, if the caller's deadline allows it.
    AfterWait,
    /// Once, when no byte of the request can have been acted on.
    OnceIfUnsent,
    /// Once, with a fresh token.
    AfterTokenRefresh,
}

impl RetrySame {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Once => "once",
            Self::AfterWait => "after_wait",
            Self::OnceIfUnsent => "once_if_unsent",
            Self::AfterTokenRefresh => "after_token_refresh",
        }
    }
}

/// Whether another deployment may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryOther {
    /// Any other would answer the same.
    No,
    /// Yes.
    Yes,
    /// Only one with a larger context window.
    LargerWindow,
    /// Only through the content-policy fallbacks.
    PolicyFallback,
}

impl RetryOther {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Yes => "yes",
            Self::LargerWindow => "larger_window",
            Self::PolicyFallback => "policy_fallback",
        }
    }
}

/// What follows from one class when the answer says nothing special.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequence {
    /// Whether the same deployment may be asked again.
    pub retry_same: RetrySame,
    /// Whether another one may be asked.
    pub retry_other: RetryOther,
    /// The status for the client.
    pub client_status: u16,
    /// The `error.type` for the client; empty when the client sees a success.
    pub client_type: &'static str,
    /// The `error.code` that OpenAI clients know for the class; `None` where the provider's own is passed on.
    pub client_code: Option<&'static str>,
    /// How long the class alone keeps its scope out; zero when counting decides.
    pub cooldown: Duration,
}

/// The consequence of a class.
pub const fn consequence(class: Class) -> Consequence {
    use RetryOther::{LargerWindow, PolicyFallback};
    let no = RetrySame::No;
    let yes = RetryOther::Yes;
    match class {
        Class::Ok => row(no, RetryOther::No, 200, "", None, 0),
        Class::Auth => row(no, yes, 401, "authentication_error", Some("invalid_api_key"), 60),
        Class::Permission => row(no, yes, 403, "permission_error", None, 60),
        Class::Billing => row(no, yes, 429, "insufficient_quota", Some("insufficient_quota"), 300),
        Class::ModelNotFound => row(no, yes, 404, "not_found_error", Some("model_not_found"), 60),
        Class::RouteNotFound => row(no, yes, 404, "not_found_error", Some("route_not_found"), 60),
        Class::ModeMismatch => {
            row(no, RetryOther::No, 400, "invalid_request_error", Some("mode_mismatch"), 0)
        }
        Class::BadRequest => row(no, RetryOther::No, 400, "invalid_request_error", None, 0),
        Class::ContextWindow => {
            row(no, LargerWindow, 400, "invalid_request_error", Some("context_length_exceeded"), 0)
        }
        Class::ContentPolicy => {
            row(no, PolicyFallback, 400, "invalid_request_error", Some("content_policy_violation"), 0)
        }
        Class::OutputBudget => row(no, RetryOther::No, 200, "", None, 0),
        Class::RateLimit => {
            row(RetrySame::AfterWait, yes, 429, "rate_limit_error", Some("rate_limit_exceeded"), 5)
        }
        Class::RequestExceedsQuota => row(no, yes, 429, "rate_limit_error", Some("request_exceeds_quota"), 0),
        Class::Overloaded => {
            row(RetrySame::Once, yes, 503, "overloaded_error", Some("upstream_overloaded"), 5)
        }
        Class::ServerError => row(RetrySame::Once, yes, 500, "server_error", None, 0),
        Class::Timeout => row(no, yes, 504, "timeout_error", Some("timeout"), 0),
        Class::Connection => {
            row(RetrySame::OnceIfUnsent, yes, 503, "connection_error", Some("connection_error"), 0)
        }
        Class::MalformedResponse => {
            row(RetrySame::Once, yes, 502, "server_error", Some("malformed_response"), 0)
        }
        Class::Cancelled => row(no, RetryOther::No, 499, "cancelled", Some("cancelled"), 0),
        Class::Conflict => row(RetrySame::Once, yes, 409, "invalid_request_error", Some("conflict"), 0),
        Class::Local => row(no, yes, 500, "server_error", Some("gateway_error"), 0),
    }
}

const fn row(
    retry_same: RetrySame,
    retry_other: RetryOther,
    client_status: u16,
    client_type: &'static str,
    client_code: Option<&'static str>,
    cooldown_s: u64,
) -> Consequence {
    let cooldown = Duration::from_secs(cooldown_s);
    Consequence { retry_same, retry_other, client_status, client_type, client_code, cooldown }
}
