//! Effective values with their origins.

use haleway_config::{explain, render_rows};

use crate::table::Table;

#[test]
fn every_effective_value_is_shown_with_its_origin() {
    let config = Table::text(
        "model_list:\n\
         - model_name: g\n  litellm_params: {model: openai/a, api_key: hush}\n  model_info:\n    id: d1\n    health_check_timeout: 3\n    health_check_model: openai/b\n    health_check_params: {user: hush}\n    haleway: {fall: 2}\n\
         - model_name: g\n  litellm_params: {model: openai/a, api_key: hush}\n  model_info: {id: d2, disable_background_health_check: true}\n\
         general_settings:\n  background_health_checks: true\n  health_check_interval: 30\n\
         router_settings:\n  cooldown_time: 60\n  allowed_fails_policy: {AuthenticationErrorAllowedFails: 0}\n\
         haleway:\n  health:\n    stale_after: 5m\n  groups:\n    g: {panic: {threshold: 0.5}}\n",
    )
    .var("LITELLM_MASTER_KEY", "hush")
    .var("DEFAULT_HEALTH_CHECK_INTERVAL", "45")
    .config();
    let text = render_rows(&explain(&config));
    assert!(!text.contains("hush"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn rows_are_sorted_within_their_scope_and_scopes_keep_the_order_of_the_file() {
    let config = Table::text("model_list: [{model_name: z, litellm_params: {model: openai/a, api_key: k}, model_info: {id: z, cooldown_time: 1}}, {model_name: a, litellm_params: {model: openai/a, api_key: k}, model_info: {id: a, cooldown_time: 1}}]\n").config();
    let rows = explain(&config);
    let mut scopes: Vec<&str> = rows.iter().map(|row| row.scope.as_str()).collect();
    scopes.dedup();
    assert_eq!(scopes, ["global", "deployment z", "deployment a"]);
    for scope in scopes {
        let keys: Vec<&str> =
            rows.iter().filter(|row| row.scope == scope).map(|row| row.key.as_str()).collect();
        assert!(keys.is_sorted(), "{keys:?}");
    }
}
