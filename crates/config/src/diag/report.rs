//! Where findings are collected, and the texts they point into.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::{Diagnostic, Severity, mask};
use crate::Origin;
use crate::typed::Place;
use crate::yaml::{Node, Span};

/// A file among those that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId(usize);

/// A finding on its way into the report.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    severity: Severity,
    code: &'static str,
    span: Option<Span>,
    message: String,
    hint: Option<String>,
}

impl Finding {
    fn new(severity: Severity, code: &'static str, span: Option<Span>, message: impl Into<String>) -> Self {
        Self { severity, code, span, message: message.into(), hint: None }
    }

    pub(crate) fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, Some(span), message)
    }

    pub(crate) fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, Some(span), message)
    }

    pub(crate) fn note(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, Some(span), message)
    }

    /// A finding about no place in a file.
    pub(crate) fn placeless(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self::new(severity, code, None, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }
}

/// One text.
#[derive(Debug)]
struct Text {
    path: Arc<Path>,
    text: String,
    lines: Vec<usize>,
    secrets: Vec<Range<usize>>,
    /// It is no file: a stored model.
    stored: bool,
}

impl Text {
    /// Line and column of a byte, both from 0; the column in bytes.
    fn place(&self, at: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= at).saturating_sub(1);
        (line, at - self.lines.get(line).copied().unwrap_or(0))
    }

    fn line_range(&self, line: usize) -> Range<usize> {
        let start = self.lines.get(line).copied().unwrap_or(0);
        let end = self.lines.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let end =
            if self.text.get(start..end).is_some_and(|text| text.ends_with('\r')) { end - 1 } else { end };
        start..end
    }
}

/// What becomes of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has its effect.
    Read,
    /// It is accepted and has none, for this reason.
    Inert(&'static str),
    /// Not Haleway's: sent to the provider, or shown as it is.
    PassedOn,
    /// Nobody knows it, or it stands where it means nothing.
    Unknown,
}

/// The keys of LiteLLM's sections that a file sets, by what becomes of them, as `section.key`, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyLists {
    /// They have their effect.
    pub supported: Vec<String>,
    /// They are accepted and have none.
    pub without_effect: Vec<WithoutEffect>,
    /// They are sent to the provider (`litellm_params`) or shown (`model_info`) as they are.
    pub passed_on: Vec<String>,
    /// They are not known, or stand in a section where they mean nothing.
    pub unknown: Vec<String>,
}

/// A key that is accepted and has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WithoutEffect {
    /// `section.key`
    pub key: String,
    /// Why it has none.
    pub why: &'static str,
}

/// Collects findings; shared by everything that reads, so it takes `&self`.
#[derive(Debug, Default)]
pub(crate) struct Report {
    texts: RefCell<Vec<Text>>,
    findings: RefCell<Vec<Finding>>,
    /// What becomes of every key of LiteLLM's sections, by `section.key`.
    fates: RefCell<BTreeMap<String, Fate>>,
    /// What was said once and is not said again.
    said: RefCell<HashSet<(&'static str, String)>>,
    /// Keys that were read, as `section.key`, for the test that keeps the key table honest.
    #[cfg(test)]
    pub(crate) read: RefCell<std::collections::BTreeSet<(&'static str, String)>>,
}

impl Report {
    /// Notes what becomes of a key. The first word counts: a key of every deployment is one key.
    pub(crate) fn fate(&self, key: String, fate: Fate) {
        self.fates.borrow_mut().entry(key).or_insert(fate);
    }

    /// Says of a key that is known to work that in this file it has no effect.
    pub(crate) fn inert(&self, key: &str, why: &'static str) {
        self.fates.borrow_mut().insert(key.to_owned(), Fate::Inert(why));
    }

    /// What becomes of every key that the file sets.
    pub(crate) fn fates(&self) -> KeyLists {
        let mut lists = KeyLists::default();
        for (key, fate) in self.fates.take() {
            match fate {
                Fate::Read => lists.supported.push(key),
                Fate::Inert(why) => lists.without_effect.push(WithoutEffect { key, why }),
                Fate::PassedOn => lists.passed_on.push(key),
                Fate::Unknown => lists.unknown.push(key),
            }
        }
        lists
    }

    /// Takes in a text; spans name it by the id returned.
    pub(crate) fn file(&self, path: &Path, text: String) -> FileId {
        self.take_in(path, text, false)
    }

    /// Takes in the text that `write` makes of a stored model, and answers what else it makes.
    pub(crate) fn stored<T>(&self, path: &Path, write: impl FnOnce(FileId) -> (String, T)) -> T {
        let (text, made) = write(FileId(self.texts.borrow().len()));
        self.take_in(path, text, true);
        made
    }

    fn take_in(&self, path: &Path, text: String, stored: bool) -> FileId {
        let mut lines = vec![0];
        lines.extend(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1));
        let mut texts = self.texts.borrow_mut();
        texts.push(Text { path: path.into(), text, lines, secrets: Vec::new(), stored });
        FileId(texts.len() - 1)
    }

    /// Whether a span is in a stored model.
    pub(crate) fn is_stored(&self, span: Span) -> bool {
        self.texts.borrow().get(span.file.0).is_some_and(|text| text.stored)
    }

    /// Hides the secrets of a tree from every line that is ever shown.
    pub(crate) fn hide_secrets(&self, root: &Node) {
        let mut spans = Vec::new();
        mask::secrets(root, false, &mut spans);
        let mut texts = self.texts.borrow_mut();
        for span in spans {
            if let Some(text) = texts.get_mut(span.file.0) {
                text.secrets.push(span.start..span.end);
            }
        }
    }

    /// Whether this is said of `name` for the first time: some findings are worth one mention per key, however
    /// often the key stands in the file.
    pub(crate) fn first(&self, section: &'static str, name: &str) -> bool {
        self.said.borrow_mut().insert((section, name.to_owned()))
    }

    pub(crate) fn add(&self, finding: Finding) {
        self.findings.borrow_mut().push(finding);
    }

    /// File and line of a span.
    pub(crate) fn place(&self, span: Span) -> Place {
        let texts = self.texts.borrow();
        let Some(text) = texts.get(span.file.0) else { return Place { file: Path::new("").into(), line: 0 } };
        Place { file: Arc::clone(&text.path), line: number(text.place(span.start).0) }
    }

    /// File and line of a span as the origin of a value.
    pub(crate) fn origin(&self, span: Span) -> Origin {
        let Place { file, line } = self.place(span);
        if self.is_stored(span) { Origin::Stored { model: file } } else { Origin::File { file, line } }
    }

    /// The findings as diagnostics, by file and line, errors before warnings on one line; equal ones once.
    pub(crate) fn finish(self, main: &Path) -> Vec<Diagnostic> {
        let texts = self.texts.into_inner();
        let mut findings = self.findings.into_inner();
        let key = |finding: &Finding| {
            (
                finding.span.map(|span| (span.file, span.start)),
                finding.severity,
                finding.code,
                finding.message.clone(),
            )
        };
        findings.sort_by_key(key);
        findings.dedup_by_key(|finding| key(finding));
        findings.into_iter().map(|finding| diagnostic(&texts, main, finding)).collect()
    }
}

/// From an index (from 0) to a number for people (from 1).
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1)
}

fn diagnostic(texts: &[Text], main: &Path, finding: Finding) -> Diagnostic {
    let Finding { severity, code, span, message, hint } = finding;
    let place = span.and_then(|span| texts.get(span.file.0).map(|text| (text, span)));
    let Some((text, span)) = place else {
        let file = main.display().to_string();
        return Diagnostic {
            code,
            severity,
            file,
            line: 0,
            column: 0,
            message,
            hint,
            source: None,
            width: 0,
        };
    };
    let (line, column) = text.place(span.start);
    let range = text.line_range(line);
    let start = (range.start + column).min(range.end);
    let chars = |range: Range<usize>| text.text.get(range).map_or(0, |part| part.chars().count());
    let width = chars(start..span.end.clamp(start, range.end));
    Diagnostic {
        code,
        severity,
        file: text.path.display().to_string(),
        line: number(line),
        column: number(chars(range.start..start)),
        message,
        hint,
        source: Some(mask::line(&text.text, range, &text.secrets)),
        width: u32::try_from(width.max(1)).unwrap_or(1),
    }
}
