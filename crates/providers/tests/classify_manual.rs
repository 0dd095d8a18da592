//! `docs/errors.md` against the code: the manual's tables are what the classifier does.

#![expect(clippy::unwrap_used, reason = "a manual that cannot be read ends the test")]

use haleway_health::{Class, Effect};
use haleway_providers::Mode;
use haleway_providers::classify::{Answer, classify, consequence, default_class, default_statuses};
use http::HeaderMap;

/// The rows of the table whose heading line starts with `heading`, cell by cell, without the backticks.
fn table(heading: &str) -> Vec<Vec<String>> {
    let path = format!("{}/../../docs/errors.md", env!("CARGO_MANIFEST_DIR"));
    let manual = std::fs::read_to_string(path).unwrap();
    let lines = manual.lines().skip_while(|line| !line.starts_with(heading)).skip(2);
    let rows: Vec<Vec<String>> = lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
        .collect();
    assert!(!rows.is_empty(), "no table {heading:?}");
    rows
}

/// The rows of the last table with the columns that a report asked for.
fn odd_statuses() -> Vec<Vec<String>> {
    let path = format!("{}/../../docs/errors.md", env!("CARGO_MANIFEST_DIR"));
    let manual = std::fs::read_to_string(path).unwrap();
    let last = manual.split("So the odd ones").nth(1).unwrap();
    let rows = last.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
        .collect()
}

fn effect(class: Class) -> &'static str {
    match class.effect() {
        Effect::Ok => "ok",
        Effect::Alive => "alive",
        Effect::Neutral => "neutral",
        Effect::Hard => "hard",
        Effect::Soft => "soft",
        Effect::Config => "config",
        Effect::Budget => "budget",
    }
}

#[test]
fn the_table_of_consequences_is_the_code() {
    let rows = table("| class | effect |");
    let written: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let mut missing: Vec<_> = Class::ALL.iter().filter(|class| !written.contains(&class.as_str())).collect();
    missing.retain(|class| **class != Class::Ok);
    assert!(missing.is_empty(), "not in the manual: {missing:?}");
    assert_eq!(table("| class | meaning |").len(), rows.len());
    for row in rows {
        let class = Class::from_name(&row[0]).unwrap();
        let fact = consequence(class);
        let cooldown = match fact.cooldown.as_secs() {
            0 => "-".to_owned(),
            seconds => format!("{seconds} s"),
        };
        let expected = [
            class.as_str().to_owned(),
            effect(class).to_owned(),
            class.default_scope().as_str().to_owned(),
            fact.retry_same.as_str().to_owned(),
            fact.retry_other.as_str().to_owned(),
            cooldown,
            fact.client_status.to_string(),
            if fact.client_type.is_empty() { "-".to_owned() } else { fact.client_type.to_owned() },
            if class == Class::OutputBudget {
                row[8].clone()
            } else {
                fact.client_code.unwrap_or("the provider's").to_owned()
            },
        ];
        assert_eq!(row, expected, "{class}");
    }
}

#[test]
fn the_table_of_statuses_is_the_code() {
    let written: Vec<(u16, String)> = table("| status | class |")
        .into_iter()
        .map(|row| (row[0].parse().unwrap(), row[1].clone()))
        .collect();
    let code: Vec<(u16, String)> =
        default_statuses().into_iter().map(|(status, class)| (status, class.as_str().to_owned())).collect();
    assert_eq!(written, code);
}

#[test]
fn d23_the_odd_statuses_do_what_the_manual_says() {
    let headers = HeaderMap::new();
    let rows = odd_statuses();
    assert_eq!(rows.len(), 8);
    for row in rows {
        let status: u16 = row[0].parse().unwrap();
        let answer = Answer {
            provider: "x",
            mode: Mode::Chat,
            status,
            headers: &headers,
            body: b"",
            now_ms: 1_796_050_800_000,
        };
        let fault = classify(&answer);
        let counted = match fault.class.effect() {
            Effect::Hard => "yes",
            Effect::Soft => "as load",
            Effect::Ok | Effect::Alive | Effect::Neutral | Effect::Config | Effect::Budget => "no",
        };
        let other = fault.retry_other.as_str();
        assert_eq!([&row[1], &row[2], &row[3]], [fault.class.as_str(), counted, other], "{status}");
        assert_eq!(default_class(status), fault.class, "{status}");
    }
    assert_eq!(default_class(555), Class::ServerError);
    assert_eq!(default_class(444), Class::BadRequest);
    assert_eq!(default_class(307), Class::RouteNotFound);
}
