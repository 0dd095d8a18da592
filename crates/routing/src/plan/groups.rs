//! The groups of a call: where it is, where it has been, where it may still go.
//!
//! A group is entered at most once, so that cyclic fallbacks end. A fallback's own fallbacks come before its
//! siblings, as in LiteLLM.

use std::time::Duration;

use haleway_health::{Class, Slot};

use super::{CallPlan, Moment, Step};
use crate::select::Reach;
use crate::stats::Stats;
use crate::table::{FallbackKind, GroupIx, Hop, Table};
use crate::view::{Health, LastResort};

type Place = (GroupIx, Option<Slot>);

#[derive(Debug)]
pub(super) struct Groups {
    start: Place,
    /// The fallback that is being served; `None` in the group that was asked for.
    hop: Option<Hop>,
    /// Groups entered or passed over.
    seen: Vec<Place>,
    /// Still to come, the next one last.
    pending: Vec<Hop>,
    /// Passed over for want of anyone in rotation; `None` is the group that was asked for.
    deferred: Vec<Option<Hop>>,
    /// The present group's fallbacks are in `pending` already.
    expanded: bool,
    entered: u32,
}

impl Groups {
    pub(super) const fn new(group: GroupIx, only: Option<Slot>) -> Self {
        Self {
            start: (group, only),
            hop: None,
            seen: Vec::new(),
            pending: Vec::new(),
            deferred: Vec::new(),
            expanded: false,
            entered: 0,
        }
    }

    /// The group that was asked for.
    pub(super) const fn start(&self) -> Place {
        self.start
    }

    /// The present group.
    pub(super) fn here(&self) -> Place {
        self.hop.as_ref().map_or(self.start, |hop| (hop.group, hop.only))
    }

    /// The name of the present fallback.
    pub(super) fn model(&self) -> Option<&str> {
        self.hop.as_ref().map(|hop| hop.model.as_ref())
    }

    pub(super) const fn entered(&self) -> u32 {
        self.entered
    }

    /// Back to the group that was asked for, with every way open again.
    pub(super) fn restart(&mut self) {
        *self = Self::new(self.start.0, self.start.1);
    }

    /// Remembers the present group for last-resort candidates.
    pub(super) fn defer_here(&mut self) {
        self.deferred.push(self.hop.clone());
    }

    fn enter(&mut self, hop: Option<Hop>) {
        self.entered += u32::from(hop.is_some());
        self.hop = hop;
        self.expanded = false;
    }

    /// Puts `hops` before everything still to come.
    fn expand(&mut self, hops: &[Hop]) {
        self.pending.extend(hops.iter().rev().cloned());
    }

    /// The next group not seen yet.
    fn next(&mut self) -> Option<Hop> {
        while let Some(hop) = self.pending.pop() {
            let place = (hop.group, hop.only);
            if place != self.start && !self.seen.contains(&place) {
                self.seen.push(place);
                return Some(hop);
            }
        }
        None
    }
}

impl CallPlan<'_> {
    /// The next fallback group that has someone in rotation. Those passed over are remembered.
    pub(super) fn fall_back<H: Health + ?Sized, S: Stats + ?Sized>(
        &mut self,
        class: Class,
        moment: &Moment<'_, H, S>,
    ) -> Option<Step> {
        let table = moment.view.table;
        if self.call.disable_fallbacks {
            return None;
        }
        if !std::mem::replace(&mut self.groups.expanded, true) {
            let hops = self.chain(class, self.model(), self.groups.here().0, table).to_vec();
            self.groups.expand(&hops);
        }
        while self.groups.entered < table.settings().max_fallbacks {
            let hop = self.groups.next()?;
            let place = (hop.group, hop.only);
            if let Some(choice) = self.select(place, Reach::InRotation, moment) {
                self.enter(Some(hop));
                return Some(moment.attempt(place.0, choice, Duration::ZERO));
            }
            // Out as a whole: its own fallbacks are a way on.
            let hops = self.chain(Class::Ok, &hop.model, hop.group, table).to_vec();
            self.groups.expand(&hops);
            self.groups.deferred.push(Some(hop));
        }
        None
    }

    /// Last-resort candidates of the groups that were passed over, in the order of passing.
    pub(super) fn last_resort<H: Health + ?Sized, S: Stats + ?Sized>(
        &mut self,
        moment: &Moment<'_, H, S>,
    ) -> Option<Step> {
        while !self.groups.deferred.is_empty() {
            let hop = self.groups.deferred.remove(0);
            if hop.is_some() && self.groups.entered >= moment.view.table.settings().max_fallbacks {
                continue;
            }
            let place = hop.as_ref().map_or(self.groups.start, |hop| (hop.group, hop.only));
            if moment.view.health.group(place.0).last_resort == LastResort::Never {
                continue;
            }
            if let Some(choice) = self.select(place, Reach::LastResort, moment) {
                self.enter(hop);
                // Its fallbacks were looked at when it was passed over.
                self.groups.expanded = true;
                return Some(moment.attempt(place.0, choice, Duration::ZERO));
            }
        }
        None
    }

    fn enter(&mut self, hop: Option<Hop>) {
        self.groups.enter(hop);
        self.retries = 0;
    }

    /// Where a call of `model` goes after a failure of `class`. A cause without a chain of its own takes the
    /// general one. The caller's own list replaces the configured ones, in every group.
    fn chain<'c>(&'c self, class: Class, model: &str, group: GroupIx, table: &'c Table) -> &'c [Hop] {
        if let Some(own) = &self.call.fallbacks {
            return own;
        }
        let kind = if class == Class::ContextWindow {
            FallbackKind::ContextWindow
        } else if class == Class::ContentPolicy {
            FallbackKind::ContentPolicy
        } else {
            FallbackKind::General
        };
        match table.fallbacks(kind, model, group) {
            [] => table.fallbacks(FallbackKind::General, model, group),
            own => own,
        }
    }
}
