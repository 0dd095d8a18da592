//! How long the pages take over a long history in SQLite, and what writing and forgetting cost beside them.
//!
//! Prints milliseconds per operation: the median and the worst of a fixed number of rounds. Targets: 50 ms for the latest
//! of 10,000 deployments over 10 million rows, 50 ms for any step of forgetting. An argument is the number of rows (default
//! 200,000); 10 million need 5 GB in the directory for temporary files and some minutes.
#![expect(clippy::print_stdout, reason = "a benchmark reports on standard output")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![expect(clippy::unwrap_used, reason = "a benchmark that fails ends")]

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use haleway_store::{Check, Details, HistoryQuery, IncidentQuery, Retention, Store, Write};
use serde_json::json;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, Row, SqliteConnection};

const DEPLOYMENTS: u64 = 10_000;
/// Deployments per group.
const GROUP: u64 = 10;
const NOW: u64 = 1_796_040_000_000;
/// From one row to the next: ten million in thirty days.
const STEP: u64 = 259;
const ROUNDS: usize = 20;

/// A directory that goes away at the end.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn main() {
    let rows = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(200_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(rows));
}

async fn measure(rows: u64) {
    let directory = Directory(std::env::temp_dir().join(format!("haleway-history-{}", std::process::id())));
    std::fs::create_dir_all(&directory.0).unwrap();
    let file = directory.0.join("haleway.db");
    let store = Store::at(&format!("sqlite:{}", file.display())).unwrap();
    store.migrate().await.unwrap();
    let started = Instant::now();
    let newest: Vec<_> = (0..DEPLOYMENTS).map(|n| Write::Check(check(n, NOW + n))).collect();
    for batch in newest.chunks(1_000) {
        store.write(batch).await.unwrap();
    }
    fill(&file, rows).await;
    let bytes = std::fs::metadata(&file).unwrap().len();
    println!("{rows} rows of {DEPLOYMENTS} deployments, {} MB, in {:.0?}", bytes >> 20, started.elapsed());

    pages(&store, rows).await;
    writing(&store).await;
    // Half of the first step's rows are beyond the cap: steps to the end of the measurement, and not further.
    let keep = Retention { age: None, rows: Some(rows / 2) };
    rounds("forget 1,000 rows", || async { store.forget(keep, NOW).await.unwrap() }).await;
    store.close().await;
}

async fn pages(store: &Store, rows: u64) {
    rounds("latest of 10,000", || async { store.latest().await.unwrap().len() }).await;
    let page = |model: Option<&str>, status: Option<&str>, offset| HistoryQuery {
        model: model.map(str::to_owned),
        status: status.map(str::to_owned),
        limit: 100,
        offset,
    };
    for (name, query) in [
        ("history, first page", page(None, None, 0)),
        ("history, page 1,000", page(None, None, 100_000.min(rows / 2))),
        ("history of a group", page(Some("group-500"), None, 0)),
        ("history of a group, unhealthy", page(Some("group-500"), Some("unhealthy"), 0)),
        ("history, unhealthy", page(None, Some("unhealthy"), 0)),
        ("history, healthy", page(None, Some("healthy"), 0)),
    ] {
        rounds(name, || async { store.history(&query).await.unwrap().checks.len() }).await;
    }
    let open = IncidentQuery { limit: 100, ..IncidentQuery::default() };
    rounds("incidents", || async { store.incidents(&open).await.unwrap().len() }).await;
}

/// Batches as the gateway writes them when a thousand states change every second.
async fn writing(store: &Store) {
    let mut at = NOW + DEPLOYMENTS;
    let batches: Vec<Vec<_>> = (0..ROUNDS)
        .map(|_| {
            at += 500;
            (0..500).map(|n| Write::Check(check(at.wrapping_mul(7_919) + n, at))).collect()
        })
        .collect();
    let mut batches = batches.into_iter();
    rounds("write 500 changes", || {
        let batch = batches.next().unwrap();
        async move { store.write(&batch).await.unwrap() }
    })
    .await;
}

async fn rounds<F: Future>(name: &str, mut operation: impl FnMut() -> F) {
    let mut took: Vec<Duration> = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        operation().await;
        took.push(started.elapsed());
    }
    took.sort_unstable();
    let shown = |round: usize| took[round].as_secs_f64() * 1_000.0;
    println!("{name:<32} {:>9.2} ms   worst {:>9.2} ms", shown(ROUNDS / 2), shown(ROUNDS - 1));
}

fn check(number: u64, at: u64) -> Check {
    let deployment = number % DEPLOYMENTS;
    Check {
        health_check_id: format!("{at:016x}-{number:016x}"),
        model_name: format!("group-{}", deployment / GROUP),
        model_id: Some(format!("deployment-{deployment}")),
        healthy: !number.is_multiple_of(8),
        error_message: None,
        response_time_ms: Some(412.5),
        details: Some(Details::from(&json!({
            "state": "HEALTHY", "cause": "probe_ok", "scope": "deployment", "source": "probe", "price_usd": 0.000_012,
            "evidence": {"class": "ok", "depth": "generation", "status": 200, "reason": "ok"},
        }))),
        checked_by: Some("pod-7f9c".to_owned()),
        checked_at: at,
        created_at: at,
    }
}

/// Rows before the newest ones, in bulk: the indexes are made anew at the end, and nothing waits for the disk.
async fn fill(file: &std::path::Path, rows: u64) {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .pragma("synchronous", "OFF")
        .pragma("cache_size", "-262144");
    let mut link = SqliteConnection::connect_with(&options).await.unwrap();
    let made = "SELECT type, name, sql FROM sqlite_master WHERE tbl_name = 'LiteLLM_HealthCheckTable'
                AND type IN ('index', 'trigger') AND sql IS NOT NULL";
    let found = sqlx::query(made).fetch_all(&mut link).await.unwrap();
    for row in &found {
        let drop = format!("DROP {} \"{}\"", row.get::<String, _>(0), row.get::<String, _>(1));
        sqlx::query(sqlx::AssertSqlSafe(drop)).execute(&mut link).await.unwrap();
    }
    let sample = check(1, NOW);
    sqlx::query(
        r#"WITH RECURSIVE row(n) AS (SELECT $1 UNION ALL SELECT n - 1 FROM row WHERE n > 1)
           INSERT INTO "LiteLLM_HealthCheckTable"
           SELECT printf('%016x-%016x', $2 - n * $3, n), 'group-' || (n % $4 / $5), 'deployment-' || (n % $4),
                  CASE WHEN n % 8 THEN 'healthy' ELSE 'unhealthy' END, n % 8 > 0, n % 8 = 0, NULL, 412.5, $6, 'pod-7f9c',
                  $2 - n * $3, $2 - n * $3, $2 - n * $3
           FROM row"#,
    )
    .bind(i64::try_from(rows).unwrap())
    .bind(i64::try_from(NOW).unwrap())
    .bind(i64::try_from(STEP).unwrap())
    .bind(i64::try_from(DEPLOYMENTS).unwrap())
    .bind(i64::try_from(GROUP).unwrap())
    .bind(sample.details.unwrap().as_str().to_owned())
    .execute(&mut link)
    .await
    .unwrap();
    let counted = r#"INSERT OR REPLACE INTO haleway_counts
                     SELECT model_name, status, COUNT(*) FROM "LiteLLM_HealthCheckTable" GROUP BY model_name, status"#;
    let again = found.iter().map(|row| row.get::<String, _>(2)).chain([counted.to_owned()]);
    for sql in again {
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut link).await.unwrap();
    }
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut link).await.unwrap();
    link.close().await.unwrap();
}
