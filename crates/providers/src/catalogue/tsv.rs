//! A catalogue as a table: a line of column names, then a line per model, columns separated by tabs.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::facts::{Column, Count, Flag, ModelFacts};
use super::pack::Row;
use super::prices::PriceKind;
use super::{CatalogueError, Usd};

/// Reads a table. Columns may stand in any order, and all but `model` may be missing.
pub(super) fn read(text: &str) -> Result<Vec<Row<'_>>, CatalogueError> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let (_, head) = lines.next().unwrap_or((1, ""));
    let columns = head.split('\t').map(column).collect::<Result<Vec<_>, _>>()?;
    for (index, column) in columns.iter().enumerate() {
        if columns.iter().skip(index + 1).any(|other| other == column) {
            return Err(CatalogueError::at(1, format!("the column {:?} is there twice", column.name())));
        }
    }
    if !columns.contains(&Column::Model) {
        let message = "there is no column \"model\": the first line names the columns, separated by tabs";
        return Err(CatalogueError::at(1, message.to_owned()));
    }
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| row(number, line, &columns))
        .collect()
}

fn column(name: &str) -> Result<Column, CatalogueError> {
    let name = name.trim();
    Column::of_name(name).ok_or_else(|| {
        let known: Vec<&str> = Column::all().map(Column::name).collect();
        let near = known
            .iter()
            .map(|known| (strsim::normalized_damerau_levenshtein(name, known), *known))
            .filter(|(score, _)| *score >= 0.7)
            .max_by(|(a, _), (b, _)| a.total_cmp(b));
        let cure = near.map_or_else(
            || format!("the columns are {}", known.join(", ")),
            |(_, known)| format!("did you mean {known:?}?"),
        );
        CatalogueError::at(1, format!("there is no column {name:?}: {cure}"))
    })
}

fn row<'t>(line: usize, text: &'t str, columns: &[Column]) -> Result<Row<'t>, CatalogueError> {
    let mut facts = ModelFacts::default();
    let mut cells = text.split('\t');
    for column in columns {
        let cell = cells.next().unwrap_or_default().trim();
        if !cell.is_empty() {
            put(&mut facts, *column, cell)
                .map_err(|message| CatalogueError::at(line, format!("{}: {message}", column.name())))?;
        }
    }
    if let Some(cell) = cells.find(|cell| !cell.trim().is_empty()) {
        return Err(CatalogueError::at(line, format!("{cell:?} stands in no column")));
    }
    if facts.name.is_empty() {
        return Err(CatalogueError::at(line, "model: the name is missing".to_owned()));
    }
    Ok(Row { line, facts })
}

fn put<'t>(facts: &mut ModelFacts<'t>, column: Column, cell: &'t str) -> Result<(), String> {
    match column {
        Column::Model => facts.name = Cow::Borrowed(cell),
        Column::Provider => facts.provider = Cow::Borrowed(cell),
        Column::Kind => facts.kind = Cow::Borrowed(cell),
        Column::Endpoints => facts.endpoints = Cow::Borrowed(cell),
        Column::DeprecatedOn => facts.deprecated_on = Some(date(cell)?),
        Column::Count(count) => *count.of(facts) = Some(whole(cell)?),
        Column::Flag(flag) => *flag.of(facts) = Some(truth(cell)?),
        Column::Price(kind) => facts.prices.set(kind, Some(price(cell)?)),
    }
    Ok(())
}

/// A price that the packed form holds: below 18,446 dollars per unit.
pub(super) fn price(text: &str) -> Result<Usd, String> {
    let price = Usd::parse(text).map_err(|error| format!("{text:?}: {error}"))?;
    if u64::try_from(price.femtodollars()).is_err() {
        return Err(format!("{text:?}: a price per unit must be below 18446 dollars"));
    }
    Ok(price)
}

/// A whole number, also one with a zero fraction.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    let digits = text.strip_suffix(".0").unwrap_or(text);
    digits.parse().map_err(|_| format!("{text:?} is not a whole number"))
}

/// A day as `yyyy-mm-dd`.
pub(super) fn date(text: &str) -> Result<jiff::civil::Date, String> {
    text.parse().map_err(|_| format!("{text:?} is not a day such as 2027-01-31"))
}

fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(format!("{text:?} is neither 1 nor 0")),
    }
}

/// Writes a table that [`read`] reads back to the same rows.
pub(super) fn write<'f>(rows: impl Iterator<Item = ModelFacts<'f>>) -> String {
    let mut text = String::new();
    for (index, column) in Column::all().enumerate() {
        text.push_str(if index == 0 { "" } else { "\t" });
        text.push_str(column.name());
    }
    for mut facts in rows {
        for (index, column) in Column::all().enumerate() {
            text.push(if index == 0 { '\n' } else { '\t' });
            // Writing to a string cannot fail.
            let _infallible = cell(&mut text, &mut facts, column);
        }
    }
    text.push('\n');
    text
}

fn cell(text: &mut String, facts: &mut ModelFacts<'_>, column: Column) -> std::fmt::Result {
    let counted =
        |text: &mut String, number: Option<u64>| number.map_or(Ok(()), |number| write!(text, "{number}"));
    match column {
        Column::Model => text.write_str(&facts.name),
        Column::Provider => text.write_str(&facts.provider),
        Column::Kind => text.write_str(&facts.kind),
        Column::Endpoints => text.write_str(&facts.endpoints),
        Column::DeprecatedOn => facts.deprecated_on.map_or(Ok(()), |date| write!(text, "{date}")),
        Column::Count(count) => {
            let number: &mut Option<u64> = Count::of(count, facts);
            counted(text, *number)
        }
        Column::Flag(flag) => counted(text, Flag::of(flag, facts).map(u64::from)),
        Column::Price(kind) => price_cell(text, facts, kind),
    }
}

fn price_cell(text: &mut String, facts: &ModelFacts<'_>, kind: PriceKind) -> std::fmt::Result {
    facts.prices.get(kind).map_or(Ok(()), |price| write!(text, "{price}"))
}
