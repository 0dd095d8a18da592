//! Error bodies as the providers word them: classifiers read them, so they must be the real thing.

use serde_json::{Value, json};

/// An OpenAI error.
pub(crate) fn openai(message: &str, kind: &str, param: Option<&str>, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}

/// An Anthropic error.
pub(crate) fn anthropic(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_mock"})
}

/// The usual body of a status.
pub(crate) fn usual(status: u16, is_anthropic: bool) -> Value {
    if is_anthropic {
        let (kind, message) = match status {
            401 => ("authentication_error", "invalid x-api-key"),
            402 => ("billing_error", "Your credit balance is too low to access the Anthropic API."),
            403 => {
                ("permission_error", "Your API key does not have permission to use the specified resource.")
            }
            404 => ("not_found_error", "model: mock"),
            413 => ("request_too_large", "Request exceeds the maximum allowed number of bytes."),
            429 => ("rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit."),
            529 => ("overloaded_error", "Overloaded"),
            500.. => ("api_error", "Internal server error"),
            _ => ("invalid_request_error", "messages: at least one message is required"),
        };
        return anthropic(kind, message);
    }
    let (message, kind, code) = match status {
        401 => ("Incorrect API key provided.", "invalid_request_error", Some("invalid_api_key")),
        402 => ("Insufficient credits.", "insufficient_quota", Some("insufficient_quota")),
        403 => ("You are not allowed to sample from this model.", "invalid_request_error", None),
        404 => (
            "The model `mock` does not exist or you do not have access to it.",
            "invalid_request_error",
            Some("model_not_found"),
        ),
        429 => (
            "Rate limit reached for mock in organization org-mock on requests per min (RPM): Limit 3, Used 3, Requested 1.",
            "requests",
            Some("rate_limit_exceeded"),
        ),
        503 | 529 => ("The engine is currently overloaded, please try again later.", "server_error", None),
        500.. => ("The server had an error while processing your request.", "server_error", None),
        _ => ("Invalid request.", "invalid_request_error", None),
    };
    openai(message, kind, None, code)
}

/// A form without its file.
pub(crate) fn missing(file: &str) -> Value {
    let message =
        format!("[{{'type': 'missing', 'loc': ('body', '{file}'), 'msg': 'Field required', 'input': None}}]");
    openai(&message, "invalid_request_error", Some(file), None)
}

/// A wrong key.
pub(crate) fn wrong_key(is_anthropic: bool) -> Value {
    usual(401, is_anthropic)
}

/// An unknown model.
pub(crate) fn unknown_model(model: &str, is_anthropic: bool) -> Value {
    if is_anthropic {
        return anthropic("not_found_error", &format!("model: {model}"));
    }
    let message = format!("The model `{model}` does not exist or you do not have access to it.");
    openai(&message, "invalid_request_error", None, Some("model_not_found"))
}

/// An unknown path.
pub(crate) fn unknown_path(method: &str, path: &str) -> Value {
    openai(&format!("Invalid URL ({method} {path})"), "invalid_request_error", None, None)
}

/// A field nobody knows.
pub(crate) fn unknown_field(field: &str, is_anthropic: bool) -> Value {
    if is_anthropic {
        return anthropic("invalid_request_error", &format!("{field}: Extra inputs are not permitted"));
    }
    let message = format!("Unrecognized request argument supplied: {field}");
    openai(&message, "invalid_request_error", None, None)
}

/// An output limit below what the model accepts.
pub(crate) fn token_floor(field: &str, floor: u64, got: Option<u64>) -> Value {
    let got = got.map_or_else(|| "less".to_owned(), |got| got.to_string());
    let message = format!(
        "Invalid '{field}': integer below minimum value. Expected a value >= {floor}, but got {got} instead."
    );
    openai(&message, "invalid_request_error", Some(field), Some("integer_below_min_value"))
}

/// A prompt that Azure's filter refuses.
pub(crate) fn content_filter() -> Value {
    json!({"error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
        "type": null,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {
                "hate": {"filtered": true, "severity": "high"},
                "jailbreak": {"filtered": false, "detected": false},
                "self_harm": {"filtered": false, "severity": "safe"},
                "sexual": {"filtered": false, "severity": "safe"},
                "violence": {"filtered": false, "severity": "safe"},
            },
        },
    }})
}

/// An error as an event of a stream whose head said 200.
pub(crate) fn event(code: u16, is_anthropic: bool) -> Value {
    if is_anthropic {
        return usual(code, true);
    }
    let mut body = usual(code, false);
    if let Some(error) = body.get_mut("error").and_then(Value::as_object_mut) {
        error.insert("code".to_owned(), json!(code));
    }
    body
}
