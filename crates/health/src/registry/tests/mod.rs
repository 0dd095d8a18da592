//! Scenarios over whole groups and fault domains, on a clock that the test turns.

mod domains;
mod fleet;
mod groups;
mod ladder;
mod litellm;
mod probes;
mod properties;
mod recovery;
mod show;

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::{
    AllOut, GroupIx, PanicMode, PanicParams, PanicState, Params, ProbeEnd, ProbeJob, ProbeLimits,
    ProbeParams, Rank, Scope,
};

/// A second in the milliseconds of the test clock.
const S: u64 = 1_000;
const PROBES: ProbeLimits = ProbeLimits { concurrency: 64, per_endpoint: 64 };

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Numbers of `profile: resilient` without spread, so that times are exact.
fn resilient() -> Params {
    let mut params = Params::resilient();
    params.isolation.jitter = 0.0;
    params
}

/// A deployment that is probed every `seconds`.
fn probed(id: &str, seconds: u64) -> Spec {
    let interval = Duration::from_secs(seconds);
    let suspect_interval = interval.min(Duration::from_secs(5));
    let probe = ProbeParams { interval, suspect_interval, ..ProbeParams::resilient() };
    Spec { probe: Some(probe), ..Spec::new(id, "g", resilient()) }
}

/// A deployment that is not probed.
fn unprobed(id: &str) -> Spec {
    Spec::new(id, "g", resilient())
}

/// The group of all tests, with these panic rules.
fn group(panic: PanicParams) -> Vec<GroupSpec> {
    vec![GroupSpec::new("g", panic)]
}

fn off() -> PanicParams {
    PanicParams { threshold: 0.0, mode: PanicMode::Off, ..PanicParams::resilient() }
}

/// A registry and its clock.
struct World {
    registry: Registry,
    now: u64,
}

impl World {
    fn new(specs: Vec<Spec>, groups: Vec<GroupSpec>) -> Self {
        let now = 1_000_000;
        Self { registry: Registry::new(specs, groups, 7, at(now)), now }
    }

    /// d1, d2, … unprobed, in one group with `panic`.
    fn of(count: usize, panic: PanicParams) -> Self {
        Self::new((1..=count).map(|n| unprobed(&format!("d{n}"))).collect(), group(panic))
    }

    fn slot(&self, id: &str) -> Slot {
        self.registry.find(id).unwrap()
    }

    fn outcome(&self, id: &str, class: Class, source: Source) -> Outcome {
        let mut outcome = Outcome::new(class, source, at(self.now), self.registry.generation(self.slot(id)));
        let status = [
            (Class::Ok, 200),
            (Class::Auth, 401),
            (Class::Billing, 402),
            (Class::ModelNotFound, 404),
            (Class::Timeout, 408),
            (Class::RateLimit, 429),
        ];
        outcome.status =
            status.into_iter().find(|(known, _)| *known == class).map_or(500, |(_, status)| status);
        outcome
    }

    fn report(&mut self, id: &str, outcome: &Outcome) {
        let slot = self.slot(id);
        self.registry.report(at(self.now), slot, outcome);
    }

    fn traffic(&mut self, id: &str, class: Class) {
        let outcome = self.outcome(id, class, Source::Traffic);
        self.report(id, &outcome);
    }

    fn probe(&mut self, id: &str, class: Class) {
        let outcome = self.outcome(id, class, Source::Probe);
        self.report(id, &outcome);
    }

    /// Hard failures of traffic until it is out.
    fn kill(&mut self, id: &str) {
        for _ in 0..5 {
            self.traffic(id, Class::ServerError);
        }
        assert_eq!(self.state(id), State::Isolated);
    }

    /// Lets `millis` pass, obeying every deadline on the way.
    fn pass(&mut self, millis: u64) {
        let end = self.now + millis;
        loop {
            let next = self.registry.tick(at(self.now)).as_millis();
            if next >= end {
                break;
            }
            assert!(next > self.now, "time stands still");
            self.now = next;
        }
        self.now = end;
        self.registry.tick(at(end));
    }

    fn state(&self, id: &str) -> State {
        self.registry.machine(self.slot(id)).unwrap().state()
    }

    fn rank(&self, id: &str) -> Rank {
        self.registry.view().entry(self.slot(id)).rank
    }

    fn ranks(&self) -> Vec<Rank> {
        self.registry.slots().into_iter().map(|slot| self.registry.view().entry(slot).rank).collect()
    }

    fn weight(&self, id: &str) -> f32 {
        self.registry.view().entry(self.slot(id)).weight
    }

    fn panic(&self) -> PanicState {
        self.registry.view().group(GroupIx(0)).unwrap().panic
    }

    fn returns(&self) -> Option<u64> {
        self.registry.view().group(GroupIx(0)).unwrap().soonest_return.map(Timestamp::as_millis)
    }

    /// What routing would pick: the best rank present, the highest weight in it; `None` when refused.
    fn choose(&self) -> Option<Slot> {
        let view = self.registry.view();
        let slots = self.registry.slots();
        let best = slots.iter().map(|&slot| view.entry(slot)).map(|entry| entry.rank).min()?;
        if best == Rank::Out {
            return None;
        }
        slots.into_iter().find(|&slot| view.entry(slot).rank == best)
    }

    /// One caller's request that only `id` can serve: in rotation, or as the attempt that finds out. Answers whether it
    /// was sent.
    fn serve(&mut self, id: &str, class: Class) -> bool {
        let slot = self.slot(id);
        if self.rank(id) == Rank::In {
            self.traffic(id, class);
            return true;
        }
        let Some(lease) = self.registry.claim_trial(at(self.now), slot, 1) else { return false };
        let mut outcome = self.outcome(id, class, Source::Trial);
        outcome.trial = Some(lease.id);
        self.report(id, &outcome);
        true
    }

    fn due(&mut self) -> Vec<ProbeJob> {
        self.registry.due_probes(at(self.now), PROBES).jobs
    }

    fn finish(&mut self, job: &ProbeJob, class: Class) {
        let source = if job.trial.is_some() { Source::Trial } else { Source::Probe };
        let mut outcome = Outcome::new(class, source, at(self.now), job.generation);
        outcome.trial = job.trial.as_ref().map(|lease| lease.id);
        outcome.depth = job.depth;
        self.registry.probe_finished(at(self.now), job, &ProbeEnd::Verdict(outcome));
    }

    /// Lets `millis` pass with every probe sent when due and answered at once with `class`; returns
    /// (time since the call, job) of each.
    fn probing(
        &mut self,
        millis: u64,
        mut class: impl FnMut(u64, &ProbeJob) -> Class,
    ) -> Vec<(u64, ProbeJob)> {
        let (start, mut sent) = (self.now, Vec::new());
        while self.now < start + millis {
            self.pass(100);
            for job in self.due() {
                let answer = class(self.now - start, &job);
                self.finish(&job, answer);
                sent.push((self.now - start, job));
            }
        }
        sent
    }

    /// (from, to) of every move of `id`.
    fn moves(&self, id: &str) -> Vec<(State, State)> {
        let own = self.slot(id);
        let moved = self.registry.events(0).events.into_iter().filter_map(|event| match event.kind {
            EventKind::Moved { slot, transition, .. } if slot == own => {
                Some((transition.from, transition.to))
            }
            EventKind::Moved { .. } | EventKind::Panic { .. } | EventKind::Pod { .. } => None,
        });
        moved.collect()
    }
}
