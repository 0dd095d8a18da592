//! What is known about models: the figures that are compiled in, or a file in their place; and the prices that a
//! deployment states itself.

use std::path::{Path, PathBuf};

use haleway_providers::catalogue::{Catalogue, PriceKind, Prices, Usd};

use super::field::Field;
use super::health::Draft;
use super::section::Reader;
use crate::Source;
use crate::diag::{Finding, Report, codes};
use crate::yaml::Span;

/// The catalogue that `haleway.catalogue` names, else the built-in one.
pub(crate) fn read(field: Option<Field<'_>>, source: &dyn Source, report: &Report) -> Catalogue {
    let Some((field, name)) = field.and_then(|field| Some((field, field.text()?))) else {
        return Catalogue::builtin();
    };
    let path = beside(&report.place(field.span()).file, &name);
    let bytes = match source.read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let message = format!("cannot read the catalogue {}: {error}", path.display());
            report.add(field.error(codes::FILE, message).hint("a path is relative to the file that says it"));
            return Catalogue::builtin();
        }
    };
    match Catalogue::read(&bytes) {
        Ok(catalogue) => {
            // Taken in for its path alone: a change of it is a change of the configuration.
            report.file(&path, String::new());
            catalogue
        }
        Err(error) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let range = line(&text, error.line);
            let file = report.file(&path, text);
            let span = Span { file, start: range.start, end: range.end };
            let hint = "a catalogue is a table with a line of column names, separated by tabs, or LiteLLM's \
                        model_prices_and_context_window.json";
            report.add(Finding::error(codes::BAD_CATALOGUE, span, error.message).hint(hint));
            Catalogue::builtin()
        }
    }
}

fn beside(file: &Path, name: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(name)
}

/// The bytes of a line, from 1; the first when the fault has none.
fn line(text: &str, number: usize) -> std::ops::Range<usize> {
    let mut start = 0;
    for (index, line) in text.split('\n').enumerate() {
        if index + 1 >= number {
            return start..start + line.trim_end_matches('\r').len();
        }
        start += line.len() + 1;
    }
    0..0
}

/// The prices that a deployment states: in `litellm_params`, else in `model_info`.
pub(crate) fn prices(params: Reader<'_>, info: Option<Reader<'_>>, draft: &mut Draft) -> Prices {
    let mut prices = Prices::NONE;
    for kind in PriceKind::ALL {
        // Both are read, so that a fault in either is reported.
        let stated = info.and_then(|info| info.get(kind.key()));
        let stated = stated.and_then(|field| Some((price(field)?, field.origin())));
        let own = params.get(kind.key()).and_then(|field| Some((price(field)?, field.origin())));
        if let Some((price, origin)) = own.or(stated) {
            prices.set(*kind, Some(price));
            draft.note(kind.key(), origin);
        }
    }
    prices
}

fn price(field: Field<'_>) -> Option<Usd> {
    let number = field.number()?;
    match Usd::from_dollars(number) {
        Ok(price) => Some(price),
        Err(error) => {
            let message = format!("{} cannot be {}: {error}", field.name, field.shown());
            field.report.add(field.error(codes::BAD_VALUE, message));
            None
        }
    }
}
