//! The classifier's word on a probe's answer.

use super::{Finding, ProbeAnswer};
use crate::Mode;
use crate::classify::{Answer, classify};
use crate::target::Target;

/// What the classifier makes of an answer that is an error, by status or in the clothes of a success.
pub(super) fn finding(target: &Target, mode: Mode, answer: &ProbeAnswer<'_>) -> Finding {
    let fault = classify(&Answer {
        provider: target.provider.id,
        mode,
        status: answer.status,
        headers: answer.headers,
        body: answer.body,
        now_ms: answer.now_ms,
    });
    let fault = target.statuses.read(fault);
    Finding {
        class: fault.class,
        scope: fault.scope,
        reason: fault.reason,
        status: answer.status,
        retry_after: fault.retry_after,
        message: target.without_own_secrets(fault.message),
    }
}
