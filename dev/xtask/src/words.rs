//! Text that has no place in the repository.
//!
//! Paths of one machine break on every other, registry hosts belong to a client's settings, and code that is
//! unfinished or silenced is worse than code that is missing. The needles are written in two halves here, so that
//! this file passes its own check.

use std::path::Path;

use anyhow::Result;

use crate::finding::Finding;
use crate::tree::{self, Text};

/// Where a needle is looked for.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Every text file but lock files, which their clients write.
    Everywhere,
    /// Rust sources.
    Rust,
}

/// Something that must not be found.
#[derive(Debug)]
struct Needle {
    text: &'static str,
    place: Place,
    /// Only when a lower-case letter follows, as in a path.
    before_letter: bool,
    cure: &'static str,
}

const fn path(text: &'static str) -> Needle {
    let cure = "use a path relative to the repository, or one given by an argument or variable";
    Needle { text, place: Place::Everywhere, before_letter: true, cure }
}

const fn host(text: &'static str) -> Needle {
    let cure = "name the package and let its client find the registry";
    Needle { text, place: Place::Everywhere, before_letter: false, cure }
}

const fn code(text: &'static str, cure: &'static str) -> Needle {
    Needle { text, place: Place::Rust, before_letter: false, cure }
}

const NEEDLES: &[Needle] = &[
    path(concat!("/wo", "rk/")),
    path(concat!("/ro", "ot/")),
    path(concat!("/fa", "rm/")),
    host(concat!("static.", "crates.io")),
    host(concat!("index.", "crates.io")),
    host(concat!("pyp", "i.org")),
    host(concat!("python", "hosted.org")),
    host(concat!("registry.", "npmjs.org")),
    host(concat!("deb.", "debian.org")),
    code(concat!("todo", "!("), "finish it or take it out"),
    code(concat!("unimplemented", "!("), "finish it or take it out"),
    code(concat!("FIX", "ME"), "mend it, or file an issue"),
    code(concat!("#[ign", "ore"), "make the test run everywhere, or delete it"),
    code(concat!("#[al", "low("), "use #[expect(lint, reason = \"...\")]"),
    code(concat!("#![al", "low("), "use #![expect(lint, reason = \"...\")]"),
];

/// Reads every text file and looks for the needles.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>> {
    let texts = tree::texts(root, |name| !name.ends_with(".lock"))?;
    Ok(texts.iter().flat_map(judge).collect())
}

fn judge(file: &Text) -> Vec<Finding> {
    let rust = file.name.ends_with(".rs");
    let mut findings = Vec::new();
    for needle in NEEDLES.iter().filter(|needle| rust || matches!(needle.place, Place::Everywhere)) {
        for (index, line) in file.content.lines().enumerate() {
            if contains(line, needle) {
                let what = format!("contains {:?}", needle.text);
                findings.push(Finding::new(&file.name, index + 1, what, needle.cure));
            }
        }
    }
    findings
}

fn contains(line: &str, needle: &Needle) -> bool {
    line.match_indices(needle.text).any(|(start, found)| {
        let next = line[start + found.len()..].chars().next();
        !needle.before_letter || next.is_some_and(|letter| letter.is_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, content: String) -> Vec<Finding> {
        judge(&Text { name: name.into(), content })
    }

    #[test]
    fn a_machine_path_is_found_in_any_file() {
        let hits = found("docs/x.md", format!("fine\nsee {}main\n", concat!("/wo", "rk/")));
        assert_eq!((hits.len(), hits[0].line), (1, 2));
        assert!(found("x.md", format!("homework{}1", concat!("/wo", "rk/"))).is_empty());
    }

    #[test]
    fn registry_hosts_are_found() {
        let line = format!("pip install --index https://{}/simple", concat!("pyp", "i.org"));
        assert_eq!(found("test", line).len(), 1);
    }

    #[test]
    fn unfinished_and_silenced_code_is_found_in_rust_only() {
        for needle in NEEDLES.iter().filter(|needle| matches!(needle.place, Place::Rust)) {
            assert_eq!(found("a.rs", needle.text.to_owned()).len(), 1, "{}", needle.text);
            assert!(found("a.md", needle.text.to_owned()).is_empty(), "{}", needle.text);
        }
    }

    #[test]
    fn every_needle_can_be_found() {
        for needle in NEEDLES {
            assert!(!found("a.rs", format!("{}x", needle.text)).is_empty(), "{}", needle.text);
        }
    }

    #[test]
    fn plain_code_passes() {
        assert!(found("a.rs", "#[expect(dead_code, reason = \"x\")]\nfn allow() {}\n".into()).is_empty());
    }
}
