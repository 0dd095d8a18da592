//! The list of rules, how each is run, and the summary.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::finding::{Finding, say};
use crate::process::{Stopwatch, succeeds};
use crate::{generated, layers, licences, settings, sizes, words};

/// A rule of the project.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    Fmt,
    Layers,
    Settings,
    Sizes,
    Licences,
    Words,
    Clippy,
    Generated,
}

/// All rules; the cheap ones first, so that a slip is told within seconds.
const RULES: [Rule; 8] = [
    Rule::Fmt,
    Rule::Layers,
    Rule::Settings,
    Rule::Sizes,
    Rule::Licences,
    Rule::Words,
    Rule::Clippy,
    Rule::Generated,
];

impl Rule {
    fn name(self) -> &'static str {
        match self {
            Rule::Fmt => "fmt",
            Rule::Layers => "layers",
            Rule::Settings => "settings",
            Rule::Sizes => "sizes",
            Rule::Licences => "licences",
            Rule::Words => "words",
            Rule::Clippy => "clippy",
            Rule::Generated => "gen --check",
        }
    }

    fn findings(self, root: &Path) -> Result<Vec<Finding>> {
        match self {
            Rule::Fmt => cargo(
                root,
                &["fmt", "--all", "--check"],
                "formatting differs: see the diff above",
                "cargo fmt --all",
            ),
            Rule::Clippy => cargo(
                root,
                &["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
                "lints fail: see above",
                "mend the code; a lint that is wrong here gets #[expect(lint, reason = \"...\")]",
            ),
            Rule::Layers => layers::findings(root),
            Rule::Settings => settings::findings(root),
            Rule::Sizes => sizes::findings(root),
            Rule::Licences => licences::findings(root),
            Rule::Words => words::findings(root),
            Rule::Generated => generated::findings(root),
        }
    }
}

/// Runs a cargo command that prints its own findings.
fn cargo(root: &Path, arguments: &[&str], what: &str, cure: &str) -> Result<Vec<Finding>> {
    let passed = succeeds(Command::new("cargo").args(arguments).current_dir(root))?;
    Ok(if passed { Vec::new() } else { vec![Finding::new("workspace", 0, what, cure)] })
}

/// Runs one rule and prints what it found; whether it found nothing.
pub(crate) fn one(rule: Rule, root: &Path) -> Result<bool> {
    let findings = rule.findings(root)?;
    for finding in &findings {
        say(&format!("{}: {finding}", rule.name()));
    }
    if findings.is_empty() {
        say(&format!("{}: ok", rule.name()));
    }
    Ok(findings.is_empty())
}

/// Runs every rule, whatever the earlier ones found, and prints a summary.
pub(crate) fn all(root: &Path) -> Result<bool> {
    let mut lines = Vec::new();
    let mut broken = 0;
    for rule in RULES {
        let watch = Stopwatch::start();
        let verdict = match one(rule, root) {
            Ok(true) => "ok",
            Ok(false) => "FAILED",
            Err(error) => {
                say(&format!("{}: could not run: {error:#}", rule.name()));
                "FAILED"
            }
        };
        broken += usize::from(verdict == "FAILED");
        lines.push(format!("  {verdict:<6} {:<12} {:>6.1} s", rule.name(), watch.read().as_secs_f64()));
    }
    say("\nrules:");
    lines.iter().for_each(|line| say(line));
    say(&format!("check: {} rules kept, {broken} broken", RULES.len() - broken));
    Ok(broken == 0)
}
