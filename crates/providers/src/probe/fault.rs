//! The classifier's word on a probe's answer.

use haleway_health::Class;

use super::{Finding, ProbeAnswer};
use crate::Mode;
use crate::target::Target;

/// What the classifier makes of an answer that is an error, by status or in the clothes of a success.
pub(super) fn finding(_target: &Target, _mode: Mode, answer: &ProbeAnswer<'_>) -> Finding {
    let class = match answer.status {
        401 => Class::Auth,
        403 => Class::Permission,
        404 => Class::ModelNotFound,
        429 => Class::RateLimit,
        400 | 422 => Class::BadRequest,
        _ => Class::ServerError,
    };
    Finding {
        class,
        scope: class.default_scope(),
        reason: "",
        status: answer.status,
        retry_after: None,
        message: String::new(),
    }
}
