//! How often a class of failure may be retried: LiteLLM's `retry_policy`, all six fields.

use haleway_health::Class;

/// Retries per class of failure; `None` = not set, `num_retries` holds.
///
/// A field that is set also allows what is not retried by default: `BadRequestErrorRetries: 1` repeats a 400.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryPolicy {
    /// `BadRequestErrorRetries`
    pub bad_request: Option<u32>,
    /// `AuthenticationErrorRetries`
    pub authentication: Option<u32>,
    /// `TimeoutErrorRetries`
    pub timeout: Option<u32>,
    /// `RateLimitErrorRetries`
    pub rate_limit: Option<u32>,
    /// `ContentPolicyViolationErrorRetries`
    pub content_policy: Option<u32>,
    /// `InternalServerErrorRetries`
    pub internal_server: Option<u32>,
}

impl RetryPolicy {
    /// Names of the fields in a configuration.
    pub const FIELDS: [&'static str; 6] = [
        "BadRequestErrorRetries",
        "AuthenticationErrorRetries",
        "TimeoutErrorRetries",
        "RateLimitErrorRetries",
        "ContentPolicyViolationErrorRetries",
        "InternalServerErrorRetries",
    ];

    /// The field with this configuration name, to be set.
    pub fn field_mut(&mut self, name: &str) -> Option<&mut Option<u32>> {
        match name {
            "BadRequestErrorRetries" => Some(&mut self.bad_request),
            "AuthenticationErrorRetries" => Some(&mut self.authentication),
            "TimeoutErrorRetries" => Some(&mut self.timeout),
            "RateLimitErrorRetries" => Some(&mut self.rate_limit),
            "ContentPolicyViolationErrorRetries" => Some(&mut self.content_policy),
            "InternalServerErrorRetries" => Some(&mut self.internal_server),
            _ => None,
        }
    }

    /// The number this policy states for `class`, if it does. The most specific field wins: a content-policy
    /// refusal is a bad request only when its own field is not set.
    pub fn retries(&self, class: Class) -> Option<u32> {
        match class {
            Class::BadRequest | Class::ContextWindow => self.bad_request,
            Class::ContentPolicy => self.content_policy.or(self.bad_request),
            Class::Auth => self.authentication,
            Class::Timeout => self.timeout,
            Class::RateLimit | Class::RequestExceedsQuota => self.rate_limit,
            Class::ServerError | Class::Overloaded | Class::Connection | Class::MalformedResponse => {
                self.internal_server
            }
            Class::Ok
            | Class::Permission
            | Class::Billing
            | Class::ModelNotFound
            | Class::RouteNotFound
            | Class::ModeMismatch
            | Class::OutputBudget
            | Class::Cancelled
            | Class::Conflict
            | Class::Local => None,
        }
    }
}
