//! A new configuration: what is known survives, keyed by deployment identity.
//!
//! A deployment is the pair (id, mode). One that is still there keeps its slot and everything learnt about
//! it; one whose key or base URL changed gets the chance to leave a configuration fault; one that is gone
//! leaves a hole that is never probed or routed again; a new one begins as unknown. What an operator ordered outlives
//! the deployment: nothing automatic undoes it, neither a reload that takes the deployment away and brings it back nor
//! one that changes its mode.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::Registry;
use super::seat::{Group, Seat};
use crate::seed::hash;
use crate::{GroupIx, GroupSpec, Machine, PanicParams, SavedMachine, Slot, Spec, Timestamp};

/// Departed deployments whose orders are kept, at most; the ones that left first give way.
const DEPARTED: usize = 1_000;

/// Deployments that left while an operator's order held, the longest gone first.
#[derive(Debug, Default)]
pub(super) struct Departed(VecDeque<(Arc<str>, SavedMachine)>);

impl Departed {
    fn keep(&mut self, id: &Arc<str>, machine: &Machine) {
        if !machine.state().by_operator() {
            return;
        }
        if self.0.len() == DEPARTED {
            self.0.pop_front();
        }
        self.0.push_back((Arc::clone(id), machine.save()));
    }

    fn take(&mut self, id: &str) -> Option<SavedMachine> {
        let at = self.0.iter().position(|(known, _)| **known == *id)?;
        self.0.remove(at).map(|(_, machine)| machine)
    }
}

impl Registry {
    /// Replaces the configuration. Of several specifications with one id the first counts.
    pub fn rebuild(&mut self, specs: Vec<Spec>, groups: Vec<GroupSpec>, now: Timestamp) {
        for slot in self.slots() {
            self.drain(now, slot);
        }
        self.regroup(groups);
        let mut kept = HashSet::with_capacity(specs.len());
        for spec in specs {
            if kept.insert(Arc::clone(&spec.id)) {
                self.seat_spec(spec, now);
            }
        }
        let gone: Vec<_> =
            self.by_id.iter().filter(|(id, _)| !kept.contains(*id)).map(|(_, &slot)| slot).collect();
        for slot in gone {
            self.unseat(slot);
        }
        self.fill_groups();
        self.limit_endpoints();
        self.relayout(now);
        for slot in self.slots() {
            let need = self.need(slot, now);
            if need == crate::planner::Need::Trial {
                self.planner.wake(slot, need, now);
            }
        }
    }

    /// The order that held for a deployment when it left has been ended elsewhere.
    pub fn forget_departed(&mut self, id: &str) {
        self.departed.take(id);
    }

    /// The slots that [`Self::rebuild`] will give to these deployments, named by id and mode: their own where they are known,
    /// else the next ones in their order.
    pub fn slots_for<'a>(&self, deployments: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Slot> {
        let mut next = self.seats.len();
        let slot = |(id, mode): (&str, &str)| {
            let known =
                self.find(id).filter(|&slot| self.seat(slot).is_some_and(|seat| seat.spec.mode == mode));
            known.unwrap_or_else(|| {
                next += 1;
                Slot(u32::try_from(next - 1).unwrap_or(u32::MAX))
            })
        };
        deployments.into_iter().map(slot).collect()
    }

    /// Groups keep their places; one that is gone keeps its place without members.
    fn regroup(&mut self, groups: Vec<GroupSpec>) {
        for group in &mut self.groups {
            group.slots.clear();
        }
        for spec in groups {
            let ix = self.group_ix(&spec.name);
            if let Some(group) = self.groups.get_mut(ix.0 as usize) {
                group.spec = spec;
            }
        }
    }

    fn group_ix(&mut self, name: &Arc<str>) -> GroupIx {
        if let Some(&known) = self.group_index.get(name) {
            return known;
        }
        let ix = GroupIx(u32::try_from(self.groups.len()).unwrap_or(u32::MAX));
        let spec = GroupSpec { name: Arc::clone(name), panic: PanicParams::resilient(), has_fallback: false };
        self.groups.push(Group { spec, slots: Vec::new() });
        self.group_index.insert(Arc::clone(name), ix);
        ix
    }

    fn seat_spec(&mut self, spec: Spec, now: Timestamp) {
        let group = self.group_ix(&spec.group);
        let known =
            self.find(&spec.id).filter(|&slot| self.seat(slot).is_some_and(|s| s.spec.mode == spec.mode));
        let slot = if let Some(slot) = known {
            self.reseat(slot, &spec, group, now);
            slot
        } else {
            if let Some(other_mode) = self.find(&spec.id) {
                self.unseat(other_mode);
            }
            let slot = Slot(u32::try_from(self.seats.len()).unwrap_or(u32::MAX));
            let seed = hash(spec.id.as_bytes(), self.seed);
            let machine = match self.departed.take(&spec.id) {
                Some(saved) => Machine::restore(spec.params.clone(), seed, now, &saved),
                None => Machine::new(spec.params.clone(), seed, now),
            };
            self.by_id.insert(Arc::clone(&spec.id), slot);
            self.seats.push(Some(Seat::new(Arc::new(spec.clone()), group, machine)));
            slot
        };
        let place = self.tree.place(slot, &spec);
        self.planner.place(slot, &spec.id, place.endpoint.0, spec.probe, now);
        let in_doubt = self.tree.get(place.credential).is_some_and(|domain| domain.doubt.is_some());
        if let Some(seat) = self.seat_mut(slot) {
            seat.in_doubt = in_doubt;
        }
    }

    fn reseat(&mut self, slot: Slot, spec: &Spec, group: GroupIx, now: Timestamp) {
        let Some(seat) = self.seat_mut(slot) else { return };
        seat.group = group;
        if *seat.spec == *spec {
            return;
        }
        let healed = seat.spec.identity != spec.identity;
        if seat.spec.params != spec.params {
            seat.machine.set_params(spec.params.clone(), now);
        }
        seat.spec = Arc::new(spec.clone());
        if healed && let Some(transition) = seat.machine.config_changed(now) {
            self.moved(now, slot, transition);
        }
    }

    fn unseat(&mut self, slot: Slot) {
        if let Some(place) = self.seats.get_mut(slot.0 as usize)
            && let Some(seat) = place.take()
        {
            self.by_id.remove(&seat.spec.id);
            self.departed.keep(&seat.spec.id, &seat.machine);
        }
        self.tree.remove(slot);
        self.planner.remove(slot);
    }

    fn fill_groups(&mut self) {
        for slot in self.slots() {
            let Some(ix) = self.seat(slot).map(|seat| seat.group) else { continue };
            if let Some(group) = self.groups.get_mut(ix.0 as usize) {
                group.slots.push(slot);
            }
        }
    }

    fn limit_endpoints(&mut self) {
        for slot in self.slots() {
            let Some(place) = self.tree.place_of(slot) else { continue };
            let members =
                self.tree.get(place.endpoint).map(|domain| domain.members.as_slice()).unwrap_or_default();
            if members.first() == Some(&slot) {
                let limit = members.iter().filter_map(|&member| self.seat(member)?.spec.endpoint_limit).min();
                self.planner.limit_endpoint(place.endpoint.0, limit);
            }
        }
    }
}
