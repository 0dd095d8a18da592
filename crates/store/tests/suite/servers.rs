//! The cases on PostgreSQL, a server that is killed, and LiteLLM's own tables.

use haleway_store::{HistoryQuery, Store, StoreError, Write};

use crate::cases::every_case;
use crate::samples::{NOON, audit, check, model, order};
use crate::server::Server;

const ALL: HistoryQuery = HistoryQuery { model: None, status: None, limit: 1_000, offset: 0 };

/// The table as LiteLLM's migrations leave it, with a row of its own.
const OF_LITELLM: &str = r#"
CREATE TABLE lite."LiteLLM_HealthCheckTable" (
    "health_check_id" TEXT NOT NULL, "model_name" TEXT NOT NULL, "model_id" TEXT, "status" TEXT NOT NULL,
    "healthy_count" INTEGER NOT NULL DEFAULT 0, "unhealthy_count" INTEGER NOT NULL DEFAULT 0, "error_message" TEXT,
    "response_time_ms" DOUBLE PRECISION, "details" JSONB, "checked_by" TEXT,
    "checked_at" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "updated_at" TIMESTAMP(3) NOT NULL,
    CONSTRAINT "LiteLLM_HealthCheckTable_pkey" PRIMARY KEY ("health_check_id"));
CREATE INDEX "LiteLLM_HealthCheckTable_model_name_idx" ON lite."LiteLLM_HealthCheckTable"("model_name");
CREATE TABLE lite."LiteLLM_ProxyModelTable" (
    "model_id" TEXT NOT NULL, "model_name" TEXT NOT NULL, "litellm_params" JSONB NOT NULL, "model_info" JSONB,
    "created_at" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "created_by" TEXT NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "updated_by" TEXT NOT NULL,
    CONSTRAINT "LiteLLM_ProxyModelTable_pkey" PRIMARY KEY ("model_id"));
INSERT INTO lite."LiteLLM_ProxyModelTable" (model_id, model_name, litellm_params, model_info, created_by, updated_by)
    VALUES ('theirs', 'gpt', '{"model": "sealed"}', '{"id": "theirs"}', 'u', 'u');
INSERT INTO lite."LiteLLM_HealthCheckTable"
    (health_check_id, model_name, status, healthy_count, checked_at, updated_at)
    VALUES ('theirs', 'gpt-4o', 'healthy', 2, '2026-11-30 12:00:00.250', '2026-11-30 12:00:00.250');
"#;

async fn opened(url: &str) -> Store {
    let store = Store::at(url).unwrap();
    store.migrate().await.unwrap();
    store
}

#[tokio::test]
async fn postgres_does_what_every_database_must() {
    let server = Server::start("cases").await;
    macro_rules! in_a_schema {
        ($case:ident) => {
            let url = server.schema(stringify!($case)).await;
            crate::cases::$case(opened(&url).await).await;
        };
    }
    every_case!(in_a_schema);
    migrates_the_schema_before(&server).await;
    refuses_what_it_can_never_write(&server).await;
    works_beside_the_tables_of_litellm(&server).await;
}

async fn migrates_the_schema_before(server: &Server) {
    let url = server.schema("before").await;
    let store = opened(&url).await;
    store.write(&[Write::Check(check("c1", "d1", true, NOON))]).await.unwrap();
    server
        .sql("DROP TABLE before.haleway_orders; DROP TABLE before.haleway_audit; DROP TABLE before.\"LiteLLM_ProxyModelTable\"; DELETE FROM before.haleway_schema WHERE version > 1")
        .await;
    // Three processes that start together.
    let (one, two, three) = tokio::join!(opened(&url), opened(&url), opened(&url));
    one.write(&[Write::Order(order("d1", Some("drain"), NOON, None))]).await.unwrap();
    assert_eq!(two.orders(NOON).await.unwrap().len(), 1);
    assert_eq!(three.latest().await.unwrap().len(), 1);
    server.sql("INSERT INTO before.haleway_schema VALUES (99)").await;
    let error = store.migrate().await.unwrap_err();
    assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error}");
}

async fn refuses_what_it_can_never_write(server: &Server) {
    let store = opened(&server.schema("refuses").await).await;
    let batch = [check("good", "d1", true, NOON), check("no time", "d2", true, 1 << 60)].map(Write::Check);
    let error = store.write(&batch).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    assert_eq!(store.history(&ALL).await.unwrap().total, 0, "all of a batch or nothing");
}

async fn works_beside_the_tables_of_litellm(server: &Server) {
    let url = server.schema("lite").await;
    server.sql(OF_LITELLM).await;
    let store = opened(&url).await;
    let ours = check("ours", "d1", false, NOON + 1_000_000);
    store.write(&[Write::Check(ours.clone())]).await.unwrap();
    let found = store.history(&ALL).await.unwrap();
    assert_eq!(found.total, 2);
    assert_eq!(found.checks[0], ours);
    let theirs = &found.checks[1];
    assert_eq!((theirs.health_check_id.as_str(), theirs.healthy), ("theirs", true));
    assert_eq!(theirs.checked_at % 1_000, 250, "to the millisecond");
    reads_the_models_of_litellm(server, &store).await;
    // LiteLLM's reader, whose words these are.
    server
        .sql(
            r#"DO $$ BEGIN ASSERT (SELECT count(*) FROM (SELECT DISTINCT ON (model_id, model_name) unhealthy_count
               FROM lite."LiteLLM_HealthCheckTable" ORDER BY model_id, model_name, checked_at DESC) AS latest
               WHERE unhealthy_count = 1) = 1; END $$"#,
        )
        .await;
}

/// First as an old version made the table, then with the column that a later one added.
async fn reads_the_models_of_litellm(server: &Server, store: &Store) {
    store.add_model(&model("ours", "g", NOON), &audit("a1", NOON)).await.unwrap();
    let found = store.models().await.unwrap();
    let known: Vec<_> = found.iter().map(|row| (row.id.as_str(), row.blocked)).collect();
    assert_eq!(known, [("ours", false), ("theirs", false)]);
    server
        .sql(
            r#"ALTER TABLE lite."LiteLLM_ProxyModelTable" ADD COLUMN "blocked" BOOLEAN NOT NULL DEFAULT false;
               UPDATE lite."LiteLLM_ProxyModelTable" SET blocked = true WHERE model_id = 'theirs'"#,
        )
        .await;
    let theirs = store.model("theirs").await.unwrap().unwrap();
    assert!(theirs.blocked);
    let free = haleway_store::ModelRow { blocked: false, ..theirs.clone() };
    assert!(store.change_model(&theirs, &free, &audit("a2", NOON)).await.unwrap());
    assert!(!store.model("theirs").await.unwrap().unwrap().blocked);
    store.add_model(&model("later", "g", NOON), &audit("a3", NOON)).await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_killed_while_it_writes_has_whole_batches_and_takes_the_rest_when_it_is_back() {
    let mut server = Server::start("killed").await;
    let store = opened(&server.schema("s").await).await;
    let batch = |n: u64| -> Vec<_> {
        (0..50)
            .map(|row| Write::Check(check(&format!("b{n}r{row}"), "d1", true, NOON + n * 50 + row)))
            .collect()
    };
    for n in 0..5 {
        store.write(&batch(n)).await.unwrap();
    }
    let (lost, ()) = tokio::join!(
        async {
            let mut n = 5;
            while store.write(&batch(n)).await.is_ok() {
                n += 1;
            }
            n
        },
        async {
            // Under way when the first new batch is seen.
            while store.history(&ALL).await.map_or(0, |page| page.total) <= 250 {}
            server.kill();
        },
    );
    server.run().await;
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    while store.write(&batch(lost)).await.is_err() {
        assert!(tokio::time::Instant::now() < end, "the store did not come back");
    }
    let found = store.history(&ALL).await.unwrap();
    assert_eq!(found.total, (lost + 1) * 50, "nothing is lost, nothing twice, no batch in part");
}
