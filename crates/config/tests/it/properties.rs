//! Whatever the bytes, `load` answers: a configuration or an error, places inside the file, no panic.

use haleway_config::Severity;
use proptest::prelude::*;

use crate::table::Table;

/// Pieces of which a configuration is made, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    let keys = prop_oneof![
        Just("model_list"),
        Just("router_settings"),
        Just("general_settings"),
        Just("litellm_settings"),
        Just("haleway"),
        Just("health"),
        Just("groups"),
        Just("window"),
        Just("fallbacks"),
        Just("model_name"),
        Just("litellm_params"),
        Just("model_info"),
        Just("model"),
        Just("health_check_interval"),
        Just("allowed_fails_policy"),
        Just("include"),
        Just("environment_variables"),
        Just("cooldown_time"),
        Just("background_health_check_model_groups"),
        Just("<<"),
        Just("routing_strategy"),
        Just("model_group_alias"),
        Just("interval"),
        Just("retry_policy"),
        Just("tags"),
    ];
    let values = prop_oneof![
        Just("1"),
        Just("-1"),
        Just("yes"),
        Just("abc"),
        Just("[]"),
        Just("{}"),
        Just("[a, {b: c}]"),
        Just("os.environ/A"),
        Just("os.environ/B"),
        Just("30s"),
        Just("1e9"),
        Just(".inf"),
        Just("99999999999999999999999999"),
        Just("~"),
        Just("\"\""),
        Just("&x 1"),
        Just("*x"),
        Just("openai/a"),
        Just("2024-01-01"),
        Just("\"*\""),
        Just("[config.yaml]"),
    ];
    (0_usize..4, keys, prop_oneof![values.prop_map(str::to_owned), Just(String::new())], any::<bool>())
        .prop_map(|(depth, key, value, item)| {
            format!("{}{}{key}: {value}\n", "  ".repeat(depth), if item { "- " } else { "" })
        })
}

fn check(text: &[u8]) -> Result<(), TestCaseError> {
    let table = Table::text(text).var("A", "x");
    let loaded = table.load();
    prop_assert_eq!(loaded.config.is_none(), loaded.count(Severity::Error) > 0);
    let content = String::from_utf8_lossy(text);
    let content = content.strip_prefix('\u{feff}').unwrap_or(&content);
    for finding in &loaded.diagnostics {
        if finding.line > 0 {
            let line = content.split('\n').nth(finding.line as usize - 1);
            prop_assert!(line.is_some(), "{finding:?}");
            prop_assert!(finding.column as usize <= line.unwrap_or("").chars().count() + 1, "{finding:?}");
        }
    }
    haleway_config::render(&loaded.diagnostics, true);
    if let Some(config) = &loaded.config {
        haleway_config::render_rows(&haleway_config::explain(config));
    }
    Ok(())
}

/// Real files: recorded ones and those of the reports.
const REAL: [&str; 5] = [
    include_str!("../fixtures/litellm/hcr_afp.yaml"),
    include_str!("../fixtures/litellm/main.yaml"),
    include_str!("../fixtures/litellm/routing.yaml"),
    include_str!("../fixtures/litellm/shared.yaml"),
    include_str!("../fixtures/litellm/retries.yaml"),
];

/// What may happen to a line of a file that people edit.
fn edited(line: &str, how: u8, other: &str) -> String {
    let (key, _) = line.split_once(':').unwrap_or((line, ""));
    match how {
        0 => String::new(),
        1 => format!("{line}\n{line}"),
        2 => format!("{key}:"),
        3 => format!("{key}: 0"),
        4 => format!("{key}: [{{a: [b]}}, 1]"),
        5 => format!("{key}: os.environ/A"),
        6 => format!("  {line}"),
        _ => other.to_owned(),
    }
}

proptest! {
    #[test]
    fn any_edit_of_lines_of_a_real_file_is_judged(
        file in 0_usize..REAL.len(),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0_u8..8, any::<prop::sample::Index>()), 1..6),
    ) {
        let mut lines: Vec<String> = REAL[file].lines().map(str::to_owned).collect();
        for (at, how, other) in edits {
            let (at, other) = (at.index(lines.len()), other.index(lines.len()));
            lines[at] = edited(&lines[at], how, &lines[other].clone());
        }
        check(lines.join("\n").as_bytes())?;
    }

    #[test]
    fn any_arrangement_of_known_keys_is_judged(pieces in proptest::collection::vec(piece(), 0..14)) {
        check(pieces.concat().as_bytes())?;
    }

    #[test]
    fn any_bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes)?;
    }

    #[test]
    fn any_change_of_one_byte_of_a_real_file_is_judged(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = include_bytes!("../fixtures/litellm/hcr_afp.yaml").to_vec();
        let at = at.index(text.len());
        text[at] = byte;
        check(&text)?;
    }
}
