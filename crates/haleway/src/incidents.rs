//! `haleway incidents`: when deployments were out, why, and who noticed, from the store that a configuration names.
//!
//! Read from the database itself, so that it answers while no gateway runs.

use std::time::Duration;

use anyhow::{Context, bail};
use haleway_config::{Options, Severity, load, render};
use haleway_store::{Incident, IncidentQuery, Store};
use secrecy::ExposeSecret;
use serde_json::json;

use crate::cli::{Format, IncidentsArgs};
use crate::output;
use crate::serve::runtime;
use crate::source::System;

/// How long the database may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Prints the incidents that `args` asks for.
pub(crate) fn run(args: &IncidentsArgs) -> anyhow::Result<()> {
    let mut loaded = load(&args.file, &System, &Options::default());
    let Some(config) = loaded.config else {
        loaded.diagnostics.retain(|finding| finding.severity == Severity::Error);
        output::complain(&render(&loaded.diagnostics, output::stderr_is_terminal()));
        bail!("{} cannot be read", args.file.display());
    };
    let Some(settings) = config.haleway.store else {
        bail!(
            "{} names no store: set haleway.store.url, general_settings.database_url or DATABASE_URL",
            args.file.display()
        );
    };
    let query = IncidentQuery { model: args.model.clone(), open_only: args.open, limit: args.limit };
    let found = runtime()?.block_on(async {
        let store = Store::at(settings.url.expose_secret())?;
        let found = tokio::time::timeout(PATIENCE, store.incidents(&query)).await;
        let found = found.context("the store does not answer")?;
        store.close().await;
        anyhow::Ok(found?)
    });
    let found = found.context("the incidents cannot be read")?;
    match args.format {
        Format::Table => output::print(&table(&found)),
        Format::Json => output::print(&format!("{}\n", json!(found.iter().map(object).collect::<Vec<_>>()))),
    }
    Ok(())
}

fn time(millis: u64) -> String {
    let time = i64::try_from(millis).ok().and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    time.map_or_else(String::new, |time| format!("{time:.0}"))
}

/// Billionths of a dollar as dollars.
#[expect(clippy::cast_precision_loss, reason = "for people")]
fn dollars(nanousd: u64) -> f64 {
    nanousd as f64 / 1e9
}

fn object(incident: &Incident) -> serde_json::Value {
    json!({
        "id": incident.incident_id,
        "deployment": incident.deployment,
        "model_group": incident.model_name,
        "from": time(incident.began_at),
        "to": incident.ended_at.map(time),
        "cause": incident.cause,
        "noticed_by": incident.noticed_by,
        "observer": incident.observer,
        "message": incident.message,
        "probe_cost_usd": dollars(incident.probe_nanousd),
    })
}

fn table(found: &[Incident]) -> String {
    if found.is_empty() {
        return "no incidents\n".to_owned();
    }
    let mut text = format!(
        "{:<20}  {:<20}  {:>9}  {:<24}  {:<16}  {:<9}  {:>9}\n",
        "FROM", "TO", "SECONDS", "DEPLOYMENT", "CAUSE", "NOTICED", "PROBES"
    );
    for incident in found {
        let seconds =
            incident.ended_at.map(|end| (end.saturating_sub(incident.began_at) / 1_000).to_string());
        let line = format!(
            "{:<20}  {:<20}  {:>9}  {:<24}  {:<16}  {:<9}  {:>9}\n",
            time(incident.began_at),
            incident.ended_at.map_or_else(|| "still out".to_owned(), time),
            seconds.as_deref().unwrap_or("-"),
            incident.deployment,
            incident.cause,
            incident.noticed_by.as_str(),
            format!("${:.4}", dollars(incident.probe_nanousd)),
        );
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use haleway_store::Noticed;

    use super::*;

    #[test]
    fn an_incident_is_one_line_that_says_when_why_who_and_what_it_cost() {
        let mut incident = Incident {
            incident_id: "i".to_owned(),
            deployment: "d1".to_owned(),
            model_name: "g".to_owned(),
            began_at: 1_796_040_000_000,
            ended_at: Some(1_796_040_090_500),
            cause: "auth".to_owned(),
            noticed_by: Noticed::Probe,
            observer: "pod-a".to_owned(),
            message: None,
            probe_nanousd: 1_500_000,
        };
        let text = table(std::slice::from_ref(&incident));
        let words: Vec<_> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(words[2..], ["90", "d1", "auth", "probe", "$0.0015"]);
        incident.ended_at = None;
        assert!(table(&[incident]).contains("still out"));
        assert_eq!(table(&[]), "no incidents\n");
    }
}
