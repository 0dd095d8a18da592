//! What this process tells the fleet, and what it takes from it.
//!
//! Known causes and stated waits are told at once and hold everywhere. What is only inferred from failures may be
//! this process's own trouble, so it stays its own view until a second process saw the same: until then the
//! deployment is out here, marked local, and a reason for the others to look. News of other processes is taken over
//! but never told again, so that it does not echo. Time alone decides the same everywhere and is not told.

use std::sync::Arc;

use super::{Registry, Saved, inferred};
use crate::{Cause, Class, Effect, Outcome, Slot, Source, State, Timestamp, Transition};

/// How much a bulletin says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// Younger evidence, or a longer wait; no change of state.
    Evidence,
    /// It is out here by inference: the fleet is asked whether anybody else saw it fail.
    Suspicion,
    /// A decision for the whole fleet.
    Decision,
}

/// Something to tell the fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct Bulletin {
    /// The deployment.
    pub slot: Slot,
    /// How much it says.
    pub news: News,
    /// The class of failure that this process saw itself since the last bulletin.
    pub failed: Option<Class>,
}

/// What another process knows of a deployment. Times are on the clock of this process.
#[derive(Clone, Copy, Debug)]
pub struct Peer<'a> {
    /// What it knows.
    pub saved: &'a Saved,
    /// Whether the state is a decision that is new here; otherwise only the evidence is news.
    pub decision: bool,
    /// The pod that decided.
    pub observer: &'a Arc<str>,
    /// When the latest probe was sent, by whichever pod.
    pub probed_at: Option<Timestamp>,
}

/// What the fleet knows of one deployment.
#[derive(Debug, Default)]
pub(crate) struct Share {
    /// The state is this process's own view.
    private: bool,
    outgoing: Option<News>,
    failed: Option<Class>,
    observer: Option<Arc<str>>,
    /// The longest wait that the fleet knows of.
    hold: Timestamp,
    licence: Option<Timestamp>,
    /// A hold waits to be confirmed.
    probation: bool,
}

/// What is to be told.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Name of this pod; `None` outside a fleet.
    pod: Option<Arc<str>>,
    waiting: Vec<Slot>,
    /// News of others is being taken in, which is not told again.
    listening: bool,
    licences: bool,
}

impl Outbox {
    /// Whether this process is in no fleet.
    pub(super) const fn is_none(&self) -> bool {
        self.pod.is_none()
    }
}

impl Share {
    pub(crate) const fn is_private(&self) -> bool {
        self.private
    }

    pub(crate) const fn spend_licence(&mut self) {
        self.licence = None;
    }

    /// Whether a wait until `end` is longer than what the fleet knows of. Notes it.
    pub(crate) fn holds(&mut self, end: Timestamp, now: Timestamp) -> bool {
        let longer = end > self.hold && end > now;
        self.hold = self.hold.max(end);
        longer
    }

    /// Whether the end of a hold was confirmed since the last call, which the others would like to know.
    pub(crate) const fn confirms(&mut self, probation: bool) -> bool {
        let confirmed = self.probation && !probation;
        self.probation = probation;
        confirmed
    }
}

impl Registry {
    pub(crate) fn join_fleet(&mut self, pod: &Arc<str>) {
        self.fleet.pod = Some(Arc::clone(pod));
        self.fleet.licences = true;
    }

    /// Puts `news` of `slot` on the list of what is to be told.
    pub(super) fn announce(&mut self, slot: Slot, news: News) {
        if self.fleet.pod.is_none() || self.fleet.listening {
            return;
        }
        let Some(share) = self.seat_mut(slot).map(|seat| &mut seat.share) else { return };
        let known = share.outgoing.is_some();
        share.outgoing = share.outgoing.max(Some(news));
        if news == News::Decision {
            share.private = false;
            share.observer = None;
        }
        if !known {
            self.fleet.waiting.push(slot);
        }
    }

    /// Decides what a change of state means for the fleet.
    pub(super) fn announce_move(&mut self, slot: Slot, transition: &Transition) {
        if self.fleet.pod.is_none() {
            return;
        }
        let Some(seat) = self.seat_mut(slot) else { return };
        if matches!(transition.cause, Cause::Timer | Cause::Stale | Cause::LostTrial) {
            return;
        }
        // The one trial of the fleet decides for the fleet.
        let by_inference =
            transition.to == State::Isolated && transition.from != State::Trial && inferred(transition.cause);
        if by_inference {
            self.suspect_alone(slot, transition);
            return;
        }
        if seat.share.private && !told_at_once(transition) {
            let over = matches!(transition.to, State::Healthy | State::Unknown);
            seat.share.private = !over;
            return;
        }
        // What one process's requests met is a doubt of its own; a failed probe is a reason for the next one.
        if transition.to == State::Suspect && transition.source != Some(Source::Probe) {
            return;
        }
        self.announce(slot, News::Decision);
    }

    /// Keeps an inferred isolation to this process, and asks the fleet whether it saw the same.
    fn suspect_alone(&mut self, slot: Slot, transition: &Transition) {
        if self.fleet.listening {
            return;
        }
        let Some(seat) = self.seat_mut(slot) else { return };
        let share = &mut seat.share;
        share.private = true;
        share.observer = None;
        share.failed = transition.evidence.map(|evidence| evidence.class).or(share.failed);
        // What was to be told before is overtaken.
        if share.outgoing.is_some() {
            share.outgoing = Some(News::Suspicion);
        }
        self.announce(slot, News::Suspicion);
    }

    /// The verdict of a probe is news even when it changes nothing: it is younger.
    pub(super) fn announce_probe(&mut self, slot: Slot, outcome: &Outcome) {
        if outcome.class.effect() == Effect::Hard
            && let Some(seat) = self.seat_mut(slot)
        {
            seat.share.failed = Some(outcome.class);
        }
        self.announce(slot, News::Evidence);
    }

    pub(crate) fn bulletins(&mut self, now: Timestamp) -> Vec<Bulletin> {
        let waiting = std::mem::take(&mut self.fleet.waiting);
        let mut bulletins = Vec::with_capacity(waiting.len());
        for slot in waiting {
            self.drain(now, slot);
            let Some(share) = self.seat_mut(slot).map(|seat| &mut seat.share) else { continue };
            let failed = share.failed.take();
            if let Some(news) = share.outgoing.take() {
                bulletins.push(Bulletin { slot, news, failed });
            }
        }
        bulletins
    }

    pub(crate) fn retell(&mut self, slot: Slot, news: News) {
        let private = self.seat(slot).is_some_and(|seat| seat.share.private);
        // What became this process's own view meanwhile is no decision for others any more.
        self.announce(slot, if private { news.min(News::Suspicion) } else { news });
    }

    pub(crate) fn shared(&self, slot: Slot) -> Option<Saved> {
        let seat = self.seat(slot).filter(|seat| !seat.share.private && seat.machine.has_news())?;
        Some(Saved {
            id: seat.spec.id.to_string(),
            mode: seat.spec.mode.to_owned(),
            identity: seat.spec.identity,
            machine: seat.machine.save(),
        })
    }

    pub(super) fn observer<'a>(&'a self, seat: &'a super::seat::Seat) -> &'a str {
        seat.share.observer.as_deref().or(self.fleet.pod.as_deref()).unwrap_or("local")
    }

    /// Runs `change` without telling anybody what comes of it.
    fn listen<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        self.fleet.listening = true;
        let result = change(self);
        self.fleet.listening = false;
        result
    }

    pub(crate) fn adopt(&mut self, now: Timestamp, peer: &Peer<'_>) -> Option<Slot> {
        let slot = self.find(&peer.saved.id)?;
        let spec = &self.seat(slot)?.spec;
        if spec.mode != peer.saved.mode || spec.identity != peer.saved.identity {
            return None;
        }
        self.settle(now, slot);
        let takes = self.takes(slot, peer);
        self.listen(|registry| registry.take_in(now, slot, peer, takes));
        if let Some(sent_at) = peer.probed_at {
            self.planner.probed_elsewhere(slot, sent_at);
            let need = self.need(slot, now);
            self.planner.wake(slot, need, now);
        }
        Some(slot)
    }

    /// Whether the state of `peer` replaces the one here.
    fn takes(&self, slot: Slot, peer: &Peer<'_>) -> bool {
        let Some(seat) = self.seat(slot) else { return false };
        let machine = &seat.machine;
        // Nothing is known here, or not any more: any verdict is better.
        let blank = machine.state() == State::Unknown && matches!(machine.cause(), None | Some(Cause::Stale));
        if !peer.decision && !blank {
            return false;
        }
        let theirs = &peer.saved.machine;
        if seat.share.private && theirs.state().eligible() {
            return false;
        }
        // A decision of this process that the fleet has not heard yet: the later one holds, an operator's always.
        if seat.share.outgoing == Some(News::Decision) {
            let operator = machine.cause() == Some(Cause::Operator) && !theirs.state().by_operator();
            return !operator && theirs.since() >= machine.since();
        }
        true
    }

    fn take_in(&mut self, now: Timestamp, slot: Slot, peer: &Peer<'_>, takes: bool) {
        let Some(seat) = self.seat_mut(slot) else { return };
        let moved = if takes {
            seat.share.private = false;
            seat.share.outgoing = None;
            seat.share.observer = Some(Arc::clone(peer.observer));
            seat.machine.adopt(now, &peer.saved.machine)
        } else {
            seat.machine.hear(now, &peer.saved.machine);
            None
        };
        let hold = seat.machine.hold_until();
        seat.share.holds(hold, now);
        if let Some(transition) = moved {
            self.moved(now, slot, transition);
        }
        self.touch(slot, now);
    }

    pub(crate) fn seen_failing_elsewhere(&mut self, now: Timestamp, slot: Slot, class: Class) {
        self.settle(now, slot);
        self.listen(|registry| {
            let Some(seat) = registry.seat_mut(slot) else { return };
            if let Some(transition) = seat.machine.doubted(now, class) {
                registry.moved(now, slot, transition);
            }
            registry.touch(slot, now);
        });
    }

    pub(crate) fn witnessed(&mut self, now: Timestamp, slot: Slot) {
        if self.seat(slot).is_some_and(|seat| seat.share.private) {
            self.announce(slot, News::Decision);
            self.touch(slot, now);
        }
    }

    /// Whether a caller's request may claim the trial of `seat` as far as the fleet is concerned.
    pub(super) fn trial_licensed(&self, seat: &super::seat::Seat, now: Timestamp) -> bool {
        // What only this process holds to be out, only this process tries.
        !self.fleet.licences || seat.share.private || seat.share.licence.is_some_and(|until| now < until)
    }

    pub(crate) fn trials_wanted(&mut self, now: Timestamp) -> Vec<Slot> {
        if !self.fleet.licences {
            return Vec::new();
        }
        let wants = |slot: &Slot| {
            self.seat(*slot).is_some_and(|seat| {
                !self.trial_licensed(seat, now) && self.could_try(*slot, &seat.machine.standing(now), now)
            })
        };
        self.slots().into_iter().filter(wants).collect()
    }

    pub(crate) fn license_trial(&mut self, now: Timestamp, slot: Slot, until: Timestamp) {
        if let Some(seat) = self.seat_mut(slot) {
            seat.share.licence = Some(until);
        }
        self.touch(slot, now);
    }

    pub(crate) fn trials_need_licence(&mut self, now: Timestamp, need: bool) {
        if self.fleet.pod.is_none() || self.fleet.licences == need {
            return;
        }
        self.fleet.licences = need;
        for slot in self.slots() {
            self.touch(slot, now);
        }
    }
}

/// Whether a change of state has a known cause, which holds for everybody.
const fn told_at_once(transition: &Transition) -> bool {
    transition.to.by_operator()
        || matches!(transition.cause, Cause::Operator)
        || matches!(transition.to, State::ConfigFault | State::Budget)
}
