use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn kind(body: &[u8]) -> EnvelopeErrorKind {
    Envelope::parse(body).unwrap_err().kind
}

fn patch(body: &str, changes: &[Change<'_>]) -> String {
    String::from_utf8(Envelope::parse(body.as_bytes()).unwrap().patched(changes).to_vec()).unwrap()
}

#[test]
fn members_are_read_by_type() {
    let body = br#" { "model":"gpt-4o","stream" : true,"n":3,"seed":-1,"user":null,"t":1.0,"e":"" } "#;
    let envelope = Envelope::parse(body).unwrap();
    assert_eq!(envelope.str("model").unwrap(), "gpt-4o");
    assert_eq!(envelope.bool("stream"), Some(true));
    assert_eq!(envelope.u64("n"), Some(3));
    assert_eq!((envelope.u64("seed"), envelope.u64("t"), envelope.u64("model")), (None, None, None));
    assert_eq!((envelope.str("n"), envelope.bool("n")), (None, None));
    assert!(envelope.is_set("e") && !envelope.is_set("user") && !envelope.is_set("absent"));
    assert_eq!(envelope.len(), 7);
    let keys: Vec<_> = envelope.iter().map(|(key, _)| key.to_owned()).collect();
    assert_eq!(keys, ["model", "stream", "n", "seed", "user", "t", "e"]);
}

#[test]
fn a_patch_keeps_the_bytes_of_everything_else() {
    let body = r#"{"seed":12345678901234567890123,"t":1e2,"x":1.10,"m":"a","u":"\u00e9\/","o":{ "b" : [1, 2 ] },"k\u0065y":1}"#;
    let changed = patch(body, &[Change::set_str("m", "q\"uote\n"), Change::set_raw("new", "[1]")]);
    let expected = r#"{"seed":12345678901234567890123,"t":1e2,"x":1.10,"m":"q\"uote\n","u":"\u00e9\/","o":{ "b" : [1, 2 ] },"k\u0065y":1,"new":[1]}"#;
    assert_eq!(changed, expected);
}

#[test]
fn members_can_be_removed_and_the_last_change_counts() {
    assert_eq!(patch(r#"{"a":1,"b":2}"#, &[Change::Remove("a"), Change::Remove("c")]), r#"{"b":2}"#);
    assert_eq!(patch(r#"{"a":1}"#, &[Change::Remove("a")]), "{}");
    assert_eq!(patch("{}", &[Change::set_raw("a", "1"), Change::set_raw("a", "2")]), r#"{"a":2}"#);
    assert_eq!(patch(r#"{"a":1}"#, &[Change::set_raw("a", "2"), Change::Remove("a")]), "{}");
    assert_eq!(patch("{}", &[Change::Set("b", Cow::Borrowed(b"3"))]), r#"{"b":3}"#);
}

#[test]
fn a_repeated_key_has_its_last_value_in_its_first_place() {
    let body = r#"{"a":1,"b":2,"\u0061":3,"c":4,"b":5}"#;
    let envelope = Envelope::parse(body.as_bytes()).unwrap();
    assert_eq!(envelope.u64("a"), Some(3));
    assert_eq!(patch(body, &[]), r#"{"a":3,"b":5,"c":4}"#);
    // Beyond the few that are compared one by one.
    let many: Vec<String> = (0..100).map(|n| format!("\"k{}\":{n}", n % 50)).collect();
    let body = format!("{{{}}}", many.join(","));
    let envelope = Envelope::parse(body.as_bytes()).unwrap();
    assert_eq!((envelope.len(), envelope.u64("k0"), envelope.u64("k49")), (50, Some(50), Some(99)));
    assert_eq!(envelope.iter().next().unwrap().0, "k0");
}

#[test]
fn what_is_no_object_is_named() {
    for body in ["[]", "1", "\"a\"", "null", "true", "[{}]", " [ ] "] {
        let error = Envelope::parse(body.as_bytes()).unwrap_err();
        assert_eq!(error.kind, EnvelopeErrorKind::NotObject, "{body}");
        assert_eq!(error.to_string(), "expected an object");
    }
    assert_eq!(kind(b"{\"a\":\"\xff\"}"), EnvelopeErrorKind::NotUtf8 { valid: 6 });
}

#[test]
fn mistakes_have_a_place() {
    let cases: [(&str, usize, usize); 7] = [
        ("", 1, 0),
        ("{\"a\":1", 1, 6),
        ("{\"a\":1,}", 1, 8),
        ("{\n \"a\": x\n}", 2, 7),
        ("{} x", 1, 4),
        ("[1,", 1, 3),
        ("{'a':1}", 1, 2),
    ];
    for (body, at_line, at_column) in cases {
        let EnvelopeErrorKind::Syntax { line, column, message, .. } = kind(body.as_bytes()) else {
            panic!("{body:?} is no syntax error")
        };
        assert_eq!((line, column), (at_line, at_column), "{body:?}: {message}");
        assert!(!message.contains(" at line "), "{message}");
    }
    let text = Envelope::parse(b"{\n \"a\": x\n}").unwrap_err().to_string();
    assert!(text.ends_with(": line 2 column 7 (char 8)"), "{text}");
}

#[test]
fn depth_is_bounded_and_brackets_in_strings_do_not_count() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    assert!(Envelope::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert!(serde_json::from_str::<Value>(&nested(MAX_DEPTH)).is_ok());
    assert_eq!(kind(nested(MAX_DEPTH + 1).as_bytes()), EnvelopeErrorKind::TooDeep);
    assert!(serde_json::from_str::<Value>(&nested(MAX_DEPTH + 1)).is_err());
    assert_eq!(kind("[".repeat(1_000_000).as_bytes()), EnvelopeErrorKind::TooDeep);
    let wide = format!("{{\"a\":[{}{{}}]}}", "{\"b\":[\"}\\\"]\"]},".repeat(500));
    assert!(Envelope::parse(wide.as_bytes()).is_ok());
    // Deep only to a look that does not know strings, and deep behind closing brackets in a string.
    let text = format!("{{\"a\":\"{}\\\"{}\"}}", "[".repeat(500), "{".repeat(500));
    assert!(Envelope::parse(text.as_bytes()).is_ok());
    let hidden = format!("{{\"a\":\"{}\",\"b\":{}{}}}", "]".repeat(500), "[".repeat(200), "]".repeat(200));
    assert_eq!(kind(hidden.as_bytes()), EnvelopeErrorKind::TooDeep);
}

#[test]
fn half_a_surrogate_pair_is_carried_but_not_decoded() {
    let body = r#"{"model":"\ud800","\udc00":1}"#;
    let envelope = Envelope::parse(body.as_bytes()).unwrap();
    assert_eq!(envelope.str("model"), None);
    assert_eq!(patch(body, &[]), body);
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 64.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_object_comes_back_as_it_was(members in prop::collection::vec((any::<String>(), json()), 0..12), spaced: bool) {
        let value = Value::Object(members.into_iter().collect());
        let text = if spaced { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let envelope = Envelope::parse(text.as_bytes()).unwrap();
        let back: Value = serde_json::from_slice(&envelope.patched(&[])).unwrap();
        prop_assert_eq!(&back, &value);
        let mut wanted = value;
        wanted.as_object_mut().unwrap().insert("model".into(), "m".into());
        let set: Value = serde_json::from_slice(&envelope.patched(&[Change::set_str("model", "m")])).unwrap();
        prop_assert_eq!(set, wanted);
    }

    #[test]
    fn any_bytes_are_accepted_exactly_when_they_are_an_object(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let is_object = serde_json::from_slice::<Value>(&bytes).is_ok_and(|value| value.is_object());
        prop_assert_eq!(Envelope::parse(&bytes).is_ok(), is_object);
    }
}
