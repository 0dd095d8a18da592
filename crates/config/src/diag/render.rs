//! Findings as text for people: rustc's look, plain or coloured.

use annotate_snippets::{AnnotationKind, Level, Origin as Place, Renderer, Snippet};

use super::{Diagnostic, Severity};

/// Findings as text, one block each, an empty line between.
pub fn render(diagnostics: &[Diagnostic], coloured: bool) -> String {
    let renderer = if coloured { Renderer::styled() } else { Renderer::plain() };
    let blocks: Vec<String> = diagnostics.iter().map(|finding| block(&renderer, finding)).collect();
    let mut text = blocks.join("\n\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn block(renderer: &Renderer, finding: &Diagnostic) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(finding.message.as_str()).id(finding.code);
    let mut group = match &finding.source {
        Some(line) => {
            let span = byte_span(line, finding.column, finding.width);
            title.element(
                Snippet::source(line.as_str())
                    .path(finding.file.as_str())
                    .line_start(usize::try_from(finding.line).unwrap_or(1))
                    .annotation(AnnotationKind::Primary.span(span)),
            )
        }
        None => title.element(Place::path(finding.file.as_str())),
    };
    if let Some(hint) = &finding.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    renderer.render(&[group])
}

/// The bytes of `line` that `width` characters from `column` take, at least one character where there is one.
fn byte_span(line: &str, column: u32, width: u32) -> std::ops::Range<usize> {
    let at = |chars: u32| {
        let skip = usize::try_from(chars).unwrap_or(usize::MAX);
        line.char_indices().nth(skip).map_or(line.len(), |(byte, _)| byte)
    };
    let first = column.saturating_sub(1);
    at(first)..at(first.saturating_add(width.max(1)))
}
