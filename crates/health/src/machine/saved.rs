//! What survives a restart: an isolation never ends because the process did.

use std::sync::Arc;

use super::{By, Machine};
use crate::transition::Passage;
use crate::{Cause, Depth, Generation, Params, Scope, Source, State, Timestamp};

/// The learnt state of one machine. Times are on the process clock, which starts at the wall clock, so they
/// hold across processes.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SavedMachine {
    state: State,
    since: Timestamp,
    until: Timestamp,
    cause: Cause,
    scope: Scope,
    source: Option<Source>,
    generation: Generation,
    stated: bool,
    by: By,
    origin: State,
    step: u8,
    retests: u8,
    probe_run: u32,
    probe_depth: Depth,
    traffic_run: u32,
    failed_at: Timestamp,
    sightings: u32,
    hold_until: Timestamp,
    hold_ms: u64,
    next_trial: Timestamp,
    granted: u32,
    lost: u32,
    sent_at: Option<Timestamp>,
    supported: Timestamp,
    note: Option<String>,
    history: Vec<Passage>,
}

impl SavedMachine {
    /// The state it was saved in.
    pub const fn state(&self) -> State {
        self.state
    }
}

impl Machine {
    /// What to keep across a restart. A window of seconds is not kept, nor is a trial that is out: its verdict
    /// dies with the process.
    pub fn save(&self) -> SavedMachine {
        SavedMachine {
            state: self.state,
            since: self.since,
            until: self.until,
            cause: self.cause,
            scope: self.scope,
            source: self.source,
            generation: self.generation,
            stated: self.stated,
            by: self.by,
            origin: self.origin,
            step: self.step,
            retests: self.retests,
            probe_run: self.probe_run,
            probe_depth: self.probe_depth,
            traffic_run: self.traffic_run,
            failed_at: self.failed_at,
            sightings: self.sightings,
            hold_until: self.hold_until,
            hold_ms: u64::try_from(self.hold_length.as_millis()).unwrap_or(u64::MAX),
            next_trial: self.next_trial,
            granted: self.granted,
            lost: self.lost,
            sent_at: self.sent_at(),
            supported: self.supported,
            note: self.note.as_deref().map(str::to_owned),
            history: self.history.iter().collect(),
        }
    }

    /// A machine that goes on where `saved` stopped, with the numbers of the present configuration.
    pub fn restore(params: impl Into<Arc<Params>>, seed: u64, now: Timestamp, saved: &SavedMachine) -> Self {
        let mut machine = Self::new(params, seed, now);
        machine.state = saved.state;
        // A clock that was set back must not make the past look like the future.
        machine.since = saved.since.min(now);
        machine.until = saved.until;
        machine.cause = saved.cause;
        machine.scope = saved.scope;
        machine.source = saved.source;
        machine.generation = saved.generation;
        machine.stated = saved.stated;
        machine.by = saved.by;
        machine.origin = saved.origin;
        machine.step = saved.step.min(super::isolation::last_step(&machine.params.isolation));
        machine.retests = saved.retests;
        machine.probe_run = saved.probe_run;
        machine.probe_depth = saved.probe_depth;
        machine.traffic_run = saved.traffic_run;
        machine.failed_at = saved.failed_at;
        machine.sightings = saved.sightings;
        machine.hold_until = saved.hold_until;
        machine.hold_length = std::time::Duration::from_millis(saved.hold_ms);
        if saved.hold_until > now {
            machine.hold_due = saved.hold_until;
        }
        machine.next_trial = saved.next_trial;
        machine.granted = saved.granted;
        machine.lost = saved.lost;
        machine.known_sent_at = saved.sent_at;
        machine.supported = saved.supported;
        machine.note = saved.note.as_deref().map(Arc::from);
        for line in &saved.history {
            machine.history.push(*line);
        }
        machine
    }
}
