//! The tables, step by step.
//!
//! A step's statements can be repeated, and a lock keeps processes that start together apart, so that a step that was
//! interrupted or made twice ends in the same tables. LiteLLM's table is created as its own schema has it when it is
//! missing, and never altered; the same goes for its table of models. Times in our own tables are milliseconds since the epoch.

use crate::StoreError;
use crate::engine::{Dialect, Engine, Kind, Statement};

/// The latest version.
const LATEST: i64 = 4;

/// Any number that nobody else uses: processes that migrate one database wait for one another on it.
const LOCK: &str = "SELECT pg_advisory_xact_lock(7240301121)";

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS haleway_schema (version BIGINT PRIMARY KEY)";

/// A table that LiteLLM may have made already.
struct Foreign {
    name: &'static str,
    create: &'static str,
    indexes: &'static [&'static str],
}

const CHECKS: Foreign = Foreign {
    name: "LiteLLM_HealthCheckTable",
    create: CHECKS_TABLE,
    indexes: &[
        r#"CREATE INDEX IF NOT EXISTS "LiteLLM_HealthCheckTable_model_name_idx" ON "LiteLLM_HealthCheckTable" (model_name)"#,
        r#"CREATE INDEX IF NOT EXISTS "LiteLLM_HealthCheckTable_checked_at_idx" ON "LiteLLM_HealthCheckTable" (checked_at)"#,
        r#"CREATE INDEX IF NOT EXISTS "LiteLLM_HealthCheckTable_status_idx" ON "LiteLLM_HealthCheckTable" (status)"#,
        r#"CREATE INDEX IF NOT EXISTS "LiteLLM_HealthCheckTable_model_id_model_name_checked_at_idx" ON "LiteLLM_HealthCheckTable" (model_id, model_name, checked_at DESC)"#,
    ],
};

const MODELS: Foreign = Foreign { name: "LiteLLM_ProxyModelTable", create: MODELS_TABLE, indexes: &[] };

const MODELS_TABLE: &str = r#"CREATE TABLE IF NOT EXISTS "LiteLLM_ProxyModelTable" (
    model_id TEXT NOT NULL PRIMARY KEY,
    model_name TEXT NOT NULL,
    litellm_params {json} NOT NULL,
    model_info {json},
    blocked {bool} NOT NULL DEFAULT {false},
    created_at {time} NOT NULL DEFAULT {now},
    created_by TEXT NOT NULL,
    updated_at {time} NOT NULL DEFAULT {now},
    updated_by TEXT NOT NULL
)"#;

const CHECKS_TABLE: &str = r#"CREATE TABLE IF NOT EXISTS "LiteLLM_HealthCheckTable" (
    health_check_id TEXT NOT NULL PRIMARY KEY,
    model_name TEXT NOT NULL,
    model_id TEXT,
    status TEXT NOT NULL,
    healthy_count INTEGER NOT NULL DEFAULT 0,
    unhealthy_count INTEGER NOT NULL DEFAULT 0,
    error_message TEXT,
    response_time_ms DOUBLE PRECISION,
    details {json},
    checked_by TEXT,
    checked_at {time} NOT NULL DEFAULT {now},
    created_at {time} NOT NULL DEFAULT {now},
    updated_at {time} NOT NULL
)"#;

/// History, incidents and the ledger.
const FIRST: &[&str] = &[
    // One row per deployment: reading the latest must not depend on how long the history is.
    "CREATE TABLE IF NOT EXISTS haleway_latest (
        deployment TEXT NOT NULL, model_name TEXT NOT NULL, recorded_at BIGINT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY (deployment, model_name))",
    "CREATE TABLE IF NOT EXISTS haleway_incidents (
        incident_id TEXT NOT NULL PRIMARY KEY, deployment TEXT NOT NULL, model_name TEXT NOT NULL,
        began_at BIGINT NOT NULL, ended_at BIGINT, cause TEXT NOT NULL, noticed_by TEXT NOT NULL,
        observer TEXT NOT NULL, message TEXT, probe_nanousd BIGINT NOT NULL DEFAULT 0)",
    // However many processes see it begin, a deployment has one incident at a time.
    "CREATE UNIQUE INDEX IF NOT EXISTS haleway_incidents_open ON haleway_incidents (deployment) WHERE ended_at IS NULL",
    "CREATE INDEX IF NOT EXISTS haleway_incidents_began ON haleway_incidents (began_at)",
    // `run` is one life of one process, which alone writes its rows: whole figures, so that writing twice changes nothing.
    "CREATE TABLE IF NOT EXISTS haleway_probe_ledger (
        utc_day BIGINT NOT NULL, deployment TEXT NOT NULL, rung TEXT NOT NULL, run TEXT NOT NULL,
        requests BIGINT NOT NULL, nanousd BIGINT NOT NULL, tokens BIGINT NOT NULL,
        estimated BIGINT NOT NULL, unpriced BIGINT NOT NULL,
        PRIMARY KEY (utc_day, deployment, rung, run))",
];

/// Operators' orders and who gave them.
const SECOND: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS haleway_orders (
        deployment TEXT NOT NULL PRIMARY KEY, command TEXT NOT NULL, given_at BIGINT NOT NULL, until_at BIGINT,
        reason TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS haleway_audit (
        audit_id TEXT NOT NULL PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, origin TEXT NOT NULL,
        action TEXT NOT NULL, subject TEXT NOT NULL, reason TEXT NOT NULL, until_at BIGINT)",
    "CREATE INDEX IF NOT EXISTS haleway_audit_at ON haleway_audit (at)",
];

/// What keeps pages of a long history quick in SQLite, where the table is ours alone: how many rows there are is counted as
/// they come and go, and every filter has an index in the order of the page. PostgreSQL's table may be LiteLLM's, and its
/// planner knows how many rows fit what.
const THIRD_IN_SQLITE: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS haleway_counts (
        model_name TEXT NOT NULL, status TEXT NOT NULL, checks INTEGER NOT NULL,
        PRIMARY KEY (model_name, status)) WITHOUT ROWID",
    "DELETE FROM haleway_counts",
    r#"INSERT INTO haleway_counts (model_name, status, checks)
       SELECT model_name, status, COUNT(*) FROM "LiteLLM_HealthCheckTable" GROUP BY model_name, status"#,
    r#"CREATE TRIGGER IF NOT EXISTS haleway_counts_more AFTER INSERT ON "LiteLLM_HealthCheckTable" BEGIN
           INSERT INTO haleway_counts (model_name, status, checks) VALUES (new.model_name, new.status, 1)
           ON CONFLICT (model_name, status) DO UPDATE SET checks = checks + 1;
       END"#,
    r#"CREATE TRIGGER IF NOT EXISTS haleway_counts_fewer AFTER DELETE ON "LiteLLM_HealthCheckTable" BEGIN
           UPDATE haleway_counts SET checks = checks - 1 WHERE model_name = old.model_name AND status = old.status;
       END"#,
    r#"CREATE INDEX IF NOT EXISTS haleway_checks_of_model ON "LiteLLM_HealthCheckTable" (model_name, checked_at)"#,
    r#"CREATE INDEX IF NOT EXISTS haleway_checks_of_status ON "LiteLLM_HealthCheckTable" (status, checked_at)"#,
    // Covered by the two above.
    r#"DROP INDEX IF EXISTS "LiteLLM_HealthCheckTable_model_name_idx""#,
    r#"DROP INDEX IF EXISTS "LiteLLM_HealthCheckTable_status_idx""#,
    // Nothing asks for it: the latest of each deployment has a table.
    r#"DROP INDEX IF EXISTS "LiteLLM_HealthCheckTable_model_id_model_name_checked_at_idx""#,
];

/// Brings the tables to [`LATEST`].
pub(crate) async fn migrate(engine: &dyn Engine) -> Result<(), StoreError> {
    let lock = match engine.dialect() {
        Dialect::Sqlite => None,
        Dialect::Postgres => Some(Statement::new(LOCK)),
    };
    let begin: Vec<_> = lock.iter().cloned().chain([Statement::new(VERSIONS)]).collect();
    engine.run(&begin).await?;
    let query = Statement::new("SELECT COALESCE(MAX(version), 0) FROM haleway_schema");
    let rows = engine.rows(&query, &[Kind::Int]).await?;
    let found = rows.into_iter().next().and_then(|mut row| row.count()).unwrap_or(0);
    let found = i64::try_from(found).unwrap_or(i64::MAX);
    if found > LATEST {
        return Err(StoreError::NewerSchema { found, known: LATEST });
    }
    for version in found + 1..=LATEST {
        let mut step: Vec<_> = lock.iter().cloned().collect();
        let (foreign, own): (_, &[&str]) = match (version, engine.dialect()) {
            (1, _) => (Some(&CHECKS), FIRST),
            (2, _) => (None, SECOND),
            (3, Dialect::Sqlite) => (None, THIRD_IN_SQLITE),
            (3, Dialect::Postgres) => (None, &[]),
            _ => (Some(&MODELS), &[]),
        };
        if let Some(table) = foreign {
            step.extend(table_of_litellm(engine, table).await?);
        }
        step.extend(own.iter().map(|sql| Statement::new(*sql)));
        let version = u64::try_from(version).unwrap_or_default();
        let done = "INSERT INTO haleway_schema (version) VALUES ($1) ON CONFLICT DO NOTHING";
        step.push(Statement::new(done).with(version));
        engine.run(&step).await?;
    }
    Ok(())
}

/// What creates a table of LiteLLM's with its indexes; nothing where it exists, whatever its indexes are.
async fn table_of_litellm(engine: &dyn Engine, table: &Foreign) -> Result<Vec<Statement>, StoreError> {
    let (exists, words) = match engine.dialect() {
        Dialect::Sqlite => (
            "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1",
            [
                ("{json}", "TEXT"),
                ("{time}", "INTEGER"),
                ("{now}", "(CAST(unixepoch('subsec') * 1000 AS INTEGER))"),
                ("{bool}", "INTEGER"),
                ("{false}", "0"),
            ],
        ),
        Dialect::Postgres => (
            "SELECT CAST(COUNT(*) AS BIGINT) FROM pg_tables WHERE schemaname = ANY (current_schemas(false)) AND tablename = $1",
            [
                ("{json}", "JSONB"),
                ("{time}", "TIMESTAMP(3)"),
                ("{now}", "CURRENT_TIMESTAMP"),
                ("{bool}", "BOOLEAN"),
                ("{false}", "false"),
            ],
        ),
    };
    let rows = engine.rows(&Statement::new(exists).with(table.name), &[Kind::Int]).await?;
    if rows.into_iter().next().and_then(|mut row| row.count()).unwrap_or(0) > 0 {
        return Ok(Vec::new());
    }
    let create = words.iter().fold(table.create.to_owned(), |sql, (word, own)| sql.replace(word, own));
    Ok([create]
        .into_iter()
        .chain(table.indexes.iter().map(|sql| (*sql).to_owned()))
        .map(Statement::new)
        .collect())
}
