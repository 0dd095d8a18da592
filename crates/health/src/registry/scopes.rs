//! What one deployment's evidence means for the others of its fault domains.
//!
//! A refused credential is in doubt until one free call decides; an account without credit and a stated wait
//! hold for every deployment they name; an endpoint in doubt is probed once for all. The rules and their
//! numbers are in [`crate::domains`].

use super::{Registry, inferred};
use crate::domains::{DOUBT, DomainIx, Doubt, Fault, Place, Shift};
use crate::inflight::Drained;
use crate::{Class, Effect, Machine, Outcome, ProbePolicy, Scope, Slot, Source, State, Timestamp};

impl Registry {
    /// Draws the consequences of an outcome of `slot` for its domains.
    pub(super) fn spread_outcome(
        &mut self,
        now: Timestamp,
        slot: Slot,
        outcome: &Outcome,
        to: Option<State>,
    ) {
        let Some(place) = self.tree.place_of(slot) else { return };
        let shift = self.tree.note(slot, outcome, now);
        self.shifted(now, place.endpoint, shift);
        if matches!(outcome.class, Class::Connection | Class::Timeout) || self.tree.pod_suspect() {
            self.judge_pod(now);
        }
        match outcome.class.effect() {
            Effect::Ok | Effect::Alive => {
                if outcome.proves_credential() {
                    self.refute(now, place.credential, outcome.sent_at);
                }
                self.absolve(now, slot, place.credential, outcome);
                self.absolve(now, slot, place.account, outcome);
            }
            Effect::Soft => {
                // Only a live credential is told to slow down.
                self.refute(now, place.credential, outcome.sent_at);
                self.hold_siblings(now, slot, place, outcome);
            }
            Effect::Config if outcome.scope == Scope::Credential => {
                self.refused(now, slot, place, outcome, to)
            }
            Effect::Budget => self.condemn_siblings(now, slot, place, outcome.class, outcome.scope),
            Effect::Config | Effect::Hard | Effect::Neutral => {}
        }
    }

    /// Counts successes of the hot path in the domains.
    pub(super) fn note_successes(&mut self, now: Timestamp, slot: Slot, drained: Drained) {
        let Some(place) = self.tree.place_of(slot) else { return };
        let shift = self.tree.note_successes(slot, drained.count, drained.last_sent, now);
        self.shifted(now, place.endpoint, shift);
        self.refute(now, place.credential, drained.last_sent);
    }

    /// Judges this pod, and marks what was isolated in the meantime as this pod's view only.
    pub(super) fn judge_pod(&mut self, now: Timestamp) {
        if !self.tree.judge_pod(now) {
            return;
        }
        let suspect = self.tree.pod_suspect();
        self.view.pod_suspect = suspect;
        self.changed = true;
        self.ring.push(now, super::EventKind::Pod { suspect });
        if !suspect {
            return;
        }
        let horizon = now - crate::domains::POD_WINDOW;
        for slot in self.slots() {
            let Some(seat) = self.seat_mut(slot) else { continue };
            let machine = &seat.machine;
            let recent = machine.state() == State::Isolated && machine.since() >= horizon;
            if recent && machine.cause().is_some_and(inferred) {
                seat.local_only = true;
                self.touch(slot, now);
            }
        }
        // What those failures said about endpoints is not believed either.
        for endpoint in std::mem::take(&mut self.suspects) {
            if self.tree.dismiss(endpoint) {
                self.wake_members(now, endpoint);
            }
        }
    }

    fn shifted(&mut self, now: Timestamp, endpoint: DomainIx, shift: Shift) {
        match shift {
            Shift::None => {}
            Shift::Suspect => {
                self.suspects.push(endpoint);
                let representative = self.cheapest(endpoint, false);
                if let Some(domain) = self.tree.get_mut(endpoint) {
                    domain.representative = representative;
                }
                self.wake_members(now, endpoint);
            }
            Shift::Clear => {
                self.suspects.retain(|&known| known != endpoint);
                self.wake_members(now, endpoint);
            }
        }
    }

    /// Plans the probes of all members again.
    fn wake_members(&mut self, now: Timestamp, domain: DomainIx) {
        for slot in self.members(domain) {
            let need = self.need(slot, now);
            self.planner.wake(slot, need, now);
        }
    }

    fn members(&self, domain: DomainIx) -> Vec<Slot> {
        self.tree.get(domain).map(|domain| domain.members.clone()).unwrap_or_default()
    }

    /// The probed member whose probe costs least; of equals the first. A free call that shows the credential is as
    /// good as any where only that is to be confirmed.
    fn cheapest(&self, domain: DomainIx, confirming: bool) -> Option<Slot> {
        let members = self.tree.get(domain)?.members.iter();
        members
            .filter_map(|&slot| Some((slot, self.seat(slot)?)))
            .filter(|(_, seat)| seat.spec.probe.is_some_and(|probe| probe.policy != ProbePolicy::Never))
            .filter(|(_, seat)| !matches!(seat.machine.state(), State::AdminDown | State::Draining))
            .min_by_key(|(slot, seat)| {
                let free = confirming && seat.spec.free_call.is_some_and(|proof| proof.credential);
                (if free { 0 } else { seat.spec.probe_price_nanousd }, *slot)
            })
            .map(|(slot, _)| slot)
    }

    /// A credential was refused. The first refusal puts it in doubt; a refusal by a probe or a trial, or one
    /// that its machine already takes for a verdict, decides.
    fn refused(&mut self, now: Timestamp, slot: Slot, place: Place, outcome: &Outcome, to: Option<State>) {
        let decided = to == Some(State::ConfigFault);
        let Some(domain) = self.tree.get(place.credential) else { return };
        let state = self.machine(slot).map(Machine::state);
        if decided || (domain.fault.is_some() && state == Some(State::ConfigFault)) {
            self.end_doubt(now, place.credential);
            self.condemn_siblings(now, slot, place, outcome.class, Scope::Credential);
            return;
        }
        let confirming = outcome.source == Source::Probe;
        match domain.doubt {
            Some(doubt) if confirming && outcome.sent_at >= doubt.since => {
                self.end_doubt(now, place.credential);
                self.condemn(now, slot, outcome.class, Scope::Credential, None);
                self.condemn_siblings(now, slot, place, outcome.class, Scope::Credential);
            }
            Some(_) => {}
            None => self.doubt(now, slot, place, outcome),
        }
    }

    /// Takes every deployment of a credential out and asks for one free call.
    fn doubt(&mut self, now: Timestamp, slot: Slot, place: Place, outcome: &Outcome) {
        let counts = self.seat(slot).is_some_and(|seat| {
            let machine = &seat.machine;
            seat.spec.params.litellm.is_none()
                && outcome.sent_at >= machine.since()
                && !matches!(machine.state(), State::AdminDown | State::Draining | State::ForcedUp)
        });
        if !counts || self.tree.get(place.credential).is_none_or(|domain| domain.fault.is_some()) {
            return;
        }
        if let Some(domain) = self.tree.get_mut(place.credential) {
            domain.doubt = Some(Doubt { class: outcome.class, since: now, until: now + DOUBT });
        }
        self.doubts.push(place.credential);
        self.mark_doubt(now, place.credential, true);
        if let Some(representative) = self.cheapest(place.credential, true) {
            self.planner.confirm(representative, now);
        }
    }

    /// A lone deployment is not taken out by a doubt that no probe can answer: the next request answers it.
    fn mark_doubt(&mut self, now: Timestamp, credential: DomainIx, in_doubt: bool) {
        let answerable = self.cheapest(credential, true).is_some();
        for slot in self.members(credential) {
            let lone = self.seat(slot).and_then(|seat| self.groups.get(seat.group.0 as usize));
            let lone = lone.is_some_and(|group| group.facts().lone());
            if let Some(seat) = self.seat_mut(slot) {
                seat.in_doubt = in_doubt && (answerable || !lone);
            }
            if !in_doubt {
                self.planner.unconfirm(slot);
            }
            self.touch(slot, now);
        }
    }

    fn end_doubt(&mut self, now: Timestamp, credential: DomainIx) {
        let Some(domain) = self.tree.get_mut(credential) else { return };
        if domain.doubt.take().is_some() {
            self.doubts.retain(|&known| known != credential);
            self.mark_doubt(now, credential, false);
        }
    }

    /// Ends the doubts whose time is up: nobody confirmed them.
    pub(super) fn end_doubts(&mut self, now: Timestamp) {
        for credential in self.doubts.clone() {
            let over =
                self.tree.get(credential).and_then(|domain| domain.doubt).is_none_or(|d| d.until <= now);
            if over {
                self.end_doubt(now, credential);
            }
        }
        for endpoint in self.suspects.clone() {
            if self.tree.expire(endpoint, now) {
                self.suspects.retain(|&known| known != endpoint);
                self.wake_members(now, endpoint);
            }
        }
    }

    /// Whether a probe of `slot` still has to answer a doubt.
    pub(super) fn doubted(&self, slot: Slot) -> bool {
        self.seat(slot).is_some_and(|seat| seat.in_doubt)
    }

    /// Ends the doubt about a credential by an answer to a request sent after it arose.
    fn refute(&mut self, now: Timestamp, credential: DomainIx, sent_at: Timestamp) {
        let doubt = self.tree.get(credential).and_then(|domain| domain.doubt);
        if doubt.is_some_and(|doubt| sent_at >= doubt.since) {
            self.end_doubt(now, credential);
        }
    }

    /// The domain that `scope` names, when it is wider than a deployment.
    const fn domain(place: Place, scope: Scope) -> Option<DomainIx> {
        match scope {
            Scope::Request | Scope::Model => None,
            Scope::Credential => Some(place.credential),
            Scope::Account => Some(place.account),
            Scope::Endpoint => Some(place.endpoint),
            Scope::Provider => Some(place.provider),
        }
    }

    /// Imposes the stated wait on everything its scope names.
    fn hold_siblings(&mut self, now: Timestamp, slot: Slot, place: Place, outcome: &Outcome) {
        let Some(domain) = Self::domain(place, outcome.scope) else { return };
        for sibling in self.members(domain).into_iter().filter(|&sibling| sibling != slot) {
            let Some(seat) = self.seat(sibling) else { continue };
            let params = &seat.spec.params;
            let wait = outcome.retry_after.unwrap_or(params.hold_default).min(params.hold_max);
            self.condemn(now, sibling, outcome.class, outcome.scope, Some(now + wait));
        }
    }

    /// Imposes a verdict that holds for the whole domain on the others of it.
    fn condemn_siblings(&mut self, now: Timestamp, slot: Slot, place: Place, class: Class, scope: Scope) {
        let Some(ix) = Self::domain(place, scope) else { return };
        let Some(machine) = self.machine(slot) else { return };
        if !matches!(machine.state(), State::ConfigFault | State::Budget) {
            return;
        }
        let until = machine.until();
        if let Some(domain) = self.tree.get_mut(ix) {
            domain.fault = Some(Fault { class, since: now });
        }
        for sibling in self.members(ix).into_iter().filter(|&sibling| sibling != slot) {
            self.condemn(now, sibling, class, scope, until);
        }
    }

    fn condemn(&mut self, now: Timestamp, slot: Slot, class: Class, scope: Scope, until: Option<Timestamp>) {
        let Some(seat) = self.seat_mut(slot) else { return };
        if let Some(transition) = seat.machine.impose(now, class, scope, until) {
            self.moved(now, slot, transition);
        }
        self.touch(slot, now);
    }

    /// Ends the fault of a credential or account that this answer disproves; its other deployments are back
    /// too, one after another.
    fn absolve(&mut self, now: Timestamp, slot: Slot, ix: DomainIx, outcome: &Outcome) {
        let Some(fault) = self.tree.get(ix).and_then(|domain| domain.fault) else { return };
        let proves = match fault.class.effect() {
            Effect::Config => outcome.proves_credential(),
            Effect::Ok | Effect::Alive | Effect::Neutral | Effect::Hard | Effect::Soft | Effect::Budget => {
                outcome.proves_credit()
            }
        };
        if !proves
            || outcome.sent_at < fault.since
            || !self.tree.get_mut(ix).is_some_and(|domain| domain.absolve(now))
        {
            return;
        }
        for sibling in self.members(ix).into_iter().filter(|&sibling| sibling != slot) {
            let Some(seat) = self.seat_mut(sibling) else { continue };
            if let Some(transition) = seat.machine.release(now) {
                self.moved(now, sibling, transition);
            }
            self.touch(sibling, now);
        }
    }
}
