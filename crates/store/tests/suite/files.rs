//! The cases on SQLite, and what can be wrong with a file.

use std::path::{Path, PathBuf};

use haleway_store::{HistoryQuery, Retention, Store, StoreError, Write};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};

use crate::cases::every_case;
use crate::samples::{NOON, check, order};

/// A directory that goes away with the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("haleway-store-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.0.join("haleway.db").display())
    }

    async fn store(&self) -> Store {
        let store = Store::at(&self.url()).unwrap();
        store.migrate().await.unwrap();
        store
    }

    async fn sql(&self, statement: &'static str) {
        let options = SqliteConnectOptions::new().filename(self.0.join("haleway.db"));
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::query(statement).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

macro_rules! on_a_file {
    ($case:ident) => {
        #[tokio::test]
        async fn $case() {
            let directory = Directory::new(stringify!($case));
            crate::cases::$case(directory.store().await).await;
        }
    };
}
every_case!(on_a_file);

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let directory = Directory::new("restart");
    let store = directory.store().await;
    store.write(&[Write::Check(check("c1", "d1", true, NOON))]).await.unwrap();
    store.close().await;
    assert_eq!(directory.store().await.latest().await.unwrap(), [check("c1", "d1", true, NOON)]);
}

#[tokio::test]
async fn a_database_in_memory_remembers_while_it_lives() {
    let store = Store::at("sqlite::memory:").unwrap();
    store.migrate().await.unwrap();
    store.write(&[Write::Check(check("c1", "d1", true, NOON))]).await.unwrap();
    assert_eq!(store.latest().await.unwrap().len(), 1);
}

/// What takes a database back to an earlier version.
const WITHOUT_FOURTH: &[&str] =
    &["DROP TABLE \"LiteLLM_ProxyModelTable\"", "DELETE FROM haleway_schema WHERE version > 3"];
const WITHOUT_THIRD: &[&str] = &[
    "DROP TABLE haleway_counts",
    "DROP TRIGGER haleway_counts_more",
    "DROP TRIGGER haleway_counts_fewer",
    "DROP INDEX haleway_checks_of_model",
    "DROP INDEX haleway_checks_of_status",
    "DELETE FROM haleway_schema WHERE version > 2",
];
const WITHOUT_SECOND: &[&str] = &[
    "DROP TABLE haleway_orders",
    "DROP TABLE haleway_audit",
    "DELETE FROM haleway_schema WHERE version > 1",
];

#[tokio::test]
async fn every_earlier_schema_is_migrated_with_its_rows() {
    for (name, steps) in [
        ("before-4", vec![WITHOUT_FOURTH]),
        ("before-3", vec![WITHOUT_FOURTH, WITHOUT_THIRD]),
        ("before-2", vec![WITHOUT_FOURTH, WITHOUT_THIRD, WITHOUT_SECOND]),
    ] {
        let directory = Directory::new(name);
        let store = directory.store().await;
        let rows = ["c1", "c2"].map(|id| Write::Check(check(id, "d1", true, NOON)));
        store.write(&rows).await.unwrap();
        store.close().await;
        for statement in steps.into_iter().flatten() {
            directory.sql(statement).await;
        }
        // Two processes that start together.
        let (store, other) = tokio::join!(directory.store(), directory.store());
        assert_eq!(store.latest().await.unwrap().len(), 1, "{name}");
        assert_eq!(store.history(&all()).await.unwrap().total, 2, "{name}: what was there is counted, once");
        other.write(&[Write::Order(order("d1", Some("drain"), NOON, None))]).await.unwrap();
        assert_eq!(store.orders(NOON).await.unwrap().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_schema_from_the_future_is_refused_with_both_versions() {
    let directory = Directory::new("future");
    directory.store().await.close().await;
    directory.sql("INSERT INTO haleway_schema (version) VALUES (99)").await;
    let error = Store::at(&directory.url()).unwrap().migrate().await.unwrap_err();
    assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_be_is_named_before_anything_starts() {
    let directory = Directory::new("wrong");
    let at = |path: &Path| Store::at(&format!("sqlite:{}", path.display())).map(|_| ()).unwrap_err();
    let missing = directory.0.join("missing").join("haleway.db");
    assert!(matches!(at(&missing), StoreError::NoDirectory(path) if path == directory.0.join("missing")));
    assert!(matches!(at(&directory.0), StoreError::NotAFile(path) if path == directory.0));
    let locked = directory.0.join("locked.db");
    std::fs::write(&locked, b"").unwrap();
    let mut permissions = std::fs::metadata(&locked).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&locked, permissions).unwrap();
    assert!(matches!(at(&locked), StoreError::ReadOnly(path) if path == locked));
    assert!(matches!(Store::at("mysql://h/d").map(|_| ()).unwrap_err(), StoreError::Url));
}

#[tokio::test]
async fn a_store_that_cannot_write_loses_nothing_and_takes_it_later() {
    let directory = Directory::new("lost");
    let store = directory.store().await;
    let batch: Vec<_> =
        (0..100).map(|n| Write::Check(check(&format!("c{n}"), "d1", true, NOON + n))).collect();
    directory.sql("ALTER TABLE haleway_latest RENAME TO away").await;
    let error = store.write(&batch).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    directory.sql("ALTER TABLE away RENAME TO haleway_latest").await;
    assert_eq!(store.history(&all()).await.unwrap().total, 0, "all of a batch or nothing");
    store.write(&batch).await.unwrap();
    assert_eq!(store.history(&all()).await.unwrap().total, 100);
}

/// Report H08: a history without retention. 100,000 results, a cap of 1,000.
#[tokio::test]
async fn h08_a_long_history_shrinks_to_its_cap_in_small_steps_between_which_others_write() {
    let directory = Directory::new("h08");
    let store = directory.store().await;
    directory
        .sql(
            r#"WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
               INSERT INTO "LiteLLM_HealthCheckTable" (health_check_id, model_name, model_id, status, checked_at, updated_at)
               SELECT 'old' || n, 'g', 'd' || (n % 10), 'healthy', n, n FROM n"#,
        )
        .await;
    let retention = Retention { age: None, rows: Some(1_000) };
    let (mut left, mut steps) = (100_000, 0);
    loop {
        let more = store.forget(retention, NOON).await.unwrap();
        let now = store.history(&all()).await.unwrap().total;
        assert!(left - now <= 1_000, "one step deletes {} rows", left - now);
        if !more {
            assert!(now <= 1_000, "{now} rows are left");
            break;
        }
        store.write(&[Write::Check(check(&format!("new{steps}"), "d1", true, NOON + steps))]).await.unwrap();
        (left, steps) = (now + 1, steps + 1);
    }
    let found = store.history(&all()).await.unwrap();
    let newest = format!("new{}", steps - 1);
    assert_eq!(found.checks[0].health_check_id, newest, "the oldest went, not what came meanwhile");
}

fn all() -> HistoryQuery {
    HistoryQuery { limit: 1_000, ..HistoryQuery::default() }
}
