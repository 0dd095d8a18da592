//! The catalogue: what is known about models before anything is asked of them. Mode, limits, prices, whether they
//! reason, until when they are served.
//!
//! It decides how a deployment is probed when its configuration does not say, what a call costs, which deployment is
//! the cheapest, and which model stands for a wildcard. The figures of the built-in one are compiled in; an operator
//! may replace it whole with a file. Both are held in one packed form, so that there is one way to look something up.

mod cheapest;
mod facts;
mod lookup;
mod money;
mod pack;
mod packed;
mod price_map;
mod prices;
#[cfg(test)]
mod tests;
mod tsv;
mod usage;

pub use cheapest::ProbeCandidate;
pub use facts::ModelFacts;
pub use money::{NotMoney, Usd};
pub use prices::{PriceKind, Prices};
pub use usage::{Resolution, Usage};

use std::fmt;

use bytes::Bytes;

use packed::Packed;

/// The built-in figures, written by the example `catalogue`.
static BUILTIN: &[u8] = include_bytes!("builtin.bin");

/// What is known about models. Cheap to clone.
#[derive(Clone)]
pub struct Catalogue {
    packed: Packed,
}

/// A row of a catalogue, kept.
#[derive(Clone, Debug)]
pub struct CatalogueRow {
    catalogue: Catalogue,
    row: usize,
}

impl CatalogueRow {
    /// What the row says.
    pub fn facts(&self) -> ModelFacts<'_> {
        self.catalogue.packed.facts(self.row).unwrap_or_default()
    }
}

/// A file that is no catalogue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CatalogueError {
    /// The line, from 1; 0 when it is the whole.
    pub line: usize,
    /// What is wrong there, and the cure.
    pub message: String,
}

impl CatalogueError {
    const fn at(line: usize, message: String) -> Self {
        Self { line, message }
    }
}

impl Catalogue {
    /// The figures that are compiled in.
    pub fn builtin() -> Self {
        Self { packed: Packed::open(Bytes::from_static(BUILTIN)).unwrap_or_default() }
    }

    /// A catalogue that knows nothing.
    pub fn empty() -> Self {
        Self { packed: Packed::default() }
    }

    /// Reads a file: a table with a line of column names, or LiteLLM's price map in JSON.
    ///
    /// # Errors
    /// When it is not text, is neither of the two, or a value is none; the first fault is named with its line.
    pub fn read(bytes: &[u8]) -> Result<Self, CatalogueError> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let line = memchr::memchr_iter(b'\n', valid).count() + 1;
            CatalogueError::at(line, "the file is not UTF-8 text".to_owned())
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let rows = if text.trim_start().starts_with('{') { price_map::read(text)? } else { tsv::read(text)? };
        if rows.is_empty() {
            return Err(CatalogueError::at(0, "the file holds no model".to_owned()));
        }
        Ok(Self { packed: pack::pack(rows)? })
    }

    /// Every row, by name.
    pub fn rows(&self) -> impl Iterator<Item = ModelFacts<'_>> {
        (0..self.packed.len()).filter_map(|row| self.packed.facts(row))
    }

    /// How many models it knows.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Whether it knows nothing.
    pub fn is_empty(&self) -> bool {
        self.packed.len() == 0
    }

    /// The catalogue as a table that [`Catalogue::read`] reads: a start for an operator's own.
    pub fn to_table(&self) -> String {
        tsv::write(self.rows())
    }

    /// The packed form, as it is compiled in.
    pub fn packed(&self) -> &[u8] {
        self.packed.bytes()
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue").field("models", &self.len()).finish()
    }
}
