//! Calls to the store, their answers, and the ways on which both are lost.

use std::fmt::Write as _;

use haleway_fleet::book::Answer;
use haleway_fleet::pod::{Step as LinkStep, Trouble};

use super::{Event, Step, World, note};
use crate::ledger::End;
use crate::process::Call;
use crate::queue::Millis;
use crate::setup::Ill;
use crate::store::{Reply, Request};

/// How long a pod waits for the store, on its own clock.
const CALL_DEADLINE: Millis = 1_500;
/// By how much a slow store is slower.
const SLOWNESS: Millis = 3_000;

impl World {
    /// Sends a call on its way.
    pub(super) fn call(&mut self, pod: usize, call: Call, request: Request) {
        let cut = self.pods.get(pod).is_some_and(|process| process.cut_until > self.now);
        let twice = matches!(request, Request::Commit { .. }) && self.ways.twice > self.now;
        let there = self.now + self.rng.between(1, 5);
        let Some(process) = self.pods.get_mut(pod) else { return };
        self.calls += 1;
        let number = self.calls;
        process.calls.insert(number, (call, process.clock.show(self.now)));
        let life = process.life;
        let deadline = self.now + process.clock.true_span(CALL_DEADLINE);
        self.queue.push(deadline, Event::Pod { pod, life, step: Step::Deadline { call: number } });
        if cut {
            return;
        }
        if twice {
            let request = request.clone();
            self.queue.push(there + 3, Event::AtStore { pod, life, call: number, request });
        }
        self.queue.push(there, Event::AtStore { pod, life, call: number, request });
    }

    /// A call reaches the store. It runs also when its sender has died since; one that reaches a frozen store runs when
    /// that wakes.
    pub(super) fn at_store(&mut self, pod: usize, life: u32, call: u64, request: Request) {
        let side = self.side(pod);
        let Some(process) = self.pods.get(pod) else { return };
        let cut = process.cut_until > self.now;
        let name = process.name.clone();
        let Some(reply) = self.store.serve(self.now, side, &name, &request) else {
            let at = self.ways.ill_until + self.rng.between(1, 5);
            return self.queue.push(at, Event::AtStore { pod, life, call, request });
        };
        match (&request, &reply) {
            (Request::Claim { deployment, terms }, Reply::Claimed(_, answer)) => {
                note!(self, "pod-{pod} claims d{deployment} on {:?}: {answer:?}", terms.interval);
                match answer {
                    Answer::Grant { seq, .. } => {
                        let interval = super::millis(terms.interval);
                        self.ledger.granted(self.now, *deployment, *seq, pod, interval);
                    }
                    Answer::Quarantine { .. } => self.ledger.quarantines += 1,
                    Answer::Touch { .. } | Answer::Wait { .. } => {}
                }
            }
            (Request::Commit { deployment, verdict }, Reply::Committed(result)) => {
                let end = if result.is_ok() { End::Committed } else { End::Stale };
                self.ended(*deployment, verdict.seq, end);
                if result.is_ok() {
                    self.push(pod);
                }
            }
            (_, _) => {}
        }
        let (percent, until) = self.ways.lose_answers;
        let lost = cut || (until > self.now && self.rng.percent(percent));
        if lost {
            if let Reply::Claimed(deployment, answer) = &reply {
                self.unclaimed(pod, *deployment, answer);
            }
            return;
        }
        let slow = if self.store.ill == Some(Ill::Slow) { SLOWNESS } else { 0 };
        let back = self.now + self.rng.between(1, 5) + slow;
        self.queue.push(back, Event::Pod { pod, life, step: Step::Reply { call, reply } });
    }

    /// That there is a verdict is pushed to every pod that talks to the same server.
    fn push(&mut self, from: usize) {
        let side = self.side(from);
        for pod in 0..self.pods.len() {
            let Some(process) = self.pods.get(pod) else { return };
            if self.ways.lose_pushes > self.now || process.cut_until > self.now || self.side(pod) != side {
                continue;
            }
            let life = process.life;
            let at = self.now + self.rng.between(1, 20);
            self.queue.push(at, Event::Pod { pod, life, step: Step::Push });
        }
    }

    /// A permit was granted and nobody learns of it.
    pub(super) fn unclaimed(&mut self, pod: usize, deployment: usize, answer: &Answer) {
        let Answer::Grant { seq, .. } = answer else { return };
        note!(self, "pod-{pod} never learns of permit {seq} for d{deployment}");
        self.ledger.lost(deployment, *seq);
    }

    /// The pod gets an answer. One that comes after its deadline is not heard.
    pub(super) fn reply(&mut self, pod: usize, number: u64, reply: Reply) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let Some((call, asked)) = process.calls.remove(&number) else {
            return self.wasted(pod, &Step::Reply { call: number, reply });
        };
        let now = process.clock.show(self.now);
        if let Reply::Failed(trouble) = reply {
            return self.failed(pod, call, trouble);
        }
        let up = process.pod.link().is_up();
        let line = match &call {
            Call::Link => process.pod.link_mut().succeeded(now),
            Call::Beat | Call::Pull | Call::Claim(_) | Call::Commit(_) if up => {
                process.pod.link_mut().succeeded(now)
            }
            Call::Beat | Call::Pull | Call::Claim(_) | Call::Commit(_) => None,
        };
        self.said(pod, line);
        match (call, reply) {
            (call @ (Call::Link | Call::Beat), Reply::Pong) => self.linked(pod, &call),
            (call @ (Call::Link | Call::Beat | Call::Pull), Reply::Known { beats, news, version }) => {
                let flap = self.ways.lose_beats > self.now && self.rng.percent(70);
                if let Some(process) = self.pods.get_mut(pod).filter(|_| !flap) {
                    for (other, beat) in &beats {
                        process.pod.beat(now, other, *beat);
                    }
                }
                if let Some(process) = self.pods.get_mut(pod) {
                    process.seen = version;
                }
                self.learn(pod, asked, &news);
                self.linked(pod, &call);
            }
            (Call::Claim(ticket), Reply::Claimed(_, answer)) => self.claimed(pod, ticket, &answer),
            (Call::Commit(ticket), Reply::Committed(result)) => self.committed(pod, ticket, result.is_ok()),
            (_, _) => {}
        }
    }

    /// After a step towards the store comes the next one at once.
    fn linked(&mut self, pod: usize, call: &Call) {
        let more = self.pods.get(pod).is_some_and(|process| process.pod.link().step() != LinkStep::Go);
        if matches!(call, Call::Link) && more {
            self.link(pod);
        }
    }

    /// The pod gives up waiting for an answer.
    pub(super) fn deadline(&mut self, pod: usize, number: u64) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        if let Some((call, _)) = process.calls.remove(&number) {
            self.failed(pod, call, Trouble::Silent);
        }
    }

    fn failed(&mut self, pod: usize, call: Call, trouble: Trouble) {
        let Some(process) = self.pods.get_mut(pod) else { return };
        let now = process.clock.show(self.now);
        let line = process.pod.link_mut().failed(now, trouble);
        self.said(pod, line);
        match call {
            Call::Link | Call::Beat | Call::Pull => {}
            Call::Claim(ticket) => self.unanswered(pod, ticket),
            Call::Commit(ticket) => self.committed(pod, ticket, false),
        }
    }
}
