//! What is written, and how a batch becomes one transaction.

use crate::engine::{Dialect, Statement};
use crate::orders::{AuditRow, Order};
use crate::record::MESSAGE;
use crate::{Check, Details, Incident, Return, Spent, Store, StoreError};

/// One thing to remember. Each can be written twice without harm: a commit whose answer was lost is repeated.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// A verdict.
    Check(Check),
    /// An incident began.
    Began(Incident),
    /// An incident ended.
    Ended(Return),
    /// What this process's probes used up on a day, whole.
    Spent(Spent),
    /// What an operator wants of a deployment.
    Order(Order),
    /// Who wanted what.
    Audit(AuditRow),
}

/// Of several waiting writes with one subject only the newest must not be lost.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Check(String),
    Began(String),
    Ended(String),
    Spent(u64, String, String),
    Order(String),
    Audit(String),
}

impl Write {
    pub(crate) fn subject(&self) -> Subject {
        match self {
            Self::Check(check) => {
                Subject::Check(check.model_id.clone().unwrap_or_else(|| check.model_name.clone()))
            }
            Self::Began(incident) => Subject::Began(incident.deployment.clone()),
            Self::Ended(back) => Subject::Ended(back.deployment.clone()),
            Self::Spent(spent) => Subject::Spent(spent.utc_day, spent.deployment.clone(), spent.rung.clone()),
            Self::Order(order) => Subject::Order(order.deployment.clone()),
            Self::Audit(row) => Subject::Audit(row.audit_id.clone()),
        }
    }

    fn statements(&self, dialect: Dialect, into: &mut Vec<Statement>) -> Result<(), StoreError> {
        match self {
            Self::Check(check) => into.extend([row(check, dialect), latest(check)?]),
            Self::Began(incident) => into.push(began(incident)),
            Self::Ended(back) => into.push(
                Statement::new(
                    "UPDATE haleway_incidents SET ended_at = $1, probe_nanousd = probe_nanousd + $2
                     WHERE deployment = $3 AND ended_at IS NULL AND began_at <= $1",
                )
                .with(back.at)
                .with(back.probe_nanousd)
                .with(back.deployment.as_str()),
            ),
            Self::Spent(spent) => into.push(spent.statement()),
            Self::Order(order) => into.push(order.statement()),
            Self::Audit(row) => into.push(row.statement()),
        }
        Ok(())
    }
}

fn row(check: &Check, dialect: Dialect) -> Statement {
    let sql = format!(
        r#"INSERT INTO "LiteLLM_HealthCheckTable"
           (health_check_id, model_name, model_id, status, healthy_count, unhealthy_count, error_message,
            response_time_ms, details, checked_by, checked_at, created_at, updated_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, {}, $10, {}, {time}, {time}) ON CONFLICT DO NOTHING"#,
        dialect.json("$9"),
        dialect.time("$11"),
        time = dialect.time("$12"),
    );
    let message = check.error_message.as_deref().map(|text| text.chars().take(MESSAGE).collect::<String>());
    Statement::new(sql)
        .with(check.health_check_id.as_str())
        .with(check.model_name.as_str())
        .with(check.model_id.as_deref())
        .with(check.status())
        .with(u64::from(check.healthy))
        .with(u64::from(!check.healthy))
        .with(message.as_deref())
        .with(check.response_time_ms)
        .with(check.details.as_ref().map(Details::as_str))
        .with(check.checked_by.as_deref())
        .with(check.checked_at)
        .with(check.created_at)
}

fn latest(check: &Check) -> Result<Statement, StoreError> {
    let record = serde_json::to_string(check).map_err(|error| StoreError::Refused(error.to_string()))?;
    let sql =
        "INSERT INTO haleway_latest (deployment, model_name, recorded_at, record) VALUES ($1, $2, $3, $4)
               ON CONFLICT (deployment, model_name) DO UPDATE
               SET recorded_at = excluded.recorded_at, record = excluded.record
               WHERE excluded.recorded_at >= haleway_latest.recorded_at";
    Ok(Statement::new(sql)
        .with(check.model_id.as_deref().unwrap_or(""))
        .with(check.model_name.as_str())
        .with(check.created_at)
        .with(record.as_str()))
}

fn began(incident: &Incident) -> Statement {
    let sql = "INSERT INTO haleway_incidents
               (incident_id, deployment, model_name, began_at, cause, noticed_by, observer, message)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING";
    Statement::new(sql)
        .with(incident.incident_id.as_str())
        .with(incident.deployment.as_str())
        .with(incident.model_name.as_str())
        .with(incident.began_at)
        .with(incident.cause.as_str())
        .with(incident.noticed_by.as_str())
        .with(incident.observer.as_str())
        .with(incident.message.as_deref())
}

impl Store {
    /// Writes `batch` in one transaction, in its order: all or nothing.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when one of them can never be written; else as the database says, and the same batch may
    /// be written again.
    pub async fn write(&self, batch: &[Write]) -> Result<(), StoreError> {
        let mut statements = Vec::with_capacity(batch.len() * 2);
        for write in batch {
            write.statements(self.engine.dialect(), &mut statements)?;
        }
        if !statements.is_empty() {
            self.engine.run(&statements).await?;
        }
        Ok(())
    }
}
