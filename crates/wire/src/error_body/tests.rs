use serde_json::json;

use super::*;

#[test]
fn openai_clients_get_litellms_envelope_with_a_string_code() {
    let body =
        ErrorBody { message: "no", kind: "invalid_request_error", code: "400", ..ErrorBody::default() };
    let expected = br#"{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"400"}}"#;
    assert_eq!(&body.to_bytes()[..], expected);
    let extra = [("class", json!("overloaded"))];
    let body = ErrorBody { param: Some("messages"), extra: &extra, ..body };
    let value: Value = serde_json::from_slice(&body.to_bytes()).unwrap();
    assert_eq!(value["error"]["param"], "messages");
    assert_eq!(value["error"]["class"], "overloaded");
}

#[test]
fn anthropic_clients_get_anthropics_shape_and_types() {
    let body = ErrorBody { message: "busy", kind: "server_error", code: "500", ..ErrorBody::default() };
    let expected = br#"{"type":"error","error":{"type":"api_error","message":"busy"}}"#;
    assert_eq!(&body.to_anthropic_bytes()[..], expected);
    for (ours, theirs) in [("insufficient_quota", "billing_error"), ("rate_limit_error", "rate_limit_error")]
    {
        let bytes = ErrorBody { kind: ours, ..body.clone() }.to_anthropic_bytes();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["error"]["type"], theirs);
    }
}

#[test]
fn hostile_text_is_cut_and_escaped() {
    let message = format!("\n\ndata: [DONE]\u{0}\u{7f}\"{}", "é".repeat(10_000));
    let bytes = ErrorBody { message: &message, ..ErrorBody::default() }.to_bytes();
    assert!(bytes.len() < MAX_MESSAGE + 200, "{}", bytes.len());
    assert!(!bytes.contains(&b'\n') && !bytes.contains(&0));
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    assert!(value["error"]["message"].as_str().unwrap().ends_with('…'));
    assert_eq!(bounded("abc", 3), "abc");
    assert_eq!(bounded("abcd", 3), "…");
}
