//! One failed attempt, as the call sees it: what it means for the plan, for health and for the caller.

use std::time::Duration;

use haleway_health::{Class, Scope};
use haleway_providers::classify::{Fault, RetryOther, RetrySame};
use haleway_providers::{Finding, Judgement, Refusal};
use haleway_routing::Failure;
use haleway_upstream as upstream;
use http::{HeaderMap, StatusCode};

use crate::error::{ApiError, ErrorShape};

/// The code of a failure for want of a credential.
const NO_CREDENTIAL: &str = "credential_unavailable";

/// Why an attempt failed.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    /// The cause.
    pub(crate) class: Class,
    /// What the cause applies to.
    pub(crate) scope: Scope,
    /// A fixed word for the detail; empty when the class says it all.
    pub(crate) reason: &'static str,
    /// The status the provider answered; 0 without an answer.
    pub(crate) upstream_status: u16,
    /// Whether the same deployment may be asked again.
    pub(crate) retry_same: bool,
    /// Whether another deployment may be asked.
    pub(crate) retry_other: bool,
    /// The wait the provider stated, clamped.
    pub(crate) retry_after: Option<Duration>,
    /// The provider's words, bounded and without secrets, or ours.
    pub(crate) message: String,
    /// Headers of the provider's answer.
    pub(crate) headers: Option<Box<HeaderMap>>,
    /// The deployment is not to blame, whatever the class says.
    pub(crate) neutral: bool,
    /// Nothing was sent: the deployment's wire cannot say what the caller asks.
    pub(crate) refusal: Option<Box<Refusal>>,
    /// The request may have been carried out, and once more would be once too often.
    pub(crate) is_final: bool,
}

impl Failed {
    /// A fault that the gateway itself found in an answer or in the lack of one.
    pub(crate) fn own(class: Class, reason: &'static str, message: impl Into<String>) -> Self {
        let usual = Failure::new(class);
        Self {
            class,
            scope: class.default_scope(),
            reason,
            upstream_status: 0,
            retry_same: usual.retry_same,
            retry_other: usual.retry_other,
            retry_after: None,
            message: message.into(),
            headers: None,
            neutral: false,
            refusal: None,
            is_final: false,
        }
    }

    /// A fault of the transport.
    pub(crate) fn transport(fault: &upstream::Fault) -> Self {
        Self::own(fault.kind().class(), fault.reason(), fault.message())
    }

    /// There is no credential to call with: this process's trouble, so another deployment is asked and nobody's health
    /// suffers.
    pub(crate) fn without_credential(fault: &upstream::CredentialFault) -> Self {
        Self::nothing_sent(fault.to_string())
    }

    /// The same, when the time of the attempt was over before a credential came.
    pub(crate) fn credential_late(kind: &str) -> Self {
        Self::nothing_sent(format!("no credential ({kind}) came in time"))
    }

    /// Another deployment has a credential of its own.
    fn nothing_sent(message: String) -> Self {
        Self { retry_other: true, ..Self::own(Class::Local, NO_CREDENTIAL, message) }
    }

    /// The deployment's wire cannot say what the caller asks; another's may.
    pub(crate) fn untranslatable(refusal: Refusal) -> Self {
        let failed = Self::own(Class::ModeMismatch, refusal.code, refusal.message.clone());
        Self { retry_other: true, refusal: Some(Box::new(refusal)), ..failed }
    }

    /// What the classifier made of an answer.
    pub(crate) fn classified(fault: Fault, headers: HeaderMap) -> Self {
        Self {
            class: fault.class,
            scope: fault.scope,
            reason: fault.reason,
            upstream_status: fault.status,
            retry_same: fault.retry_same != RetrySame::No,
            retry_other: fault.retry_other == RetryOther::Yes,
            retry_after: fault.retry_after,
            message: fault.message,
            headers: Some(Box::new(headers)),
            neutral: false,
            refusal: None,
            is_final: false,
        }
    }

    /// What the plan needs to know.
    pub(crate) const fn for_plan(&self) -> Failure {
        Failure {
            class: self.class,
            retry_same: self.retry_same,
            retry_other: self.retry_other,
            retry_after: self.retry_after,
        }
    }

    /// The status that the failure is charged with: LiteLLM's where it has one.
    pub(crate) fn litellm_status(&self) -> u16 {
        match self.class {
            Class::Timeout => 408,
            Class::Connection if self.upstream_status < 400 => 500,
            Class::MalformedResponse if self.upstream_status < 400 => 502,
            Class::Ok
            | Class::Auth
            | Class::Permission
            | Class::Billing
            | Class::ModelNotFound
            | Class::RouteNotFound
            | Class::ModeMismatch
            | Class::BadRequest
            | Class::ContextWindow
            | Class::ContentPolicy
            | Class::OutputBudget
            | Class::RateLimit
            | Class::RequestExceedsQuota
            | Class::Overloaded
            | Class::ServerError
            | Class::Connection
            | Class::MalformedResponse
            | Class::Cancelled
            | Class::Conflict
            | Class::Local => self.upstream_status,
        }
    }

    /// One word for the header that names skipped and failed candidates.
    pub(crate) fn word(&self) -> String {
        match (self.upstream_status, self.reason) {
            (status, _) if status >= 400 => format!("http_{status}"),
            (_, "") => self.class.as_str().to_owned(),
            (_, reason) => reason.to_owned(),
        }
    }

    /// The status for the caller: the provider's own where it answered with one, as LiteLLM does. Only clients of
    /// Anthropic's wire know a 529.
    pub(crate) fn client_status(&self, shape: ErrorShape) -> StatusCode {
        let status = match (self.class, self.upstream_status) {
            (_, 529) if shape != ErrorShape::Anthropic => 503,
            (_, status @ 400..=599) => status,
            (Class::Timeout, _) => 408,
            (Class::RateLimit | Class::Billing | Class::RequestExceedsQuota, _) => 429,
            (Class::Overloaded, _) => 503,
            (Class::Auth, _) => 401,
            (Class::Permission, _) => 403,
            (Class::ModelNotFound | Class::RouteNotFound, _) => 404,
            (Class::BadRequest | Class::ContextWindow | Class::ContentPolicy | Class::ModeMismatch, _) => 400,
            (Class::Conflict, _) => 409,
            (
                Class::Ok
                | Class::OutputBudget
                | Class::ServerError
                | Class::Connection
                | Class::MalformedResponse
                | Class::Cancelled
                | Class::Local,
                _,
            ) => 500,
        };
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The error for the caller.
    pub(crate) fn to_error(&self, shape: ErrorShape) -> ApiError {
        if let Some(refusal) = &self.refusal {
            return super::refusal::untranslatable(refusal);
        }
        let status = self.client_status(shape);
        let mut error =
            ApiError::new(status, self.litellm_type(status), self.class.as_str(), self.sentence());
        if self.upstream_status == 529 {
            error = error.with_code("server_is_overloaded");
        } else if self.reason == NO_CREDENTIAL {
            error = error.with_code(NO_CREDENTIAL);
        }
        let wait = match (status.as_u16(), self.retry_after) {
            (429 | 503 | 529, wait) => Some(wait.unwrap_or(Duration::from_secs(1))),
            (_, _) => None,
        };
        error.with_retry_after(wait)
    }

    fn litellm_type(&self, status: StatusCode) -> &'static str {
        match (status.as_u16(), self.class) {
            (_, Class::Timeout) => "timeout_error",
            (503, Class::Overloaded) if self.upstream_status == 529 => "service_unavailable_error",
            (401, _) => "authentication_error",
            (403, _) => "permission_error",
            (429, _) => "throttling_error",
            (400..=499, _) => "invalid_request_error",
            (_, _) => "internal_server_error",
        }
    }

    fn sentence(&self) -> String {
        let said = if self.message.is_empty() { "no further detail" } else { &self.message };
        match (self.class, self.upstream_status) {
            (Class::Auth | Class::Permission, status) if status > 0 => format!(
                "The provider refused the gateway's own credential (HTTP {status}), not yours: {said}"
            ),
            (Class::Billing, status) if status > 0 => {
                format!("The provider says that the gateway's own account cannot pay (HTTP {status}): {said}")
            }
            (Class::Local, 0) => format!("The gateway could not call the deployment: {said}"),
            (_, 0) => format!("The deployment gave no usable answer: {said}"),
            (_, status) => format!("The provider answered HTTP {status}: {said}"),
        }
    }
}

impl Failed {
    /// What a probe that failed in transport showed.
    pub(crate) fn into_judgement(self) -> Judgement {
        let finding = Finding {
            class: self.class,
            scope: self.scope,
            reason: self.reason,
            status: self.litellm_status(),
            retry_after: self.retry_after,
            message: self.message,
        };
        // A fault of this process says nothing about the deployment.
        if finding.class == Class::Local {
            Judgement::Unknown(finding)
        } else {
            Judgement::Unhealthy(finding)
        }
    }
}
