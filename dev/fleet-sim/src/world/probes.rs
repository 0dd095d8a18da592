//! A probe's life: due, claimed, sent, answered, committed.

use std::fmt::Write as _;
use std::time::Duration;

use haleway_fleet::MIN_GAP;
use haleway_fleet::book::{Answer, Verdict};
use haleway_fleet::pod::{Outcome as Claimed, Turn};
use haleway_health::{Class, Effect, Outcome, ProbeEnd, ProbeJob, Source};

use super::{Event, Step, World, millis, note};
use crate::ledger::End;
use crate::process::{Call, Probe, ask};
use crate::setup::{Behaviour, Point};
use crate::store::{Request, word};

impl World {
    /// A probe is due in the pod's timetable: is it this pod's turn?
    pub(super) fn begin(&mut self, pod: usize, job: ProbeJob) {
        let deployment = job.slot.0 as usize;
        let split_brain = Duration::from_millis(self.setup.split_brain);
        let Some(name) = self.names.get(deployment) else { return };
        let Some(process) = self.pods.get_mut(pod) else { return };
        let now = process.clock.show(self.now);
        let ask = ask(name, &job);
        match process.pod.turn(now, &ask) {
            Turn::Claim => {}
            Turn::Wait(until) | Turn::Abstain(_, until) => {
                return process.hub.probe_finished(now, &job, &ProbeEnd::Postponed(until));
            }
        }
        let terms = process.pod.terms(now, &ask, split_brain);
        let ticket = job.ticket;
        let probe = Probe { job, deployment, started: now, permit: None, grant: None, outcome: None };
        process.probes.insert(ticket, probe);
        if self.sprung(pod, Point::BeforeClaim) {
            return;
        }
        self.call(pod, Call::Claim(ticket), Request::Claim { deployment, terms });
    }

    /// The store answered a claim.
    pub(super) fn claimed(&mut self, pod: usize, ticket: u64, answer: &Answer) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let now = process.clock.show(self.now);
        let Some(probe) = process.probes.get_mut(&ticket) else { return };
        let Some(name) = self.names.get(probe.deployment) else { return };
        let deployment = probe.deployment;
        match process.pod.answered(probe.started, now, &ask(name, &probe.job), answer) {
            Claimed::Wait(until) => self.finish(pod, ticket, &ProbeEnd::Postponed(until)),
            Claimed::TooLate { seq } => {
                self.ended(deployment, seq, End::Dropped);
                self.finish(pod, ticket, &ProbeEnd::NoEvidence);
            }
            Claimed::Granted(permit) => {
                probe.permit = Some(permit);
                let think = self.now + self.rng.between(0, 20);
                let life = process.life;
                self.queue.push(think, Event::Pod { pod, life, step: Step::Send { ticket } });
                self.sprung(pod, Point::AfterGrant);
            }
        }
    }

    /// A claim was not answered.
    pub(super) fn unanswered(&mut self, pod: usize, ticket: u64) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let now = process.clock.show(self.now);
        let Some(probe) = process.probes.get(&ticket) else { return };
        let Some(name) = self.names.get(probe.deployment) else { return };
        let until = process.pod.unanswered(probe.started, now, &ask(name, &probe.job));
        self.finish(pod, ticket, &ProbeEnd::Postponed(until));
    }

    /// The permit is used, or it is too late for that.
    pub(super) fn send(&mut self, pod: usize, ticket: u64) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let now = process.clock.show(self.now);
        let Some(probe) = process.probes.get_mut(&ticket) else { return };
        let Some(permit) = probe.permit.take() else { return };
        let (deployment, seq) = (probe.deployment, permit.seq());
        let Ok(grant) = permit.redeem(now) else {
            self.ended(deployment, seq, End::Dropped);
            return self.finish(pod, ticket, &ProbeEnd::NoEvidence);
        };
        probe.grant = Some(grant);
        let life = process.life;
        let cut = process.cut_from_providers_until > self.now;
        let timeout = self.now + process.clock.true_span(millis(probe.job.timeout));
        let late = Step::Answer { ticket, class: Class::Timeout };
        self.queue.push(timeout, Event::Pod { pod, life, step: late });
        if cut {
            let step = Step::Answer { ticket, class: Class::Connection };
            self.queue.push(self.now + 5, Event::Pod { pod, life, step });
        } else {
            note!(self, "pod-{pod} sends a probe to d{deployment} with permit {seq}");
            self.ledger.request(self.now, deployment, Some((seq, pod)));
            let there = self.now + self.rng.between(5, 20);
            self.queue.push(there, Event::AtProvider { pod, life, ticket, deployment, seq });
        }
        self.sprung(pod, Point::AfterSend);
    }

    /// A provider answers as it does now.
    pub(super) fn at_provider(&mut self, pod: usize, life: u32, ticket: u64, deployment: usize, seq: u64) {
        let (behaviour, until) = self.providers.get(deployment).copied().unwrap_or((Behaviour::Well, 0));
        let class = match if until > self.now { behaviour } else { Behaviour::Well } {
            Behaviour::Well => Class::Ok,
            Behaviour::Flaky if self.rng.percent(50) => Class::Ok,
            Behaviour::Flaky | Behaviour::Failing => Class::ServerError,
            Behaviour::Limiting => Class::RateLimit,
            Behaviour::Refusing => Class::Auth,
            Behaviour::Hanging => return,
        };
        note!(self, "d{deployment} answers permit {seq} with {class}");
        let back = self.now + self.setup.answer + self.rng.between(0, 20);
        self.queue.push(back, Event::Pod { pod, life, step: Step::Answer { ticket, class } });
    }

    /// The pod knows how the probe went: the first answer, or the timeout, counts.
    pub(super) fn answer(&mut self, pod: usize, ticket: u64, class: Class) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let Some(probe) = process.probes.get_mut(&ticket) else { return };
        let Some(grant) = probe.grant.as_ref().filter(|_| probe.outcome.is_none()) else { return };
        let source = if probe.job.trial.is_some() { Source::Trial } else { Source::Probe };
        let mut outcome = Outcome::new(class, source, grant.granted_at(), probe.job.generation);
        outcome.depth = probe.job.depth;
        outcome.trial = probe.job.trial.as_ref().map(|lease| lease.id);
        probe.outcome = Some(outcome);
        let passed = matches!(class.effect(), Effect::Ok | Effect::Alive);
        let next = if passed { process.interval } else { self.setup.suspect };
        let verdict = Verdict {
            seq: grant.seq(),
            next_interval: Duration::from_millis(next),
            min_gap: MIN_GAP,
            state: word(passed),
        };
        let request = Request::Commit { deployment: probe.deployment, verdict };
        if self.sprung(pod, Point::BeforeCommit) {
            let Some(process) = self.pods.get(pod) else { return };
            if process.dead {
                return;
            }
            // It stood still with the verdict in its hand, and commits when it goes on.
            let (life, at) = (process.life, process.paused_until);
            if let Some(probe) = self.pods.get_mut(pod).and_then(|process| process.probes.get_mut(&ticket)) {
                probe.outcome = None;
            }
            return self.queue.push(at, Event::Pod { pod, life, step: Step::Answer { ticket, class } });
        }
        self.call(pod, Call::Commit(ticket), request);
    }

    /// The store took the verdict, or did not, or nobody knows.
    pub(super) fn committed(&mut self, pod: usize, ticket: u64, accepted: bool) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let Some(probe) = process.probes.get_mut(&ticket) else { return };
        let end = match probe.outcome.take() {
            Some(outcome) if accepted => ProbeEnd::Verdict(outcome),
            Some(_) | None => ProbeEnd::NoEvidence,
        };
        self.finish(pod, ticket, &end);
    }

    fn finish(&mut self, pod: usize, ticket: u64, end: &ProbeEnd) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let now = process.clock.show(self.now);
        if let Some(probe) = process.probes.remove(&ticket) {
            process.hub.probe_finished(now, &probe.job, end);
            // A place is free, and what was found may call for another probe.
            process.wake_at = self.now + 1;
            self.queue.push(self.now + 1, Event::Pod { pod, life: process.life, step: Step::Wake });
        }
    }

    /// Springs the trap of a pod at `point`; whether there was one.
    fn sprung(&mut self, pod: usize, point: Point) -> bool {
        let blow = self.pods.get_mut(pod).and_then(|process| process.spring(point));
        if let Some(blow) = blow {
            self.hit(pod, blow);
        }
        blow.is_some()
    }
}
