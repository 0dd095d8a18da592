//! Models that live in the database, on a real file: added, changed and removed while calls are served.

use std::path::PathBuf;
use std::time::Duration;

use haleway_testkit::{Answer, World, Yaml};
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

/// A directory for one test's store, gone with it.
struct Disk(PathBuf);

impl Disk {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("haleway-stored-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("haleway.db")
    }

    fn yaml(&self) -> Yaml {
        Yaml::b1()
            .set("general_settings.master_key", "sk-master")
            .set("general_settings.store_model_in_db", true)
            .set("haleway.store.url", format!("sqlite:{}", self.file().display()))
    }

    /// Every byte that is on the disk.
    fn bytes(&self) -> Vec<u8> {
        let files = std::fs::read_dir(&self.0).unwrap();
        files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

async fn stop(world: World) {
    world.gateway.shutdown.cancel();
    world.gateway.tasks.close();
    timeout(PATIENCE, world.gateway.tasks.wait()).await.expect("the tasks end");
}

fn model(id: &str, name: &str, key: &str) -> Value {
    json!({
        "model_name": name,
        "litellm_params": {
            "model": "openai/stub", "api_base": "http://u2/v1", "api_key": key, "rpm": 60,
            "extra_headers": {"x-extra": "sk-canary-header"},
        },
        "model_info": {"id": id, "description": "added"},
    })
}

fn ids(answer: &Answer) -> Vec<String> {
    let json = answer.json();
    let rows = json["data"].as_array().unwrap().iter();
    rows.map(|row| format!("{} {}", row["model_info"]["id"].as_str().unwrap(), row["model_info"]["db_model"]))
        .collect()
}

/// A refusal: its status and its class.
fn refusal(answer: &Answer) -> (u16, String) {
    (answer.status, answer.error("class").as_str().unwrap_or_default().to_owned())
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

#[tokio::test]
async fn a_stored_model_serves_at_once_survives_a_restart_and_ends_when_it_is_deleted() {
    let disk = Disk::new("life");
    let world = World::start(disk.yaml()).await;
    let answer = world.post("/model/new", &model("m1", "added", "sk-canary-2")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let row = answer.json();
    assert_eq!((&row["model_id"], &row["model_name"]), (&json!("m1"), &json!("added")));
    assert_eq!(
        (&row["model_info"]["db_model"], &row["created_by"]),
        (&json!(true), &json!("default_user_id"))
    );
    assert!(!answer.text().contains("canary"), "{}", answer.text());
    assert_eq!(world.chat("added").await.deployment(), "m1");
    assert_eq!(world.mock.counts("u2").keys["sk-canary-2"], 1);
    assert_eq!(ids(&world.get("/model/info").await), ["d1 false", "m1 true"]);
    assert_eq!(ids(&world.get("/v1/model/info").await), ["d1 false", "m1 true"]);
    stop(world).await;
    let bytes = disk.bytes();
    assert!(has(&bytes, "LiteLLM_ProxyModelTable") && !has(&bytes, "canary"), "sealed at rest");

    let world = World::start(disk.yaml()).await;
    let answer = world.chat("added").await;
    assert_eq!((answer.status, answer.deployment()), (200, "m1"), "{}", answer.text());
    let before = world.requests("u2");
    let answer = world.post("/model/delete", &json!({"id": "m1"})).await;
    assert_eq!(answer.json(), json!({"message": "Model: m1 deleted successfully"}));
    assert_ne!(world.chat("added").await.status, 200);
    assert_eq!(world.requests("u2"), before);
    assert_eq!(ids(&world.get("/model/info").await), ["d1 false"]);
    let audit = world.get("/haleway/audit").await.json();
    let said: Vec<_> = audit["audit"].as_array().unwrap().iter().map(|line| line["action"].clone()).collect();
    assert_eq!(said, ["model.delete", "model.new"]);
    assert!(!world.logs.text().contains("canary"));
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name_and_a_null_takes_a_value_away() {
    let disk = Disk::new("change");
    let world = World::start(disk.yaml()).await;
    world.post("/model/new", &model("m1", "added", "sk-canary-2")).await;
    assert_eq!(world.chat("added").await.status, 200);
    let change = json!({"litellm_params": {"api_base": "http://u3/v1"}, "model_info": {"id": "m1"}});
    let answer = world.post("/model/update", &change).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["litellm_params"]["api_base"], "http://u3/v1");
    assert_eq!(world.chat("added").await.status, 200);
    assert_eq!(world.mock.counts("u3").keys["sk-canary-2"], 1, "the key is kept");

    let change = json!({"model_name": "renamed", "litellm_params": {"rpm": null}, "blocked": false});
    let answer = world.call(Method::PATCH, "/model/m1/update", &[], change.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let row = answer.json();
    assert_eq!((&row["model_name"], row["litellm_params"].get("rpm")), (&json!("renamed"), None));
    assert_ne!(world.chat("added").await.status, 200);
    assert_eq!(world.chat("renamed").await.deployment(), "m1");
    let change = json!({"blocked": true});
    world.call(Method::PATCH, "/model/m1/update", &[], change.to_string()).await;
    assert_ne!(world.chat("renamed").await.status, 200, "blocked");
}

#[tokio::test]
async fn what_is_bad_is_refused_with_its_diagnostic_and_not_stored() {
    let disk = Disk::new("bad");
    let world = World::start(disk.yaml()).await;
    let mut bad = model("m1", "added", "sk-canary-2");
    bad["litellm_params"]["model"] = "nonsense/x".into();
    let answer = world.post("/model/new", &bad).await;
    assert_eq!(refusal(&answer), (400, "bad_model".to_owned()), "{}", answer.text());
    let found = &answer.json()["error"]["haleway"]["diagnostics"][0];
    assert_eq!((&found["code"], &found["file"]), (&json!("unknown-provider"), &json!("stored model m1")));
    assert!(!answer.text().contains("canary"), "{}", answer.text());
    let nameless = world.post("/model/new", &json!({"litellm_params": {"model": "openai/x"}})).await;
    assert_eq!(refusal(&nameless), (400, "bad_model".to_owned()));
    assert_eq!(ids(&world.get("/model/info").await), ["d1 false"]);
    assert_eq!(world.get("/haleway/audit").await.json()["audit"], json!([]));

    for (path, body, refused) in [
        ("/model/new", model("d1", "added", "k"), (400, "model_id_taken")),
        ("/model/update", json!({"model_info": {"id": "d1"}}), (400, "model_in_config")),
        ("/model/delete", json!({"id": "d1"}), (400, "model_in_config")),
        ("/model/delete", json!({"id": "nobody"}), (400, "unknown_model_id")),
        ("/model/update", json!({"model_info": {"id": "nobody"}}), (400, "unknown_model_id")),
        ("/model/update", json!({"model_name": "x"}), (400, "bad_request")),
        ("/model/new", json!([1]), (400, "bad_request")),
    ] {
        let answer = world.post(path, &body).await;
        assert_eq!(refusal(&answer), (refused.0, refused.1.to_owned()), "{path} {}", answer.text());
    }
    let answer = world.call(Method::PATCH, "/model/nobody/update", &[], "{}").await;
    assert_eq!(refusal(&answer), (404, "unknown_model_id".to_owned()));
    let stranger = [("authorization", "Bearer sk-wrong")];
    for path in ["/model/new", "/model/update", "/model/delete"] {
        let answer = world.call(Method::POST, path, &stranger, "{}").await;
        assert_eq!(answer.status, 401, "{path}");
    }
    assert_eq!(world.chat("g").await.status, 200);
}

#[tokio::test]
async fn without_the_setting_or_a_database_it_is_said_which_is_missing() {
    let disk = Disk::new("off");
    let world = World::start(disk.yaml().set("general_settings.store_model_in_db", false)).await;
    let answer = world.post("/model/new", &model("m1", "added", "k")).await;
    assert_eq!(refusal(&answer), (500, "models_not_stored".to_owned()));
    let yaml = Yaml::b1().set("general_settings.master_key", "sk-master");
    let world = World::start(yaml.set("general_settings.store_model_in_db", true)).await;
    let answer = world.post("/model/new", &model("m1", "added", "k")).await;
    assert_eq!(refusal(&answer), (500, "no_database".to_owned()));
    let open = World::start(Yaml::b1().set("general_settings.store_model_in_db", true)).await;
    assert_eq!(
        open.post("/model/new", &model("m1", "added", "k")).await.status,
        403,
        "nobody is the operator"
    );
}

#[tokio::test]
async fn another_process_on_the_same_database_picks_up_what_is_added_changed_and_deleted() {
    let disk = Disk::new("two");
    let (here, there) = (World::start(disk.yaml()).await, World::start(disk.yaml()).await);
    here.post("/model/new", &model("m1", "added", "sk-canary-2")).await;
    let stored =
        |world: &World| world.gateway.live.load().find("m1").map(|found| found.model.name.to_string());
    there.until_within(PATIENCE, "added there", || stored(&there).is_some()).await;
    assert_eq!(there.chat("added").await.deployment(), "m1");
    there.post("/model/update", &json!({"model_name": "h", "model_info": {"id": "m1"}})).await;
    here.until_within(PATIENCE, "changed here", || stored(&here).as_deref() == Some("h")).await;
    here.post("/model/delete", &json!({"id": "m1"})).await;
    there.until_within(PATIENCE, "deleted there", || stored(&there).is_none()).await;
}

#[tokio::test]
async fn a_row_that_cannot_be_opened_or_became_bad_leaves_only_itself_out_and_a_broken_file_holds_nothing_up()
{
    let disk = Disk::new("sealed");
    let salted = |salt: &'static str| World::of(disk.yaml()).with_env(&[("LITELLM_SALT_KEY", salt)]);
    let world = salted("sk-salt-old").start().await;
    world.post("/model/new", &model("m1", "old", "sk-canary-2")).await;
    stop(world).await;

    let both = [("LITELLM_SALT_KEY", "sk-salt-old"), ("HALEWAY_SALT_KEY", "sk-salt-own")];
    let world = World::of(disk.yaml()).with_env(&both).start().await;
    assert_eq!(world.chat("old").await.status, 200, "the key before still opens");
    world.post("/model/new", &model("m2", "new", "sk-canary-2")).await;
    // Of the file: broken for a while.
    world.source.file("config.yaml", "model_list: [");
    let answer = world.post("/model/new", &model("m3", "later", "sk-canary-2")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(world.chat("later").await.status, 200);
    stop(world).await;

    // Without the old key, and with an id that the file has taken meanwhile.
    let yaml = disk.yaml().deployment("g", "m3");
    let world = World::of(yaml).with_env(&[("HALEWAY_SALT_KEY", "sk-salt-own")]).start().await;
    assert_eq!(world.chat("new").await.deployment(), "m2");
    assert_ne!(world.chat("old").await.status, 200);
    let page = world.get("/settings").await.json();
    assert_eq!(page["stored_models"]["served"], 1, "{page}");
    let left: Vec<_> =
        page["stored_models"]["left_out"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    assert_eq!(left, ["m1", "m3"]);
    assert!(world.logs.has("cannot be opened") && world.logs.has("is left out"));
    let answer = world.post("/model/update", &json!({"model_name": "x", "model_info": {"id": "m1"}})).await;
    assert_eq!(refusal(&answer), (400, "sealed_model".to_owned()));
    assert_eq!(world.post("/model/delete", &json!({"id": "m1"})).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn settings_show_what_is_in_force_and_where_it_comes_from_and_no_secret() {
    let yaml = Yaml::b1().probed_every(60).set("general_settings.master_key", "sk-master");
    let world = World::start(yaml).await;
    for path in ["/settings", "/active/callbacks"] {
        let answer = world.get(path).await;
        let page = answer.json();
        assert_eq!(page["general_settings"]["health_check_interval"], 60.0, "{page}");
        assert_eq!((&page["num_callbacks"], &page["litellm.callbacks"]), (&json!(0), &json!([])));
        let row = page["values"].as_array().unwrap().iter().find(|row| row["key"] == "interval").unwrap();
        assert!(row["origin"].as_str().unwrap().starts_with("config.yaml:"), "{row}");
        assert!(!answer.text().contains("sk-master") && !answer.text().contains("canary"));
        let stranger = world.call(Method::GET, path, &[("authorization", "Bearer sk-x")], "").await;
        assert_eq!(stranger.status, 401);
    }
    assert_eq!(
        world.get("/settings").await.json()["values"],
        world.get("/haleway/config").await.json()["values"]
    );
}
