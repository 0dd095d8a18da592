//! What survives a restart: an isolation never ends because the process did.

use std::sync::Arc;
use std::time::Duration;

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
    /// Whether no success has confirmed the end of the hold; missing where it was saved before this was kept.
    #[serde(default)]
    hold_probation: Option<bool>,
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

    /// Since when it was in this state.
    pub const fn since(&self) -> Timestamp {
        self.since
    }

    /// When the youngest evidence was sent.
    pub const fn sent_at(&self) -> Option<Timestamp> {
        self.sent_at
    }

    pub(super) const fn cause_of_state(&self) -> Cause {
        self.cause
    }

    pub(super) const fn scope(&self) -> Scope {
        self.scope
    }

    pub(super) const fn source(&self) -> Option<Source> {
        self.source
    }

    pub(super) const fn end(&self) -> Timestamp {
        self.until
    }

    pub(super) const fn stated(&self) -> bool {
        self.stated
    }

    pub(super) const fn supported(&self) -> Timestamp {
        self.supported
    }

    pub(super) const fn hold(&self) -> (Timestamp, Duration) {
        (self.hold_until, Duration::from_millis(self.hold_ms))
    }

    pub(super) const fn hold_probation(&self) -> Option<bool> {
        self.hold_probation
    }

    pub(super) const fn probe_run(&self) -> u32 {
        self.probe_run
    }

    pub(super) const fn sightings(&self) -> u32 {
        self.sightings
    }

    pub(super) const fn step(&self) -> u8 {
        self.step
    }

    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The same on a clock that shows `millis` more: between the clock of a process and the one of a store that
    /// several processes share. What is unset or has no end stays so.
    #[must_use]
    pub fn shifted(&self, millis: i64) -> Self {
        let at = |at: Timestamp| at.shifted(millis);
        Self {
            since: at(self.since),
            until: at(self.until),
            failed_at: at(self.failed_at),
            hold_until: at(self.hold_until),
            next_trial: at(self.next_trial),
            sent_at: self.sent_at.map(at),
            supported: at(self.supported),
            history: self.history.iter().map(|line| Passage { at: at(line.at), ..*line }).collect(),
            ..self.clone()
        }
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
            hold_probation: Some(self.hold_probation),
            next_trial: self.next_trial,
            granted: self.granted,
            lost: self.lost,
            sent_at: self.sent_at(),
            supported: self.supported,
            note: self.note.as_deref().map(str::to_owned),
            history: self.history.iter().collect(),
        }
    }

    /// Takes the counts that a decision of the fleet carries.
    pub(super) fn take_counts(&mut self, saved: &SavedMachine) {
        self.stated = saved.stated;
        self.by = saved.by;
        self.origin = saved.origin;
        self.step = saved.step.min(super::isolation::last_step(&self.params.isolation));
        self.retests = saved.retests;
        self.probe_run = saved.probe_run;
        self.probe_depth = saved.probe_depth;
        self.sightings = saved.sightings;
        self.next_trial = saved.next_trial;
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
        machine.hold_length = Duration::from_millis(saved.hold_ms);
        if saved.hold_until > now {
            machine.hold_due = saved.hold_until;
        }
        let probation = saved.hold_probation.unwrap_or(saved.hold_until > now);
        machine.hold_probation = probation && !machine.is_litellm();
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
