//! The table as text: what is expected, as the manual shows it, and what was measured, with its times.

use std::fmt::Write;

use crate::bed::{Got, Kind, Seen};
use crate::cases::{CASES, Case, Row};

const BEGIN: &str = "<!-- table: compared with crates/server/tests/failover -->\n";
const END: &str = "<!-- end of table -->";

/// What was measured, with times.
pub(crate) fn measured(all: &[(&Case, Vec<Seen>)]) -> String {
    let mut text = String::new();
    for (case, seen) in all {
        for Seen {
            kind,
            topology,
            first,
            requests,
            took,
            after_one,
            requests_in_ten,
            after_ten,
            skipped,
            ..
        } in seen
        {
            let millis = took.as_millis();
            writeln!(
                text,
                "{:45} {kind:?}/{topology:?}: {first:?} requests {requests:?} {millis} ms {after_one}, in ten \
                 {requests_in_ten} {after_ten} [{skipped}]",
                case.name
            )
            .unwrap();
        }
    }
    text
}

/// The manual's table is the expectation, word for word.
pub(crate) fn compare_with_manual() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/failover.md");
    let manual = std::fs::read_to_string(path).unwrap();
    let shown = manual.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).unwrap().0;
    let wanted = expected();
    assert!(shown == wanted, "docs/failover.md is not current; its table must be:\n{wanted}");
}

fn expected() -> String {
    let mut text = String::from(
        "| fault of the first deployment | call | the caller gets | end mark | requests 1st + 2nd | time lost | in `x-haleway-skipped` | 1st after one call | requests 1st in ten calls | 1st after ten |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for case in CASES {
        match (&case.whole, &case.stream) {
            (Some(whole), Some(stream)) if whole == stream => {
                line(&mut text, case, "both", whole, Kind::Stream)
            }
            (whole, stream) => {
                for (row, kind, word) in [(whole, Kind::Whole, "whole"), (stream, Kind::Stream, "stream")] {
                    if let Some(row) = row {
                        line(&mut text, case, word, row, kind);
                    }
                }
            }
        }
    }
    text
}

fn line(text: &mut String, case: &Case, call: &str, row: &Row, kind: Kind) {
    let (got, mark) = match (row.got, kind) {
        (Got::Whole, Kind::Whole) => ("200, whole".to_owned(), "-"),
        (Got::Whole, Kind::Stream) => ("200, whole".to_owned(), "yes"),
        (Got::PartThenError, _) => ("200, a part, an error event".to_owned(), "no"),
        (Got::Error(status), _) => (status.to_string(), "-"),
        (Got::Broken, _) => panic!("{}: nobody may expect that", case.name),
    };
    let lost = if row.waits { "the limit" } else { "none" };
    let reason = if row.reason.is_empty() { "-".to_owned() } else { format!("`{}`", row.reason) };
    let (first, second) = row.requests;
    writeln!(
        text,
        "| {} | {call} | {got} | {mark} | {first} + {second} | {lost} | {reason} | {} | {} | {} |",
        case.name, row.after_one, row.in_ten, row.after_ten
    )
    .unwrap();
}
