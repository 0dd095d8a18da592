//! Any sequence of reloads, orders and failures: no order of an operator is lost, nothing that was removed is called or probed,
//! and what comes back is there as what it is.

use std::collections::{BTreeMap, BTreeSet};

use haleway_testkit::{Behaviour, Script, World, Yaml};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

/// Deployments `d1` to `d4`.
const DEPLOYMENTS: u8 = 4;
/// Two intervals of probes and more.
const SPAN: u64 = 25;

#[derive(Clone, Debug)]
enum Step {
    /// A configuration with these deployments, in this form.
    Reload(BTreeSet<u8>, u8),
    /// One that cannot be served.
    Broken,
    /// An order for a deployment.
    Order(u8, &'static str),
    /// A provider begins or ceases to fail.
    Script(u8, u16),
    /// Callers' requests.
    Call,
    /// Time.
    Pass,
}

fn step() -> impl Strategy<Value = Step> {
    let deployment = 1..=DEPLOYMENTS;
    prop_oneof![
        5 => (btree_set(1..=DEPLOYMENTS, 1..=4), 0..6_u8).prop_map(|(there, form)| Step::Reload(there, form)),
        1 => Just(Step::Broken),
        4 => (deployment.clone(), prop::sample::select(vec!["drain", "disable", "force-up", "enable", "reset"]))
            .prop_map(|(of, command)| Step::Order(of, command)),
        2 => (deployment, prop::sample::select(vec![200, 401, 500])).prop_map(|(of, status)| Step::Script(of, status)),
        2 => Just(Step::Call),
        2 => Just(Step::Pass),
    ]
}

/// The form changes what a reload has to take over: nothing, a weight, the order, a key, the group, the interval.
fn yaml(there: &BTreeSet<u8>, form: u8) -> Yaml {
    let interval = if form == 5 { "7s" } else { "10s" };
    let mut ids: Vec<_> = there.iter().collect();
    if form == 2 {
        ids.reverse();
    }
    let group = if form == 4 { "h" } else { "g" };
    // Always there, so that there is a group to serve; never ordered about.
    let mut yaml = Yaml::new().deployment("g", "d9").deployment("h", "d8");
    for id in ids {
        let name = format!("d{id}");
        yaml = yaml.deployment(group, &name);
        if form == 1 {
            yaml = yaml.set(&format!("{name}.litellm_params.weight"), 3);
        }
        if form == 3 {
            yaml = yaml.set(&format!("{name}.litellm_params.api_key"), "sk-another");
        }
    }
    yaml.set(
        "haleway",
        json!({"profile": "resilient", "health": {"interval": interval, "idle_interval": interval}}),
    )
    .set("general_settings.master_key", "sk-master")
}

/// What must hold, known from the steps alone.
#[derive(Default)]
struct Expected {
    there: BTreeSet<u8>,
    orders: BTreeMap<u8, &'static str>,
    /// How often the providers of removed deployments were asked before they went.
    frozen: BTreeMap<u8, u64>,
}

impl Expected {
    fn reloaded(&mut self, world: &World, there: &BTreeSet<u8>) {
        for id in 1..=DEPLOYMENTS {
            if there.contains(&id) {
                self.frozen.remove(&id);
            } else {
                self.frozen.entry(id).or_insert_with(|| world.requests(&format!("u{id}")));
            }
        }
        self.there.clone_from(there);
    }

    fn ordered(&mut self, id: u8, command: &'static str) {
        match command {
            "drain" => self.orders.insert(id, "DRAINING"),
            "disable" => self.orders.insert(id, "ADMIN_DOWN"),
            "force-up" => self.orders.insert(id, "FORCED_UP"),
            _ => self.orders.remove(&id),
        };
    }

    fn check(&self, world: &World) {
        let live = world.gateway.live.load();
        for id in 1..=DEPLOYMENTS {
            let name = format!("d{id}");
            let there = self.there.contains(&id);
            assert_eq!(live.find(&name).is_some(), there, "{name} is there");
            if there {
                let state = world.state(&name);
                match self.orders.get(&id) {
                    Some(ordered) => assert_eq!(state, *ordered, "{name} is what an operator ordered"),
                    None => assert!(
                        !["DRAINING", "ADMIN_DOWN", "FORCED_UP"].contains(&state),
                        "nobody ordered {name} {state}"
                    ),
                }
            }
            if let Some(before) = self.frozen.get(&id) {
                assert_eq!(world.requests(&format!("u{id}")), *before, "{name} is gone, and asked");
            }
        }
    }
}

async fn run(steps: Vec<Step>) {
    let all: BTreeSet<u8> = (1..=DEPLOYMENTS).collect();
    let world = World::start(yaml(&all, 0)).await;
    let mut expected = Expected { there: all, ..Expected::default() };
    for step in steps {
        match step {
            Step::Reload(there, form) => {
                world.reload(yaml(&there, form)).await.unwrap();
                expected.reloaded(&world, &there);
            }
            Step::Broken => assert!(world.reload("model_list: [").await.is_err()),
            Step::Order(id, command) => {
                let path = format!("/haleway/deployments/d{id}/{command}");
                let answer = world.post(&path, &json!({})).await;
                let wanted = if expected.there.contains(&id) { 200 } else { 404 };
                assert_eq!(answer.status, wanted, "{}", answer.text());
                if wanted == 200 {
                    expected.ordered(id, command);
                }
            }
            Step::Script(id, status) => {
                let script = if status == 200 { Script::ok() } else { Behaviour::status(status).into() };
                world.mock.script(&format!("u{id}"), script);
            }
            Step::Call => {
                for group in ["g", "h"] {
                    let answer = world.chat(group).await;
                    let by = answer.deployment().trim_start_matches('d').parse::<u8>().unwrap_or(9);
                    assert!(by > DEPLOYMENTS || expected.there.contains(&by), "d{by} is gone, and answers");
                }
            }
            Step::Pass => world.pass_secs(SPAN).await,
        }
        expected.check(&world);
    }
    // Whatever was under way has its time.
    world.pass_secs(3 * SPAN).await;
    expected.check(&world);
}

#[test]
fn no_sequence_of_reloads_loses_an_order_or_brings_back_or_probes_what_was_removed() {
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let outcome = TestRunner::new(config).run(&vec(step(), 1..14), |steps| {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(run(steps));
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
