//! The form in which a catalogue is held: sorted names to search in, and facts that rows share.
//!
//! | section | content |
//! |---|---|
//! | head | `HCAT`, then six lengths: rows, bytes of facts, numbers, strings, bytes of names, bytes of strings |
//! | index | per row: where its name begins (3 bytes) and how long it is (1), where its facts begin (3), its provider's string (2) |
//! | numbers | each distinct price (femtodollars), limit and date (`yyyymmdd`), 8 bytes |
//! | strings | where each begins (4 bytes), then their bytes |
//! | names | in lower-case order, as they are written |
//! | facts | per record: which prices (4 bytes), which limits and whether a date (1), flags in two bits each (2), kind and endpoints as strings (2 each), then per number its place in `numbers` (2) |
//!
//! All numbers are little-endian. A look-up allocates nothing.

use std::borrow::Cow;
use std::cmp::Ordering;

use bytes::Bytes;
use jiff::civil::Date;

use super::Usd;
use super::facts::{Count, Flag, ModelFacts};
use super::prices::PriceKind;

pub(super) const MAGIC: [u8; 4] = *b"HCAT";
pub(super) const HEAD: usize = 4 + 6 * 4;
pub(super) const INDEX_ROW: usize = 9;
/// The bit of a record's limits that says that a date follows.
pub(super) const HAS_DATE: u8 = 1 << 7;

/// A packed catalogue.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    bytes: Bytes,
    rows: usize,
    numbers: usize,
    strings: usize,
    string_bytes: usize,
    names: usize,
    facts: usize,
}

impl Packed {
    /// Opens the packed form; `None` when its lengths contradict each other.
    pub(super) fn open(bytes: Bytes) -> Option<Self> {
        if bytes.get(..4)? != MAGIC {
            return None;
        }
        let mut at = 4;
        let mut lengths = [0_usize; 6];
        for length in &mut lengths {
            *length = usize::try_from(u32_at(&bytes, at)?).ok()?;
            at += 4;
        }
        let [rows, fact_len, number_count, string_count, name_len, string_len] = lengths;
        let numbers = HEAD + rows.checked_mul(INDEX_ROW)?;
        let strings = numbers.checked_add(number_count.checked_mul(8)?)?;
        let string_bytes = strings.checked_add(string_count.checked_add(1)?.checked_mul(4)?)?;
        let names = string_bytes.checked_add(string_len)?;
        let facts = names.checked_add(name_len)?;
        let whole = facts.checked_add(fact_len)?;
        (bytes.len() == whole).then_some(Self { bytes, rows, numbers, strings, string_bytes, names, facts })
    }

    pub(super) const fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The row whose name is `key`, its parts put together, in any case.
    pub(super) fn search(&self, key: &[&str]) -> Option<usize> {
        let (mut low, mut high) = (0, self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(self.name(middle)?.as_bytes(), key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn name(&self, row: usize) -> Option<&str> {
        let at = HEAD + row * INDEX_ROW;
        let begin = self.names + u24_at(&self.bytes, at)?;
        let length = usize::from(*self.bytes.get(at + 3)?);
        std::str::from_utf8(self.bytes.get(begin..begin + length)?).ok()
    }

    /// The provider of a row.
    pub(super) fn provider(&self, row: usize) -> Option<&str> {
        self.string(u16_at(&self.bytes, HEAD + row * INDEX_ROW + 7)?)
    }

    fn string(&self, index: u16) -> Option<&str> {
        let at = self.strings + usize::from(index) * 4;
        let begin = usize::try_from(u32_at(&self.bytes, at)?).ok()?;
        let end = usize::try_from(u32_at(&self.bytes, at + 4)?).ok()?;
        std::str::from_utf8(self.bytes.get(self.string_bytes + begin..self.string_bytes + end)?).ok()
    }

    /// Everything about a row.
    pub(super) fn facts(&self, row: usize) -> Option<ModelFacts<'_>> {
        let mut at = self.facts + u24_at(&self.bytes, HEAD + row * INDEX_ROW + 4)?;
        let prices = u32_at(&self.bytes, at)?;
        let limits = *self.bytes.get(at + 4)?;
        let flags = u16_at(&self.bytes, at + 5)?;
        let (kind, endpoints) = (u16_at(&self.bytes, at + 7)?, u16_at(&self.bytes, at + 9)?);
        at += 11;
        let mut facts = ModelFacts {
            name: Cow::Borrowed(self.name(row)?),
            provider: Cow::Borrowed(self.provider(row)?),
            kind: Cow::Borrowed(self.string(kind)?),
            endpoints: Cow::Borrowed(self.string(endpoints)?),
            ..ModelFacts::default()
        };
        let mut number = || {
            let index = u16_at(&self.bytes, at)?;
            at += 2;
            u64_at(&self.bytes, self.numbers + usize::from(index) * 8)
        };
        for (bit, kind) in PriceKind::ALL.iter().enumerate() {
            if prices & (1 << bit) != 0 {
                facts.prices.set(*kind, Some(Usd::from_femtodollars(number()?.into())));
            }
        }
        for (bit, count) in Count::ALL.into_iter().enumerate() {
            if limits & (1 << bit) != 0 {
                *count.of(&mut facts) = Some(number()?);
            }
        }
        if limits & HAS_DATE != 0 {
            facts.deprecated_on = Some(date(number()?)?);
        }
        for (place, flag) in Flag::ALL.into_iter().enumerate() {
            *flag.of(&mut facts) = match flags >> (2 * place) & 0b11 {
                0b10 => Some(false),
                0b11 => Some(true),
                _ => None,
            };
        }
        Some(facts)
    }
}

/// Compares a name with a key in parts, in any case.
pub(super) fn compare(name: &[u8], key: &[&str]) -> Ordering {
    let mut rest = name;
    for part in key {
        let part = part.as_bytes();
        let common = rest.len().min(part.len());
        let (here, there) = (rest.get(..common).unwrap_or(rest), part.get(..common).unwrap_or(part));
        // Names share long beginnings, nearly always in the same case.
        let same = here.chunks_exact(8).zip(there.chunks_exact(8)).take_while(|(one, other)| one == other);
        let same = same.count() * 8;
        let (here, there) = (here.iter().skip(same), there.iter().skip(same));
        let order = here.map(u8::to_ascii_lowercase).cmp(there.map(u8::to_ascii_lowercase));
        if order.is_ne() {
            return order;
        }
        if common < part.len() {
            return Ordering::Less;
        }
        rest = rest.get(common..).unwrap_or_default();
    }
    if rest.is_empty() { Ordering::Equal } else { Ordering::Greater }
}

fn date(number: u64) -> Option<Date> {
    let year = i16::try_from(number / 10_000).ok()?;
    let month = i8::try_from(number / 100 % 100).ok()?;
    let day = i8::try_from(number % 100).ok()?;
    Date::new(year, month, day).ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u24_at(bytes: &[u8], at: usize) -> Option<usize> {
    let [low, middle, high] = bytes.get(at..at + 3)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes([low, middle, high, 0])).ok()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
