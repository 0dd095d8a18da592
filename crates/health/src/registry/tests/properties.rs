//! What holds after every step of any sequence of events.

use proptest::prelude::*;

use super::*;
use crate::{GroupReason, ProbePolicy};

/// Something that may happen.
#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    Traffic { who: usize, class: Class, age: u64, scope: Option<Scope>, wait: Option<u64> },
    Probe { class: Class },
    DropProbes,
    Claim { who: usize },
    EndTrial { class: Option<Class> },
    Operator { who: usize, command: Operator },
    Reload { without: Option<usize> },
    Successes { who: usize, count: u32 },
}

fn class() -> impl Strategy<Value = Class> {
    prop_oneof![
        4 => Just(Class::Ok),
        4 => Just(Class::ServerError),
        1 => prop::sample::select(Class::ALL.to_vec()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let scope = prop::option::weighted(
        0.2,
        prop::sample::select(vec![
            Scope::Credential,
            Scope::Account,
            Scope::Endpoint,
            Scope::Provider,
            Scope::Request,
        ]),
    );
    let command = prop::sample::select(vec![
        Operator::Drain,
        Operator::Disable,
        Operator::Enable,
        Operator::ForceUp,
        Operator::Reset,
    ]);
    prop_oneof![
        6 => prop::sample::select(vec![1, 100, 1_000, 6_000, 31_000, 400_000]).prop_map(Step::Pass),
        12 => (0..4_usize, class(), prop::sample::select(vec![0, 10, 5_000, 60_000]), scope, prop::option::of(1..90_000_u64))
            .prop_map(|(who, class, age, scope, wait)| Step::Traffic { who, class, age, scope, wait }),
        6 => class().prop_map(|class| Step::Probe { class }),
        1 => Just(Step::DropProbes),
        3 => (0..4_usize).prop_map(|who| Step::Claim { who }),
        3 => prop::option::of(class()).prop_map(|class| Step::EndTrial { class }),
        1 => (0..4_usize, command).prop_map(|(who, command)| Step::Operator { who, command }),
        1 => prop::option::of(0..4_usize).prop_map(|without| Step::Reload { without }),
        2 => (0..4_usize, 1..50_u32).prop_map(|(who, count)| Step::Successes { who, count }),
    ]
}

fn specs(without: Option<usize>) -> Vec<Spec> {
    (0..4)
        .filter(|n| Some(*n) != without)
        .map(|n| {
            let mut spec = if n == 3 { unprobed("d3") } else { probed(&format!("d{n}"), 30) };
            if n < 2 {
                spec.credential = 1;
                spec.account = 1;
                spec.endpoint = Arc::from("http://host");
                spec.provider = Arc::from("p");
            }
            if n == 2
                && let Some(probe) = &mut spec.probe
            {
                probe.policy = ProbePolicy::OnlyWhenOut;
            }
            spec
        })
        .collect()
}

/// A world under test, with what must be remembered to judge it.
struct Run {
    world: World,
    panic: PanicParams,
    jobs: Vec<ProbeJob>,
    lease: Option<(Slot, TrialLease)>,
    sent: Vec<Option<Timestamp>>,
    version: u64,
    slots: usize,
}

impl Run {
    fn new(panic: PanicParams) -> Self {
        let world = World::new(specs(None), group(panic));
        Self { world, panic, jobs: Vec::new(), lease: None, sent: Vec::new(), version: 0, slots: 4 }
    }

    fn id(who: usize) -> String {
        format!("d{who}")
    }

    fn exists(&self, who: usize) -> bool {
        self.world.registry.find(&Self::id(who)).is_some()
    }

    fn apply(&mut self, step: &Step) {
        let now = at(self.world.now);
        match step {
            Step::Pass(millis) => self.world.pass(*millis),
            Step::Traffic { who, class, age, scope, wait } if self.exists(*who) => {
                let mut outcome = self.world.outcome(&Self::id(*who), *class, Source::Traffic);
                outcome.sent_at = at(self.world.now - age);
                outcome.scope = scope.unwrap_or(outcome.scope);
                outcome.retry_after = wait.map(Duration::from_millis);
                self.world.report(&Self::id(*who), &outcome);
            }
            Step::Probe { class } => {
                self.jobs.extend(self.world.due());
                if let Some(job) = self.jobs.pop() {
                    self.world.finish(&job, *class);
                }
            }
            Step::DropProbes => {
                for job in self.jobs.drain(..) {
                    self.world.registry.probe_finished(now, &job, &ProbeEnd::NoEvidence);
                }
            }
            Step::Claim { who } if self.exists(*who) => {
                let slot = self.world.slot(&Self::id(*who));
                if let Some(lease) = self.world.registry.claim_trial(now, slot, 1) {
                    assert!(self.world.registry.claim_trial(now, slot, 2).is_none(), "I8: one trial");
                    self.lease = Some((slot, lease));
                }
            }
            Step::EndTrial { class } => {
                if let (Some((slot, lease)), Some(class)) = (self.lease.take(), class) {
                    let mut outcome = Outcome::new(*class, Source::Trial, now, lease.generation);
                    outcome.trial = Some(lease.id);
                    self.world.registry.report(now, slot, &outcome);
                }
            }
            Step::Operator { who, command } if self.exists(*who) => {
                let slot = self.world.slot(&Self::id(*who));
                self.world.registry.operator(now, slot, *command, None, "");
            }
            Step::Reload { without } => {
                self.world.registry.rebuild(specs(*without), group(self.panic), now);
                self.slots = self.slots.max(self.world.registry.view().slots());
            }
            Step::Successes { who, count } if self.exists(*who) => {
                let slot = self.world.slot(&Self::id(*who));
                let layout = Arc::clone(&self.world.registry.view().layout);
                for _ in 0..*count {
                    layout.cells[slot.0 as usize].succeed(now);
                }
                layout.board.mark(slot);
            }
            Step::Traffic { .. } | Step::Claim { .. } | Step::Operator { .. } | Step::Successes { .. } => {}
        }
    }

    fn check(&mut self) {
        let registry = &mut self.world.registry;
        if let Some(snapshot) = registry.publish(at(self.world.now)) {
            assert!(snapshot.version() > self.version, "versions grow");
            self.version = snapshot.version();
        }
        let view = registry.view();
        assert!(view.slots() >= self.slots, "I6: the snapshot never shrinks");
        self.sent.resize(view.slots(), None);
        for slot in registry.slots() {
            let machine = registry.machine(slot).unwrap();
            let entry = view.entry(slot);
            let state = machine.state();
            let sent = &mut self.sent[slot.0 as usize];
            let published = view.verdict(slot).sent_at;
            assert!(published >= *sent || sent.is_none(), "I6: nothing rejuvenates or forgets its age");
            assert!(published <= Some(at(self.world.now)), "I6: nothing is younger than now");
            *sent = published;
            if matches!(state, State::ConfigFault | State::Budget | State::AdminDown | State::Draining) {
                assert_eq!(entry.rank, Rank::Out, "I9: {state} is never usable, not even in panic");
            }
            assert_eq!(view.verdict(slot).state, state, "readers and machine agree");
            assert_eq!(entry.generation, machine.generation());
            assert!((0.0..=1.0).contains(&entry.weight));
            if entry.rank == Rank::In {
                assert!(entry.weight > 0.0, "what is in gets traffic: {state}");
            }
        }
        self.check_group();
    }

    fn check_group(&self) {
        let view = self.world.registry.view();
        let group = view.group(GroupIx(0)).unwrap();
        let known = |slot: &Slot| view.entry(*slot).tier == crate::Tier::Never;
        let refuses = group.panic == PanicState::Refuse || self.panic.all_out != AllOut::TryBest;
        if !group.slots.iter().all(known) && !refuses {
            let usable = group.slots.iter().any(|slot| view.entry(*slot).rank != Rank::Out);
            assert!(usable, "never refuse while a candidate exists that is not out for a known cause");
        }
        let inside = group.slots.iter().filter(|slot| view.entry(**slot).rank == Rank::In).count();
        assert_eq!(
            group.panic == PanicState::AllOut,
            inside == 0 && !group.slots.is_empty() && group.panic != PanicState::Refuse
        );
        assert!(group.panic != PanicState::AllOut || group.reason == GroupReason::NoneLeft);
        let in_panic = u64::from(group.panic != PanicState::Calm);
        assert_eq!(self.world.registry.counters().panic_groups, in_panic);
    }

    /// Good news alone: everything that no operator keeps out is back within a bound.
    fn heal(mut self) {
        for job in std::mem::take(&mut self.jobs) {
            self.world.registry.probe_finished(at(self.world.now), &job, &ProbeEnd::NoEvidence);
        }
        let end = self.world.now + 2 * 3_600 * S;
        while self.world.now < end {
            self.world.pass(5 * S);
            for job in self.world.due() {
                self.world.finish(&job, Class::Ok);
            }
            for slot in self.world.registry.slots() {
                let now = at(self.world.now);
                if self.world.registry.view().entry(slot).trial_open()
                    && let Some(lease) = self.world.registry.claim_trial(now, slot, 1)
                {
                    let mut outcome = Outcome::new(Class::Ok, Source::Trial, now, lease.generation);
                    outcome.trial = Some(lease.id);
                    self.world.registry.report(now, slot, &outcome);
                }
            }
        }
        for slot in self.world.registry.slots() {
            let state = self.world.registry.machine(slot).unwrap().state();
            let by_operator = matches!(state, State::AdminDown | State::Draining);
            let entry = self.world.registry.view().entry(slot);
            assert!(
                by_operator || (entry.rank == Rank::In && !entry.spared()),
                "F12: {slot:?} is still {state}"
            );
        }
        let counters = self.world.registry.counters();
        assert_eq!(counters.probes_in_flight, 0, "every probe ended");
        assert!(
            self.world.registry.seats.iter().flatten().all(|seat| seat.trial.is_none()),
            "every grant ended"
        );
    }
}

fn panics() -> impl Strategy<Value = PanicParams> {
    let modes = prop::sample::select(vec![PanicMode::Spread, PanicMode::Refuse, PanicMode::Off]);
    let all_out = prop::sample::select(vec![AllOut::TryBest, AllOut::Wait, AllOut::Fail]);
    let caps = prop::option::of(0.0..1.0_f32);
    (0.0..1.0_f32, modes, all_out, caps).prop_map(|(threshold, mode, all_out, ejection_cap)| PanicParams {
        threshold,
        mode,
        all_out,
        ejection_cap,
        ..PanicParams::resilient()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_after_every_step(panic in panics(), steps in prop::collection::vec(step(), 1..120)) {
        let mut run = Run::new(panic);
        for step in &steps {
            run.apply(step);
            run.check();
        }
        run.heal();
    }
}
