//! PyYAML's answers, places, and what is refused.

use std::path::Path;

use proptest::prelude::*;

use super::{Kind, Node, Value, parse};
use crate::diag::{Diagnostic, Report};

fn read(text: &str) -> (Option<Node>, Vec<Diagnostic>) {
    let report = Report::default();
    let file = report.file(Path::new("t.yaml"), text.to_owned());
    let root = parse(file, text, &report);
    (root, report.finish(Path::new("t.yaml")))
}

fn json(text: &str) -> serde_json::Value {
    let (root, findings) = read(text);
    assert_eq!(findings, [], "{text}");
    root.unwrap().to_json()
}

fn codes(text: &str) -> Vec<&'static str> {
    read(text).1.iter().map(|finding| finding.code).collect()
}

#[test]
fn plain_scalars_are_read_as_pyyaml_reads_them() {
    let table = include_str!("../../tests/fixtures/pyyaml.tsv");
    let mut wrong = Vec::new();
    for line in table.lines() {
        let mut columns = line.split('\t');
        let text: String = serde_json::from_str(columns.next().unwrap()).unwrap();
        let (kind, value) = (columns.next().unwrap(), columns.next().unwrap());
        let (root, _) = read(&format!("k: {text}\n"));
        let found = root.and_then(|root| {
            let scalar = root.as_map()?.get("k")?.value.as_scalar()?.clone();
            Some(match scalar.value {
                Value::Null => ("null", String::new()),
                Value::Bool(flag) => ("bool", flag.to_string()),
                Value::Int(number) => ("int", number.to_string()),
                Value::Float(number) => ("float", number.to_string()),
                Value::Date => ("date", String::new()),
                Value::Str => ("str", serde_json::to_string(&scalar.text).unwrap()),
            })
        });
        let same = found.as_ref().is_some_and(|(found_kind, found)| {
            let close = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(a), Ok(b)) => (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= a.abs() * 1e-12,
                _ => a == b,
            };
            *found_kind == kind && if kind == "float" { close(found, value) } else { found == value }
        });
        if !same {
            wrong.push(format!("{text:?}: PyYAML says {kind} {value}, found {found:?}"));
        }
    }
    assert!(table.lines().count() > 700);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn quoted_scalars_are_strings() {
    assert_eq!(
        json("a: \"30\"\nb: '1.5'\nc: |\n  yes\n"),
        serde_json::json!({"a": "30", "b": "1.5", "c": "yes\n"})
    );
}

#[test]
fn tags_of_the_core_schema_apply_and_others_are_refused() {
    assert_eq!(
        json("a: !!str 1\nb: !!int '3'\nc: !!bool 'yes'\nd: ! 1"),
        serde_json::json!({
            "a": "1", "b": 3, "c": true, "d": 1
        })
    );
    assert_eq!(codes("a: !foo 1"), ["yaml-tag"]);
    assert_eq!(codes("a: !!int x"), ["yaml-tag"]);
    assert_eq!(codes("a: !!set {b: 1}"), ["yaml-tag"]);
}

#[test]
fn merge_keys_give_way_to_own_keys_and_the_earlier_of_a_list_wins() {
    let text = "base: &b {x: 1, y: 1}\nother: &o {y: 2, z: 2}\nall: {<<: [*b, *o], x: 3}\n";
    assert_eq!(json(text)["all"], serde_json::json!({"y": 1, "z": 2, "x": 3}));
    assert_eq!(json("a: {\"<<\": {b: 1}}"), serde_json::json!({"a": {"<<": {"b": 1}}}));
    assert_eq!(codes("<<: 1"), ["yaml-syntax"]);
}

#[test]
fn of_equal_keys_the_last_wins_and_the_first_is_reported() {
    let (root, findings) = read("a: 1\nb: 2\na: 3\n");
    assert_eq!(root.unwrap().to_json(), serde_json::json!({"a": 3, "b": 2}));
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].code, findings[0].line), ("duplicate-key", 1));
}

#[test]
fn keys_that_are_no_strings_are_reported() {
    assert_eq!(codes("on: 1"), ["yaml-key-type"]);
    assert_eq!(codes("2024-06-01: 1"), ["yaml-key-type"]);
    assert_eq!(codes("50256: -100"), [] as [&str; 0]);
    assert_eq!(codes("? [a]\n: 1"), ["yaml-syntax"]);
}

#[test]
fn what_pyyaml_refuses_is_refused() {
    for text in [
        "a: \t- 1\n\t",
        "a:\n\t- 1\n",
        "a: [1, 2",
        "a: b: c",
        "k: 1\n k2: 2",
        "a: *x",
        "a: @x",
        "a: =",
        "a: \u{1}",
    ] {
        assert_eq!(codes(text), ["yaml-syntax"], "{text:?}");
    }
    assert_eq!(codes("a: 1\n---\nb: 2\n"), ["yaml-documents"]);
}

#[test]
fn one_document_with_marks_and_an_empty_file_are_fine() {
    assert_eq!(json("%YAML 1.1\n--- \na: 1\n...\n"), serde_json::json!({"a": 1}));
    assert_eq!(json(""), serde_json::Value::Null);
    assert_eq!(json("# nothing\n"), serde_json::Value::Null);
}

#[test]
fn a_byte_order_mark_is_no_content() {
    let text = super::decode("\u{feff}a: 1".as_bytes().to_vec()).unwrap();
    assert_eq!(json(&text), serde_json::json!({"a": 1}));
    assert!(super::decode(vec![b'a', 0xff]).unwrap_err().contains("offset 1"));
}

#[test]
fn aliases_have_a_budget() {
    let mut bomb = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for level in 1..8 {
        let before = format!("*a{}", level - 1);
        let all = [before.as_str(); 10].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{all}]\n"));
    }
    assert_eq!(codes(&bomb), ["yaml-budget"]);
    assert_eq!(codes("&a [*a]"), ["yaml-syntax"]);
}

#[test]
fn places_are_those_of_the_text() {
    let text = "a:\n  - \u{e4}: \"x\"\n    b: {c: 12}\n";
    let (root, _) = read(text);
    let root = root.unwrap();
    let item = &root.as_map().unwrap().get("a").unwrap().value.as_seq().unwrap()[0];
    let c = item.as_map().unwrap().get("b").unwrap().value.as_map().unwrap().get("c").unwrap();
    assert_eq!(&text[c.value.span.start..c.value.span.end], "12");
    assert_eq!(&text[c.key.start..c.key.end], "c");
}

fn spans_fit(node: &Node, text: &str) -> bool {
    let own = text.get(node.span.start..node.span.end).is_some();
    own && match &node.kind {
        Kind::Scalar(_) => true,
        Kind::Seq(items) => items.iter().all(|item| spans_fit(item, text)),
        Kind::Map(map) => map
            .entries
            .iter()
            .all(|entry| text.get(entry.key.start..entry.key.end).is_some() && spans_fit(&entry.value, text)),
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic_and_spans_stay_inside(text in "[-a-c:{}\\[\\],&*!|>?'\"#%<~0-2. \\n\\tä]{0,60}") {
        let (root, findings) = read(&text);
        let lines = text.split('\n').count();
        for finding in &findings {
            prop_assert!(finding.line as usize <= lines);
            let line = text.split('\n').nth(finding.line as usize - 1).unwrap_or("");
            prop_assert!(finding.column as usize <= line.chars().count() + 1);
        }
        if let Some(root) = root {
            prop_assert!(spans_fit(&root, &text));
        } else {
            prop_assert!(!findings.is_empty());
        }
    }

    #[test]
    fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(text) = super::decode(bytes) {
            let _ = read(&text);
        }
    }
}
