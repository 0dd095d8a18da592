//! A state machine of random events against a naive model of the invariants: what an observer may rely on,
//! whatever the order of evidence, time, operators and domains.

use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use super::{Rig, secs};
use crate::{Class, Depth, Effect, Operator, Outcome, Params, Scope, Source, State, Tier, TrialLease};

#[derive(Clone, Debug)]
enum Event {
    Pass(u16),
    Evidence { source: u8, class: Class, free: bool, age: u16, wait: Option<u16>, own: bool },
    Grant,
    Verdict { class: Class, stale: bool },
    Operate(u8, Option<u16>),
    Impose(Class, Option<u16>),
    Release,
    Successes(u8),
    Restart,
}

/// The model only remembers what the machine must not contradict: whether an operator holds the deployment,
/// and until when.
#[derive(Clone, Debug, Default)]
struct Held {
    millis: u64,
    by: Option<(u8, Option<u64>)>,
}

struct Model;

impl ReferenceStateMachine for Model {
    type State = Held;
    type Transition = Event;

    fn init_state() -> BoxedStrategy<Held> {
        Just(Held::default()).boxed()
    }

    fn transitions(_: &Held) -> BoxedStrategy<Event> {
        let class = || prop::sample::select(Class::ALL.to_vec());
        let wait = || prop::option::of(1_u16..400);
        prop_oneof![
            6 => (0_u16..700).prop_map(Event::Pass),
            20 => (0_u8..3, class(), any::<bool>(), 0_u16..100, wait(), any::<bool>())
                .prop_map(|(source, class, free, age, wait, own)| Event::Evidence { source, class, free, age, wait, own }),
            10 => (prop::sample::select(vec![Class::ServerError, Class::Ok]), 0_u8..2)
                .prop_map(|(class, source)| Event::Evidence { source, class, free: false, age: 0, wait: None, own: false }),
            4 => Just(Event::Grant),
            4 => (class(), any::<bool>()).prop_map(|(class, stale)| Event::Verdict { class, stale }),
            1 => (0_u8..5, wait()).prop_map(|(command, until)| Event::Operate(command, until)),
            1 => (class(), wait()).prop_map(|(class, until)| Event::Impose(class, until)),
            1 => Just(Event::Release),
            2 => (0_u8..20).prop_map(Event::Successes),
            1 => Just(Event::Restart),
        ]
        .boxed()
    }

    fn apply(mut state: Held, event: &Event) -> Held {
        match event {
            Event::Pass(seconds) => state.millis += u64::from(*seconds) * 1_000,
            Event::Operate(command, until) => {
                let end = until.map(|until| state.millis + u64::from(until) * 1_000);
                state.by = if *command < 3 { Some((*command, end)) } else { None };
            }
            Event::Evidence { .. }
            | Event::Grant
            | Event::Verdict { .. }
            | Event::Impose(..)
            | Event::Release
            | Event::Successes(_)
            | Event::Restart => {}
        }
        if state.by.is_some_and(|(_, end)| end.is_some_and(|end| end <= state.millis)) {
            state.by = None;
        }
        state
    }
}

struct Tested {
    rig: Rig,
    leases: Vec<TrialLease>,
    params: Params,
}

impl Tested {
    fn evidence(
        &self,
        source: u8,
        class: Class,
        free: bool,
        age: u16,
        wait: Option<u16>,
        own: bool,
    ) -> Outcome {
        let source = [Source::Probe, Source::Traffic, Source::Peer][usize::from(source) % 3];
        let mut outcome = self.rig.outcome(source, class);
        outcome.sent_at = self.rig.now - secs(u64::from(age));
        outcome.retry_after = wait.map(|wait| secs(u64::from(wait)));
        if free && source == Source::Probe {
            outcome.depth = Depth::Free;
        }
        if own {
            outcome.scope = Scope::Request;
        }
        outcome
    }

    fn observe(&mut self, outcome: &Outcome) {
        let litellm = self.params.litellm.is_some();
        let before = self.rig.machine.findings(self.rig.now);
        let held_until = Some(self.rig.machine.hold_until());
        let generation = self.rig.machine.generation();
        let fenced = outcome.source != Source::Peer && outcome.generation < generation;
        let probation = self.rig.machine.on_probation(self.rig.now);
        let moved = self.rig.give(outcome);
        let after = self.rig.machine.findings(self.rig.now);
        // E23: the end of a hold lets nobody in; a real answer to a request sent after it does.
        if probation && self.rig.machine.standing(self.rig.now).tier == Tier::In {
            assert!(
                matches!(outcome.class.effect(), Effect::Ok | Effect::Alive)
                    || outcome.scope == Scope::Request
            );
            assert!(outcome.depth == Depth::Generation && Some(outcome.sent_at) >= held_until, "{outcome:?}");
        }
        // I4: superseded verdicts change nothing.
        if fenced {
            assert_eq!((moved, after), (None, before));
        }
        // I10: what the caller did, cancelled calls and limits never isolate.
        let effect = outcome.class.effect();
        let limit = outcome.class == Class::RateLimit && !litellm;
        if matches!(effect, Effect::Ok | Effect::Alive | Effect::Neutral) || limit {
            assert!(after.state != State::Isolated || before.state == State::Isolated, "{outcome:?}");
        }
        // Alive, neutral and good evidence never opens a configuration or budget fault.
        if !matches!(effect, Effect::Config | Effect::Budget) {
            let fault = |state| matches!(state, State::ConfigFault | State::Budget);
            assert!(!fault(after.state) || before.state == after.state, "{outcome:?}");
        }
        // An end that was set never comes closer while the state lasts.
        if before.state == State::Isolated && after.state == State::Isolated && moved.is_none() {
            assert!(after.until >= before.until);
        }
        // I6: evidence never rejuvenates or ages by reading.
        let sent = |findings: &crate::Findings| findings.latest.map(|latest| latest.sent_at);
        assert!(sent(&after) >= sent(&before));
        assert!(sent(&after) <= Some(self.rig.now));
    }
}

/// Runs the events against the preset.
fn step(mut tested: Tested, event: Event) -> Tested {
    let now = tested.rig.now;
    match event {
        Event::Pass(seconds) => drop(tested.rig.pass(f64::from(seconds))),
        Event::Evidence { source, class, free, age, wait, own } => {
            let outcome = tested.evidence(source, class, free, age, wait, own);
            tested.observe(&outcome);
        }
        Event::Grant => {
            let open = tested.rig.machine.standing(now).trial_open;
            let lease = tested.rig.machine.grant_trial(now, 1);
            // I8: at most one is out, and only in TRIAL or after a hold.
            assert_eq!(lease.is_some(), open);
            assert!(tested.rig.machine.grant_trial(now, 2).is_none());
            tested.leases.extend(lease);
        }
        Event::Verdict { class, stale } => {
            let lease = if stale { tested.leases.first() } else { tested.leases.last() };
            let Some(lease) = lease.cloned() else { return tested };
            let current = tested.rig.machine.trial().is_some_and(|trial| trial.id == lease.id);
            let before = tested.rig.machine.findings(now);
            let outcome = tested.rig.verdict(&lease, class);
            let moved = tested.rig.give(&outcome);
            if !current {
                assert_eq!((moved, tested.rig.machine.findings(now)), (None, before), "fenced");
            } else {
                assert!(tested.rig.machine.trial().is_none(), "every verdict frees the place");
            }
        }
        Event::Operate(command, until) => {
            let commands =
                [Operator::Disable, Operator::Drain, Operator::ForceUp, Operator::Enable, Operator::Reset];
            let until = until.map(|until| now + secs(u64::from(until)));
            tested.rig.machine.operator(now, commands[usize::from(command)], until, "");
        }
        Event::Impose(class, until) => {
            let until = until.map(|until| now + secs(u64::from(until)));
            tested.rig.machine.impose(now, class, class.default_scope().max(Scope::Credential), until);
        }
        Event::Release => drop(tested.rig.machine.release(now)),
        Event::Successes(n) => drop(tested.rig.machine.successes(now, u32::from(n), now)),
        Event::Restart => {
            let saved = tested.rig.machine.save();
            let before = tested.rig.machine.findings(now);
            tested.rig.machine = crate::Machine::restore(tested.params.clone(), 3, now, &saved);
            let after = tested.rig.machine.findings(now);
            assert_eq!((after.state, after.since, after.step), (before.state, before.since, before.step));
            if before.state != State::Trial {
                assert_eq!(after.until, before.until, "a restart ends nothing");
            }
        }
    }
    tested
}

fn invariants(tested: &Tested, held: &Held) {
    let machine = &tested.rig.machine;
    let (now, state) = (tested.rig.now, machine.state());
    let standing = machine.standing(now);
    let expected = held
        .by
        .map(|(command, _)| [State::AdminDown, State::Draining, State::ForcedUp][usize::from(command)]);
    assert_eq!(
        expected,
        Some(state).filter(|state| state.by_operator()),
        "operators rule, nothing else ends it"
    );
    // I9: never traffic for known faults and what an operator switched off.
    if matches!(state, State::ConfigFault | State::Budget | State::AdminDown | State::Draining) {
        assert_eq!((standing.tier, standing.weight, standing.trial_open), (Tier::Never, 0.0, false));
    }
    assert_eq!(standing.weight > 0.0, state.eligible());
    assert!(standing.weight <= 1.0);
    // F12: whatever is out has a time at which something happens, or waits for an attempt.
    if !state.eligible() && !state.by_operator() {
        let next = machine.next_deadline();
        assert!(next.is_some() || standing.trial_open, "{state} for ever");
    }
    assert!(machine.next_deadline().is_none_or(|next| next > now), "no timer in the past");
    if machine.on_probation(now) {
        assert_eq!(standing.tier, Tier::Held);
        assert!(!machine.fast_path());
        assert!(standing.trial_open || machine.trial().is_some(), "somebody may find out");
    }
    if machine.fast_path() {
        assert_eq!((state, machine.findings(now).traffic_run), (State::Healthy, 0));
    }
}

/// I11: good news alone lead to HEALTHY, unless an operator holds it.
fn recovers(tested: &mut Tested) {
    let rig = &mut tested.rig;
    let now = rig.now;
    rig.machine.operator(now, Operator::Enable, None, "");
    let start = rig.now;
    while rig.state() != State::Healthy {
        rig.pass(5.0);
        if rig.machine.standing(rig.now).trial_open {
            rig.trial(Class::Ok);
        } else {
            rig.traffic(Class::Ok);
        }
        assert!(start.until(rig.now) < secs(3_600 * 2 + 900), "still {}", rig.state());
    }
}

struct Resilient;
struct Litellm;

fn begin(params: Params) -> Tested {
    Tested { rig: Rig::new(params.clone()), leases: Vec::new(), params }
}

impl StateMachineTest for Resilient {
    type SystemUnderTest = Tested;
    type Reference = Model;

    fn init_test(_: &Held) -> Tested {
        begin(Params::resilient())
    }

    fn apply(tested: Tested, _: &Held, event: Event) -> Tested {
        step(tested, event)
    }

    fn check_invariants(tested: &Tested, held: &Held) {
        invariants(tested, held);
    }

    fn teardown(mut tested: Tested, _: Held) {
        recovers(&mut tested);
    }
}

impl StateMachineTest for Litellm {
    type SystemUnderTest = Tested;
    type Reference = Model;

    fn init_test(_: &Held) -> Tested {
        let mut params = Params::litellm();
        params.probe_routing = true;
        begin(params)
    }

    fn apply(tested: Tested, _: &Held, event: Event) -> Tested {
        step(tested, event)
    }

    fn check_invariants(tested: &Tested, held: &Held) {
        invariants(tested, held);
    }

    fn teardown(mut tested: Tested, _: Held) {
        recovers(&mut tested);
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn resilient_keeps_the_invariants(sequential 1..120 => Resilient);

    #[test]
    fn litellm_keeps_the_invariants(sequential 1..120 => Litellm);
}
