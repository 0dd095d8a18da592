//! What is remembered, on a real file and in real time: history, incidents, orders and budgets, also over a restart.

use std::path::PathBuf;
use std::time::Duration;

use haleway_testkit::{Behaviour, Script, World, Yaml};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(60);

/// A directory for one test's store, gone with it.
struct Disk(PathBuf);

impl Disk {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("haleway-memory-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn yaml(&self) -> Yaml {
        let url = format!("sqlite:{}", self.0.join("haleway.db").display());
        Yaml::b1()
            .probed_every(1)
            .set("general_settings.master_key", "sk-master")
            .set("haleway.profile", "resilient")
            .set("haleway.store.url", url.as_str())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Ends a world as a process ends: what it has to write is written.
async fn stop(world: World) {
    world.gateway.shutdown.cancel();
    world.gateway.tasks.close();
    timeout(PATIENCE, world.gateway.tasks.wait()).await.expect("the tasks end");
}

/// The page `path`, when it is as `wanted`.
async fn page(world: &World, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let answer = world.get(path).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let found = answer.json();
        if wanted(&found) {
            return found;
        }
        assert!(Instant::now() < end, "{path} stays {found}\n{}", world.logs.text());
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_failure_and_its_end_are_in_the_history_with_cause_latency_and_cost() {
    let disk = Disk::new("history");
    let yaml = disk.yaml().set("d1.model_info.input_cost_per_token", 0.01);
    let world = World::of(yaml).with_script("u1", Behaviour::status(401)).start().await;
    let open =
        |found: &Value| found["incidents"][0]["to"].is_null() && found["incidents"][0]["from"].is_string();
    let found = page(&world, "/haleway/incidents?open=true", open).await;
    let incident = &found["incidents"][0];
    assert_eq!(incident["deployment"], "d1");
    assert_eq!(
        (&incident["noticed_by"], &incident["observer"]),
        (&json!("probe"), &json!("background_health_check"))
    );
    let down =
        page(&world, "/health/history?status_filter=unhealthy", |found| found["total_records"] != 0).await;
    let row = &down["health_checks"][0];
    assert_eq!(
        (&row["model_name"], &row["model_id"], &row["unhealthy_count"]),
        (&json!("g"), &json!("d1"), &json!(1))
    );
    assert_eq!(row["details"]["evidence"]["status"], 401, "{row}");
    assert_eq!(row["details"]["cause"], incident["cause"]);
    assert!(row["response_time_ms"].as_f64().is_some_and(|took| took >= 0.0), "{row}");
    assert!(row["error_message"].as_str().is_some_and(|text| !text.is_empty()));
    world.mock.script("u1", Script::ok());
    world.post("/haleway/deployments/d1/reset", &json!({})).await;
    let ended = page(&world, "/haleway/incidents", |found| found["incidents"][0]["to"].is_string()).await;
    assert_eq!(ended["incidents"].as_array().map(Vec::len), Some(1), "{ended}");
    page(&world, "/health/latest", |found| {
        found["latest_health_checks"]["d1"]["status"] == "healthy" && found["total_models"] == 1
    })
    .await;
    let first = world.get("/health/history?limit=1").await.json();
    assert_eq!(first["health_checks"].as_array().map(Vec::len), Some(1));
    assert!(first["total_records"].as_u64() > Some(1), "the real total: {first}");
    assert_eq!(world.get("/health/history?limit=0").await.status, 422);
}

#[tokio::test]
async fn an_operators_order_survives_a_restart_until_it_is_taken_back_and_the_audit_keeps_both() {
    let disk = Disk::new("orders");
    let world = World::start(disk.yaml()).await;
    let body = json!({"reason": "maintenance"});
    let headers = [("x-forwarded-for", "192.0.2.7")];
    let path = "/haleway/deployments/d1/disable";
    let answer = world.call(http::Method::POST, path, &headers, body.to_string()).await;
    assert_eq!(answer.json()["stored"], true, "{}", answer.text());
    stop(world).await;

    let world = World::start(disk.yaml()).await;
    assert_eq!(world.state("d1"), "ADMIN_DOWN", "before the first request");
    let before = world.requests("u1");
    assert_ne!(world.chat("g").await.status, 200);
    assert_eq!(world.requests("u1"), before);
    world.post("/haleway/deployments/d1/enable", &json!({})).await;
    stop(world).await;

    let world = World::start(disk.yaml()).await;
    assert!(world.is_in("d1"));
    let audit = world.get("/haleway/audit").await.json();
    let lines = audit["audit"].as_array().unwrap();
    let said: Vec<_> = lines
        .iter()
        .map(|line| (line["action"].as_str().unwrap(), line["actor"].as_str().unwrap()))
        .collect();
    assert_eq!(said, [("enable", "master"), ("disable", "master")]);
    assert_eq!((&lines[1]["origin"], &lines[1]["reason"]), (&json!("192.0.2.7"), &json!("maintenance")));
}

#[tokio::test]
async fn an_order_and_its_end_reach_another_process_on_the_same_database() {
    let disk = Disk::new("two");
    let (here, there) = (World::start(disk.yaml()).await, World::start(disk.yaml()).await);
    here.post("/haleway/deployments/d1/drain", &json!({})).await;
    there.until("the order holds there", || there.state("d1") == "DRAINING").await;
    there.post("/haleway/deployments/d1/enable", &json!({})).await;
    here.until("its end holds here", || here.is_in("d1")).await;
    assert!(there.is_in("d1"));
}

#[tokio::test]
async fn what_probes_spent_today_counts_after_a_restart() {
    let disk = Disk::new("budget");
    let yaml = || disk.yaml().set("haleway.health.budget.probes_per_day", 2);
    let world = World::start(yaml()).await;
    world.until("the budget is used up", || world.requests("u1") == 2).await;
    stop(world).await;

    let world = World::start(yaml()).await;
    let answer = world.post("/haleway/deployments/d1/probe", &json!({})).await.json();
    assert_eq!(answer["probe"], "over_budget", "{answer}");
    assert_eq!(world.requests("u1"), 0);
    assert_eq!(world.detail("d1").await["probe_cost"]["requests"], 2);
    stop(world).await;

    // What was recalled is not counted once more.
    let world = World::start(yaml()).await;
    assert_eq!(world.detail("d1").await["probe_cost"]["requests"], 2);
}

#[tokio::test]
async fn c04_many_cycles_without_a_change_write_one_row() {
    let disk = Disk::new("cycles");
    let world = World::start(disk.yaml()).await;
    world.until("several cycles", || world.requests("u1") >= 4).await;
    let found = page(&world, "/health/history", |found| found["total_records"] != 0).await;
    assert_eq!(found["total_records"], 1, "{found}");
}

#[tokio::test(start_paused = true)]
async fn a_database_that_is_down_at_start_keeps_nothing_down_but_its_pages() {
    let yaml = Yaml::b1().set("general_settings.database_url", "postgres://user:hunter2@127.0.0.1:1/d");
    let world = World::start(yaml).await;
    assert_eq!(world.chat("g").await.status, 200);
    let answer = world.get("/health/history").await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    world.pass_secs(120).await;
    let told = world.logs.text().lines().filter(|line| line.starts_with("ERROR")).count();
    assert_eq!(told, 1, "told once:\n{}", world.logs.text());
    assert!(!world.logs.text().contains("hunter2"));
}

#[tokio::test(start_paused = true)]
async fn without_a_store_the_history_answers_as_litellm_does_without_a_database() {
    let world = World::start(Yaml::b1()).await;
    for path in ["/health/history", "/health/latest"] {
        let answer = world.get(path).await;
        assert_eq!(
            (answer.status, answer.json()),
            (500, json!({"detail": {"error": "Database not initialized"}}))
        );
    }
}
