//! The reference's random run, ported: bursts of good and bad evidence, late and lost trials, jumps of time.

use super::{Rig, exact, secs};
use crate::{Class, Effect, Outcome, Params, Source, State};

#[derive(Clone, Copy)]
enum Mood {
    Mixed,
    Good,
    Bad,
    Caller,
    Soft,
}

fn class(mood: Mood, random: &mut fastrand::Rng) -> Class {
    let mut any = |list: &[Class]| list[random.usize(..list.len())];
    match mood {
        Mood::Good => Class::Ok,
        Mood::Bad => any(&[Class::ServerError, Class::Timeout, Class::Connection, Class::MalformedResponse]),
        Mood::Caller => any(&[Class::BadRequest, Class::Cancelled, Class::Local]),
        Mood::Soft => any(&[Class::RateLimit, Class::Overloaded]),
        Mood::Mixed => any(&Class::ALL),
    }
}

/// Steps of one run, checking the rules that hold at every step.
fn run(params: &Params, seed: u64, steps: u32) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut rig = Rig::seeded(params.clone(), seed);
    let mut pending: Vec<Outcome> = Vec::new();
    let mut mood = Mood::Mixed;
    for step in 0..steps {
        if random.f32() < 0.7 {
            let pause = [0.0, 0.1, 1.0, 5.0, 20.0, 61.0, 400.0][random.usize(..7)];
            let (state, until) = (rig.state(), rig.machine.until());
            rig.pass(pause);
            if state == State::Isolated && rig.state() != State::Isolated {
                assert!(until.is_some_and(|until| rig.now >= until), "isolation ends by time");
            }
        }
        if step % 50 == 0 {
            mood = [Mood::Mixed, Mood::Good, Mood::Bad, Mood::Caller, Mood::Soft][random.usize(..5)];
        }
        if random.f32() < 0.25 {
            if let Some(lease) = rig.machine.grant_trial(rig.now, u64::from(step)) {
                assert!(rig.state() == State::Trial || rig.machine.on_probation(rig.now));
                assert!(rig.machine.grant_trial(rig.now, 0).is_none(), "one at a time");
                if random.f32() < 0.85 {
                    pending.push(rig.verdict(&lease, Class::Ok));
                }
            }
        } else {
            let source = [Source::Probe, Source::Traffic, Source::Traffic][random.usize(..3)];
            let mut outcome = rig.outcome(source, Class::Ok);
            outcome.sent_at = rig.now - secs([0, 0, 1, 30, 200][random.usize(..5)]);
            pending.push(outcome);
        }
        if !pending.is_empty() && random.f32() < 0.8 {
            let mut outcome = pending.swap_remove(random.usize(..pending.len()));
            outcome.class = class(mood, &mut random);
            outcome.scope = outcome.class.default_scope();
            outcome.retry_after = [None, Some(secs(3)), Some(secs(90))][random.usize(..3)];
            check(&mut rig, &outcome);
        }
        let standing = rig.machine.standing(rig.now);
        assert!((0.0..=1.0).contains(&standing.weight));
        assert_eq!(standing.weight > 0.0, rig.state().eligible());
        assert_eq!(standing.trial_open, rig.machine.clone().grant_trial(rig.now, 0).is_some());
        assert!(
            rig.machine.next_deadline().is_none_or(|next| next > rig.now),
            "{:?} {}",
            rig.state(),
            rig.clock()
        );
    }
    recovers(&mut rig);
}

fn check(rig: &mut Rig, outcome: &Outcome) {
    rig.pass(0.0);
    let before = rig.machine.findings(rig.now);
    let trial = outcome.source == Source::Trial;
    let moved = rig.give(outcome);
    let after = rig.machine.findings(rig.now);
    match outcome.class.effect() {
        Effect::Ok | Effect::Alive => {
            assert!(after.step <= before.step, "good news never lengthen isolation")
        }
        Effect::Neutral => assert_eq!(moved, None),
        Effect::Soft => {
            let litellm = rig.machine.params().litellm.is_some();
            let overloaded = outcome.class == Class::Overloaded;
            assert!(litellm || overloaded || moved.is_none(), "a limit is not death");
        }
        Effect::Hard | Effect::Config | Effect::Budget => {}
    }
    let fenced = matches!(
        before.state,
        State::Isolated | State::Trial | State::Ramping | State::ConfigFault | State::Budget
    );
    if fenced && !trial && outcome.sent_at < before.since {
        assert_eq!((moved, after), (None, before), "a straggler changes nothing");
    }
}

/// From anywhere, good news alone lead to HEALTHY within a bound.
fn recovers(rig: &mut Rig) {
    let params = rig.machine.params().clone();
    let hold = params.hold_max.mul_f64(1.3) + params.budget_hold.mul_f64(1.3) + params.stale_after;
    let bound = params.isolation.max.mul_f64(1.2) + params.trial_hold + params.ramp.cap + hold;
    let start = rig.now;
    while rig.state() != State::Healthy {
        rig.pass(1.0);
        if rig.machine.standing(rig.now).trial_open {
            rig.trial(Class::Ok);
        } else {
            rig.traffic(Class::Ok);
        }
        assert!(start.until(rig.now) <= bound, "still {} after {:?}", rig.state(), bound);
    }
    for _ in 0..rig.machine.params().fall {
        rig.probe(Class::ServerError);
    }
    assert_eq!(rig.state() == State::Isolated, params.probe_routing);
}

#[test]
fn the_reference_run_holds_its_rules_with_every_preset() {
    let mut flat = exact();
    flat.fall = 1;
    flat.ramp.length = secs(0);
    flat.isolation.base = secs(5);
    flat.isolation.max = secs(5);
    let mut patient = Params::resilient();
    patient.fall = 5;
    patient.ramp.cap = secs(120);
    patient.rise = 2;
    let mut litellm = Params::litellm();
    litellm.probe_routing = true;
    for (params, runs) in
        [(Params::resilient(), 300), (flat, 60), (patient, 60), (Params::litellm(), 60), (litellm, 60)]
    {
        for seed in 0..runs {
            run(&params, seed, 300);
        }
    }
}
