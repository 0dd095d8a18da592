//! The memory on disk: health history, incidents, the probe ledger, operators' orders and their audit, stored models.
//!
//! One set of statements over two engines, SQLite and PostgreSQL: what differs between them is in [`engine`], and one
//! conformance suite runs on both. Nothing here decides about health: a store that is lost costs memory, never a verdict.
//! Writes come in batches from one writer per process, which keeps what is not yet written in a [`Backlog`].

mod backlog;
mod details;
mod engine;
mod error;
mod history;
mod ledger;
mod models;
mod orders;
mod postgres;
mod record;
mod retention;
mod schema;
mod seal;
mod sqlite;
mod write;

#[cfg(test)]
mod full_disk;

use std::fmt;

pub use backlog::Backlog;
pub use details::Details;
pub use error::StoreError;
pub use history::{HistoryPage, HistoryQuery, IncidentQuery};
pub use ledger::Spent;
pub use models::{ModelRow, ModelsMark};
pub use orders::{AuditRow, Order};
pub use record::{Check, Incident, Noticed, Return};
pub use retention::Retention;
pub use seal::{CannotOpen, Sealer};
pub use write::Write;

use engine::Engine;

/// A database that remembers.
pub struct Store {
    engine: Box<dyn Engine>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the URL: it may hold a password.
        f.debug_struct("Store").field("dialect", &self.engine.dialect()).finish_non_exhaustive()
    }
}

impl Store {
    /// The database at `url`: `sqlite:PATH`, `sqlite::memory:`, or `postgres://…`. Opens no connection to a server yet, so
    /// that a server that is down at start does not keep a gateway down; call [`Store::migrate`] before anything else.
    ///
    /// # Errors
    /// When the URL cannot be read, or the file of SQLite cannot be: its directory is missing, or it is read-only.
    pub fn at(url: &str) -> Result<Self, StoreError> {
        let engine: Box<dyn Engine> = if let Some(path) = url.strip_prefix("sqlite:") {
            Box::new(sqlite::Sqlite::at(path.strip_prefix("//").unwrap_or(path))?)
        } else if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            Box::new(postgres::Postgres::at(url)?)
        } else {
            return Err(StoreError::Url);
        };
        Ok(Self { engine })
    }

    /// Brings the tables to this version. Tables of LiteLLM that are there are left as they are.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`] for a database that a later version has migrated; else as the database says.
    pub async fn migrate(&self) -> Result<(), StoreError> {
        schema::migrate(&*self.engine).await
    }

    /// Whether the database is a file of this machine, which no other process is meant to write.
    pub fn is_embedded(&self) -> bool {
        self.engine.dialect() == engine::Dialect::Sqlite
    }

    /// Ends all connections; what was written is on disk then.
    pub async fn close(&self) {
        self.engine.close().await;
    }
}
