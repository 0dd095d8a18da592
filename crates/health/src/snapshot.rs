//! The verdict snapshot: everything a request reads about health, in one immutable structure.
//!
//! Routing loads it once per decision and then reads small copies by slot: a rank with the group's panic and
//! safety nets already composed, and a weight. Requests never lock, wait or compute health. Publishing
//! copies only the pages of 64 deployments in which something changed, so a transition in a table of 10,000
//! costs microseconds.

use std::collections::HashMap;
use std::sync::Arc;

use crate::inflight::{Board, Cell};
use crate::pages::Pages;
use crate::{Cause, Generation, GroupIx, Scope, Slot, Source, Standing, State, Tier, Timestamp};

/// How routing may use a deployment now, best first. Among the candidates that a call has not tried yet, only
/// those of the best rank present are candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Rank {
    /// In rotation, at its weight; also when panic or a safety net put it back.
    In,
    /// Last resort: a wait that the provider stated still runs.
    Held,
    /// Last resort: out by inference from traffic.
    Cooling,
    /// Last resort: its probe failed.
    ProbeFailed,
    /// Not to be used: auth, billing, model gone, operator, or the group refuses.
    Out,
}

impl Rank {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Held => "held",
            Self::Cooling => "cooling",
            Self::ProbeFailed => "probe_failed",
            Self::Out => "out",
        }
    }
}

/// What a group as a whole is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PanicState {
    /// Enough members are in.
    Calm,
    /// Too few are in: traffic is spread over everything that was only inferred to be out.
    Spread,
    /// Too few are in: the group refuses.
    Refuse,
    /// No member is in; the group's `all_out` rule holds.
    AllOut,
}

impl PanicState {
    /// The stable machine name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Calm => "calm",
            Self::Spread => "spread",
            Self::Refuse => "refuse",
            Self::AllOut => "all_out",
        }
    }
}

/// Why a group offers something else than its members' own verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupReason {
    /// It does not.
    None,
    /// The only deployment, without a fallback, is kept usable.
    Lone,
    /// The ejection cap keeps some members in.
    EjectionCap,
    /// The share of available weight is below the panic threshold.
    BelowThreshold,
    /// No member is in.
    NoneLeft,
}

impl GroupReason {
    /// The stable machine name; empty for none.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lone => "lone_deployment",
            Self::EjectionCap => "ejection_cap",
            Self::BelowThreshold => "below_panic_threshold",
            Self::NoneLeft => "none_left",
        }
    }
}

/// When members of a rank worse than [`Rank::In`] may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LastResort {
    /// Never: the group waits or refuses.
    Never,
    /// Once every fallback group is out too.
    AfterFallback,
    /// As soon as no better candidate is untried.
    AtOnce,
}

/// The verdict of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupState {
    /// What it is in.
    pub panic: PanicState,
    /// Why.
    pub reason: GroupReason,
    /// When ranks worse than [`Rank::In`] may be used.
    pub last_resort: LastResort,
    /// The earliest known return of a member that is out; what `Retry-After` names.
    pub soonest_return: Option<Timestamp>,
}

/// A group in a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct GroupView<'a> {
    /// The group's name.
    pub name: &'a Arc<str>,
    /// Its members, in the order of the configuration.
    pub slots: &'a [Slot],
    /// What it is in.
    pub panic: PanicState,
    /// Why.
    pub reason: GroupReason,
    /// When ranks worse than [`Rank::In`] may be used.
    pub last_resort: LastResort,
    /// The earliest known return of a member that is out; what `Retry-After` names.
    pub soonest_return: Option<Timestamp>,
}

/// What routing reads of one deployment: 12 bytes, copied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Share of its normal weight, 0 to 1; 1 when a group rule put it back although it is out.
    pub weight: f32,
    /// Its generation, to be carried by the outcome.
    pub generation: Generation,
    /// What its machine and fault domains say, before the group's rules.
    pub tier: Tier,
    /// How it may be used, with the group's rules.
    pub rank: Rank,
    flags: u8,
}

/// A caller's request may claim the trial.
const TRIAL_OPEN: u8 = 1;
/// A success can move nothing but counters.
const FAST: u8 = 2;
/// The verdict rests on evidence that may be this pod's own fault.
const LOCAL_ONLY: u8 = 4;
/// It would be out but for a rule of the group.
const SPARED: u8 = 8;

/// The flags of an entry, by name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) trial_open: bool,
    pub(crate) fast: bool,
    pub(crate) local_only: bool,
    pub(crate) spared: bool,
}

impl Entry {
    /// A hole: no deployment, never usable.
    pub(crate) const HOLE: Self =
        Self { weight: 0.0, generation: Generation(0), tier: Tier::Never, rank: Rank::Out, flags: 0 };

    pub(crate) const fn new(
        weight: f32,
        generation: Generation,
        tier: Tier,
        rank: Rank,
        flags: Flags,
    ) -> Self {
        let bits = if flags.trial_open { TRIAL_OPEN } else { 0 }
            | if flags.fast { FAST } else { 0 }
            | if flags.local_only { LOCAL_ONLY } else { 0 }
            | if flags.spared { SPARED } else { 0 };
        Self { weight, generation, tier, rank, flags: bits }
    }

    /// Whether a caller's request may claim the deployment's trial.
    pub const fn trial_open(self) -> bool {
        self.flags & TRIAL_OPEN != 0
    }

    /// Whether the verdict rests on evidence that may be this pod's own fault.
    pub const fn local_only(self) -> bool {
        self.flags & LOCAL_ONLY != 0
    }

    /// Whether it is usable only by a rule of its group: panic, lone deployment, ejection cap.
    pub const fn spared(self) -> bool {
        self.flags & SPARED != 0
    }

    pub(crate) const fn fast(self) -> bool {
        self.flags & FAST != 0
    }
}

/// What a reader may show of one deployment without a lock, as of the last publication.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// State of its machine.
    pub state: State,
    /// What led to it; `None` in the state it started in.
    pub cause: Option<Cause>,
    /// What the cause applies to.
    pub scope: Scope,
    /// How the evidence came about.
    pub source: Option<Source>,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// When the state ends by itself.
    pub until: Option<Timestamp>,
    /// A stated wait runs until then.
    pub held_until: Option<Timestamp>,
    /// When the evidence was sent; `None` before the first.
    pub sent_at: Option<Timestamp>,
}

impl Verdict {
    /// What is published of a hole.
    pub(crate) const HOLE: Self = Self {
        state: State::AdminDown,
        cause: None,
        scope: Scope::Model,
        source: None,
        since: Timestamp::from_millis(0),
        until: None,
        held_until: None,
        sent_at: None,
    };
}

/// A group's name and its members.
pub(crate) type Members = (Arc<str>, Box<[Slot]>);

/// What changes only with the configuration: groups, names, cells.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) groups: Box<[Members]>,
    pub(crate) group_of: Box<[GroupIx]>,
    pub(crate) by_group: HashMap<Arc<str>, GroupIx>,
    pub(crate) by_id: HashMap<Arc<str>, Slot>,
    pub(crate) cells: Box<[Arc<Cell>]>,
    /// First tokens slower than this many milliseconds are told to the machine one by one.
    pub(crate) slow_ms: Box<[u64]>,
    pub(crate) board: Arc<Board>,
}

/// Everything a request reads about health.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) version: u64,
    pub(crate) at: Timestamp,
    pub(crate) pod_suspect: bool,
    pub(crate) layout: Arc<Layout>,
    pub(crate) entries: Pages<Entry>,
    pub(crate) verdicts: Pages<Verdict>,
    pub(crate) groups: Pages<GroupState>,
}

impl Snapshot {
    /// Grows by one with every publication.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// When it was published.
    pub const fn published_at(&self) -> Timestamp {
        self.at
    }

    /// Whether this pod suspects itself: several unrelated providers stopped answering it at once.
    pub const fn pod_suspect(&self) -> bool {
        self.pod_suspect
    }

    /// Number of slots, holes included.
    pub fn slots(&self) -> usize {
        self.layout.cells.len()
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.layout.groups.len()
    }

    /// What routing reads of `slot`; an unknown slot is never usable.
    pub fn entry(&self, slot: Slot) -> Entry {
        self.entries.get(slot.0).unwrap_or(Entry::HOLE)
    }

    /// How `slot`, as a member of `group`, may be used; [`Rank::Out`] when it is no member.
    pub fn usable(&self, group: GroupIx, slot: Slot) -> Rank {
        match self.layout.group_of.get(slot.0 as usize) {
            Some(&own) if own == group => self.entry(slot).rank,
            Some(_) | None => Rank::Out,
        }
    }

    /// What the machine of `slot` says, before its group's rules.
    pub fn standing(&self, slot: Slot) -> Standing {
        let entry = self.entry(slot);
        Standing {
            tier: entry.tier,
            weight: entry.weight,
            generation: entry.generation,
            trial_open: entry.trial_open(),
            held_until: self.verdict(slot).held_until,
        }
    }

    /// The verdict on `slot`, as of this publication.
    pub fn verdict(&self, slot: Slot) -> Verdict {
        self.verdicts.get(slot.0).unwrap_or(Verdict::HOLE)
    }

    /// The generation of `slot`, to be carried by an outcome.
    pub fn generation(&self, slot: Slot) -> Generation {
        self.entry(slot).generation
    }

    /// The group at `group`.
    pub fn group(&self, group: GroupIx) -> Option<GroupView<'_>> {
        let (name, slots) = self.layout.groups.get(group.0 as usize)?;
        let state = self.groups.get(group.0)?;
        Some(GroupView {
            name,
            slots,
            panic: state.panic,
            reason: state.reason,
            last_resort: state.last_resort,
            soonest_return: state.soonest_return,
        })
    }

    /// The group named `name`.
    pub fn find_group(&self, name: &str) -> Option<GroupIx> {
        self.layout.by_group.get(name).copied()
    }

    /// The group that `slot` is a member of.
    pub fn group_of(&self, slot: Slot) -> Option<GroupIx> {
        self.layout.group_of.get(slot.0 as usize).copied()
    }

    /// The deployment with this id.
    pub fn find(&self, id: &str) -> Option<Slot> {
        self.layout.by_id.get(id).copied()
    }

    /// Requests in flight on `slot`.
    pub fn in_flight(&self, slot: Slot) -> u32 {
        self.layout.cells.get(slot.0 as usize).map_or(0, |cell| cell.in_flight())
    }
}
