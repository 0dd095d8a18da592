//! What operators want of deployments, and who wanted it.

use crate::engine::{Kind, Statement};
use crate::{Store, StoreError};

/// What an operator wants of a deployment; the newest order counts. Times are milliseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The deployment's id. It need not be configured: a deployment that comes back finds its order.
    pub deployment: String,
    /// The command, in the words of the API; `None` = nothing any more.
    pub command: Option<String>,
    /// When it was given.
    pub given_at: u64,
    /// When it ends by itself.
    pub until: Option<u64>,
    /// Why.
    pub reason: String,
}

impl Order {
    pub(crate) fn statement(&self) -> Statement {
        let Some(command) = &self.command else {
            return Statement::new("DELETE FROM haleway_orders WHERE deployment = $1 AND given_at <= $2")
                .with(self.deployment.as_str())
                .with(self.given_at);
        };
        let sql = "INSERT INTO haleway_orders (deployment, command, given_at, until_at, reason)
                   VALUES ($1, $2, $3, $4, $5)
                   ON CONFLICT (deployment) DO UPDATE
                   SET command = excluded.command, given_at = excluded.given_at, until_at = excluded.until_at,
                       reason = excluded.reason
                   WHERE excluded.given_at >= haleway_orders.given_at";
        Statement::new(sql)
            .with(self.deployment.as_str())
            .with(command.as_str())
            .with(self.given_at)
            .with(self.until)
            .with(self.reason.as_str())
    }
}

/// One line of the audit.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct AuditRow {
    /// Made by the writer.
    pub audit_id: String,
    /// When, in milliseconds since the epoch.
    pub at: u64,
    /// Who: the alias of the key, or `master`.
    pub actor: String,
    /// From where: the caller's address as far as it is known.
    pub origin: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub subject: String,
    /// Why.
    pub reason: String,
    /// When it ends by itself, in milliseconds since the epoch.
    pub until: Option<u64>,
}

impl AuditRow {
    pub(crate) fn statement(&self) -> Statement {
        self.inserted("VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
    }

    /// The same, but only while `query` finds something. Its own arguments begin at `$9`.
    pub(crate) fn statement_while(&self, query: &str) -> Statement {
        self.inserted(&format!("SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE EXISTS ({query})"))
    }

    fn inserted(&self, values: &str) -> Statement {
        let sql = format!(
            "INSERT INTO haleway_audit (audit_id, at, actor, origin, action, subject, reason, until_at)
             {values} ON CONFLICT DO NOTHING"
        );
        Statement::new(sql)
            .with(self.audit_id.as_str())
            .with(self.at)
            .with(self.actor.as_str())
            .with(self.origin.as_str())
            .with(self.action.as_str())
            .with(self.subject.as_str())
            .with(self.reason.as_str())
            .with(self.until)
    }
}

impl Store {
    /// The orders that hold at `now`, in milliseconds since the epoch.
    ///
    /// # Errors
    /// As the database says.
    pub async fn orders(&self, now: u64) -> Result<Vec<Order>, StoreError> {
        let sql = "SELECT deployment, command, given_at, until_at, reason FROM haleway_orders
                   WHERE until_at IS NULL OR until_at > $1 ORDER BY deployment";
        let kinds = [Kind::Text, Kind::Text, Kind::Int, Kind::Int, Kind::Text];
        let rows = self.engine.rows(&Statement::new(sql).with(now), &kinds).await?;
        let orders = rows.into_iter().map(|mut row| Order {
            deployment: row.text().unwrap_or_default(),
            command: row.text(),
            given_at: row.count().unwrap_or(0),
            until: row.count(),
            reason: row.text().unwrap_or_default(),
        });
        Ok(orders.collect())
    }

    /// The latest lines of the audit, newest first.
    ///
    /// # Errors
    /// As the database says.
    pub async fn audit(&self, limit: u32) -> Result<Vec<AuditRow>, StoreError> {
        let sql = "SELECT audit_id, at, actor, origin, action, subject, reason, until_at FROM haleway_audit
                   ORDER BY at DESC, audit_id DESC LIMIT $1";
        let kinds =
            [Kind::Text, Kind::Int, Kind::Text, Kind::Text, Kind::Text, Kind::Text, Kind::Text, Kind::Int];
        let rows = self.engine.rows(&Statement::new(sql).with(u64::from(limit)), &kinds).await?;
        let lines = rows.into_iter().map(|mut row| AuditRow {
            audit_id: row.text().unwrap_or_default(),
            at: row.count().unwrap_or(0),
            actor: row.text().unwrap_or_default(),
            origin: row.text().unwrap_or_default(),
            action: row.text().unwrap_or_default(),
            subject: row.text().unwrap_or_default(),
            reason: row.text().unwrap_or_default(),
            until: row.count(),
        });
        Ok(lines.collect())
    }
}
