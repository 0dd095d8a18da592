//! Several processes that tell one another what they know.

use proptest::prelude::*;

use super::*;
use crate::Counts;

/// Two processes with the same deployments; what one tells, the other takes in.
struct Pair {
    a: World,
    b: World,
}

impl Pair {
    fn new() -> Self {
        let member = || {
            let mut world = World::of(2, off());
            world.registry.join_fleet(&Arc::from("pod"));
            world
        };
        Self { a: member(), b: member() }
    }

    /// Delivers what `a` has to tell to `b`; answers what that was.
    fn deliver(&mut self) -> Vec<News> {
        tell(&mut self.a, &mut self.b)
    }

    fn pass(&mut self, millis: u64) {
        self.a.pass(millis);
        self.b.pass(millis);
    }
}

fn tell(from: &mut World, to: &mut World) -> Vec<News> {
    let bulletins = from.registry.bulletins(at(from.now));
    for bulletin in &bulletins {
        if let Some(saved) = from.registry.shared(bulletin.slot) {
            hand_over(to, &saved, bulletin.news == News::Decision);
        }
    }
    bulletins.iter().map(|bulletin| bulletin.news).collect()
}

fn hand_over(to: &mut World, saved: &Saved, decision: bool) -> Option<Slot> {
    let observer = Arc::from("other");
    to.registry.adopt(at(to.now), &Peer { saved, decision, observer: &observer, probed_at: None })
}

fn until(world: &World, id: &str) -> Option<Timestamp> {
    world.registry.machine(world.slot(id)).unwrap().until()
}

#[test]
fn c05_a_stated_wait_holds_everywhere_until_the_same_end() {
    let mut pair = Pair::new();
    pair.a.traffic("d1", Class::Ok);
    pair.b.traffic("d1", Class::Ok);
    let mut limited = pair.a.outcome("d1", Class::RateLimit, Source::Traffic);
    limited.retry_after = Some(Duration::from_secs(15));
    pair.a.report("d1", &limited);
    pair.deliver();
    let held = |world: &World| world.registry.machine(Slot(0)).unwrap().standing(at(world.now)).held_until;
    assert_eq!(held(&pair.b), Some(at(pair.b.now + 15 * S)));
    assert_eq!(held(&pair.b), held(&pair.a));
    assert!(pair.b.registry.bulletins(at(pair.b.now)).is_empty(), "no echo");
}

#[test]
fn f_a_refused_key_is_everybodys_at_once() {
    let mut pair = Pair::new();
    pair.a.probe("d1", Class::Auth);
    pair.a.probe("d1", Class::Auth);
    assert_eq!(pair.a.state("d1"), State::ConfigFault);
    pair.deliver();
    assert_eq!(pair.b.state("d1"), State::ConfigFault);
    assert_eq!(until(&pair.b, "d1"), until(&pair.a, "d1"));
    let detail = pair.b.registry.detail(Slot(0), at(pair.b.now)).unwrap();
    assert_eq!((detail.observer.as_str(), detail.source), ("other", Some("peer")));
}

#[test]
fn c07_what_one_process_infers_stays_its_own_until_it_is_witnessed() {
    let mut pair = Pair::new();
    pair.a.kill("d1");
    let news = pair.deliver();
    assert!(news.contains(&News::Suspicion), "{news:?}");
    assert_eq!(pair.b.state("d1"), State::Unknown, "nothing is decided for the other");
    assert!(pair.a.registry.detail(Slot(0), at(pair.a.now)).unwrap().evidence.local_only);

    pair.b.registry.seen_failing_elsewhere(at(pair.b.now), Slot(0), Class::ServerError);
    assert_eq!(pair.b.state("d1"), State::Suspect, "a reason to look");
    assert!(pair.b.registry.bulletins(at(pair.b.now)).is_empty(), "hearsay is not told again");

    // The other finds it well: that ends nothing where it fails.
    pair.b.probe("d1", Class::Ok);
    let Pair { a, b } = &mut pair;
    tell(b, a);
    assert_eq!((a.state("d1"), b.state("d1")), (State::Isolated, State::Healthy));

    pair.a.registry.witnessed(at(pair.a.now), Slot(0));
    assert_eq!(pair.deliver(), [News::Decision]);
    assert_eq!(pair.b.state("d1"), State::Isolated);
    assert_eq!(until(&pair.b, "d1"), until(&pair.a, "d1"));
    assert!(!pair.a.registry.detail(Slot(0), at(pair.a.now)).unwrap().evidence.local_only);
}

#[test]
fn failed_probes_of_two_processes_add_up() {
    let mut pair = Pair::new();
    pair.a.probe("d1", Class::Ok);
    pair.deliver();
    for round in 0..3 {
        let Pair { a, b } = &mut pair;
        let (from, to) = if round % 2 == 0 { (a, b) } else { (b, a) };
        from.pass(5 * S);
        to.pass(5 * S);
        let failed = from.outcome("d1", Class::ServerError, Source::Probe);
        from.report("d1", &failed);
        from.registry.announce_probe(Slot(0), &failed);
        tell(from, to);
    }
    assert_eq!(
        pair.a.state("d1"),
        State::Isolated,
        "the third failed probe in a row, the second of this one"
    );
}

#[test]
fn refusals_of_a_key_that_processes_meet_in_turn_add_up() {
    for known in [false, true] {
        let mut pair = Pair::new();
        if known {
            pair.a.probe("d1", Class::Ok);
            pair.deliver();
        }
        let refused = |from: &mut World, to: &mut World, class: Class| {
            // Longer than the doubt about a credential lasts.
            from.pass(60 * S);
            to.pass(60 * S);
            let mut outcome = from.outcome("d1", class, Source::Probe);
            outcome.depth = Depth::Generation;
            from.report("d1", &outcome);
            from.registry.announce_probe(Slot(0), &outcome);
            tell(from, to);
        };
        let Pair { a, b } = &mut pair;
        refused(a, b, Class::Auth);
        refused(b, a, Class::Ok);
        refused(a, b, Class::Auth);
        assert_ne!(a.state("d1"), State::ConfigFault, "a success in between");
        assert_ne!(b.state("d1"), State::ConfigFault, "hearsay is no verdict");
        refused(b, a, Class::Auth);
        assert_eq!((a.state("d1"), b.state("d1")), (State::ConfigFault, State::ConfigFault), "{known}");
    }
}

#[test]
fn c06_a_fresh_process_waits_out_what_is_left() {
    let mut old = World::of(2, off());
    old.registry.join_fleet(&Arc::from("pod"));
    old.kill("d1");
    old.registry.witnessed(at(old.now), Slot(0));
    let saved = old.registry.shared(Slot(0)).unwrap();
    let mut fresh = World::of(2, off());
    fresh.registry.join_fleet(&Arc::from("new"));
    fresh.pass(20 * S);
    assert_eq!(hand_over(&mut fresh, &saved, false), Some(Slot(0)), "a blank takes any verdict");
    assert_eq!(fresh.state("d1"), State::Isolated);
    fresh.pass(9_900);
    assert_eq!(fresh.state("d1"), State::Isolated);
    fresh.pass(200);
    assert_eq!(fresh.state("d1"), State::Trial);
}

#[test]
fn what_is_taken_over_does_not_echo() {
    let mut pair = Pair::new();
    pair.a.traffic("d1", Class::Ok);
    assert_eq!(pair.deliver(), [News::Decision]);
    assert_eq!(pair.b.state("d1"), State::Healthy);
    assert!(pair.b.registry.bulletins(at(pair.b.now)).is_empty());
    pair.pass(700 * S);
    assert_eq!(pair.b.state("d1"), State::Unknown);
    assert!(pair.b.registry.bulletins(at(pair.b.now)).is_empty(), "time decides the same everywhere");
}

#[test]
fn an_operators_command_holds_everywhere_and_is_not_undone_by_evidence() {
    let mut pair = Pair::new();
    pair.a.registry.operator(at(pair.a.now), Slot(0), Operator::Disable, None, "night work");
    pair.b.traffic("d1", Class::Ok);
    let Pair { a, b } = &mut pair;
    tell(b, a);
    assert_eq!(a.state("d1"), State::AdminDown, "not told yet, and not given up either");
    tell(a, b);
    assert_eq!(b.state("d1"), State::AdminDown);
    b.registry.operator(at(b.now), Slot(0), Operator::Enable, None, "");
    tell(b, a);
    assert_eq!(a.state("d1"), State::Unknown);
}

#[test]
fn a_callers_trial_needs_the_fleets_licence() {
    let mut pair = Pair::new();
    pair.a.kill("d1");
    pair.a.registry.witnessed(at(pair.a.now), Slot(0));
    pair.deliver();
    pair.pass(31 * S);
    for world in [&mut pair.a, &mut pair.b] {
        assert_eq!(world.state("d1"), State::Trial);
        assert_eq!(world.registry.claim_trial(at(world.now), Slot(0), 1), None);
        assert_eq!(world.registry.trials_wanted(at(world.now)), [Slot(0)]);
    }
    let b = &mut pair.b;
    b.registry.license_trial(at(b.now), Slot(0), at(b.now + 25 * S));
    assert!(b.registry.view().entry(Slot(0)).trial_open());
    assert!(b.registry.claim_trial(at(b.now), Slot(0), 1).is_some());
    let a = &mut pair.a;
    a.registry.trials_need_licence(at(a.now), false);
    assert!(a.registry.claim_trial(at(a.now), Slot(0), 1).is_some(), "the fleet cannot be asked");
}

#[test]
fn another_key_or_mode_is_another_deployment() {
    let mut pair = Pair::new();
    pair.a.traffic("d1", Class::Ok);
    let mut saved = pair.a.registry.shared(Slot(0)).unwrap();
    saved.identity ^= 1;
    assert_eq!(hand_over(&mut pair.b, &saved, true), None);
    assert_eq!(pair.b.state("d1"), State::Unknown);
}

proptest! {
    /// I6: whatever is taken in, in whatever order, nothing looks younger than the youngest evidence that was really
    /// sent, nothing becomes older than it was, and no wait that runs gets shorter.
    #[test]
    fn news_never_rejuvenates_and_never_shrinks(
        steps in prop::collection::vec(
            (0..3_u8, 0..5_u8, 0..30_000_u64, prop::bool::ANY, -20_000_i64..20_000),
            1..40,
        )
    ) {
        let mut pair = Pair::new();
        for (what, class, passed, decision, skew) in steps {
            pair.pass(passed);
            let class = [Class::Ok, Class::ServerError, Class::RateLimit, Class::Auth, Class::Billing][usize::from(class)];
            match what {
                0 => pair.a.traffic("d1", class),
                1 => pair.b.probe("d1", class),
                _ => {
                    let Some(saved) = pair.a.registry.shared(Slot(0)) else { continue };
                    let saved = Saved { machine: saved.machine.shifted(skew), ..saved };
                    let before = pair.b.registry.machine(Slot(0)).unwrap().clone();
                    hand_over(&mut pair.b, &saved, decision);
                    let after = pair.b.registry.machine(Slot(0)).unwrap();
                    prop_assert!(after.sent_at() >= before.sent_at());
                    prop_assert!(after.sent_at() <= before.sent_at().max(saved.machine.sent_at()));
                    prop_assert!(after.sent_at() <= Some(at(pair.b.now)).max(before.sent_at()));
                    prop_assert!(after.hold_until() >= before.hold_until());
                    if after.state() == before.state() {
                        prop_assert!(after.until() >= before.until());
                    }
                    prop_assert!(after.since() <= at(pair.b.now));
                }
            }
        }
    }
}

#[test]
fn what_requests_met_is_told_once_and_only_of_deployments_that_were_used() {
    let mut world = World::of(2, off());
    world.registry.join_fleet(&Arc::from("pod"));
    assert!(world.registry.take_met(at(world.now)).is_empty());
    for class in [Class::Ok, Class::Ok, Class::ServerError, Class::RateLimit, Class::BadRequest] {
        world.traffic("d2", class);
    }
    world.probe("d1", Class::ServerError);
    let met = world.registry.take_met(at(world.now));
    let slot = world.slot("d2");
    assert_eq!(met.len(), 1, "{met:?}");
    let [met] = met[..] else { panic!("{met:?}") };
    assert_eq!(
        (met.slot, met.counts.ok, met.counts.bad),
        (slot, 2, 1),
        "a limit and a caller's mistake say nothing"
    );
    assert_eq!(met.answered_at, at(world.now));
    assert!(world.registry.take_met(at(world.now)).is_empty(), "told once");
    world.traffic("d2", Class::Ok);
    assert_eq!(world.registry.take_met(at(world.now)).len(), 1, "and again when there is something");
}

#[test]
fn failures_that_several_processes_met_isolate_for_everybody() {
    let mut pair = Pair::new();
    for class in [Class::Ok, Class::ServerError, Class::ServerError] {
        pair.a.traffic("d1", class);
    }
    assert_eq!(pair.a.state("d1"), State::Suspect, "one process has not seen enough");
    pair.deliver();
    let world = &mut pair.a;
    let window = world.registry.machine(Slot(0)).unwrap().params().window;
    let few = Counts { ok: 0, bad: window.min_requests - 1, slow: 0 };
    world.registry.met_everywhere(at(world.now), Slot(0), few, Class::Timeout);
    assert_eq!(world.state("d1"), State::Suspect, "nor have all together");
    let enough = Counts { bad: window.min_requests, ..few };
    world.registry.met_everywhere(at(world.now), Slot(0), enough, Class::Timeout);
    assert_eq!(world.state("d1"), State::Isolated);
    let detail = world.registry.detail(Slot(0), at(world.now)).unwrap();
    assert!(!detail.evidence.local_only, "several saw it");
    assert_eq!(pair.deliver(), [News::Decision]);
    assert_eq!(pair.b.state("d1"), State::Isolated);

    // What was counted before it went out says nothing of it afterwards.
    assert_eq!(pair.a.registry.counts_from(Slot(0)), Some(at(pair.a.now)));
    let before = pair.a.registry.machine(Slot(0)).unwrap().generation();
    pair.a.registry.met_everywhere(at(pair.a.now), Slot(0), enough, Class::Timeout);
    assert_eq!(pair.a.registry.machine(Slot(0)).unwrap().generation(), before, "out is out");
}

#[test]
fn a_deployment_without_an_alternative_stays_whatever_all_processes_met() {
    let mut world = World::of(1, off());
    world.registry.join_fleet(&Arc::from("pod"));
    world.traffic("d1", Class::ServerError);
    let all = Counts { ok: 0, bad: 1_000, slow: 0 };
    world.registry.met_everywhere(at(world.now), Slot(0), all, Class::ServerError);
    assert_ne!(world.state("d1"), State::Isolated);
}
