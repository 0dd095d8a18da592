//! The catalogue of models: built in or from a file, and what a deployment states itself.

use haleway_config::{Origin, Severity, explain};
use haleway_providers::catalogue::{PriceKind, Usd};

use crate::table::Table;

fn with(extra: &str) -> Table {
    Table::text(format!(
        "model_list: [{{model_name: g, litellm_params: {{model: openai/mine, api_key: k}}, model_info: {{id: d}}}}]\n{extra}"
    ))
    .var("LITELLM_MASTER_KEY", "k")
}

fn usd(text: &str) -> Option<Usd> {
    Usd::parse(text).ok()
}

#[test]
fn a_file_takes_the_place_of_the_built_in_catalogue() {
    let builtin = with("").config();
    assert!(builtin.haleway.catalogue.find("openai", "gpt-4o").is_some());
    let table = with("haleway: {catalogue: own/models.tsv}\n")
        .file("own/models.tsv", "model\tprovider\tmode\tin_tok\nmine\topenai\tembedding\t1e-6\n");
    let loaded = table.load();
    let config = loaded.config.unwrap();
    assert!(config.haleway.catalogue.find("openai", "gpt-4o").is_none());
    let rows = explain(&config);
    let row = |scope: &str, key: &str| {
        let found = rows.iter().find(|row| row.scope == scope && row.key == key).unwrap();
        (found.value.clone(), found.origin.to_string())
    };
    assert_eq!(row("global", "catalogue"), ("1 models".to_owned(), "config.yaml:2".to_owned()));
    assert_eq!(row("deployment d", "mode"), ("embedding".to_owned(), "catalogue".to_owned()));
    assert_eq!(row("deployment d", "input_cost_per_token"), ("0.000001".to_owned(), "catalogue".to_owned()));
}

#[test]
fn litellms_price_map_is_a_catalogue() {
    let table = with("haleway: {catalogue: map.json}\n").file(
        "map.json",
        r#"{"mine": {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 10}}"#,
    );
    let facts = table.config().haleway.catalogue.find("openai", "mine").unwrap().max_input_tokens;
    assert_eq!(facts, Some(10));
}

#[test]
fn a_catalogue_that_is_missing_or_broken_is_an_error_with_its_place() {
    let missing = with("haleway: {catalogue: nowhere.tsv}\n").only();
    assert_eq!((missing.code, missing.severity), ("file-unreadable", Severity::Error));
    assert_eq!((missing.line, missing.column), (2, 22));
    let broken =
        with("haleway: {catalogue: m.tsv}\n").file("m.tsv", "model\tin_tok\na\t1e-6\nb\tcheap\n").only();
    assert_eq!((broken.code, broken.severity), ("bad-catalogue", Severity::Error));
    assert_eq!((broken.file.as_str(), broken.line, broken.column), ("m.tsv", 3, 1));
    assert!(broken.message.contains("in_tok: \"cheap\""), "{}", broken.message);
    let json = with("haleway: {catalogue: m.json}\n").file("m.json", "{\n\"a\": {\"mode\": 1}}").only();
    assert_eq!((json.code, json.line), ("bad-catalogue", 2));
    let wrong = with("haleway: {catalogue: [a]}\n").only();
    assert_eq!((wrong.code, wrong.line), ("wrong-type", 2));
    let empty = with("haleway: {catalogue: m.tsv}\n").file("m.tsv", "").only();
    assert_eq!((empty.code, empty.line), ("bad-catalogue", 1));
}

#[test]
fn a_deployments_own_prices_are_read_from_either_section() {
    let config = Table::text(
        "model_list:\n- model_name: g\n  litellm_params: {model: openai/gpt-4o, api_key: k, input_cost_per_token: 0.5, input_cost_per_query: 2e-3}\n  model_info: {id: d, input_cost_per_token: 0.25, output_cost_per_token: 1.5, ocr_cost_per_page: 0}\n",
    )
    .var("LITELLM_MASTER_KEY", "k")
    .config();
    let prices = &config.models[0].prices;
    assert_eq!(prices.get(PriceKind::InputToken), usd("0.5"), "litellm_params comes first");
    assert_eq!(prices.get(PriceKind::OutputToken), usd("1.5"));
    assert_eq!(prices.get(PriceKind::Query), usd("0.002"));
    assert_eq!(prices.get(PriceKind::Page), usd("0"));
    assert_eq!(prices.get(PriceKind::CacheReadToken), None);
    let rows = explain(&config);
    let origin = |key: &str| rows.iter().find(|row| row.key == key).map(|row| row.origin.clone());
    assert!(matches!(origin("input_cost_per_token"), Some(Origin::File { line: 3, .. })));
    assert!(matches!(origin("output_cost_per_token"), Some(Origin::File { line: 4, .. })));
    assert_eq!(origin("cache_read_input_token_cost"), Some(Origin::Catalogue));
    assert_eq!(origin("max_input_tokens"), Some(Origin::Catalogue));
    assert_eq!(origin("mode"), Some(Origin::Catalogue));
}

#[test]
fn a_price_that_is_none_is_an_error_where_it_stands() {
    let price = |text: &str| {
        Table::text(format!(
            "model_list:\n- model_name: g\n  litellm_params: {{model: openai/a, api_key: k}}\n  model_info: {{input_cost_per_token: {text}}}\n"
        ))
        .var("LITELLM_MASTER_KEY", "k")
        .only()
    };
    let negative = price("-0.1");
    assert_eq!((negative.code, negative.severity, negative.line), ("bad-value", Severity::Error, 4));
    assert!(negative.message.contains("below zero"), "{}", negative.message);
    assert_eq!(price("cheap").code, "wrong-type");
    // YAML 1.1 reads `1e-06` as a string; LiteLLM and we take it as the number it is meant to be.
    assert_eq!((price("1e-06").code, price("1e-06").severity), ("loose-type", Severity::Warning));
}
