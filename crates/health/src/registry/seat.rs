//! A deployment's place in the registry: its machine, and what the group and domain rules need to know of it.

use std::sync::Arc;

use crate::inflight::Cell;
use crate::panic::Member;
use crate::registry::counts::Untold;
use crate::registry::share::Share;
use crate::snapshot::Rank;
use crate::{
    GroupFacts, GroupIx, GroupSpec, Machine, Slot, Spec, Standing, State, Tier, Timestamp, TrialLease,
};

/// One deployment.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) spec: Arc<Spec>,
    pub(crate) group: GroupIx,
    pub(crate) machine: Machine,
    pub(crate) cell: Arc<Cell>,
    /// The one entry of the deadline heap that counts.
    pub(crate) deadline: Option<Timestamp>,
    /// The isolation rests on evidence that may be this pod's own fault.
    pub(crate) local_only: bool,
    /// Its credential is in doubt.
    pub(crate) in_doubt: bool,
    /// What the fleet knows of it.
    pub(crate) share: Share,
    /// What its requests met, to be told to the fleet.
    pub(crate) untold: Untold,
    /// The trial that is out.
    pub(crate) trial: Option<TrialLease>,
    /// What was last composed into the snapshot.
    pub(crate) seen: Seen,
}

/// What a change of which makes a group's rules run again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) state: Option<State>,
    pub(crate) tier: Tier,
    pub(crate) since: Timestamp,
    pub(crate) returns: Option<Timestamp>,
}

impl Seen {
    const NOTHING: Self =
        Self { state: None, tier: Tier::Never, since: Timestamp::from_millis(0), returns: None };
}

impl Seat {
    pub(crate) fn new(spec: Arc<Spec>, group: GroupIx, machine: Machine) -> Self {
        Self {
            spec,
            group,
            machine,
            cell: Arc::new(Cell::default()),
            deadline: None,
            local_only: false,
            in_doubt: false,
            share: Share::default(),
            untold: Untold::default(),
            trial: None,
            seen: Seen::NOTHING,
        }
    }

    /// The tier with the doubt about the credential laid over it.
    pub(crate) fn tier(&self, standing: &Standing) -> Tier {
        if self.in_doubt { Tier::Never } else { standing.tier }
    }

    /// When it is back at the earliest, when it is out and that is known.
    pub(crate) fn returns(&self, standing: &Standing) -> Option<Timestamp> {
        // An open trial is a return that only waits for an attempt.
        let open = standing.trial_open.then(|| self.machine.since());
        let end = if standing.tier == Tier::In { None } else { standing.held_until.or(open) };
        end.filter(|&end| end < Timestamp::MAX)
    }

    /// What it is to its group.
    pub(crate) fn seen(&self, standing: &Standing) -> Seen {
        Seen {
            state: Some(self.machine.state()),
            tier: self.tier(standing),
            since: self.machine.since(),
            returns: self.returns(standing),
        }
    }

    /// What the group rules need to know of it.
    pub(crate) fn member(&self) -> Member {
        let state = self.machine.state();
        Member {
            tier: self.seen.tier,
            share: self.spec.weight,
            unproven: state == State::Unknown,
            by_operator: matches!(state, State::AdminDown | State::Draining),
            isolate_lone: self.spec.params.isolate_lone,
            since: self.seen.since,
            returns: self.seen.returns,
            rank: Rank::Out,
            spared: false,
        }
    }
}

/// One model group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) spec: GroupSpec,
    pub(crate) slots: Vec<Slot>,
}

impl Group {
    /// What a member's machine needs to know of its group.
    pub(crate) fn facts(&self) -> GroupFacts {
        GroupFacts { single: self.slots.len() == 1, has_fallback: self.spec.has_fallback }
    }
}
