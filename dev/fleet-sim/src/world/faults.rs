//! Faults, as they happen.

use std::fmt::Write as _;

use haleway_fleet::{Grant, Permit};

use super::{Event, Step, World, note};
use crate::process::{Clock, Process};
use crate::queue::Millis;
use crate::setup::{Blow, Fault, Ill};

/// How far apart two pods read a changed configuration.
const ROLLOUT: Millis = 3_000;
/// How long a pod that is restarted is away.
const RESTART: Millis = 1_500;

impl World {
    pub(super) fn fault(&mut self, index: usize) {
        let Some((_, fault)) = self.setup.faults.get(index).copied() else { return };
        note!(self, "FAULT {fault:?}");
        *self.ledger.faults.entry(fault.kind()).or_default() += 1;
        let now = self.now;
        match fault {
            Fault::Hit(pod, blow) => self.hit(pod, blow),
            Fault::Trap(pod, point, blow) => {
                if let Some(process) = self.pods.get_mut(pod) {
                    process.trap = Some((point, blow));
                }
            }
            Fault::RestartAll => (0..self.pods.len()).for_each(|pod| self.hit(pod, Blow::Crash(RESTART))),
            Fault::Join => self.join(),
            Fault::Store(ill, span) => self.sicken(ill, span),
            Fault::Wipe => {
                self.ledger.forgot = true;
                self.store.wipe();
            }
            Fault::Step(by) => {
                self.stepped = true;
                self.store.step(by);
                if by > 0 {
                    self.ledger.excuse(self.setup.deployments);
                }
            }
            Fault::ReplicaCut(span) => self.ways.replica_cut = now + span,
            Fault::Failover(split) => {
                self.ledger.forgot = true;
                self.store.fail_over(split > 0);
                if split > 0 {
                    self.queue.push(now + split, Event::Heal);
                }
            }
            Fault::Cut(pod, span) => {
                if let Some(process) = self.pods.get_mut(pod) {
                    process.cut_until = now + span;
                }
            }
            Fault::CutProviders(pod, span) => {
                if let Some(process) = self.pods.get_mut(pod) {
                    process.cut_from_providers_until = now + span;
                }
            }
            Fault::LoseAnswers(percent, span) => self.ways.lose_answers = (percent, now + span),
            Fault::LosePushes(span) => self.ways.lose_pushes = now + span,
            Fault::LoseBeats(span) => self.ways.lose_beats = now + span,
            Fault::Twice(span) => self.ways.twice = now + span,
            Fault::Interval(interval) => self.roll_out(interval),
            Fault::Provider(which, behaviour, span) => {
                for (deployment, provider) in self.providers.iter_mut().enumerate() {
                    if which.is_none_or(|which| which == deployment) {
                        *provider = (behaviour, now + span);
                    }
                }
            }
        }
    }

    fn sicken(&mut self, ill: Ill, span: Millis) {
        self.store.ill = Some(ill);
        self.ways.ill_until = self.now + span;
        self.queue.push(self.now + span, Event::StoreWell);
    }

    fn roll_out(&mut self, interval: Millis) {
        let mut at = self.now;
        for (pod, process) in self.pods.iter().enumerate() {
            self.queue.push(at, Event::Pod { pod, life: process.life, step: Step::Reload(interval) });
            at += ROLLOUT;
        }
    }

    fn join(&mut self) {
        let interval = self.pods.first().map_or(self.setup.interval, |process| process.interval);
        let clock = Clock::new(self.rng.below(1_000_000_000), 1_000);
        let pod = self.pods.len();
        self.pods.push(Process::new(pod, self.rng.next(), clock, &self.setup, interval, self.now));
        self.start(pod, self.now);
    }

    /// A pod dies or stands still.
    pub(super) fn hit(&mut self, pod: usize, blow: Blow) {
        let Some(process) = self.pods.get_mut(pod).filter(|process| !process.dead) else { return };
        match blow {
            Blow::Pause(span) => {
                process.paused_until = process.paused_until.max(self.now + span);
                note!(self, "pod-{pod} stands still for {span} ms");
            }
            Blow::Crash(span) => {
                process.dead = true;
                let life = process.life;
                for probe in process.probes.values() {
                    let unused = probe.permit.as_ref().map(Permit::seq);
                    if let Some(seq) = unused.or_else(|| probe.grant.as_ref().map(Grant::seq)) {
                        self.ledger.lost(probe.deployment, seq);
                    }
                }
                self.ledger.died(pod);
                self.queue.push(self.now + span, Event::Restart { pod, life });
                note!(self, "pod-{pod} dies for {span} ms");
            }
        }
    }

    pub(super) fn restart(&mut self, pod: usize, life: u32) {
        let seed = self.rng.next();
        let Some(process) = self.pods.get_mut(pod).filter(|process| process.life == life) else { return };
        *process = process.reborn(pod, seed, &self.setup, self.now, &self.names);
        note!(self, "pod-{pod} is back");
        self.start(pod, self.now);
    }
}
