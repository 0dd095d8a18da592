//! The one trait between the statements and a database, and the little in which SQL differs.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::StoreError;

/// What an engine answers with.
pub(crate) type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A database that runs statements.
pub(crate) trait Engine: Send + Sync {
    /// Runs `statements` in one transaction: all or none. Answers how many rows the last one touched.
    fn run<'a>(&'a self, statements: &'a [Statement]) -> Answer<'a, u64>;

    /// Reads the rows of `query`, whose columns are of `kinds`.
    fn rows<'a>(&'a self, query: &'a Statement, kinds: &'a [Kind]) -> Answer<'a, Vec<Row>>;

    /// Which SQL it speaks.
    fn dialect(&self) -> Dialect;

    /// Ends all connections.
    fn close<'a>(&'a self) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// Which SQL an engine speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// SQLite's.
    Sqlite,
    /// PostgreSQL's.
    Postgres,
}

impl Dialect {
    /// Milliseconds since the epoch in `parameter`, as LiteLLM's tables keep times: `timestamp` there, the same integer in
    /// SQLite, where LiteLLM has no tables.
    pub(crate) fn time(self, parameter: &str) -> String {
        match self {
            Self::Sqlite => parameter.to_owned(),
            Self::Postgres => {
                format!("(to_timestamp(CAST({parameter} AS BIGINT) / 1000.0) AT TIME ZONE 'UTC')")
            }
        }
    }

    /// A time of LiteLLM's tables in milliseconds since the epoch.
    pub(crate) fn millis(self, column: &str) -> String {
        match self {
            Self::Sqlite => column.to_owned(),
            Self::Postgres => format!("CAST(round(extract(epoch FROM {column}) * 1000) AS BIGINT)"),
        }
    }

    /// The text in `parameter` as a JSON column takes it.
    pub(crate) fn json(self, parameter: &str) -> String {
        match self {
            Self::Sqlite => parameter.to_owned(),
            Self::Postgres => format!("CAST({parameter} AS JSONB)"),
        }
    }
}

/// One statement with its arguments, which stand as `$1`, `$2`, … in both dialects.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) arguments: Vec<Value>,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), arguments: Vec::new() }
    }

    pub(crate) fn with(mut self, argument: impl Into<Value>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

/// A value in a row or of an argument. `NULL` has a type, too: PostgreSQL asks for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(Option<String>),
    Int(Option<i64>),
    Real(Option<f64>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::from(Some(text))
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        // No text column of PostgreSQL takes the character NUL.
        Self::Text(text.map(|text| text.replace('\0', "")))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::from(Some(number))
    }
}

impl From<Option<u64>> for Value {
    fn from(number: Option<u64>) -> Self {
        Self::Int(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
    }
}

impl From<Option<f64>> for Value {
    fn from(number: Option<f64>) -> Self {
        Self::Real(number.filter(|number| number.is_finite()))
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int,
    Real,
}

/// One row, read from left to right.
pub(crate) struct Row(std::vec::IntoIter<Value>);

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.as_slice()).finish()
    }
}

impl Row {
    pub(crate) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    /// The next column as text; `None` for `NULL`.
    pub(crate) fn text(&mut self) -> Option<String> {
        match self.0.next() {
            Some(Value::Text(text)) => text,
            Some(Value::Int(_) | Value::Real(_)) | None => None,
        }
    }

    /// The next column as a whole number, not below 0; `None` for `NULL`.
    pub(crate) fn count(&mut self) -> Option<u64> {
        match self.0.next() {
            Some(Value::Int(number)) => number.map(|number| u64::try_from(number).unwrap_or(0)),
            Some(Value::Text(_) | Value::Real(_)) | None => None,
        }
    }

    /// The next column as a number; `None` for `NULL`.
    pub(crate) fn real(&mut self) -> Option<f64> {
        match self.0.next() {
            Some(Value::Real(number)) => number,
            Some(Value::Text(_) | Value::Int(_)) | None => None,
        }
    }
}

/// The two functions that are the same text for every driver, whose types differ.
macro_rules! driver_functions {
    ($database:ty, $row:ty) => {
        /// `statement` with its arguments bound.
        fn bound(
            statement: &crate::engine::Statement,
        ) -> sqlx::query::Query<'_, $database, <$database as sqlx::Database>::Arguments> {
            use crate::engine::Value;
            // Every statement is composed in this crate of constant text; what comes from outside is an argument.
            let mut query = sqlx::query(sqlx::AssertSqlSafe(statement.sql.as_str()));
            for argument in &statement.arguments {
                query = match argument {
                    Value::Text(text) => query.bind(text.as_deref()),
                    Value::Int(number) => query.bind(*number),
                    Value::Real(number) => query.bind(*number),
                };
            }
            query
        }

        /// The columns of `row`.
        fn read(row: &$row, kinds: &[crate::engine::Kind]) -> Result<crate::engine::Row, sqlx::Error> {
            use crate::engine::{Kind, Value};
            use sqlx::Row as _;
            let values = kinds.iter().enumerate().map(|(column, kind)| {
                Ok(match kind {
                    Kind::Text => Value::Text(row.try_get(column)?),
                    Kind::Int => Value::Int(row.try_get(column)?),
                    Kind::Real => Value::Real(row.try_get(column)?),
                })
            });
            Ok(crate::engine::Row::new(values.collect::<Result<_, sqlx::Error>>()?))
        }
    };
}
pub(crate) use driver_functions;
