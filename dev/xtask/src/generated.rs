//! Reference pages that are generated from the code, so that they cannot drift from it.
//!
//! To add a page: a row in `PAGES` with the cargo command that prints it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::finding::{Finding, say};
use crate::process::stdout;

/// A committed file that equals the output of a command.
#[derive(Debug)]
struct Page {
    path: &'static str,
    /// Arguments of `cargo` that print the page.
    cargo: &'static [&'static str],
}

/// The pages.
const PAGES: &[Page] = &[
    Page {
        path: "docs/providers.md",
        cargo: &["run", "--quiet", "--package", "haleway-providers", "--example", "reference"],
    },
    Page {
        path: "docs/litellm-keys.md",
        cargo: &["run", "--quiet", "--package", "haleway-config", "--example", "keys"],
    },
];

/// Compares every page with what its command prints.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for page in PAGES {
        let committed = std::fs::read_to_string(root.join(page.path)).unwrap_or_default();
        findings.extend(compare(page.path, &committed, &print(root, page)?));
    }
    Ok(findings)
}

/// Writes every page that differs.
pub(crate) fn write(root: &Path) -> Result<bool> {
    for page in PAGES {
        let path = root.join(page.path);
        let wanted = print(root, page)?;
        if std::fs::read_to_string(&path).unwrap_or_default() != wanted {
            std::fs::write(&path, wanted).with_context(|| page.path)?;
            say(&format!("wrote {}", page.path));
        }
    }
    say(&format!("gen: {} pages up to date", PAGES.len()));
    Ok(true)
}

fn print(root: &Path, page: &Page) -> Result<String> {
    stdout(Command::new("cargo").args(page.cargo).current_dir(root))
}

/// The first line at which a committed page and its source part.
fn compare(path: &str, committed: &str, wanted: &str) -> Option<Finding> {
    if committed == wanted {
        return None;
    }
    let same = committed.lines().zip(wanted.lines()).take_while(|(left, right)| left == right).count();
    let shown = wanted.lines().nth(same).unwrap_or("(end)");
    let what = format!("is out of date; the code now says: {shown}");
    Some(Finding::new(path, same + 1, what, "cargo xtask gen, and commit the result"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_page_is_found_at_its_first_different_line() {
        let found = compare("docs/x.md", "a\nb\nc\n", "a\nB\nc\n").unwrap();
        assert_eq!(found.line, 2);
        assert!(found.what.ends_with("says: B"), "{}", found.what);
        assert_eq!(compare("docs/x.md", "", "a\n").unwrap().line, 1);
    }

    #[test]
    fn an_equal_page_passes() {
        assert_eq!(compare("docs/x.md", "a\n", "a\n"), None);
    }

    #[test]
    fn pages_are_listed_once() {
        let mut paths: Vec<_> = PAGES.iter().map(|page| page.path).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), PAGES.len());
    }
}
