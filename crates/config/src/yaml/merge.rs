//! What becomes of the entries of a mapping: merge keys first, then the last of equal keys, as PyYAML does.

use std::collections::HashMap;

use super::build::Problem;
use super::scalar::Value;
use super::{Entry, Kind, Map, Node};
use crate::diag::{Finding, Report, codes};

/// A key and its value as they stand in the file.
pub(crate) struct RawEntry {
    pub(crate) key: Node,
    pub(crate) value: Node,
}

/// The mapping that these entries are.
pub(crate) fn entries(raw: Vec<RawEntry>, report: &Report) -> Result<Map, Problem> {
    let mut merged = Vec::new();
    let mut own = Vec::new();
    for RawEntry { key, value } in raw {
        let span = key.span;
        let Kind::Scalar(scalar) = key.kind else { continue };
        match scalar.value {
            Value::Str if scalar.text == "<<" && is_plain(&scalar.text, span.end - span.start) => {
                merge(value, &mut merged)?
            }
            Value::Bool(_) | Value::Null | Value::Date => {
                let read_as = scalar.value.describe();
                report.add(
                    Finding::warning(
                        codes::YAML_KEY_TYPE,
                        span,
                        format!("YAML 1.1 reads the key {:?} as {read_as}, not as a string", scalar.text),
                    )
                    .hint(format!("write it in quotes: \"{}\"", scalar.text)),
                );
                own.push(Entry { key: span, name: scalar.text, value });
            }
            Value::Str | Value::Int(_) | Value::Float(_) => {
                own.push(Entry { key: span, name: scalar.text, value })
            }
        }
    }
    Ok(last_wins(merged, own, report))
}

/// Quotes make `"<<"` an ordinary key: the source is then longer than the text.
fn is_plain(text: &str, source_length: usize) -> bool {
    text.len() == source_length
}

/// Adds the entries of a merged mapping. Of a list of mappings the earlier wins, so it comes later here.
fn merge(value: Node, merged: &mut Vec<Entry>) -> Result<(), Problem> {
    let span = value.span;
    let wrong = || Problem {
        span,
        code: codes::YAML_SYNTAX,
        message: "`<<` takes a mapping or a list of mappings".to_owned(),
    };
    match value.kind {
        Kind::Map(map) => merged.extend(map.entries),
        Kind::Seq(items) => {
            for item in items.into_iter().rev() {
                match item.kind {
                    Kind::Map(map) => merged.extend(map.entries),
                    Kind::Scalar(_) | Kind::Seq(_) => return Err(wrong()),
                }
            }
        }
        Kind::Scalar(_) => return Err(wrong()),
    }
    Ok(())
}

fn last_wins(merged: Vec<Entry>, own: Vec<Entry>, report: &Report) -> Map {
    let mut map = Map::default();
    let mut places: HashMap<String, usize> = HashMap::new();
    for entry in merged {
        put(&mut map, &mut places, entry);
    }
    let mut seen = HashMap::new();
    for entry in own {
        if let Some(first) = seen.insert(entry.name.clone(), entry.key) {
            report.add(
                Finding::warning(
                    codes::DUPLICATE_KEY,
                    first,
                    format!("the key {:?} is given again below", entry.name),
                )
                .hint("only the last one counts; remove this one"),
            );
        }
        put(&mut map, &mut places, entry);
    }
    map
}

fn put(map: &mut Map, places: &mut HashMap<String, usize>, entry: Entry) {
    match places.get(&entry.name).and_then(|at| map.entries.get_mut(*at)) {
        Some(place) => *place = entry,
        None => {
            places.insert(entry.name.clone(), map.entries.len());
            map.entries.push(entry);
        }
    }
}
