//! A catalogue as LiteLLM publishes it: `model_prices_and_context_window.json`, an object of models by name.
//!
//! Only what a [`ModelFacts`] holds is read; other keys are facts for others. A row that only says `alias_of` is the
//! row it names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::CatalogueError;
use super::facts::{Count, Flag, ModelFacts};
use super::pack::Row;
use super::prices::PriceKind;
use super::tsv::{date, price, whole};

/// Keys of the map that are no models.
const NO_MODELS: [&str; 2] = ["sample_spec", "fallback_generalizations"];

type Members<'t> = BTreeMap<String, &'t RawValue>;

/// Reads a price map.
pub(super) fn read(text: &str) -> Result<Vec<Row<'_>>, CatalogueError> {
    let map: Members<'_> = serde_json::from_str(text).map_err(|error| CatalogueError {
        line: error.line(),
        message: format!("it is no JSON object of models: {error}"),
    })?;
    let lines = Lines::of(text);
    let mut rows = Vec::with_capacity(map.len());
    for (name, raw) in &map {
        if NO_MODELS.contains(&name.as_str()) {
            continue;
        }
        let line = lines.of_slice(text, raw.get());
        let members = members(line, name, raw)?;
        let members = match members.get("alias_of").and_then(|target| text_of(target)) {
            None => members,
            Some(target) => {
                let message = || format!("{name:?} is an alias of {target:?}, which is not there");
                let raw = map.get(target.as_ref()).ok_or_else(|| CatalogueError::at(line, message()))?;
                self::members(line, &target, raw)?
            }
        };
        rows.push(Row { line, facts: facts(name.clone(), &members, text, &lines)? });
    }
    Ok(rows)
}

fn members<'t>(line: usize, name: &str, raw: &'t RawValue) -> Result<Members<'t>, CatalogueError> {
    serde_json::from_str(raw.get())
        .map_err(|_| CatalogueError::at(line, format!("{name:?} must be an object of facts")))
}

fn facts<'t>(
    name: String,
    members: &Members<'t>,
    text: &str,
    lines: &Lines,
) -> Result<ModelFacts<'t>, CatalogueError> {
    let mut facts = ModelFacts { name: Cow::Owned(name), ..ModelFacts::default() };
    for (key, raw) in members {
        if raw.get() == "null" {
            continue;
        }
        put(&mut facts, key, raw).map_err(|message| {
            let place = lines.of_slice(text, raw.get());
            CatalogueError::at(place, format!("{key} of {:?}: {message}", facts.name))
        })?;
    }
    // LiteLLM's older rows say the output limit so.
    if facts.max_output_tokens.is_none()
        && let Some(raw) = members.get("max_tokens")
    {
        facts.max_output_tokens = whole(unquoted(raw).as_ref()).ok();
    }
    Ok(facts)
}

fn put<'t>(facts: &mut ModelFacts<'t>, key: &str, raw: &'t RawValue) -> Result<(), String> {
    let as_text = || text_of(raw).ok_or_else(|| "it must be a string".to_owned());
    match key {
        "litellm_provider" => facts.provider = as_text()?,
        "mode" => facts.kind = as_text()?,
        "deprecation_date" => facts.deprecated_on = Some(date(as_text()?.trim())?),
        "supported_endpoints" => {
            let list: Vec<Cow<'_, str>> =
                serde_json::from_str(raw.get()).map_err(|_| "it must be a list of strings".to_owned())?;
            facts.endpoints = Cow::Owned(list.join(","));
        }
        _ => {
            if let Some(kind) = PriceKind::of_key(key) {
                facts.prices.set(kind, Some(price(unquoted(raw).as_ref())?));
            } else if let Some(count) = Count::ALL.into_iter().find(|count| count.key() == key) {
                *count.of(facts) = Some(whole(unquoted(raw).as_ref())?);
            } else if let Some(flag) = Flag::ALL.into_iter().find(|flag| flag.key() == key) {
                *flag.of(facts) = Some(truth(raw)?);
            }
        }
    }
    Ok(())
}

/// A number as written, with or without quotes.
fn unquoted(raw: &RawValue) -> Cow<'_, str> {
    text_of(raw).unwrap_or(Cow::Borrowed(raw.get()))
}

fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    if !raw.get().starts_with('"') {
        return None;
    }
    match raw.get().get(1..raw.get().len() - 1) {
        Some(plain) if !plain.contains('\\') => Some(Cow::Borrowed(plain)),
        _ => serde_json::from_str::<String>(raw.get()).ok().map(Cow::Owned),
    }
}

fn truth(raw: &RawValue) -> Result<bool, String> {
    match serde_json::from_str(raw.get()) {
        Ok(Value::Bool(flag)) => Ok(flag),
        _ => Err("it must be true or false".to_owned()),
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        Self(std::iter::once(0).chain(breaks).collect())
    }

    /// The line, from 1, on which a slice of the text begins.
    fn of_slice(&self, text: &str, slice: &str) -> usize {
        let offset = (slice.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        self.0.partition_point(|begin| *begin <= offset)
    }
}
