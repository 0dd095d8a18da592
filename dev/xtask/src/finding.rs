//! What a rule found, and the one place that prints.

use std::fmt;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path from the workspace root.
    pub(crate) file: String,
    /// Line from 1; 0 when the finding is about the whole file.
    pub(crate) line: usize,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do about it.
    pub(crate) cure: String,
}

impl Finding {
    /// A finding at a line of a file.
    pub(crate) fn new(
        file: impl Into<String>,
        line: usize,
        what: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        Self { file: file.into(), line, what: what.into(), cure: cure.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}\n    do: {}", self.file, self.what, self.cure),
            line => write!(out, "{}:{line}: {}\n    do: {}", self.file, self.what, self.cure),
        }
    }
}

/// Prints one line for the person at the terminal.
#[expect(clippy::print_stdout, reason = "talking to the terminal is what these tasks are for")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
