//! Every key of a file is in exactly one list, and the page about keys is the table.

use crate::table::Table;

#[test]
fn every_key_of_a_file_is_sorted_by_what_becomes_of_it() {
    let loaded = Table::text(
        "model_list:
  - model_name: g
    litellm_params: {model: openai/gpt-4o, api_key: k, top_q: 1, cooldown_time: 3}
    model_info: {id: d1, team: blue}
router_settings: {num_retries: 2, provider_budget_config: {openai: {}}, num_retires: 1}
general_settings: {master_key: sk-1, health_check_intervall: 5}
guardrails: [{guardrail_name: x}]
",
    )
    .load();
    let keys = loaded.keys;
    for key in
        ["model_list", "litellm_params.model", "router_settings.num_retries", "general_settings.master_key"]
    {
        assert!(keys.supported.contains(&key.to_owned()), "{key}: {keys:?}");
    }
    assert_eq!(keys.passed_on, ["litellm_params.top_q", "model_info.team"]);
    let inert: Vec<&str> = keys.without_effect.iter().map(|key| key.key.as_str()).collect();
    assert_eq!(inert, ["guardrails", "router_settings.provider_budget_config"]);
    assert_eq!(keys.unknown, ["general_settings.health_check_intervall", "router_settings.num_retires"]);
}

#[test]
fn the_page_about_keys_is_current() {
    let page = include_str!("../../../../docs/litellm-keys.md");
    assert!(
        page == haleway_config::litellm_keys(),
        "docs/litellm-keys.md is not current: run `cargo xtask gen`"
    );
}
