//! Models that live in the database, in LiteLLM's own table: what one of its proxies stored is read, and reads what is
//! stored here.
//!
//! A row is kept as it is, sealed values included: what is sealed and with which key is not decided here.

use crate::engine::{Dialect, Kind, Row, Statement};
use crate::orders::AuditRow;
use crate::{Store, StoreError};

/// One row of `LiteLLM_ProxyModelTable`. Times are milliseconds since the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRow {
    /// `model_id`.
    pub id: String,
    /// `model_name`: the model group.
    pub name: String,
    /// `litellm_params` as JSON text, secrets sealed.
    pub params: String,
    /// `model_info` as JSON text.
    pub info: Option<String>,
    /// Paused by an administrator.
    pub blocked: bool,
    /// When it was made.
    pub created_at: u64,
    /// By whom.
    pub created_by: String,
    /// When it was changed last. Rises with every change.
    pub updated_at: u64,
    /// By whom.
    pub updated_by: String,
}

/// What differs after every change to the stored models: cheap to read, only good for comparing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelsMark {
    count: u64,
    sum: u64,
}

const KINDS: [Kind; 9] =
    [Kind::Text, Kind::Text, Kind::Text, Kind::Text, Kind::Int, Kind::Int, Kind::Text, Kind::Int, Kind::Text];

fn select(dialect: Dialect) -> String {
    // LiteLLM's older schemas have no column `blocked`.
    let blocked = match dialect {
        Dialect::Sqlite => "blocked",
        Dialect::Postgres => "CAST(CASE WHEN to_jsonb(m) ->> 'blocked' = 'true' THEN 1 ELSE 0 END AS BIGINT)",
    };
    format!(
        r#"SELECT model_id, model_name, CAST(litellm_params AS TEXT), CAST(model_info AS TEXT), {blocked},
           {created}, created_by, {updated}, updated_by FROM "LiteLLM_ProxyModelTable" m"#,
        created = dialect.millis("created_at"),
        updated = dialect.millis("updated_at"),
    )
}

fn read(mut row: Row) -> ModelRow {
    ModelRow {
        id: row.text().unwrap_or_default(),
        name: row.text().unwrap_or_default(),
        params: row.text().unwrap_or_default(),
        info: row.text(),
        blocked: row.count().unwrap_or(0) != 0,
        created_at: row.count().unwrap_or(0),
        created_by: row.text().unwrap_or_default(),
        updated_at: row.count().unwrap_or(0),
        updated_by: row.text().unwrap_or_default(),
    }
}

impl Store {
    /// Every stored model, oldest first.
    ///
    /// # Errors
    /// As the database says.
    pub async fn models(&self) -> Result<Vec<ModelRow>, StoreError> {
        let sql = format!("{} ORDER BY created_at, model_id", select(self.engine.dialect()));
        Ok(self.engine.rows(&Statement::new(sql), &KINDS).await?.into_iter().map(read).collect())
    }

    /// The stored model with this id.
    ///
    /// # Errors
    /// As the database says.
    pub async fn model(&self, id: &str) -> Result<Option<ModelRow>, StoreError> {
        let sql = format!("{} WHERE model_id = $1", select(self.engine.dialect()));
        let rows = self.engine.rows(&Statement::new(sql).with(id), &KINDS).await?;
        Ok(rows.into_iter().next().map(read))
    }

    /// What to compare to know whether a stored model changed.
    ///
    /// # Errors
    /// As the database says.
    pub async fn models_mark(&self) -> Result<ModelsMark, StoreError> {
        let updated = self.engine.dialect().millis("updated_at");
        let sql = format!(
            r#"SELECT CAST(COUNT(*) AS BIGINT), CAST(COALESCE(SUM({updated}), 0) AS BIGINT)
               FROM "LiteLLM_ProxyModelTable""#
        );
        let rows = self.engine.rows(&Statement::new(sql), &[Kind::Int, Kind::Int]).await?;
        let mut numbers = rows.into_iter().next();
        let mut next = || numbers.as_mut().and_then(Row::count).unwrap_or(0);
        Ok(ModelsMark { count: next(), sum: next() })
    }

    /// Stores a new model, and who did it.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when there is one with this id; else as the database says.
    pub async fn add_model(&self, row: &ModelRow, audit: &AuditRow) -> Result<(), StoreError> {
        let dialect = self.engine.dialect();
        // Without `blocked`, which older tables lack: a new model is not.
        let sql = format!(
            r#"INSERT INTO "LiteLLM_ProxyModelTable"
               (model_id, model_name, litellm_params, model_info, created_at, created_by, updated_at, updated_by)
               VALUES ($1, $2, {}, {}, {}, $6, {}, $8)"#,
            dialect.json("$3"),
            dialect.json("$4"),
            dialect.time("$5"),
            dialect.time("$7"),
        );
        let insert = Statement::new(sql)
            .with(row.id.as_str())
            .with(row.name.as_str())
            .with(row.params.as_str())
            .with(row.info.as_deref())
            .with(row.created_at)
            .with(row.created_by.as_str())
            .with(row.updated_at)
            .with(row.updated_by.as_str());
        self.engine.run(&[audit.statement(), insert]).await.map(drop)
    }

    /// Puts `row` in the place of `before`, and notes who did it. `false`: that is gone, or changed meanwhile.
    ///
    /// # Errors
    /// As the database says.
    pub async fn change_model(
        &self,
        before: &ModelRow,
        row: &ModelRow,
        audit: &AuditRow,
    ) -> Result<bool, StoreError> {
        let dialect = self.engine.dialect();
        let known = dialect.millis("updated_at");
        // What is blocked has the column.
        let unblock = match (before.blocked && !row.blocked, dialect) {
            (false, _) => "",
            (true, Dialect::Sqlite) => ", blocked = 0",
            (true, Dialect::Postgres) => ", blocked = false",
        };
        let sql = format!(
            r#"UPDATE "LiteLLM_ProxyModelTable" SET model_name = $1, litellm_params = {}, model_info = {},
               updated_at = {}, updated_by = $5{unblock} WHERE model_id = $6 AND {known} = $7"#,
            dialect.json("$2"),
            dialect.json("$3"),
            dialect.time("$4"),
        );
        let update = Statement::new(sql)
            .with(row.name.as_str())
            .with(row.params.as_str())
            .with(row.info.as_deref())
            // Whatever the clocks of two processes say, a change is seen as one.
            .with(row.updated_at.max(before.updated_at + 1))
            .with(row.updated_by.as_str())
            .with(row.id.as_str())
            .with(before.updated_at);
        let stands =
            format!(r#"SELECT 1 FROM "LiteLLM_ProxyModelTable" WHERE model_id = $9 AND {known} = $10"#);
        let audit = audit.statement_while(&stands).with(row.id.as_str()).with(before.updated_at);
        Ok(self.engine.run(&[audit, update]).await? > 0)
    }

    /// Forgets the model with this id, and notes who did it. `false`: there is none.
    ///
    /// # Errors
    /// As the database says.
    pub async fn drop_model(&self, id: &str, audit: &AuditRow) -> Result<bool, StoreError> {
        let exists = r#"SELECT 1 FROM "LiteLLM_ProxyModelTable" WHERE model_id = $9"#;
        let delete = Statement::new(r#"DELETE FROM "LiteLLM_ProxyModelTable" WHERE model_id = $1"#).with(id);
        Ok(self.engine.run(&[audit.statement_while(exists).with(id), delete]).await? > 0)
    }
}
