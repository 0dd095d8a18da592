//! Every example of `docs/configuration.md` loads as the page says, and the page's tables match the code.

use haleway_config::{CODES, Severity, render};

use crate::table::Table;

#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn page() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    std::fs::read_to_string(path).unwrap()
}

/// The fenced `yaml` blocks.
#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn examples(page: &str) -> Vec<String> {
    page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_example_loads_without_a_finding() {
    let page = page();
    let examples = examples(&page);
    assert!(examples.len() >= 5);
    for example in examples {
        let models =
            "model_list:\n- {model_name: chat, litellm_params: {model: openai/gpt-4o, api_key: k}}\n";
        let text =
            if example.contains("model_list:") { example.clone() } else { format!("{models}{example}") };
        let loaded = Table::text(text)
            .var("LITELLM_MASTER_KEY", "k")
            .var("OPENAI_API_KEY", "k")
            .var("AZURE_API_KEY", "k")
            .load();
        assert!(loaded.config.is_some(), "{example}\n{}", render(&loaded.diagnostics, false));
        assert_eq!(loaded.count(Severity::Warning), 0, "{example}\n{}", render(&loaded.diagnostics, false));
    }
}

#[test]
fn every_code_is_on_the_page_with_its_meaning() {
    let page = page();
    let missing: Vec<String> = CODES
        .iter()
        .map(|(code, meaning)| format!("| `{code}` | {meaning} |"))
        .filter(|row| !page.contains(row))
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    let rows = page.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 3).count();
    assert!(rows >= CODES.len());
}

#[test]
fn every_health_key_is_on_the_page_with_both_defaults() {
    let page = page();
    let defaults = |profile: &str| {
        let config = Table::text(format!(
            "model_list: [{{model_name: g, litellm_params: {{model: openai/a, api_key: k}}}}]\nhaleway: {{profile: {profile}}}\n"
        ))
        .config();
        haleway_config::explain(&config)
    };
    let (litellm, resilient) = (defaults("litellm"), defaults("resilient"));
    let mut missing = Vec::new();
    for row in &resilient {
        let Some(other) = litellm.iter().find(|other| other.key == row.key && other.scope == "global") else {
            continue;
        };
        if haleway_config::health_keys().any(|key| key == row.key) {
            let wanted = format!("| `{}` | {} | {} |", row.key, row.value, other.value);
            if !page.contains(&wanted) {
                missing.push(wanted);
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
