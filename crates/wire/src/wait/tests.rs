use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;

use super::*;

/// 2026-11-30T15:00:00Z, a Monday.
const NOW: u64 = 1_796_050_800_000;
const CAP: Duration = Duration::from_secs(3600);

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap()))
        .collect()
}

fn ms(pairs: &[(&str, &str)], body: &str) -> Option<u128> {
    parse(&headers(pairs), body.as_bytes(), NOW, CAP).map(|wait| wait.length.as_millis())
}

#[test]
fn d06_retry_after_in_every_form_ends_at_the_right_time() {
    let table: [(&str, Option<(u128, bool)>); 22] = [
        ("7", Some((7_000, false))),
        (" 7 ", Some((7_000, false))),
        ("1.5", Some((1_500, false))),
        ("0", Some((0, false))),
        ("Mon, 30 Nov 2026 15:00:30 GMT", Some((30_000, false))),
        ("Monday, 30-Nov-26 15:00:30 GMT", Some((30_000, false))),
        ("Mon Nov 30 15:00:30 2026", Some((30_000, false))),
        ("2026-11-30T15:00:30Z", Some((30_000, false))),
        ("2026-11-30T16:00:30.5+01:00", Some((30_500, false))),
        ("1796050830", Some((30_000, false))),
        ("1796050830000", Some((30_000, false))),
        ("1796050830.25", Some((30_250, false))),
        ("1m30s", Some((90_000, false))),
        ("Mon, 30 Nov 2026 14:00:00 GMT", Some((0, false))),
        ("1796050000", Some((0, false))),
        ("999999", Some((3_600_000, true))),
        ("Mon, 30 Nov 2099 15:00:30 GMT", Some((3_600_000, true))),
        ("soon", None),
        ("-5", None),
        ("NaN", None),
        ("1e3", None),
        ("Mon, 99 Foo 2026 15:00:30 GMT", None),
    ];
    for (text, wanted) in table {
        let got = parse(&headers(&[("retry-after", text)]), b"", NOW, CAP);
        assert_eq!(got.map(|wait| (wait.length.as_millis(), wait.clamped)), wanted, "{text}");
    }
}

#[test]
fn d05_the_wait_is_found_wherever_it_stands() {
    let table: [(&str, Option<u128>); 22] = [
        (r#"{"error":{"details":[{"@type":"t/google.rpc.RetryInfo","retryDelay":"38s"}]}}"#, Some(38_000)),
        (r#"{"error":{"details":[{"retryDelay":{"seconds":38,"nanos":500000000}}]}}"#, Some(38_500)),
        (r#"[{"error":{"details":[{"retryDelay":"0.5s"}]}}]"#, Some(500)),
        (r#"{"detail":"throttled","retry_after":7}"#, Some(7_000)),
        (r#"{"error":{"retry_after_ms":"1500"}}"#, Some(1_500)),
        (r#"{"error":"Model x is currently loading","estimated_time":20.25}"#, Some(20_250)),
        (r#"{"error":{"resets_in_seconds":90}}"#, Some(90_000)),
        (r#"{"error":{"type":"usage_limit_reached","resets_at":1796050890}}"#, Some(90_000)),
        (r#"{"error":{"message":"usage limit reached, resets in 90 seconds"}}"#, None),
        ("usage limit reached, resets in 90 seconds", Some(90_000)),
        ("try again in 6h29m", Some(23_340_000)),
        ("Please retry after 20 seconds.", Some(20_000)),
        ("Please try again in 1m26.4s. Visit", Some(86_400)),
        ("Please try again in 800ms.", Some(800)),
        ("Expected available in 3 seconds.", Some(3_000)),
        ("weekly limit: resets in 6 hours and 29 minutes", Some(23_340_000)),
        ("You must wait about 2 minutes", Some(120_000)),
        ("Retry after: 15", Some(15_000)),
        ("limited to 60 requests per 60 seconds", None),
        ("please wait before trying again", None),
        (r#"{"retry_after":"soon","estimated_time":-3}"#, None),
        (r#"{"choices":[{"message":{"content":"hi"}}]}"#, None),
    ];
    for (body, wanted) in table {
        let got =
            parse(&HeaderMap::new(), body.as_bytes(), NOW, DEFAULT_CAP).map(|wait| wait.length.as_millis());
        assert_eq!(got, wanted, "{body}");
    }
    // Prose inside JSON is handed over by the reader of the JSON, who knows which member is prose.
    let got = parse_parts(&HeaderMap::new(), None, "resets in 90 seconds", NOW, CAP).unwrap();
    assert_eq!((got.length.as_secs(), got.origin), (90, WaitOrigin::Message));
}

#[test]
fn only_the_limit_that_is_used_up_has_a_say() {
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<u128>);
    let table: [Case<'_>; 8] = [
        (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")], Some(360_000)),
        (&[("x-ratelimit-remaining-requests", "5"), ("x-ratelimit-reset-requests", "6m0s")], None),
        (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20ms")], Some(20)),
        (
            &[
                ("anthropic-ratelimit-input-tokens-remaining", "0"),
                ("anthropic-ratelimit-input-tokens-reset", "2026-11-30T15:00:33Z"),
                ("anthropic-ratelimit-requests-remaining", "49"),
                ("anthropic-ratelimit-requests-reset", "2026-11-30T15:59:59Z"),
            ],
            Some(33_000),
        ),
        (&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1796050860000")], Some(60_000)),
        (&[("ratelimit-remaining", "0"), ("ratelimit-reset", "12")], Some(12_000)),
        (
            &[("x-ratelimit-remaining-tokens-minute", "0"), ("x-ratelimit-reset-tokens-minute", "33.5")],
            Some(33_500),
        ),
        (&[("x-ratelimit-remaining-requests", "0")], None),
    ];
    for (pairs, wanted) in table {
        assert_eq!(ms(pairs, ""), wanted, "{pairs:?}");
    }
}

#[test]
fn the_longest_credible_wait_counts() {
    let exhausted = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m0s")];
    assert_eq!(ms(&[("retry-after", "5"), exhausted[0], exhausted[1]], ""), Some(60_000));
    assert_eq!(ms(&[("retry-after", "5")], r#"{"retry_after":38}"#), Some(38_000));
    assert_eq!(ms(&[("retry-after", "soon")], r#"{"retry_after":38}"#), Some(38_000));
    assert_eq!(ms(&[("retry-after", "5"), ("retry-after-ms", "90000")], ""), Some(90_000));
    // Roundings of one moment: the finer of the two direct answers, and the direct one against a counter.
    assert_eq!(ms(&[("retry-after", "1"), ("retry-after-ms", "800")], ""), Some(800));
    let rounded = [("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1m26.4s")];
    assert_eq!(ms(&[("retry-after", "86"), rounded[0], rounded[1]], ""), Some(86_000));
    assert_eq!(ms(&[("retry-after-ms", "-3")], ""), None);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_fail_or_pass_the_cap(text in "\\PC{0,80}", body in "\\PC{0,200}", now in any::<u64>()) {
        parse_value(&text, now);
        let mut map = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_str(&text) {
            map.insert("retry-after", value.clone());
            map.insert("x-ratelimit-remaining", HeaderValue::from_static("0"));
            map.insert("x-ratelimit-reset", value);
        }
        if let Some(wait) = parse(&map, body.as_bytes(), now, CAP) {
            prop_assert!(wait.length <= CAP);
        }
    }

    #[test]
    fn prose_with_any_amount_is_read_without_failing(number in "[0-9.]{1,40}", unit in "(ms|s|m|h|d|weeks)", tail in "\\PC{0,20}") {
        let text = format!("try again in {number}{unit} {tail}");
        parse(&HeaderMap::new(), text.as_bytes(), NOW, CAP);
        parse_value(&format!("{number}{unit}"), NOW);
    }

    #[test]
    fn whole_seconds_are_themselves(seconds in 0u64..3600) {
        prop_assert_eq!(parse_value(&seconds.to_string(), NOW), Some(Duration::from_secs(seconds)));
        prop_assert_eq!(parse_value(&format!("{seconds}s"), NOW), Some(Duration::from_secs(seconds)));
    }
}
