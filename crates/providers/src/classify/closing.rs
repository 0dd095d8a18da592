//! The goodbye of a session in place of its first event. Some providers say there, and nowhere else, what is wrong.

use bytes::Bytes;
use serde_json::json;

/// A closing code and its reason as the body of an error, for the classifier.
pub fn closing(code: u16, reason: &str) -> Bytes {
    // The statuses that fall to a code when its words say no more.
    let status = match code {
        1002 | 1003 | 1007 | 1009 | 1010 => 400,
        1008 | 3003 => 403,
        3000 => 401,
        1012 | 1013 => 503,
        1014 => 502,
        _ => 500,
    };
    json!({ "error": { "code": status, "message": reason } }).to_string().into()
}
