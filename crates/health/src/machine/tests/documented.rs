//! The tables of `docs/health.md` are true: each state's effect on traffic, the defaults, the precedence.

use std::collections::BTreeMap;

use super::{Rig, exact};
use crate::{Class, Operator, Params, State, Tier};

/// Rows of the table under the heading `title`, by first cell.
fn table(title: &str) -> BTreeMap<String, Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/health.md");
    let text = std::fs::read_to_string(path).expect("the page exists");
    let section = text.split(&format!("## {title}\n")).nth(1).expect("the section exists");
    let section = section.split("\n## ").next().unwrap_or_default();
    section
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            let mut cells =
                line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned());
            (cells.next().unwrap_or_default(), cells.collect())
        })
        .collect()
}

#[test]
fn h10_the_share_table_of_the_manual_is_true() {
    let rows = table("What each state does to traffic");
    assert_eq!(rows.len(), State::ALL.len());
    for state in State::ALL {
        let row = &rows[state.as_str()];
        let share = |params: Params| {
            let rig = Rig::in_state(params, state);
            let standing = rig.machine.standing(rig.now);
            if state == State::Ramping {
                return "10 to 100 %".to_owned();
            }
            format!("{:.0} %", f64::from(standing.weight) * 100.0)
        };
        let rig = Rig::in_state(exact(), state);
        let standing = rig.machine.standing(rig.now);
        let tier = match standing.tier {
            Tier::In => "in",
            Tier::Held => "held",
            Tier::Cooling => "cooling",
            Tier::ProbeFailed => "probe failed",
            Tier::Never => "never",
        };
        assert_eq!(row[0], state.number().to_string(), "number of {state}");
        assert_eq!(row[1], share(exact()), "share of {state}");
        let tier_matches = row[2].split(" or ").next() == Some(tier);
        assert!(tier_matches, "tier of {state}: {tier}, the page says {}", row[2]);
        assert_eq!(
            row[3] == "yes",
            state != State::Trial && tier != "never",
            "panic and {state}: {}",
            row[3]
        );
    }
}

#[test]
fn the_defaults_of_the_manual_are_the_presets() {
    let rows = table("Defaults");
    let (resilient, litellm) = (Params::resilient(), Params::litellm());
    let values = |params: &Params| {
        let window = &params.window;
        let isolation = &params.isolation;
        let ramp = &params.ramp;
        let stream = &params.stream;
        let s = |span: std::time::Duration| format!("{} s", span.as_secs());
        BTreeMap::from([
            ("fall", params.fall.to_string()),
            ("rise", params.rise.to_string()),
            ("consecutive_failures", params.consecutive_failures.to_string()),
            ("window.length", s(window.length)),
            ("window.buckets", window.buckets.to_string()),
            ("window.min_requests", window.min_requests.to_string()),
            ("window.failure_ratio", window.failure_ratio.to_string()),
            ("isolation.base", s(isolation.base)),
            ("isolation.multiplier", isolation.multiplier.to_string()),
            ("isolation.max", s(isolation.max)),
            ("isolation.jitter", isolation.jitter.to_string()),
            ("isolation.decay_every", s(isolation.decay_every)),
            ("isolation.trial", isolation.trial.to_string()),
            ("ramp.length", s(ramp.length)),
            ("ramp.min_share", ramp.min_share.to_string()),
            ("ramp.min_successes", ramp.min_successes.to_string()),
            ("ramp.fall", ramp.fall.to_string()),
            ("ramp.cap", s(ramp.cap)),
            ("trial.hold", s(params.trial_hold)),
            ("early_release", params.early_release.to_string()),
            ("config_sightings", params.config_sightings.to_string()),
            ("budget_hold", s(params.budget_hold)),
            ("hold_max", s(params.hold_max)),
            ("hold_default", s(params.hold_default)),
            ("soft_in_window", params.soft_in_window.to_string()),
            ("stale_after", s(params.stale_after)),
            ("probe_routing", params.probe_routing.to_string()),
            ("ignore_transient_probes", params.ignore_transient_probes.to_string()),
            ("probe.can_restore", params.probe_can_restore.to_string()),
            ("isolate_lone", params.isolate_lone.to_string()),
            ("stream.first_token", s(stream.first_token)),
            ("stream.gap", s(stream.gap)),
            ("stream.hang_after", s(stream.hang_after)),
            ("stream.slow_first_token", s(stream.slow_first_token)),
        ])
    };
    let (ours, theirs) = (values(&resilient), values(&litellm));
    assert_eq!(rows.len(), ours.len(), "one row per number");
    for (key, value) in &ours {
        let row = &rows[*key];
        assert_eq!((&row[0], &row[1]), (value, &theirs[key]), "{key}");
        assert!(!row[2].is_empty(), "{key} has a reason");
    }
}

/// Inputs of the precedence table, strongest first.
const INPUTS: [&str; 6] =
    ["operator", "hard cause", "failed probe", "passive isolation", "passing probe", "passive success"];

fn apply(rig: &mut Rig, input: &str) {
    let now = rig.now;
    match input {
        "operator" => drop(rig.machine.operator(now, Operator::Disable, None, "")),
        "hard cause" => rig.traffic_times(2, Class::Auth),
        "failed probe" => {
            for _ in 0..3 {
                rig.probe(Class::ServerError);
            }
        }
        "passive isolation" => rig.traffic_times(5, Class::ServerError),
        "passing probe" => drop(rig.probe(Class::Ok)),
        _ => rig.traffic_times(3, Class::Ok),
    }
    rig.pass(1.0);
}

fn seen(rig: &Rig) -> String {
    let tier = rig.machine.standing(rig.now).tier;
    let state = rig.state();
    if state == State::Isolated && tier == Tier::ProbeFailed {
        "ISOLATED (probe)".to_owned()
    } else {
        state.to_string()
    }
}

#[test]
fn e31_the_precedence_table_of_the_manual_is_true() {
    let rows = table("Precedence");
    for first in INPUTS {
        for (column, second) in INPUTS.into_iter().enumerate() {
            let mut rig = Rig::new(exact());
            apply(&mut rig, first);
            apply(&mut rig, second);
            assert_eq!(rows[first][column], seen(&rig), "{first}, then {second}");
        }
    }
}

#[test]
fn e31_of_two_contradicting_inputs_the_stronger_is_seen_in_either_order() {
    // Passing evidence proves a fault of the configuration gone only through a trial, which is still out.
    for (strong, first) in INPUTS.into_iter().enumerate() {
        for second in INPUTS.into_iter().skip(strong + 1) {
            let seen = |one, other| {
                let mut rig = Rig::new(exact());
                apply(&mut rig, one);
                apply(&mut rig, other);
                (rig.machine.standing(rig.now).tier, rig.state().eligible())
            };
            assert_eq!(seen(first, second), seen(second, first), "{first} and {second}");
        }
    }
}
