//! Tables, money and JSON for the terminal.

use haleway_providers::catalogue::Usd;
use serde::Serialize;

/// Columns as wide as their widest cell; the last one is not padded.
#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(super) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
        self.rows
            .iter()
            .map(|row| {
                let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
                format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
            })
            .collect()
    }
}

/// Dollars for people: what is not known is said.
pub(super) fn dollars(usd: Option<Usd>) -> String {
    usd.map_or_else(|| "unknown".to_owned(), |usd| format!("${usd}"))
}

/// Indented JSON with a newline at its end.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).map(|text| text + "\n").unwrap_or_default()
}
