//! Signatures computed by botocore.

use http::{HeaderMap, HeaderValue, Method, Uri, header};
use secrecy::SecretString;
use serde_json::Value;

use super::{AwsKeys, Place, canonical};

/// 2026-11-30T12:00:00Z.
const NOW: u64 = 1_796_040_000;

#[test]
fn signatures_are_those_of_botocore() {
    let file: Value = serde_json::from_str(include_str!("../../tests/fixtures/sigv4.json")).unwrap();
    let cases = file.as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let text = |name: &str| case[name].as_str().unwrap();
        let token = case["token"].as_str().map(SecretString::from);
        let secret = SecretString::from(text("secret"));
        let keys = AwsKeys::new(text("access_key"), secret, token).unwrap();
        let signer = Place { region: text("region").to_owned(), service: "bedrock" };
        let uri: Uri = format!("https://{}{}", text("host"), text("wire_path")).parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(text("content_type")).unwrap());
        headers.insert("x-not-signed", HeaderValue::from_static("x"));
        signer.sign(&keys, &Method::POST, &uri, &mut headers, text("body").as_bytes(), NOW);
        assert_eq!(headers["x-amz-date"], text("amz_date"));
        let (found, signed) = canonical(&Method::POST, &uri, &headers, text("body").as_bytes());
        assert_eq!(found, text("canonical_request"));
        assert_eq!(signer.string_to_sign(text("amz_date"), &found), text("string_to_sign"));
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential={}/20261130/us-east-1/bedrock/aws4_request, SignedHeaders={signed}, Signature={}",
            text("access_key"),
            text("signature")
        );
        assert_eq!(headers["authorization"], expected.as_str());
        assert!(headers["authorization"].is_sensitive());
        let shown = format!("{signer:?} {keys:?} {headers:?}");
        assert!(!shown.contains("SESSIONTOKEN") && !shown.contains("wJalr"), "{shown}");
    }
}

#[test]
fn ports_and_queries_are_signed_as_they_are_sent() {
    let sign = |uri: &str| canonical(&Method::GET, &uri.parse().unwrap(), &HeaderMap::new(), b"").0;
    assert!(sign("https://h.example:443/a").contains("host:h.example\n"));
    assert!(sign("http://h.example:8080/a").contains("host:h.example:8080\n"));
    assert!(sign("https://h.example/a?b=2&a=1&c").starts_with("GET\n/a\na=1&b=2&c=\n"));
}

#[test]
fn keys_that_no_header_can_hold_are_refused_by_name() {
    let of = |key, token: Option<&str>| {
        AwsKeys::new(key, SecretString::from("s"), token.map(SecretString::from)).map(|_| ()).unwrap_err()
    };
    assert_eq!(of("a b", None), "aws_access_key_id");
    assert_eq!(of("a", Some("a\nb")), "aws_session_token");
}
