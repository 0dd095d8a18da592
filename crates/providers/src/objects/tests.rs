use bytes::Bytes;
use proptest::prelude::*;

use super::id::{seal, unseal};
use super::lines::renamed;
use super::sealed;
use crate::Operation;

#[test]
fn an_id_leads_back_and_keeps_its_prefix() {
    for (object, prefix) in [
        ("file-abc123", "file-"),
        ("batch_67", "batch_"),
        ("models/veo/operations/q", "video_"),
        ("7-x", "video_"),
    ] {
        let id = seal("dep 1/ü", object, "video_");
        assert!(id.starts_with(prefix), "{id}");
        assert!(id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{id}");
        assert_eq!(unseal(&id), Some(("dep 1/ü".to_owned(), object.to_owned())));
    }
}

#[test]
fn ids_of_providers_and_damaged_ones_are_not_taken_for_sealed_ones() {
    let id = seal("d1", "file-abc123", "file-");
    let cut = &id[..id.len() - 2];
    for other in ["", "file-", "file-abc123", "batch_67e5a1", "video_", "../x", "ünsinn", cut] {
        assert_eq!(unseal(other), None, "{other}");
    }
    for at in 5..id.len() {
        let mut changed = id.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        assert_eq!(unseal(std::str::from_utf8(&changed).unwrap()), None, "letter {at}");
    }
}

#[test]
fn every_id_in_an_answer_is_sealed_and_the_rest_keeps_its_bytes() {
    let body = r#"{"id":"batch_1","x":1.50,"input_file_id":"file-i","output_file_id":null,"error_file_id":"","n":12345678901234567890123}"#;
    let out = sealed(Operation::Batches, "d1", body.as_bytes()).unwrap();
    let expected = body
        .replace("batch_1", &seal("d1", "batch_1", "batch_"))
        .replace("file-i", &seal("d1", "file-i", "file-"));
    assert_eq!(out, expected);
    let list = r#"{"object":"list","data":[{"id":"7","a":1e2},5],"first_id":"7","has_more":false}"#;
    let out = sealed(Operation::Videos, "d1", list.as_bytes()).unwrap();
    assert_eq!(out, list.replace("\"7\"", &format!("\"{}\"", seal("d1", "7", "video_"))));
    assert_eq!(sealed(Operation::Files, "d1", b"not json"), None);
}

#[test]
fn the_lines_of_a_batch_name_the_providers_model() {
    let lines = "{\"custom_id\":\"1\",\"body\":{\"model\":\"g\",\"n\":1.0}}\r\n\nno json\n\
                 {\"body\":{\"model\":\"other\"}}\n{\"body\":{\"model\":\"g\"}}";
    let out = renamed(&Bytes::from(lines), "g", b"\"gpt-4o\"").unwrap();
    assert_eq!(out, lines.replace("\"g\"", "\"gpt-4o\""));
    assert_eq!(renamed(&Bytes::from(lines), "h", b"\"x\""), None);
    assert_eq!(renamed(&Bytes::new(), "g", b"\"x\""), None);
}

proptest! {
    #[test]
    fn every_pair_comes_back(deployment in "[^\0]{1,40}", object in "[!-~]{1,60}") {
        let id = seal(&deployment, &object, "file-");
        prop_assert_eq!(unseal(&id), Some((deployment, object)));
    }

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,80}") {
        let _found = unseal(&text);
        let _out = sealed(Operation::Files, "d", text.as_bytes());
    }
}
