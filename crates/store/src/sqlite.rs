//! SQLite: one file, one writer, readers beside it.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{Sqlite as Driver, SqlitePool};

use crate::StoreError;
use crate::engine::{Answer, Dialect, Engine, Kind, Row, Statement, driver_functions};

/// How long a connection waits for a lock that another process holds.
const BUSY: Duration = Duration::from_secs(5);
/// Connections for reading.
const READERS: u32 = 4;

driver_functions!(Driver, SqliteRow);

/// A file, or a database in memory.
pub(crate) struct Sqlite {
    /// The one connection that writes, so that two writers of this process never wait for one another's lock.
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Sqlite {
    /// The database in the file `path`, or in memory.
    pub(crate) fn at(path: &str) -> Result<Self, StoreError> {
        let one = || SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        if path == ":memory:" {
            // A second connection would see another, empty database.
            let pool = one().connect_lazy_with(SqliteConnectOptions::new().in_memory(true));
            return Ok(Self { writer: pool.clone(), readers: pool });
        }
        check_file(Path::new(path))?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // In WAL a crash of the process loses nothing; one of the machine at most the last batches.
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY);
        let readers = SqlitePoolOptions::new().max_connections(READERS).connect_lazy_with(options.clone());
        Ok(Self { writer: one().connect_lazy_with(options), readers })
    }
}

/// Finds what SQLite itself would only call "unable to open database file".
fn check_file(path: &Path) -> Result<(), StoreError> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        return Err(StoreError::NoDirectory(directory.to_owned()));
    }
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    if found.is_dir() {
        return Err(StoreError::NotAFile(path.to_owned()));
    }
    if found.permissions().readonly() {
        return Err(StoreError::ReadOnly(path.to_owned()));
    }
    Ok(())
}

impl Engine for Sqlite {
    fn run<'a>(&'a self, statements: &'a [Statement]) -> Answer<'a, u64> {
        Box::pin(async move {
            // At once the writer's lock: a reader's lock that grows into one can fail half-way.
            let mut transaction = self.writer.begin_with("BEGIN IMMEDIATE").await?;
            let mut touched = 0;
            for statement in statements {
                touched = bound(statement).execute(&mut *transaction).await?.rows_affected();
            }
            transaction.commit().await?;
            Ok(touched)
        })
    }

    fn rows<'a>(&'a self, query: &'a Statement, kinds: &'a [Kind]) -> Answer<'a, Vec<Row>> {
        Box::pin(async move {
            let rows = bound(query).fetch_all(&self.readers).await?;
            Ok(rows.iter().map(|row| read(row, kinds)).collect::<Result<_, _>>()?)
        })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn close<'a>(&'a self) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            self.readers.close().await;
            self.writer.close().await;
        })
    }
}
