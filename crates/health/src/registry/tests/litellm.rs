//! The measured matrix of LiteLLM 1.110.2 for three deployments A, B, C of one group, and where ours differs.
//!
//! Measured: which deployments get traffic when all are cooling; when B is cooling and A and C have failed
//! their probe; when A is cooling and all have failed their probe. LiteLLM's two safety nets do not compose,
//! so it refuses with 429 while deployments could be tried. Ours do: out members stay candidates, graded by
//! cause (cooling before probe-failed), and nothing is refused.

use super::*;
use crate::{AllowedFails, LitellmParams};

#[derive(Clone, Copy)]
struct Setup {
    routing: bool,
    policy: bool,
    listed: bool,
}

fn world(setup: Setup) -> World {
    let mut params = Params::litellm();
    params.probe_routing = setup.routing;
    let rules = params.litellm.unwrap();
    let policy = AllowedFails { internal_server: Some(5), ..AllowedFails::default() };
    params.litellm = Some(LitellmParams {
        policy: setup.policy.then_some(policy),
        group_listed: setup.listed,
        cooldown_time: Duration::from_secs(60),
        ..rules
    });
    params.isolation.base = Duration::from_secs(60);
    params.isolation.max = Duration::from_secs(60);
    let specs = ["A", "B", "C"].map(|id| Spec::new(id, "g", params.clone())).to_vec();
    World::new(specs, group(PanicParams::litellm()))
}

/// Cools `cooling` by traffic and fails a probe of `unhealthy`; then the candidates of the best rank, and of
/// every rank.
fn candidates(setup: Setup, cooling: &[&str], unhealthy: &[&str]) -> (String, String) {
    let mut world = world(setup);
    for id in ["A", "B", "C"] {
        world.traffic(id, Class::Ok);
    }
    for id in unhealthy {
        // One 500 is below every rule, so that the red entry is all it leaves.
        world.probe(id, Class::ServerError);
    }
    for id in cooling {
        for _ in 0..7 {
            world.traffic(id, Class::ServerError);
        }
    }
    let view = world.registry.view();
    let ranks: Vec<_> = ["A", "B", "C"].iter().map(|id| (*id, view.entry(world.slot(id)).rank)).collect();
    let best = ranks.iter().map(|(_, rank)| *rank).min().unwrap();
    let of = |keep: &dyn Fn(Rank) -> bool| {
        ranks.iter().filter(|(_, rank)| keep(*rank)).map(|(id, _)| *id).collect::<Vec<_>>().join(",")
    };
    (of(&|rank| rank == best && rank != Rank::Out), of(&|rank| rank != Rank::Out))
}

const ALL: &[&str] = &["A", "B", "C"];

#[test]
fn the_measured_matrix_cell_by_cell() {
    let off = Setup { routing: false, policy: false, listed: false };
    let on = Setup { routing: true, ..off };
    let with_policy = Setup { policy: true, ..on };
    let listed = Setup { listed: true, ..on };
    let listed_policy = Setup { policy: true, ..listed };
    // Setup; LiteLLM's three cells; ours as "best rank / every rank that may be tried".
    let table = [
        ("routing off", off, ["429", "A,C", "B,C"], ["A,B,C/A,B,C", "A,C/A,B,C", "B,C/A,B,C"]),
        ("routing on, no policy", on, ["429", "429", "B,C"], ["A,B,C/A,B,C", "B/A,B,C", "A,B,C/A,B,C"]),
        (
            "routing on + policy",
            with_policy,
            ["A,B,C", "A,C", "B,C"],
            ["A,B,C/A,B,C", "A,C/A,B,C", "B,C/A,B,C"],
        ),
        (
            "routing on + groups listed, no policy",
            listed,
            ["429", "429", "B,C"],
            ["A,B,C/A,B,C", "B/A,B,C", "A,B,C/A,B,C"],
        ),
        (
            "routing on + policy + groups listed",
            listed_policy,
            ["A,B,C", "B", "B,C"],
            ["A,B,C/A,B,C", "B/A,B,C", "A,B,C/A,B,C"],
        ),
    ];
    for (name, setup, theirs, ours) in table {
        let cells = [
            candidates(setup, ALL, &[]),
            candidates(setup, &["B"], &["A", "C"]),
            candidates(setup, &["A"], ALL),
        ];
        for (((best, every), expected), theirs) in cells.iter().zip(ours).zip(theirs) {
            assert_eq!(format!("{best}/{every}"), expected, "{name}; LiteLLM: {theirs}");
        }
    }
}
