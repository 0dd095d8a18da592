//! Reading what was remembered of health.

use crate::engine::{Dialect, Kind, Row, Statement};
use crate::record::Noticed;
use crate::{Check, Details, Incident, Store, StoreError};

/// Which checks to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only of this model group.
    pub model: Option<String>,
    /// Only with this status.
    pub status: Option<String>,
    /// At most so many.
    pub limit: u32,
    /// After so many.
    pub offset: u64,
}

/// Some checks, newest first, of how many.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPage {
    /// The checks.
    pub checks: Vec<Check>,
    /// How many there are that fit the query.
    pub total: u64,
}

/// Which incidents to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IncidentQuery {
    /// Only of this model group or deployment.
    pub model: Option<String>,
    /// Only those that have not ended.
    pub open_only: bool,
    /// At most so many.
    pub limit: u32,
}

/// The conditions of `query`, composed so that each names a column that is to be looked at: a condition that also holds
/// when nothing was asked for would keep an index from being used. Arguments are `$1` and `$2` as far as they are there.
fn conditions(query: &HistoryQuery, dialect: Dialect) -> &'static str {
    match (&query.model, &query.status, dialect) {
        (None, None, _) => "TRUE",
        (Some(_), None, _) => "model_name = $1",
        (None, Some(_), _) => "status = $1",
        // A model has few rows, a status may have millions: the plus sign keeps SQLite from that index.
        (Some(_), Some(_), Dialect::Sqlite) => "model_name = $1 AND +status = $2",
        (Some(_), Some(_), Dialect::Postgres) => "model_name = $1 AND status = $2",
    }
}

/// `sql` with the arguments of [`conditions`].
fn filtered(sql: String, query: &HistoryQuery) -> Statement {
    [&query.model, &query.status]
        .into_iter()
        .flatten()
        .fold(Statement::new(sql), |statement, value| statement.with(value.as_str()))
}

impl Store {
    /// Checks that fit `query`, newest first, also those that LiteLLM wrote.
    ///
    /// # Errors
    /// As the database says.
    pub async fn history(&self, query: &HistoryQuery) -> Result<HistoryPage, StoreError> {
        let dialect = self.engine.dialect();
        let total = self.total(query).await?;
        let arguments = [&query.model, &query.status].into_iter().flatten().count();
        let page = format!(
            r#"SELECT health_check_id, model_name, model_id, status, error_message, response_time_ms,
                      CAST(details AS TEXT), checked_by, {}, {}
               FROM "LiteLLM_HealthCheckTable" WHERE {}
               ORDER BY checked_at DESC, health_check_id DESC LIMIT ${} OFFSET ${}"#,
            dialect.millis("checked_at"),
            dialect.millis("created_at"),
            conditions(query, dialect),
            arguments + 1,
            arguments + 2,
        );
        let page = filtered(page, query).with(u64::from(query.limit)).with(query.offset);
        let kinds = [
            Kind::Text,
            Kind::Text,
            Kind::Text,
            Kind::Text,
            Kind::Text,
            Kind::Real,
            Kind::Text,
            Kind::Text,
            Kind::Int,
            Kind::Int,
        ];
        let rows = self.engine.rows(&page, &kinds).await?;
        Ok(HistoryPage { checks: rows.into_iter().map(check).collect(), total })
    }

    /// How many checks fit `query`.
    pub(crate) async fn total(&self, query: &HistoryQuery) -> Result<u64, StoreError> {
        let dialect = self.engine.dialect();
        let count = match dialect {
            Dialect::Sqlite => "SELECT COALESCE(SUM(checks), 0) FROM haleway_counts",
            Dialect::Postgres => r#"SELECT CAST(COUNT(*) AS BIGINT) FROM "LiteLLM_HealthCheckTable""#,
        };
        let count = filtered(format!("{count} WHERE {}", conditions(query, dialect)), query);
        let rows = self.engine.rows(&count, &[Kind::Int]).await?;
        Ok(rows.into_iter().next().and_then(|mut row| row.count()).unwrap_or(0))
    }

    /// The latest check of every deployment that this gateway, in any process, has checked.
    ///
    /// # Errors
    /// As the database says.
    pub async fn latest(&self) -> Result<Vec<Check>, StoreError> {
        // One text for all: the drivers' cost per row is several times that of reading it.
        let query = match self.engine.dialect() {
            Dialect::Sqlite => {
                "SELECT group_concat(record, ',') FROM (SELECT record FROM haleway_latest ORDER BY deployment, model_name)"
            }
            Dialect::Postgres => {
                "SELECT string_agg(record, ',' ORDER BY deployment, model_name) FROM haleway_latest"
            }
        };
        let rows = self.engine.rows(&Statement::new(query), &[Kind::Text]).await?;
        let records = rows.into_iter().next().and_then(|mut row| row.text()).unwrap_or_default();
        serde_json::from_str(&format!("[{records}]"))
            .map_err(|error| StoreError::Unreadable(error.to_string()))
    }

    /// Incidents that fit `query`, newest first.
    ///
    /// # Errors
    /// As the database says.
    pub async fn incidents(&self, query: &IncidentQuery) -> Result<Vec<Incident>, StoreError> {
        let sql = format!(
            "SELECT incident_id, deployment, model_name, began_at, ended_at, cause, noticed_by, observer, message,
                    probe_nanousd
             FROM haleway_incidents
             WHERE (CAST($1 AS TEXT) IS NULL OR model_name = $1 OR deployment = $1){}
             ORDER BY began_at DESC, incident_id DESC LIMIT $2",
            if query.open_only { " AND ended_at IS NULL" } else { "" },
        );
        let kinds = [
            Kind::Text,
            Kind::Text,
            Kind::Text,
            Kind::Int,
            Kind::Int,
            Kind::Text,
            Kind::Text,
            Kind::Text,
            Kind::Text,
            Kind::Int,
        ];
        let query = Statement::new(sql).with(query.model.as_deref()).with(u64::from(query.limit));
        let rows = self.engine.rows(&query, &kinds).await?;
        let incidents = rows.into_iter().map(|mut row| Incident {
            incident_id: row.text().unwrap_or_default(),
            deployment: row.text().unwrap_or_default(),
            model_name: row.text().unwrap_or_default(),
            began_at: row.count().unwrap_or(0),
            ended_at: row.count(),
            cause: row.text().unwrap_or_default(),
            noticed_by: Noticed::from_name(&row.text().unwrap_or_default()),
            observer: row.text().unwrap_or_default(),
            message: row.text(),
            probe_nanousd: row.count().unwrap_or(0),
        });
        Ok(incidents.collect())
    }
}

fn check(mut row: Row) -> Check {
    Check {
        health_check_id: row.text().unwrap_or_default(),
        model_name: row.text().unwrap_or_default(),
        model_id: row.text(),
        healthy: row.text().is_some_and(|status| status == "healthy"),
        error_message: row.text(),
        response_time_ms: row.real(),
        details: row.text().and_then(Details::from_text),
        checked_by: row.text(),
        checked_at: row.count().unwrap_or(0),
        created_at: row.count().unwrap_or(0),
    }
}
