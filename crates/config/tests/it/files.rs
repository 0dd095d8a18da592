//! Every file that was recorded with LiteLLM loads, and each bad one gets the finding it deserves.

use std::time::Duration;

use haleway_config::{Severity, render};

use crate::table::Table;

const GOOD: [&str; 10] = [
    "errors",
    "hcr_afp",
    "hcr_pure",
    "hcr_transient",
    "main",
    "main2",
    "nokey",
    "retries",
    "routing",
    "shared",
];
const BAD: [&str; 11] = [
    "bad_fallback",
    "bad_interval",
    "bad_provider",
    "bad_strategy",
    "badyaml",
    "dup_id",
    "include",
    "missing_env",
    "no_model_list",
    "no_model_name",
    "unknown_keys",
];

fn recorded() -> Table {
    Table::fixtures("litellm").var("LITELLM_MASTER_KEY", "sk-1").var("UP_A2", "sk-a2")
}

#[test]
fn every_good_file_loads() {
    for name in GOOD {
        let loaded = recorded().load_file(&format!("{name}.yaml"));
        assert_eq!(loaded.count(Severity::Error), 0, "{name}: {}", render(&loaded.diagnostics, false));
        assert!(loaded.config.is_some());
        insta::assert_snapshot!(format!("good_{name}"), render(&loaded.diagnostics, false));
    }
}

#[test]
fn every_bad_file_has_its_finding() {
    for name in BAD {
        let loaded = recorded().load_file(&format!("bad/{name}.yaml"));
        let verdict = if loaded.config.is_some() { "loads" } else { "refused" };
        insta::assert_snapshot!(
            format!("bad_{name}"),
            format!("{verdict}\n{}", render(&loaded.diagnostics, false))
        );
    }
}

#[test]
fn values_of_a_recorded_file_arrive() {
    let config = recorded().load_file("routing.yaml").config.unwrap();
    assert_eq!(config.models.len(), 22);
    let model = |id: &str| config.models.iter().find(|model| &*model.id == id).unwrap();
    assert_eq!(model("dep-s1").params.timeout, Some(Duration::from_secs(3)));
    assert_eq!(model("dep-l1").params.rpm, Some(2));
    assert_eq!(model("dep-p2").params.order, Some(2));
    assert_eq!(model("dep-q1").params.weight, Some(3.0));
    assert_eq!(model("dep-z1").params.max_parallel_requests, Some(2));
    assert_eq!(model("dep-y1").info.max_input_tokens, Some(10));
    assert_eq!(model("dep-t2").params.tags.len(), 2);
    assert!(model("dep-s1").params.drop_params);
    assert_eq!(config.router.settings.num_retries, Some(0));
    assert!(config.router.settings.pre_call_checks && config.router.settings.tag_filtering);
    assert_eq!(&*config.router.fallbacks.general["mid"][0], "backup");
    let hidden = config.router.aliases.iter().find(|alias| alias.hidden).unwrap();
    assert_eq!((&*hidden.name, &*hidden.target), ("hidden-alias", "solo"));
}
