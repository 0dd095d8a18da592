//! From bytes to one tree: encoding, then granit-parser's events, then the tree.

use granit_parser::{Event, Parser};

use super::build::{Builder, Problem};
use super::{Node, Span};
use crate::diag::{FileId, Finding, Report, codes};

/// Reads the file's bytes as text, as PyYAML does: UTF-8, an optional byte-order mark, no control characters.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|error| {
        format!("the file is not UTF-8 (first bad byte at offset {})", error.utf8_error().valid_up_to())
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The first character that PyYAML does not let into a file.
fn forbidden(text: &str) -> Option<(usize, char)> {
    text.char_indices().find(|(_, c)| {
        !matches!(c, '\t' | '\n' | '\r' | '\u{85}' | ' '..='~' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
    })
}

/// The tree of `text`; `None` when it is no YAML (which is then reported), a null node when it is empty.
pub(crate) fn parse(file: FileId, text: &str, report: &Report) -> Option<Node> {
    if let Some((at, c)) = forbidden(text) {
        let span = Span { file, start: at, end: at + c.len_utf8() };
        let message = format!("character U+{:04X} is not allowed in YAML", u32::from(c));
        report.add(Finding::error(codes::YAML_SYNTAX, span, message));
        return None;
    }
    let options = granit_parser::options! { emit_comments: false };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder::new(file, report);
    let mut documents = 0_u32;
    while let Some(event) = parser.next_event() {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let at = error.marker().byte_offset().unwrap_or(0).min(text.len());
                report.add(Finding::error(codes::YAML_SYNTAX, caret(file, text, at), error.info()));
                return None;
            }
        };
        let range = span.byte_range().unwrap_or(0..0);
        let place = Span { file, start: range.start.min(text.len()), end: range.end.min(text.len()) };
        if matches!(event, Event::DocumentStart(..)) {
            documents += 1;
            if documents == 2 {
                report.add(
                    Finding::error(codes::YAML_DOCUMENTS, place, "a second YAML document begins here")
                        .hint("a configuration is one document; remove the `---`"),
                );
                return None;
            }
        }
        if let Err(Problem { span, code, message }) = builder.event(event, place) {
            report.add(Finding::error(code, span, message));
            return None;
        }
    }
    Some(builder.finish())
}

/// One character at `at`, or the end of the text.
fn caret(file: FileId, text: &str, mut at: usize) -> Span {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let width =
        text.get(at..).and_then(|rest| rest.chars().next()).filter(|c| *c != '\n').map_or(0, char::len_utf8);
    Span { file, start: at, end: at + width }
}
