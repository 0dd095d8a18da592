//! The cases on SQLite, and what can be wrong with a file.

use std::path::{Path, PathBuf};

use haleway_store::{HistoryQuery, Store, StoreError, Write};
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

#[tokio::test]
async fn the_schema_before_is_migrated_with_its_rows() {
    let directory = Directory::new("before");
    let store = directory.store().await;
    store.write(&[Write::Check(check("c1", "d1", true, NOON))]).await.unwrap();
    store.close().await;
    for statement in [
        "DROP TABLE haleway_orders",
        "DROP TABLE haleway_audit",
        "DELETE FROM haleway_schema WHERE version > 1",
    ] {
        directory.sql(statement).await;
    }
    let store = directory.store().await;
    assert_eq!(store.latest().await.unwrap().len(), 1);
    store.write(&[Write::Order(order("d1", Some("drain"), NOON, None))]).await.unwrap();
    assert_eq!(store.orders(NOON).await.unwrap().len(), 1);
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

fn all() -> HistoryQuery {
    HistoryQuery { limit: 1_000, ..HistoryQuery::default() }
}
