//! Outcome × state, as a snapshot: each cell is what one outcome does to a deployment in that state.

use std::fmt::Write as _;

use super::{Rig, exact, secs};
use crate::{Class, Depth, Source, State};

/// Short names of evidence, one row each.
fn rows() -> Vec<(String, Source, Depth, Class, Option<u64>)> {
    let mut rows = Vec::new();
    for class in Class::ALL {
        rows.push((format!("traffic {class}"), Source::Traffic, Depth::Generation, class, None));
        rows.push((format!("probe {class}"), Source::Probe, Depth::Generation, class, None));
        if matches!(class, Class::Ok | Class::Auth | Class::ServerError) {
            rows.push((format!("free probe {class}"), Source::Probe, Depth::Free, class, None));
        }
        if matches!(class, Class::RateLimit | Class::ServerError | Class::Billing) {
            rows.push((
                format!("traffic {class} wait 120"),
                Source::Traffic,
                Depth::Generation,
                class,
                Some(120),
            ));
        }
        rows.push((format!("trial {class}"), Source::Trial, Depth::Generation, class, None));
    }
    rows
}

fn short(state: State) -> &'static str {
    match state {
        State::Unknown => "UNK",
        State::Healthy => "HEA",
        State::Suspect => "SUS",
        State::Isolated => "ISO",
        State::Trial => "TRI",
        State::Ramping => "RAM",
        State::ConfigFault => "CFG",
        State::Budget => "BUD",
        State::AdminDown => "ADM",
        State::Draining => "DRA",
        State::ForcedUp => "FOR",
    }
}

/// What one outcome does: the new state, else what else changed; `.` = nothing at all.
fn cell(
    state: State,
    (_, source, depth, class, wait): &(String, Source, Depth, Class, Option<u64>),
) -> String {
    let mut rig = Rig::in_state(exact(), state);
    let trial = (*source == Source::Trial && state == State::Trial).then(|| rig.lease());
    let before = rig.machine.findings(rig.now);
    let mut outcome = rig.outcome(*source, *class);
    outcome.depth = *depth;
    outcome.retry_after = wait.map(secs);
    outcome.trial = trial.as_ref().map(|lease| lease.id);
    let moved = rig.give(&outcome);
    let after = rig.machine.findings(rig.now);
    let mut text = moved.map_or_else(String::new, |moved| short(moved.to).to_owned());
    let mut note = |changed: bool, sign: char| {
        if changed {
            text.push(sign);
        }
    };
    note(after.probe_run != before.probe_run, 'p');
    note(after.traffic_run != before.traffic_run, 't');
    note(after.sightings != before.sightings, 'c');
    note(after.window.ok > before.window.ok, '+');
    note(after.window.bad > before.window.bad, '-');
    note(after.held_until != before.held_until, 'h');
    note(moved.is_none() && after.until != before.until && state != State::Trial, 'u');
    note(trial.is_some() && rig.machine.trial().is_none() && moved.is_none(), 'f');
    if text.is_empty() { ".".to_owned() } else { text }
}

#[test]
fn outcome_by_state() {
    let mut table = format!("{:<34}", "");
    for state in State::ALL {
        write!(table, "{:<7}", short(state)).expect("writes");
    }
    table.push('\n');
    for row in rows() {
        write!(table, "{:<34}", row.0).expect("writes");
        for state in State::ALL {
            write!(table, "{:<7}", cell(state, &row)).expect("writes");
        }
        table.truncate(table.trim_end().len());
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}
