//! The probe ledger of a day, which budgets of a restarted process go on with.

use crate::engine::{Kind, Statement};
use crate::{Store, StoreError};

/// What the probes of one deployment used up on one UTC day on one rung, as one life of one process counted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// Days since the epoch.
    pub utc_day: u64,
    /// The deployment's id.
    pub deployment: String,
    /// What the requests were for.
    pub rung: String,
    /// Which life of which process: its rows are its own. Empty in sums.
    pub run: String,
    /// Requests.
    pub requests: u64,
    /// Price in billionths of a US dollar.
    pub nanousd: u64,
    /// Tokens, read and made.
    pub tokens: u64,
    /// Requests whose price is an estimate.
    pub estimated: u64,
    /// Requests whose price is not known.
    pub unpriced: u64,
}

impl Spent {
    pub(crate) fn statement(&self) -> Statement {
        let sql = "INSERT INTO haleway_probe_ledger
                   (utc_day, deployment, rung, run, requests, nanousd, tokens, estimated, unpriced)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                   ON CONFLICT (utc_day, deployment, rung, run) DO UPDATE
                   SET requests = excluded.requests, nanousd = excluded.nanousd, tokens = excluded.tokens,
                       estimated = excluded.estimated, unpriced = excluded.unpriced";
        Statement::new(sql)
            .with(self.utc_day)
            .with(self.deployment.as_str())
            .with(self.rung.as_str())
            .with(self.run.as_str())
            .with(self.requests)
            .with(self.nanousd)
            .with(self.tokens)
            .with(self.estimated)
            .with(self.unpriced)
    }
}

impl Store {
    /// What all processes' probes used up on `utc_day`, by deployment and rung.
    ///
    /// # Errors
    /// As the database says.
    pub async fn spent_on(&self, utc_day: u64) -> Result<Vec<Spent>, StoreError> {
        let sql = "SELECT deployment, rung, CAST(SUM(requests) AS BIGINT), CAST(SUM(nanousd) AS BIGINT),
                   CAST(SUM(tokens) AS BIGINT), CAST(SUM(estimated) AS BIGINT), CAST(SUM(unpriced) AS BIGINT)
                   FROM haleway_probe_ledger WHERE utc_day = $1 GROUP BY deployment, rung ORDER BY deployment, rung";
        let kinds = [Kind::Text, Kind::Text, Kind::Int, Kind::Int, Kind::Int, Kind::Int, Kind::Int];
        let rows = self.engine.rows(&Statement::new(sql).with(utc_day), &kinds).await?;
        let spent = rows.into_iter().map(|mut row| Spent {
            utc_day,
            deployment: row.text().unwrap_or_default(),
            rung: row.text().unwrap_or_default(),
            run: String::new(),
            requests: row.count().unwrap_or(0),
            nanousd: row.count().unwrap_or(0),
            tokens: row.count().unwrap_or(0),
            estimated: row.count().unwrap_or(0),
            unpriced: row.count().unwrap_or(0),
        });
        Ok(spent.collect())
    }
}
