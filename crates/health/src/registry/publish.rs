//! From machines to the snapshot: what is recomputed after a change, and no more than that.

use std::collections::HashMap;
use std::sync::Arc;

use super::events::EventKind;
use super::{GRACE_FOR_PROBER, News, Registry};
use crate::inflight::Board;
use crate::pages::Pages;
use crate::panic::compose;
use crate::snapshot::{
    Entry, Flags, GroupReason, GroupState, LastResort, Layout, PanicState, Rank, Snapshot, Verdict,
};
use crate::{GroupIx, Slot, Standing, State, Tier, Timestamp};

/// A ramping weight is published in at least this many steps.
const RAMP_STEPS: u32 = 20;

/// What a group is in before anything is known.
const CALM: GroupState = GroupState {
    panic: PanicState::Calm,
    reason: GroupReason::None,
    last_resort: LastResort::Never,
    soonest_return: None,
};

impl Registry {
    /// Brings everything that depends on `slot` up to date after its machine may have moved: its snapshot
    /// entry, its group, its deadline.
    pub(super) fn touch(&mut self, slot: Slot, now: Timestamp) {
        let Some(seat) = self.seats.get_mut(slot.0 as usize).and_then(Option::as_mut) else { return };
        let standing = seat.machine.standing(now);
        let held_longer = seat.share.holds(seat.machine.hold_until(), now);
        let confirmed = seat.share.confirms(seat.machine.hold_probation());
        let seen = seat.seen(&standing);
        if seen == seat.seen {
            self.refresh_entry(slot, &standing, now);
        } else {
            seat.seen = seen;
            let group = seat.group;
            self.refresh_verdict(slot, &standing);
            self.refresh_group(group, now);
        }
        self.schedule(slot, &standing, now);
        if held_longer || confirmed {
            self.announce(slot, News::Evidence);
        }
    }

    /// Rewrites the entry of `slot`, keeping what its group decided.
    fn refresh_entry(&mut self, slot: Slot, standing: &Standing, now: Timestamp) {
        let old = self.view.entry(slot);
        let entry = self.entry(slot, standing, old.rank, old.spared(), now);
        if entry != old {
            self.view.entries.set(slot.0, entry);
            self.refresh_verdict(slot, standing);
            self.changed = true;
        }
    }

    fn refresh_verdict(&mut self, slot: Slot, standing: &Standing) {
        let Some(seat) = self.seat(slot) else { return };
        let machine = &seat.machine;
        let verdict = Verdict {
            state: machine.state(),
            cause: machine.cause(),
            scope: machine.scope(),
            source: machine.source(),
            since: machine.since(),
            until: machine.until(),
            held_until: standing.held_until,
            sent_at: machine.sent_at(),
        };
        self.changed |= self.view.verdicts.set(slot.0, verdict);
    }

    fn entry(&self, slot: Slot, standing: &Standing, rank: Rank, spared: bool, now: Timestamp) -> Entry {
        let Some(seat) = self.seat(slot) else { return Entry::HOLE };
        let tier = seat.tier(standing);
        // Out of rotation its machine gives it no weight; whoever uses it all the same uses it in full.
        let weight = if tier == Tier::In { standing.weight } else { 1.0 };
        let flags = Flags {
            trial_open: self.open_to_traffic(slot, standing, now),
            fast: seat.machine.fast_path(),
            local_only: seat.local_only || seat.share.is_private(),
            spared,
        };
        Entry::new(weight, standing.generation, tier, rank, flags)
    }

    /// Whether a caller's request may decide the trial of `slot`.
    fn open_to_traffic(&self, slot: Slot, standing: &Standing, now: Timestamp) -> bool {
        self.could_try(slot, standing, now)
            && self.seat(slot).is_some_and(|seat| self.trial_licensed(seat, now))
    }

    /// The same but for the fleet's licence: nothing else decides it. A probed deployment leaves its trial to the
    /// probe, but not for long, since the prober may be away; whether a limit has passed, only traffic finds out.
    pub(super) fn could_try(&self, slot: Slot, standing: &Standing, now: Timestamp) -> bool {
        let Some(seat) = self.seat(slot) else { return false };
        standing.trial_open
            && !seat.in_doubt
            && seat.trial.is_none()
            && self.tree.trial_free(slot, now)
            && (seat.machine.state() != State::Trial
                || !self.decides_trials(slot, now)
                || seat.machine.since() + GRACE_FOR_PROBER <= now)
    }

    /// Lays the rules of `group` over its members again.
    pub(super) fn refresh_group(&mut self, group: GroupIx, now: Timestamp) {
        let Some(known) = self.groups.get(group.0 as usize) else { return };
        let slots = &known.slots;
        let mut members: Vec<_> =
            slots.iter().filter_map(|&slot| self.seat(slot)).map(super::seat::Seat::member).collect();
        let state = compose(&mut members, &known.spec.panic, known.spec.has_fallback);
        let ranks: Vec<_> = slots.iter().copied().zip(members).collect();
        for (slot, member) in ranks {
            let Some(seat) = self.seat(slot) else { continue };
            let standing = seat.machine.standing(now);
            let entry = self.entry(slot, &standing, member.rank, member.spared, now);
            self.changed |= self.view.entries.set(slot.0, entry);
        }
        self.refresh_group_state(group, state, now);
    }

    fn refresh_group_state(&mut self, group: GroupIx, state: GroupState, now: Timestamp) {
        let before = self.view.groups.get(group.0).unwrap_or(CALM);
        if !self.view.groups.set(group.0, state) {
            return;
        }
        self.changed = true;
        if before.panic == state.panic {
            return;
        }
        match (before.panic == PanicState::Calm, state.panic == PanicState::Calm) {
            (true, false) => self.counters.panic_groups += 1,
            (false, true) => self.counters.panic_groups -= 1,
            (true, true) | (false, false) => {}
        }
        if let Some(known) = self.groups.get(group.0 as usize) {
            let name = Arc::clone(&known.spec.name);
            let (from, to, reason) = (before.panic, state.panic, state.reason);
            self.ring.push(now, EventKind::Panic { group, name, from, to, reason });
        }
    }

    /// Sets when `slot` is looked at again although nothing happens to it.
    fn schedule(&mut self, slot: Slot, standing: &Standing, now: Timestamp) {
        let Some(seat) = self.seat(slot) else { return };
        // A deadline that has passed and did nothing is not waited for in a loop.
        let mut next = seat.machine.next_deadline().map(|at| if at > now { at } else { now + super::WATCH });
        let mut by = |at: Timestamp| next = Some(next.map_or(at, |next| next.min(at)));
        let ramp = seat.spec.params.ramp.length / RAMP_STEPS;
        match seat.machine.state() {
            State::Ramping => by(now + ramp.max(std::time::Duration::from_millis(1))),
            State::Trial => by(now + super::WATCH),
            State::Unknown
            | State::Healthy
            | State::Suspect
            | State::Isolated
            | State::ConfigFault
            | State::Budget
            | State::AdminDown
            | State::Draining
            | State::ForcedUp => {}
        }
        if seat.machine.weight_moves(now) {
            by(now + super::WATCH);
        }
        if let Some(held) = standing.held_until.filter(|&held| held > now) {
            by(held);
        }
        if let Some(lease) = seat.trial.as_ref().filter(|lease| lease.deadline > now) {
            by(lease.deadline);
        }
        if let Some(next) = next.filter(|&next| next < Timestamp::MAX) {
            self.set_deadline(slot, next);
        }
    }

    /// The snapshot as it stands, when it changed since the last call.
    pub fn publish(&mut self, now: Timestamp) -> Option<Snapshot> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        self.view.version += 1;
        self.view.at = now;
        Some(self.view.clone())
    }

    /// Rebuilds what depends on the configuration, and every entry, verdict and group.
    pub(super) fn relayout(&mut self, now: Timestamp) {
        self.view.layout = Arc::new(self.layout());
        self.view.entries = Pages::new(self.seats.len(), Entry::HOLE);
        self.view.verdicts = Pages::new(self.seats.len(), Verdict::HOLE);
        let mut groups = Pages::new(self.groups.len(), CALM);
        for index in 0..self.groups.len() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            groups.set(index, self.view.groups.get(index).unwrap_or(CALM));
        }
        self.view.groups = groups;
        self.changed = true;
        for slot in self.slots() {
            let Some(seat) = self.seat_mut(slot) else { continue };
            let standing = seat.machine.standing(now);
            seat.seen = seat.seen(&standing);
            self.refresh_verdict(slot, &standing);
            self.schedule(slot, &standing, now);
        }
        for index in 0..self.groups.len() {
            self.refresh_group(GroupIx(u32::try_from(index).unwrap_or(u32::MAX)), now);
        }
    }

    fn layout(&self) -> Layout {
        let groups: Box<[_]> = self
            .groups
            .iter()
            .map(|g| (Arc::clone(&g.spec.name), g.slots.clone().into_boxed_slice()))
            .collect();
        let by_group: HashMap<_, _> =
            groups.iter().zip(0_u32..).map(|((name, _), ix)| (Arc::clone(name), GroupIx(ix))).collect();
        let mut layout = Layout {
            groups,
            group_of: vec![GroupIx(u32::MAX); self.seats.len()].into(),
            by_group,
            by_id: HashMap::with_capacity(self.seats.len()),
            cells: self.seats.iter().map(|_| Arc::default()).collect(),
            slow_ms: vec![u64::MAX; self.seats.len()].into(),
            board: Arc::new(Board::new(self.seats.len())),
        };
        for (index, seat) in self.seats.iter().enumerate() {
            let Some(seat) = seat else { continue };
            layout.group_of[index] = seat.group;
            layout.cells[index] = Arc::clone(&seat.cell);
            layout.slow_ms[index] =
                u64::try_from(seat.spec.params.stream.slow_first_token.as_millis()).unwrap_or(u64::MAX);
            let slot = Slot(u32::try_from(index).unwrap_or(u32::MAX));
            layout.by_id.insert(Arc::clone(&seat.spec.id), slot);
            layout.board.mark(slot);
        }
        layout
    }
}
