//! A setting that is read is also used: every public field of the typed configuration is looked at by some crate.
//!
//! The key table says what works, and its tests see that every such key is lowered. A value that then lies in a field
//! that nobody reads would still be a promise without effect. Found by name, so a field with a common name can hide
//! behind another's use; one that nobody reads at all cannot.

use std::path::Path;

use anyhow::Result;

use crate::finding::Finding;
use crate::tree::{Text, texts};

/// Where the fields are.
const TYPED: &str = "crates/config/src/typed/";
/// The part of the configuration's own crate that writes the fields and judges them, but gives them no effect.
const WRITERS: [&str; 2] = ["crates/config/src/lower/", "crates/config/src/check/"];

/// Finds the fields that nobody reads.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>> {
    let sources =
        texts(root, |name| name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs"))?;
    Ok(unread(&sources))
}

fn unread(sources: &[Text]) -> Vec<Finding> {
    let readers: Vec<&str> = sources
        .iter()
        .filter(|text| !WRITERS.iter().any(|writer| text.name.starts_with(writer)))
        .filter(|text| !text.name.ends_with("tests.rs") && !text.name.contains("/tests/"))
        .map(|text| text.content.as_str())
        .collect();
    let mut findings = Vec::new();
    for text in sources.iter().filter(|text| text.name.starts_with(TYPED)) {
        for (line, name) in fields(&text.content) {
            if !readers.iter().any(|reader| reads(reader, name)) {
                let what = format!("nobody reads the field {name}: the setting behind it has no effect");
                let cure =
                    "give it its effect, or take it out and call its key inert in crates/config/src/keys.rs";
                findings.push(Finding::new(&text.name, line, what, cure));
            }
        }
    }
    findings
}

/// The public fields of a file, with their lines.
fn fields(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let (name, _) = line.trim_start().strip_prefix("pub ")?.split_once(':')?;
        let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        plain.then_some((index + 1, name))
    })
}

/// Whether code looks at a field of this name: `.name`, not as a call, not in a comment.
fn reads(code: &str, name: &str) -> bool {
    code.lines().map(|line| line.split("//").next().unwrap_or(line)).any(|line| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (line.get(..at).unwrap_or(""), line.get(at + name.len()..).unwrap_or(""));
            let ends = !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '(');
            before.ends_with('.') && ends
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, content: &str) -> Text {
        Text { name: name.to_owned(), content: content.to_owned() }
    }

    #[test]
    fn a_field_that_only_its_own_crate_writes_is_found_at_its_line() {
        let typed =
            text("crates/config/src/typed/a.rs", "pub struct A {\n    pub used: u8,\n    pub idle: u8,\n}\n");
        let writer = text("crates/config/src/lower/a.rs", "a.idle = 1;");
        let user = text("crates/server/src/a.rs", "a.used; // a.idle\na.idle_too; a.idle();");
        let found = unread(&[typed, writer, user]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, 3);
        assert!(found[0].what.contains("idle"));
    }
}
