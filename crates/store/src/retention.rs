//! Forgetting what is old, in steps small enough that nobody waits for them.

use std::time::Duration;

use crate::engine::Statement;
use crate::{HistoryQuery, Store, StoreError};

/// Rows that one step deletes at most.
const STEP: u64 = 1_000;

/// What to forget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Everything older than this; `None` = keep for ever.
    pub age: Option<Duration>,
    /// The oldest checks beyond so many; `None` = keep all.
    pub rows: Option<u64>,
}

impl Store {
    /// One step of forgetting at `now`, in milliseconds since the epoch. Answers whether more may be left: call it again
    /// after other writes had their turn. Never forgets the latest check of a deployment, an open incident or an order.
    ///
    /// # Errors
    /// As the database says.
    pub async fn forget(&self, retention: Retention, now: u64) -> Result<bool, StoreError> {
        let mut more = false;
        if let Some(age) = retention.age {
            let before = now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
            more |= self.forget_before(before).await?;
        }
        if let Some(rows) = retention.rows {
            more |= self.forget_beyond(rows).await?;
        }
        Ok(more)
    }

    async fn forget_before(&self, before: u64) -> Result<bool, StoreError> {
        let checks = format!(
            r#"DELETE FROM "LiteLLM_HealthCheckTable" WHERE health_check_id IN
               (SELECT health_check_id FROM "LiteLLM_HealthCheckTable" WHERE checked_at < {}
                ORDER BY checked_at LIMIT $2)"#,
            self.engine.dialect().time("$1"),
        );
        let incidents = "DELETE FROM haleway_incidents WHERE incident_id IN
                         (SELECT incident_id FROM haleway_incidents WHERE began_at < $1 AND ended_at < $1
                          ORDER BY began_at LIMIT $2)";
        let audit = "DELETE FROM haleway_audit WHERE audit_id IN
                     (SELECT audit_id FROM haleway_audit WHERE at < $1 ORDER BY at LIMIT $2)";
        let mut more = false;
        for sql in [checks.as_str(), incidents, audit] {
            let gone = self.engine.run(&[Statement::new(sql).with(before).with(STEP)]).await?;
            more |= gone >= STEP;
        }
        let ledger = Statement::new("DELETE FROM haleway_probe_ledger WHERE utc_day < $1");
        self.engine.run(&[ledger.with(before / (24 * 60 * 60 * 1000))]).await?;
        Ok(more)
    }

    async fn forget_beyond(&self, kept: u64) -> Result<bool, StoreError> {
        let excess = self.total(&HistoryQuery::default()).await?.saturating_sub(kept);
        if excess == 0 {
            return Ok(false);
        }
        let sql = r#"DELETE FROM "LiteLLM_HealthCheckTable" WHERE health_check_id IN
                     (SELECT health_check_id FROM "LiteLLM_HealthCheckTable" ORDER BY checked_at LIMIT $1)"#;
        self.engine.run(&[Statement::new(sql).with(excess.min(STEP))]).await?;
        Ok(excess > STEP)
    }
}
