//! `haleway status`: what a running gateway knows of its deployments, asked over its own pages.

use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use haleway_config::Source;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use crate::cli::{Format, ServeArgs, StatusArgs};
use crate::output;
use crate::serve::runtime;
use crate::source::System;

/// How long the gateway may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same where it may have to probe everything first.
const PROBING: Duration = Duration::from_secs(300);
/// The largest page that is read.
const MOST: usize = 64 << 20;

/// Prints the deployments of the gateway at `--url`.
pub(crate) fn run(args: &StatusArgs) -> anyhow::Result<()> {
    let base = args.url.trim_end_matches('/');
    let (deployments, fleet) = runtime()?.block_on(async {
        let deployments = get(base, "/haleway/deployments", PATIENCE).await?;
        // Without a master key nobody is shown the fleet.
        anyhow::Ok((deployments, get(base, "/haleway/fleet", PATIENCE).await.unwrap_or_default()))
    })?;
    match args.format {
        Format::Table => output::print(&table(&deployments, &fleet)),
        Format::Json => {
            let both = json!({"fleet": fleet, "deployments": deployments.get("deployments")});
            output::print(&format!("{both}\n"));
        }
    }
    Ok(())
}

/// `--health`: prints what `GET /health` of the gateway on `--host` and `--port` says.
pub(crate) fn health(args: &ServeArgs) -> anyhow::Result<()> {
    // What is listened on everywhere is reached on this machine.
    let host = match args.host.as_str() {
        "0.0.0.0" => "127.0.0.1",
        host => host,
    };
    let page = runtime()?.block_on(get(&format!("http://{host}:{}", args.port), "/health", PROBING))?;
    output::print(&format!("{page:#}\n"));
    Ok(())
}

/// The key that administrators call with.
fn key() -> Option<String> {
    ["HALEWAY_ADMIN_KEY", "LITELLM_MASTER_KEY"].into_iter().find_map(|name| System.var(name))
}

async fn get(base: &str, path: &str, patience: Duration) -> anyhow::Result<Value> {
    let url = format!("{base}{path}");
    let uri: Uri = url.parse().with_context(|| format!("{url} is no address"))?;
    if uri.scheme_str() != Some("http") {
        bail!("{url}: only http:// is asked; through TLS, ask its pages with curl");
    }
    let mut request = Request::get(uri);
    if let Some(key) = key() {
        request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
    }
    let request = request.body(Empty::<Bytes>::new()).context("the key holds what no header can")?;
    let client: Client<HttpConnector, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let answer = async {
        let response = client.request(request).await.with_context(|| format!("{base} cannot be reached"))?;
        let status = response.status();
        #[expect(clippy::disallowed_methods, reason = "the body is capped by Limited")]
        let body = Limited::new(response.into_body(), MOST).collect().await;
        let body = body.map_err(|error| anyhow::anyhow!("{url} breaks off: {error}"))?.to_bytes();
        anyhow::Ok((status, body))
    };
    let answered = tokio::time::timeout(patience, answer).await;
    let (status, body) = answered.with_context(|| format!("{base} does not answer"))??;
    match status {
        StatusCode::OK => serde_json::from_slice(&body).with_context(|| format!("{url} answers no JSON")),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            bail!("{base} wants its master key: set HALEWAY_ADMIN_KEY or LITELLM_MASTER_KEY")
        }
        other => bail!("{url} answers {other}: is a Haleway there?"),
    }
}

const HEAD: [&str; 9] = ["GROUP", "DEPLOYMENT", "MODE", "STATE", "SINCE", "UNTIL", "CAUSE", "AGE", "TODAY"];

fn table(deployments: &Value, fleet: &Value) -> String {
    let rows: Vec<[String; 9]> =
        deployments["deployments"].as_array().into_iter().flatten().map(row).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain(HEAD.get(column).map(|head| head.len())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut text = pod(fleet);
    for row in std::iter::once(HEAD.map(str::to_owned)).chain(rows.clone()) {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if rows.is_empty() {
        text.push_str("no deployments\n");
    }
    text
}

fn pod(fleet: &Value) -> String {
    let word = |name: &str| fleet[name].as_str().unwrap_or("-").to_owned();
    let mut text = match fleet["pod"].as_str() {
        Some(pod) => format!("pod {pod}, role {}, {}", word("role"), word("mode")),
        None => word("mode"),
    };
    let pods = fleet["pods"].as_array().map_or(0, Vec::len);
    if pods > 0 {
        text.push_str(&format!(", {pods} pods known"));
    }
    text.push('\n');
    text
}

fn row(of: &Value) -> [String; 9] {
    let text = |name: &str| of[name].as_str().unwrap_or("-").to_owned();
    // To the second is enough for people.
    let time = |name: &str| {
        let time = of[name].as_str().map(|time| time.split('.').next().unwrap_or(time).trim_end_matches('Z'));
        time.map_or_else(|| "-".to_owned(), |time| format!("{time}Z"))
    };
    let age = of["age_seconds"].as_f64().map_or_else(|| "-".to_owned(), |age| format!("{age:.0}s"));
    let price = of["price_today_usd"].as_f64().unwrap_or(0.0);
    [
        text("model_group"),
        text("id"),
        text("mode"),
        text("state"),
        time("since"),
        time("until"),
        text("cause"),
        age,
        format!("${price:.4}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_is_one_line_with_what_an_operator_asks_first() {
        let page = json!({"deployments": [{
            "id": "d1", "model_group": "chat", "mode": "chat", "state": "ISOLATED", "since": "2026-12-01T02:00:00.123Z",
            "until": "2026-12-01T02:00:30Z", "cause": "rate_limit", "age_seconds": 3.6, "price_today_usd": 0.0015,
        }]});
        let shown = table(&page, &json!({"mode": "shared", "pod": "a", "role": "all", "pods": [{}, {}]}));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "pod a, role all, shared, 2 pods known");
        let words: Vec<&str> = lines[2].split_whitespace().collect();
        let expected =
            "chat d1 chat ISOLATED 2026-12-01T02:00:00Z 2026-12-01T02:00:30Z rate_limit 4s $0.0015";
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn a_page_without_what_is_asked_is_shown_as_far_as_it_goes() {
        let shown = table(&json!({"deployments": [{"id": "d1"}]}), &json!({"mode": "alone", "pods": []}));
        assert!(shown.starts_with("alone\n") && shown.contains("d1"), "{shown}");
        assert!(table(&json!({}), &json!({})).contains("no deployments"));
    }
}
