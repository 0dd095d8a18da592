//! From rows to the packed form.

use std::cmp::Ordering;
use std::collections::HashMap;

use bytes::Bytes;
use jiff::civil::Date;

use super::CatalogueError;
use super::facts::{Count, Flag, ModelFacts};
use super::packed::{HAS_DATE, HEAD, INDEX_ROW, MAGIC, Packed, compare};

/// A row as a file states it.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// Its line, from 1.
    pub(super) line: usize,
    pub(super) facts: ModelFacts<'a>,
}

/// Packs rows.
///
/// # Errors
/// When a name repeats or is longer than 255 bytes, or there is more than the packed form holds (16 MB of names or of
/// facts, 65,536 distinct numbers or texts).
pub(super) fn pack(mut rows: Vec<Row<'_>>) -> Result<Packed, CatalogueError> {
    rows.sort_by(|a, b| compare(a.facts.name.as_bytes(), &[&b.facts.name]).then(a.line.cmp(&b.line)));
    for pair in rows.windows(2) {
        if let [first, second] = pair
            && compare(first.facts.name.as_bytes(), &[&second.facts.name]) == Ordering::Equal
        {
            let message = format!("the model {:?} is on line {} already", second.facts.name, first.line);
            return Err(CatalogueError::at(second.line, message));
        }
    }
    let mut packer = Packer::default();
    for row in &mut rows {
        let line = row.line;
        packer.add(row).ok_or_else(|| {
            CatalogueError::at(
                line,
                "the name is longer than 255 bytes, or the catalogue is too large".to_owned(),
            )
        })?;
    }
    let whole = packer.finish().and_then(Packed::open);
    whole.ok_or_else(|| CatalogueError::at(0, "the catalogue is too large".to_owned()))
}

#[derive(Default)]
struct Packer {
    rows: usize,
    index: Vec<u8>,
    numbers: Interner<u64>,
    strings: Interner<String>,
    names: Vec<u8>,
    facts: Vec<u8>,
    records: HashMap<Vec<u8>, usize>,
}

impl Packer {
    fn add(&mut self, row: &mut Row<'_>) -> Option<()> {
        let name = row.facts.name.as_bytes();
        let begin = u24(self.names.len())?;
        let length = u8::try_from(name.len()).ok()?;
        self.names.extend_from_slice(name);
        let provider = self.strings.place(row.facts.provider.as_ref().to_owned())?;
        let record = self.record(&mut row.facts)?;
        let place = match self.records.get(&record) {
            Some(place) => *place,
            None => {
                let place = self.facts.len();
                self.facts.extend_from_slice(&record);
                self.records.insert(record, place);
                place
            }
        };
        self.index.extend_from_slice(&begin);
        self.index.push(length);
        self.index.extend_from_slice(&u24(place)?);
        self.index.extend_from_slice(&provider.to_le_bytes());
        self.rows += 1;
        Some(())
    }

    fn record(&mut self, facts: &mut ModelFacts<'_>) -> Option<Vec<u8>> {
        let (mut prices, mut limits, mut flags) = (0_u32, 0_u8, 0_u16);
        let mut places = Vec::new();
        for (kind, price) in facts.prices.known() {
            prices |= 1 << kind as u32;
            places.push(self.numbers.place(u64::try_from(price.femtodollars()).ok()?)?);
        }
        for (bit, count) in Count::ALL.into_iter().enumerate() {
            if let Some(number) = *count.of(facts) {
                limits |= 1 << bit;
                places.push(self.numbers.place(number)?);
            }
        }
        if let Some(date) = facts.deprecated_on {
            limits |= HAS_DATE;
            places.push(self.numbers.place(number_of(date)?)?);
        }
        for (place, flag) in Flag::ALL.into_iter().enumerate() {
            let bits = match *flag.of(facts) {
                None => 0,
                Some(false) => 0b10,
                Some(true) => 0b11,
            };
            flags |= bits << (2 * place);
        }
        let kind = self.strings.place(facts.kind.as_ref().to_owned())?;
        let endpoints = self.strings.place(facts.endpoints.as_ref().to_owned())?;
        let mut record = Vec::with_capacity(11 + 2 * places.len());
        record.extend_from_slice(&prices.to_le_bytes());
        record.push(limits);
        for number in [flags, kind, endpoints].into_iter().chain(places) {
            record.extend_from_slice(&number.to_le_bytes());
        }
        Some(record)
    }

    fn finish(self) -> Option<Bytes> {
        let numbers = self.numbers.values;
        let strings = self.strings.values;
        let string_len: usize = strings.iter().map(String::len).sum();
        let mut bytes = Vec::with_capacity(
            HEAD + self.rows * INDEX_ROW
                + numbers.len() * 8
                + string_len
                + self.names.len()
                + self.facts.len(),
        );
        bytes.extend_from_slice(&MAGIC);
        let lengths =
            [self.rows, self.facts.len(), numbers.len(), strings.len(), self.names.len(), string_len];
        for length in lengths {
            bytes.extend_from_slice(&u32::try_from(length).ok()?.to_le_bytes());
        }
        bytes.extend_from_slice(&self.index);
        for number in numbers {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let mut end = 0_u32;
        bytes.extend_from_slice(&end.to_le_bytes());
        for string in &strings {
            end += u32::try_from(string.len()).ok()?;
            bytes.extend_from_slice(&end.to_le_bytes());
        }
        strings.iter().for_each(|string| bytes.extend_from_slice(string.as_bytes()));
        bytes.extend_from_slice(&self.names);
        bytes.extend_from_slice(&self.facts);
        Some(bytes.into())
    }
}

/// Distinct values, each with a place of 16 bits, in order of first use.
#[derive(Default)]
struct Interner<T> {
    values: Vec<T>,
    places: HashMap<T, u16>,
}

impl<T: Clone + Eq + std::hash::Hash> Interner<T> {
    fn place(&mut self, value: T) -> Option<u16> {
        if let Some(place) = self.places.get(&value) {
            return Some(*place);
        }
        let place = u16::try_from(self.values.len()).ok()?;
        self.values.push(value.clone());
        self.places.insert(value, place);
        Some(place)
    }
}

fn u24(number: usize) -> Option<[u8; 3]> {
    let [low, middle, high, 0] = u32::try_from(number).ok()?.to_le_bytes() else { return None };
    Some([low, middle, high])
}

fn number_of(date: Date) -> Option<u64> {
    let number = i64::from(date.year()) * 10_000 + i64::from(date.month()) * 100 + i64::from(date.day());
    u64::try_from(number).ok()
}
