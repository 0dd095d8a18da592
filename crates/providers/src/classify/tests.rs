use haleway_health::{Class, Effect};
use http::HeaderMap;
use proptest::prelude::*;

use super::*;

fn answer<'a>(status: u16, headers: &'a HeaderMap, body: &'a [u8]) -> Answer<'a> {
    Answer {
        provider: "openai_compatible",
        mode: Mode::Chat,
        status,
        headers,
        body,
        now_ms: 1_796_050_800_000,
    }
}

fn of(status: u16, body: &str) -> Fault {
    classify(&answer(status, &HeaderMap::new(), body.as_bytes()))
}

#[test]
fn the_rules_file_parses_and_names_only_known_classes() {
    let table = rules::parse_table().unwrap();
    assert!(table.rule_count() > 45);
}

#[test]
fn patterns_match_in_order_and_close_together() {
    assert!(rules::holds_pattern("the model `x` does not exist", "model*does not exist"));
    assert!(!rules::holds_pattern("does not exist: the model", "model*does not exist"));
    let far = format!("model {} does not exist", "x".repeat(500));
    assert!(!rules::holds_pattern(&far, "model*does not exist"));
    let again = format!("model {} model y does not exist", "x".repeat(500));
    assert!(rules::holds_pattern(&again, "model*does not exist"), "a later occurrence counts too");
}

#[test]
fn keys_never_leave_in_messages() {
    for (text, secret) in [
        ("Incorrect API key provided: sk-proj-Ab12Cd34Ef56Gh78.", "Ab12Cd34"),
        ("bad header Authorization: Bearer abcd1234efgh5678", "abcd1234efgh5678"),
        ("https://x/v1?key=AIzaSyA1b2C3d4E5f6G7h8I9j0", "AIzaSyA1b2"),
        ("gsk_abcDEF123456 is revoked", "gsk_abcDEF123456"),
        ("api_key='0123456789abcdef'", "0123456789abcdef"),
        ("token eyJhbGciOiJIUzI1NiJ9.e30.abc", "eyJhbGci"),
        ("xa***q1 is wrong", "xa***q1"),
        ("AccessKey AKIAIOSFODNN7EXAMPLE unknown", "AKIAIOSFODNN7EXAMPLE"),
        (
            "9fQ2bT7xL0pZ4mV8kR1cN6yH3wJ5sD aB9fQ2bT7xL0pZ4mV8kR1cN6yH3wJ5sD",
            "aB9fQ2bT7xL0pZ4mV8kR1cN6yH3wJ5sD",
        ),
    ] {
        let fault = of(401, &serde_json::json!({"error": {"message": text, "code": text}}).to_string());
        assert!(!fault.message.contains(secret), "{}", fault.message);
        assert!(!fault.code.unwrap_or_default().contains(secret), "{text}");
        assert!(fault.message.contains("[redacted]"), "{}", fault.message);
    }
    for harmless in [
        "The model `gpt-4o-mini-2024-07-18` does not exist",
        "sk- is the prefix",
        "key not found",
        "risk-averse",
    ] {
        assert_eq!(redact(harmless), harmless);
    }
}

#[test]
fn messages_are_bounded_and_flat() {
    let long = format!("a\nb\u{0}{}", "é".repeat(5000));
    let fault = of(500, &serde_json::json!({"error": {"message": long}}).to_string());
    assert!(fault.message.len() <= MAX_MESSAGE && fault.message.starts_with("a b"));
    assert!(!fault.message.chars().any(char::is_control));
}

#[test]
fn d15_a_model_that_the_caller_named_is_the_callers_mistake() {
    let fault = of(404, r#"{"error":{"code":"model_not_found","message":"no"}}"#);
    assert_eq!((fault.class, fault.class.effect()), (Class::ModelNotFound, Effect::Config));
    let fault = fault.for_callers_model();
    assert_eq!(
        (fault.class.effect(), fault.client_status, fault.retry_other),
        (Effect::Alive, 404, RetryOther::No)
    );
    let limited = of(429, "{}");
    assert_eq!(limited.clone().for_callers_model(), limited);
}

#[test]
fn d11_an_error_as_the_first_event_has_the_status_it_carries() {
    let headers = HeaderMap::new();
    let first =
        |data: &str| first_event(&answer(200, &headers, data.as_bytes())).map(|f| (f.class, f.status));
    assert_eq!(first(r#"{"error":{"code":429}}"#), Some((Class::RateLimit, 429)));
    assert_eq!(first(r#"{"error":{"code":"503","message":"x"}}"#), Some((Class::Overloaded, 503)));
    assert_eq!(
        first(r#"{"type":"error","error":{"type":"overloaded_error"}}"#),
        Some((Class::Overloaded, 529))
    );
    assert_eq!(first(r#"{"type":"error","error":{"type":"api_error"}}"#), Some((Class::ServerError, 500)));
    assert_eq!(first("event: error\ndata: {\"message\":\"boom\"}\n\n"), Some((Class::ServerError, 200)));
    assert_eq!(first(r#"[{"error":{"code":503,"status":"UNAVAILABLE"}}]"#), Some((Class::Overloaded, 503)));
    assert_eq!(
        first(r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded"}}}"#).unwrap().0,
        Class::RateLimit
    );
    for fine in [
        r#"{"choices":[{"delta":{"role":"assistant"}}]}"#,
        "[DONE]",
        "",
        r#"{"type":"message_start","message":{}}"#,
    ] {
        assert_eq!(first(fine), None, "{fine}");
    }
}

#[test]
fn d04_a_wall_with_a_reset_is_a_wait_and_one_without_is_billing() {
    let fault = of(429, r#"{"error":{"message":"usage limit reached, resets in 90 seconds"}}"#);
    assert_eq!((fault.class, fault.retry_after), (Class::RateLimit, Some(Duration::from_secs(90))));
    let fault = of(429, r#"{"error":{"message":"weekly limit, resets in 6 h 29 m"}}"#);
    assert_eq!((fault.class, fault.retry_after), (Class::RateLimit, Some(Duration::from_secs(23_340))));
    let fault = of(429, r#"{"error":{"message":"usage limit reached"}}"#);
    assert_eq!((fault.class, fault.retry_after), (Class::Billing, None));
}

#[test]
fn d18_the_scope_is_the_providers_word() {
    let model =
        of(429, r#"{"error":{"message":"tokens per minute for model x","code":"rate_limit_exceeded"}}"#);
    assert_eq!((model.class, model.scope), (Class::RateLimit, Scope::Model));
    let plan = of(429, r#"{"error":{"message":"usage limit of your plan reached"}}"#);
    assert!(matches!(plan.scope, Scope::Credential | Scope::Account), "{:?}", plan.scope);
    let plan = of(429, r#"{"error":{"message":"usage limit of your plan, try again in 2h"}}"#);
    assert_eq!(plan.scope, Scope::Credential);
}

#[test]
fn absurd_waits_are_cut_and_flagged() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", http::HeaderValue::from_static("99999999"));
    let fault = classify(&answer(429, &headers, b"{}"));
    assert_eq!((fault.retry_after, fault.retry_after_clamped), (Some(wait::DEFAULT_CAP), true));
}

#[test]
fn codes_that_no_rule_knows_are_counted_and_plain_ones_are_not() {
    assert!(of(400, r#"{"error":{"code":"brand_new_code","message":"x"}}"#).unlisted);
    assert_eq!(of(400, r#"{"error":{"code":"brand_new_code"}}"#).class, Class::BadRequest);
    for plain in [r#"{"error":{"type":"invalid_request_error","code":null}}"#, r#"{"detail":"no"}"#, "{}", ""]
    {
        assert!(!of(400, plain).unlisted, "{plain}");
    }
    assert!(of(597, "{}").unlisted && of(456, "{}").unlisted);
}

#[test]
fn only_the_beginning_of_a_body_is_looked_at() {
    let mut body =
        format!("{{\"error\":{{\"code\":\"insufficient_quota\",\"message\":\"{}", "x".repeat(200_000));
    body.push_str("\"},\"code\":\"rate_limit_exceeded\"}");
    assert_eq!(of(429, &body).class, Class::Billing);
    let deep = "[".repeat(100_000);
    assert_eq!(of(500, &deep).class, Class::ServerError);
    let wide = format!("{{{}\"error\":1}}", "\"k\":{},".repeat(9_000));
    assert_eq!(of(503, &wide).class, Class::Overloaded);
}

proptest! {
    #[test]
    fn any_answer_has_a_class(
        status in prop_oneof![Just(200u16), Just(101), Just(404), Just(429), 100u16..1000],
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        text in "\\PC{0,120}",
        mode in 0usize..15,
    ) {
        let headers = HeaderMap::new();
        let quoted = serde_json::json!({"error": {"message": text, "code": text, "metadata": {"raw": text}}}).to_string();
        for body in [&bytes[..], text.as_bytes(), quoted.as_bytes(), &quoted.as_bytes()[..quoted.len() / 2]] {
            let answer = Answer { mode: Mode::ALL[mode], ..answer(status, &headers, body) };
            let fault = classify(&answer);
            prop_assert!(fault.message.len() <= MAX_MESSAGE);
            prop_assert!(!matches!(status, 400..) || fault.class != Class::Ok);
            first_event(&answer);
        }
    }

    #[test]
    fn redacting_twice_changes_nothing_more(text in "\\PC{0,120}") {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once.clone());
    }
}
