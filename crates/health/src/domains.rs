//! The tree of fault domains: provider, endpoint, account, credential.
//!
//! A deployment seldom fails alone: a revoked key takes all its deployments with it, a dead host too, and a
//! pod without a network fails everywhere at once. Domains hold what is known about the shared part, so that
//! the shared part is blamed once and probed once.
//!
//! - **Credential in doubt**: one refusal (auth) of a shared credential takes all its deployments out of
//!   rotation while one free call confirms or refutes it. The doubt ends by itself.
//! - **Endpoint in doubt**: at least two members failed hard in the last minute and at least 60 % of all
//!   attempts there did. Its members share one representative probe, trials are granted one at a time, and
//!   returns are 5 s apart. One good answer ends it.
//! - **Pod in doubt**: within 10 s at least two unrelated providers gave no answer at all (no connection, no
//!   reply in time), they are at least 60 % of those heard of, and none of them has answered since. An answer
//!   of any kind, even a 500, proves that the pod's own road to that provider works, so it does not count.
//!   While it lasts, isolations are marked as this pod's view only and no endpoint is put in doubt. It ends
//!   once the last 10 s no longer show it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::{Class, Effect, Outcome, Slot, Spec, Timestamp};

/// How long the endpoint rule looks back, in steps.
const STEPS: usize = 6;
/// Length of a step.
const STEP_MS: u64 = 10_000;
/// How long the endpoint rule looks back.
const LOOK_BACK: Duration = Duration::from_millis(STEP_MS * STEPS as u64);
/// How long the pod rule looks back.
pub(crate) const POD_WINDOW: Duration = Duration::from_secs(10);
/// Distance between the returns of two members of a domain that was in doubt.
pub(crate) const STAGGER: Duration = Duration::from_secs(5);
/// How long a credential may be in doubt without a confirmation.
pub(crate) const DOUBT: Duration = Duration::from_secs(60);

/// The place of a domain in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DomainIx(pub(crate) u32);

/// What makes deployments share a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// One key at one provider.
    Credential(u64),
    /// One account that pays.
    Account(u64),
    /// One scheme, host and port.
    Endpoint(Arc<str>),
    /// One provider.
    Provider(Arc<str>),
}

/// The domains of one deployment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) credential: DomainIx,
    pub(crate) account: DomainIx,
    pub(crate) endpoint: DomainIx,
    pub(crate) provider: DomainIx,
}

/// A refused credential that one free call is to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// Which refusal it was.
    pub(crate) class: Class,
    /// When it arose.
    pub(crate) since: Timestamp,
    /// When it ends without a confirmation.
    pub(crate) until: Timestamp,
}

/// A known fault of a credential or account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Which.
    pub(crate) class: Class,
    /// Since when.
    pub(crate) since: Timestamp,
}

/// Attempts of the last minute, by step.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    step: u64,
    hard: [u32; STEPS],
    heard: [u32; STEPS],
}

impl Tally {
    fn advance(&mut self, now: Timestamp) -> usize {
        let step = now.as_millis() / STEP_MS;
        let passed = step.saturating_sub(self.step).min(STEPS as u64);
        for back in 0..passed {
            let index = ((step - back) % STEPS as u64) as usize;
            if let (Some(hard), Some(heard)) = (self.hard.get_mut(index), self.heard.get_mut(index)) {
                (*hard, *heard) = (0, 0);
            }
        }
        self.step = self.step.max(step);
        (self.step % STEPS as u64) as usize
    }

    fn add(&mut self, now: Timestamp, count: u32, hard: bool) {
        let index = self.advance(now);
        if let (Some(bad), Some(heard)) = (self.hard.get_mut(index), self.heard.get_mut(index)) {
            *heard = heard.saturating_add(count);
            if hard {
                *bad = bad.saturating_add(count);
            }
        }
    }

    /// Whether at least 60 % of the attempts failed.
    fn mostly_hard(&mut self, now: Timestamp) -> bool {
        self.advance(now);
        let (hard, heard) = (self.hard.iter().sum::<u32>(), self.heard.iter().sum::<u32>());
        u64::from(hard) * 10 >= u64::from(heard) * 6 && hard > 0
    }
}

/// A fault domain.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) members: Vec<Slot>,
    /// A credential's open question.
    pub(crate) doubt: Option<Doubt>,
    /// A credential's or account's answered question: it is known to be at fault.
    pub(crate) fault: Option<Fault>,
    /// Since when an endpoint is in doubt.
    pub(crate) suspect_since: Option<Timestamp>,
    /// The member that is probed for all while the endpoint is in doubt.
    pub(crate) representative: Option<Slot>,
    /// No member may begin a trial before.
    pub(crate) next_trial: Timestamp,
    /// Returns stay apart until then although the doubt or fault is over.
    stagger_until: Timestamp,
    /// The member on trial, and until when its lease lasts.
    pub(crate) trial: Option<(Slot, Timestamp)>,
    tally: Tally,
    /// The two members that failed last, and when.
    offenders: [Option<(Slot, Timestamp)>; 2],
    /// Provider: latest attempt without any answer.
    silent_at: Option<Timestamp>,
    /// Provider: the endpoint of that attempt.
    silent_endpoint: Option<DomainIx>,
    /// Provider: latest answer of any kind.
    answered_at: Option<Timestamp>,
}

impl Domain {
    const fn new() -> Self {
        Self {
            members: Vec::new(),
            doubt: None,
            fault: None,
            suspect_since: None,
            representative: None,
            next_trial: Timestamp::from_millis(0),
            stagger_until: Timestamp::from_millis(0),
            trial: None,
            tally: Tally { step: 0, hard: [0; STEPS], heard: [0; STEPS] },
            offenders: [None; 2],
            silent_at: None,
            silent_endpoint: None,
            answered_at: None,
        }
    }

    fn offend(&mut self, slot: Slot, now: Timestamp) {
        let [first, second] = &mut self.offenders;
        match first {
            Some((known, at)) if *known == slot => *at = now,
            Some(_) | None => {
                *second = *first;
                *first = Some((slot, now));
            }
        }
    }

    /// Whether two members failed within the look-back.
    fn two_offenders(&self, now: Timestamp) -> bool {
        self.offenders.iter().all(|offender| offender.is_some_and(|(_, at)| at.until(now) < LOOK_BACK))
    }

    /// Whether, of the recent attempts, the latest had no answer.
    fn silent(&self, now: Timestamp) -> bool {
        self.silent_at
            .is_some_and(|at| at.until(now) < POD_WINDOW && self.answered_at.is_none_or(|good| good < at))
    }

    fn heard_of(&self, now: Timestamp) -> bool {
        self.silent_at.max(self.answered_at).is_some_and(|at| at.until(now) < POD_WINDOW)
    }
}

/// What an outcome changed in an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shift {
    /// Nothing.
    None,
    /// The endpoint came into doubt.
    Suspect,
    /// The doubt ended.
    Clear,
}

/// All fault domains of the process.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    domains: Vec<Domain>,
    index: HashMap<Key, DomainIx>,
    places: Vec<Option<Place>>,
    providers: Vec<DomainIx>,
    pod_suspect_since: Option<Timestamp>,
}

impl Tree {
    /// Puts `slot` where `spec` says. What is known about the domains stays.
    pub(crate) fn place(&mut self, slot: Slot, spec: &Spec) -> Place {
        let keys = [
            Key::Credential(spec.credential),
            Key::Account(spec.account),
            Key::Endpoint(Arc::clone(&spec.endpoint)),
            Key::Provider(Arc::clone(&spec.provider)),
        ];
        if let Some(place) = self.place_of(slot)
            && place.all().into_iter().zip(&keys).all(|(ix, key)| self.index.get(key) == Some(&ix))
        {
            return place;
        }
        self.remove(slot);
        let [credential, account, endpoint, provider] = keys.map(|key| self.join(slot, key));
        let place = Place { credential, account, endpoint, provider };
        let index = slot.0 as usize;
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        if let Some(known) = self.places.get_mut(index) {
            *known = Some(place);
        }
        place
    }

    /// Takes `slot` out of its domains.
    pub(crate) fn remove(&mut self, slot: Slot) {
        let Some(place) = self.places.get_mut(slot.0 as usize).and_then(Option::take) else { return };
        for ix in place.all() {
            if let Some(domain) = self.get_mut(ix) {
                domain.members.retain(|&member| member != slot);
                domain.representative = domain.representative.filter(|&member| member != slot);
                domain.trial = domain.trial.filter(|&(member, _)| member != slot);
            }
        }
    }

    fn join(&mut self, slot: Slot, key: Key) -> DomainIx {
        let next = DomainIx(u32::try_from(self.domains.len()).unwrap_or(u32::MAX));
        let ix = *self.index.entry(key.clone()).or_insert(next);
        if ix == next {
            if matches!(key, Key::Provider(_)) {
                self.providers.push(ix);
            }
            self.domains.push(Domain::new());
        }
        if let Some(domain) = self.get_mut(ix) {
            domain.members.push(slot);
        }
        ix
    }

    pub(crate) fn get(&self, ix: DomainIx) -> Option<&Domain> {
        self.domains.get(ix.0 as usize)
    }

    pub(crate) fn get_mut(&mut self, ix: DomainIx) -> Option<&mut Domain> {
        self.domains.get_mut(ix.0 as usize)
    }

    pub(crate) fn place_of(&self, slot: Slot) -> Option<Place> {
        self.places.get(slot.0 as usize).copied().flatten()
    }

    /// Counts one outcome of `slot` in its endpoint and its provider.
    pub(crate) fn note(&mut self, slot: Slot, outcome: &Outcome, now: Timestamp) -> Shift {
        let effect = outcome.class.effect();
        if matches!(effect, Effect::Neutral) {
            return Shift::None;
        }
        let unanswered = matches!(outcome.class, Class::Connection | Class::Timeout);
        let Some(place) = self.place_of(slot) else { return Shift::None };
        if let Some(provider) = self.get_mut(place.provider) {
            if unanswered {
                provider.silent_at = Some(now);
                provider.silent_endpoint = Some(place.endpoint);
            } else {
                provider.answered_at = Some(now);
            }
        }
        self.count(place.endpoint, slot, 1, matches!(effect, Effect::Hard), now)
    }

    /// Counts `count` successes of `slot`, the latest of them sent at `sent_at`.
    pub(crate) fn note_successes(
        &mut self,
        slot: Slot,
        count: u32,
        sent_at: Timestamp,
        now: Timestamp,
    ) -> Shift {
        let Some(place) = self.place_of(slot) else { return Shift::None };
        if let Some(provider) = self.get_mut(place.provider) {
            provider.answered_at = provider.answered_at.max(Some(sent_at));
        }
        self.count(place.endpoint, slot, count, false, now)
    }

    fn count(&mut self, endpoint: DomainIx, slot: Slot, count: u32, hard: bool, now: Timestamp) -> Shift {
        let pod_suspect = self.pod_suspect_since.is_some();
        let Some(domain) = self.get_mut(endpoint) else { return Shift::None };
        domain.tally.add(now, count, hard);
        if !hard {
            return if domain.clear(now) { Shift::Clear } else { Shift::None };
        }
        domain.offend(slot, now);
        if !pod_suspect
            && domain.suspect_since.is_none()
            && domain.two_offenders(now)
            && domain.tally.mostly_hard(now)
        {
            domain.suspect_since = Some(now);
            Shift::Suspect
        } else {
            Shift::None
        }
    }

    /// Judges this pod by the last 10 s; answers whether that changed.
    pub(crate) fn judge_pod(&mut self, now: Timestamp) -> bool {
        let (mut silent, mut heard) = (0_u32, 0_u32);
        let (mut endpoint, mut unrelated) = (None, false);
        for provider in self.providers.iter().filter_map(|&ix| self.get(ix)) {
            heard += u32::from(provider.heard_of(now));
            if provider.silent(now) {
                silent += 1;
                unrelated |= endpoint.is_some() && provider.silent_endpoint != endpoint;
                endpoint = endpoint.or(provider.silent_endpoint);
            }
        }
        let suspect = silent >= 2 && unrelated && silent * 10 >= heard * 6;
        let changed = suspect != self.pod_suspect_since.is_some();
        if changed {
            self.pod_suspect_since = suspect.then_some(now);
        }
        changed
    }

    /// Whether this pod suspects itself.
    pub(crate) const fn pod_suspect(&self) -> bool {
        self.pod_suspect_since.is_some()
    }

    /// Whether `slot` may begin a trial now, as far as its domains are concerned: one member at a time, and
    /// returns apart from one another.
    pub(crate) fn trial_free(&self, slot: Slot, now: Timestamp) -> bool {
        let Some(place) = self.place_of(slot) else { return false };
        place.sharing().into_iter().filter_map(|ix| self.get(ix)).all(|domain| {
            let free = domain.trial.is_none_or(|(member, until)| member == slot || until <= now);
            !domain.shares_trials(now) || (free && domain.next_trial <= now)
        })
    }

    /// Notes that the trial of `slot` runs until `until`.
    pub(crate) fn trial_began(&mut self, slot: Slot, until: Timestamp, now: Timestamp) {
        let Some(place) = self.place_of(slot) else { return };
        for ix in place.sharing() {
            if let Some(domain) = self.get_mut(ix).filter(|domain| domain.shares_trials(now)) {
                domain.trial = Some((slot, until));
            }
        }
    }

    /// Notes that the trial of `slot` is over, and whether it returned.
    pub(crate) fn trial_ended(&mut self, slot: Slot, returned: bool, now: Timestamp) {
        let Some(place) = self.place_of(slot) else { return };
        for ix in place.sharing() {
            let Some(domain) = self.get_mut(ix) else { continue };
            domain.trial = domain.trial.filter(|&(member, _)| member != slot);
            if returned && domain.shares_trials(now) {
                domain.next_trial = now + STAGGER;
            }
        }
    }

    /// Ends the doubt of an endpoint because what raised it is not believed; answers whether there was one.
    pub(crate) fn dismiss(&mut self, endpoint: DomainIx) -> bool {
        self.get_mut(endpoint).is_some_and(|domain| {
            domain.representative = None;
            domain.offenders = [None; 2];
            domain.suspect_since.take().is_some()
        })
    }

    /// Ends the doubt of an endpoint that nobody has failed at for a minute; answers whether it ended.
    pub(crate) fn expire(&mut self, endpoint: DomainIx, now: Timestamp) -> bool {
        self.get_mut(endpoint).is_some_and(|domain| {
            let quiet = domain.offenders[0].is_none_or(|(_, at)| at.until(now) >= LOOK_BACK);
            quiet && domain.clear(now)
        })
    }
}

impl Place {
    const fn all(self) -> [DomainIx; 4] {
        [self.credential, self.account, self.endpoint, self.provider]
    }

    /// The domains whose members share trials when they are in doubt or at fault.
    const fn sharing(self) -> [DomainIx; 3] {
        [self.credential, self.account, self.endpoint]
    }
}

impl Domain {
    /// Whether its members share trials: it is in doubt or at fault, or was until just now.
    fn shares_trials(&self, now: Timestamp) -> bool {
        self.suspect_since.is_some() || self.fault.is_some() || now < self.stagger_until
    }

    /// Ends the doubt of an endpoint; answers whether there was one.
    fn clear(&mut self, now: Timestamp) -> bool {
        self.representative = None;
        let was = self.suspect_since.take().is_some();
        if was {
            self.offenders = [None; 2];
            self.stagger(now);
        }
        was
    }

    /// Ends the fault of a credential or account; answers whether there was one.
    pub(crate) fn absolve(&mut self, now: Timestamp) -> bool {
        let was = self.fault.take().is_some();
        if was {
            self.stagger(now);
        }
        was
    }

    /// Keeps returns apart for as long as all members need.
    fn stagger(&mut self, now: Timestamp) {
        let members = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        self.stagger_until = now + STAGGER.saturating_mul(members);
    }
}

#[cfg(test)]
mod tests;
