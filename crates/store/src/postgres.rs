//! PostgreSQL: a server that a fleet shares, often beside LiteLLM's own tables.

use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgRow};
use sqlx::{PgPool, Postgres as Driver};

use crate::StoreError;
use crate::engine::{Answer, Dialect, Engine, Kind, Row, Statement, driver_functions};

/// How long a statement waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(5);
/// Connections of one process: one that writes, the others for pages.
const CONNECTIONS: u32 = 4;
/// Parameters that Prisma writes into its URLs and that a server would refuse as settings.
const PRISMA: &[&str] =
    &["schema", "connection_limit", "pool_timeout", "pgbouncer", "socket_timeout", "connect_timeout"];

driver_functions!(Driver, PgRow);

/// A server.
pub(crate) struct Postgres {
    pool: PgPool,
}

impl Postgres {
    /// The database at `url`; connects when it is first used, and again whenever the server was away.
    pub(crate) fn at(url: &str) -> Result<Self, StoreError> {
        let (url, schema) = without_prisma(url);
        let mut options = PgConnectOptions::from_str(&url).map_err(|_| StoreError::ServerUrl)?;
        options = options.application_name("haleway");
        if let Some(schema) = schema {
            options = options.options([("search_path", schema)]);
        }
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .acquire_timeout(ACQUIRE)
            .connect_lazy_with(options);
        Ok(Self { pool })
    }
}

/// `url` without what only Prisma understands, and the schema that it names.
fn without_prisma(url: &str) -> (String, Option<String>) {
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let mut schema = None;
    let mut kept = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name == "schema" {
            schema = Some(value.to_owned()).filter(|name| !name.is_empty());
        }
        if !PRISMA.contains(&name) {
            kept.push(pair);
        }
    }
    let url = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
    (url, schema)
}

impl Engine for Postgres {
    fn run<'a>(&'a self, statements: &'a [Statement]) -> Answer<'a, u64> {
        Box::pin(async move {
            let mut transaction = self.pool.begin().await?;
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
            let rows = bound(query).fetch_all(&self.pool).await?;
            Ok(rows.iter().map(|row| read(row, kinds)).collect::<Result<_, _>>()?)
        })
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn close<'a>(&'a self) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(self.pool.close())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prisma_writes_into_a_url_is_taken_out_and_its_schema_kept() {
        let given = "postgres://u:p@h/d?schema=lite&connection_limit=5&sslmode=require";
        assert_eq!(
            without_prisma(given),
            ("postgres://u:p@h/d?sslmode=require".to_owned(), Some("lite".to_owned()))
        );
        assert_eq!(without_prisma("postgres://h/d?pgbouncer=true"), ("postgres://h/d".to_owned(), None));
        assert_eq!(without_prisma("postgres://h/d"), ("postgres://h/d".to_owned(), None));
    }

    #[test]
    fn an_unreadable_url_is_not_repeated_in_the_error() {
        let error = Postgres::at("postgres://u:sec ret@h:notaport/d").map(|_| ()).unwrap_err();
        assert!(!error.to_string().contains("ret"), "{error}");
    }
}
