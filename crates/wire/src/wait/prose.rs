//! Waits in the words of a message.
//!
//! A phrase that announces a wait ("try again in", "retry after", "resets in") followed by amounts and units.
//! Without such a phrase a duration in a message means something else (a limit "per 60 seconds"), so it is
//! left alone.

use std::time::Duration;

use super::duration::{go_duration, scaled};

/// Words after which an amount of time is a wait. Lower case.
const CUES: [&str; 16] = [
    "try again in",
    "try again after",
    "retry in",
    "retry after",
    "retry your request after",
    "resets in",
    "reset in",
    "reset after",
    "resets after",
    "available in",
    "available again in",
    "wait for",
    "please wait",
    "must wait",
    "wait at least",
    "retrying in",
];

/// Only the start of a text is read; a message is short and a page is not one.
const READ: usize = 8 * 1024;

/// The longest wait that `text` announces.
pub(super) fn stated(text: &str) -> Option<Duration> {
    let mut end = text.len().min(READ);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let lower = text.get(..end)?.to_ascii_lowercase();
    CUES.iter()
        .flat_map(|cue| lower.match_indices(cue).map(move |(at, _)| at + cue.len()))
        .filter_map(|after| amount(lower.get(after..)?))
        .max()
}

/// The amounts at the start of `text`, such as ` 6h29m`, ` 20 seconds`, `: 1 minute and 30 seconds`.
fn amount(text: &str) -> Option<Duration> {
    let mut total: Option<Duration> = None;
    let mut words = text.split([' ', '\n', '\t', ',']).filter(|word| !word.is_empty()).peekable();
    let mut taken = 0;
    while let Some(word) = words.next() {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != 'µ');
        let filler =
            matches!(word, "" | "and" | "about" | "another" | "approximately" | "around" | "at" | "least");
        taken += 1;
        if taken > 12 {
            break;
        }
        if filler {
            continue;
        }
        let Some(length) = one(word, words.peek().copied()) else { break };
        if word.parse::<f64>().is_ok() && words.peek().is_some_and(|unit| is_unit(unit)) {
            words.next();
        }
        total = Some(total.unwrap_or_default().checked_add(length)?);
    }
    total
}

/// One amount: `6h29m`, or a number whose unit is the next word; a number without a unit is seconds.
fn one(word: &str, next: Option<&str>) -> Option<Duration> {
    let Ok(value) = word.parse::<f64>() else { return go_duration(word) };
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    match next.map(unit) {
        Some(unit) if scaled(1.0, unit).is_some() => scaled(value, unit),
        Some(_) | None => scaled(value, "s"),
    }
}

fn is_unit(word: &str) -> bool {
    scaled(1.0, unit(word)).is_some()
}

/// The unit without the punctuation that follows it.
fn unit(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_ascii_alphabetic() && c != 'µ').trim_end_matches("(s")
}
