//! Changes of state as they are told to the outside, and the fixed-size ring of the latest.

use crate::{Cause, Class, Depth, Generation, Outcome, Scope, Source, State, Timestamp, TrialId};

/// What a deployment's group looks like at the time of an outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupFacts {
    /// The group has one deployment.
    pub single: bool,
    /// The group names a fallback group.
    pub has_fallback: bool,
}

impl GroupFacts {
    /// One deployment and nowhere else to go.
    pub const fn lone(self) -> bool {
        self.single && !self.has_fallback
    }
}

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Take no new traffic, finish what is in flight.
    Drain,
    /// Take no traffic.
    Disable,
    /// End whatever an operator imposed: the state is unknown until evidence comes.
    Enable,
    /// Take traffic whatever the evidence.
    ForceUp,
    /// Forget everything learnt. A configuration or budget fault gets a trial, all else is unknown.
    Reset,
}

/// The part of an outcome that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The cause, as the classifier names it.
    pub class: Class,
    /// What it applies to.
    pub scope: Scope,
    /// How it came about.
    pub source: Source,
    /// How much of the road it travelled.
    pub depth: Depth,
    /// HTTP status, 0 when there was none.
    pub status: u16,
    /// Phase or detail; empty when the class says it all.
    pub reason: &'static str,
    /// When the attempt was sent.
    pub sent_at: Timestamp,
    /// Price in billionths of a US dollar.
    pub price_nanousd: u64,
}

impl Observation {
    /// What is kept of `outcome`.
    pub const fn of(outcome: &Outcome) -> Self {
        Self {
            class: outcome.class,
            scope: outcome.scope,
            source: outcome.source,
            depth: outcome.depth,
            status: outcome.status,
            reason: outcome.reason,
            sent_at: outcome.sent_at,
            price_nanousd: outcome.price_nanousd,
        }
    }
}

/// One change of state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition {
    /// The state left.
    pub from: State,
    /// The state entered.
    pub to: State,
    /// Why.
    pub cause: Cause,
    /// What the cause applies to.
    pub scope: Scope,
    /// Where the deciding evidence came from; `None` when time or an operator decided.
    pub source: Option<Source>,
    /// When.
    pub at: Timestamp,
    /// When the new state ends by itself, when that is known.
    pub until: Option<Timestamp>,
    /// The generation of the new state.
    pub generation: Generation,
    /// Isolations in a row, the growth step of the isolation's length.
    pub step: u8,
    /// The deciding evidence, if evidence decided.
    pub evidence: Option<Observation>,
}

/// The right to make the one attempt that decides an isolation. Its verdict must carry `id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialLease {
    /// Names the lease.
    pub id: TrialId,
    /// A verdict from this time on is late and changes nothing.
    pub deadline: Timestamp,
    /// Who took it.
    pub owner: u64,
    /// The generation that the verdict's outcome carries.
    pub generation: Generation,
}

/// One line of the history: a transition without what only the event needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Passage {
    /// The state left.
    pub from: State,
    /// The state entered.
    pub to: State,
    /// Why.
    pub cause: Cause,
    /// What the cause applies to.
    pub scope: Scope,
    /// Where the deciding evidence came from.
    pub source: Option<Source>,
    /// When.
    pub at: Timestamp,
}

/// Transitions that are kept per deployment.
pub const HISTORY: usize = 20;

/// The latest transitions, oldest first. Of fixed size: a flapping deployment costs no memory.
#[derive(Clone, Debug)]
pub(crate) struct History {
    lines: [Option<Passage>; HISTORY],
    total: u32,
}

impl History {
    pub(crate) const fn new() -> Self {
        Self { lines: [None; HISTORY], total: 0 }
    }

    pub(crate) fn push(&mut self, line: Passage) {
        let at = self.total as usize % HISTORY;
        if let Some(place) = self.lines.get_mut(at) {
            *place = Some(line);
        }
        self.total = self.total.wrapping_add(1);
    }

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Passage> + '_ {
        let start = self.total as usize % HISTORY;
        self.lines.iter().cycle().skip(start).take(HISTORY).filter_map(|line| *line)
    }

    pub(crate) const fn total(&self) -> u32 {
        self.total
    }
}
