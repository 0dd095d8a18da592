//! Findings: what is wrong or surprising in a configuration, where, and what to do about it.
//!
//! A finding stands on its own: it carries the line it is about (with secrets masked), so it can be printed,
//! logged or sent as JSON without the file at hand.

pub(crate) mod codes;
mod mask;
mod render;
mod report;
mod suggest;
#[cfg(test)]
mod tests;

pub use codes::CODES;
pub use mask::is_secret_key;
pub use render::render;
pub(crate) use report::{Fate, FileId, Finding, Report};
pub use report::{KeyLists, WithoutEffect};
pub(crate) use suggest::{did_you_mean, nearest};

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing starts.
    Error,
    /// It starts, but some setting does not do what it seems to say. An error in strict mode.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The lower-case name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Stable machine name, such as `unknown-key`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1; 0 when it is about the file as a whole or about the environment.
    pub line: u32,
    /// The column in characters, from 1; 0 when there is no line.
    pub column: u32,
    /// What is found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The line itself, secrets masked; `None` when there is no line.
    #[serde(skip)]
    pub source: Option<String>,
    /// Characters to underline from `column`.
    #[serde(skip)]
    pub width: u32,
}
