//! What can go wrong with a database, told apart by what helps.

use std::path::PathBuf;

/// Why a store cannot be used. No text holds the URL, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The URL names no database of a known kind.
    #[error("the store's URL must begin with sqlite: or postgres://")]
    Url,
    /// The URL of a PostgreSQL database cannot be read.
    #[error("the store's PostgreSQL URL cannot be read: check host, port and percent-encoding")]
    ServerUrl,
    /// The directory of the file does not exist.
    #[error("the store's directory {} does not exist; create it, or name another file", .0.display())]
    NoDirectory(PathBuf),
    /// The file, or what it would be in, is no place for a database.
    #[error("the store's file {} is a directory", .0.display())]
    NotAFile(PathBuf),
    /// The file may not be written.
    #[error("the store's file {} is read-only; make it writable, or name another file", .0.display())]
    ReadOnly(PathBuf),
    /// A later version of Haleway has migrated the database.
    #[error(
        "the store has schema version {found}, this version of haleway knows up to {known}: use a newer haleway, or another store"
    )]
    NewerSchema {
        /// The version in the database.
        found: i64,
        /// The latest that this program knows.
        known: i64,
    },
    /// The database refuses what is to be written, whatever its own condition: repeating it is useless.
    #[error("the store refuses a row: {0}")]
    Refused(String),
    /// The database cannot be reached, is full, or fails otherwise: later it may work.
    #[error("the store does not answer as it should: {0}")]
    Unavailable(String),
    /// A row cannot be read.
    #[error("the store holds a row that cannot be read: {0}")]
    Unreadable(String),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::error::ErrorKind;
        if let Some(inner) = error.as_database_error() {
            let broken_rule = matches!(
                inner.kind(),
                ErrorKind::UniqueViolation
                    | ErrorKind::ForeignKeyViolation
                    | ErrorKind::NotNullViolation
                    | ErrorKind::CheckViolation
            );
            // PostgreSQL's class 22 is "data exception"; SQLite's code 20 is "datatype mismatch".
            let bad_data =
                inner.code().is_some_and(|code| (code.len() == 5 && code.starts_with("22")) || code == "20");
            if broken_rule || bad_data {
                return Self::Refused(inner.message().to_owned());
            }
            return Self::Unavailable(inner.message().to_owned());
        }
        let unreadable = matches!(
            error,
            sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::ColumnIndexOutOfBounds { .. }
                | sqlx::Error::Decode(_)
        );
        if unreadable { Self::Unreadable(error.to_string()) } else { Self::Unavailable(error.to_string()) }
    }
}
